"""Stores: what was written is read, at any place, by anybody, and no file is left behind."""

import gc
import os
import threading
from contextlib import suppress

import numpy as np
import pytest

from hushrank.data.records import stores
from hushrank.data.records.blocks import UserRecordBlock
from hushrank.data.records.stores import RecordFiles, StoreWriter, read_at, write_numbers

RNG = np.random.default_rng(0)


@pytest.fixture
def open_files(tmp_path, monkeypatch):
    """How many open files lie in a folder that is this test's own: others open and close theirs at any time.

    What tests before have left in reference cycles is closed whenever the garbage is collected.
    """
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def count():
        found = 0
        for descriptor in os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else ():
            with suppress(FileNotFoundError):  # that of the listing itself
                found += os.readlink(f"/proc/self/fd/{descriptor}").startswith(f"{tmp_path}/")
        return found

    return count


def block(counts, shape, dtype):
    indptr = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    return UserRecordBlock(indptr, RNG.standard_normal((indptr[-1], *shape)).astype(dtype), RNG.random(indptr[-1]))


def written(blocks, shape, dtype, is_in_memory):
    n_users, n_records = sum(map(len, blocks)), sum(len(one.y) for one in blocks)
    with StoreWriter(n_users, n_records, shape, np.dtype(dtype), is_in_memory=is_in_memory) as writer:
        for one in blocks:
            writer.append(one)
        return writer.finish()


@pytest.mark.parametrize("has_preadv", [True, False])
@pytest.mark.parametrize("is_in_memory", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(3,), (2, 2)])
def test_blocks_are_joined(monkeypatch, shape, dtype, is_in_memory, has_preadv):
    if not has_preadv:
        monkeypatch.delattr(os, "preadv", raising=False)
        monkeypatch.setattr(stores, "_PIECE_BYTES", 7)
    blocks = [block(counts, shape, dtype) for counts in ([2, 1], [], [0, 5], [1])]
    store = written(blocks, shape, dtype, is_in_memory)
    assert store.indptr.tolist() == [0, 2, 3, 3, 8, 9]
    X, y = (np.concatenate([getattr(one, name) for one in blocks]) for name in ("X", "y"))
    for start, stop in ((0, 9), (3, 8), (8, 9), (4, 4), (0, 2)):
        found, answers = store.read(start, stop)
        assert found.dtype == dtype and found.flags.c_contiguous and found.flags.writeable
        assert found.tobytes() == X[start:stop].tobytes() and answers.tobytes() == y[start:stop].tobytes()


def test_files_are_read_into_new_arrays_and_close_with_their_store(tmp_path, open_files):
    assert open_files() == 0
    store = written([block([3], (2,), np.float32)], (2,), np.float32, False)
    first, again = store.read(0, 3)[0], store.read(0, 3)[0]
    assert not np.shares_memory(first, again) and not isinstance(first, np.memmap)
    assert open_files() == (2 if os.path.isdir("/proc/self/fd") else 0)
    del store
    gc.collect()
    assert open_files() == 0 and list(tmp_path.iterdir()) == [] and first.tobytes() == again.tobytes()


def test_records_without_users_are_read_at_any_place(tmp_path, open_files):
    X, y = RNG.standard_normal((5, 2, 3)).astype(np.float32), RNG.random(5)
    with (tmp_path / "X").open("w+b") as first, (tmp_path / "y").open("w+b") as second:
        for part in (slice(0, 2), slice(2, 5)):
            write_numbers(first, X[part])
            write_numbers(second, y[part])
        first.flush()
        second.flush()
        records = RecordFiles((first, second), (2, 3), np.dtype(np.float32))
    for start, stop in ((3, 5), (0, 5), (1, 2), (4, 4)):  # the files above are closed
        found, answers = records.read(start, stop)
        assert found.tobytes() == X[start:stop].tobytes() and answers.tobytes() == y[start:stop].tobytes()
    del records
    gc.collect()
    assert open_files() == 0


def test_an_error_leaves_no_file_behind(tmp_path, open_files):
    with (
        pytest.raises(ZeroDivisionError),
        StoreWriter(1, 1, (1,), np.dtype(np.float32), is_in_memory=False) as writer,
    ):
        writer.append(block([1], (1,), np.float32))
        assert open_files() == (2 if os.path.isdir("/proc/self/fd") else 0)
        raise ZeroDivisionError
    assert open_files() == 0 and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("has_preadv", [True, False])
def test_threads_do_not_disturb_each_other(monkeypatch, has_preadv):
    if not has_preadv:
        monkeypatch.delattr(os, "preadv", raising=False)
        monkeypatch.setattr(stores, "_PIECE_BYTES", 64)
    own = block([1] * 500, (4,), np.float64)
    store, wrong = written([own], (4,), np.float64, False), []

    def read(seed):
        rng = np.random.default_rng(seed)
        for start in rng.integers(0, 490, 200):
            X, y = store.read(start, start + 10)
            if X.tobytes() != own.X[start : start + 10].tobytes() or y.tobytes() != own.y[start : start + 10].tobytes():
                wrong.append(start)

    threads = [threading.Thread(target=read, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.skipif(not hasattr(os, "preadv"), reason="a system that cannot read at a place")
def test_reading_moves_no_position_that_others_would_see(tmp_path):
    """The chance of two threads at one position is small, and so is that of a test with threads to notice it."""
    (tmp_path / "x").write_bytes(np.arange(5.0).tobytes())
    with (tmp_path / "x").open("rb", buffering=0) as file:
        file.seek(3)
        out = np.empty(2)
        read_at(file.fileno(), 16, out, threading.Lock())
        assert out.tolist() == [2, 3] and file.tell() == 3


def test_a_file_that_lost_its_end_is_noticed(tmp_path):
    (tmp_path / "x").write_bytes(bytes(20))
    with (tmp_path / "x").open("rb") as file, pytest.raises(OSError, match="a file is shorter than what was written"):
        read_at(file.fileno(), 8, np.empty(2), threading.Lock())
