"""What one user contributes to the sums of alternating least squares, for all users of a block.

A user solves a ridge regression on the own ratings: z with (W_o^T W_o + P + ridge I) z = W_o^T (y_o - base_o), whose
last part is the factor u, shortened to `user_norm`. The user then gives every rated item j, with a weight w_j,

    w_j u u^T, as the product of the integer vector y_j = round(sqrt(w_j) u / step) with itself,
    w_j r_j u, where r_j is the rating less base and features, clipped to `residual_bound`.

Both are bounded for the user as a whole, in integers, before anything is added (docs/privacy/als.md). The order of
operations is fixed: the bits of a contribution depend on the own ratings and on public numbers alone.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushrank.linalg.quantize import FloatArray, compiled
from hushrank.linalg.ridge import factorize, solve_factorized
from hushrank.linalg.scatter import IntegerArray, Positions, add_contribution

TILE = 4  # columns and rows are handled by fours: widths are multiples of it
UNIFORM, TAIL, ADAPTIVE = 0, 1, 2

# Sums of fourth powers reach 2^72 and are kept in two words of 36 bits; squared norms are split at 18 bits.
_HALF, _WORD = 18, 36
# Products are at most 2^36, so that partial sums of this many ratings stay below 2^53 in float64.
_RATINGS_PER_SUM = 1 << 16


class Sweep(NamedTuple):
    """Public numbers of one pass over the users.

    Attributes
    ----------
    base : ndarray of shape (n_items,)
    W : ndarray of shape (n_items, width)
        Features, item factors, and columns of zeros up to a width that is a multiple of four.
    n_features, rank : int
    penalty : ndarray of shape (width, width)
        P above.
    ridge : float > 0
    bounding : int
        UNIFORM, TAIL or ADAPTIVE.
    priority : ndarray of shape (n_items,)
        TAIL: different numbers, ratings of items with the smallest count. ADAPTIVE: weights before they are scaled.
    max_ratings : int
        Largest sum of squared weights of a user.
    user_norm, residual_bound : float
    gram_bound, gram_limit : float, int
        `row_norm` and `squared_bound` of the lattice of the products.
    right_bound, right_limit : float
        `norm_bound` and `squared_bound` of the lattice of the right-hand sides.
    """

    base: FloatArray
    W: FloatArray
    n_features: int
    rank: int
    penalty: FloatArray
    ridge: float
    bounding: int
    priority: FloatArray
    max_ratings: int
    user_norm: float
    residual_bound: float
    gram_bound: float
    gram_limit: int
    right_bound: float
    right_limit: float


@compiled
def add_products(B: FloatArray, A: FloatArray) -> None:
    """Add the sum of b b^T over the four rows b of B to the lower triangle of A (and to no more than its tiles)."""
    for a in range(A.shape[0]):
        x0, x1, x2, x3 = B[0, a], B[1, a], B[2, a], B[3, a]
        for tile in range(a // TILE + 1):
            for c in range(TILE):  # a constant number of steps, which the compiler turns into vectors
                b = TILE * tile + c
                A[a, b] += (x0 * B[0, b] + x1 * B[1, b]) + (x2 * B[2, b] + x3 * B[3, b])


@compiled
def solve_user(items: Positions, values: FloatArray, sweep: Sweep, scratch: FloatArray, z: FloatArray) -> bool:
    """Fill z with the ridge solution of one user; False, and zeros, if there is none. scratch is (2, width, width)."""
    width, n = len(z), len(items)
    A, L, B = scratch[0], scratch[1], scratch[2]
    A[:] = sweep.penalty
    z[:] = 0.0
    for start in range(0, n, TILE):
        for s in range(TILE):
            if start + s < n:
                j = items[start + s]
                target = values[start + s] - sweep.base[j]
                for a in range(width):
                    B[s, a] = sweep.W[j, a]
                    z[a] += target * sweep.W[j, a]
            else:
                B[s, :] = 0.0
        add_products(B, A)
    if not factorize(A, sweep.ridge, L):
        z[:] = 0.0
        return False
    solve_factorized(L, z)
    return True


@compiled
def weigh_ratings(items: Positions, sweep: Sweep, weights: FloatArray) -> None:
    """Fill `weights` of one user's ratings: sum of squares at most max_ratings, up to rounding."""
    n, most = len(items), sweep.max_ratings
    if sweep.bounding == ADAPTIVE:
        squares = 0.0
        for t in range(n):
            weights[t] = sweep.priority[items[t]]
            squares += weights[t] * weights[t]
        scale = math.sqrt(most / squares) if squares > 0.0 else 0.0
        for t in range(n):
            weights[t] *= scale
        return
    weights[:n] = 1.0
    if n <= most:
        return
    if sweep.bounding == TAIL:
        threshold = np.partition(sweep.priority[items], most - 1)[most - 1]
        for t in range(n):
            weights[t] = float(sweep.priority[items[t]] <= threshold)
        return
    # Evenly spaced in the order of the catalogue, from a place that the row itself decides.
    place = np.int64(0)
    for j in items:
        place = (place * 31 + j) % n
    for t in range(n):
        place += most
        weights[t] = float(place >= n)
        if place >= n:
            place -= n


@compiled
def fits_quartic(u: FloatArray, scales: FloatArray, is_rounded: bool, limit: int) -> bool:
    """Whether the integer vectors y_t = round(scales_t u), or truncated, have sum |y_t|^4 <= limit^2; exactly.

    A float sum of squared integers is at most limit <= 2^36 only if the exact sum is: float addition is monotone, so
    the sum is exact or has passed 2^53.
    """
    half_mask, word_mask = (1 << _HALF) - 1, (1 << _WORD) - 1
    top, bottom = limit >> _HALF, limit & half_mask
    most_high, most_low = _add_square(0, 0, top, bottom)
    high, low = 0, 0
    for scale in scales:
        s0 = s1 = s2 = s3 = 0.0
        for a in range(0, len(u), TILE):
            y0, y1 = to_integer(scale * u[a], is_rounded), to_integer(scale * u[a + 1], is_rounded)
            y2, y3 = to_integer(scale * u[a + 2], is_rounded), to_integer(scale * u[a + 3], is_rounded)
            s0, s1, s2, s3 = s0 + y0 * y0, s1 + y1 * y1, s2 + y2 * y2, s3 + y3 * y3
        squared = (s0 + s1) + (s2 + s3)
        if not squared <= limit:
            return False
        norm = np.int64(squared)
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
    return np.rint(x) if is_rounded else np.trunc(x)
