"""The default method: a whitened spectral start, then Newton steps on the subspace with the users' own ridge heads.

Releases   1 whitening, 2 start, 3 steps: the sum of the users' tangent gradients and of their normalizers, 4 the prior
           of heads; before each, clip bounds and the variance of the noise by noisy searches.
Steps      E = (sum G) (sum N)^-1 needs no step size. Each of its columns is shrunk by what the noise adds to it (James
           and Stein), or by the gain of a Kalman filter where the step before left more open: further steps cost next
           to nothing where the noise dominates, so their number need not be tuned.
Privacy    docs/privacy/personalization.md, Theorem 1.
"""

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hushrank.estimators.personalization.head_prior import HeadPrior, learn_prior, search_noise
from hushrank.estimators.personalization.options import GradientSteps
from hushrank.estimators.personalization.recipe import GRADIENT, plan_spending
from hushrank.estimators.personalization.start import clamp_heads, learn_start
from hushrank.estimators.personalization.subspace import Subspace, turn
from hushrank.estimators.personalization.user_sums import (
    GradientState,
    SizeState,
    count_gradient_sizes,
    sum_gradients,
)
from hushrank.estimators.personalization.whitening import learn_whitening
from hushrank.estimators.searches import Searches, octaves
from hushrank.linalg.spectral import eigenbasis
from hushrank.linalg.threads import one_blas_thread
from hushrank.privacy.adaptive import AdaptiveReleases

FloatArray = NDArray[np.float64]


def learn_gradient(
    releases: AdaptiveReleases,
    shape: tuple[int, int],
    scales: tuple[float, float],
    options: GradientSteps,
    *,
    is_logistic: bool,
) -> HeadPrior:
    """Learn a subspace of `shape` (d, k) and a prior of heads with the whole budget.

    `scales` are x_scale and y_scale.
    """
    d, k = shape
    # Labels have neither a second moment nor a variance of the noise to search for.
    long, short_a_step = (3, 2) if is_logistic else (4, 3)
    spending = plan_spending(releases, options.steps, long=long, short_a_step=short_a_step)
    searches = Searches(releases, spending)
    whitening = learn_whitening(releases, searches, d, scales[0], spending.rest * GRADIENT.whitening_share)
    state, second = learn_start(
        releases, searches, whitening, k, scales[1], spending.rest * GRADIENT.start_share, is_logistic=is_logistic
    )
    descent = Descent(releases, searches, second)
    taken = GRADIENT.whitening_share + GRADIENT.start_share + GRADIENT.prior_share + spending.check_share
    for _ in range(spending.steps):
        state = descent.step(state, spending.rest * (1.0 - taken) / spending.steps)
    return learn_prior(releases, searches, state, second, spending.rest * GRADIENT.prior_share)


class Descent:
    """Steps of one fit, and what they tell each other: the last clip bound, and the variance that the last step left.

    Parameters
    ----------
    releases : AdaptiveReleases
    searches : Searches
    second : float
        Second moment of an answer.
    """

    def __init__(self, releases: AdaptiveReleases, searches: Searches, second: float) -> None:
        self._releases, self._searches, self._second = releases, searches, second
        self._bound: float | None = None
        self._open: float | None = None

    def step(self, state: Subspace, share: float) -> Subspace:
        """The next subspace, for this share of the whole budget and that of the searches."""
        if not state.is_logistic:
            state = replace(state, noise=search_noise(self._searches, state, self._second, GRADIENT.step_octaves))
        bound, size = self._find_bounds(state)
        normalizer_share = share * GRADIENT.normalizer_share
        lattice = self._releases.vector_lattice(bound, share - normalizer_share)
        normalizer_lattice = self._releases.gram_lattice(math.sqrt(size), normalizer_share)
        public = GradientState(state.head_model, state.tangent, lattice, normalizer_lattice)
        totals = self._releases.total(sum_gradients, public)
        H = self._releases.release(totals[0], lattice).T
        N = self._releases.release_symmetric(totals[1], normalizer_lattice)
        least = max(0.1 * size * self._releases.n_people, np.finfo(float).tiny)
        E = self._newton_step(state.U, H, N, (lattice.scale, normalizer_lattice.scale), least)
        with one_blas_thread():
            U, S = turn(state, E @ state.tangent.root)
        return replace(state, U=U, S=clamp_heads(S, self._second, is_logistic=state.is_logistic))

    def _find_bounds(self, state: Subspace) -> tuple[float, float]:
        """Bounds on the norm of a gradient and on that of a normalizer."""
        d, k = state.U.shape
        is_first = self._bound is None
        window = octaves(math.sqrt(d * self._second), 12, 8) if self._bound is None else octaves(self._bound, 5, 1)
        norm_grid = self._searches.grid(window, is_long=is_first)
        size_grid = self._searches.grid(octaves(float(k), 6, 12), is_long=False)
        public = SizeState(state.head_model, state.tangent, norm_grid, size_grid)
        norms, sizes = self._releases.total(count_gradient_sizes, public)
        self._bound = self._searches.read(norms, norm_grid, GRADIENT.gradient_level)
        return self._bound, self._searches.read(sizes, size_grid, GRADIENT.normalizer_level)

    def _newton_step(
        self, U: FloatArray, H: FloatArray, N: FloatArray, scales: tuple[float, float], least: float
    ) -> FloatArray:
        """H N^-1 with the noise of both reckoned with: the change of U S^1/2, of shape (d, k)."""
        d, k = U.shape
        values, Q = eigenbasis(N)
        level = max(float(values.mean()), least)
        values = np.maximum(values, max(0.25 * level, 2.0 * scales[1] * math.sqrt(k)))
        with one_blas_thread():
            E = ((H - U @ (U.T @ H)) @ Q) / values
        noise = (scales[0] / values) ** 2 * (d - k)
        energy = (E * E).sum(axis=0)
        gain = np.maximum(0.0, energy - noise) / np.maximum(energy, np.finfo(float).tiny)
        if self._open is not None:
            gain = np.maximum(gain, min(1.0, self._open / max(self._open + float(noise.sum()), np.finfo(float).tiny)))
        self._open = float((gain * noise).sum())
        with one_blas_thread():
            step: FloatArray = (E * gain) @ Q.T
        return step
