"""How much each of many features explains of a user's residuals, for all users of a block.

With residuals e of a user's n ratings and g the feature at the rated items, both less their means, (n - 1) cos^2(e, g)
has mean 1 where the feature tells nothing about this user, whatever the variance of the ratings.
"""

import numpy as np

from hushrank.estimators.completion.rating_kernels import RatingArrays, Regression, new_workspace, solve_user
from hushrank.linalg.quantize import FloatArray, compiled
from hushrank.linalg.scatter import Bound, IntegerArray, add_contribution

_MOST = 9.0  # of a number of mean 1: three deviations of a product of mean 0


@compiled
def add_relevances(ratings: RatingArrays, model: Regression, G: FloatArray, bound: Bound, total: IntegerArray) -> None:
    """Add every user's (n - 1) cos^2(e, g), at most 9, less 1, for all columns g of G; total is (1, n_columns).

    A feature that does not vary over a user's items adds nothing.
    """
    indptr, work, p = ratings.indptr, new_workspace(ratings.indptr, model.W.shape[1]), G.shape[1]
    R, row = np.empty((1, p)), np.zeros(1, np.int32)
    sums, squares, products = np.empty(p), np.empty(p), np.empty(p)
    for i in range(len(indptr) - 1):
        own = ratings.items[indptr[i] : indptr[i + 1]]
        if not solve_user(ratings, i, model, work):
            continue
        n, e_sum, e_squares = max(len(own), 1), 0.0, 0.0
        sums[:], squares[:], products[:] = 0.0, 0.0, 0.0
        for t in range(len(own)):
            g, e = G[own[t]], work.e[t]
            e_sum += e
            e_squares += e * e
            for b in range(p):
                sums[b] += g[b]
                squares[b] += g[b] * g[b]
                products[b] += e * g[b]
        e_spread = e_squares - e_sum * e_sum / n
        for b in range(p):
            spread = squares[b] - sums[b] * sums[b] / n
            product = products[b] - e_sum * sums[b] / n
            if spread > 1e-9 * squares[b] and e_spread > 1e-9 * e_squares:
                R[0, b] = min((n - 1) * product * product / (e_spread * spread), _MOST) - 1.0
            else:
                R[0, b] = 0.0
        add_contribution(R, 1, row, bound, total)
