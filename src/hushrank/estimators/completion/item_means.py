"""How often items are rated and how well: the first releases of a rating model.

Statistics 1 a low quantile of the numbers of ratings, 2 counts of the items over users weighted so that nobody has
           more influence than a user at that quantile, 3 the mean of the users' means, 4 sums of residuals by item.
Post       item means shrunk to a line in the logarithm of the counts; what every user regresses on: an offset, a slope
           on the item means and a slope on the popularity. The regression is the user's own and costs no budget.
Privacy    docs/privacy/completion.md, Lemmas 1 to 3.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hushrank.estimators.completion.user_sums import (
    Regression,
    Shaping,
    StepState,
    count_ratings,
    sum_counts,
    sum_residuals,
    sum_user_means,
)
from hushrank.privacy.adaptive import UserReleases

FloatArray = NDArray[np.float64]

# Shares of mu^2.
QUANTILE_SHARE, COUNTS_SHARE, MEAN_SHARE = 0.01, 0.08, 0.005
CLIP_SHARE = 0.002  # of the mean factor by which contributions were shortened, each time

_GRID_POINTS = 128
_LOW_QUANTILE = 0.25
SHAPE_POWER = 0.25  # contributions are shaped by counts^-1/4: rare items get less noise, popular ones more
CLIP = 0.7  # bound on a user's residuals, in units of the norm to expect
_LINE_VARIANCES = np.array([0.05, 0.02])  # prior variances of the line's level and slope
_GLOBAL_VARIANCE = 0.09  # prior variance of the mean of all ratings, in half ranges squared


@dataclass(frozen=True, slots=True)
class Prior:
    """Variances of a rating model, in half ranges squared: where estimation starts, for any data.

    Attributes
    ----------
    noise : of a rating about its prediction
    offset, slope, popularity : of the users' three coefficients
    item : of an item mean about its line
    """

    noise: float = 0.2
    offset: float = 0.05
    slope: float = 0.2
    popularity: float = 0.0075
    item: float = 0.0375


@dataclass(frozen=True, slots=True)
class Activity:
    """Released numbers about who rates what.

    Attributes
    ----------
    count_norm : float
        Root of the quantile of the numbers of ratings.
    counts : ndarray of shape (n_items,)
        Weighted numbers of ratings, above 0.
    shape : ndarray of shape (n_items,)
        Factors of the contributions, of mean square 1 over ratings.
    center : float
        Mean of all ratings.
    """

    count_norm: float
    counts: FloatArray
    shape: FloatArray
    center: float

    @property
    def shaping(self) -> Shaping:
        """Weights of contributions."""
        return Shaping(self.shape, self.count_norm)

    @property
    def weights(self) -> FloatArray:
        """Shares of the items in all ratings."""
        return np.asarray(self.counts / self.counts.sum())


@dataclass(frozen=True, slots=True)
class Means:
    """Item means, less the center, and the precision-weighted sums that further rounds go on from."""

    means: FloatArray
    weighted: FloatArray
    precisions: FloatArray


def release_activity(releases: UserReleases, *, with_center: bool = True) -> Activity:
    """Release how active users are, how popular items are and, for ratings, the mean of all of them."""
    n_items = releases.n_items
    grid = np.geomspace(1.0, max(n_items, 2), _GRID_POINTS)
    count_norm = math.sqrt(releases.quantile(count_ratings, None, grid, _LOW_QUANTILE, QUANTILE_SHARE))
    lattice = releases.vector_lattice(count_norm, COUNTS_SHARE, nonnegative=True)
    counts = releases.release(releases.total(sum_counts, (n_items, lattice)), lattice)
    counts = np.maximum(counts, 0.5 * lattice.scale)
    shape = (counts / counts.max()) ** -SHAPE_POWER
    shape /= math.sqrt(float((counts * shape**2).sum() / counts.sum()))
    return Activity(count_norm, counts, shape, _release_center(releases) if with_center else 0.0)


def _release_center(releases: UserReleases) -> float:
    lattice = releases.vector_lattice(1.0, MEAN_SHARE)
    mean = float(releases.release(releases.total(sum_user_means, lattice), lattice)[0]) / releases.n_users
    variance = (lattice.scale / releases.n_users) ** 2
    return mean * _GLOBAL_VARIANCE / (_GLOBAL_VARIANCE + variance)


def release_means(
    releases: UserReleases, activity: Activity, prior: Prior, share: float, n_rounds: int, start: Means | None = None
) -> Means:
    """Release sums of residuals in rounds of equal shares and combine all of them into item means.

    Each round takes residuals about the means of the round before, so clipping bites less and less.
    """
    n_items, first = releases.n_items, start is None
    state = Means(np.zeros(n_items), np.zeros(n_items), np.zeros(n_items)) if start is None else start
    for i in range(n_rounds):
        has_slopes = i > 0 or not first
        state = _one_round(releases, activity, prior, share / n_rounds - CLIP_SHARE, state, has_slopes)
    return state


def _one_round(
    releases: UserReleases, activity: Activity, prior: Prior, share: float, state: Means, has_slopes: bool
) -> Means:
    W = user_columns(state.means, activity, prior)[:, : 3 if has_slopes else 1]
    model = Regression(activity.center + state.means, np.ascontiguousarray(W), prior.noise)
    bound = CLIP * activity.count_norm * math.sqrt(prior.noise)
    lattice, clip_lattice = releases.vector_lattice(bound, share), releases.interval_lattice(CLIP_SHARE)
    step = StepState(model, activity.shaping, lattice, clip_lattice, releases.interval_center)
    total, clipped = releases.total(sum_residuals, step)
    kept = mean_factor(releases, releases.release_interval(clipped, clip_lattice))
    sums, deviations = releases.release(total, lattice) / activity.shape, lattice.scale / activity.shape
    effective = kept * activity.counts
    precisions = (effective / deviations) ** 2
    weighted = state.weighted + precisions * (state.means + sums / effective)
    return _shrink(replace(state, weighted=weighted, precisions=state.precisions + precisions), activity, prior)


def mean_factor(releases: UserReleases, total: float) -> float:
    """Mean factor by which contributions were shortened, from its noisy sum."""
    return min(max(total / releases.n_users, 0.2), 1.0)


def _shrink(state: Means, activity: Activity, prior: Prior) -> Means:
    """Means drawn towards a line in the logarithm of the counts, as far as their variance asks for."""
    estimates, variances = state.weighted / state.precisions, 1 / state.precisions + prior.noise / activity.counts
    popularity = np.log(np.maximum(activity.counts, 1.0))
    popularity = (popularity - popularity.mean()) / max(float(popularity.std()), 1e-9)
    line = np.column_stack([np.ones(len(popularity)), popularity])
    weights = 1 / (variances + prior.item)
    normal = line.T @ (weights[:, None] * line) + np.diag(1 / _LINE_VARIANCES)
    expected = line @ np.linalg.solve(normal, line.T @ (weights * estimates))
    return replace(state, means=expected + prior.item * weights * (estimates - expected))


def user_columns(means: FloatArray, activity: Activity, prior: Prior) -> FloatArray:
    """What every user regresses on: ones, centered item means, standardized log counts, each times its deviation."""
    weights = activity.weights
    popularity = np.log(np.maximum(activity.counts, 1.0))
    popularity = popularity - weights @ popularity
    popularity /= math.sqrt(max(float(weights @ popularity**2), 1e-12))
    columns = np.column_stack([np.ones(len(means)), means - weights @ means, popularity])
    return columns * np.sqrt([prior.offset, prior.slope, prior.popularity])
