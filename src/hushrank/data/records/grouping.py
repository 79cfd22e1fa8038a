"""Records grouped by user: the users of a block one after the other, the records of each in a canonical order.

The order within a user is that of `ordering`. The bits of a user's records thus depend on nothing but these records,
and a kernel that adds them up in floating point gives the same bits for them in every data set. Users come in the
order of their first appearance. What exceeds a share of the memory is parted first, see `out_of_core`.
"""

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hushrank.data.identifiers import Codes, IdTable
from hushrank.data.records.blocks import FloatArray, UserRecordBlock
from hushrank.data.records.ordering import put_in_order
from hushrank.data.records.stores import GroupedRecords
from hushrank.data.source import MAX_BLOCK_BYTES, MAX_BLOCK_ROWS, spans_of_people
from hushrank.linalg.quantize import compiled

MAX_BLOCK_RECORDS = 2**16
BATCH_IDS = 2**16

Integers = NDArray[np.int64]
Numbers = tuple[FloatArray, NDArray[np.float64]]  # X and y of some records


def code_users(ids: pa.Array) -> tuple[Codes, int]:
    """Code of each record's user in the order of their first appearance, -1 for none, and the number of users."""
    users, codes = IdTable(), np.empty(len(ids), np.int32)
    for start in range(0, len(ids), BATCH_IDS):  # the table makes room for a whole batch of new ids
        codes[start : start + BATCH_IDS] = users.add(ids[start : start + BATCH_IDS])
    return codes, len(users)


def group_records(
    codes: Codes, n_users: int, records: Iterable[Numbers], shape: tuple[int, ...], dtype: np.dtype[np.floating]
) -> UserRecordBlock:
    """Group records by user; holds one copy of them.

    Parameters
    ----------
    codes : ndarray of shape (n_records,)
        Whose record it is, between 0 and n_users - 1, or -1: such a record is left out.
    n_users : int
        Users of the block.
    records : iterable of pairs
        X and y of all records, some at a time, as `dtype` and float64.
    shape : tuple of int
        Of X of one record.
    dtype : dtype
        Float32 or float64.

    Examples
    --------
    >>> records = [(np.array([[1.0], [2.0]]), np.array([0.1, 0.2])), (np.array([[3.0]]), np.array([0.3]))]
    >>> block = group_records(np.array([1, 0, 1], np.int32), 2, records, (1,), np.dtype(np.float64))
    >>> block.indptr.tolist(), block.y.tolist()
    ([0, 1, 3], [0.2, 0.3, 0.1])
    """
    indptr, places = np.zeros(n_users + 1, np.int64), np.empty(len(codes), np.int64)
    _find_places(codes, indptr, places)
    n_kept, start = int(indptr[-1]), 0
    X, y = np.empty((n_kept, int(np.prod(shape))), dtype), np.empty(n_kept)
    for numbers, answers in records:
        own = places[start : start + len(answers)]
        start += len(answers)
        flat = numbers.reshape(len(answers), X.shape[1])
        if own.min(initial=0) < 0:
            kept = own >= 0
            own, flat, answers = own[kept], flat[kept], answers[kept]
        X[own], y[own] = flat, answers
    del places
    put_in_order(indptr, X, y)
    return UserRecordBlock(indptr, X.reshape(n_kept, *shape), y)


def user_spans(indptr: Integers, max_users: int, record_bytes: int) -> Iterator[tuple[int, int]]:
    """Consecutive users, at most so many and, unless it is one, of no more than 2^16 records or 2^25 bytes together."""
    return spans_of_people(indptr, max_users, min(MAX_BLOCK_RECORDS, MAX_BLOCK_BYTES // record_bytes))


def cut_users(users: GroupedRecords, max_users: int, record_bytes: int) -> Iterator[UserRecordBlock]:
    """Blocks of consecutive users, see `user_spans`; of no more than 8192 of them."""
    for start, stop in user_spans(users.indptr, min(max_users, MAX_BLOCK_ROWS), record_bytes):
        first, last = int(users.indptr[start]), int(users.indptr[stop])
        yield UserRecordBlock(users.indptr[start : stop + 1] - first, *users.read(first, last))


@compiled
def _find_places(codes: Codes, indptr: Integers, places: Integers) -> None:
    """Where the records of each user start and end, and the place of each record among them, -1 for none."""
    for code in codes:
        if code >= 0:
            indptr[code + 1] += 1
    for user in range(1, len(indptr)):
        indptr[user] += indptr[user - 1]
    following = indptr.copy()
    for i in range(len(codes)):
        places[i] = -1
        if codes[i] >= 0:
            places[i] = following[codes[i]]
            following[codes[i]] += 1
