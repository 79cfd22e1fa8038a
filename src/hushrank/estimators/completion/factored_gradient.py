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
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hushrank.data.ratings.grouping import UserBlock
from hushrank.estimators.completion import gradient_kernels as kernels
from hushrank.estimators.completion import item_factors as factors
from hushrank.estimators.completion.model import CompletionModel
from hushrank.estimators.completion.options import FactoredGradient
from hushrank.estimators.completion.rating_kernels import RatingArrays, Regression, RowsOfItems
from hushrank.estimators.completion.recipes import FACTORED_GRADIENT
from hushrank.estimators.completion.releases import RatingReleases
from hushrank.estimators.completion.user_sums import (
    RowState,
    SecondMoment,
    arrays_of,
    row_bound,
    sum_fractions,
    vector_bound,
)
from hushrank.linalg.threads import one_blas_thread
from hushrank.privacy.guarantee import Neighbors
from hushrank.privacy.mechanisms.symmetric import SymmetricLattice, second_moment_frobenius_sensitivity
from hushrank.privacy.mechanisms.vector import GaussianLattice, vector_l2_sensitivity

FloatArray = NDArray[np.float64]
IntegerArray = NDArray[np.int64]

log = logging.getLogger("hushrank")


def gradient_sensitivity(residual_norm: float, user_norm: float, neighbors: Neighbors) -> float:
    """Largest Frobenius change of sum e_i u_i^T between neighbors (factored_gradient.md, Lemma 1)."""
    return vector_l2_sensitivity(residual_norm * user_norm, neighbors)


def balance_sensitivity(user_norm: float, neighbors: Neighbors) -> float:
    """Largest Frobenius change of sum u_i u_i^T between neighbors (factored_gradient.md, Lemma 2)."""
    return second_moment_frobenius_sensitivity(user_norm, neighbors)


@dataclass(frozen=True, slots=True, eq=False)
class _History:
    """All that was released so far. With it and one's ratings every user finds this user's factor."""

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
class GradientState:
    """Public state of the sums of one step: how users find their factors, and the two lattices.

    Attributes
    ----------
    model : Regression
        What users regress on: the features and, where factors are ridge solutions, V spread.
    local : LocalSteps or None
        How factors are replayed; None where they are ridge solutions.
    spread : ndarray of shape (rank, rank)
        Square root of the covariance that balanced user factors have.
    V : ndarray of shape (n_items, rank)
    user_norm, residual_norm : float
    gradient : GaussianLattice
    products : SymmetricLattice
    """

    model: Regression
    local: kernels.LocalSteps | None
    spread: FloatArray
    V: FloatArray
    user_norm: float
    residual_norm: float
    gradient: GaussianLattice
    products: SymmetricLattice


def learn_factored_gradient(
    releases: RatingReleases,
    rank: int,
    start: CompletionModel,
    options: FactoredGradient,
    share: float | None = None,
) -> FloatArray:
    """Learn item factors.

    Parameters
    ----------
    releases : RatingReleases
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
    start.check_start(rank, type(options).__name__)
    budget = releases.spendable(share)
    rest = (1.0 - FACTORED_GRADIENT.density_share) * budget
    with one_blas_thread():
        density = _release_density(releases, FACTORED_GRADIENT.density_share * budget)
        V, spent = _find_start(releases, rank, start, options, density, rest)
        history = _History(options, start, density, V[None], np.empty((0, rank, rank)))
        step_share = (rest - spent) / options.steps
        for _ in range(options.steps):
            history = _take_step(releases, history, step_share)
        return factors.to_prior_units(history.V)


def _find_start(
    releases: RatingReleases, rank: int, start: CompletionModel, options: FactoredGradient, density: float, share: float
) -> tuple[FloatArray, float]:
    """V^0, and what it cost."""
    cost = 0.0
    if start.factors.shape[1] > 0:
        V = factors.to_balanced_units(start.factors)
    elif options.start == "random":
        V = factors.scatter_normals(releases.n_items, rank) * (options.item_norm / (4.0 * math.sqrt(rank)))
    else:
        cost = options.start_share * share
        V = _release_start(releases, rank, start, options.residual_norm, density, cost)
    return factors.shorten_rows(V, options.item_norm), cost


def _take_step(releases: RatingReleases, history: _History, share: float) -> _History:
    """One step of Algorithm 1, lines 6 to 10."""
    options, V = history.options, history.V
    bound, for_balance = options.residual_norm * options.user_norm, options.balance_share * share
    products = releases.gram_lattice(options.user_norm, for_balance)
    gradient = releases.vector_lattice(bound, share - for_balance)
    descent, outer, shortened = releases.total(sum_factor_gradients, _prepare_sums(history, gradient, products))
    R = releases.release_symmetric(outer, products) / releases.n_people - V.T @ V / len(V)
    move = releases.release(descent, gradient) / (history.density * releases.n_people)
    V = factors.shorten_rows(V + options.step * (move + V @ R / 2.0), options.item_norm)
    log.info("Residuals of %d users are longer than %g: shortened. Not private.", shortened[0], options.residual_norm)
    item_factors = np.concatenate([history.item_factors, V[None]])
    return replace(history, item_factors=item_factors, balances=np.concatenate([history.balances, R[None]]))


def _prepare_sums(history: _History, gradient: GaussianLattice, products: SymmetricLattice) -> GradientState:
    """What users need, computed once for all of them."""
    options, start, V, n_items = history.options, history.start, history.V, len(history.V)
    spread = factors.symmetric_power(V.T @ V / n_items, 0.5)
    columns = [start.features, V @ spread] if options.user_solve == "ridge" else [start.features]
    model = Regression(start.base, np.ascontiguousarray(np.hstack(columns)), float(start.ridge))
    local = None if options.user_solve == "ridge" else _local_steps(history)
    norms = float(options.user_norm), float(options.residual_norm)
    return GradientState(model, local, spread, V, *norms, gradient, products)


def _local_steps(history: _History) -> kernels.LocalSteps:
    """How users replay what they did so far."""
    options, first, n_items = history.options, history.item_factors[0], len(history.V)
    inverse = factors.symmetric_power(first.T @ first / n_items, -1.0)
    return kernels.LocalSteps(
        start_map=np.ascontiguousarray(first @ inverse / (history.density * n_items)),
        item_factors=history.item_factors,
        balances=history.balances,
        along_residuals=options.step / (history.density * n_items),
        along_balance=options.step / 2.0,
        user_norm=float(options.user_norm),
    )


def sum_factor_gradients(block: UserBlock, state: GradientState) -> tuple[IntegerArray, IntegerArray, IntegerArray]:
    """Sums of e u^T and of u u^T, and the number of users whose residuals were shortened."""
    V, ratings, U = state.V, arrays_of(block), np.empty((len(block), state.V.shape[1]))
    if state.local is None:
        values = kernels.solve_factors(ratings, state.model, state.spread, state.user_norm, U)
        targets = RatingArrays(block.indptr, block.items, values)
    else:
        targets = RatingArrays(block.indptr, block.items, kernels.center_ratings(ratings, state.model))
        kernels.replay_factors(targets, state.local, U)
    total, outer = np.zeros(V.shape, np.int64), np.zeros((V.shape[1], V.shape[1]), np.int64)
    bound = vector_bound(state.gradient)
    shortened = kernels.add_item_gradients(targets, V, U, state.residual_norm, bound, total)
    kernels.add_factor_products(U, row_bound(state.products), outer)
    return total, outer, np.array([shortened], np.int64)


def _release_density(releases: RatingReleases, share: float) -> float:
    """The share of ratings that exist (Lemma 3), at least one a user."""
    lattice = releases.interval_lattice(share)
    secret = releases.total(sum_fractions, (float(releases.n_items), releases.interval_center, lattice))
    density = releases.release_interval(secret, lattice) / releases.n_people
    return min(max(density, 1.0 / releases.n_items), 1.0)


def _release_start(
    releases: RatingReleases, rank: int, start: CompletionModel, row_norm: float, density: float, share: float
) -> FloatArray:
    """V^0 in balanced units: Algorithm 2, lines 1 to 6, with tau = 1."""
    n_items = releases.n_items
    lattice = releases.gram_lattice(row_norm, share)
    rows = RowsOfItems(np.zeros(n_items), np.ones(n_items), np.arange(n_items, dtype=np.int32), False)
    model = Regression(start.base, np.ascontiguousarray(start.features), float(start.ridge))
    (secret,) = releases.total(SecondMoment(), RowState(model, rows, lattice, offset=0))
    A = releases.release_symmetric(secret, lattice) / (density**2 * releases.n_people * n_items)
    w, Q = factors.leading_eigenpairs(A, rank)
    # One rating is there with probability p, two with p^2: the diagonal over p^2 is too large, and holds the noise of
    # the ratings. That lifts all eigenvalues alike; the mean of those that are not kept tells by how much.
    top = w - ((np.trace(A) - w.sum()) / (n_items - rank) if rank < n_items else 0.0)
    squares = np.maximum(top, max(FACTORED_GRADIENT.least_eigenvalue * top[0], np.finfo(float).tiny))
    return np.asarray(Q.T * np.sqrt(np.sqrt(squares) * n_items))
