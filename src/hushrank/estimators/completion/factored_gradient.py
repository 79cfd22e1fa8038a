"""Private matrix completion by projected gradient descent on two factors (DPLMC).

Statistics  1 the share of ratings that exist; 2 with start="private", sum of y_i y_i^T over users, rows of ratings
            shortened to |y_i| <= residual_norm; 3 in every step, sum of e_i u_i^T and sum of u_i u_i^T, residuals
            shortened to |e_i| <= residual_norm and user factors to |u_i| <= user_norm.
Releases    each sum with Gaussian noise, at shares of the budget that the options fix.
Privacy     docs/privacy/factored_gradient.md, Lemmas 1 to 5 and Theorem 6.

Algorithms 1 and 2 of Wang, Zhao and Kolar, "Differentially private matrix completion through low-rank matrix
factorization" (AISTATS 2023), for the matrix divided by sqrt(n_users n_items) as in their theorem: factors are balanced
when U^T U / n_users = V^T V / n_items.
"""

import logging
import math
import threading
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushrank.estimators.completion import gradient_kernels as kernels
from hushrank.estimators.completion.model import CompletionModel
from hushrank.estimators.completion.options import FactoredGradient
from hushrank.estimators.completion.user_sums import sum_fractions
from hushrank.linalg.threads import one_blas_thread
from hushrank.privacy.adaptive import UserReleases
from hushrank.privacy.guarantee import Neighbors
from hushrank.privacy.mechanisms.symmetric import (
    SymmetricLattice,
    release_symmetric,
    second_moment_frobenius_sensitivity,
)
from hushrank.privacy.mechanisms.vector import GaussianLattice, vector_l2_sensitivity

FloatArray = NDArray[np.float64]
IntegerArray = NDArray[np.int64]

DENSITY_SHARE = 0.005
MAX_START_ITEMS = 4096  # a private start holds several square matrices of this size

_LEAST_EIGENVALUE = 1e-4  # of the largest one, in a private start
_OWNER = "FactoredGradient"
log = logging.getLogger("hushrank")


def gradient_sensitivity(residual_norm: float, user_norm: float, neighbors: Neighbors) -> float:
    """Largest Frobenius change of sum e_i u_i^T between neighbors (factored_gradient.md, Lemma 1)."""
    return vector_l2_sensitivity(residual_norm * user_norm, neighbors)


def balance_sensitivity(user_norm: float, neighbors: Neighbors) -> float:
    """Largest Frobenius change of sum u_i u_i^T between neighbors (factored_gradient.md, Lemma 2)."""
    return second_moment_frobenius_sensitivity(user_norm, neighbors)


@dataclass(frozen=True, slots=True, eq=False)
class _History:
    """All that was released so far. With it and the own ratings every user finds the own factor."""

    options: FactoredGradient
    start: CompletionModel
    density: float
    item_factors: FloatArray  # V^0, ..., V^t
    balances: FloatArray  # R^0, ..., R^(t-1)

    @property
    def V(self) -> FloatArray:
        """The current item factors."""
        return np.asarray(self.item_factors[-1])


@dataclass(frozen=True, slots=True, eq=False)
class _Pass:
    """Public state of one step: the history, numbers that follow from it, and the two lattices."""

    history: _History
    start_map: FloatArray  # a user's first factor is the sum of residual times row
    spread: FloatArray  # square root of the covariance that balanced user factors have
    W: FloatArray  # features and V spread
    gradient: GaussianLattice
    products: SymmetricLattice


def learn_factored_gradient(
    releases: UserReleases,
    rank: int,
    start: CompletionModel,
    options: FactoredGradient,
    share: float | None = None,
) -> FloatArray:
    """Learn item factors.

    Parameters
    ----------
    releases : UserReleases
    rank : int
        Between 1 and the number of items.
    start : CompletionModel
        Base, features and ridge of every user's regression, public or released before. If it has factors, `rank` of
        them, the steps begin there and nothing is spent on a start.
    options : FactoredGradient
    share : float, optional
        Most of the whole budget that may be spent; by default all that is left.

    Returns
    -------
    ndarray of shape (n_items, rank)
        Item factors for users whose own factor has the prior N(0, I).
    """
    options.check_size(releases.n_items, rank)
    start.check_start(rank, _OWNER)
    budget = releases.spendable(share)
    with one_blas_thread():
        density = _release_density(releases, DENSITY_SHARE * budget)
        V, spent = _find_start(releases, rank, start, options, density, (1.0 - DENSITY_SHARE) * budget)
        history = _History(options, start, density, V[None], np.empty((0, rank, rank)))
        step_share = ((1.0 - DENSITY_SHARE) * budget - spent) / options.steps
        for _ in range(options.steps):
            history = _take_step(releases, history, step_share)
        return kernels.to_prior_units(history.V)


def _find_start(
    releases: UserReleases, rank: int, start: CompletionModel, options: FactoredGradient, density: float, budget: float
) -> tuple[FloatArray, float]:
    """V^0, and what it cost."""
    cost = 0.0
    if start.factors.shape[1] > 0:
        V = kernels.to_balanced_units(start.factors)
    elif options.start == "random":
        V = kernels.scatter_normals(releases.n_items, rank) * (options.item_norm / (4.0 * math.sqrt(rank)))
    else:
        cost = options.start_share * budget
        V = _release_start(releases, rank, start, options.residual_norm, density, cost)
    return kernels.shorten_rows(V, options.item_norm), cost


def _take_step(releases: UserReleases, history: _History, share: float) -> _History:
    """One step of Algorithm 1, lines 6 to 10."""
    options, V = history.options, history.V
    bound, for_balance = options.residual_norm * options.user_norm, options.balance_share * share
    products = releases.gram_lattice(options.user_norm, for_balance)
    gradient = releases.vector_lattice(bound, share - for_balance)
    descent, outer, shortened = releases.total(_sum_step, _prepare_pass(history, gradient, products))
    R = release_symmetric(outer, products, releases.noise) / releases.n_users - V.T @ V / len(V)
    move = releases.release(descent, gradient) / (history.density * releases.n_users)
    V = kernels.shorten_rows(V + options.step * (move + V @ R / 2.0), options.item_norm)
    log.info("Residuals of %d users are longer than %g: shortened. Not private.", shortened[0], options.residual_norm)
    item_factors = np.concatenate([history.item_factors, V[None]])
    return replace(history, item_factors=item_factors, balances=np.concatenate([history.balances, R[None]]))


def _prepare_pass(history: _History, gradient: GaussianLattice, products: SymmetricLattice) -> _Pass:
    """What users need, computed once for all of them."""
    first, V, n_items = history.item_factors[0], history.V, len(history.V)
    inverse = kernels.symmetric_power(first.T @ first / n_items, -1.0)
    start_map = np.ascontiguousarray(first @ inverse / (history.density * n_items))
    spread = kernels.symmetric_power(V.T @ V / n_items, 0.5)
    W = np.ascontiguousarray(np.hstack([history.start.features, V @ spread]))
    return _Pass(history, start_map, spread, W, gradient, products)


def _sum_step(block: Any, state: _Pass) -> tuple[IntegerArray, IntegerArray, IntegerArray]:
    """Sums of e u^T and of u u^T, and the number of users whose residuals were shortened."""
    V, gradient, products = state.history.V, state.gradient, state.products
    total, outer = np.zeros(V.shape, np.int64), np.zeros((V.shape[1], V.shape[1]), np.int64)
    targets, U = _find_users(block, state)
    bounds = (gradient.norm_bound, float(gradient.squared_bound), gradient.lowest)
    residual_norm = state.history.options.residual_norm
    shortened = kernels.add_item_gradients(block.indptr, block.items, targets, V, U, residual_norm, *bounds, total)
    kernels.add_factor_products(U, products.row_norm, float(products.squared_bound), outer)
    return total, outer, np.array([shortened], np.int64)


def _find_users(block: Any, state: _Pass) -> tuple[FloatArray, FloatArray]:
    """What base and features leave of the ratings, and the users' factors."""
    history, ratings = state.history, (block.indptr, block.items)
    start, options, V = history.start, history.options, history.V
    targets, U = np.empty(len(block.items)), np.empty((len(block), V.shape[1]))
    if options.user_solve == "ridge":
        kernels.solve_factors(
            *ratings, block.values, start.base, state.W, start.ridge, state.spread, options.user_norm, targets, U
        )
        return targets, U
    kernels.center_ratings(*ratings, block.values, start.base, start.features, start.ridge, targets)
    sizes = np.array([options.step / (history.density * len(V)), options.step / 2.0])
    kernels.replay_factors(
        *ratings, targets, state.start_map, history.item_factors, history.balances, options.user_norm, sizes, U
    )
    return targets, U


def _release_density(releases: UserReleases, fraction: float) -> float:
    """The share of ratings that exist (Lemma 3), at least one a user."""
    lattice = releases.interval_lattice(fraction)
    secret = releases.total(sum_fractions, (float(releases.n_items), releases.interval_center, lattice))
    density = releases.release_interval(secret, lattice) / releases.n_users
    return min(max(density, 1.0 / releases.n_items), 1.0)


def _release_start(
    releases: UserReleases, rank: int, start: CompletionModel, row_norm: float, density: float, fraction: float
) -> FloatArray:
    """V^0 in balanced units: Algorithm 2, lines 1 to 6, with tau = 1."""
    n_items = releases.n_items
    lattice = releases.gram_lattice(row_norm, fraction)
    (secret,) = releases.total(RowProducts(), (start, lattice))
    A = release_symmetric(secret, lattice, releases.noise) / (density**2 * releases.n_users * n_items)
    w, Q = kernels.leading_eigenpairs(A, rank)
    # One rating is there with probability p, two with p^2: the diagonal over p^2 is too large, and holds the noise of
    # the ratings. That lifts all eigenvalues alike; the mean of those that are not kept tells by how much.
    top = w - ((np.trace(A) - w.sum()) / (n_items - rank) if rank < n_items else 0.0)
    squares = np.maximum(top, max(_LEAST_EIGENVALUE * top[0], np.finfo(float).tiny))
    return np.asarray(Q.T * np.sqrt(np.sqrt(squares) * n_items))


class RowProducts:
    """Sum of y y^T over users, on and above the diagonal; one matrix for all threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def new_totals(self, state: tuple[CompletionModel, SymmetricLattice]) -> tuple[IntegerArray, ...]:
        """The matrix of zeros."""
        return (np.zeros((len(state[0].base), len(state[0].base)), np.int64),)

    def add(self, block: Any, state: tuple[CompletionModel, SymmetricLattice], totals: Any) -> None:
        """Add the products of the rows of a block."""
        start, lattice = state
        ratings, targets = (block.indptr, block.items), np.empty(len(block.items))
        kernels.center_ratings(*ratings, block.values, start.base, start.features, start.ridge, targets)
        with self._lock:
            kernels.add_row_products(*ratings, targets, lattice.row_norm, float(lattice.squared_bound), totals[0])
