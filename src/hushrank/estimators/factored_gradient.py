"""Private matrix completion by projected gradient descent on two factors (DPLMC).

Statistic  for every step, sum of e_i u_i^T over users, residuals shortened to |e_i| <= residual_norm and factors to
           |u_i| <= user_norm, and sum of u_i u_i^T; before the first, the share of ratings that exist and, with
           start="private", the second moment of the rows of ratings.
Release    each sum with Gaussian noise, at a share of the budget fixed by the options.
Privacy    docs/privacy/factored_gradient.md, Lemmas 1 to 4 (sensitivities) and Theorem 5.

Algorithms 1 and 2 of Wang, Zhao and Kolar, "Differentially private matrix completion through low-rank matrix
factorization" (AISTATS 2023), in the units of their theorem: U / sqrt(n_users) and V / sqrt(n_items) are balanced.
"""

import logging
import math
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from hushrank.engine.ratings import UserBlock
from hushrank.estimators.als import Start
from hushrank.estimators.user_releases import UserReleases
from hushrank.exceptions import InvalidParameter
from hushrank.linalg.gradient_kernels import (
    add_densities,
    add_factor_products,
    add_item_gradients,
    add_row_products,
    center_ratings,
    replay_factors,
    solve_factors,
)
from hushrank.privacy.guarantee import Neighbors
from hushrank.privacy.mechanisms.symmetric import SymmetricLattice, release_symmetric
from hushrank.privacy.mechanisms.vector import GaussianLattice
from hushrank.validation import Param, check_parameters

FloatArray = NDArray[np.float64]
IntegerArray = NDArray[np.int64]

DENSITY_SHARE = 0.005
MAX_START_ITEMS = 8192  # the second moment of a private start has the square of this many entries

_GOLDEN = 0x9E3779B97F4A7C15  # 2^64 over the golden ratio

log = logging.getLogger("hushrank")


def gradient_sensitivity(residual_norm: float, user_norm: float, neighbors: Neighbors) -> float:
    """Largest Frobenius change of sum e_i u_i^T (factored_gradient.md, Lemma 1)."""
    return residual_norm * user_norm * (2.0 if neighbors is Neighbors.REPLACE else 1.0)


def balance_sensitivity(user_norm: float, neighbors: Neighbors) -> float:
    """Largest Frobenius change of sum u_i u_i^T (factored_gradient.md, Lemma 2)."""
    return user_norm**2 * (math.sqrt(2.0) if neighbors is Neighbors.REPLACE else 1.0)


@dataclass(frozen=True)
class FactoredGradient:
    """Options
    """

    steps: int = 15
    step_size: float = 0.2
    user_norm: float = 0.6
    item_norm: float = 0.6
    residual_norm: float = 1.0
    balance_share: float = 0.05
    start: str = "private"
    start_share: float = 0.2
    user_solve: str = "gradient"

    _params: ClassVar[dict[str, Param]] = {
        "steps": Param(int, minimum=1),
        "step_size": Param(float, above=0),
        "user_norm": Param(float, above=0),
        "item_norm": Param(float, above=0),
        "residual_norm": Param(float, above=0),
        "balance_share": Param(float, above=0, below=1),
        "start": Param(words=("private", "random")),
        "start_share": Param(float, above=0, below=1),
        "user_solve": Param(words=("gradient", "ridge")),
    }

    def __post_init__(self) -> None:
        check_parameters(self._params, {field.name: getattr(self, field.name) for field in fields(self)}, "FactoredGradient")


@dataclass(frozen=True, slots=True, eq=False)
class _History:
    """All that was released so far: with it every user finds the own factor."""

    start: Start
    options: FactoredGradient
    density: float
    start_map: FloatArray
    item_factors: FloatArray  # V^0 .. V^t
    balances: FloatArray  # R^0 .. R^(t-1)


def learn_factored_gradient(
    releases: UserReleases, rank: int, start: Start, options: FactoredGradient
) -> FloatArray:
    budget = releases.left
    density = _release_density(releases, DENSITY_SHARE * budget)
    V = _start_factors(releases, rank, start, options, density, budget)
    V = project_rows(V, options.item_norm)
    gram = V.T @ V / len(V)
    start_map = V @ np.linalg.pinv(gram, hermitian=True) / (density * len(V))
    history = _History(start, options, density, start_map, V[None], np.empty((0, rank, rank)))
    share = releases.left / options.steps
    for step in range(options.steps):
        is_last = step == options.steps - 1
        history = _advance(releases, history, share, is_last)
    return to_prior_units(history.item_factors[-1])


def _advance(releases, history, share, is_last):
    options, V = history.options, history.item_factors[-1]
    n_items = len(V)
    products = releases.gram_lattice(options.user_norm, options.balance_share * share)
    gradient = releases.vector_lattice(
        options.residual_norm * options.user_norm, None if is_last else (1 - options.balance_share) * share
    )
    secret_gradient, secret_products, shortened = releases.total(_sum_steps, (history, gradient, products))
    second = release_symmetric(secret_products, products, releases.noise) / releases.n_users
    ascent = releases.release(secret_gradient, gradient) / (history.density * releases.n_users)
    R = second - V.T @ V / n_items
    size = options.step_size / (options.user_norm * options.item_norm)
    weight = BAL if options.user_solve == "ridge" else 0.5
    V = project_rows(V + size * (ascent + weight * V @ R), options.item_norm)
    return _History(
        history.start, options, history.density, history.start_map,
        np.concatenate([history.item_factors, V[None]]), np.concatenate([history.balances, R[None]]),
    )

BAL = 0.5
START_MODE = "bulk"

def _sum_steps(block: Any, state: Any):
    history, gradient, products = state
    options, start = history.options, history.start
    V = history.item_factors[-1]
    n_items, rank = V.shape
    targets, U = np.empty(len(block.items)), np.empty((len(block), rank))
    if options.user_solve == "ridge":
        spread = symmetric_power(V.T @ V / n_items, 0.5)
        W = np.ascontiguousarray(np.hstack([start.features, V @ spread]))
        solve_factors(
            block.indptr, block.items, block.values, start.base, W, start.ridge, spread, options.user_norm, targets, U
        )
    else:
        center_ratings(
            block.indptr, block.items, block.values, start.base, start.features, start.ridge, targets
        )
        size = options.step_size / (options.user_norm * options.item_norm)
        steps = np.array([size / (history.density * n_items), 0.5 * size])
        replay_factors(
            block.indptr, block.items, targets, history.start_map, history.item_factors, history.balances,
            options.user_norm, steps, U,
        )
    total, outer = np.zeros((n_items, rank), np.int64), np.zeros((rank, rank), np.int64)
    shortened = add_item_gradients(
        block.indptr, block.items, targets, V, U, options.residual_norm, gradient.norm_bound,
        float(gradient.squared_bound), total,
    )
    add_factor_products(U, products.row_norm, float(products.squared_bound), outer)
    return total, outer, np.array([shortened])


def _release_density(releases, fraction):
    lattice = releases.interval_lattice(fraction)
    state = (releases.n_items, np.array([lattice.norm_bound, float(lattice.squared_bound), releases.interval_center]))
    rated = releases.release_interval(releases.total(_sum_densities, state), lattice)
    return min(max(rated / releases.n_users, 1.0 / releases.n_items), 1.0)


def _sum_densities(block, state):
    n_items, bounds = state
    total = np.zeros(1, np.int64)
    add_densities(block.indptr, n_items, bounds, total)
    return total


def _start_factors(releases, rank, start, options, density, budget):
    n_items = releases.n_items
    if start.factors is not None:
        return to_balanced_units(start.factors)
    if options.start == "random":
        return random_factors(n_items, rank, options.item_norm)
    lattice = releases.gram_lattice(options.residual_norm, options.start_share * budget)
    secret = releases.total(_sum_rows, (start, lattice))
    A = release_symmetric(secret, lattice, releases.noise)
    A /= density**2 * releases.n_users * n_items
    if START_MODE == "diag":
        np.fill_diagonal(A, A.diagonal() * density)
    w, Q = np.linalg.eigh(A)
    if START_MODE == "bulk":
        w = w - w[:-rank].mean()
    top, Q = w[-rank:], Q[:, -rank:]
    floor = FLOOR * top[-1]
    s = np.sqrt(np.maximum(top, max(floor, 1e-12)))
    return Q * np.sqrt(s * n_items)

FLOOR = 0.0

def _sum_rows(block, state):
    start, lattice = state
    targets = np.empty(len(block.items))
    center_ratings(block.indptr, block.items, block.values, start.base, start.features, start.ridge, targets)
    total = np.zeros((len(start.base), len(start.base)), np.int64)
    add_row_products(block.indptr, block.items, targets, lattice.row_norm, float(lattice.squared_bound), total)
    return total


def project_rows(V: FloatArray, norm_bound: float) -> FloatArray:
    norms = np.linalg.norm(V, axis=1, keepdims=True)
    return V * (norm_bound / np.maximum(norms, norm_bound))


def random_factors(n_items, rank, item_norm):
    index = np.arange(1, n_items * rank + 1, dtype=np.uint64)
    triangular = index * (index + np.uint64(1)) // np.uint64(2)
    words = triangular * np.uint64(_GOLDEN)  # modulo 2^64
    uniforms = ((words >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52
    return ndtri(uniforms).reshape(n_items, rank) * (item_norm / (2 * math.sqrt(rank)))


def symmetric_power(A, exponent):
    w, Q = np.linalg.eigh(A)
    w = np.maximum(w, 1e-9 * max(float(w[-1]), 1e-300))
    return (Q * w**exponent) @ Q.T


def to_prior_units(V):
    return V @ symmetric_power(V.T @ V / len(V), 0.5)


def to_balanced_units(V):
    return V @ symmetric_power(V.T @ V / len(V), -0.25)
