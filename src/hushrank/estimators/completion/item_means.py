"""How often items are rated and how well: the first releases of a rating model.

Statistics 1 a low quantile of the numbers of ratings, 2 counts of the items over users weighted so that nobody has
           more influence than a user at that quantile, 3 the mean of the users' means, 4 sums of residuals by item.
Post       item means shrunk to a line in the logarithm of the counts; what every user regresses on: an offset, a slope
           on the item means and a slope on the popularity. The regression is the user's own and costs no budget.
Recipe     `recipes.ITEM_MEANS`.
Privacy    docs/privacy/completion.md, Lemmas 1 to 3.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hushrank.estimators.completion.rating_kernels import Regression, Weights
from hushrank.estimators.completion.recipes import ITEM_MEANS, Prior
from hushrank.estimators.completion.releases import RatingReleases
from hushrank.estimators.completion.user_sums import (
    ItemSumState,
    count_ratings,
    sum_counts,
    sum_residuals,
    sum_user_means,
)
from hushrank.linalg.histogram import geometric_grid

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Census:
    """Released numbers about who rates what.

    Attributes
    ----------
    count_norm : float
        Root of the quantile of the numbers of ratings.
    counts : ndarray of shape (n_items,)
        Weighted numbers of ratings, above 0.
    item_weights : ndarray of shape (n_items,)
        Factors of the contributions to items, of mean square 1 over ratings.
    center : float
        Mean of all ratings.
    """

    count_norm: float
    counts: FloatArray
    item_weights: FloatArray
    center: float

    @property
    def weights(self) -> Weights:
        """Weights of contributions."""
        return Weights(self.item_weights, self.count_norm)

    @property
    def rating_shares(self) -> FloatArray:
        """Shares of the items in all ratings."""
        return np.asarray(self.counts / self.counts.sum())


@dataclass(frozen=True, slots=True)
class Means:
    """Item means, less the center, and the precision-weighted sums that further rounds go on from."""

    means: FloatArray
    weighted: FloatArray
    precisions: FloatArray


def release_census(releases: RatingReleases, *, with_center: bool = True) -> Census:
    """Release how active users are, how popular items are and, for ratings, the mean of all of them."""
    n_items, recipe = releases.n_items, ITEM_MEANS
    grid = geometric_grid(1.0, float(max(n_items, 2)), recipe.grid_points)
    quantile = releases.quantile(count_ratings, None, grid, recipe.low_quantile, recipe.quantile_share)
    count_norm = math.sqrt(quantile)
    lattice = releases.vector_lattice(count_norm, recipe.counts_share, nonnegative=True)
    counts = releases.release(releases.total(sum_counts, (n_items, lattice)), lattice)
    counts = np.maximum(counts, recipe.least_count * lattice.scale)
    item_weights = (counts / counts.max()) ** -recipe.weight_power
    item_weights /= math.sqrt(float((counts * item_weights**2).sum() / counts.sum()))
    return Census(count_norm, counts, item_weights, _release_center(releases) if with_center else 0.0)


def _release_center(releases: RatingReleases) -> float:
    lattice = releases.vector_lattice(1.0, ITEM_MEANS.center_share)
    mean = float(releases.release(releases.total(sum_user_means, lattice), lattice)[0]) / releases.n_people
    variance = (lattice.scale / releases.n_people) ** 2
    return mean * ITEM_MEANS.center_variance / (ITEM_MEANS.center_variance + variance)


def release_means(
    releases: RatingReleases, census: Census, prior: Prior, share: float, n_rounds: int, start: Means | None = None
) -> Means:
    """Release sums of residuals in rounds of equal shares and combine all of them into item means.

    Each round takes residuals about the means of the round before, so clipping bites less and less.
    """
    n_items, first = releases.n_items, start is None
    state = Means(np.zeros(n_items), np.zeros(n_items), np.zeros(n_items)) if start is None else start
    for i in range(n_rounds):
        has_slopes = i > 0 or not first
        state = _one_round(releases, census, prior, share / n_rounds - ITEM_MEANS.clip_share, state, has_slopes)
    return state


def _one_round(
    releases: RatingReleases, census: Census, prior: Prior, share: float, state: Means, has_slopes: bool
) -> Means:
    W = user_columns(state.means, census, prior)[:, : 3 if has_slopes else 1]
    model = Regression(census.center + state.means, np.ascontiguousarray(W), prior.noise)
    bound = ITEM_MEANS.clip * census.count_norm * math.sqrt(prior.noise)
    lattice, clip_lattice = releases.vector_lattice(bound, share), releases.interval_lattice(ITEM_MEANS.clip_share)
    public = ItemSumState(model, census.weights, lattice, clip_lattice, releases.interval_center)
    total, shortened = releases.total(sum_residuals, public)
    kept = mean_factor(releases, releases.release_interval(shortened, clip_lattice))
    sums, deviations = releases.release(total, lattice) / census.item_weights, lattice.scale / census.item_weights
    effective = kept * census.counts
    precisions = (effective / deviations) ** 2
    weighted = state.weighted + precisions * (state.means + sums / effective)
    return _shrink(replace(state, weighted=weighted, precisions=state.precisions + precisions), census, prior)


def mean_factor(releases: RatingReleases, total: float) -> float:
    """Mean factor by which contributions were shortened, from its noisy sum."""
    return min(max(total / releases.n_people, ITEM_MEANS.least_kept), 1.0)


def _shrink(state: Means, census: Census, prior: Prior) -> Means:
    """Means drawn towards a line in the logarithm of the counts, as far as their variance asks for."""
    estimates, variances = state.weighted / state.precisions, 1 / state.precisions + prior.noise / census.counts
    popularity = np.log(np.maximum(census.counts, 1.0))
    popularity = (popularity - popularity.mean()) / max(float(popularity.std()), 1e-9)
    line = np.column_stack([np.ones(len(popularity)), popularity])
    weights = 1 / (variances + prior.item)
    normal = line.T @ (weights[:, None] * line) + np.diag(1 / np.array(ITEM_MEANS.line_variances))
    expected = line @ np.linalg.solve(normal, line.T @ (weights * estimates))
    return replace(state, means=expected + prior.item * weights * (estimates - expected))


def user_columns(means: FloatArray, census: Census, prior: Prior) -> FloatArray:
    """What every user regresses on: ones, centered item means, standardized log counts, each times its deviation."""
    shares = census.rating_shares
    popularity = np.log(np.maximum(census.counts, 1.0))
    popularity = popularity - shares @ popularity
    popularity /= math.sqrt(max(float(shares @ popularity**2), 1e-12))
    columns = np.column_stack([np.ones(len(means)), means - shares @ means, popularity])
    return columns * np.sqrt([prior.offset, prior.slope, prior.popularity])
