"""Grouping more ratings than fit into memory: parted by user into temporary files, then grouped a part at a time.

A part is a range of users, so that users come out in the order of their codes however many ratings there are: answers
go back to the row or id they belong to. Files are temporary ones without a name, in the folder that the environment
variable TMPDIR tells; they are gone when the process ends, whatever ends it.
"""

from contextlib import ExitStack
from tempfile import TemporaryFile
from typing import IO, Any, Self

import numpy as np
from numpy.typing import NDArray

from hushrank.data.parts import BUCKET_BITS, Chunks, bucket_shift
from hushrank.data.ratings.grouping import RATING, Tally, UserBlock, group_ratings
from hushrank.linalg.quantize import compiled

# Ratings that are kept in memory before they are grouped (16 bytes each) and afterwards (8 bytes each).
PARTED_IN_MEMORY = 2**24
GROUPED_IN_MEMORY = 2**27

CHUNK_RATINGS = 2**20  # that are put into the order of their parts at a time
MOST_PARTS = 64  # grouped one after the other; fewer where they would be smaller than a chunk


class Grouper:
    """Ratings in any order, to be grouped by user; a context manager, for the sake of its temporary file.

    Parameters
    ----------
    n_items : int
        Length of the catalogue.
    tally : Tally
        Counts to which repeated ratings are added.

    Examples
    --------
    >>> ratings = np.array([(1, 7, 0.5), (0, 3, 1.0), (1, 2, -1.0)], RATING)
    >>> with Grouper(n_items=10, tally=Tally()) as grouper:
    ...     grouper.add(ratings)
    ...     block = grouper.finish(n_users=2)
    >>> block.indptr.tolist(), block.items.tolist()
    ([0, 1, 3], [3, 2, 7])
    """

    def __init__(self, n_items: int, tally: Tally) -> None:
        self._n_items, self._tally = n_items, tally
        self._buffer: NDArray[np.void] = np.empty(CHUNK_RATINGS, RATING)
        self._n_waiting = 0
        self._chunks = Chunks(RATING, PARTED_IN_MEMORY)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *unused: object) -> None:
        self._chunks.close()

    def add(self, ratings: NDArray[np.void]) -> None:
        """Take more ratings, records of the dtype `RATING`."""
        while len(ratings):
            taken = ratings[: len(self._buffer) - self._n_waiting]
            self._buffer[self._n_waiting : self._n_waiting + len(taken)] = taken
            self._n_waiting += len(taken)
            ratings = ratings[len(taken) :]
            if self._n_waiting == len(self._buffer):
                self._part()

    def finish(self, n_users: int) -> UserBlock:
        """All users 0 to n_users - 1 in one block, in this order; nothing can be added afterwards."""
        if not self._chunks.n_entries:
            block, n_repeated = group_ratings(self._buffer[: self._n_waiting], n_users, self._n_items)
            self._tally.n_repeated += n_repeated
            return block
        self._part()
        del self._buffer
        with UserStore(n_users, self._chunks.n_entries) as store:
            enough = max(CHUNK_RATINGS, self._chunks.n_entries // MOST_PARTS)
            for first, stop, ratings in self._chunks.parts(n_users, enough):
                ratings["user"] -= first
                block, n_repeated = group_ratings(ratings, stop - first, self._n_items)
                self._tally.n_repeated += n_repeated
                store.append(block)
            return store.finish()

    def _part(self) -> None:
        """Put the waiting ratings into the order of their ranges of users, and away."""
        waiting = self._buffer[: self._n_waiting]
        shift = bucket_shift(int(waiting["user"].max(initial=0)) + 1)
        chunk, starts = np.empty(len(waiting), RATING), np.zeros((1 << BUCKET_BITS) + 1, np.int64)
        _sort_by_bucket(waiting, shift, starts, chunk)
        self._chunks.append(chunk, starts, shift)
        self._n_waiting = 0


class UserStore:
    """Blocks of users joined to one, in memory or in mapped temporary files; a context manager.

    Parameters
    ----------
    n_users : int
        Users of all blocks together.
    capacity : int
        At least the number of their ratings; memory is taken as it is filled. It decides whether files are used.
    """

    def __init__(self, n_users: int, capacity: int) -> None:
        self._indptr = np.zeros(n_users + 1, np.int64)
        self._n_users = self._n_ratings = 0
        self._files = ExitStack()
        self._items, self._values = self._column(np.int32, capacity), self._column(np.float32, capacity)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *unused: object) -> None:
        self._files.close()

    def append(self, block: UserBlock) -> None:
        """Add the users of a block after those before."""
        n_users = self._n_users + len(block)
        self._indptr[self._n_users + 1 : n_users + 1] = self._n_ratings + block.indptr[1:]
        self._items.append(block.items)
        self._values.append(block.values)
        self._n_users, self._n_ratings = n_users, self._n_ratings + len(block.items)

    def finish(self) -> UserBlock:
        """All users as one block; it outlives this object."""
        return UserBlock(self._indptr, self._items.finish(), self._values.finish())

    def _column(self, dtype: type[np.generic], capacity: int) -> "_Column":
        file = self._files.enter_context(TemporaryFile()) if capacity > GROUPED_IN_MEMORY else None
        return _Column(np.dtype(dtype), capacity, file)


class _Column:
    """An array that is filled from its start, in memory or in a file."""

    def __init__(self, dtype: np.dtype[Any], capacity: int, file: IO[bytes] | None) -> None:
        self._dtype, self._file, self._length = dtype, file, 0
        self._array = np.empty(capacity if file is None else 0, dtype)

    def append(self, values: NDArray[Any]) -> None:
        if self._file is None:
            self._array[self._length : self._length + len(values)] = values
        else:
            self._file.write(values.view(np.uint8).data)
        self._length += len(values)

    def finish(self) -> NDArray[Any]:
        """The filled entries."""
        if self._file is None or self._length == 0:
            return self._array[: self._length]
        self._file.flush()
        # Mapped for writing because kernels are compiled for arrays that are; nobody writes.
        return np.asarray(np.memmap(self._file, self._dtype, "r+", shape=self._length))


@compiled
def _sort_by_bucket(ratings: NDArray[np.void], shift: int, starts: NDArray[np.int64], chunk: NDArray[np.void]) -> None:
    """Order ratings by bucket, user >> shift; `starts` is zero and gets the start of each bucket."""
    for rating in ratings:
        starts[(rating.user >> shift) + 1] += 1
    for bucket in range(1, len(starts)):
        starts[bucket] += starts[bucket - 1]
    places = starts.copy()
    for i in range(len(ratings)):
        bucket = ratings[i].user >> shift
        chunk[places[bucket]] = ratings[i]
        places[bucket] += 1
