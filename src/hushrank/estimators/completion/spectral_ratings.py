"""The default method for ratings: item means, local user slopes, a spectral start and noisy EM steps.

Releases   those of `rating_model` and, before the last of them, the second moment, without diagonal, of rows (residual
           + constant) over the most popular items, and EM steps for means and factors.
Adaptive   whether there are factors, how many, and how much budget goes where depend on released values only.
Recipe     `recipes.RATINGS`.
Privacy    docs/privacy/completion.md, Theorem 1 and Lemmas 1 to 6.
"""

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hushrank.estimators.completion.item_means import Census, Means, mean_factor, release_census, release_means
from hushrank.estimators.completion.model import CompletionModel
from hushrank.estimators.completion.rating_kernels import RowsOfItems
from hushrank.estimators.completion.rating_model import RatingState, choose_variant, estimate_variances
from hushrank.estimators.completion.recipes import ITEM_MEANS, RATINGS, Prior
from hushrank.estimators.completion.releases import RatingReleases
from hushrank.estimators.completion.user_sums import (
    ItemSumState,
    RowState,
    SecondMoment,
    most_counted,
    place_items,
    sum_gradients,
)
from hushrank.linalg.hollow import project_out, top_hollow_eigenpairs

FloatArray = NDArray[np.float64]


def learn_ratings(releases: RatingReleases, rank: int, top_items: int) -> CompletionModel:
    """Learn item means and up to `rank` factors, with all that is left of the budget."""
    census, prior = release_census(releases), Prior()
    n_top = items_with_factors(releases, census, rank, top_items)
    without_factors = releases.left - RATINGS.check_share - 2 * RATINGS.moments_share
    share = RATINGS.means_share if n_top else without_factors
    means = release_means(releases, census, prior, share, RATINGS.mean_rounds)
    state = RatingState(census, prior, means.means, np.zeros((releases.n_items, 0)))
    state = estimate_variances(releases, state)
    if n_top:
        state = _learn_factors(releases, state, means, min(rank, n_top // 4), n_top)
    state = estimate_variances(releases, state)
    return choose_variant(releases, state)


def items_with_factors(releases: RatingReleases, census: Census, rank: int, top_items: int) -> int:
    """How many items, the most popular ones, can have factors; 0 if they carry too few ratings for any.

    So many that a typical first eigenvalue of their second moment is about twice the noise edge; they must carry 40 %
    of the ratings, and a user at the low quantile must have more ratings of them than there are factors.
    """
    n_items = releases.n_items
    detectable = RATINGS.top_items_per_user * releases.n_people * releases.mu * math.sqrt(RATINGS.spectral_share)
    top = int(min(max(detectable, min(RATINGS.fewest_top_items, n_items)), n_items, top_items))
    cover = float(np.sort(census.counts)[::-1][:top].sum() / census.counts.sum())
    has_factors = top >= 4 and cover >= RATINGS.least_cover and census.count_norm**2 * cover >= rank
    return top if has_factors else 0


def _learn_factors(releases: RatingReleases, state: RatingState, means: Means, rank: int, n_top: int) -> RatingState:
    """Spectral start and EM steps; where no factor stands above the noise, the budget goes back to the means."""
    state = replace(state, factors=_spectral_factors(releases, state, rank, n_top))
    if state.factors.shape[1] == 0:
        share = releases.left - RATINGS.check_share - RATINGS.moments_share
        more = release_means(releases, state.census, state.prior, share, RATINGS.mean_rounds, means)
        return replace(state, means=more.means)
    state = estimate_variances(releases, state)
    share = (releases.left - RATINGS.check_share - RATINGS.moments_share) / RATINGS.em_rounds
    for _ in range(RATINGS.em_rounds):
        state = _em_step(releases, state, share - ITEM_MEANS.clip_share)
    return state


def _spectral_factors(releases: RatingReleases, state: RatingState, rank: int, n_top: int) -> FloatArray:
    """Factors from the second moment of rows (residual + constant), which sees who rates what as well as how."""
    census, n_items = state.census, releases.n_items
    chosen = most_counted(census.counts, n_top)
    popularity = np.maximum(census.counts, 1.0) / max(float(census.counts.max()), 1.0)
    scales = popularity**-RATINGS.row_power
    lattice = releases.gram_lattice(1.0, RATINGS.spectral_share)
    rows = RowsOfItems(math.sqrt(state.prior.noise), scales, place_items(chosen, n_items), True)
    (total,) = releases.total(SecondMoment(), RowState(state.regression, rows, lattice))
    S = releases.release_hollow(total, lattice)
    expected = (popularity * scales)[chosen]
    project_out(S, expected / np.linalg.norm(expected))  # what popularity alone explains
    Q, _, alignments = top_hollow_eigenpairs(S, rank, lattice.scale, rounds=RATINGS.rounds, cut=RATINGS.cut)
    factors = np.zeros((n_items, Q.shape[1]))
    factors[chosen] = Q / expected[:, None]
    norms = np.sqrt(np.maximum(census.rating_shares @ factors**2, 1e-12))
    most = RATINGS.largest_factor
    scaled: FloatArray = np.clip(factors / norms * np.sqrt(alignments), -most, most)
    return scaled * math.sqrt(RATINGS.factor_variance)


def _em_step(releases: RatingReleases, state: RatingState, share: float) -> RatingState:
    """One noisy EM step for item means and factors, with the gain of a Wiener filter."""
    census, prior = state.census, state.prior
    bound = census.count_norm * math.sqrt(prior.noise)
    lattice, clip_lattice = releases.vector_lattice(bound, share), releases.interval_lattice(ITEM_MEANS.clip_share)
    n_fixed = state.features.shape[1]
    public = ItemSumState(
        state.regression, census.weights, lattice, clip_lattice, releases.interval_center, first_column=n_fixed
    )
    total, shortened = releases.total(sum_gradients, public)
    effective = mean_factor(releases, releases.release_interval(shortened, clip_lattice)) * census.counts
    gradient = releases.release(total, lattice) / census.item_weights[:, None]
    deviations = lattice.scale / census.item_weights
    for_means = _gain(effective, deviations, prior.noise, RATINGS.mean_step_part * prior.item)
    for_factors = _gain(effective, deviations, prior.noise, RATINGS.factor_step_variance)
    return replace(
        state,
        means=state.means + RATINGS.step_size * for_means * gradient[:, 0],
        factors=state.factors + RATINGS.step_size * for_factors[:, None] * gradient[:, 1:],
    )


def _gain(counts: FloatArray, deviations: FloatArray, noise: float, variance: float) -> FloatArray:
    return counts / (counts**2 + deviations**2 / variance + counts * noise / variance)
