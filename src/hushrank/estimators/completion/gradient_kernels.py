"""Users of a factored gradient method: their factors, found from public state, and what they add to its sums.

A user's factor follows from this user's ratings and from released values alone. It is found anew for every sum, either
by replaying all earlier local steps or by one ridge regression, so nothing is kept between sums and the order of the
users does not matter. Contributions are bounded by `hushrank.linalg.scatter` before they are added.
"""

import math
from typing import NamedTuple

import numpy as np

from hushrank.estimators.completion.rating_kernels import (
    RatingArrays,
    Regression,
    Values,
    most_ratings,
    new_workspace,
    solve_user,
)
from hushrank.linalg.quantize import FloatArray, compiled
from hushrank.linalg.scatter import Bound, IntegerArray, Positions, add_contribution, quantize_row


class LocalSteps(NamedTuple):
    """All that a user needs to find this user's factor after some steps; public.

    Attributes
    ----------
    start_map : ndarray of shape (n_items, rank)
        The first factor is the sum of target times row over the user's items.
    item_factors : ndarray of shape (at least n_steps, n_items, rank)
        V^0, V^1, ...; one for every step, others are not read.
    balances : ndarray of shape (n_steps, rank, rank)
        R^0, R^1, ...
    along_residuals, along_balance : float
        Step sizes along the gradient of the residuals and along U R.
    user_norm : float
        Every factor is shortened to it.
    """

    start_map: FloatArray
    item_factors: FloatArray
    balances: FloatArray
    along_residuals: float
    along_balance: float
    user_norm: float


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
def center_ratings(ratings: RatingArrays, model: Regression) -> FloatArray:
    """Targets: what the base and every user's ridge regression on the columns leave of the ratings."""
    indptr, work = ratings.indptr, new_workspace(ratings.indptr, model.W.shape[1])
    targets = np.empty(len(ratings.items))
    for i in range(len(indptr) - 1):
        solve_user(ratings, i, model, work)
        for t in range(indptr[i], indptr[i + 1]):
            targets[t] = work.e[t - indptr[i]]
    return targets


@compiled
def replay_factors(targets: RatingArrays, steps: LocalSteps, U: FloatArray) -> None:
    """Fill row i of U with the factor of user i after all local steps.

    The first is line 10 of Algorithm 2, a step is lines 14 and 15 of Algorithm 1 (docs/privacy/factored_gradient.md).
    `targets` holds ratings as `center_ratings` leaves them.
    """
    indptr, items, values = targets.indptr, targets.items, targets.values
    rank = U.shape[1]
    move = np.empty(rank)
    for i in range(len(indptr) - 1):
        own, u = slice(indptr[i], indptr[i + 1]), U[i]
        u[:] = 0.0
        for t in range(indptr[i], indptr[i + 1]):
            for a in range(rank):
                u[a] += values[t] * steps.start_map[items[t], a]
        shorten_to(u, steps.user_norm)
        for s in range(len(steps.balances)):
            _take_local_step(items[own], values[own], steps, s, move, u)
            shorten_to(u, steps.user_norm)


@compiled
def _take_local_step(
    items: Positions, targets: Values, steps: LocalSteps, s: int, move: FloatArray, u: FloatArray
) -> None:
    """Move u along V^T e, e the residuals, and against R u, for V and R of step s; `move` is scratch."""
    V, R, rank = steps.item_factors[s], steps.balances[s], len(u)
    for a in range(rank):
        move[a] = 0.0
        for b in range(rank):
            move[a] -= steps.along_balance * u[b] * R[b, a]
    for t in range(len(items)):
        e = steps.along_residuals * _residual(targets[t], V, items[t], u)
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
    ratings: RatingArrays, model: Regression, spread: FloatArray, user_norm: float, U: FloatArray
) -> FloatArray:
    """Fill row i of U with the factor of user i by ridge regression; targets, which the features leave of the ratings.

    The columns of the model are the features and then V spread, for factors u = spread z whose z has prior N(0, I): the
    regression finds the coefficients of the features and z together. Factors are shortened to `user_norm`.
    """
    indptr, items, W = ratings.indptr, ratings.items, model.W
    k, rank = W.shape[1], U.shape[1]
    targets, work, n_features = np.empty(len(items)), new_workspace(indptr, k), k - rank
    for i in range(len(indptr) - 1):
        solve_user(ratings, i, model, work)
        z = work.z
        for t in range(indptr[i], indptr[i + 1]):
            targets[t] = work.e[t - indptr[i]]
            for a in range(n_features, k):
                targets[t] += W[items[t], a] * z[a]
        for a in range(rank):
            U[i, a] = 0.0
            for b in range(rank):
                U[i, a] += spread[a, b] * z[n_features + b]
        shorten_to(U[i], user_norm)
    return targets


@compiled
def add_item_gradients(
    targets: RatingArrays, V: FloatArray, U: FloatArray, residual_norm: float, bound: Bound, total: IntegerArray
) -> int:
    """Add e u^T of every user, e = target - V u shortened to `residual_norm`; the number of users with a longer e."""
    indptr, values = targets.indptr, targets.values
    most, shortened = most_ratings(indptr), 0
    e, G = np.empty(most), np.empty((most, U.shape[1]))
    for i in range(len(indptr) - 1):
        own, u, squared = targets.items[indptr[i] : indptr[i + 1]], U[i], 0.0
        n = len(own)
        for t in range(n):
            e[t] = _residual(values[indptr[i] + t], V, own[t], u)
            squared += e[t] * e[t]
        shortened += squared > residual_norm * residual_norm
        shorten_to(e[:n], residual_norm)
        for t in range(n):
            for a in range(len(u)):
                G[t, a] = e[t] * u[a]
        add_contribution(G, n, own, bound, total)
    return shortened


@compiled
def add_factor_products(U: FloatArray, bound: Bound, total: IntegerArray) -> None:
    """Add u u^T of every user to the upper triangle of `total`."""
    rank = U.shape[1]
    y = np.empty(rank, np.int64)
    for i in range(len(U)):
        quantize_row(U[i], rank, bound, y)
        for a in range(rank):
            for b in range(a, rank):
                total[a, b] += y[a] * y[b]
