"""Sums over people on one machine, in threads.

Integer addition has no rounding, so the total has the same bits for every block size, order and number of threads.
"""

import itertools
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from numbers import Integral
from queue import SimpleQueue
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from hushrank.data.source import MAX_BLOCK_ROWS, Source
from hushrank.engine.progress import show_progress
from hushrank.engine.protocol import IntegerArray, Kernel, SharedKernel, Totals
from hushrank.exceptions import InvalidParameter
from hushrank.linalg.threads import one_blas_thread

MAX_THREADS = 1024

Advance = Callable[[int], None]

# Shorter blocks lose more time at their start and end than even shares among threads win.
_ROWS_WORTH_A_BLOCK = 2048


@dataclass(frozen=True)
class LocalEngine:
    """Threads on this machine, each with one BLAS thread; the calling thread reads, nothing is forked.

    Parameters
    ----------
    threads : int, optional
        Threads that compute, at most 1024; by default as many as there are cores this process may use. With one
        thread everything happens on the calling thread.
    block_rows : int, default 8192
        Most rows per block, between 1 and 8192. It changes time and memory, never a result.

    Examples
    --------
    >>> from hushrank.data.rows.reading import read_rows
    >>> def column_sums(block, factor):
    ...     return factor * block.sum(axis=0, dtype="int64")
    >>> LocalEngine(threads=2).total(read_rows([[1, 2], [3, 4]], owner="example"), column_sums, 10)
    array([40, 60])
    """

    threads: int | None = None
    block_rows: int = MAX_BLOCK_ROWS

    def __post_init__(self) -> None:
        if self.threads is not None and not (_is_count(self.threads) and self.threads <= MAX_THREADS):
            requirement = f"an integer between 1 and {MAX_THREADS} or None"
            raise InvalidParameter("LocalEngine", "threads", requirement, self.threads)
        if not _is_count(self.block_rows) or self.block_rows > MAX_BLOCK_ROWS:
            requirement = f"an integer between 1 and {MAX_BLOCK_ROWS}"
            raise InvalidParameter("LocalEngine", "block_rows", requirement, self.block_rows)

    def total(
        self,
        source: Source,
        kernel: Kernel[Totals] | SharedKernel,
        public_state: Any,
        *,
        verbose: int = 0,
        label: str = "",
    ) -> Totals:
        """Sum of kernel(block, public_state) over all blocks, modulo 2^64.

        Parameters
        ----------
        source : Source
            The data; at most one block more than there are threads is in memory at a time.
        kernel : callable
            Returns an int64 array or a tuple of them, of shapes that are the same for every block. It must not write
            to the block. A `SharedKernel` adds to one tuple of totals for all threads, which the engine keeps.
        public_state : object
            Handed to the kernel.
        verbose : int, default 0
            From 1 on, progress is shown on stderr.
        label : str, default ""
            What the progress is called.

        Returns
        -------
        total : ndarray or tuple of ndarrays
            The sums. Without data, what the kernel returns for an empty block.
        """
        threads, max_rows = self._split(source)
        if isinstance(kernel, SharedKernel):
            shared = _SharedTotals(kernel, public_state, threads)
            self.total(source, shared.add, public_state, verbose=verbose, label=label)
            return cast(Totals, shared.totals)
        add = _add_in_threads if threads > 1 else _add_in_turn
        with one_blas_thread() as limit, show_progress(source.n_samples, label, verbose) as advance:
            partials = add(source.blocks(max_rows), lambda: _Partial(kernel, public_state, advance), threads, limit)
            total = _Partial(kernel, public_state, advance)
            for part in partials:
                total.merge(part)
            if total.sums is None:  # no blocks: an empty one tells the shapes
                total.add(source.empty_block())
        return cast(Totals, total.result())

    def _split(self, source: Source) -> tuple[int, int]:
        """Threads to start, and rows per block: small data are shared out evenly and start no idle threads."""
        threads = self.threads if self.threads is not None else available_cores()
        if source.n_samples is None:
            return threads, self.block_rows
        share = max(_ROWS_WORTH_A_BLOCK, -(-source.n_samples // (4 * threads)))
        max_rows = min(self.block_rows, share)
        return max(1, min(threads, -(-source.n_samples // max_rows))), max_rows


class _SharedTotals:
    """One set of totals for all threads, with a lock for each of its parts."""

    def __init__(self, kernel: SharedKernel, public_state: Any, threads: int) -> None:
        self._kernel, self.totals, n_parts = kernel, kernel.new_totals(public_state), kernel.n_parts(public_state)
        if n_parts < 1 or any(total.dtype != np.int64 for total in self.totals):
            got = ", ".join(str(total.dtype) for total in self.totals)
            raise TypeError(f"a shared kernel must have int64 totals in at least 1 part; got {got} in {n_parts}.")
        self._locks = [threading.Lock() for _ in range(n_parts)]
        self._threads, self._turns = threads, itertools.count()

    def add(self, block: Any, public_state: Any) -> tuple[IntegerArray, ...]:
        """A kernel that adds what a block contributes, and returns nothing to add."""
        prepared, n_parts = self._kernel.prepare(block, public_state), len(self._locks)
        first = next(self._turns) * n_parts // self._threads % n_parts  # threads begin at different parts
        for part in (*range(first, n_parts), *range(first)):
            with self._locks[part]:
                self._kernel.add(prepared, public_state, self.totals, part)
        return ()


class _Partial:
    """Running total of one thread: blocks are added in place, so that no list of results builds up."""

    def __init__(self, kernel: Kernel[Any], public_state: Any, advance: Advance) -> None:
        self._kernel, self._public_state, self._advance = kernel, public_state, advance
        self.sums: tuple[IntegerArray, ...] | None = None
        self.is_tuple = False

    def add(self, block: Any) -> None:
        """Add what the kernel makes of a block."""
        result = self._kernel(block, self._public_state)
        self.is_tuple = isinstance(result, tuple)
        self._add_parts(tuple(map(np.asarray, result if self.is_tuple else (result,))))
        self._advance(len(block))

    def merge(self, other: "_Partial") -> None:
        """Add the total of another thread."""
        if other.sums is not None:
            self.is_tuple = other.is_tuple
            self._add_parts(other.sums)

    def result(self) -> IntegerArray | tuple[IntegerArray, ...]:
        """The total in the form of the kernel's results."""
        assert self.sums is not None
        return self.sums if self.is_tuple else self.sums[0]

    def _add_parts(self, parts: tuple[NDArray[Any], ...]) -> None:
        if self.sums is None:
            self.sums = tuple(np.zeros(part.shape, np.int64) for part in parts)
        shapes, expected = [part.shape for part in parts], [total.shape for total in self.sums]
        if shapes != expected or any(part.dtype != np.int64 for part in parts):
            got = ", ".join(f"{part.dtype} {part.shape}" for part in parts)
            raise TypeError(f"a kernel must return int64 arrays of the same shapes for every block; got {got}.")
        for total, part in zip(self.sums, parts, strict=True):
            np.add(total, part, out=total)  # wraps modulo 2^64


NewPartial = Callable[[], _Partial]


def _add_in_turn(blocks: Iterator[Any], new_partial: NewPartial, *unused: object) -> list[_Partial]:
    """Everything on the calling thread."""
    sums = new_partial()
    for block in blocks:
        sums.add(block)
        del block  # before the next one is read
    return [sums]


def _add_in_threads(
    blocks: Iterator[Any], new_partial: NewPartial, threads: int, limit_blas: Callable[[], object]
) -> list[_Partial]:
    """Read on the calling thread and compute on the others; the first exception stops them all."""
    waiting: SimpleQueue[Any] = SimpleQueue()
    slots, stop = threading.Semaphore(threads + 1), threading.Event()

    def work() -> _Partial:
        sums = new_partial()
        try:
            while (block := waiting.get()) is not None and not stop.is_set():
                sums.add(block)
                del block  # the slot promises that the memory is free
                slots.release()
        except BaseException:
            stop.set()
            slots.release()  # wake the reader
            raise
        return sums

    with ThreadPoolExecutor(threads, "hushrank", initializer=limit_blas) as pool:
        workers = []
        try:
            workers += [pool.submit(work) for _ in range(threads)]  # fails where the system refuses a thread
            while slots.acquire() and not stop.is_set() and (block := next(blocks, None)) is not None:
                waiting.put(block)
                del block
        except BaseException:  # also KeyboardInterrupt: workers finish the block they are at, no other
            stop.set()
            raise
        finally:
            for _ in range(threads):
                waiting.put(None)
    return [worker.result() for worker in workers]


def _is_count(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 1


def available_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
