"""Alternating minimization: Algorithms 1 to 3 of the paper, with whole users bounded and exact composition.

Releases   1 whitening and 2 start, as in `gradient`; 3 steps: normal equations of the subspace, a (d k, d k) matrix and
           its right side, for heads that users fit to the other half of their records; 4 the prior of heads.
Differs    from the paper: users are bounded as a whole by a private quantile, not record by record; by default all of
           them take part in every step; eigenvalues of the matrix are floored at its noise, without which it is
           indefinite; the right side is by default that of the change of the subspace, whose noise shrinks with the
           residuals.
Privacy    docs/privacy/personalization.md, Theorem 1 and Lemma 4; Theorem 3 for parts of the users.
"""

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hushrank.estimators.personalization.altmin_kernels import Equations
from hushrank.estimators.personalization.head_prior import HeadPrior, learn_prior, search_noise
from hushrank.estimators.personalization.options import AlternatingMinimization
from hushrank.estimators.personalization.parts import select_part
from hushrank.estimators.personalization.recipe import ALTMIN, GRADIENT, plan_spending
from hushrank.estimators.personalization.start import clamp_heads, learn_start
from hushrank.estimators.personalization.subspace import Subspace, orthonormalize
from hushrank.estimators.personalization.user_sums import (
    EquationSizeState,
    EquationState,
    count_equation_sizes,
    sum_equations,
)
from hushrank.estimators.personalization.whitening import learn_whitening
from hushrank.estimators.searches import Searches, octaves
from hushrank.linalg.spectral import eigenbasis
from hushrank.linalg.threads import one_blas_thread
from hushrank.privacy.adaptive import AdaptiveReleases
from hushrank.privacy.disjoint import releases_in_parts

FloatArray = NDArray[np.float64]


def learn_altmin(
    releases: AdaptiveReleases,
    shape: tuple[int, int],
    scales: tuple[float, float],
    options: AlternatingMinimization,
    *,
    is_logistic: bool,
) -> HeadPrior:
    """Learn a subspace of `shape` (d, k) and a prior of heads with the whole budget; `scales` are x_scale, y_scale."""
    n_parts = options.steps if options.participation == "blocks" else 1
    steps = options.steps if n_parts == 1 else 1  # that every user pays for
    spending = plan_spending(releases, steps, long=3, long_a_step=2, short_a_step=1, n_parts=n_parts)
    searches, rest = Searches(releases, spending), spending.rest
    whitening = learn_whitening(releases, searches, shape[0], scales[0], rest * ALTMIN.whitening_share)
    start_share = rest * options.start_share
    state, second = learn_start(
        releases, searches, whitening, shape[1], scales[1], start_share, is_logistic=is_logistic
    )
    taken = ALTMIN.whitening_share + options.start_share + ALTMIN.prior_share + spending.check_share
    share = rest * (1.0 - taken) / spending.steps
    for part in releases_in_parts(releases, n_parts, select_part):
        searches_of_part = Searches(part, spending)
        for _ in range(spending.steps):
            state = _step(part, searches_of_part, state, second, share, is_residual=options.right_side == "residual")
    return learn_prior(releases, searches, state, second, rest * ALTMIN.prior_share)


def _step(
    releases: AdaptiveReleases, searches: Searches, state: Subspace, second: float, share: float, *, is_residual: bool
) -> Subspace:
    """One alternation: the variance of the noise, the normal equations, and the subspace that they give."""
    state = replace(state, noise=search_noise(searches, state, second, GRADIENT.step_octaves))
    D = _solve_equations(releases, searches, state, second, share, is_residual)
    with one_blas_thread():
        U, R = orthonormalize(state.U + D if is_residual else D)
        S = R @ state.S @ R.T
    return replace(state, U=U, S=clamp_heads(S, second, is_logistic=False))


def _solve_equations(
    releases: AdaptiveReleases, searches: Searches, state: Subspace, second: float, share: float, is_residual: bool
) -> FloatArray:
    """The solution of the noisy normal equations, of shape (d, k)."""
    d, k = state.U.shape
    equations = Equations(state.head_model, state.whitening, is_residual)
    left_grid = searches.grid(octaves(d * second, ALTMIN.octaves, ALTMIN.octaves), is_long=True)
    right_grid = searches.grid(octaves(math.sqrt(d) * second, ALTMIN.octaves, ALTMIN.octaves), is_long=True)
    sizes = releases.total(count_equation_sizes, EquationSizeState(equations, left_grid, right_grid))
    left_bound = searches.read(sizes[0], left_grid, ALTMIN.level)
    right_bound = searches.read(sizes[1], right_grid, ALTMIN.level)
    left_lattice = releases.gram_lattice(math.sqrt(left_bound), share / 2)
    right_lattice = releases.vector_lattice(right_bound, share / 2)
    totals = releases.total(sum_equations, EquationState(equations, left_lattice, right_lattice))
    A = releases.release_symmetric(totals[0], left_lattice)
    b = releases.release(totals[1], right_lattice)
    values, Q = eigenbasis(A)
    floor = max(2.0 * left_lattice.scale * math.sqrt(d * k), np.finfo(float).tiny)
    with one_blas_thread():
        solution: FloatArray = Q @ ((Q.T @ b.ravel()) / np.maximum(values, floor))
    return solution.reshape(d, k)
