"""A matrix of low rank but for its factors: numbers about its observed entries, and the variance of the noise.

Releases   1 the share of entries observed, 2 a low quantile of the norms of the rows, 3 two sums of clipped squares,
           4 the variance of the noise, as often as it is asked for.
Recipe     `recipes.MATRIX`.
Privacy    docs/privacy/completion.md, Theorem 1 and Lemmas 1, 2, 5 and 6.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushrank.estimators.completion.item_marks import Marks
from hushrank.estimators.completion.model import CompletionModel, FactorLearner
from hushrank.estimators.completion.rating_kernels import Regression
from hushrank.estimators.completion.recipes import MATRIX
from hushrank.estimators.completion.releases import RatingReleases
from hushrank.estimators.completion.user_sums import count_norms, sum_fractions, sum_noise_levels, sum_squares

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Entries:
    """Released numbers about the observed entries: their share, their second moment, and how rows are clipped."""

    share: float
    second_moment: float
    row_norm: float
    stretch: float


@dataclass(frozen=True, slots=True)
class MatrixState:
    """Factors, the variance of their error in each column, and the variance of the noise.

    `strength` is how far factors stand above the noise of a spectral start, where there is one.
    """

    factors: FloatArray
    errors: FloatArray
    noise: float
    strength: FloatArray | None = None

    @property
    def regression(self) -> Regression:
        """What every user regresses on."""
        return Regression(np.zeros(len(self.factors)), np.ascontiguousarray(self.factors), self.noise)

    @property
    def model(self) -> CompletionModel:
        """The model as it is released."""
        n = len(self.factors)
        marks = Marks(strength=self.strength)
        return CompletionModel(np.zeros(n), np.zeros((n, 0)), self.factors, self.noise, np.ones(n), marks=marks)


def learn_matrix_around(releases: RatingReleases, learn_factors: FactorLearner) -> CompletionModel:
    """The variance of the noise, after factors that are learned in whatever way."""
    entries = describe_entries(releases)
    state = MatrixState(np.zeros((releases.n_items, 0)), np.zeros(0), entries.second_moment / 2)
    state = replace(state, factors=learn_factors(state.model, releases.left - 2 * MATRIX.noise_share))
    for _ in range(2):
        state = estimate_noise(releases, entries, state)
    return state.model


def describe_entries(releases: RatingReleases) -> Entries:
    """Release numbers about the observed entries."""
    n_items, m, center = releases.n_items, releases.n_people, releases.interval_center

    def release_sum(kernel: Callable[..., Any], number: float, share: float) -> float:
        lattice = releases.interval_lattice(share)
        return releases.release_interval(releases.total(kernel, (number, center, lattice)), lattice)

    share = min(max(release_sum(sum_fractions, float(n_items), MATRIX.fraction_share) / m, 1 / n_items), 1.0)
    grid = MATRIX.norm_grid(n_items)
    norm = releases.quantile(count_norms, None, grid, MATRIX.norm_quantile, MATRIX.norm_share)
    at_norm, at_double = (release_sum(sum_squares, factor * norm, MATRIX.squares_share) for factor in (1.0, 2.0))
    second_moment = max(at_double / m, MATRIX.least_square) * 4 * norm**2 / (n_items * share)
    # How much of the squared norm clipping took away, on average.
    least, most = MATRIX.stretches
    stretch = min(max(4 * at_double / max(at_norm, MATRIX.least_clipped * m), least), most)
    return Entries(share, second_moment, norm, stretch)


def estimate_noise(releases: RatingReleases, entries: Entries, state: MatrixState) -> MatrixState:
    """Variance of the noise from the residuals and their degrees of freedom."""
    share = min(MATRIX.noise_share, releases.left)
    lattice = releases.vector_lattice(MATRIX.freedom_norm, share, nonnegative=True)
    expected = releases.n_items * entries.share
    sums = releases.release(releases.total(sum_noise_levels, (state.regression, expected, lattice)), lattice)
    least, most = MATRIX.noise_ratios
    ratio = min(max(float(sums[0]) / max(float(sums[1]), MATRIX.least_freedom * releases.n_people), least), most)
    return replace(state, noise=max(state.noise * ratio, MATRIX.least_noise * entries.second_moment))
