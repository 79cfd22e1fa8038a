"""What one user contributes to the sums of a rating model, for all users of a block.

A user with ratings y_j of some items has residuals r_j = y_j - base_j, of which a ridge regression on the columns of W
explains a part: z solves (W_o^T W_o + ridge I) z = W_o^T r_o, and e_j = r_j - w_j . z is left. The prior of z is
N(0, I) and `ridge` is the variance of the noise, so that P = ridge (W_o^T W_o + ridge I)^-1 is its posterior
covariance. Every contribution is bounded by `hushrank.linalg.scatter` before it is added.
"""

import math

import numpy as np
from numpy.typing import NDArray

from hushrank.linalg.quantize import FloatArray, compiled
from hushrank.linalg.ridge import invert_factorized, ridge_solution
from hushrank.linalg.scatter import IntegerArray, Positions, add_contribution, quantize_row, round_number

Values = NDArray[np.float32]


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
def add_counts(indptr: IntegerArray, items: Positions, count_norm: float, limit: float, total: IntegerArray) -> None:
    """Add every user's 0/1 vector of rated items, times its weight."""
    for i in range(len(indptr) - 1):
        n = indptr[i + 1] - indptr[i]
        scaled = user_weight(n, count_norm) * math.sqrt(limit) / count_norm
        integer = np.rint(scaled)
        if n * integer * integer > limit:
            integer = np.trunc(scaled * (1 - 2.0**-50))
        if n * integer * integer > limit:
            continue
        for j in items[indptr[i] : indptr[i + 1]]:
            total[j, 0] += np.int64(integer)


@compiled
def add_user_means(indptr: IntegerArray, values: Values, limit: float, lowest: float, total: IntegerArray) -> None:
    """Add every user's mean value, which lies in [-1, 1]."""
    for i in range(len(indptr) - 1):
        n, s = indptr[i + 1] - indptr[i], 0.0
        for value in values[indptr[i] : indptr[i + 1]]:
            s += value
        total[0] += round_number(s / max(n, 1), 1.0, limit, lowest)


@compiled
def squared_norms(indptr: IntegerArray, values: Values) -> FloatArray:
    """Sum of squares of every user's values."""
    squares = np.zeros(len(indptr) - 1)
    for i in range(len(indptr) - 1):
        for value in values[indptr[i] : indptr[i + 1]]:
            squares[i] += np.float64(value) * np.float64(value)
    return squares


@compiled
def add_numbers(
    numbers: FloatArray, center: float, norm_bound: float, limit: float, lowest: float, total: IntegerArray
) -> None:
    """Add one number a user, less `center`."""
    for number in numbers:
        total[0] += round_number(number - center, norm_bound, limit, lowest)


@compiled
def residuals(items: Positions, values: Values, base: FloatArray, W: FloatArray, z: FloatArray, e: FloatArray) -> None:
    """Fill e with values - base - W z at the items."""
    for i in range(len(items)):
        fitted = base[items[i]]
        for a in range(W.shape[1]):
            fitted += W[items[i], a] * z[a]
        e[i] = values[i] - fitted


@compiled
def solve_user(
    items: Positions,
    values: Values,
    base: FloatArray,
    W: FloatArray,
    ridge: float,
    A: FloatArray,
    L: FloatArray,
    z: FloatArray,
    e: FloatArray,
) -> bool:
    """Fill A, L and z by `ridge_solution` for the residuals of one user, and e with what is left of them."""
    z[:] = 0.0
    residuals(items, values, base, W, z, e)
    solved = ridge_solution(W, items, e, ridge, A, L, z)
    residuals(items, values, base, W, z, e)
    return solved


@compiled
def add_residuals(
    indptr: IntegerArray,
    items: Positions,
    values: Values,
    base: FloatArray,
    W: FloatArray,
    ridge: float,
    shape: FloatArray,
    count_norm: float,
    bounds: FloatArray,
    total: IntegerArray,
    clipped: IntegerArray,
) -> None:
    """Add every user's vector of residuals e_j shape_j, times its weight, and the factors that shortened them.

    bounds = (norm bound, limit, lowest) of the vector, then of the factor, and the center of the factor.
    """
    k, most = W.shape[1], most_ratings(indptr)
    A, L, z, e, G = np.empty((k, k)), np.empty((k, k)), np.empty(k), np.empty(most), np.empty((most, 1))
    for i in range(len(indptr) - 1):
        own = items[indptr[i] : indptr[i + 1]]
        solve_user(own, values[indptr[i] : indptr[i + 1]], base, W, ridge, A, L, z, e)
        weight = user_weight(len(own), count_norm)
        for t in range(len(own)):
            G[t, 0] = weight * e[t] * shape[own[t]]
        factor = add_contribution(G, len(own), own, bounds[0], bounds[1], bounds[2], total)
        clipped[0] += round_number(factor - bounds[6], bounds[3], bounds[4], bounds[5])


@compiled
def add_moments(
    indptr: IntegerArray,
    items: Positions,
    values: Values,
    base: FloatArray,
    W: FloatArray,
    ridge: float,
    norm_bound: float,
    limit: float,
    lowest: float,
    total: IntegerArray,
) -> None:
    """Add every user's (z_a^2, |e|^2 / (ridge n), 1 - P_aa, 1 - freedom / n), of length 2 k + 2, nonnegative.

    Each variance should be multiplied by the ratio of the sums in the first half to those in the second: z_a^2 and
    |e|^2 have these means where the model holds. A user without ratings adds zeros.
    """
    k, most = W.shape[1], most_ratings(indptr)
    A, L, P = np.empty((k, k)), np.empty((k, k)), np.empty((k, k))
    z, e, column = np.empty(k), np.empty(most), np.empty(k)
    G, row = np.empty((1, 2 * k + 2)), np.zeros(1, np.int32)
    for i in range(len(indptr) - 1):
        own = items[indptr[i] : indptr[i + 1]]
        if not solve_user(own, values[indptr[i] : indptr[i + 1]], base, W, ridge, A, L, z, e):
            continue
        invert_factorized(L, column, P)
        n, squares, freedom = max(len(own), 1), 0.0, float(k)
        for t in range(len(own)):
            squares += e[t] * e[t]
        for a in range(k):
            G[0, a] = z[a] * z[a]
            G[0, k + 1 + a] = max(1.0 - ridge * P[a, a], 0.0)
            freedom -= ridge * P[a, a]
        G[0, k] = max(squares / (ridge * n), 0.0)
        G[0, 2 * k + 1] = max(len(own) - freedom, 0.0) / n
        add_contribution(G, 1, row, norm_bound, limit, lowest, total)


@compiled
def add_noise_levels(
    indptr: IntegerArray,
    items: Positions,
    values: Values,
    base: FloatArray,
    W: FloatArray,
    ridge: float,
    n_expected: float,
    norm_bound: float,
    limit: float,
    lowest: float,
    total: IntegerArray,
) -> None:
    """Add every user's (|e|^2 / ridge, n - freedom) / n_expected, nonnegative: the ratio of the sums corrects `ridge`.

    E |e|^2 = ridge (n - freedom) where the model holds, with n - freedom = n - k + tr P.
    """
    k, most = W.shape[1], most_ratings(indptr)
    A, L, P = np.empty((k, k)), np.empty((k, k)), np.empty((k, k))
    z, e, column = np.empty(k), np.empty(most), np.empty(k)
    G, row = np.empty((1, 2)), np.zeros(1, np.int32)
    for i in range(len(indptr) - 1):
        own = items[indptr[i] : indptr[i + 1]]
        if not solve_user(own, values[indptr[i] : indptr[i + 1]], base, W, ridge, A, L, z, e):
            continue
        invert_factorized(L, column, P)
        squares, free = 0.0, float(len(own) - k)
        for t in range(len(own)):
            squares += e[t] * e[t]
        for a in range(k):
            free += ridge * P[a, a]
        G[0, 0] = max(squares / (ridge * n_expected), 0.0)
        G[0, 1] = max(free, 0.0) / n_expected
        add_contribution(G, 1, row, norm_bound, limit, lowest, total)


@compiled
def add_gradients(
    indptr: IntegerArray,
    items: Positions,
    values: Values,
    base: FloatArray,
    W: FloatArray,
    n_fixed: int,
    has_base: bool,
    ridge: float,
    shape: FloatArray,
    count_norm: float,
    bounds: FloatArray,
    total: IntegerArray,
    clipped: IntegerArray,
) -> None:
    """Add every user's step of the EM algorithm for the columns of W from `n_fixed` on, and, if asked, for the base.

    The step for column a of item j is e_j z_a - (W P)_ja; for the base it is e_j, in column 0 of the total. All of it
    is multiplied by shape_j and by the weight of the user. bounds as in `add_residuals`.
    """
    k, most, first = W.shape[1], most_ratings(indptr), int(has_base)
    A, L, P = np.empty((k, k)), np.empty((k, k)), np.empty((k, k))
    z, e, column = np.empty(k), np.empty(most), np.empty(k)
    G = np.empty((most, first + k - n_fixed))
    for i in range(len(indptr) - 1):
        own = items[indptr[i] : indptr[i + 1]]
        if not solve_user(own, values[indptr[i] : indptr[i + 1]], base, W, ridge, A, L, z, e):
            clipped[0] += round_number(1.0 - bounds[6], bounds[3], bounds[4], bounds[5])
            continue
        invert_factorized(L, column, P)
        weight = user_weight(len(own), count_norm)
        for t in range(len(own)):
            j = own[t]
            scale = weight * shape[j]
            if has_base:
                G[t, 0] = e[t] * scale
            for a in range(n_fixed, k):
                spread = 0.0
                for b in range(k):
                    spread += W[j, b] * P[b, a]
                G[t, first + a - n_fixed] = (e[t] * z[a] - ridge * spread) * scale
        factor = add_contribution(G, len(own), own, bounds[0], bounds[1], bounds[2], total)
        clipped[0] += round_number(factor - bounds[6], bounds[3], bounds[4], bounds[5])


@compiled
def quantize_rows_of_users(
    indptr: IntegerArray,
    items: Positions,
    values: Values,
    base: FloatArray,
    W: FloatArray,
    ridge: float,
    shift: float,
    shape: FloatArray,
    positions: Positions,
    bounds: FloatArray,
    starts: IntegerArray,
    columns: Positions,
    integers: IntegerArray,
) -> None:
    """Fill `columns` and `integers` with every user's row x_j = (e_j + shift) shape_j of items with positions >= 0.

    bounds = (norm bound, limit, whether rows are stretched to the norm bound). Row i lies at starts[i] : starts[i + 1].
    """
    k, most = W.shape[1], most_ratings(indptr)
    A, L, z, e, x = np.empty((k, k)), np.empty((k, k)), np.empty(k), np.empty(most), np.empty(most)
    for i in range(len(indptr) - 1):
        own = items[indptr[i] : indptr[i + 1]]
        solve_user(own, values[indptr[i] : indptr[i + 1]], base, W, ridge, A, L, z, e)
        n, start, squared = 0, starts[i], 0.0
        for t in range(len(own)):
            if positions[own[t]] >= 0:
                x[n] = (e[t] + shift) * shape[own[t]]
                columns[start + n] = positions[own[t]]
                squared += x[n] * x[n]
                n += 1
        if bounds[2] > 0.0 and 0.0 < squared < math.inf:
            stretch = bounds[0] / math.sqrt(squared)
            for t in range(n):
                x[t] *= stretch
        quantize_row(x, n, bounds[0], bounds[1], integers[start : start + n])
        starts[i + 1] = start + n
