"""Model files: exact round trips, atomic writes, and a clear refusal of everything else."""

import io
import json
import os
import shutil
import zipfile

import numpy as np
import pytest

from hushrank import archive
from hushrank.archive import FORMAT, VERSION, read_archive, write_archive
from hushrank.exceptions import ModelFileError

CONTENT = {"class": "X", "numbers": [0.1, 1e-320, 3], "none": None}
ARRAYS = {
    "a": np.arange(6.0).reshape(2, 3),
    "b": np.asfortranarray(np.arange(6).reshape(2, 3)),
    "empty": np.zeros((0, 4), np.float32),
    "names": np.array(["x", "äöü"]),
}


@pytest.fixture
def model(tmp_path):
    write_archive(tmp_path / "model", CONTENT, ARRAYS)
    return tmp_path / "model"


def test_round_trip_keeps_bits_shapes_and_dtypes(model):
    content, arrays = read_archive(str(model))
    assert content == CONTENT and arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype and np.array_equal(arrays[name], array)


def test_the_same_model_gives_the_same_bytes(model, tmp_path):
    write_archive(tmp_path / "again", CONTENT, ARRAYS)
    assert model.read_bytes() == (tmp_path / "again").read_bytes()


def test_every_changed_byte_is_noticed(model):
    data, step = bytearray(model.read_bytes()), 7
    for position in range(0, len(data), step):
        damaged = data.copy()
        damaged[position] ^= 0x55
        model.write_bytes(damaged)
        try:
            content, arrays = read_archive(model)
        except ModelFileError:
            continue
        # What remains are bytes of the zip that carry no content, such as times and attributes of members.
        assert content == CONTENT
        assert all(np.array_equal(arrays[name], ARRAYS[name]) for name in ARRAYS)


@pytest.mark.parametrize("part", [0.0, 0.1, 0.5, 0.99])
def test_cut_files_are_refused(model, part):
    data = model.read_bytes()
    model.write_bytes(data[: int(part * len(data))])
    with pytest.raises(ModelFileError, match="is not a hushrank model, or it is damaged"):
        read_archive(model)


def rewrite(path, change):
    """Rewrite the members of an archive, with a valid checksum of the header."""
    with zipfile.ZipFile(path) as old:
        members = {name: old.read(name) for name in old.namelist()}
    change(members)
    members["header.sha256"] = archive._digest(members["header.json"]).encode()
    with zipfile.ZipFile(path, "w") as new:
        for name, data in members.items():
            new.writestr(name, data)


def set_header(**fields):
    def change(members):
        members["header.json"] = json.dumps({**json.loads(members["header.json"]), **fields}).encode()

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (set_header(format="other"), "is not a hushrank model"),
        (set_header(version=VERSION + 1), f"has format version {VERSION + 1}; this hushrank reads version {VERSION}"),
        (lambda members: members.pop("a.npy"), "its arrays do not have the checksums"),
        (lambda members: members.update({"extra.npy": b"x"}), "its arrays do not have the checksums"),
        (lambda members: members.update({"a.npy": members["b.npy"]}), "its arrays do not have the checksums"),
    ],
)
def test_foreign_and_altered_files_are_refused(model, change, message):
    rewrite(model, change)
    with pytest.raises(ModelFileError, match=message):
        read_archive(model)


@pytest.mark.parametrize("header", [b"[]", b"not JSON", b'"text"', b"{}"])
def test_headers_of_another_kind_are_refused(model, header):
    rewrite(model, lambda members: members.update({"header.json": header}))
    with pytest.raises(ModelFileError, match="is not a hushrank model"):
        read_archive(model)


def with_array(data):
    """Replace the arrays by one that cannot be read, with a valid checksum."""

    def change(members):
        for name in [name for name in members if name.endswith(".npy")]:
            del members[name]
        members["a.npy"] = data
        set_header(arrays={"a.npy": archive._digest(data)})(members)

    return change


def pickled():
    buffer = io.BytesIO()
    np.save(buffer, np.array([object]), allow_pickle=True)
    return buffer.getvalue()


@pytest.mark.parametrize("data", [b"", b"junk", pickled()], ids=["empty", "junk", "pickled"])
def test_arrays_that_cannot_be_read_or_need_pickle_are_refused(model, data):
    rewrite(model, with_array(data))
    with pytest.raises(ModelFileError, match="an array cannot be read"):
        read_archive(model)


@pytest.mark.parametrize("content", [None, [1], "text"])
def test_files_without_content_are_refused(model, content):
    rewrite(model, set_header(content=content))
    with pytest.raises(ModelFileError, match="it has no content"):
        read_archive(model)


def test_only_ordinary_files_are_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "pipe", tmp_path / "folder", ""):
        with pytest.raises(ModelFileError, match="it is not an ordinary file"):
            write_archive(path, CONTENT, ARRAYS)
    with pytest.raises(ModelFileError, match="null"):
        write_archive(tmp_path / "a\0b", CONTENT, ARRAYS)
    assert sorted(os.listdir(tmp_path)) == ["folder", "pipe"]


def test_other_files_are_refused(tmp_path):
    np.savez(tmp_path / "numpy.npz", a=np.zeros(3))
    (tmp_path / "text").write_text("not a model")
    for name, message in (("numpy.npz", "is not a hushrank model"), ("text", "or it is damaged"), ("none", "No such")):
        with pytest.raises(ModelFileError, match=message):
            read_archive(tmp_path / name)
    with pytest.raises(ModelFileError, match="cannot read"):
        read_archive(tmp_path)


def test_objects_are_never_pickled(tmp_path):
    with pytest.raises(ValueError, match="pickle"):
        write_archive(tmp_path / "model", {}, {"a": np.array([object()])})
    assert os.listdir(tmp_path) == []


def test_a_failed_write_leaves_the_old_file_and_nothing_else(model, monkeypatch):
    before = model.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(archive.os, "fsync", full)
    with pytest.raises(ModelFileError, match=r"cannot write .*model: No space left on device"):
        write_archive(model, {"class": "Y"}, {})
    assert model.read_bytes() == before and os.listdir(model.parent) == ["model"]


def test_a_missing_folder_is_one_clear_line(tmp_path):
    with pytest.raises(ModelFileError, match=r"cannot write .*: No such file or directory\.$"):
        write_archive(tmp_path / "missing" / "model", CONTENT, ARRAYS)


def test_models_are_as_readable_as_other_files(model, tmp_path):
    (tmp_path / "plain").write_text("")
    assert model.stat().st_mode == (tmp_path / "plain").stat().st_mode
    shutil.copy(model, tmp_path / "copy")
    assert read_archive(tmp_path / "copy")[0] == CONTENT
    assert json.loads(zipfile.ZipFile(model).read("header.json"))["format"] == FORMAT
