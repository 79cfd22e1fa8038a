"""Arrays in npy files: read in blocks into new memory, refused when they are made if they are not what they say."""

import gc
import os
import pickle
import threading
import tracemalloc
from contextlib import suppress

import numpy as np
import pytest

from hushrank.data.records.npy_files import StoredArray, kind_of_file, read_npy, read_npy_answers
from hushrank.exceptions import InvalidParameter

RNG = np.random.default_rng(0)
X = RNG.standard_normal((9, 2, 3))
MAGIC = np.lib.format.magic


def saved(path, array):
    np.save(path / "x.npy", array)
    return path / "x.npy"


def refusal_of(path, name="X"):
    with pytest.raises(InvalidParameter) as refusal:
        StoredArray(path, name, "A")
    assert "\n" not in str(refusal.value)
    return str(refusal.value)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "float32", "float64", ">f4", ">i2"])
def test_entries_of_every_type_at_any_place(tmp_path, dtype):
    array = (10 * X).astype(dtype)
    stored = StoredArray(str(saved(tmp_path, array)), "X", "A")
    assert stored.shape == (9, 2, 3) and stored.dtype == array.dtype and len(stored) == 9
    for part in (slice(0, 9), slice(3, 5), slice(7, 20), slice(4, 4), slice(5, 2), slice(None, 2)):
        found = stored[part]
        assert found.dtype == array.dtype and found.tobytes() == array[part].tobytes()
        assert found.flags.c_contiguous and found.flags.writeable and not isinstance(found, np.memmap)


def test_single_precision_is_read_without_a_wider_copy(tmp_path):
    numbers = read_npy(saved(tmp_path, np.ones((2**12, 2**8), np.float32)), "A")
    assert numbers.dtype == np.float32 and numbers.shape == (2**8,) and len(numbers) == 2**12
    list(numbers.blocks(64, numbers.dtype))
    tracemalloc.start()
    assert sum(len(block) for block in numbers.blocks(64, numbers.dtype)) == 2**12
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * 64 * 2**8 * 4  # two blocks of float32, of a file of four megabytes


def test_version_two_of_the_format(tmp_path):
    with (tmp_path / "x.npy").open("wb") as file:
        np.lib.format.write_array(file, X, version=(2, 0))
    assert StoredArray(tmp_path / "x.npy", "X", "A")[:].tobytes() == X.tobytes()


def test_a_file_of_no_records(tmp_path):
    numbers = read_npy(saved(tmp_path, np.empty((0, 4))), "A")
    assert len(numbers) == 0 and list(numbers.blocks()) == []


def header(text, version=(1, 0)):
    size = 2 if version == (1, 0) else 4
    return MAGIC(*version) + len(text).to_bytes(size, "little") + text


def described(shape, descr="'<f8'", order="False"):
    return header(f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}}}\n".encode())


DAMAGED = "X of A must be a readable npy file; got 'x.npy: damaged, or of another kind'."
WHOLE = "X of A must be a whole npy file; got 'x.npy: another length than its header tells'."
REAL = "X of A must be real numbers of at most double precision"
BYTES = {
    "nothing": (b"", DAMAGED),
    "another kind": (b"PAR1 7.25 PAR1", DAMAGED),
    "the magic alone": (MAGIC(1, 0), DAMAGED),
    "version 3": (header(b"{}", (3, 0)), DAMAGED),
    "an unknown version": (MAGIC(9, 0) + bytes(8), DAMAGED),
    "no header": (header(b"7.25"), DAMAGED),
    "a program": (header(b"__import__('os').abort()"), DAMAGED),
    "a deep header": (header(b"(" * 9000), DAMAGED),
    "a long header": (header(b" " * 60000), DAMAGED),
    "more than there is": (described("(3, 2)") + bytes(47), WHOLE),
    "less than there is": (described("(3, 2)") + bytes(49), WHOLE),
    "much more": (described(f"({2**62}, {2**62})"), WHOLE),
    "more than counts": (described(f"({2**70},)"), DAMAGED),
    "a negative length": (described("(-1, 2)") + bytes(16), WHOLE),
    "two negative lengths": (described("(-1, -2)") + bytes(16), WHOLE),
    "one number": (described("()") + bytes(8), WHOLE),
    "complex": (described("(1,)", "'<c8'") + bytes(8), f"{REAL} (Complex data not supported); got 'complex64'."),
    "objects": (described("(1,)", "'|O'") + pickle.dumps([7.25]), f"{REAL}; got 'object'."),
    "fields": (described("(1,)", "[('a', '<f8')]") + bytes(8), f"{REAL}; got \"[('a', '<f8')]\"."),
    "texts": (described("(1,)", "'<U2'") + bytes(8), f"{REAL}; got '<U2'."),
    "dates": (described("(1,)", "'<M8[s]'") + bytes(8), f"{REAL}; got 'datetime64[s]'."),
    "nothing at all": (described("(5,)", "'|V0'"), f"{REAL}; got '|V0'."),
    "another order": (
        described("(1, 1)", order="True") + bytes(8),
        "X of A must be an npy file in C order (saved from numpy.ascontiguousarray); got 'x.npy: in Fortran order'.",
    ),
}


@pytest.mark.parametrize("kind", BYTES)
def test_odd_files_are_refused_when_they_are_opened(tmp_path, kind):
    content, message = BYTES[kind]
    (tmp_path / "x.npy").write_bytes(content)
    assert refusal_of(tmp_path / "x.npy") == message
    assert refusal_of(tmp_path / "x.npy", "y") == message.replace("X of", "y of")


def test_extended_precision_is_refused(tmp_path):
    if np.dtype(np.longdouble).itemsize > 8:
        assert refusal_of(saved(tmp_path, X.astype(np.longdouble))).startswith(REAL)


def test_files_in_fortran_order_are_refused(tmp_path):
    assert refusal_of(saved(tmp_path, np.asfortranarray(X))).endswith("got 'x.npy: in Fortran order'.")


def test_paths_that_are_none(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert refusal_of("x.npy") == "X of A must be an existing npy file; got 'x.npy'."
    (tmp_path / "x.npz").write_bytes(b"")
    assert refusal_of("x.npz", "y") == "y of A must be an existing npy file; got 'x.npz'."
    (tmp_path / "folder.npy").mkdir()
    assert refusal_of("folder.npy") == "X of A must be an existing npy file; got 'folder.npy'."


@pytest.mark.parametrize("has_preadv", [True, False])
def test_a_file_that_becomes_shorter_is_refused(tmp_path, monkeypatch, has_preadv):
    if not has_preadv:
        monkeypatch.delattr(os, "preadv", raising=False)
    path = saved(tmp_path, X)
    numbers, size = read_npy(path, "A"), path.stat().st_size
    os.truncate(path, size - 1)
    blocks = numbers.blocks(4)
    assert [len(next(blocks)), len(next(blocks))] == [4, 4]
    with pytest.raises(InvalidParameter) as refusal:
        next(blocks)
    assert str(refusal.value) == DAMAGED


def test_a_file_that_is_replaced_is_read_as_it_was(tmp_path):
    stored = StoredArray(saved(tmp_path, X), "X", "A")
    (tmp_path / "x.npy").unlink()
    saved(tmp_path, X + 1.0)
    assert stored[:].tobytes() == X.tobytes()


@pytest.mark.parametrize("has_preadv", [True, False])
def test_threads_do_not_disturb_each_other(tmp_path, monkeypatch, has_preadv):
    if not has_preadv:
        monkeypatch.delattr(os, "preadv", raising=False)
    array, wrong = RNG.standard_normal((500, 4)), []
    numbers = read_npy(saved(tmp_path, array), "A")

    def read():
        for _ in range(10):
            wrong.append(np.concatenate(list(numbers.blocks(7))).tobytes() != array.tobytes())

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [False] * 40


def test_files_close_with_their_arrays(tmp_path):
    def count():
        found = 0
        for descriptor in os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else ():
            with suppress(FileNotFoundError):  # that of the listing itself
                found += os.readlink(f"/proc/self/fd/{descriptor}").startswith(f"{tmp_path}/")
        return found

    stored = StoredArray(saved(tmp_path, X), "X", "A")
    assert count() == (1 if os.path.isdir("/proc/self/fd") else 0)
    del stored
    os.truncate(tmp_path / "x.npy", 9)
    refusal_of(tmp_path / "x.npy")
    gc.collect()
    assert count() == 0


def test_answers_in_memory_and_in_files(tmp_path):
    np.save(tmp_path / "y.npy", np.arange(3, dtype=">i2"))
    for y in ([0, 1, 2], tmp_path / "y.npy", str(tmp_path / "y.npy")):
        assert read_npy_answers(y, 3, "A")[1:3].tolist() == [1, 2]
    for y in ([0, 1, 2], tmp_path / "y.npy"):
        with pytest.raises(
            InvalidParameter, match=r"^y of A must be a vector of 4 numbers, one for each record; got '3"
        ):
            read_npy_answers(y, 4, "A")
    with pytest.raises(InvalidParameter, match=r"^y of A must be a vector, .*; got 'shape \(9, 2, 3\)'"):
        read_npy_answers(saved(tmp_path, X), 9, "A")


def test_numbers_are_vectors_or_matrices(tmp_path):
    for array, got in ((X[:, 0, 0], "shape (9,)"), (X[None], "shape (1, 9, 2, 3)"), (X[:, :0], "0 feature")):
        with pytest.raises(InvalidParameter) as refusal:
            read_npy(saved(tmp_path, array), "A")
        assert f"got '{got}" in str(refusal.value)


def test_kinds_of_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.npy").mkdir()
    for name, kind in (("a.NPY", ".npy"), ("b.csv", ".csv"), ("c.Pq", ".pq"), ("folder.npy", ".parquet")):
        assert kind_of_file(tmp_path / name, "A") == kind
    with pytest.raises(InvalidParameter) as refusal:
        kind_of_file(tmp_path / "x.npz", "A")
    suffixes = ".parquet, .pq, .csv, .tsv, .csv.gz, .tsv.gz, .csv.zst, .tsv.zst, .npy"
    known = f"a folder of Parquet or CSV files or a file ending in {suffixes}"
    assert str(refusal.value) == f"X of A must be {known}; got 'x.npz'."
