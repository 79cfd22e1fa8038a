"""What one user contributes to the sums of alternating least squares, for all users of a block.

A user with ratings y_o solves a ridge regression, (W_o^T W_o + P + ridge I) z = W_o^T (y_o - base_o). The last part of
z is the factor u, shortened to `user_norm`. The user then gives every rated item j, with a weight w_j,

    w_j u u^T, as the product of the integer vector y_j = round(sqrt(w_j) u / unit) with itself,
    w_j r_j u, where r_j is the rating less base and features, clipped to `residual_bound`.

Both are bounded for the user as a whole, in integers, before anything is added (docs/privacy/als.md). The order of
operations is fixed: the bits of a contribution depend on this user's ratings and on public numbers alone.
"""

import math
from typing import NamedTuple

import numpy as np

from hushrank.estimators.completion.item_products import UserFactors, add_products, fits_quartic
from hushrank.estimators.completion.rating_kernels import RatingArrays, Values, most_ratings
from hushrank.linalg.quantize import FloatArray, compiled
from hushrank.linalg.ridge import factorize, solve_factorized
from hushrank.linalg.scatter import Bound, IntegerArray, Positions, add_contribution

UNIFORM, TAIL, ADAPTIVE = 0, 1, 2

_GOLDEN = 0x9E3779B97F4A7C15  # 2^64 over the golden ratio, odd: an even spread of hashes


class Sweep(NamedTuple):
    """Public numbers of one pass over the users.

    Attributes
    ----------
    base : ndarray of shape (n_items,)
    W : ndarray of shape (n_items, width)
        Features, then item factors.
    n_features, rank : int
    penalty : ndarray of shape (width, width)
        P above.
    ridge : float > 0
    bounding : int
        UNIFORM, TAIL or ADAPTIVE.
    priority : ndarray of shape (n_items,)
        TAIL: ranks 0 to n_items - 1, of which the smallest of a user count. ADAPTIVE: weights before they are scaled.
    max_ratings : int
        Largest sum of squared weights of a user.
    user_norm, residual_bound : float
    gram_bound, gram_limit : float, int
        `row_norm` and `squared_bound` of the lattice of the products.
    right : Bound
        Of the right-hand sides.
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
    right: Bound


@compiled
def solve_user(
    items: Positions, values: Values, sweep: Sweep, A: FloatArray, L: FloatArray, B: FloatArray, z: FloatArray
) -> None:
    """Fill z with the ridge solution of one user, or with zeros if there is none; A, L and B are scratch."""
    n = len(items)
    z[:] = 0.0
    for a in range(len(z)):
        for c in range(a + 1):
            A[a, c] = sweep.penalty[a, c]
    for start in range(0, n, 4):
        for s in range(4):
            b = B[s]
            if start + s >= n:
                b[:] = 0.0
                continue
            w, target = sweep.W[items[start + s]], values[start + s] - sweep.base[items[start + s]]
            for a in range(len(z)):
                b[a] = w[a]
                z[a] += target * w[a]
        add_products(B, A)
    if factorize(A, sweep.ridge, L):
        solve_factorized(L, z)
    else:
        z[:] = 0.0


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
        threshold = _smallest_threshold(sweep.priority, items, most)
        for t in range(n):
            weights[t] = 1.0 if sweep.priority[items[t]] <= threshold else 0.0
        return
    # Evenly spaced in the order of the catalogue, from a place that a hash of the row decides: no item is favored.
    mixed = np.uint64(0)
    for j in items:
        mixed = (mixed ^ np.uint64(j)) * np.uint64(_GOLDEN)
    place = np.int64((mixed >> np.uint64(33)) % np.uint64(n))
    for t in range(n):
        place += most
        weights[t] = 1.0 if place >= n else 0.0
        if place >= n:
            place -= n


@compiled
def _smallest_threshold(ranks: FloatArray, items: Positions, most: int) -> float:
    """The `most`-th smallest of the ranks of the items, which are different whole numbers below len(ranks)."""
    low, high = -1, len(ranks) - 1
    while high - low > 1:
        middle, n = (low + high) // 2, 0
        for j in items:
            n += ranks[j] <= middle
        if n >= most:
            high = middle
        else:
            low = middle
    return float(high)


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
    values: Values,
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
    add_contribution(G, n, rows, sweep.right, total)


@compiled
def solve_users(ratings: RatingArrays, sweep: Sweep, found: UserFactors, right_total: IntegerArray) -> int:
    """Fill `found`, add to the right-hand sides; the number of users whose factor was shortened."""
    indptr, items, values, U = ratings.indptr, ratings.items, ratings.values, found.U
    width, shortened, most = sweep.W.shape[1], 0, most_ratings(indptr)
    A, L, B = np.empty((width, width)), np.empty((width, width)), np.empty((4, width))
    z, weights = np.empty(width), np.empty(most)
    G, rows = np.empty((most, sweep.rank)), np.empty(most, np.int32)
    for i in range(len(U)):
        own, u = slice(indptr[i], indptr[i + 1]), U[i]
        n = indptr[i + 1] - indptr[i]
        solve_user(items[own], values[own], sweep, A, L, B, z)
        norm = 0.0
        for a in range(sweep.rank):
            u[a] = z[sweep.n_features + a]
            norm += u[a] * u[a]
        norm = math.sqrt(norm)
        if not norm < math.inf:
            u[:] = 0.0
        elif norm > sweep.user_norm:
            for a in range(sweep.rank):
                u[a] *= sweep.user_norm / norm
            shortened += 1
        weigh_ratings(items[own], sweep, weights[:n])
        found.is_rounded[i] = scale_products(u, weights[:n], sweep, found.scales[own])
        add_right_side(items[own], values[own], sweep, z, u, weights[:n], G, rows, right_total)
    return shortened
