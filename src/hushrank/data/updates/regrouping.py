"""Updates of many pieces of data, sent to one place for each user; those of a user keep their order."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from hushrank.data.id_arrays import as_text
from hushrank.data.parcels import Rows
from hushrank.data.updates.source import MOST_UPDATES, UpdateChunk, Updates


@dataclass(frozen=True, slots=True)
class UpdateGrouping:
    """How updates are sent and joined; 7 and "7" are one user, whatever a reader makes of a column.

    Attributes
    ----------
    shape : pair of int
        Of the matrix.
    """

    shape: tuple[int, int]

    def rows(self, origin: Any) -> Iterator[Rows]:
        """Users, rows, columns and deltas, valid or not."""
        for chunk in origin.chunks(MOST_UPDATES):
            yield as_text(chunk.users), [chunk.rows, chunk.columns, chunk.deltas]

    def join(self, rows: Iterator[Rows], n_left_out: int) -> "UpdatePart":
        """The updates in the order in which they come."""
        parts = list(rows)
        ids = pa.concat_arrays([ids for ids, _ in parts]) if parts else pa.array([], pa.large_string())
        arrays = [[numbers[j] for _, numbers in parts] for j in range(3)]
        where, which, deltas = (
            np.concatenate([np.empty(0, dtype), *own]) for dtype, own in zip(_DTYPES, arrays, strict=True)
        )
        return UpdatePart(UpdateChunk(where, which, deltas, ids), self.shape, n_left_out)


_DTYPES = (np.int64, np.int64, np.float64)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class UpdatePart:
    """The updates of one place.

    Attributes
    ----------
    updates : UpdateChunk
    shape : pair of int
    n_left_out : int
        Updates of pieces that have no user; told at one place.
    """

    updates: UpdateChunk
    shape: tuple[int, int]
    n_left_out: int

    @property
    def n_people(self) -> int:
        """Updates: nobody counts users here."""
        return len(self.updates)

    @property
    def n_bytes(self) -> int:
        """Memory of the updates."""
        ids = 0 if self.updates.users is None else int(self.updates.users.nbytes)
        return ids + sum(one.nbytes for one in (self.updates.rows, self.updates.columns, self.updates.deltas))

    def __sizeof__(self) -> int:
        return self.n_bytes  # by which a cluster decides what to keep in memory

    def source(self) -> Updates:
        """The updates, to be read as any others."""
        return Updates(JoinedUpdates(self.updates), self.shape)

    def notes(self) -> int:
        """Updates without a user."""
        return self.n_left_out


class JoinedUpdates:
    """An origin of updates that were brought together."""

    has_users = can_repeat = True

    def __init__(self, updates: UpdateChunk) -> None:
        self.n_updates, self._updates = len(updates), updates

    def chunks(self, most: int) -> Iterator[UpdateChunk]:
        """All of them in their order."""
        return self._updates.split(most)

    def pieces(self, enough: int) -> None:
        """They are where they are."""
        return None
