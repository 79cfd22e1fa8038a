"""Out of core: the same bits as in memory, whatever is kept where, in bounded memory, and no file left behind."""

import gc
import os
import tracemalloc
from contextlib import suppress

import numpy as np
import pytest

from hushrank.data.records import out_of_core
from hushrank.data.records.grouping import group_records
from hushrank.data.records.out_of_core import RecordGrouper

RNG = np.random.default_rng(5)
N_USERS = 300
CODES = np.minimum(RNG.integers(0, N_USERS - 50, 4000), RNG.integers(0, N_USERS, 4000)).astype(np.int32)
CODES[::97] = -1
X, Y = RNG.integers(-2, 3, (4000, 3)).astype(np.float32), RNG.integers(0, 3, 4000).astype(np.float64)


def grouped(codes=CODES, X=X, y=Y, step=997, n_users=N_USERS, in_memory=0):
    with RecordGrouper(X.shape[1:], X.dtype, in_memory) as grouper:
        for start in range(0, len(codes), step):
            part = slice(start, start + step)
            grouper.add(codes[part], X[part], y[part])
        return grouper.finish(n_users)


def bits_of(store):
    X, y = store.read(0, int(store.indptr[-1]))
    return store.indptr.tobytes(), X.tobytes(), y.tobytes()


def expected(codes=CODES, X=X, y=Y, n_users=N_USERS):
    block = group_records(codes, n_users, [(X, y)], X.shape[1:], X.dtype)
    return block.indptr.tobytes(), block.X.tobytes(), block.y.tobytes()


def open_files():
    """Of files that have no name: others, and the connections of a cluster, open and close at any time."""
    gc.collect()  # files that earlier tests have let go of
    found = 0
    for descriptor in os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else ():
        with suppress(FileNotFoundError):  # that of the listing itself
            found += os.readlink(f"/proc/self/fd/{descriptor}").endswith("(deleted)")
    return found


# Bytes parted in memory, of a chunk and of a part; bytes grouped in memory.
LIMITS = {
    "one chunk": (2**30, 2**26, 2**26, 2**30),
    "parts in memory": (2**30, 5000, 2000, 2**30),
    "parts in a file": (20_000, 5000, 2000, 2**30),
    "every chunk in a file": (0, 3001, 1, 2**30),
    "all in files": (0, 3001, 500, 0),
    "grouped in files": (2**30, 2**26, 500, 0),
    "one record at a time": (0, 1, 1, 0),
}


@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("step", [7, 997, 4000])
def test_every_way_gives_the_same_bits(monkeypatch, limits, step):
    *sizes, in_memory = LIMITS[limits]
    n = 4000 if limits != "one record at a time" else 150
    for name, value in zip(("PARTED_IN_MEMORY", "CHUNK_BYTES", "PART_BYTES"), sizes, strict=True):
        monkeypatch.setattr(out_of_core, name, value)
    before = open_files()
    store = grouped(CODES[:n], X[:n], Y[:n], step, in_memory=in_memory)
    assert bits_of(store) == expected(CODES[:n], X[:n], Y[:n])
    assert open_files() <= before + 2 * (in_memory == 0)
    del store
    gc.collect()
    assert open_files() == before


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1,), (2, 3)])
def test_shapes_and_precisions(monkeypatch, dtype, shape):
    monkeypatch.setattr(out_of_core, "CHUNK_BYTES", 999)
    numbers = RNG.standard_normal((4000, *shape)).astype(dtype)
    store = grouped(X=numbers)
    assert store.read(3, 5)[0].shape == (2, *shape) and bits_of(store) == expected(X=numbers)


def test_one_user_with_more_records_than_a_part(monkeypatch):
    monkeypatch.setattr(out_of_core, "CHUNK_BYTES", 999)
    monkeypatch.setattr(out_of_core, "PART_BYTES", 500)
    monkeypatch.setattr(out_of_core, "PARTED_IN_MEMORY", 0)
    for codes in (np.zeros(4000, np.int32), np.where(CODES > 200, CODES, 7).astype(np.int32)):
        assert bits_of(grouped(codes)) == expected(codes)


@pytest.mark.parametrize("n_users", [0, 1, 2000])
def test_nobody_and_users_without_records(n_users):
    for in_memory in (0, 2**20):
        store = grouped(CODES[:0], X[:0], Y[:0], n_users=n_users, in_memory=in_memory)
        assert store.indptr.tolist() == [0] * (n_users + 1)
        assert [part.shape for part in store.read(0, 0)] == [(0, 3), (0,)]


def test_the_limit_counts_bytes_of_the_grouped_numbers():
    n_bytes = int((CODES >= 0).sum()) * 3 * 4
    assert type(grouped(in_memory=n_bytes)).__name__ == "MemoryStore"
    assert type(grouped(in_memory=n_bytes - 1)).__name__ == "FileStore"


def test_an_error_leaves_no_file_behind(monkeypatch, tmp_path):
    monkeypatch.setattr(out_of_core, "CHUNK_BYTES", 999)
    monkeypatch.setattr(out_of_core, "PARTED_IN_MEMORY", 0)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = open_files()
    with pytest.raises(ZeroDivisionError), RecordGrouper((3,), np.dtype(np.float32), 0) as grouper:
        grouper.add(CODES, X, Y)
        assert open_files() > before or not open_files()
        raise ZeroDivisionError
    monkeypatch.setattr(out_of_core, "group_records", lambda *unused: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        grouped()
    assert open_files() == before and list(tmp_path.iterdir()) == []


def test_memory_is_for_chunks_and_parts(monkeypatch):
    """Eight megabytes of records through a tenth of it."""
    for name in ("CHUNK_BYTES", "PARTED_IN_MEMORY", "PART_BYTES"):
        monkeypatch.setattr(out_of_core, name, 2**17)
    n, step = 100_000, 1000
    rng = np.random.default_rng(1)
    numbers, y = rng.standard_normal((step, 20), dtype=np.float32), np.zeros(step)
    grouped(CODES[:9] * 0, numbers[:9], y[:9], n_users=1)  # compiles
    codes = rng.integers(0, n // 10, n).astype(np.int32)
    tracemalloc.start()
    with RecordGrouper((20,), np.dtype(np.float32), 0) as grouper:
        for start in range(0, n, step):
            grouper.add(codes[start : start + step], numbers, y)
        store = grouper.finish(n // 10)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    chunks = n * 92 // 2**17 * (8 * 1025 + 1000)  # where each chunk's ranges of users start
    assert int(store.indptr[-1]) == n and peak < 8 * 2**17 + 3 * chunks
