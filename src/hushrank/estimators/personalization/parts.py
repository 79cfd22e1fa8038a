"""Parts of the users, by a hash of each user's own records: nobody is in two of them."""

import numpy as np
from numpy.typing import NDArray

from hushrank.data.records.blocks import UserRecordBlock
from hushrank.linalg.quantize import compiled


def select_part(block: UserRecordBlock, part: int, n_parts: int) -> UserRecordBlock:
    """The users of a block who are in this part, with their records.

    Examples
    --------
    >>> block = UserRecordBlock(np.arange(9), np.arange(8.0).reshape(8, 1), np.ones(8))
    >>> sum(len(select_part(block, part, 3)) for part in range(3))
    8
    """
    is_in = part_of_users(block, n_parts) == part
    counts = np.diff(block.indptr)
    rows = np.repeat(is_in, counts)
    indptr = np.concatenate([[0], np.cumsum(counts[is_in])]).astype(np.int64)
    return UserRecordBlock(indptr, np.ascontiguousarray(block.X[rows]), np.ascontiguousarray(block.y[rows]))


def part_of_users(block: UserRecordBlock, n_parts: int) -> NDArray[np.int64]:
    """The part of every user, from the number of records and the first of them.

    As float64, whatever X is stored as: the numbers of another person may decide that.
    """
    counts = np.diff(block.indptr)
    first = np.minimum(block.indptr[:-1], max(len(block.y) - 1, 0))  # of a user without records: not looked at
    numbers = np.zeros((len(block), block.X.shape[1] + 1))
    if len(block.y):
        with np.errstate(all="ignore"):  # signaling NaNs
            numbers[:, :-1], numbers[:, -1] = block.X[first], block.y[first]
    return _hash_users(counts, numbers.view(np.uint64), n_parts)


@compiled
def _hash_users(counts: NDArray[np.int64], bits: NDArray[np.uint64], n_parts: int) -> NDArray[np.int64]:
    """FNV-1a of words, then the last mixing steps of MurmurHash3."""
    parts = np.empty(len(counts), np.int64)
    for j in range(len(counts)):
        h = np.uint64(0xCBF29CE484222325) ^ np.uint64(counts[j])
        if counts[j] > 0:
            for p in range(bits.shape[1]):
                h = (h ^ (bits[j, p] >> np.uint64(32))) * np.uint64(0x100000001B3)
                h = (h ^ (bits[j, p] & np.uint64(0xFFFFFFFF))) * np.uint64(0x100000001B3)
        h = (h ^ (h >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
        h = (h ^ (h >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
        parts[j] = np.int64((h ^ (h >> np.uint64(33))) % np.uint64(n_parts))
    return parts
