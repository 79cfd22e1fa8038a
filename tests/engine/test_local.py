"""The local engine: exact totals for every split, bounded memory, one BLAS thread, and errors that stop everything."""

import gc
import os
import pickle
import threading
import time
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_info, threadpool_limits

from hushrank.data.rows.reading import read_rows
from hushrank.engine.local import LocalEngine, _SharedTotals
from hushrank.engine.protocol import Engine
from hushrank.exceptions import InvalidParameter
from hushrank.linalg.integer_sums import integer_gram


class Stop(Exception):
    pass


def sum_rows(block, factor):
    return factor * block.astype(np.int64).sum(axis=0)


def sum_and_count(block, factor):
    return sum_rows(block, factor), np.array(len(block))


def gram(block, lattice):
    return integer_gram(block, *lattice)


def rows_of(data):
    return read_rows(data, owner="test")


def blas_threads():
    return {info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"}


# Totals.


@given(st.integers(0, 40), st.integers(1, 20), st.integers(1, 5), st.integers(0, 2**32))
@settings(deadline=None, max_examples=40)
def test_totals_equal_python_integers_modulo_2_to_the_64(n_samples, block_rows, threads, seed):
    X = np.random.default_rng(seed).integers(-(2**63), 2**63, (n_samples, 3))
    total = LocalEngine(threads, block_rows).total(rows_of(X), sum_rows, 5)
    exact = [5 * sum(int(x) for x in column) for column in X.T]
    assert total.dtype == np.int64 and total.shape == (3,)
    assert [int(t) % 2**64 for t in total] == [e % 2**64 for e in exact]


@pytest.mark.parametrize("block_rows", [1, 7, 8192])
@pytest.mark.parametrize("threads", [None, 1, 2, 5])
def test_gram_matrices_have_the_bits_of_a_single_call(block_rows, threads):
    n_samples = 300 if block_rows == 1 else 20_000
    X = np.random.default_rng(1).standard_normal((n_samples, 4))
    expected = integer_gram(X, 2.0, 4**18)
    assert np.array_equal(LocalEngine(threads, block_rows).total(rows_of(X), gram, (2.0, 4**18)), expected)


@pytest.mark.parametrize("threads", [1, 3])
def test_tuples_and_numbers_are_added_part_by_part(threads):
    engine = LocalEngine(threads, block_rows=4)
    total, count = engine.total(rows_of(np.ones((50, 2), np.int8)), sum_and_count, 3)
    assert total.tolist() == [150, 150] and count == 50 and count.shape == ()


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("data", [np.empty((0, 2)), lambda: [np.empty((0, 2))]])
def test_no_rows_give_what_the_kernel_makes_of_an_empty_block(threads, data):
    total, count = LocalEngine(threads).total(rows_of(data), sum_and_count, 3)
    assert total.tolist() == [0, 0] and count == 0


def test_results_of_the_kernel_are_not_written_to():
    shared = np.ones(2, np.int64)
    total = LocalEngine(2, 1).total(rows_of(np.zeros((9, 1))), lambda block, state: shared, None)
    assert total.tolist() == [9, 9] and shared.tolist() == [1, 1]


@pytest.mark.parametrize("threads", [1, 2])
def test_kernels_must_return_int64_of_one_shape(threads):
    engine = LocalEngine(threads, block_rows=1)
    kernels = [
        lambda block, state: block.sum(axis=0),
        lambda block, state: np.zeros(1 + int(block[0, 0]), np.int64),  # would be broadcast
        lambda block, state: [1, 2, 3][: 2 + int(block[0, 0])],
    ]
    for kernel in kernels:
        with pytest.raises(
            TypeError, match="a kernel must return int64 arrays of the same shapes for every block; got"
        ):
            engine.total(rows_of(np.array([[0.0], [1.0], [1.0], [0.0]])), kernel, None)


# Kernels that add to totals of which there is one for all threads.


class AddGram:
    """Adds the rows of Gram matrices and counts to shared totals: a part for each row, and one for the counts.

    Additions are slow and not atomic, so that two threads at one part would lose some.
    """

    def __init__(self):
        self.callers, self.fresh, self.visits = set(), 0, []

    def new_totals(self, lattice):
        self.fresh += 1
        return np.zeros((3, 3), np.int64), np.zeros(1, np.int64)

    def n_parts(self, lattice):
        return 4

    def prepare(self, block, lattice):
        return integer_gram(block, *lattice), len(block)

    def add(self, prepared, lattice, totals, part):
        self.callers.add(threading.current_thread())
        self.visits.append(part)
        gram_part, count = prepared
        total, change = (totals[1], count) if part == 3 else (totals[0][part], gram_part[part])
        seen = total.copy()
        time.sleep(0)  # another thread may run here
        total[:] = seen + change


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_shared_totals_have_the_same_bits_for_every_number_of_threads(threads):
    X, kernel = np.random.default_rng(1).standard_normal((900, 3)), AddGram()
    gram_total, count = LocalEngine(threads, block_rows=7).total(rows_of(lambda: [X]), kernel, (2.0, 4**18))
    assert np.array_equal(gram_total, integer_gram(X, 2.0, 4**18)) and count.tolist() == [900]
    assert kernel.fresh == 1 and (threading.current_thread() in kernel.callers) == (threads == 1)
    assert np.bincount(kernel.visits).tolist() == [len(kernel.visits) // 4] * 4  # every block at every part once


def test_blocks_begin_at_different_parts_and_visit_all_of_them():
    X, kernel = np.ones((8, 3)), AddGram()
    LocalEngine(1, block_rows=1).total(rows_of(lambda: [X[i : i + 1] for i in range(8)]), kernel, (2.0, 4**18))
    assert np.array(kernel.visits).reshape(8, 4).tolist() == [[0, 1, 2, 3]] * 8  # one thread has nobody to avoid
    shared = _SharedTotals(AddGram(), (2.0, 4**18), threads=2)
    for i in range(4):
        shared.add(X[i : i + 1], (2.0, 4**18))
    visits = np.array(shared._kernel.visits).reshape(4, 4).tolist()
    assert visits == [[0, 1, 2, 3], [2, 3, 0, 1]] * 2


def test_two_threads_are_never_at_one_part_at_a_time():
    busy, collisions = [threading.Lock() for _ in range(4)], []

    class Watched(AddGram):
        def add(self, prepared, lattice, totals, part):
            if not busy[part].acquire(blocking=False):
                collisions.append(part)
                return
            time.sleep(1e-4)
            busy[part].release()

    LocalEngine(4, block_rows=1).total(rows_of(np.ones((60, 3))), Watched(), (2.0, 4**18))
    assert collisions == []


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("data", [np.empty((0, 3)), lambda: [np.empty((0, 3))]])
def test_shared_totals_of_no_rows_are_zero(threads, data):
    gram_total, count = LocalEngine(threads).total(rows_of(data), AddGram(), (2.0, 4**18))
    assert gram_total.shape == (3, 3) and not gram_total.any() and count.tolist() == [0]


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_an_error_in_a_shared_kernel_stops_the_reading(threads):
    read, before = [], threading.active_count()

    class Failing(AddGram):
        def prepare(self, block, lattice):
            if block[0, 0] == 20:
                raise Stop
            return super().prepare(block, lattice)

    def source():
        for i in range(10_000):
            read.append(i)
            yield np.full((1, 3), i)

    rows = rows_of(source)
    read.clear()
    with pytest.raises(Stop):
        LocalEngine(threads).total(rows, Failing(), (2.0, 4**18))
    assert 20 < len(read) <= 5000 and threading.active_count() == before


# Threads and memory.


class CountedBlocks:
    """Blocks that count how many of them are alive."""

    def __init__(self, n_blocks):
        self.n_blocks, self.alive, self.most = n_blocks, 0, 0
        self._lock = threading.RLock()

    def _add(self, change):
        with self._lock:
            self.alive += change
            self.most = max(self.most, self.alive)

    def __call__(self):
        for i in range(self.n_blocks):
            yield self._make(i)

    def _make(self, i):
        block = np.full((2, 1), i)
        self._add(1)
        weakref.finalize(block, self._add, -1)
        return block


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_few_blocks_are_alive_at_a_time(threads):
    source = CountedBlocks(400)
    rows = rows_of(source)
    gc.collect()
    source.most = source.alive
    assert LocalEngine(threads).total(rows, sum_rows, 1).tolist() == [2 * sum(range(400))]
    assert source.most <= (threads + 1 if threads > 1 else 1)
    assert source.alive == 0


@pytest.mark.parametrize("threads", [2, 3])
def test_all_threads_compute_at_the_same_time(threads):
    barrier = threading.Barrier(threads, timeout=20)

    def meet(block, state):
        barrier.wait()  # breaks, and raises, unless that many threads are here together
        return np.array(threading.current_thread() is not threading.main_thread(), np.int64)

    assert LocalEngine(threads, 1).total(rows_of(np.ones((4 * threads, 1))), meet, None) == 4 * threads


def test_one_thread_is_the_calling_thread():
    seen = set()

    def note(block, state):
        seen.add(threading.current_thread())
        return np.array(1)

    assert LocalEngine(1, 1).total(rows_of(np.ones((5, 1))), note, None) == 5
    assert seen == {threading.current_thread()}


def test_sources_are_read_on_the_calling_thread():
    readers = set()

    def source():
        for _ in range(10):
            readers.add(threading.current_thread())
            yield np.ones((3, 1))

    assert LocalEngine(3).total(rows_of(source), sum_rows, 1).tolist() == [30]
    assert readers == {threading.current_thread()}


def test_small_data_are_shared_out_evenly():
    engine = LocalEngine(4)
    assert engine._split(rows_of(np.ones((0, 1)))) == (1, 2048)
    assert engine._split(rows_of(np.ones((2048, 1)))) == (1, 2048)
    assert engine._split(rows_of(np.ones((2049, 1)))) == (2, 2048)
    assert engine._split(rows_of(np.ones((80_000, 1)))) == (4, 5000)
    assert engine._split(rows_of(np.ones((1_000_000, 1)))) == (4, 8192)
    assert engine._split(rows_of(lambda: [np.ones((1, 1))])) == (4, 8192)
    assert LocalEngine(4, 10)._split(rows_of(np.ones((80_000, 1)))) == (4, 10)


def test_default_threads_respect_the_affinity_mask(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {3, 5, 7}, raising=False)
    assert LocalEngine()._split(rows_of(np.ones((10**6, 1))))[0] == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert LocalEngine()._split(rows_of(np.ones((10**6, 1))))[0] == 1


# BLAS.


def note_blas_threads(block, seen):
    seen.append(blas_threads())
    return np.array(1)


@pytest.mark.parametrize("threads", [1, 2])
def test_blas_has_one_thread_inside_and_gets_its_number_back(threads):
    with threadpool_limits(limits=2, user_api="blas"):
        seen = []
        LocalEngine(threads, 1).total(rows_of(np.ones((4, 1))), note_blas_threads, seen)
        assert seen == [{1}] * 4 and blas_threads() == {2}
        with pytest.raises(ZeroDivisionError):
            LocalEngine(threads, 1).total(rows_of(np.ones((4, 1))), lambda block, state: 1 // 0, None)
        assert blas_threads() == {2}


def test_sums_that_overlap_leave_the_number_as_it_was():
    begun, end, seen = threading.Event(), threading.Event(), []

    def wait(block, state):
        begun.set()
        assert end.wait(20)
        return note_blas_threads(block, seen)

    other = threading.Thread(target=lambda: LocalEngine(1).total(rows_of(np.ones((1, 1))), wait, None))

    def start_the_other(block, state):
        other.start()
        assert begun.wait(20)
        return note_blas_threads(block, seen)

    with threadpool_limits(limits=2, user_api="blas"):
        LocalEngine(1).total(rows_of(np.ones((1, 1))), start_the_other, None)
        assert seen == [{1}] and blas_threads() == {2}
        end.set()
        other.join(20)
        assert len(seen) == 2 and blas_threads() == {2}
        LocalEngine(1).total(rows_of(np.ones((1, 1))), note_blas_threads, seen)
        assert seen[-1] == {1} and blas_threads() == {2}


# Errors.


@pytest.mark.parametrize("error", [Stop, InvalidParameter("a", "b", "c", 1), KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_an_error_of_the_kernel_stops_the_reading(threads, error):
    read = []

    def source():
        for i in range(10_000):
            read.append(i)
            yield np.full((1, 1), i)

    def kernel(block, state):
        if block[0, 0] == 20:
            raise error
        return np.array(1)

    rows = rows_of(source)
    read.clear()
    with pytest.raises(error if isinstance(error, type) else type(error)):
        LocalEngine(threads).total(rows, kernel, None)
    assert 20 < len(read) <= 5000  # far from the end; threads run ahead of each other


@pytest.mark.parametrize("error", [Stop, KeyboardInterrupt])
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_an_error_of_the_source_stops_the_threads(threads, error):
    def source():
        yield from (np.ones((1, 1)) for _ in range(20))
        raise error

    before = threading.active_count()
    with pytest.raises(error):
        LocalEngine(threads).total(rows_of(source), sum_rows, 1)
    assert threading.active_count() == before


# The object.


def test_engines_are_plain_values():
    engine = LocalEngine(threads=3)
    assert repr(engine) == "LocalEngine(threads=3, block_rows=8192)"
    assert engine == LocalEngine(3) != LocalEngine(3, 7) and hash(engine) == hash(LocalEngine(3))
    assert pickle.loads(pickle.dumps(engine)) == engine
    follows: Engine = engine
    assert follows is engine


@pytest.mark.parametrize("threads", [0, -1, 1025, 1.0, True, "2"])
def test_unsuitable_threads_are_refused(threads):
    with pytest.raises(InvalidParameter) as refusal:
        LocalEngine(threads)
    assert (
        str(refusal.value) == f"threads of LocalEngine must be an integer between 1 and 1024 or None; got {threads!r}."
    )


@pytest.mark.parametrize("allowed", [0, 2])
def test_a_system_without_threads_to_give_ends_in_an_error(monkeypatch, allowed):
    start, started = threading.Thread.start, []

    def refuse(thread):
        started.append(thread)
        if len(started) > allowed:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        LocalEngine(4, block_rows=1).total(rows_of([[1], [2], [3]]), sum_rows, 1)


@pytest.mark.parametrize("block_rows", [0, 8193, 1.5, None, True])
def test_unsuitable_block_sizes_are_refused(block_rows):
    with pytest.raises(InvalidParameter) as refusal:
        LocalEngine(block_rows=block_rows)
    expected = f"block_rows of LocalEngine must be an integer between 1 and 8192; got {block_rows!r}."
    assert str(refusal.value) == expected
    assert LocalEngine(np.int64(2), np.int32(8192)).block_rows == 8192
