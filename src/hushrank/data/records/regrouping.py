"""Records of many pieces of data, sent to one place for each user and joined there."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from hushrank.data.identifiers import IdTable
from hushrank.data.parcels import Rows
from hushrank.data.records import out_of_core
from hushrank.data.records.blocks import UserRecordBlock
from hushrank.data.records.grouping import cut_users
from hushrank.data.records.stores import GroupedRecords, MemoryStore
from hushrank.data.source import MAX_BLOCK_ROWS, Source

BATCH_RECORDS = 2**16  # that are read at a time before they are sent


class RecordNotes(NamedTuple):
    """How many records were read, and how many of them had no user."""

    n_read: int
    n_left_out: int

    def __add__(self, other: Any) -> "RecordNotes":  # of tuples it would be a longer one
        return RecordNotes(self.n_read + other.n_read, self.n_left_out + other.n_left_out)


@dataclass(frozen=True, slots=True)
class RecordGrouping:
    """How records are sent and joined: by the same steps as where one process reads all of them.

    Attributes
    ----------
    shape : tuple of int
        Of X of one record.
    dtype : dtype
        Of X, float32 or float64, settled by the types of all data.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def rows(self, origin: Any) -> Iterator[Rows]:
        """Users, X of a record as one row, and answers."""
        for batch in origin.batches(BATCH_RECORDS, self.dtype):
            yield batch.ids, [batch.X.reshape(len(batch), math.prod(self.shape)), batch.y]

    def join(self, rows: Iterator[Rows], n_left_out: int) -> "RecordPart":
        """Users in the order in which they come, each with the records in their canonical order."""
        users, n_kept = IdTable(), 0
        with out_of_core.RecordGrouper(self.shape, self.dtype, out_of_core.GROUPED_IN_MEMORY) as grouper:
            for ids, (X, y) in rows:
                grouper.add(users.add(ids), X, y)
                n_kept += len(y)
            grouped = grouper.finish(len(users))
        block = UserRecordBlock(grouped.indptr, *grouped.read(0, n_kept))
        return RecordPart(block, RecordNotes(n_kept + n_left_out, n_left_out))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RecordPart:
    """The users of one place.

    Attributes
    ----------
    users : UserRecordBlock
    told : RecordNotes
    """

    users: UserRecordBlock
    told: RecordNotes

    @property
    def n_people(self) -> int:
        """Users."""
        return len(self.users)

    @property
    def n_bytes(self) -> int:
        """Memory of the records."""
        return self.users.indptr.nbytes + self.users.X.nbytes + self.users.y.nbytes

    def __sizeof__(self) -> int:
        return self.n_bytes  # by which a cluster decides what to keep in memory

    def source(self) -> "PartRecords":
        """The users in blocks."""
        return PartRecords(self.users)

    def notes(self) -> RecordNotes:
        """How many records were read."""
        return self.told


class PartRecords(Source):
    """Some users of records, as they were grouped."""

    def __init__(self, users: UserRecordBlock) -> None:
        super().__init__(len(users))
        self._users: GroupedRecords = MemoryStore(users)
        self._shape, self._dtype = users.X.shape[1:], users.X.dtype

    @property
    def sizes(self) -> Mapping[str, int]:
        """Nothing: whoever has all parts knows them."""
        return {}

    def blocks(self, max_rows: int = MAX_BLOCK_ROWS) -> Iterator[UserRecordBlock]:
        """Blocks of users, see `cut_users`."""
        return cut_users(self._users, max_rows, math.prod(self._shape) * self._dtype.itemsize)

    def empty_block(self) -> UserRecordBlock:
        """A block without users."""
        return UserRecordBlock(np.zeros(1, np.int64), np.empty((0, *self._shape), self._dtype), np.empty(0))
