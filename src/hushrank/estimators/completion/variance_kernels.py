"""What one user contributes to estimates of variances and of common slopes, for all users of a block.

Symbols are those of `rating_kernels`. The model expects freedom = tr(I - P) degrees of freedom of a user's regression,
so that E |e|^2 = ridge (n - freedom) for n ratings. Everything but slopes is nonnegative.
"""

import numpy as np

from hushrank.estimators.completion.rating_kernels import RatingArrays, Regression, new_workspace, solve_user
from hushrank.linalg.quantize import compiled
from hushrank.linalg.ridge import inverse_diagonal
from hushrank.linalg.scatter import Bound, IntegerArray, add_contribution


@compiled
def add_moments(ratings: RatingArrays, model: Regression, bound: Bound, total: IntegerArray) -> None:
    """Add every user's (z_a^2, |e|^2 / (ridge n), 1 - P_aa, 1 - freedom / n), of length 2 k + 2, nonnegative.

    Each variance should be multiplied by the ratio of the sums in the first half to those in the second: z_a^2 and
    |e|^2 have these means where the model holds. A user without ratings adds zeros.
    """
    indptr, ridge, work = ratings.indptr, model.ridge, new_workspace(ratings.indptr, model.W.shape[1])
    k = model.W.shape[1]
    X, inverse = np.empty((k, k)), np.empty(k)
    G, row = np.empty((1, 2 * k + 2)), np.zeros(1, np.int32)
    for i in range(len(indptr) - 1):
        if not solve_user(ratings, i, model, work):
            continue
        inverse_diagonal(work.L, X, inverse)
        n_ratings = indptr[i + 1] - indptr[i]
        n, squares, freedom = max(n_ratings, 1), 0.0, float(k)
        for t in range(n_ratings):
            squares += work.e[t] * work.e[t]
        for a in range(k):
            G[0, a] = work.z[a] * work.z[a]
            G[0, k + 1 + a] = max(1.0 - ridge * inverse[a], 0.0)
            freedom -= ridge * inverse[a]
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
    X, inverse = np.empty((k, k)), np.empty(k)
    G, row = np.empty((1, 2)), np.zeros(1, np.int32)
    for i in range(len(indptr) - 1):
        if not solve_user(ratings, i, model, work):
            continue
        inverse_diagonal(work.L, X, inverse)
        n_ratings = indptr[i + 1] - indptr[i]
        squares, free = 0.0, float(n_ratings - k)
        for t in range(n_ratings):
            squares += work.e[t] * work.e[t]
        for a in range(k):
            free += ridge * inverse[a]
        G[0, 0] = max(squares / (ridge * n_expected), 0.0)
        G[0, 1] = max(free, 0.0) / n_expected
        add_contribution(G, 1, row, bound, total)


@compiled
def add_slopes(ratings: RatingArrays, model: Regression, first: int, bound: Bound, total: IntegerArray) -> None:
    """Add every user's coefficients z_a of the columns from `first` on, then 1 - P_aa: how far the ratings tell them.

    Where coefficients have a mean over people and columns do not vary together, the ratio of the two sums is about
    this mean. A user without ratings adds zeros.
    """
    indptr, work, k = ratings.indptr, new_workspace(ratings.indptr, model.W.shape[1]), model.W.shape[1]
    X, inverse = np.empty((k, k)), np.empty(k)
    G, row = np.empty((1, 2 * (k - first))), np.zeros(1, np.int32)
    for i in range(len(indptr) - 1):
        if not solve_user(ratings, i, model, work):
            continue
        inverse_diagonal(work.L, X, inverse)
        for a in range(first, k):
            G[0, a - first] = work.z[a]
            G[0, k - 2 * first + a] = 1.0 - model.ridge * inverse[a]
        add_contribution(G, 1, row, bound, total)
