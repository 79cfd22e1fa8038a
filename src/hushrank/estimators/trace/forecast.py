"""What a fit may be expected to reach, from public numbers alone: n, the shape, the rank, the budget, and a guess.

The guess is `signal_to_noise`, the smallest singular value over the standard deviation of an answer about its
prediction. With isotropic Gaussian measurements and all singular values equal, in units of their norm:

sample    sqrt(w D / n) / (sqrt(r) snr), D = r (d1 + d2 - r), w what clipping adds to the variance;
privacy   c (z / q) D / (n mu sqrt(s)) / (sqrt(r) snr), where gradients are shortened at their quantile q, z is the same
          quantile of |N(0, 1)|, s the share of the budget that the steps have, and c = 2 for replace and 1 otherwise;
start     the edge of the noise of the start over the smallest singular value. Measured, not proved: below
          START_DEGRADED starts were found, above START_HOPELESS they were lost. What is lost counts as an error.
"""

import math
from statistics import NormalDist
from typing import NamedTuple

from hushrank.estimators.trace.recipe import TraceRecipe
from hushrank.privacy.guarantee import Neighbors

START_DEGRADED, START_HOPELESS = 1.2, 3.0
_START_EVEN, _START_POWER = 2.3, 6.0  # measured: half of the matrix is lost here, and how fast that changes


class Setting(NamedTuple):
    """Public numbers of a fit.

    Attributes
    ----------
    n_records : int
    shape : tuple of int
    rank : int
    mu : float
        Of Gaussian DP, for the whole budget.
    neighbors : Neighbors
    signal_to_noise : float
    """

    n_records: int
    shape: tuple[int, int]
    rank: int
    mu: float
    neighbors: Neighbors
    signal_to_noise: float

    @property
    def n_parameters(self) -> int:
        """Dimension of the matrices of this rank."""
        return self.rank * (sum(self.shape) - self.rank)

    @property
    def change(self) -> float:
        """How far a record of norm 1 can move a sum."""
        return 2.0 if self.neighbors is Neighbors.REPLACE else 1.0


def sample_error(setting: Setting, recipe: TraceRecipe) -> float:
    """Relative error that the sample makes.

    Examples
    --------
    >>> from hushrank.estimators.trace.recipe import RECIPES
    >>> setting = Setting(20_000, (20, 20), 2, 0.26, Neighbors.REPLACE, 2.0)
    >>> round(sample_error(setting, RECIPES["dense"]), 4)
    0.0238
    """
    inflation = clipped_variance(recipe.level)
    return math.sqrt(inflation * setting.n_parameters / setting.n_records) / _norm(setting)


def privacy_error(setting: Setting, recipe: TraceRecipe) -> float:
    """Relative error that the noise of the releases makes.

    Examples
    --------
    >>> from hushrank.estimators.trace.recipe import RECIPES
    >>> setting = Setting(20_000, (20, 20), 2, 0.26, Neighbors.REPLACE, 2.0)
    >>> round(privacy_error(setting, RECIPES["dense"]), 4)
    0.018
    """
    steps = 1.0 - recipe.whitening_share - recipe.start_share - recipe.check_share - recipe.first_share
    people = setting.n_records * setting.mu * math.sqrt(steps)
    return setting.change * _bound(recipe) * setting.n_parameters / people / _norm(setting)


def start_ratio(setting: Setting, recipe: TraceRecipe) -> float:
    """Edge of the noise of the start over the smallest singular value."""
    (d1, d2), signal = setting.shape, setting.signal_to_noise
    answers = math.sqrt(1.0 + setting.rank * signal**2)
    people = setting.n_records * setting.mu * math.sqrt(recipe.start_share)
    edge = setting.change * _bound(recipe) * answers * math.sqrt(d1 * d2) * (math.sqrt(d1) + math.sqrt(d2)) / people
    return edge / signal


def start_error(setting: Setting, recipe: TraceRecipe) -> float:
    """Relative error that is left of a start that was lost in its noise, on average: from nothing to the whole.

    Examples
    --------
    >>> from hushrank.estimators.trace.recipe import RECIPES
    >>> setting = Setting(20_000, (20, 20), 2, 0.26, Neighbors.REPLACE, 2.0)
    >>> start_error(setting, RECIPES["dense"]) < 1e-4 < start_error(setting._replace(mu=0.05), RECIPES["dense"])
    True
    """
    return 1.0 / (1.0 + math.pow(_START_EVEN / start_ratio(setting, recipe), _START_POWER))


def clipped_variance(level: float) -> float:
    """Variance of a clipped mean over that of the mean, for normal residuals: E psi^2 / P(|r| < z)^2.

    Examples
    --------
    >>> round(clipped_variance(0.5), 3), round(clipped_variance(0.9), 3)
    (1.195, 1.026)
    """
    z = _quantile(level)
    squares = level - 2.0 * z * NormalDist().pdf(z) + z * z * (1.0 - level)
    return squares / level**2


def _norm(setting: Setting) -> float:
    return math.sqrt(setting.rank) * setting.signal_to_noise


def _bound(recipe: TraceRecipe) -> float:
    return _quantile(recipe.level) / recipe.level


def _quantile(level: float) -> float:
    return NormalDist().inv_cdf((1.0 + level) / 2.0)
