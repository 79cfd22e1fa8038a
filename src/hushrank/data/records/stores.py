"""Grouped records in memory, or in temporary files that are read at any place: the order of reading does not matter.

The files have no name and lie in the folder that the environment variable TMPDIR tells. They are read into new arrays
and not mapped into memory, so that no more of them is resident than the blocks that somebody holds.
"""

import os
import threading
import weakref
from contextlib import ExitStack
from tempfile import TemporaryFile
from typing import IO, Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from hushrank.data.records.blocks import FloatArray, UserRecordBlock

Integers = NDArray[np.int64]

_PIECE_BYTES = 2**24  # read at a time where they must be copied


class GroupedRecords(Protocol):
    """Records of all users; those of user j are the ones from indptr[j] to indptr[j + 1]."""

    @property
    def indptr(self) -> Integers: ...

    def read(self, start: int, stop: int) -> tuple[FloatArray, NDArray[np.float64]]:
        """X and y of consecutive records."""
        ...


class MemoryStore:
    """Records of a block in memory."""

    def __init__(self, block: UserRecordBlock) -> None:
        self.indptr, self._X, self._y = block.indptr, block.X, block.y

    def read(self, start: int, stop: int) -> tuple[FloatArray, NDArray[np.float64]]:
        """X and y of consecutive records, as views."""
        return self._X[start:stop], self._y[start:stop]


class RecordFiles:
    """Records in two files, of which it has descriptors of its own; threads may read them at the same time."""

    def __init__(self, files: tuple[IO[bytes], IO[bytes]], shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self._shape, self._dtype = shape, dtype
        self._X, self._y = (os.dup(file.fileno()) for file in files)
        self._lock = threading.Lock()
        for descriptor in (self._X, self._y):
            weakref.finalize(self, os.close, descriptor)

    def read(self, start: int, stop: int) -> tuple[FloatArray, NDArray[np.float64]]:
        """X and y of consecutive records, as new arrays."""
        X, y = np.empty((stop - start, *self._shape), self._dtype), np.empty(stop - start)
        record_bytes = int(np.prod(self._shape)) * self._dtype.itemsize
        read_at(self._X, start * record_bytes, X, self._lock)
        read_at(self._y, start * y.itemsize, y, self._lock)
        return X, y


class FileStore(RecordFiles):
    """Records of users in two files."""

    def __init__(
        self, indptr: Integers, files: tuple[IO[bytes], IO[bytes]], shape: tuple[int, ...], dtype: np.dtype[Any]
    ) -> None:
        super().__init__(files, shape, dtype)
        self.indptr = indptr


class StoreWriter:
    """Blocks of users joined to one store; a context manager, for the sake of its files.

    Parameters
    ----------
    n_users, n_records : int
        Of all blocks together.
    shape, dtype : tuple of int, dtype
        Of X of one record.
    is_in_memory : bool
        Whether to keep them in memory.

    Examples
    --------
    >>> block = UserRecordBlock(np.array([0, 1]), np.ones((1, 2)), np.array([0.5]))
    >>> with StoreWriter(2, 2, (2,), np.dtype(np.float64), is_in_memory=False) as writer:
    ...     writer.append(block)
    ...     writer.append(block)
    ...     store = writer.finish()
    >>> store.indptr.tolist(), store.read(1, 2)
    ([0, 1, 2], (array([[1., 1.]]), array([0.5])))
    """

    def __init__(
        self, n_users: int, n_records: int, shape: tuple[int, ...], dtype: np.dtype[Any], *, is_in_memory: bool
    ) -> None:
        self._indptr, self._shape, self._dtype = np.zeros(n_users + 1, np.int64), shape, dtype
        self._n_users = self._n_records = 0
        self._opened = ExitStack()
        self._files: tuple[IO[bytes], IO[bytes]] | None = None
        if not is_in_memory:
            self._files = self._opened.enter_context(TemporaryFile()), self._opened.enter_context(TemporaryFile())
        n_kept = n_records if is_in_memory else 0
        self._X, self._y = np.empty((n_kept, *shape), dtype), np.empty(n_kept)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *unused: object) -> None:
        self._opened.close()

    def append(self, block: UserRecordBlock) -> None:
        """Add the users of a block after those before."""
        first, stop = self._n_records, self._n_records + len(block.y)
        self._indptr[self._n_users + 1 : self._n_users + len(block) + 1] = first + block.indptr[1:]
        self._n_users, self._n_records = self._n_users + len(block), stop
        if self._files is None:
            self._X[first:stop], self._y[first:stop] = block.X, block.y
            return
        for file, numbers in zip(self._files, (block.X, block.y), strict=True):
            write_numbers(file, numbers)

    def finish(self) -> GroupedRecords:
        """All users; it outlives this object."""
        if self._files is None:
            return MemoryStore(UserRecordBlock(self._indptr, self._X, self._y))
        for file in self._files:
            file.flush()
        return FileStore(self._indptr, self._files, self._shape, self._dtype)


def write_numbers(file: IO[bytes], numbers: NDArray[Any]) -> None:
    """Append the bytes of an array in C order to a file."""
    file.write(numbers.reshape(-1).view(np.uint8).data)


def read_at(descriptor: int, place: int, out: NDArray[Any], lock: threading.Lock) -> None:
    """Fill an array with the bytes of a file from a place on; `lock` is for systems that cannot read at a place."""
    rest = out.reshape(-1).view(np.uint8).data
    while len(rest):
        if hasattr(os, "preadv"):
            n_read = os.preadv(descriptor, [rest], place)
        else:
            with lock:
                os.lseek(descriptor, place, os.SEEK_SET)
                data = os.read(descriptor, min(len(rest), _PIECE_BYTES))
            n_read = len(data)
            rest[:n_read] = data
        if n_read == 0:
            raise OSError("a file is shorter than what was written to it.")
        rest, place = rest[n_read:], place + n_read
