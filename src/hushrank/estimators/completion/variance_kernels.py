"""What one user contributes to estimates of variances, for all users of a block.

Symbols are those of `rating_kernels`. The model expects freedom = tr(I - P) degrees of freedom of a user's regression,
so that E |e|^2 = ridge (n - freedom) for n ratings. Everything is nonnegative.
"""

import numpy as np

from hushrank.estimators.completion.rating_kernels import RatingArrays, Regression, new_workspace, solve_user
from hushrank.linalg.quantize import compiled
from hushrank.linalg.ridge import invert_factorized
from hushrank.linalg.scatter import Bound, IntegerArray, add_contribution


@compiled
def add_moments(ratings: RatingArrays, model: Regression, bound: Bound, total: IntegerArray) -> None:
    """Add every user's (z_a^2, |e|^2 / (ridge n), 1 - P_aa, 1 - freedom / n), of length 2 k + 2, nonnegative.

    Each variance should be multiplied by the ratio of the sums in the first half to those in the second: z_a^2 and
    |e|^2 have these means where the model holds. A user without ratings adds zeros.
    """
    indptr, ridge, work = ratings.indptr, model.ridge, new_workspace(ratings.indptr, model.W.shape[1])
    k = model.W.shape[1]
    P, G, row = np.empty((k, k)), np.empty((1, 2 * k + 2)), np.zeros(1, np.int32)
    for i in range(len(indptr) - 1):
        if not solve_user(ratings, i, model, work):
            continue
        invert_factorized(work.L, 0, P)
        n_ratings = indptr[i + 1] - indptr[i]
        n, squares, freedom = max(n_ratings, 1), 0.0, float(k)
        for t in range(n_ratings):
            squares += work.e[t] * work.e[t]
        for a in range(k):
            G[0, a] = work.z[a] * work.z[a]
            G[0, k + 1 + a] = max(1.0 - ridge * P[a, a], 0.0)
            freedom -= ridge * P[a, a]
        G[0, k] = max(squares / (ridge * n), 0.0)
        G[0, 2 * k + 1] = max(n_ratings - freedom, 0.0) / n
        add_contribution(G, 1, row, bound, total)


@compiled
def add_noise_levels(
    ratings: RatingArrays, model: Regression, n_expected: float, bound: Bound, total: IntegerArray
) -> None:
    """Add every user's (|e|^2 / ridge, n - freedom) / n_expected: the ratio of the sums corrects `ridge`."""
    indptr, ridge, work = ratings.indptr, model.ridge, new_workspace(ratings.indptr, model.W.shape[1])
    k = model.W.shape[1]
    P, G, row = np.empty((k, k)), np.empty((1, 2)), np.zeros(1, np.int32)
    for i in range(len(indptr) - 1):
        if not solve_user(ratings, i, model, work):
            continue
        invert_factorized(work.L, 0, P)
        n_ratings = indptr[i + 1] - indptr[i]
        squares, free = 0.0, float(n_ratings - k)
        for t in range(n_ratings):
            squares += work.e[t] * work.e[t]
        for a in range(k):
            free += ridge * P[a, a]
        G[0, 0] = max(squares / (ridge * n_expected), 0.0)
        G[0, 1] = max(free, 0.0) / n_expected
        add_contribution(G, 1, row, bound, total)
