"""Users of a factored gradient method: their factors, found from public state, and what they add to its sums.

A user's factor follows from the own ratings and from released values alone. It is found anew in every pass, either by
replaying all earlier local steps or by one ridge regression, so nothing is kept between passes and the order of the
users does not matter. Contributions are bounded by `hushrank.linalg.scatter` before they are added.
"""

import math

import numpy as np
from scipy.sparse.linalg import eigsh
from scipy.special import ndtri

from hushrank.estimators.completion.rating_kernels import Values, most_ratings, solve_user
from hushrank.linalg.quantize import FloatArray, compiled
from hushrank.linalg.scatter import IntegerArray, Positions, add_contribution, quantize_row
from hushrank.linalg.spectral import fix_signs, top_eigenpairs

_GOLDEN = 0x9E3779B97F4A7C15  # 2^64 over the golden ratio
_DENSE = 300  # up to this size all of a matrix is reduced
_TOLERANCE = 1e-4  # relative, of eigenvalues of larger ones: those in the bulk of the noise converge slowly


@compiled
def shorten_to(x: FloatArray, norm_bound: float) -> None:
    """Shorten x to norm `norm_bound` if it is longer; what is not finite becomes NaN and adds nothing later."""
    squared = 0.0
    for a in range(len(x)):
        squared += x[a] * x[a]
    norm = math.sqrt(squared)
    if norm > norm_bound:
        for a in range(len(x)):
            x[a] *= norm_bound / norm


@compiled
def center_ratings(
    indptr: IntegerArray,
    items: Positions,
    values: Values,
    base: FloatArray,
    features: FloatArray,
    ridge: float,
    targets: FloatArray,
) -> None:
    """Fill `targets` with what the base and every user's own ridge regression on the features leave of the values."""
    k = features.shape[1]
    A, L, z = np.empty((k, k)), np.empty((k, k)), np.empty(k)
    for i in range(len(indptr) - 1):
        own = slice(indptr[i], indptr[i + 1])
        solve_user(items[own], values[own], base, features, ridge, A, L, z, targets[own])


@compiled
def replay_factors(
    indptr: IntegerArray,
    items: Positions,
    targets: FloatArray,
    start_map: FloatArray,
    item_factors: FloatArray,
    balances: FloatArray,
    user_norm: float,
    steps: FloatArray,
    U: FloatArray,
) -> None:
    """Fill row i of U with the factor of user i after all local steps.

    The first is line 10 of Algorithm 2, a step is lines 14 and 15 of Algorithm 1 (docs/privacy/factored_gradient.md).

    Parameters
    ----------
    indptr, items, targets
        Ratings of the users, as `center_ratings` leaves them.
    start_map : ndarray of shape (n_items, rank)
        The first factor is the sum of target times row over the own items.
    item_factors : ndarray of shape (at least n_steps, n_items, rank)
        V^0, V^1, ...; one for every step, others are not read.
    balances : ndarray of shape (n_steps, rank, rank)
        R^0, R^1, ...
    user_norm : float
        Every factor is shortened to it.
    steps : ndarray of shape (2,)
        Step sizes along the gradient of the residuals and along U R.
    U : ndarray of shape (n_users, rank)
    """
    rank = U.shape[1]
    move = np.empty(rank)
    for i in range(len(indptr) - 1):
        first, stop, u = indptr[i], indptr[i + 1], U[i]
        u[:] = 0.0
        for t in range(first, stop):
            for a in range(rank):
                u[a] += targets[t] * start_map[items[t], a]
        shorten_to(u, user_norm)
        for s in range(len(balances)):
            _take_local_step(items[first:stop], targets[first:stop], item_factors[s], balances[s], steps, move, u)
            shorten_to(u, user_norm)


@compiled
def _take_local_step(
    items: Positions,
    targets: FloatArray,
    V: FloatArray,
    R: FloatArray,
    steps: FloatArray,
    move: FloatArray,
    u: FloatArray,
) -> None:
    """Add steps[0] V^T e - steps[1] R u to u, e the residuals; `move` is scratch."""
    rank = len(u)
    for a in range(rank):
        move[a] = 0.0
        for b in range(rank):
            move[a] -= steps[1] * u[b] * R[b, a]
    for t in range(len(items)):
        e = steps[0] * _residual(targets[t], V, items[t], u)
        for a in range(rank):
            move[a] += e * V[items[t], a]
    for a in range(rank):
        u[a] += move[a]


@compiled
def _residual(target: float, V: FloatArray, item: int, u: FloatArray) -> float:
    fitted = 0.0
    for a in range(len(u)):
        fitted += V[item, a] * u[a]
    return target - fitted


@compiled
def solve_factors(
    indptr: IntegerArray,
    items: Positions,
    values: Values,
    base: FloatArray,
    W: FloatArray,
    ridge: float,
    spread: FloatArray,
    user_norm: float,
    targets: FloatArray,
    U: FloatArray,
) -> None:
    """Fill row i of U with the factor of user i by ridge regression, and `targets` with what the features leave.

    W holds the features and then V spread, for factors u = spread z whose z has prior N(0, I): the regression on W
    finds the coefficients of the features and z together. Factors are shortened to `user_norm`.
    """
    k, rank = W.shape[1], U.shape[1]
    A, L, z = np.empty((k, k)), np.empty((k, k)), np.empty(k)
    n_features = k - rank
    for i in range(len(indptr) - 1):
        own = slice(indptr[i], indptr[i + 1])
        solve_user(items[own], values[own], base, W, ridge, A, L, z, targets[own])
        for t in range(indptr[i], indptr[i + 1]):
            for a in range(n_features, k):
                targets[t] += W[items[t], a] * z[a]
        for a in range(rank):
            U[i, a] = 0.0
            for b in range(rank):
                U[i, a] += spread[a, b] * z[n_features + b]
        shorten_to(U[i], user_norm)


@compiled
def add_item_gradients(
    indptr: IntegerArray,
    items: Positions,
    targets: FloatArray,
    V: FloatArray,
    U: FloatArray,
    residual_norm: float,
    norm_bound: float,
    limit: float,
    lowest: float,
    total: IntegerArray,
) -> int:
    """Add e u^T of every user, e = target - V u shortened to `residual_norm`; the number of users with a longer e."""
    most, shortened = most_ratings(indptr), 0
    e, G = np.empty(most), np.empty((most, U.shape[1]))
    for i in range(len(indptr) - 1):
        own, u, squared = items[indptr[i] : indptr[i + 1]], U[i], 0.0
        n = len(own)
        for t in range(n):
            e[t] = _residual(targets[indptr[i] + t], V, own[t], u)
            squared += e[t] * e[t]
        shortened += squared > residual_norm * residual_norm
        shorten_to(e[:n], residual_norm)
        for t in range(n):
            for a in range(len(u)):
                G[t, a] = e[t] * u[a]
        add_contribution(G, n, own, norm_bound, limit, lowest, total)
    return shortened


@compiled
def add_factor_products(U: FloatArray, norm_bound: float, limit: float, total: IntegerArray) -> None:
    """Add u u^T of every user to the upper triangle of `total`."""
    rank = U.shape[1]
    y, rows = np.empty(rank, np.int64), np.arange(rank).astype(np.int32)
    for i in range(len(U)):
        quantize_row(U[i], rank, norm_bound, limit, y)
        _add_with_diagonal(y, rows, rank, total)


@compiled
def add_row_products(
    indptr: IntegerArray, items: Positions, targets: FloatArray, norm_bound: float, limit: float, total: IntegerArray
) -> None:
    """Add y y^T of every user's row of targets, shortened to `norm_bound`, to the upper triangle of `total`."""
    y = np.empty(most_ratings(indptr), np.int64)
    for i in range(len(indptr) - 1):
        own = items[indptr[i] : indptr[i + 1]]
        quantize_row(targets[indptr[i] : indptr[i + 1]], len(own), norm_bound, limit, y)
        _add_with_diagonal(y, own, len(own), total)


@compiled
def _add_with_diagonal(y: IntegerArray, rows: Positions, n: int, total: IntegerArray) -> None:
    for a in range(n):
        for b in range(a, n):
            total[rows[a], rows[b]] += y[a] * y[b]


def scatter_normals(n_rows: int, n_columns: int) -> FloatArray:
    """Numbers that look like independent standard normals and are the same for all data.

    Normal quantiles of a quadratic Weyl sequence, frac(k (k + 1) / (2 golden ratio)), in integers modulo 2^64. Entries
    at any fixed distance are equidistributed as pairs, so rows and columns are uncorrelated as they grow.
    """
    k = np.arange(1, n_rows * n_columns + 1, dtype=np.uint64)
    words = (k * (k + np.uint64(1)) // np.uint64(2)) * np.uint64(_GOLDEN)
    uniforms = ((words >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52
    normals: FloatArray = ndtri(uniforms).reshape(n_rows, n_columns)
    return normals


def leading_eigenpairs(A: FloatArray, rank: int) -> tuple[FloatArray, FloatArray]:
    """Largest eigenvalues, falling, and eigenvectors as rows of a symmetric matrix, by iteration if it is large.

    Signs are those of `top_eigenpairs`.
    """
    if len(A) <= max(_DENSE, 4 * rank):
        return top_eigenpairs(A, rank)
    w, Q = eigsh(A, k=rank, which="LA", v0=np.ones(len(A)), tol=_TOLERANCE)
    falling = np.argsort(-w)
    return w[falling], fix_signs(Q[:, falling].T)


def shorten_rows(V: FloatArray, norm_bound: float) -> FloatArray:
    """Rows of V, longer ones shortened to `norm_bound` (Algorithm 1, line 10)."""
    norms = np.linalg.norm(V, axis=1, keepdims=True)
    shortened: FloatArray = V * (norm_bound / np.maximum(norms, norm_bound))
    return shortened


def symmetric_power(A: FloatArray, exponent: float) -> FloatArray:
    """A^exponent of a positive semidefinite matrix, whose smallest eigenvalues are lifted a little."""
    w, Q = np.linalg.eigh(A)
    w = np.maximum(w, max(1e-9 * float(w[-1]), np.finfo(float).tiny))
    power: FloatArray = (Q * w**exponent) @ Q.T
    return power


def to_prior_units(V: FloatArray) -> FloatArray:
    """Item factors V S^(1/2) for user factors of covariance I, from balanced ones, S = V^T V / n_items."""
    return V @ symmetric_power(V.T @ V / len(V), 0.5)


def to_balanced_units(V: FloatArray) -> FloatArray:
    """The inverse of `to_prior_units`."""
    return V @ symmetric_power(V.T @ V / len(V), -0.25)
