"""The default method for ratings: item means, local user slopes, a spectral start and noisy EM steps.

Releases   those of `rating_model` and, before the last of them, the second moment, without diagonal, of rows (residual
           + constant) over the most popular items, and EM steps for means and factors.
Adaptive   whether there are factors, how many, and how much budget goes where depend on released values only.
Recipe     `recipes.RATINGS`.
Privacy    docs/privacy/completion.md, Theorem 1 and Lemmas 1 to 6; with features also 7 and 9.
"""

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hushrank.estimators.completion.feature_recipe import FEATURES
from hushrank.estimators.completion.feature_slopes import release_means_and_slopes, share_of_slopes
from hushrank.estimators.completion.item_marks import spectral_strength
from hushrank.estimators.completion.item_means import (
    OWN_COLUMNS,
    Census,
    Means,
    mean_factor,
    release_census,
    release_means,
)
from hushrank.estimators.completion.model import CompletionModel
from hushrank.estimators.completion.rating_kernels import RowsOfItems
from hushrank.estimators.completion.rating_model import RatingState, choose_variant, estimate_variances
from hushrank.estimators.completion.recipes import ITEM_MEANS, RATINGS, Prior
from hushrank.estimators.completion.releases import RatingReleases
from hushrank.estimators.completion.spectral_implicit import noise_edge
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
    n_top, rank = items_with_factors(releases, census, rank, top_items)
    for_later = RATINGS.check_share + 2 * RATINGS.moments_share + share_of_slopes(releases.items)
    share = RATINGS.means_share if n_top else releases.left - for_later
    census, means = release_means_and_slopes(releases, census, prior, share)
    nothing = np.zeros((releases.n_items, 0))
    state = RatingState(census, prior, means.means, nothing, means.along, means.precisions)
    if not census.items.n_slopes:  # with slopes once is enough, and where they are, the start of factors does not look
        state = estimate_variances(releases, state)
    if n_top:
        state = _learn_factors(releases, state, means, rank, n_top)
    return choose_variant(releases, estimate_variances(releases, state))


def items_with_factors(releases: RatingReleases, census: Census, rank: int, top_items: int) -> tuple[int, int]:
    """How many items, the most popular ones, can have factors, and how many; 0 if they carry too few ratings for any.

    So many that a typical first eigenvalue of their second moment is about twice the noise edge; they must carry 40 %
    of the ratings. There are at most as many factors as a user at the low quantile has ratings of these items, k. And
    where items are rated alike, a factor that explains everything, with the eigenvalue n_users k / n_items, must stand
    out: pairs of ratings are what a second moment sees, and few ratings make few pairs.
    """
    n_items = releases.n_items
    mu = releases.mu * math.sqrt(RATINGS.spectral_share)
    detectable = RATINGS.top_items_per_user * releases.n_people * mu
    top = int(min(max(detectable, min(RATINGS.fewest_top_items, n_items)), n_items, top_items))
    cover = float(np.sort(census.counts)[::-1][:top].sum() / census.counts.sum())
    per_user = census.count_norm**2 * cover
    edges = releases.n_people * per_user / top / (2 * math.sqrt(top) / mu)
    most = min(rank, top // 4, int(per_user))
    has_factors = most >= 1 and cover >= RATINGS.least_cover and edges >= RATINGS.least_edges
    return (top, most) if has_factors else (0, 0)


def _learn_factors(releases: RatingReleases, state: RatingState, means: Means, rank: int, n_top: int) -> RatingState:
    """Spectral start and EM steps; where no factor stands above the noise, the budget goes back to the means."""
    factors, strength = _spectral_factors(releases, state, rank, n_top)
    state = replace(state, factors=factors, strength=strength)
    if state.factors.shape[1] == 0:
        share = releases.left - RATINGS.check_share - RATINGS.moments_share
        n_rounds = FEATURES.more_rounds if state.census.items.n_slopes else RATINGS.mean_rounds
        more = release_means(releases, state.census, state.prior, share, n_rounds, means)
        return replace(state, means=more.means, along=more.along, precisions=more.precisions)
    state = estimate_variances(releases, state)
    share = (releases.left - RATINGS.check_share - RATINGS.moments_share) / RATINGS.em_rounds
    for _ in range(RATINGS.em_rounds):
        state = _em_step(releases, state, share - ITEM_MEANS.clip_share)
    return state


def _spectral_factors(
    releases: RatingReleases, state: RatingState, rank: int, n_top: int
) -> tuple[FloatArray, FloatArray]:
    """Factors from the second moment of rows (residual + constant), which sees who rates what as well as how.

    With how far each of them stands above the noise.
    """
    census, n_items = state.census, releases.n_items
    chosen = most_counted(census.counts, n_top)
    popularity = np.maximum(census.counts, 1.0) / max(float(census.counts.max()), 1.0)
    scales = popularity**-RATINGS.row_power
    lattice = releases.gram_lattice(1.0, RATINGS.spectral_share)
    tells = what_rating_tells(releases, census)
    rows = RowsOfItems(math.sqrt(state.prior.noise) * tells, scales, place_items(chosen, n_items), True)
    # Without slopes on features: a factor that they tell about must not be missed for that.
    model = state.regression._replace(W=np.ascontiguousarray(state.features[:, :OWN_COLUMNS]))
    (total,) = releases.total(SecondMoment(), RowState(model, rows, lattice))
    S = releases.release_hollow(total, lattice)
    expected = (popularity * scales)[chosen]
    if census.rating_shares @ tells >= RATINGS.least_told:
        along = expected * tells[chosen]
        project_out(S, along / max(float(np.linalg.norm(along)), 1e-300))  # what popularity alone explains
    Q, values, alignments = top_hollow_eigenpairs(S, rank, lattice.scale, rounds=RATINGS.rounds, cut=RATINGS.cut)
    strength = spectral_strength(Q, S, values, lattice.scale, _edge_of_chance(releases, lattice.scale, expected))
    factors = np.zeros((n_items, Q.shape[1]))
    factors[chosen] = Q / expected[:, None]
    norms = np.sqrt(np.maximum(census.rating_shares @ factors**2, 1e-12))
    most = RATINGS.largest_factor
    scaled: FloatArray = np.clip(factors / norms * np.sqrt(alignments), -most, most)
    return scaled * math.sqrt(RATINGS.factor_variance), strength


def _edge_of_chance(releases: RatingReleases, deviation: float, expected: FloatArray) -> float:
    """Largest eigenvalue of noise and of chance, where rows of norm 1 have entries of these sizes, about."""
    squares = expected * expected
    return noise_edge(deviation, releases.n_people * squares / squares.sum(), releases.n_people)


def what_rating_tells(releases: RatingReleases, census: Census) -> FloatArray:
    """How much, between 0 and 1, it tells about somebody's taste that this person has rated an item at all.

    Nothing of an item that everybody rates, and nothing at all where people rate most of what there is: a constant for
    it in the rows of a second moment then only takes the place of the ratings.
    """
    chances = rating_chances(releases, census)
    typical = float(census.rating_shares @ chances)
    return np.asarray((1.0 - chances) * (1.0 - typical**2) ** RATINGS.density_power)


def rating_chances(releases: RatingReleases, census: Census) -> FloatArray:
    """Shares of the users who rate each item, from released counts: these are weighted, by what a typical user has."""
    per_user, norm = float(census.counts.sum()) / releases.n_people, census.count_norm
    n_likely = (per_user / norm) ** 2 if per_user > norm**2 else per_user
    weight = min(1.0, norm / math.sqrt(max(n_likely, 1e-12)))
    return np.clip(census.counts / (releases.n_people * weight), 0.0, 1.0)


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
        precisions=(0.0 if state.precisions is None else state.precisions) + (effective / deviations) ** 2,
        factors=state.factors + RATINGS.step_size * for_factors[:, None] * gradient[:, 1:],
    )


def _gain(counts: FloatArray, deviations: FloatArray, noise: float, variance: float) -> FloatArray:
    return counts / (counts**2 + deviations**2 / variance + counts * noise / variance)
