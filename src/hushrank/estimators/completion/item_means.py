"""How often items are rated and how well: the first releases of a rating model.

Statistics 1 a low quantile of the numbers of ratings, 2 counts of the items over users weighted so that nobody has
           more influence than a user at that quantile, 3 the mean of the users' means, 4 sums of residuals by item.
Post       item means shrunk to a line in the logarithm of the counts and in public features; what every user regresses
           on: an offset, a slope on the item means, one on the popularity and one on each feature. The regression is
           the user's own and costs no budget.
Recipe     `recipes.ITEM_MEANS`.
Privacy    docs/privacy/completion.md, Lemmas 1 to 3.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hushrank.estimators.completion.feature_recipe import FEATURES
from hushrank.estimators.completion.item_lines import fit_line
from hushrank.estimators.completion.public_items import PublicItems
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

OWN_COLUMNS = 3
"""Of a user, beside slopes on public features: an offset, a slope on the item means and one on the popularity."""


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
    items : PublicItems
        What is public about the items, and which of it is used.
    released : ndarray of shape (n_items,)
        The weighted numbers as they were released.
    deviation : float
        Of their noise.
    """

    count_norm: float
    counts: FloatArray
    item_weights: FloatArray
    center: float
    items: PublicItems
    released: FloatArray
    deviation: float

    @property
    def weights(self) -> Weights:
        """Weights of contributions."""
        return Weights(self.item_weights, self.count_norm)

    @property
    def rating_shares(self) -> FloatArray:
        """Shares of the items in all ratings."""
        return np.asarray(self.counts / self.counts.sum())

    @property
    def log_counts(self) -> FloatArray:
        """Popularity, as lines and slopes follow it: new items have that of a typical rating.

        With public features to tell about rare items, popularity is not followed far below what most ratings tell.
        """
        logs, shares = np.log(np.maximum(self.counts, 1.0)), self.rating_shares
        if self.items.G.shape[1]:
            typical = float(shares @ logs)
            spread = math.sqrt(max(float(shares @ (logs - typical) ** 2), 1e-12))
            logs = np.maximum(logs, typical - FEATURES.least_popularity * spread)
        if self.items.is_new.any():
            logs = np.where(self.items.is_new, shares @ logs, logs)
        return logs


@dataclass(frozen=True, slots=True)
class Line:
    """What item means are expected to be before ratings of the items tell, and by how much that changes with features.

    Attributes
    ----------
    values : ndarray of shape (n_items,)
    along : ndarray of shape (n_columns,)
        For each public feature.
    """

    values: FloatArray
    along: FloatArray


@dataclass(frozen=True, slots=True)
class Means:
    """Item means, less the center, and the precision-weighted sums that further rounds go on from.

    `along` is what means are expected to change by with each public feature; `start` is the part of that, and of the
    means, that was known before the first round.
    """

    means: FloatArray
    weighted: FloatArray
    precisions: FloatArray
    along: FloatArray
    start: Line


def release_census(releases: RatingReleases, *, with_center: bool = True) -> Census:
    """Release how active users are, how popular items are and, for ratings, the mean of all of them."""
    n_items, recipe = releases.n_items, ITEM_MEANS
    grid = geometric_grid(1.0, float(max(n_items, 2)), recipe.grid_points)
    quantile = releases.quantile(count_ratings, None, grid, recipe.low_quantile, recipe.quantile_share)
    count_norm = math.sqrt(quantile)
    lattice = releases.vector_lattice(count_norm, recipe.counts_share, nonnegative=True)
    released = releases.release(releases.total(sum_counts, (n_items, lattice)), lattice)
    counts = positive_counts(released, lattice.scale, releases.items)
    item_weights = (counts / counts.max()) ** -recipe.weight_power
    item_weights /= math.sqrt(float((counts * item_weights**2).sum() / counts.sum()))
    center = _release_center(releases) if with_center else 0.0
    return Census(count_norm, counts, item_weights, center, releases.items, released, lattice.scale)


def positive_counts(released: FloatArray, deviation: float, items: PublicItems) -> FloatArray:
    """Released counts, at least half of a deviation of their noise; of new items next to nothing."""
    least = ITEM_MEANS.least_count * deviation
    return np.where(items.is_new, ITEM_MEANS.new_count * least, np.maximum(released, least))


def _release_center(releases: RatingReleases) -> float:
    lattice = releases.vector_lattice(1.0, ITEM_MEANS.center_share)
    mean = float(releases.release(releases.total(sum_user_means, lattice), lattice)[0]) / releases.n_people
    variance = (lattice.scale / releases.n_people) ** 2
    return mean * ITEM_MEANS.center_variance / (ITEM_MEANS.center_variance + variance)


def no_line(items: PublicItems) -> Line:
    """Where nothing is known."""
    n_items, n_columns = items.G.shape
    return Line(np.zeros(n_items), np.zeros(n_columns))


def first_means(start: Line) -> Means:
    """Where the rounds begin."""
    zeros = np.zeros(len(start.values))
    return Means(start.values, zeros, zeros, start.along, start)


def release_means(
    releases: RatingReleases, census: Census, prior: Prior, share: float, n_rounds: int, start: Means | None = None
) -> Means:
    """Release sums of residuals in rounds of equal shares and combine all of them into item means.

    Each round takes residuals about the means of the round before, so clipping bites less and less.
    """
    state = first_means(no_line(census.items)) if start is None else start
    for i in range(n_rounds):
        state = release_round(releases, census, prior, share / n_rounds, state, has_slopes=i > 0 or start is not None)
    return state


def release_round(
    releases: RatingReleases, census: Census, prior: Prior, share: float, state: Means, *, has_slopes: bool
) -> Means:
    """One round: residuals about the means so far, with all of a user's slopes or with the offset alone."""
    W = user_columns(state.means, census, prior)
    model = Regression(census.center + state.means, np.ascontiguousarray(W if has_slopes else W[:, :1]), prior.noise)
    clip = FEATURES.clip if has_slopes and census.items.n_slopes else ITEM_MEANS.clip
    bound = clip * census.count_norm * math.sqrt(prior.noise)
    lattice = releases.vector_lattice(bound, share - ITEM_MEANS.clip_share)
    clip_lattice = releases.interval_lattice(ITEM_MEANS.clip_share)
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
    """Means drawn towards a line in the logarithm of the counts and in features, as far as their variance asks for.

    The line is fitted to what they are beyond the line that was known at the start.
    """
    start = state.start
    estimates, variances = state.weighted / state.precisions, 1 / state.precisions + prior.noise / census.counts
    popularity = census.log_counts
    known = popularity[~census.items.is_new] if census.items.is_new.any() else popularity
    popularity = (popularity - known.mean()) / max(float(known.std()), 1e-9)
    weights = 1 / (variances + prior.item)
    expected, along = fit_line(popularity, census.items.G, estimates - start.values, weights)
    expected += start.values
    return replace(state, means=expected + prior.item * weights * (estimates - expected), along=along + start.along)


def user_columns(means: FloatArray, census: Census, prior: Prior) -> FloatArray:
    """What every user regresses on: ones, item means, log counts, slopes on features, each times its deviation.

    All but the first are centered over ratings.
    """
    shares, slopes = census.rating_shares, census.items.slopes
    popularity = census.log_counts
    popularity = popularity - shares @ popularity
    popularity /= math.sqrt(max(float(shares @ popularity**2), 1e-12))
    columns = np.column_stack([np.ones(len(means)), means - shares @ means, popularity, slopes - shares @ slopes])
    return columns * np.sqrt(column_variances(census.items, prior))


def column_variances(items: PublicItems, prior: Prior) -> tuple[float, ...]:
    """Variances of a user's coefficients."""
    return (prior.offset, prior.slope, prior.popularity, *slope_variances(items, prior))


def slope_variances(items: PublicItems, prior: Prior) -> tuple[float, ...]:
    """Variances of the users' slopes on features; equal where they are not estimated yet."""
    return prior.features or (FEATURES.start_variance,) * items.n_slopes
