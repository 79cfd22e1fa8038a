"""Records of a stream that can be read only once, kept so that they can be read many times.

They are read to the end before the first of them is handed over, so that neither threads nor somebody who stops in the
middle can disturb it. Few of them are kept in memory, many in temporary files without a name, see `stores`.
"""

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from tempfile import TemporaryFile
from typing import IO, Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from hushrank.data.records.origins import Batch, Origin, batch_rows
from hushrank.data.records.stores import RecordFiles, write_numbers
from hushrank.data.source import MAX_BLOCK_ROWS
from hushrank.data.vectors import to_dtype

SPOOLED_IN_MEMORY = 2**28  # bytes of X

Numbers = tuple[NDArray[Any], NDArray[np.float64]]  # X and y of some records


class SpooledOrigin(Origin):
    """Records of an origin without users, which is read once, when the first of them is asked for.

    Parameters
    ----------
    origin : Origin
        Let go of when it was read. If that fails nothing is kept, and it says itself that it was read before.
    """

    def __init__(self, origin: Origin) -> None:
        super().__init__(origin.shape, origin.dtype, False, origin.n_records, origin.columns)
        self.parts = origin.parts
        self._origin: Origin | None = origin
        self._spool: _Spool | None = None
        self._lock = threading.RLock()  # whose stream reads itself is told so, and does not wait for itself

    def batches(self, max_rows: int, dtype: np.dtype[Any]) -> Iterator[Batch]:
        """All records in their order."""
        for X, y in self._read().pieces(batch_rows(max_rows, int(np.prod(self.shape)))):
            yield Batch(to_dtype(X, dtype), y, None)

    def _read(self) -> "_Spool":
        with self._lock:
            if self._spool is None:
                assert self._origin is not None
                with SpoolWriter(self.shape, self.dtype) as writer:
                    for batch in self._origin.batches(MAX_BLOCK_ROWS, self.dtype):
                        writer.add(batch.X, batch.y)
                        del batch  # before the next one is made
                    self._spool, self._origin = writer.finish(), None
            return self._spool


class _Spool(Protocol):
    def pieces(self, rows: int) -> Iterator[Numbers]:
        """X and y of consecutive records, at most so many at a time."""
        ...


class MemorySpool:
    """Records in memory, in blocks."""

    def __init__(self, blocks: list[Numbers]) -> None:
        self._blocks = blocks

    def pieces(self, rows: int) -> Iterator[Numbers]:
        """Views of consecutive records."""
        for X, y in self._blocks:
            yield from ((X[start : start + rows], y[start : start + rows]) for start in range(0, len(y), rows))


class FileSpool:
    """Records in two files."""

    def __init__(self, n_records: int, files: RecordFiles) -> None:
        self._n_records, self._files = n_records, files

    def pieces(self, rows: int) -> Iterator[Numbers]:
        """New arrays of consecutive records."""
        starts = range(0, self._n_records, rows)
        return (self._files.read(start, min(start + rows, self._n_records)) for start in starts)


class SpoolWriter:
    """Takes records as they come; a context manager, for the sake of its files.

    Parameters
    ----------
    shape, dtype : tuple of int, dtype
        Of X of one record.

    Examples
    --------
    >>> with SpoolWriter((1,), np.dtype(np.float64)) as writer:
    ...     writer.add(np.array([[1.0], [2.0]]), np.array([0.5, 1.5]))
    ...     writer.add(np.array([[3.0]]), np.array([2.5]))
    ...     spool = writer.finish()
    >>> [y.tolist() for _, y in spool.pieces(2)]
    [[0.5, 1.5], [2.5]]
    """

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self._shape, self._dtype = shape, dtype
        self._rows = batch_rows(MAX_BLOCK_ROWS, int(np.prod(shape)))
        self._blocks: list[Numbers] = []
        self._files: tuple[IO[bytes], IO[bytes]] | None = None
        self._opened = ExitStack()
        self._n_records = self._n_waiting = 0
        self._start_block()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *unused: object) -> None:
        self._opened.close()

    def add(self, X: NDArray[Any], y: NDArray[np.float64]) -> None:
        """Take more records; they are copied, because whoever makes the stream may use its arrays again."""
        start = 0
        while start < len(y):
            stop = min(len(y), start + self._rows - self._n_waiting)
            taken = slice(self._n_waiting, self._n_waiting + stop - start)
            self._X[taken], self._y[taken] = X[start:stop], y[start:stop]
            self._n_waiting, start = taken.stop, stop
            if self._n_waiting == self._rows:
                self._put_away()

    def finish(self) -> MemorySpool | FileSpool:
        """All records; it outlives this object, which takes no more of them."""
        self._put_away()
        if self._files is None:
            return MemorySpool(self._blocks)
        for file in self._files:
            file.flush()
        return FileSpool(self._n_records, RecordFiles(self._files, self._shape, self._dtype))

    def _start_block(self) -> None:
        self._X, self._y = np.empty((self._rows, *self._shape), self._dtype), np.empty(self._rows)
        self._n_waiting = 0

    def _put_away(self) -> None:
        """Keep the records that wait in memory or, from the first that are too many on, write all of them."""
        waiting = self._X[: self._n_waiting], self._y[: self._n_waiting]
        self._n_records += self._n_waiting
        if self._files is None and self._n_records * self._X[:1].nbytes <= SPOOLED_IN_MEMORY:
            is_full = self._n_waiting == self._rows
            self._blocks.append(waiting if is_full else (waiting[0].copy(), waiting[1].copy()))
            self._start_block()
            return
        if self._files is None:
            self._files = self._opened.enter_context(TemporaryFile()), self._opened.enter_context(TemporaryFile())
            for block in self._blocks:
                self._write(block)
            self._blocks = []
        self._write(waiting)
        self._n_waiting = 0

    def _write(self, block: Numbers) -> None:
        assert self._files is not None
        for file, numbers in zip(self._files, block, strict=True):
            write_numbers(file, numbers)
