"""Sums over users for EM on ratings, without bounds and without privacy: for references to compare with."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushrank.linalg.quantize import FloatArray, compiled
from hushrank.linalg.ridge import factorize, invert_factorized, solve_factorized
from hushrank.linalg.scatter import IntegerArray, Positions

Values = NDArray[np.float32]


class Columns(NamedTuple):
    """What users regress their ratings on: z solves (sum products_j + noise I) z = sum (W_j y_j - shift_j).

    Attributes
    ----------
    W, shift : ndarray of shape (n_items, k)
        Means of the columns, and of the columns times the predictions without users.
    products : ndarray of shape (n_items, k, k)
        Second moments of the columns.
    center : float
        Part of the predictions that is not learned.
    offset : float
        The value of the first column, where it is not learned.
    n_fixed : int
        1 if the first column is not learned, else 0.
    noise : float > 0
    """

    W: FloatArray
    shift: FloatArray
    products: FloatArray
    center: float
    offset: float
    n_fixed: int
    noise: float


@compiled
def solve_user(items: Positions, values: Values, columns: Columns, A: FloatArray, L: FloatArray, z: FloatArray) -> bool:
    """Fill z with the solution of one user and L with the factor of its matrix; False, and zeros, if there is none."""
    A[:, :] = 0.0
    z[:] = 0.0
    for t in range(len(items)):
        j = items[t]
        for a in range(len(z)):
            z[a] += columns.W[j, a] * values[t] - columns.shift[j, a]
            for b in range(len(z)):
                A[a, b] += columns.products[j, a, b]
    if not factorize(A, columns.noise, L):
        z[:] = 0.0
        return False
    solve_factorized(L, z)
    return True


@compiled
def solve_users(indptr: IntegerArray, items: Positions, values: Values, columns: Columns, Z: FloatArray) -> None:
    """Fill Z with the solutions of all users."""
    k = Z.shape[1]
    A, L = np.empty((k, k)), np.empty((k, k))
    for i in range(len(indptr) - 1):
        solve_user(items[indptr[i] : indptr[i + 1]], values[indptr[i] : indptr[i + 1]], columns, A, L, Z[i])


@compiled
def add_users(
    indptr: IntegerArray,
    items: Positions,
    values: Values,
    columns: Columns,
    gram: FloatArray,
    right: FloatArray,
    second: FloatArray,
) -> float:
    """Add the moments of all users with ratings to those of the items; the sum of expected squares of the targets.

    With x = (1, u), u the learned coefficients of a user, and the target t = y - center - offset z_0, this adds
    E[x x^T] to gram[j] and E[x t] to right[j] for every rating of item j, and E[z_a^2] to second[a] for every user.
    Coefficients vary with covariance noise (sum products_j + noise I)^-1.
    """
    k, width, targets = len(second), right.shape[1], 0.0
    A, L, P = np.empty((k, k)), np.empty((k, k)), np.zeros((k, k))
    z, x, cross = np.empty(k), np.ones(width), np.zeros(width)
    moments = np.empty((width, width))
    for i in range(len(indptr) - 1):
        own, y = items[indptr[i] : indptr[i + 1]], values[indptr[i] : indptr[i + 1]]
        if len(own) == 0 or not solve_user(own, y, columns, A, L, z):
            continue
        invert_factorized(L, 0, P)
        P *= columns.noise
        for a in range(k):
            second[a] += z[a] * z[a] + P[a, a]
        known = columns.center
        if columns.n_fixed == 1:
            known += columns.offset * z[0]
            cross[1:] = columns.offset * P[0, 1:]
            targets += len(own) * columns.offset**2 * P[0, 0]
        x[1:] = z[columns.n_fixed :]
        moments[:, :] = x.reshape(-1, 1) * x
        moments[1:, 1:] += P[columns.n_fixed :, columns.n_fixed :]
        targets += _add_to_items(own, y, known, x, cross, moments, gram, right)
    return targets


@compiled
def _add_to_items(
    items: Positions,
    values: Values,
    known: float,
    x: FloatArray,
    cross: FloatArray,
    moments: FloatArray,
    gram: FloatArray,
    right: FloatArray,
) -> float:
    """Add one user's moments to those of the items; the sum of the squares of its mean targets."""
    squares = 0.0
    for t in range(len(items)):
        j, target = items[t], values[t] - known
        squares += target * target
        for a in range(len(x)):
            right[j, a] += x[a] * target - cross[a]
            for b in range(len(x)):
                gram[j, a, b] += moments[a, b]
    return squares
