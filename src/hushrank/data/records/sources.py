"""Sources of records: one record a person, or the records of whole users, grouped when they are first asked for."""

import logging
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hushrank.data.records.blocks import RecordBlock, UserRecordBlock
from hushrank.data.records.features import Features
from hushrank.data.records.grouping import group_records, user_spans
from hushrank.data.source import MAX_BLOCK_ROWS, Source
from hushrank.data.vectors import to_float64

log = logging.getLogger("hushrank")


class Records(Source):
    """Records with an answer, one a person; X is neither copied nor looked at before it is read.

    Parameters
    ----------
    features : Features
        The numbers X.
    y : ndarray of shape (n_records,)
        The answers, of any real dtype.
    """

    def __init__(self, features: Features, y: NDArray[Any]) -> None:
        super().__init__(len(features), features.columns)
        self._features, self._y = features, y

    @property
    def sizes(self) -> Mapping[str, int]:
        """n_features of a vector, n_rows and n_columns of a matrix for each record."""
        return self._features.sizes

    def blocks(self, max_rows: int = MAX_BLOCK_ROWS) -> Iterator[RecordBlock]:
        """Blocks of at most `max_rows` and 8192 records, in their order."""
        start = 0
        for X in self._features.blocks(max_rows):
            yield RecordBlock(X, to_float64(self._y[start : start + len(X)]))
            start += len(X)

    def empty_block(self) -> RecordBlock:
        """A block without records."""
        return RecordBlock(np.empty((0, *self._features.shape)), np.empty(0))


class UserRecords(Source):
    """Records of users, grouped once, when the first block or the number of users is asked for.

    Parameters
    ----------
    features : Features
        The numbers X.
    y : ndarray of shape (n_records,)
        The answers, of any real dtype.
    ids : Arrow array of n_records ids
        Whose record it is; a record whose id is null or empty is left out. X, y and ids are let go of after grouping.
    """

    def __init__(self, features: Features, y: NDArray[Any], ids: pa.Array) -> None:
        super().__init__(None, features.columns)
        self._shape, self._sizes = features.shape, features.sizes
        self._ungrouped: tuple[Features, NDArray[Any], pa.Array] | None = (features, y, ids)
        self._block: UserRecordBlock | None = None

    @property
    def sizes(self) -> Mapping[str, int]:
        """n_features of a vector, n_rows and n_columns of a matrix for each record."""
        return self._sizes

    @property
    def n_users(self) -> int:
        """Number of different ids, public where people are replaced and not added or removed."""
        return len(self._read())

    def blocks(self, max_rows: int = MAX_BLOCK_ROWS) -> Iterator[UserRecordBlock]:
        """Blocks of at most `max_rows` and 8192 users and, unless of one user, 2^16 records and 2^25 bytes."""
        users = self._read()
        for start, stop in user_spans(users.indptr, min(max_rows, MAX_BLOCK_ROWS), int(np.prod(self._shape))):
            part = slice(users.indptr[start], users.indptr[stop])
            yield UserRecordBlock(users.indptr[start : stop + 1] - users.indptr[start], users.X[part], users.y[part])

    def empty_block(self) -> UserRecordBlock:
        """A block without users."""
        return UserRecordBlock(np.zeros(1, np.int64), np.empty((0, *self._shape)), np.empty(0))

    def _read(self) -> UserRecordBlock:
        """All users; groups the records at the first call."""
        if self._block is None:
            assert self._ungrouped is not None
            self._block, n_left_out = group_records(*self._ungrouped)
            self._ungrouped, self.n_samples = None, len(self._block)
            message = "Not private: %s records read; %s without a user were left out."
            log.info(message, f"{len(self._block.y) + n_left_out:,}", f"{n_left_out:,}")
        return self._block
