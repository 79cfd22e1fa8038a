"""Entries of more people than fit into memory, parted by ranges of people: in memory, or in a temporary file.

A part is a range of people, so that people come out in the order of their codes however many entries there are. The
file is a temporary one without a name, in the folder that the environment variable TMPDIR tells; it is gone when the
process ends, whatever ends it.
"""

from collections.abc import Iterator
from tempfile import TemporaryFile
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

# Entries of a chunk are kept by up to 2^10 ranges of people, of which parts are made when all are known.
BUCKET_BITS = 10

Edges = NDArray[np.int64]


class Chunks:
    """Chunks of entries, each ordered by range of people.

    Parameters
    ----------
    dtype : dtype
        Of an entry.
    in_memory : int
        Entries that are kept in memory; with one more, all of them go to a temporary file.

    Attributes
    ----------
    n_entries : int
        Of all chunks.

    Examples
    --------
    >>> chunks = Chunks(np.dtype(np.int64), in_memory=100)
    >>> for codes in ([1, 0, 1], [2, 1]):  # the entries are those of these people
    ...     order, starts, shift = sort_by_bucket(np.array(codes, np.int32))
    ...     chunks.append(np.array(codes)[order], starts, shift)
    >>> [(first, stop, entries.tolist()) for first, stop, entries in chunks.parts(3, enough=3)]
    [(0, 2, [0, 1, 1, 1]), (2, 3, [2])]
    """

    def __init__(self, dtype: np.dtype[Any], in_memory: int) -> None:
        self.n_entries = 0
        self._dtype, self._in_memory = dtype, in_memory
        # Where the entries of the people from b 2^shift on start, for every b, counted from the first chunk on.
        self._starts: list[Edges] = []
        self._shifts: list[int] = []
        self._kept: list[NDArray[Any]] = []
        self._file: IO[bytes] | None = None

    def append(self, chunk: NDArray[Any], starts: Edges, shift: int) -> None:
        """Add a chunk; the entries of its people from b 2^shift on are those from starts[b] on."""
        self._starts.append(self.n_entries + starts)
        self._shifts.append(shift)
        self._kept.append(chunk)
        self.n_entries += len(chunk)
        if self.n_entries > self._in_memory:
            self._file = self._file or TemporaryFile()
            for kept in self._kept:
                self._file.write(kept.view(np.uint8).data)
            self._kept = []

    def parts(self, n_people: int, enough: int) -> Iterator[tuple[int, int, NDArray[Any]]]:
        """First and last (exclusive) person of each part, and their entries from all chunks; parts have enough."""
        shift = max(bucket_shift(n_people), *self._shifts)
        # Buckets of every chunk are joined to those of the coarsest; what a chunk does not reach is empty.
        steps = [1 << (shift - own) for own in self._shifts]
        edges = [_pad(starts[::step], starts[-1]) for starts, step in zip(self._starts, steps, strict=True)]
        totals = np.sum([own - own[0] for own in edges], axis=0)
        for first, stop in _bucket_ranges(totals, enough):
            people = min(first << shift, n_people), min(stop << shift, n_people)
            yield *people, self._gather([(int(own[first]), int(own[stop])) for own in edges])

    def _gather(self, spans: list[tuple[int, int]]) -> NDArray[Any]:
        """The entries of one span of each chunk."""
        entries = np.empty(sum(stop - start for start, stop in spans), self._dtype)
        filled = 0
        for chunk, (start, stop) in enumerate(spans):
            self._read(chunk, start, entries[filled : filled + stop - start])
            filled += stop - start
        return entries

    def _read(self, chunk: int, start: int, out: NDArray[Any]) -> None:
        """Fill `out` with entries of a chunk from `start` on."""
        if self._file is None:
            first = start - int(self._starts[chunk][0])
            out[:] = self._kept[chunk][first : first + len(out)]
            return
        self._file.seek(start * self._dtype.itemsize)
        n_read = self._file.readinto(out.view(np.uint8).data)  # type: ignore[attr-defined]
        if n_read != out.nbytes:
            raise OSError("a temporary file is shorter than what was written to it.")

    def close(self) -> None:
        """Delete the temporary file."""
        if self._file is not None:
            self._file.close()


def bucket_shift(n_people: int) -> int:
    """The smallest power of two for which so many people make at most 2^10 buckets."""
    return max(0, (n_people - 1).bit_length() - BUCKET_BITS)


def sort_by_bucket(codes: NDArray[np.int32]) -> tuple[NDArray[np.int64], Edges, int]:
    """Order of entries by range of people, where each range starts, and its size as a power of two; see `append`."""
    shift = bucket_shift(int(codes.max(initial=0)) + 1)
    buckets = (codes >> shift).astype(np.int16)  # sorted by counting
    starts = np.zeros((1 << BUCKET_BITS) + 1, np.int64)
    np.cumsum(np.bincount(buckets, minlength=1 << BUCKET_BITS), out=starts[1:])
    return np.argsort(buckets, kind="stable"), starts, shift


def _pad(edges: Edges, last: np.int64) -> Edges:
    """Edges of 2^10 buckets, of which those beyond the given ones are empty."""
    padded = np.full((1 << BUCKET_BITS) + 1, last)
    padded[: len(edges)] = edges
    return padded


def _bucket_ranges(totals: Edges, enough: int) -> Iterator[tuple[int, int]]:
    """Consecutive buckets with enough entries together to be worth a part; `totals` counts those before each bucket."""
    first = 0
    while first < len(totals) - 1:
        stop = int(np.searchsorted(totals, totals[first] + enough))
        stop = min(max(stop, first + 1), len(totals) - 1)
        yield first, stop
        first = stop
