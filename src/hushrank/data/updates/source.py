"""A source of updates: entries of a matrix of public shape, each with what is added to it and maybe whose it is.

Chunks have all updates as they were given. In blocks an update outside the shape, of a delta that is not finite, or
without a user where it needs one is left out; their numbers go to the log, which is for the data holder. What remains
is what kernels rest on: they write to places without looking again.
"""

import logging
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hushrank.data.pieces import pieces_on
from hushrank.data.source import MAX_BLOCK_ROWS, PIECE_ROWS, Piece, Source
from hushrank.data.text_values import canonical_texts
from hushrank.exceptions import InvalidParameter

log = logging.getLogger("hushrank")

MOST_UPDATES = 2**20  # of a chunk

_FORM = "int64 rows and columns and float64 deltas, vectors of one length"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class UpdateBlock:
    """Consecutive updates.

    Attributes
    ----------
    rows, columns : ndarray of shape (n_updates,)
        Which entry, int64; within the public shape.
    deltas : ndarray of shape (n_updates,)
        What is added to it, finite float64.
    """

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    deltas: NDArray[np.float64]

    def __post_init__(self) -> None:
        _check_form(self)

    def __len__(self) -> int:
        """Number of updates."""
        return len(self.rows)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class UpdateChunk:
    """Consecutive updates as they were given, valid or not; the vectors are contiguous and must not be written to.

    Attributes
    ----------
    rows, columns : ndarray of shape (n_updates,)
        Which entry, int64; any integer. One that is missing, that is no integer or that does not fit is -1.
    deltas : ndarray of shape (n_updates,)
        What is added to it, float64; NaN where it is missing or no number.
    users : Arrow array of n_updates ids, or None
        Whose update it is: int64, uint64, large_string or null, as `hushrank.data.identifiers.IdTable` takes them. A
        null, or a text of no characters but white space, is nobody: the update is invalid. None where users are not
        needed.
    """

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    deltas: NDArray[np.float64]
    users: pa.Array | None = None

    def __post_init__(self) -> None:
        _check_form(self)
        if not all(array.flags.c_contiguous for array in (self.rows, self.columns, self.deltas)):
            raise InvalidParameter("UpdateChunk", "arrays", "contiguous", "strides")
        if self.users is not None and len(self.users) != len(self):
            raise InvalidParameter("UpdateChunk", "users", f"{len(self)} ids", f"{len(self.users)} ids")

    def __len__(self) -> int:
        """Number of updates."""
        return len(self.rows)

    def split(self, most: int) -> Iterator["UpdateChunk"]:
        """Chunks of at most `most` updates, views of this one; none if it is empty."""
        for start in range(0, len(self), most):
            part = slice(start, start + most)
            users = None if self.users is None else self.users[part]
            yield UpdateChunk(self.rows[part], self.columns[part], self.deltas[part], users)


class Origin(Protocol):
    """Where updates come from; types and lengths have been checked."""

    @property
    def n_updates(self) -> int | None:
        """How many there are; None if only reading tells."""

    @property
    def has_users(self) -> bool:
        """Whether chunks have users."""

    @property
    def can_repeat(self) -> bool:
        """Whether they can be read more than once."""

    def chunks(self, most: int) -> Iterator[UpdateChunk]:
        """All updates in their order, at most so many at a time; no chunk is empty."""


class Updates(Source):
    """Updates of a matrix, each an entry of its own; `n_samples` counts those that are left out as well.

    Parameters
    ----------
    origin : Origin
        The updates; not looked at before they are read.
    shape : pair of int
        Rows and columns of the matrix, public.

    Attributes
    ----------
    has_users : bool
        Whether chunks have users.
    """

    def __init__(self, origin: Origin, shape: tuple[int, int]) -> None:
        super().__init__(origin.n_updates)
        self._origin, self.shape = origin, shape
        self.has_users, self.can_repeat = origin.has_users, origin.can_repeat
        self._is_logged = False

    @property
    def sizes(self) -> Mapping[str, int]:
        """n_rows and n_columns of the matrix."""
        return {"n_rows": self.shape[0], "n_columns": self.shape[1]}

    def chunks(self, most: int = MOST_UPDATES) -> Iterator[UpdateChunk]:
        """All updates in their order, valid or not; as many at a time as `most` allows, fewer where data have parts.

        Parts are the blocks of a stream, and pieces of files that are read at a time. No chunk is empty.
        """
        return self._origin.chunks(most)

    def blocks(self, max_rows: int = MAX_BLOCK_ROWS) -> Iterator[UpdateBlock]:
        """Blocks of at most `max_rows` and 8192 updates, in their order and without those that are left out."""
        chunks = self.chunks(min(max_rows, MAX_BLOCK_ROWS))  # raises at once if they cannot be read again
        return self._valid(chunks)

    def empty_block(self) -> UpdateBlock:
        """A block without updates."""
        return UpdateBlock(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))

    def pieces(self, enough: int = PIECE_ROWS) -> list[Piece] | None:
        """Updates of the pieces of the origin, where that has any."""
        cut = getattr(self._origin, "pieces", None)
        return None if cut is None else pieces_on(cut(enough), partial(Updates, shape=self.shape))

    def _valid(self, chunks: Iterator[UpdateChunk]) -> Iterator[UpdateBlock]:
        counts: Counter[str] = Counter()
        for chunk in chunks:
            inside = _is_inside(chunk.rows, self.shape[0]) & _is_inside(chunk.columns, self.shape[1])
            finite = inside & np.isfinite(chunk.deltas)
            kept = finite if chunk.users is None else finite & has_user(chunk.users)
            n_inside, n_finite, n_kept = (int(np.count_nonzero(mask)) for mask in (inside, finite, kept))
            counts.update(given=len(chunk), outside=len(chunk) - n_inside)
            counts.update(not_finite=n_inside - n_finite, nobody=n_finite - n_kept)
            if n_kept:
                yield UpdateBlock(chunk.rows[kept], chunk.columns[kept], chunk.deltas[kept])
        self._log(counts)

    def _log(self, counts: Counter[str]) -> None:
        """Tell the data holder once, however often the updates are read."""
        if not self._is_logged:
            message = "Not private: %s updates read; %s outside the matrix and %s not finite were left out."
            numbers = [f"{counts[name]:,}" for name in ("given", "outside", "not_finite", "nobody")]
            if self.has_users:
                message = message.replace(" and %s not finite", ", %s not finite and %s without a user")
            log.info(message, *numbers[: message.count("%s")])
        self._is_logged = True


def _check_form(arrays: UpdateBlock | UpdateChunk) -> None:
    vectors: tuple[Any, ...] = (arrays.rows, arrays.columns, arrays.deltas)
    dtypes = [getattr(vector, "dtype", None) for vector in vectors]
    shapes = {getattr(vector, "shape", None) for vector in vectors}
    if dtypes != [np.int64, np.int64, np.float64] or shapes != {(len(vectors[0]),)}:
        raise InvalidParameter(type(arrays).__name__, "arrays", _FORM, f"{dtypes} of shapes {shapes}")


def _is_inside(indices: NDArray[np.int64], size: int) -> NDArray[np.bool_]:
    return np.asarray((indices >= 0) & (indices < size))


def has_user(users: pa.Array) -> NDArray[np.bool_]:
    """Which ids are somebody's: neither null nor nothing but white space."""
    if pa.types.is_integer(users.type) or pa.types.is_null(users.type):
        return np.asarray(users.is_valid().to_numpy(zero_copy_only=False))
    return canonical_texts(users)[2]
