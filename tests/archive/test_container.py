"""Model files: exact round trips, atomic writes, and a clear refusal of everything else."""

import copy
import json
import os
import shutil
import tracemalloc
import zipfile

import numpy as np
import pytest

from hushrank.archive import container
from hushrank.archive.columns import to_npy
from hushrank.archive.container import FORMAT, MAX_HEADER, VERSION, read_archive, write_archive
from hushrank.exceptions import ModelFileError

CONTENT = {"class": "X", "numbers": [0.1, 1e-320, 3], "none": None}
ARRAYS = {
    "a": np.arange(6.0).reshape(2, 3),
    "b": np.asfortranarray(np.arange(6).reshape(2, 3)),
    "empty": np.zeros((0, 4), np.complex128),
    "names": ["x", "äöü", "", "a\0b\0", "名前 🍵"],
}
LISTS = {name: array if isinstance(array, list) else array.tolist() for name, array in ARRAYS.items()}


@pytest.fixture
def model(tmp_path):
    write_archive(tmp_path / "model", CONTENT, ARRAYS)
    return tmp_path / "model"


def test_round_trip_keeps_bits_shapes_and_dtypes(model):
    content, arrays = read_archive(str(model))
    assert content == CONTENT and arrays.keys() == ARRAYS.keys()
    assert arrays.pop("names").tolist() == ARRAYS["names"]
    for name, array in arrays.items():
        assert array.dtype == ARRAYS[name].dtype and np.array_equal(array, ARRAYS[name])
        assert array.flags.writeable and array.flags.c_contiguous and array.flags.aligned


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
        assert {name: array.tolist() for name, array in arrays.items()} == LISTS


@pytest.mark.parametrize("part", [0.0, 0.1, 0.5, 0.99])
def test_cut_files_are_refused(model, part):
    data = model.read_bytes()
    model.write_bytes(data[: int(part * len(data))])
    with pytest.raises(ModelFileError, match="is not a hushrank model, or it is damaged"):
        read_archive(model)


def rewrite(path, change, compression=zipfile.ZIP_STORED):
    """Rewrite the members of an archive, with a valid checksum of the header."""
    with zipfile.ZipFile(path) as old:
        members = {name: old.read(name) for name in old.namelist()}
    change(members)
    members["header.sha256"] = container._digest(members["header.json"]).encode()
    with zipfile.ZipFile(path, "w", compression) as new:
        for name, data in members.items():
            new.writestr(name, data)


def set_header(**fields):
    def change(members):
        members["header.json"] = container._to_json({**json.loads(members["header.json"]), **fields})

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (set_header(format="other"), "is not a hushrank model"),
        (set_header(version=VERSION + 1), "was made by a newer version of hushrank: format 4; this one reads up to 3"),
        (set_header(version=VERSION + 1, more=1), "was made by a newer version of hushrank"),
        (set_header(version=2**70), "was made by a newer version of hushrank"),
        (set_header(version=0), "is not a hushrank model"),
        (set_header(version=True), "is not a hushrank model"),
        (set_header(version="2"), "is not a hushrank model"),
        (set_header(more=1), "its header is not as it was written"),
        (set_header(arrays=None), "it has no content"),
        (lambda members: members.pop("a.npy"), "its arrays are not those of its header"),
        (lambda members: members.update({"extra.npy": b"x"}), "its arrays are not those of its header"),
        (lambda members: members.update({"a": members.pop("a.npy")}), "its arrays are not those of its header"),
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
        set_header(arrays={"a.npy": container._digest(data)})(members)

    return change


@pytest.mark.parametrize("data", [b"", b"junk", to_npy(np.zeros(3))[:-1]], ids=["empty", "junk", "cut"])
def test_arrays_that_cannot_be_read_are_refused(model, data):
    rewrite(model, with_array(data))
    with pytest.raises(
        ModelFileError, match=r"model is damaged: an array (cannot be read|of shape \(3,\) has 23 bytes)\.$"
    ):
        read_archive(model)


def test_half_a_column_of_text_is_refused(model):
    data = to_npy(np.zeros(1, np.uint8))
    change = with_array(data)

    def rename(members):
        change(members)
        members["a.text.npy"] = members.pop("a.npy")
        set_header(arrays={"a.text.npy": container._digest(data)})(members)

    rewrite(model, rename)
    with pytest.raises(ModelFileError, match="is damaged: 'a' is half of a column of text"):
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


@pytest.mark.parametrize(
    ("content", "arrays", "message"),
    [
        ({}, {"a": np.array([object()])}, "a holds objects that have no place in a model file"),
        ({}, {"a": np.zeros(2, np.float32)}, "arrays of float32 have no place in a model file"),
        ({}, {"a": np.array(["x"])}, "arrays of <U1 have no place in a model file"),
        ({}, {"a": ["fine", "half a pair \ud800"]}, "surrogates not allowed"),
        ({"a": object()}, {}, "not JSON serializable"),
        ({"a": float("nan")}, {}, "not JSON compliant"),
        ({"a": "x" * MAX_HEADER}, {}, "its header has .* bytes, more than 262144"),
    ],
)
def test_what_would_not_be_read_back_is_not_written(tmp_path, content, arrays, message):
    with pytest.raises(ModelFileError, match=rf"^cannot write .*model: .*{message}"):
        write_archive(tmp_path / "model", content, arrays)
    assert os.listdir(tmp_path) == []


# Claims of a file that are checked before anything is made of them


def test_compressed_members_are_refused(model):
    for compression in (zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        rewrite(model, lambda members: None, compression)
        with pytest.raises(ModelFileError, match="it has compressed members, which are never written"):
            read_archive(model)


def test_two_members_of_one_name_are_refused(model):
    with zipfile.ZipFile(model, "a") as new, pytest.warns(UserWarning, match="Duplicate name"):
        new.writestr("a.npy", b"other")
    with pytest.raises(ModelFileError, match="it has two members of one name"):
        read_archive(model)


@pytest.mark.parametrize("bit", range(16))
def test_marked_members_are_refused(model, bit):
    """Encrypted, patched, with sizes behind the data, in other character sets: none of it is ever written."""
    data = bytearray(model.read_bytes())
    start = data.index(b"PK\1\2")
    data[start + 8 : start + 10] = (1 << bit).to_bytes(2, "little")
    model.write_bytes(data)
    with pytest.raises(ModelFileError, match=r"encrypted or otherwise marked members|or it is damaged"):
        read_archive(model)


def test_members_that_share_bytes_are_refused(model):
    """Many members at one place of the file: each is read, and all together are far larger than the file."""
    with zipfile.ZipFile(model, "a") as new:
        for number in range(40):
            shared = copy.copy(new.getinfo("b.npy"))
            shared.filename = f"b{number}.npy"
            new.filelist.append(shared)
        new._didModify = True
    with pytest.raises(ModelFileError, match="its members are not of the size they claim"):
        read_archive(model)


def test_a_long_list_of_members_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "model"
    with zipfile.ZipFile(path, "w") as many:
        for number in range(20_000):
            many.writestr(zipfile.ZipInfo(f"{number}"), b"")
    tracemalloc.start()
    with pytest.raises(ModelFileError, match="or it is damaged"):
        read_archive(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < path.stat().st_size / 5


def test_a_zip64_record_cannot_hide_a_long_list_of_members(model):
    data, size = model.read_bytes(), model.stat().st_size
    for length, at in ((2**17, size), (100, size - 1), (2**40, size)):
        record = b"PK\6\6" + (44).to_bytes(8, "little") + bytes(28) + length.to_bytes(8, "little") + bytes(8)
        locator = b"PK\6\7" + bytes(4) + at.to_bytes(8, "little") + bytes(4)
        model.write_bytes(data[:-22] + record + locator + data[-22:])
        with pytest.raises(ModelFileError, match="or it is damaged"):
            read_archive(model)


def test_a_comment_behind_the_list_of_members_is_refused(model):
    with zipfile.ZipFile(model, "a") as new:
        new.comment = b"hello"
    with pytest.raises(ModelFileError, match="or it is damaged"):
        read_archive(model)


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, "[" * 100_000 + "]" * 100_000, '{"a":' * 50_000, "1" * 5000, "NaN", "1e999", "-Infinity"],
    ids=["deep", "closed", "objects", "digits", "NaN", "overflow", "infinite"],
)
@pytest.mark.parametrize("version", [1, 2, 3])
def test_json_that_breaks_a_parser_is_refused(model, text, version):
    def change(members):
        plain = json.loads(members["header.json"])
        header = container._to_json({**plain, "version": version, "content": {"x": "HERE"}}).decode()
        members["header.json"] = header.replace('"HERE"', text).encode()

    rewrite(model, change)
    with pytest.raises(ModelFileError, match=r"model is (damaged|not a hushrank model)"):
        read_archive(model)


def test_a_header_has_one_spelling(model):
    def spaced(members):
        members["header.json"] = members["header.json"].replace(b'": ', b'":  ')

    def doubled(members):
        members["header.json"] = members["header.json"].replace(b'{"arrays"', b'{"arrays": {}, "arrays"')

    for change in (spaced, doubled):
        write_archive(model, CONTENT, ARRAYS)
        rewrite(model, change)
        with pytest.raises(ModelFileError, match="its header is not as it was written"):
            read_archive(model)


def test_long_headers_are_read_in_the_first_version_only(model):
    """It held the ids of a catalogue; brackets in them are no lists."""
    ids = [f"film [{number}" for number in range(20_000)]
    for version, message in ((1, None), *((v, "its header has more than 262144 bytes") for v in (2, 3))):
        write_archive(model, CONTENT, ARRAYS)
        rewrite(model, set_header(version=version, content={"ids": ids}))
        if message is None:
            assert read_archive(model)[0] == {"ids": ids}
        else:
            with pytest.raises(ModelFileError, match=message):
                read_archive(model)


def test_many_lists_are_refused(model):
    rewrite(model, set_header(version=1, content={"x": [[]] * 5000}))
    with pytest.raises(ModelFileError, match="its header has too many lists"):
        read_archive(model)


def test_pipes_are_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelFileError, match=r"^cannot read .*pipe: it is not an ordinary file\.$"):
        read_archive(tmp_path / "pipe")


def test_a_failed_write_leaves_the_old_file_and_nothing_else(model, monkeypatch):
    before = model.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(container.os, "fsync", full)
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
