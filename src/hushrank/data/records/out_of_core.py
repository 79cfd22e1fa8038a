"""Grouping more records than fit into memory: parted by user into a temporary file, then grouped a part at a time.

A part is a range of users, see `hushrank.data.parts`, and users come out in the order of their codes. What is kept in
memory and what in files changes no bit of the result.
"""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hushrank.data.identifiers import Codes
from hushrank.data.parts import Chunks, sort_by_bucket
from hushrank.data.records.grouping import group_records
from hushrank.data.records.stores import GroupedRecords, StoreWriter

# Bytes of X of grouped records that are kept in memory: of files and streams, and of data that the caller has in
# memory as well, where the copy at most doubles what is needed.
GROUPED_IN_MEMORY = 2**30
GROUPED_BESIDE_DATA = 2**32

# Bytes of records that are kept in memory before they are grouped, that are put into the order of their parts at a
# time, and that are enough for a part.
PARTED_IN_MEMORY = 2**27
CHUNK_BYTES = 2**26
PART_BYTES = 2**26


class RecordGrouper:
    """Records in any order, to be grouped by user; a context manager, for the sake of its temporary file.

    Parameters
    ----------
    shape, dtype : tuple of int, dtype
        Of X of one record.
    in_memory : int
        Bytes of X of grouped records that are kept in memory.

    Examples
    --------
    >>> with RecordGrouper((1,), np.dtype(np.float64), in_memory=2**20) as grouper:
    ...     grouper.add(np.array([1, 0, 1], np.int32), np.array([[1.0], [2.0], [3.0]]), np.array([0.1, 0.2, 0.3]))
    ...     grouped = grouper.finish(n_users=2)
    >>> grouped.indptr.tolist(), grouped.read(1, 3)[1].tolist()
    ([0, 1, 3], [0.3, 0.1])
    """

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any], in_memory: int) -> None:
        self._shape, self._dtype, self._in_memory = shape, dtype, in_memory
        width = int(np.prod(shape))
        self._record = np.dtype([("X", dtype, (width,)), ("y", np.float64), ("user", np.int32)])
        self._buffer: NDArray[Any] = np.empty(max(1, CHUNK_BYTES // self._record.itemsize), self._record)
        self._n_waiting = 0
        self._chunks = Chunks(self._record, PARTED_IN_MEMORY // self._record.itemsize)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *unused: object) -> None:
        self._chunks.close()

    def add(self, codes: Codes, X: NDArray[Any], y: NDArray[np.float64]) -> None:
        """Take more records with the codes of their users; those without one, -1, are left out."""
        X = X.reshape(len(y), self._record["X"].shape[0])
        if codes.min(initial=0) < 0:
            kept = codes >= 0
            codes, X, y = codes[kept], X[kept], y[kept]
        start = 0
        while start < len(codes):
            stop = min(len(codes), start + len(self._buffer) - self._n_waiting)
            taken = self._buffer[self._n_waiting : self._n_waiting + stop - start]
            taken["X"], taken["y"], taken["user"] = X[start:stop], y[start:stop], codes[start:stop]
            self._n_waiting, start = self._n_waiting + stop - start, stop
            if self._n_waiting == len(self._buffer):
                self._part()

    def finish(self, n_users: int) -> GroupedRecords:
        """All users 0 to n_users - 1, in this order; nothing can be added afterwards."""
        self._part()
        del self._buffer
        n_records, record_bytes = self._chunks.n_entries, self._record["X"].itemsize
        is_in_memory = n_records * record_bytes <= self._in_memory
        with StoreWriter(n_users, n_records, self._shape, self._dtype, is_in_memory=is_in_memory) as writer:
            for first, stop, part in self._chunks.parts(n_users, max(1, PART_BYTES // self._record.itemsize)):
                numbers = [(part["X"], part["y"])]
                writer.append(group_records(part["user"] - first, stop - first, numbers, self._shape, self._dtype))
            return writer.finish()

    def _part(self) -> None:
        """Put the waiting records into the order of their ranges of users, and away."""
        waiting = self._buffer[: self._n_waiting]
        order, starts, shift = sort_by_bucket(np.ascontiguousarray(waiting["user"]))
        whole = waiting.view(np.dtype((np.void, self._record.itemsize)))  # copied at once, not field by field
        self._chunks.append(whole.take(order).view(self._record), starts, shift)
        self._n_waiting = 0
