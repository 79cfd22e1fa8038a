"""Sums of products y y^T of integer vectors by item, exactly, and the check of what one user contributes to them.

A user has one vector y_t = round(scales_t u), or cut off toward zero, for every rating t. The vectors are never stored:
they follow from u and the scales by one multiplication and one rounding, with the same bits wherever they are needed.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushrank.estimators.completion.rating_kernels import RatingArrays
from hushrank.linalg.quantize import FloatArray, compiled
from hushrank.linalg.scatter import IntegerArray, Positions

# Sums of fourth powers reach 2^72 and are kept in two words of 36 bits; squared norms are split at 18 bits.
_HALF, _WORD = 18, 36
# Products are at most 2^36, so that partial sums of this many stay below 2^53 and are exact in float64.
_RATINGS_PER_SUM = 1 << 16


class UserFactors(NamedTuple):
    """What users contribute products of.

    Attributes
    ----------
    U : ndarray of shape (n_users, rank)
    scales : ndarray of shape (n_ratings,)
        In the order of the ratings of a block.
    is_rounded : ndarray of shape (n_users,)
        Whether a user's vectors are rounded, or cut off toward zero.
    """

    U: FloatArray
    scales: FloatArray
    is_rounded: NDArray[np.bool_]


class ByItem(NamedTuple):
    """Ratings of positive scale in the order of the items; those of item j lie at starts[j] : starts[j + 1]."""

    starts: IntegerArray
    users: Positions
    scales: FloatArray


@compiled
def fits_quartic(u: FloatArray, scales: FloatArray, is_rounded: bool, limit: int) -> bool:
    """Whether the integer vectors y_t = round(scales_t u), or truncated, have sum |y_t|^4 <= limit^2; exactly.

    A float sum of squared integers is at most limit <= 2^36 only if the exact sum is: float addition is monotone, so
    the sum is exact or has passed 2^53.
    """
    half_mask = (1 << _HALF) - 1
    most_high, most_low = _add_square(0, 0, limit >> _HALF, limit & half_mask)
    high, low = 0, 0
    for scale in scales:
        squared = 0.0
        for x in u:
            y = to_integer(scale * x, is_rounded)
            squared += y * y
        if not squared <= limit:
            return False
        norm = int(squared)
        high, low = _add_square(high, low, norm >> _HALF, norm & half_mask)
        if high > most_high:
            return False
    return high < most_high or low <= most_low


@compiled
def _add_square(high: int, low: int, top: int, bottom: int) -> tuple[int, int]:
    """high 2^36 + low + (top 2^18 + bottom)^2 as such a pair again, low < 2^36."""
    cross = top * bottom  # counts 2^19 times
    low += bottom * bottom + ((cross & ((1 << (_HALF - 1)) - 1)) << (_HALF + 1))
    high += top * top + (cross >> (_HALF - 1)) + (low >> _WORD)
    return high, low & ((1 << _WORD) - 1)


@compiled
def to_integer(x: float, is_rounded: bool) -> float:
    """The nearest integer, or the next one toward zero."""
    return float(np.rint(x) if is_rounded else np.trunc(x))


@compiled
def order_by_item(ratings: RatingArrays, scales: FloatArray, n_items: int) -> ByItem:
    """Ratings of positive scale by item, the users of an item rising."""
    indptr, items = ratings.indptr, ratings.items
    starts = np.zeros(n_items + 2, np.int64)
    for t in range(len(items)):
        starts[items[t] + 2] += scales[t] > 0.0
    for j in range(2, n_items + 2):
        starts[j] += starts[j - 1]
    users, ordered = np.empty(starts[n_items + 1], np.int32), np.empty(starts[n_items + 1])
    for i in range(len(indptr) - 1):
        for t in range(indptr[i], indptr[i + 1]):
            if scales[t] > 0.0:
                place = starts[items[t] + 1]
                users[place], ordered[place] = i, scales[t]
                starts[items[t] + 1] = place + 1
    return ByItem(starts[: n_items + 1], users, ordered)


@compiled
def add_item_products(ordered: ByItem, found: UserFactors, first: int, stop: int, total: IntegerArray) -> None:
    """Add the products of the integer vectors of items first to stop - 1 to `total`, lower triangles row after row.

    The total has the shape (n_items, rank * (rank + 1) / 2). The scales are those of `ordered`.
    """
    starts, users, scales = ordered.starts, ordered.users, ordered.scales
    U, is_rounded = found.U, found.is_rounded
    width = U.shape[1]
    A, B = np.zeros((width, width)), np.empty((4, width))
    for j in range(first, stop):
        for t in range(starts[j], starts[j + 1], 4):
            for s in range(4):
                y = B[s]
                if t + s >= starts[j + 1]:
                    y[:] = 0.0
                    continue
                i, scale = users[t + s], scales[t + s]
                u, rounded = U[i], is_rounded[i]
                for a in range(width):
                    y[a] = to_integer(scale * u[a], rounded)
            add_products(B, A)
            if (t + 4 - starts[j]) % _RATINGS_PER_SUM == 0 or t + 4 >= starts[j + 1]:
                _move_triangle(A, total[j])


@compiled
def add_products(B: FloatArray, A: FloatArray) -> None:
    """Add the sum of b b^T over the four rows b of B to the lower triangle of A."""
    b0, b1, b2, b3 = B[0], B[1], B[2], B[3]
    for i in range(A.shape[0]):
        row, x0, x1, x2, x3 = A[i], b0[i], b1[i], b2[i], b3[i]  # views of rows: the compiler makes vectors of the loop
        for j in range(i + 1):
            row[j] += (x0 * b0[j] + x1 * b1[j]) + (x2 * b2[j] + x3 * b3[j])


@compiled
def _move_triangle(A: FloatArray, packed: IntegerArray) -> None:
    """Add the lower triangle of A to `packed`, row after row, and set A to zero."""
    start = 0
    for a in range(A.shape[0]):
        row, target = A[a], packed[start : start + a + 1]
        for b in range(a + 1):
            target[b] += np.int64(row[b])
            row[b] = 0.0
        start += a + 1
