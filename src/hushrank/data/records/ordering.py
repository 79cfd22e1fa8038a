"""The canonical order of a user's records: by the bytes of X as float64, then by y as 64-bit integers.

Exact, and the same whatever the order of the table: records that compare as equal have the same bits. It is that of
float64 where X is stored as float32, too: another person's record may have decided how all of them are stored.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushrank.linalg.quantize import compiled

Integers = NDArray[np.int64]
Words = NDArray[Any]  # uint32 or uint64

_RUN = 16  # records that are sorted by insertion; runs of them are merged
_BYTE = np.uint64(255)


def put_in_order(indptr: Integers, X: NDArray[Any], y: NDArray[np.float64]) -> None:
    """Sort the records within every user, in place.

    Parameters
    ----------
    indptr : ndarray of shape (n_users + 1,)
        Where the records of each user start and end.
    X : ndarray of shape (n_records, width)
        Float32 or float64, in C order.
    y : ndarray of shape (n_records,)

    Examples
    --------
    >>> X, y = np.array([[2.0], [1.0], [1.0], [3.0]], np.float32), np.array([1.0, 3.0, 2.0, 4.0])
    >>> put_in_order(np.array([0, 3, 4]), X, y)
    >>> X[:, 0].tolist(), y.tolist()
    ([2.0, 1.0, 1.0, 3.0], [1.0, 2.0, 3.0, 4.0])
    """
    most = int(np.diff(indptr).max(initial=0))
    order, room = np.empty(most, np.int64), np.empty(most, np.int64)
    words = X.view(np.uint32 if X.dtype == np.float32 else np.uint64)
    _sort_users(indptr, X, words, y.view(np.int64), order, room)


@compiled
def _sort_users(indptr: Integers, X: NDArray[Any], words: Words, y: Integers, order: Integers, room: Integers) -> None:
    """Sort the records of each user; `order` and `room` have a place for each record of one user."""
    row, pair = np.empty(words.shape[1], words.dtype), np.empty(2, np.float64)
    for user in range(len(indptr) - 1):
        start, n = indptr[user], indptr[user + 1] - indptr[user]
        if n < 2:
            continue
        is_sorted = True
        for i in range(n):
            order[i] = start + i
            is_sorted &= i == 0 or not _precedes(X, words, y, start + i, start + i - 1, pair)
        if not is_sorted:
            _sort(X, words, y, order[:n], room[:n], pair)
            _move(words, y, start, order[:n], row)


@compiled
def _precedes(X: NDArray[Any], words: Words, y: Integers, a: int, b: int, pair: NDArray[np.float64]) -> bool:
    """Whether record a comes before record b, and is not equal; `pair` is room for two numbers."""
    bits = pair.view(np.uint64)
    for k in range(words.shape[1]):
        if words[a, k] != words[b, k]:
            pair[0], pair[1] = X[a, k], X[b, k]
            difference, shift = bits[0] ^ bits[1], np.uint64(0)
            if difference != np.uint64(0):  # else two NaNs of float32 that are one of float64
                while (difference >> shift) & _BYTE == np.uint64(0):  # the first byte in memory is the lowest
                    shift += np.uint64(8)
                return bool((bits[0] >> shift) & _BYTE < (bits[1] >> shift) & _BYTE)
    if y[a] != y[b]:
        return bool(y[a] < y[b])
    for k in range(words.shape[1]):
        if words[a, k] != words[b, k]:
            return bool(words[a, k] < words[b, k])
    return False


@compiled
def _sort(
    X: NDArray[Any], words: Words, y: Integers, order: Integers, room: Integers, pair: NDArray[np.float64]
) -> None:
    """Sort indices of records: runs by insertion, then merged, so that no records take more than n log n steps."""
    n = len(order)
    for start in range(0, n, _RUN):
        for i in range(start + 1, min(start + _RUN, n)):
            moved, j = order[i], i
            while j > start and _precedes(X, words, y, moved, order[j - 1], pair):
                order[j] = order[j - 1]
                j -= 1
            order[j] = moved
    length = _RUN
    while length < n:
        for start in range(0, n, 2 * length):
            left, right = start, min(start + length, n)
            middle, stop = right, min(start + 2 * length, n)
            for place in range(start, stop):
                if left == middle or (right < stop and _precedes(X, words, y, order[right], order[left], pair)):
                    room[place] = order[right]
                    right += 1
                else:
                    room[place] = order[left]
                    left += 1
        order[:] = room
        length *= 2


@compiled
def _move(words: Words, y: Integers, start: int, order: Integers, row: Words) -> None:
    """Put record order[i] into place start + i, for all i, along the cycles of the permutation; `order` is used up."""
    width = words.shape[1]
    for i in range(len(order)):
        if order[i] == start + i:
            continue
        answer, place = y[start + i], i
        for k in range(width):
            row[k] = words[start + i, k]
        while order[place] != start + i:
            source = order[place]
            for k in range(width):
                words[start + place, k] = words[source, k]
            y[start + place] = y[source]
            order[place], place = start + place, source - start
        order[place] = start + place
        for k in range(width):
            words[start + place, k] = row[k]
        y[start + place] = answer
