"""Records grouped by user: the users of a block one after the other, the records of each in a canonical order.

The order within a user is that of the bytes of X and then of y, as float64: exact, and the same whatever the order of
the table. The bits of a user's records thus depend on nothing but these records, and a kernel that adds them up in
floating point gives the same bits for them in every data set. Users come in the order of their first appearance.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hushrank.data.identifiers import IdTable
from hushrank.data.records.blocks import FloatArray, UserRecordBlock
from hushrank.data.records.features import Features
from hushrank.data.source import MAX_BLOCK_BYTES, MAX_BLOCK_ROWS, spans_of_people
from hushrank.data.vectors import to_float64

MAX_BLOCK_RECORDS = 2**16
BATCH_IDS = 2**16

Integers = NDArray[np.int64]


def group_records(features: Features, y: NDArray[np.generic], ids: pa.Array) -> tuple[UserRecordBlock, int]:
    """Group records by user; holds one copy of them, as float64.

    Parameters
    ----------
    features : Features
        The numbers of the records.
    y : ndarray of shape (n_records,)
        Their answers, of any real dtype.
    ids : Arrow array of n_records ids
        As `IdTable` takes them. A record whose id is null or empty is left out.

    Returns
    -------
    block : UserRecordBlock
        All users.
    n_left_out : int
        Records without a user.
    """
    indptr, places = _find_places(ids)
    n_kept, start = int(indptr[-1]), 0
    X, answers = np.empty((n_kept, features.width)), np.empty(n_kept)
    for block in features.blocks():
        part = slice(start, start + len(block))
        kept = places[part] >= 0
        X[places[part][kept]] = block.reshape(len(block), -1)[kept]
        answers[places[part][kept]] = to_float64(y[part])[kept]
        start = part.stop
    _put_in_order(indptr, X, answers)
    return UserRecordBlock(indptr, X.reshape(n_kept, *features.shape), answers), len(ids) - n_kept


def user_spans(indptr: Integers, max_users: int, width: int) -> Iterator[tuple[int, int]]:
    """Consecutive users, at most so many and, unless it is one, of no more than 2^16 records or 2^25 bytes together."""
    return spans_of_people(indptr, max_users, min(MAX_BLOCK_RECORDS, MAX_BLOCK_BYTES // (8 * width)))


def _find_places(ids: pa.Array) -> tuple[Integers, Integers]:
    """Where the records of each user start and end, and the place of each record among them, negative for none."""
    users, codes = IdTable(), np.empty(len(ids), np.int32)
    for start in range(0, len(ids), BATCH_IDS):  # the table makes room for a whole batch of new ids
        codes[start : start + BATCH_IDS] = users.add(ids[start : start + BATCH_IDS])
    counts = np.bincount(codes + 1, minlength=len(users) + 1)  # the first: without a user
    indptr, places = np.zeros(len(users) + 1, np.int64), np.empty(len(ids), np.int64)
    np.cumsum(counts[1:], out=indptr[1:])
    places[np.argsort(codes, kind="stable")] = np.arange(-counts[0], len(ids) - counts[0])
    return indptr, places


def _put_in_order(indptr: Integers, X: FloatArray, y: FloatArray) -> None:
    """Sort the records within every user by the bytes of X, then of y, in place."""
    width = X.shape[1]
    for start, stop in user_spans(indptr, MAX_BLOCK_ROWS, width):
        part = slice(indptr[start], indptr[stop])
        users = np.repeat(np.arange(stop - start), np.diff(indptr[start : stop + 1]))
        rows = X[part].view(np.dtype((np.void, 8 * width)))[:, 0]  # compared byte by byte
        order = np.lexsort((y[part].view(np.int64), rows, users))
        y[part] = y[part][order]
        # All columns at once, unless it is a user of so many records that a copy of them would be large.
        step = max(1, MAX_BLOCK_BYTES // (8 * len(order)))
        for j in range(0, width, step):
            X[part, j : j + step] = X[part, j : j + step][order]
