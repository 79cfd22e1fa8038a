"""Leave-one-out errors of variants of a ridge regression, for all users of a block.

A variant keeps the first columns of W, scales them, and has a ridge of its own. The error of predicting a rating from
the user's other ratings is e_j / (1 - h_j), h_j the leverage of the rating: no regression is solved twice.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushrank.estimators.completion.rating_kernels import RatingArrays, Regression, most_ratings
from hushrank.linalg.quantize import FloatArray, compiled
from hushrank.linalg.ridge import LANES, factorize, gram_of_rows, solve_factorized
from hushrank.linalg.scatter import Bound, IntegerArray, Positions, add_contribution

_MOST_WORK = 512  # ratings times columns, of which all errors are taken


class Variants(NamedTuple):
    """Variants of a regression: the columns W[:, : widths[v]] times scales[v], with the ridge ridges[v]."""

    widths: IntegerArray
    scales: FloatArray
    ridges: FloatArray


class Scratch(NamedTuple):
    """Scratch of one user's regressions: Gram matrix, factors and coefficients of all variants, columns side by side.

    Attributes
    ----------
    A, S : ndarray of shape (k, k)
    right : ndarray of shape (k,)
    factors : ndarray of shape (n_variants, k, k)
    coefficients : ndarray of shape (n_variants, k)
    solved : ndarray of shape (n_variants,)
    columns, lanes : ndarray of shape (k, 64)
    fitted, leverages : ndarray of shape (64,)
    errors : ndarray of shape (n_variants,)
    """

    A: FloatArray
    S: FloatArray
    right: FloatArray
    factors: FloatArray
    coefficients: FloatArray
    solved: NDArray[np.bool_]
    columns: FloatArray
    lanes: FloatArray
    fitted: FloatArray
    leverages: FloatArray
    errors: FloatArray


@compiled
def new_scratch(n_variants: int, k: int) -> Scratch:
    """Scratch for any user."""
    return Scratch(
        np.empty((k, k)), np.empty((k, k)), np.empty(k), np.empty((n_variants, k, k)), np.empty((n_variants, k)),
        np.empty(n_variants, np.bool_), np.empty((k, LANES)), np.empty((k, LANES)), np.empty(LANES),
        np.empty(LANES), np.empty(n_variants),
    )  # fmt: skip


@compiled
def add_error_differences(
    ratings: RatingArrays, model: Regression, variants: Variants, bound: Bound, total: IntegerArray
) -> None:
    """Add, for every user, the mean leave-one-out error of each variant from the second on, less that of the first.

    The ridge of the model is not read; total is (1, n_variants - 1).
    """
    indptr, W, n_variants = ratings.indptr, model.W, len(variants.widths)
    r, scratch = np.empty(most_ratings(indptr)), new_scratch(n_variants, W.shape[1])
    G, row = np.empty((1, n_variants - 1)), np.zeros(1, np.int32)
    for i in range(len(indptr) - 1):
        own = ratings.items[indptr[i] : indptr[i + 1]]
        for t in range(len(own)):
            r[t] = ratings.values[indptr[i] + t] - model.base[own[t]]
        mean_errors(own, r, W, variants, scratch)
        for v in range(1, n_variants):
            G[0, v - 1] = scratch.errors[v] - scratch.errors[0]
        add_contribution(G, 1, row, bound, total)


@compiled
def mean_errors(items: Positions, r: FloatArray, W: FloatArray, variants: Variants, scratch: Scratch) -> None:
    """Fill `scratch.errors` with the mean squared leave-one-out errors of a user with residuals r, of all variants.

    Each error counts at most 4. A user without ratings has error 0, a variant without a solution 4. Of very many
    ratings every second, third, ... one is predicted, from all others: a mean needs no more, and time is saved.
    """
    errors, right = scratch.errors, scratch.right
    gram_of_rows(W, items, scratch.A)
    right[:] = 0.0
    for t in range(len(items)):
        w, target = W[items[t]], r[t]
        for a in range(len(w)):
            right[a] += w[a] * target
    for v in range(len(errors)):
        errors[v] = 0.0
        scratch.solved[v] = _solve_variant(variants, v, scratch)
    step = 1 + len(items) * W.shape[1] // _MOST_WORK
    for start in range(0, len(items), LANES * step):
        own, targets = items[start : start + LANES * step : step], r[start : start + LANES * step : step]
        for t in range(len(own)):
            w = W[own[t]]
            for a in range(len(w)):
                scratch.columns[a, t] = w[a]
        for v in range(len(errors)):
            if scratch.solved[v]:
                _fit_lanes(len(own), variants, v, scratch)
                for t in range(len(own)):
                    error = (targets[t] - scratch.fitted[t]) / max(1.0 - scratch.leverages[t], 0.05)
                    errors[v] += min(error * error, 4.0)
    for v in range(len(errors)):
        errors[v] = errors[v] / max((len(items) + step - 1) // step, 1) if scratch.solved[v] else 4.0


@compiled
def _solve_variant(variants: Variants, v: int, scratch: Scratch) -> bool:
    """Fill factor and coefficients of one variant; False if there is no solution."""
    width, scales, S, A = variants.widths[v], variants.scales[v], scratch.S, scratch.A
    for a in range(width):
        for b in range(width):
            S[a, b] = A[a, b] * scales[a] * scales[b]
    L, z = scratch.factors[v, :width, :width], scratch.coefficients[v, :width]
    if not factorize(S[:width, :width], variants.ridges[v], L):
        return False
    for a in range(width):
        z[a] = scratch.right[a] * scales[a]
    solve_factorized(L, z)
    return True


@compiled
def _fit_lanes(n: int, variants: Variants, v: int, scratch: Scratch) -> None:
    """Fill the first n fitted values w . z and leverages |L^-1 w|^2 of a variant, for items side by side.

    The inner loops have no order, so that processors do several items at once; the bits of an item are its own.
    """
    scales, L, z = variants.scales[v], scratch.factors[v], scratch.coefficients[v]
    X, fitted, leverages = scratch.lanes, scratch.fitted, scratch.leverages
    for t in range(n):
        fitted[t] = 0.0
        leverages[t] = 0.0
    for a in range(variants.widths[v]):
        x, column, scale, coefficient = X[a], scratch.columns[a], scales[a], z[a]
        for t in range(n):
            x[t] = column[t] * scale
        for t in range(n):
            fitted[t] += x[t] * coefficient
        for c in range(0, a - a % 4, 4):
            x0, x1, x2, x3 = X[c], X[c + 1], X[c + 2], X[c + 3]
            l0, l1, l2, l3 = L[a, c], L[a, c + 1], L[a, c + 2], L[a, c + 3]
            for t in range(n):
                x[t] = (((x[t] - l0 * x0[t]) - l1 * x1[t]) - l2 * x2[t]) - l3 * x3[t]
        for c in range(a - a % 4, a):
            x0, l0 = X[c], L[a, c]
            for t in range(n):
                x[t] -= l0 * x0[t]
        for t in range(n):
            x[t] /= L[a, a]
        for t in range(n):
            leverages[t] += x[t] * x[t]
