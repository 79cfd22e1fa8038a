"""Leave-one-out errors of variants of a ridge regression, for all users of a block.

A variant keeps the first columns of W, scales them, and has a ridge of its own. The error of predicting a rating from
the user's other ratings is e_j / (1 - h_j), h_j the leverage of the rating: no regression is solved twice.
"""

import numpy as np

from hushrank.estimators.completion.rating_kernels import Values, most_ratings
from hushrank.linalg.quantize import FloatArray, compiled
from hushrank.linalg.ridge import factorize, gram_of_items, solve_factorized, solve_lower
from hushrank.linalg.scatter import IntegerArray, Positions, add_contribution


@compiled
def add_error_differences(
    indptr: IntegerArray,
    items: Positions,
    values: Values,
    base: FloatArray,
    W: FloatArray,
    widths: IntegerArray,
    scales: FloatArray,
    ridges: FloatArray,
    norm_bound: float,
    limit: float,
    lowest: float,
    total: IntegerArray,
) -> None:
    """Add, for every user, the mean leave-one-out error of each variant from the second on, less that of the first.

    Variant v uses the columns W[:, : widths[v]] times scales[v] and the ridge ridges[v]; total is (1, n_variants - 1).
    """
    k, n_variants = W.shape[1], len(widths)
    A, r, G = np.empty((k, k)), np.empty(most_ratings(indptr)), np.empty((1, n_variants - 1))
    row = np.zeros(1, np.int32)
    for i in range(len(indptr) - 1):
        own = items[indptr[i] : indptr[i + 1]]
        for t in range(len(own)):
            r[t] = values[indptr[i] + t] - base[own[t]]
        gram_of_items(W, own, A)
        first = mean_error(own, r, W, A, widths[0], scales[0], ridges[0])
        for v in range(1, n_variants):
            G[0, v - 1] = mean_error(own, r, W, A, widths[v], scales[v], ridges[v]) - first
        add_contribution(G, 1, row, norm_bound, limit, lowest, total)


@compiled
def mean_error(
    items: Positions, r: FloatArray, W: FloatArray, A: FloatArray, width: int, scales: FloatArray, ridge: float
) -> float:
    """Mean squared leave-one-out error of one variant for one user with residuals r; each error counts at most 4.

    A is the Gram matrix of all columns at the items. A user without ratings has error 0.
    """
    S, L, z, w = np.empty((width, width)), np.empty((width, width)), np.zeros(width), np.empty(width)
    for a in range(width):
        for b in range(width):
            S[a, b] = A[a, b] * scales[a] * scales[b]
    if not factorize(S, ridge, L):
        return 4.0
    for t in range(len(items)):
        for a in range(width):
            z[a] += W[items[t], a] * scales[a] * r[t]
    solve_factorized(L, z)
    s = 0.0
    for t in range(len(items)):
        leverage, fitted = 0.0, 0.0
        for a in range(width):
            w[a] = W[items[t], a] * scales[a]
            fitted += w[a] * z[a]
        solve_lower(L, w)
        for a in range(width):
            leverage += w[a] * w[a]
        error = (r[t] - fitted) / max(1.0 - leverage, 0.05)
        s += min(error * error, 4.0)
    return s / max(len(items), 1)
