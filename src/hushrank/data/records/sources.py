"""Sources of records: one record a person, or the records of whole users, grouped when they are first asked for."""

import logging
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from hushrank.data.identifiers import IdTable
from hushrank.data.pieces import pieces_on
from hushrank.data.records import out_of_core
from hushrank.data.records.blocks import RecordBlock, UserRecordBlock
from hushrank.data.records.grouping import code_users, cut_users, group_records
from hushrank.data.records.in_memory import MemoryOrigin
from hushrank.data.records.origins import Origin
from hushrank.data.records.regrouping import RecordGrouping
from hushrank.data.records.stores import GroupedRecords, MemoryStore
from hushrank.data.regrouping import Group, Groups
from hushrank.data.source import MAX_BLOCK_ROWS, PIECE_ROWS, Piece, Source
from hushrank.data.vectors import to_float64

BATCH_RECORDS = 2**16  # that are read at a time before they are grouped

log = logging.getLogger("hushrank")


class Records(Source):
    """Records with an answer, one a person; X is neither copied nor looked at before it is read.

    Parameters
    ----------
    origin : Origin
        Where they come from.
    """

    def __init__(self, origin: Origin) -> None:
        super().__init__(origin.n_records, origin.columns)
        self._origin, self.can_repeat = origin, origin.can_repeat

    @property
    def sizes(self) -> Mapping[str, int]:
        """n_features of a vector, n_rows and n_columns of a matrix for each record."""
        return self._origin.sizes

    def blocks(self, max_rows: int = MAX_BLOCK_ROWS) -> Iterator[RecordBlock]:
        """Blocks of at most `max_rows` and 8192 records, in their order."""
        batches = self._origin.batches(min(max_rows, MAX_BLOCK_ROWS), np.dtype(np.float64))
        return (RecordBlock(to_float64(batch.X), to_float64(batch.y)) for batch in batches)

    def empty_block(self) -> RecordBlock:
        """A block without records."""
        return RecordBlock(np.empty((0, *self._origin.shape)), np.empty(0))

    def pieces(self, enough: int = PIECE_ROWS) -> list[Piece] | None:
        """Records of the pieces of the origin."""
        return pieces_on(self._origin.pieces(enough), Records)


class UserRecords(Source):
    """Records of users, grouped once, when the first block or the number of users is asked for.

    Parameters
    ----------
    origin : Origin
        Where they come from, with users; a record whose id is null or empty is left out. Let go of after grouping.
    """

    def __init__(self, origin: Origin) -> None:
        super().__init__(0 if origin.n_records == 0 else None, origin.columns)
        self._shape, self._dtype, self._sizes = origin.shape, origin.dtype, origin.sizes
        self._record_bytes = origin.record_bytes
        self._origin: Origin | None = origin
        self._grouped: GroupedRecords | None = None
        self.n_left_out = 0  # records without a user, known when they were read

    @property
    def sizes(self) -> Mapping[str, int]:
        """n_features of a vector, n_rows and n_columns of a matrix for each record."""
        return self._sizes

    @property
    def n_users(self) -> int:
        """Number of different ids, public where people are replaced and not added or removed."""
        return len(self._read().indptr) - 1

    def blocks(self, max_rows: int = MAX_BLOCK_ROWS) -> Iterator[UserRecordBlock]:
        """Blocks of at most `max_rows` and 8192 users and, unless of one user, 2^16 records and 2^25 bytes."""
        yield from cut_users(self._read(), max_rows, self._record_bytes)

    def empty_block(self) -> UserRecordBlock:
        """A block without users."""
        return UserRecordBlock(np.zeros(1, np.int64), np.empty((0, *self._shape), self._dtype), np.empty(0))

    def _read(self) -> GroupedRecords:
        """All users; groups the records at the first call."""
        if self._grouped is None:
            assert self._origin is not None
            self._grouped, n_read = _group(self._origin)
            self._origin, self.n_samples = None, len(self._grouped.indptr) - 1
            self._tell(n_read, n_read - int(self._grouped.indptr[-1]))
        return self._grouped

    def regrouped(self, group: Group, enough: int = PIECE_ROWS) -> "UserRecords":
        """Records of a table or of files that are grouped elsewhere."""
        pieces = None if self._origin is None else self._origin.pieces(enough)
        return self if pieces is None else DistantRecords(self, group(RecordGrouping(self._shape, self._dtype), pieces))

    def _tell(self, n_read: int, n_left_out: int) -> None:
        """Tell the data holder what was left out; nothing of it is shown unless the log is asked for."""
        self.n_left_out = n_left_out
        message = "Not private: %s records read; %s without a user were left out."
        log.info(message, f"{n_read:,}", f"{n_left_out:,}")


class DistantRecords(UserRecords):
    """Records that were grouped elsewhere and stay there; their blocks are brought here if somebody asks for them.

    Parameters
    ----------
    records : UserRecords
        What is public about them.
    groups : Groups
        Where they are.
    """

    def __init__(self, records: UserRecords, groups: Groups) -> None:
        Source.__init__(self, records.n_samples, records.columns)
        self._shape, self._dtype, self._sizes = records._shape, records._dtype, records._sizes
        self._groups, self._is_logged, self.n_left_out = groups, False, 0

    @property
    def n_users(self) -> int:
        """Number of different ids."""
        return self._settled().n_people()

    def blocks(self, max_rows: int = MAX_BLOCK_ROWS) -> Iterator[Any]:
        """Blocks of the users of one place after the other."""
        for part in self._settled().parts():
            yield from part.source().blocks(max_rows)

    def pieces(self, enough: int = PIECE_ROWS) -> list[Piece]:
        """The users of each place, where they are."""
        return self._settled().pieces()

    def regrouped(self, group: Group, enough: int = PIECE_ROWS) -> "UserRecords":
        """They are where they are."""
        return self

    def forget(self) -> None:
        """Group them again when they are next asked for."""
        self._groups.forget()

    def _settled(self) -> Groups:
        """The groups, after the data holder was told once about all of them."""
        if not self._is_logged:
            self.n_samples, self._is_logged = self._groups.n_people(), True
            self._tell(*self._groups.notes())
        return self._groups


def _group(origin: Origin) -> tuple[GroupedRecords, int]:
    """The records of all users, and how many were read."""
    if isinstance(origin, MemoryOrigin):
        assert origin.ids is not None
        if len(origin.ids) * origin.record_bytes <= out_of_core.GROUPED_BESIDE_DATA:
            codes, n_users = code_users(origin.ids)
            numbers = ((batch.X, batch.y) for batch in origin.batches(BATCH_RECORDS, origin.dtype))
            return MemoryStore(group_records(codes, n_users, numbers, origin.shape, origin.dtype)), len(codes)
    users, n_read = IdTable(), 0
    in_memory = 0 if isinstance(origin, MemoryOrigin) else out_of_core.GROUPED_IN_MEMORY
    with out_of_core.RecordGrouper(origin.shape, origin.dtype, in_memory) as grouper:
        for batch in origin.batches(BATCH_RECORDS, origin.dtype):
            grouper.add(users.add(batch.ids), batch.X, batch.y)
            n_read += len(batch)
            del batch  # before the next one is made
        n_users = len(users)
        del users
        return grouper.finish(n_users), n_read
