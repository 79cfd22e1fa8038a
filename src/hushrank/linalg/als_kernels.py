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
            weights[t] = 1.0 if sweep.priority[items[t]] <= threshold else 0.0
        return
    # Evenly spaced in the order of the catalogue, from a place that the row itself decides.
    place = np.int64(0)
    for j in items:
        place = (place * 31 + j) % n
    for t in range(n):
        place += most
        weights[t] = 1.0 if place >= n else 0.0
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


@compiled
def scale_products(u: FloatArray, weights: FloatArray, sweep: Sweep, scales: FloatArray) -> bool:
    """Fill `scales` so that the vectors round(scales_t u) respect the bound; False if they are to be truncated.

    Finite contributions never end as zeros. With slack = (len(weights) + len(u) + 16) 2^-52, the computed factor makes
    the fourth root of sum |scales_t u|^4 at most (1 + slack / 2) sqrt(limit), all roundings included; truncation
    shortens every entry.
    """
    squares, norm = 0.0, 0.0
    for weight in weights:
        squares += weight * weight
    for x in u:
        norm += x * x
    quartic_norm = math.sqrt(math.sqrt(squares) * norm)
    factor = math.sqrt(sweep.gram_limit) / max(quartic_norm, sweep.gram_bound)
    for t in range(len(weights)):
        scales[t] = math.sqrt(weights[t]) * factor
    if fits_quartic(u, scales, True, sweep.gram_limit):
        return True
    slack = (len(weights) + len(u) + 16) * 2.0**-52
    for t in range(len(weights)):
        scales[t] *= 1 - slack
    if not fits_quartic(u, scales, False, sweep.gram_limit):
        scales[:] = 0.0
    return False


@compiled
def add_right_side(
    items: Positions,
    values: FloatArray,
    sweep: Sweep,
    z: FloatArray,
    u: FloatArray,
    weights: FloatArray,
    G: FloatArray,
    rows: Positions,
    total: IntegerArray,
) -> None:
    """Add w_j r_j u of one user to the rows j of `total`; G and rows are scratch."""
    n = 0
    for t in range(len(items)):
        if not weights[t] > 0.0:
            continue
        j = items[t]
        residual = values[t] - sweep.base[j]
        for a in range(sweep.n_features):
            residual -= sweep.W[j, a] * z[a]
        residual = min(max(residual, -sweep.residual_bound), sweep.residual_bound)
        for a in range(sweep.rank):
            G[n, a] = weights[t] * residual * u[a]
        rows[n] = j
        n += 1
    add_contribution(G, n, rows, sweep.right_bound, sweep.right_limit, total)


@compiled
def solve_users(
    indptr: IntegerArray,
    items: Positions,
    values: FloatArray,
    sweep: Sweep,
    U: FloatArray,
    scales: FloatArray,
    is_rounded: NDArray[np.bool_],
    right_total: IntegerArray,
) -> int:
    """Fill U, scales and is_rounded, add to the right-hand sides; the number of users whose factor was shortened."""
    width, shortened, most = sweep.W.shape[1], 0, 0
    for i in range(len(U)):
        most = max(most, indptr[i + 1] - indptr[i])
    scratch, z, weights = np.zeros((3, max(width, TILE), width)), np.empty(width), np.empty(most)
    G, rows = np.empty((most, sweep.rank)), np.empty(most, np.int32)
    for i in range(len(U)):
        own, u = slice(indptr[i], indptr[i + 1]), U[i]
        n = indptr[i + 1] - indptr[i]
        solve_user(items[own], values[own], sweep, scratch, z)
        u[:] = 0.0
        norm = 0.0
        for a in range(sweep.rank):
            u[a] = z[sweep.n_features + a]
            norm += u[a] * u[a]
        norm = math.sqrt(norm)
        if not norm < math.inf:
            u[:] = 0.0
        elif norm > sweep.user_norm:
            u *= sweep.user_norm / norm
            shortened += 1
        weigh_ratings(items[own], sweep, weights[:n])
        is_rounded[i] = scale_products(u, weights[:n], sweep, scales[own])
        add_right_side(items[own], values[own], sweep, z, u, weights[:n], G, rows, right_total)
    return shortened


@compiled
def order_by_item(
    indptr: IntegerArray, items: Positions, scales: FloatArray, n_items: int
) -> tuple[IntegerArray, IntegerArray, Positions]:
    """Ratings of positive scale by item: those of item j are order[starts[j] : starts[j + 1]], by user users[rating]."""
    starts, users = np.zeros(n_items + 2, np.int64), np.empty(len(items), np.int32)
    for t in range(len(items)):
        starts[items[t] + 2] += scales[t] > 0.0
    for j in range(2, n_items + 2):
        starts[j] += starts[j - 1]
    order = np.empty(starts[n_items + 1], np.int64)
    for i in range(len(indptr) - 1):
        for t in range(indptr[i], indptr[i + 1]):
            users[t] = i
            if scales[t] > 0.0:
                order[starts[items[t] + 1]] = t
                starts[items[t] + 1] += 1
    return order, starts[: n_items + 1], users


@compiled
def add_item_products(
    order: IntegerArray,
    starts: IntegerArray,
    users: Positions,
    scales: FloatArray,
    is_rounded: NDArray[np.bool_],
    U: FloatArray,
    first: int,
    stop: int,
    total: IntegerArray,
) -> None:
    """Add the products of the integer vectors of items first to stop - 1 to `total`, lower triangles row after row."""
    width = U.shape[1]
    A, B = np.zeros((width, width)), np.empty((TILE, width))
    for j in range(first, stop):
        for t in range(starts[j], starts[j + 1], TILE):
            for s in range(TILE):
                if t + s < starts[j + 1]:
                    rating = order[t + s]
                    i, scale = users[rating], scales[rating]
                    for a in range(width):
                        B[s, a] = to_integer(scale * U[i, a], is_rounded[i])
                else:
                    B[s, :] = 0.0
            add_products(B, A)
            if (t - starts[j]) % _RATINGS_PER_SUM == 0 or t + TILE >= starts[j + 1]:
                _move_triangle(A, total[j])


@compiled
def _move_triangle(A: FloatArray, packed: IntegerArray) -> None:
    """Add the lower triangle of A to `packed`, as much as fits, and set A to zero."""
    p = 0
    for a in range(A.shape[0]):
        for b in range(a + 1):
            if p < len(packed):
                packed[p] += np.int64(A[a, b])
            p += 1
    A[:] = 0.0
