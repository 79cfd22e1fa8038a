"""Spooled records: a stream is read once and can be read many times, in memory and in files, with the same bits."""

import gc
import os
import threading
import tracemalloc
from contextlib import suppress

import numpy as np
import pytest

from hushrank.data.records import origins, spooling
from hushrank.data.records.record_streams import StreamOrigin
from hushrank.data.records.spooling import FileSpool, MemorySpool, SpooledOrigin, SpoolWriter
from hushrank.exceptions import InvalidParameter

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((100, 3)), RNG.standard_normal(100)
X[3, 1], X[7], Y[5], Y[6] = np.nan, np.inf, -0.0, np.nan


@pytest.fixture(params=["memory", "files", "both"])
def place(request, monkeypatch, tmp_path):
    """Where records are kept; small blocks, so that there are several, and a folder of our own."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(origins, "MAX_BLOCK_BYTES", 16 * 3 * 8)  # 16 records
    limit = {"memory": 2**28, "files": 0, "both": 40 * 3 * 8}[request.param]
    monkeypatch.setattr(spooling, "SPOOLED_IN_MEMORY", limit)
    return request.param


def streamed(step=7, end=100, fail=None):
    def blocks():
        for start in range(0, end, step):
            yield X[start : min(start + step, end)], Y[start : min(start + step, end)]
        if fail is not None:
            raise fail

    return SpooledOrigin(StreamOrigin(blocks(), None, None, None, "A"))


def bits_of(origin, max_rows=8192):
    batches = list(origin.batches(max_rows, origin.dtype))
    assert all(0 < len(batch) <= min(max_rows, 16) and batch.ids is None for batch in batches)
    return [b"".join(getattr(batch, name).tobytes() for batch in batches) for name in ("X", "y")]


def open_files(folder):
    found = 0
    for descriptor in os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else ():
        with suppress(FileNotFoundError):  # that of the listing itself
            found += os.readlink(f"/proc/self/fd/{descriptor}").startswith(f"{folder}/")
    return found


@pytest.mark.parametrize("step", [1, 7, 16, 100])
def test_all_records_in_their_order_as_often_as_asked(place, step):
    origin = streamed(step)
    for max_rows in (1, 5, 16, 8192):
        assert bits_of(origin, max_rows) == [X.tobytes(), Y.tobytes()]
    assert isinstance(origin._spool, MemorySpool if place == "memory" else FileSpool)
    assert (origin.shape, origin.dtype, origin.n_records, origin.can_repeat) == ((3,), np.float64, None, True)


@pytest.mark.parametrize("end", [0, 1, 15, 16, 17, 32, 40, 41])
def test_every_number_of_records(place, end):
    origin = SpooledOrigin(StreamOrigin(iter([(X[:0], Y[:0]), (X[:end], Y[:end])]), None, None, None, "A"))
    for _ in range(2):
        assert bits_of(origin) == [X[:end].tobytes(), Y[:end].tobytes()]


def test_nothing_is_read_before_the_first_is_asked_for_and_then_once(place):
    seen = []

    def blocks():
        for start in range(0, 100, 10):
            seen.append(start)
            yield X[start : start + 10], Y[start : start + 10]

    origin = SpooledOrigin(StreamOrigin(blocks(), None, None, None, "A"))
    batches = origin.batches(8, origin.dtype)
    assert seen == [0]  # the first block tells the schema
    next(batches)
    assert seen == list(range(0, 100, 10)) and origin._origin is None
    bits_of(origin)
    assert seen == list(range(0, 100, 10))


def test_who_stops_in_the_middle_may_start_again(place):
    origin = streamed()
    for _, _batch in zip(range(2), origin.batches(3, origin.dtype), strict=False):
        pass
    assert bits_of(origin) == [X.tobytes(), Y.tobytes()]


def test_arrays_that_are_used_again_are_copied(place):
    def blocks():
        numbers, answers = np.empty((10, 3)), np.empty(10)
        for start in range(0, 100, 10):
            numbers[:], answers[:] = X[start : start + 10], Y[start : start + 10]
            yield numbers, answers

    origin = SpooledOrigin(StreamOrigin(blocks(), None, None, None, "A"))
    assert bits_of(origin) == [X.tobytes(), Y.tobytes()] == bits_of(origin)


def test_a_stream_that_fails_leaves_nothing_and_is_not_taken_for_all_there_is(place, tmp_path):
    origin = streamed(fail=ZeroDivisionError("later"))
    with pytest.raises(ZeroDivisionError):
        bits_of(origin)
    gc.collect()
    assert open_files(tmp_path) == 0 and os.listdir(tmp_path) == []
    for _ in range(2):
        with pytest.raises(InvalidParameter, match=r"^X of A must be data that can be read again; got 'an iterator"):
            bits_of(origin)


def test_files_have_no_name_and_close_with_their_origin(place, tmp_path):
    origin = streamed()
    expected = bits_of(origin)
    assert os.listdir(tmp_path) == []
    n_files = 2 if place != "memory" and os.path.isdir("/proc/self/fd") else 0
    assert open_files(tmp_path) == n_files
    batches = origin.batches(5, origin.dtype)
    first = next(batches)
    del origin
    assert first.X.tobytes() + b"".join(batch.X.tobytes() for batch in batches) == expected[0]
    del batches
    gc.collect()
    assert open_files(tmp_path) == 0


def test_threads_wait_for_the_first_reading_and_do_not_disturb_each_other(place):
    origin, wrong = streamed(step=1), []

    def read(rows):
        wrong.extend(bits_of(origin, rows) != [X.tobytes(), Y.tobytes()] for _ in range(5))

    threads = [threading.Thread(target=read, args=(rows,)) for rows in (1, 3, 16, 100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [False] * 20


def test_a_stream_that_reads_itself_is_told_so(place):
    held = []

    def blocks():
        yield X[:2], Y[:2]
        list(held[0].batches(9, held[0].dtype))

    held.append(SpooledOrigin(StreamOrigin(blocks(), None, None, None, "A")))
    with pytest.raises(InvalidParameter, match="data that can be read again"):
        bits_of(held[0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(3,), (2, 2)])
def test_writers_keep_shapes_and_types(place, dtype, shape):
    numbers = RNG.standard_normal((50, *shape)).astype(dtype)
    with SpoolWriter(shape, np.dtype(dtype)) as writer:
        for start in range(0, 50, 9):
            writer.add(numbers[start : start + 9], Y[start : min(50, start + 9)])
        spool = writer.finish()
    pieces = list(spool.pieces(4))
    found = np.concatenate([piece for piece, _ in pieces])
    assert found.dtype == dtype and found.tobytes() == numbers.tobytes()
    assert b"".join(y.tobytes() for _, y in pieces) == Y[:50].tobytes()


def test_memory_of_blocks_and_not_of_the_data(monkeypatch):
    monkeypatch.setattr(spooling, "SPOOLED_IN_MEMORY", 2**18)
    monkeypatch.setattr(origins, "MAX_BLOCK_BYTES", 2**17)
    numbers, answers = RNG.standard_normal((1000, 10)), np.zeros(1000)
    blocks = ((numbers, answers) for _ in range(100))  # eight megabytes
    tracemalloc.start()
    origin = SpooledOrigin(StreamOrigin(blocks, None, None, None, "A"))
    for _ in range(2):
        assert sum(len(batch) for batch in origin.batches(8192, origin.dtype)) == 100_000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**20
