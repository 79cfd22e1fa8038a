"""Leave-one-out errors of variants of a ridge regression, for all users of a block.

A variant keeps the first columns of W, scales them, and has a ridge of its own. The error of predicting a rating from
the user's other ratings is e_j / (1 - h_j), h_j the leverage of the rating: no regression is solved twice.
"""

from typing import NamedTuple

import numpy as np

from hushrank.estimators.completion.rating_kernels import RatingArrays, Regression, most_ratings
from hushrank.linalg.quantize import FloatArray, compiled
from hushrank.linalg.ridge import factorize, gram_of_rows, solve_factorized, solve_lower
from hushrank.linalg.scatter import Bound, IntegerArray, Positions, add_contribution


class Variants(NamedTuple):
    """Variants of a regression: the columns W[:, : widths[v]] times scales[v], with the ridge ridges[v]."""

    widths: IntegerArray
    scales: FloatArray
    ridges: FloatArray


@compiled
def add_error_differences(
    ratings: RatingArrays, model: Regression, variants: Variants, bound: Bound, total: IntegerArray
) -> None:
    """Add, for every user, the mean leave-one-out error of each variant from the second on, less that of the first.

    The ridge of the model is not read; total is (1, n_variants - 1).
    """
    indptr, W, n_variants = ratings.indptr, model.W, len(variants.widths)
    k = W.shape[1]
    A, r, G = np.empty((k, k)), np.empty(most_ratings(indptr)), np.empty((1, n_variants - 1))
    row = np.zeros(1, np.int32)
    for i in range(len(indptr) - 1):
        own = ratings.items[indptr[i] : indptr[i + 1]]
        for t in range(len(own)):
            r[t] = ratings.values[indptr[i] + t] - model.base[own[t]]
        gram_of_rows(W, own, A)
        first = mean_error(own, r, W, A, variants, 0)
        for v in range(1, n_variants):
            G[0, v - 1] = mean_error(own, r, W, A, variants, v) - first
        add_contribution(G, 1, row, bound, total)


@compiled
def mean_error(items: Positions, r: FloatArray, W: FloatArray, A: FloatArray, variants: Variants, v: int) -> float:
    """Mean squared leave-one-out error of variant v for one user with residuals r; each error counts at most 4.

    A is the Gram matrix of all columns at the items. A user without ratings has error 0.
    """
    width, scales = variants.widths[v], variants.scales[v]
    S, L, z, w = np.empty((width, width)), np.empty((width, width)), np.zeros(width), np.empty(width)
    for a in range(width):
        for b in range(width):
            S[a, b] = A[a, b] * scales[a] * scales[b]
    if not factorize(S, variants.ridges[v], L):
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
