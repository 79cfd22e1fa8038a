"""A source of data: a public schema that is known at once, and blocks that are read when they are asked for.

The schema (dtype, dimensions, columns) is checked when a source is made, before the data are charged for. Values are
never checked: a person's record cannot stop a release.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Block = NDArray[Any]

MAX_BLOCK_ROWS = 8192
# Blocks that must be converted hold at most this many bytes (or one row): wide data get fewer rows per block.
MAX_BLOCK_BYTES = 2**25
# Rows of a file that are worth a piece: fewer take longer to open and to hand around than to read.
PIECE_ROWS = 2**21


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of some data that another process can read.

    Attributes
    ----------
    read : callable
        Can be pickled; of the values of `needs` it makes the source of this part, or its origin.
    needs : tuple
        What must be computed first, objects of Dask; nothing for files.
    n_entries : int or None
        Rows, ratings, records or updates, where their number is known without reading.
    n_bytes : int
        Memory that `needs` take when they are computed, where that is known, else 0.
    path : Path, RemotePath or None
        The file of which it is a part.
    """

    read: Callable[..., Any]
    needs: tuple[Any, ...] = ()
    n_entries: int | None = None
    n_bytes: int = 0
    path: Any = None


class Source(ABC):
    """Data in blocks; what one person contributes is whole within a block, unless a subclass says otherwise.

    Attributes
    ----------
    n_samples : int or None
        Entries of all blocks together (rows, users, records, updates); None if only reading tells. It may be secret.
    columns : tuple of str or None
        Names of the columns, where the data have any.
    can_repeat : bool
        Whether the data can be read more than once.
    """

    can_repeat = True

    def __init__(self, n_samples: int | None, columns: Sequence[Hashable] | None = None) -> None:
        self.n_samples = n_samples
        named = columns is not None and all(isinstance(name, str) for name in columns)
        self.columns: tuple[str, ...] | None = tuple(map(str, columns)) if columns is not None and named else None

    @property
    @abstractmethod
    def sizes(self) -> Mapping[str, int]:
        """Public sizes of the schema by name, such as n_features: what a plan needs to know of the data."""

    @abstractmethod
    def blocks(self, max_rows: int = MAX_BLOCK_ROWS) -> Iterator[Any]:
        """Blocks of at most `max_rows` entries, each with a length; they must not be written to.

        A source must not change a block that it has handed over: threads still read it when the next one is made.
        """

    @abstractmethod
    def empty_block(self) -> Any:
        """A block without entries."""

    def pieces(self, enough: int = PIECE_ROWS) -> list[Piece] | None:
        """Parts of the data that others can read for themselves, in their order; None where only this process can.

        Of files that can be cut, a piece has at least `enough` rows, unless it is the last.
        """
        return None

    def regrouped(self, group: Any, enough: int = PIECE_ROWS) -> "Source":
        """A source of the same data whose people are made whole by `group` (see `hushrank.data.regrouping`).

        It is this one where pieces have whole people, and where only this process can read them.
        """
        return self

    def forget(self) -> None:  # noqa: B027  (few have anything to forget)
        """What was brought elsewhere is lost there: bring it again when it is next asked for."""


def spans_of_people(indptr: NDArray[np.int64], most_people: int, most_entries: int) -> Iterator[tuple[int, int]]:
    """First and last + 1 of consecutive people: at most so many and, unless it is one, with at most so many entries.

    `indptr` says where the entries of each person start and end.
    """
    n_people, start = len(indptr) - 1, 0
    while start < n_people:
        fits = int(np.searchsorted(indptr, indptr[start] + most_entries, "right")) - 1
        stop = max(start + 1, min(fits, start + most_people, n_people))
        yield start, stop
        start = stop
