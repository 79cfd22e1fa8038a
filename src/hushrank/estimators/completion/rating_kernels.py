"""What one user contributes to the sums of a rating model, for all users of a block.

A user with ratings y_j of some items has residuals r_j = y_j - base_j, of which a ridge regression on the columns of W
explains a part: z solves (W_o^T W_o + ridge I) z = W_o^T r_o, and e_j = r_j - w_j . z is left. The prior of z is
N(0, I) and `ridge` is the variance of the noise, so that P = ridge (W_o^T W_o + ridge I)^-1 is its posterior
covariance. Every contribution is bounded by `hushrank.linalg.scatter` before it is added.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushrank.linalg.quantize import FloatArray, compiled
from hushrank.linalg.ridge import LANES, invert_factorized, multiply_rows, ridge_solution
from hushrank.linalg.scatter import (
    Bound,
    IntegerArray,
    IntegerRows,
    Positions,
    add_contribution,
    quantize_row,
    round_number,
)

Values = NDArray[np.floating[Any]]


class RatingArrays(NamedTuple):
    """Ratings of the users of a block, as in `UserBlock`; those of user i lie at indptr[i] : indptr[i + 1]."""

    indptr: IntegerArray
    items: Positions
    values: Values


class Regression(NamedTuple):
    """What every user regresses this user's ratings on; public.

    Attributes
    ----------
    base : ndarray of shape (n_items,)
        Prediction without ratings.
    W : ndarray of shape (n_items, k)
        Columns, scaled so that their coefficients have variance 1.
    ridge : float
        Variance of the noise.
    """

    base: FloatArray
    W: FloatArray
    ridge: float


class Weights(NamedTuple):
    """Public weights of contributions: each item has its own, users have `user_weight` for their number of ratings."""

    of_items: FloatArray
    count_norm: float


class Shortening(NamedTuple):
    """How the factors that shortened contributions are added up, less `center`."""

    bound: Bound
    center: float


class Workspace(NamedTuple):
    """Scratch of one user's regression: W_o^T W_o, its Cholesky factor with the ridge, z, and e."""

    A: FloatArray
    L: FloatArray
    z: FloatArray
    e: FloatArray


@compiled
def new_workspace(indptr: IntegerArray, width: int) -> Workspace:
    """A workspace for any user of a block, for regressions on `width` columns."""
    A, L, z = np.empty((width, width)), np.empty((width, width)), np.empty(width)
    return Workspace(A, L, z, np.empty(most_ratings(indptr)))


@compiled
def most_ratings(indptr: IntegerArray) -> int:
    """Ratings of the user who has most."""
    most = 0
    for i in range(len(indptr) - 1):
        most = max(most, indptr[i + 1] - indptr[i])
    return most


@compiled
def user_weight(n_ratings: int, count_norm: float) -> float:
    """Weight that keeps a 0/1 vector of `n_ratings` ones within norm `count_norm`."""
    return min(1.0, count_norm / math.sqrt(max(n_ratings, 1)))


@compiled
def add_counts(ratings: RatingArrays, bound: Bound, total: IntegerArray) -> None:
    """Add every user's 0/1 vector of rated items, times the weight that keeps it within the bound."""
    indptr, items = ratings.indptr, ratings.items
    for i in range(len(indptr) - 1):
        n = indptr[i + 1] - indptr[i]
        scaled = user_weight(n, bound.norm) * math.sqrt(bound.limit) / bound.norm
        integer = np.rint(scaled)
        if n * integer * integer > bound.limit:
            integer = np.trunc(scaled * (1 - 2.0**-50))
        if n * integer * integer > bound.limit:
            continue
        for j in items[indptr[i] : indptr[i + 1]]:
            total[j, 0] += np.int64(integer)


@compiled
def add_user_means(ratings: RatingArrays, bound: Bound, total: IntegerArray) -> None:
    """Add every user's mean value; values lie in [-1, 1]."""
    indptr, values = ratings.indptr, ratings.values
    for i in range(len(indptr) - 1):
        n, s = indptr[i + 1] - indptr[i], 0.0
        for value in values[indptr[i] : indptr[i + 1]]:
            s += value
        total[0] += round_number(s / max(n, 1), bound)


@compiled
def squared_norms(ratings: RatingArrays) -> FloatArray:
    """Sum of squares of every user's values."""
    indptr, values = ratings.indptr, ratings.values
    squares = np.zeros(len(indptr) - 1)
    for i in range(len(indptr) - 1):
        for value in values[indptr[i] : indptr[i + 1]]:
            squares[i] += np.float64(value) * np.float64(value)
    return squares


@compiled
def add_numbers(numbers: FloatArray, center: float, bound: Bound, total: IntegerArray) -> None:
    """Add one number for each user, less `center`."""
    for number in numbers:
        total[0] += round_number(number - center, bound)


@compiled
def find_residuals(items: Positions, values: Values, model: Regression, z: FloatArray, e: FloatArray) -> None:
    """Fill e with values - base - W z at the items."""
    base, W, n = model.base, model.W, len(items)
    # Four items at a time, each in its own order: a processor need not wait for one addition to end.
    for i in range(0, n - n % 4, 4):
        w0, w1, w2, w3 = W[items[i]], W[items[i + 1]], W[items[i + 2]], W[items[i + 3]]
        f0, f1, f2, f3 = base[items[i]], base[items[i + 1]], base[items[i + 2]], base[items[i + 3]]
        for a in range(len(z)):
            f0 += w0[a] * z[a]
            f1 += w1[a] * z[a]
            f2 += w2[a] * z[a]
            f3 += w3[a] * z[a]
        e[i], e[i + 1] = values[i] - f0, values[i + 1] - f1
        e[i + 2], e[i + 3] = values[i + 2] - f2, values[i + 3] - f3
    for i in range(n - n % 4, n):
        w, fitted = W[items[i]], base[items[i]]
        for a in range(len(w)):
            fitted += w[a] * z[a]
        e[i] = values[i] - fitted


@compiled
def solve_user(ratings: RatingArrays, i: int, model: Regression, work: Workspace) -> bool:
    """Fill the workspace for user i: A, L and z by `ridge_solution`, and e with what is left of the residuals."""
    own = slice(ratings.indptr[i], ratings.indptr[i + 1])
    items, values = ratings.items[own], ratings.values[own]
    for t in range(len(items)):
        work.e[t] = values[t] - model.base[items[t]]
    solved = ridge_solution(model.W, items, work.e, model.ridge, work.A, work.L, work.z)
    find_residuals(items, values, model, work.z, work.e)
    return solved


@compiled
def add_residuals(
    ratings: RatingArrays,
    model: Regression,
    weights: Weights,
    bound: Bound,
    shortening: Shortening,
    total: IntegerArray,
    shortened: IntegerArray,
) -> None:
    """Add every user's vector of residuals e_j, times the weights, and the factors that shortened them."""
    indptr, work = ratings.indptr, new_workspace(ratings.indptr, model.W.shape[1])
    G = np.empty((len(work.e), 1))
    for i in range(len(indptr) - 1):
        own = ratings.items[indptr[i] : indptr[i + 1]]
        solve_user(ratings, i, model, work)
        weight = user_weight(len(own), weights.count_norm)
        for t in range(len(own)):
            G[t, 0] = weight * work.e[t] * weights.of_items[own[t]]
        factor = add_contribution(G, len(own), own, bound, total)
        shortened[0] += round_number(factor - shortening.center, shortening.bound)


@compiled
def add_gradients(
    ratings: RatingArrays,
    model: Regression,
    first_column: int,
    has_base: bool,
    weights: Weights,
    bound: Bound,
    shortening: Shortening,
    total: IntegerArray,
    shortened: IntegerArray,
) -> None:
    """Add every user's part of an EM step for the columns of W from `first_column` on and, if asked, for the base.

    The part for column a of item j is e_j z_a - (W P)_ja; for the base it is e_j, in column 0 of the total. All of it
    is multiplied by the weights of item and user. The factors that shortened the parts are added beside.
    """
    indptr, W, work = ratings.indptr, model.W, new_workspace(ratings.indptr, model.W.shape[1])
    k, first = W.shape[1], int(has_base)
    P, lanes, spreads = np.empty((k, k - first_column)), np.empty((k, LANES)), np.empty((k - first_column, LANES))
    G = np.empty((len(work.e), first + k - first_column))
    for i in range(len(indptr) - 1):
        own = ratings.items[indptr[i] : indptr[i + 1]]
        if not solve_user(ratings, i, model, work):
            shortened[0] += round_number(1.0 - shortening.center, shortening.bound)
            continue
        invert_factorized(work.L, first_column, P)
        weight = user_weight(len(own), weights.count_norm)
        for t in range(len(own)):
            j = own[t]
            scale = weight * weights.of_items[j]
            if has_base:
                G[t, 0] = work.e[t] * scale
            if t % LANES == 0:
                multiply_rows(own[t : t + LANES], W, P, lanes, spreads)
            for a in range(first_column, k):
                G[t, first + a - first_column] = (
                    work.e[t] * work.z[a] - model.ridge * spreads[a - first_column, t % LANES]
                ) * scale
        factor = add_contribution(G, len(own), own, bound, total)
        shortened[0] += round_number(factor - shortening.center, shortening.bound)


class RowsOfItems(NamedTuple):
    """Which rows of users enter a second moment: x_j = (e_j + shifts_j) scales_j of the items with a position.

    Attributes
    ----------
    shifts : ndarray of shape (n_items,)
    scales : ndarray of shape (n_items,)
    positions : ndarray of shape (n_items,)
        Row of the matrix for each item, rising, or -1.
    is_stretched : bool
        Whether every row is scaled to the norm of the bound, or only longer ones are shortened.
    """

    shifts: FloatArray
    scales: FloatArray
    positions: Positions
    is_stretched: bool


@compiled
def quantize_rows(ratings: RatingArrays, model: Regression, wanted: RowsOfItems, bound: Bound) -> IntegerRows:
    """Every user's row as integers within the bound."""
    indptr, n_users = ratings.indptr, len(ratings.indptr) - 1
    work = new_workspace(indptr, model.W.shape[1])
    x, starts = np.empty(len(work.e)), np.zeros(n_users + 1, np.int64)
    columns, integers = np.empty(len(ratings.items), np.int32), np.empty(len(ratings.items), np.int64)
    for i in range(n_users):
        own = ratings.items[indptr[i] : indptr[i + 1]]
        solve_user(ratings, i, model, work)
        n, start, squared = 0, starts[i], 0.0
        for t in range(len(own)):
            position = wanted.positions[own[t]]
            if position >= 0:
                x[n] = (work.e[t] + wanted.shifts[own[t]]) * wanted.scales[own[t]]
                columns[start + n] = position
                squared += x[n] * x[n]
                n += 1
        if wanted.is_stretched and 0.0 < squared < math.inf:
            stretch = bound.norm / math.sqrt(squared)
            for t in range(n):
                x[t] *= stretch
        quantize_row(x, n, bound, integers[start : start + n])
        starts[i + 1] = start + n
    return IntegerRows(starts, columns, integers)
