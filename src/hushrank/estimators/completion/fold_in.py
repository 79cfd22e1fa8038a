"""Coefficients of many users, each from this user's ratings and public columns."""

import numpy as np

from hushrank.estimators.completion.rating_kernels import RatingArrays
from hushrank.linalg.quantize import FloatArray, compiled
from hushrank.linalg.ridge import factorize, gram_of_rows, solve_factorized


@compiled
def fold_in_users(ratings: RatingArrays, base: FloatArray, W: FloatArray, prior: FloatArray, Z: FloatArray) -> None:
    """Fill row i of Z with the solution z of (W_o^T W_o + prior) z = W_o^T (y_o - base_o) for the items o of user i.

    Parameters
    ----------
    ratings : RatingArrays
    base : ndarray of shape (n_items,)
    W : ndarray of shape (n_items, k)
    prior : ndarray of shape (k, k)
        Symmetric. Where the sum is not positive definite, z is zero.
    Z : ndarray of shape (n_users, k)
    """
    k, indptr = W.shape[1], ratings.indptr
    A, L = np.empty((k, k)), np.empty((k, k))
    for i in range(len(indptr) - 1):
        own, z = ratings.items[indptr[i] : indptr[i + 1]], Z[i]
        z[:] = 0.0
        gram_of_rows(W, own, A)
        A += prior
        if not factorize(A, 0.0, L):
            continue
        for t in range(len(own)):
            r = ratings.values[indptr[i] + t] - base[own[t]]
            for a in range(k):
                z[a] += W[own[t], a] * r
        solve_factorized(L, z)
