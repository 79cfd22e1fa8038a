"""A model of ratings but for its factors: item means and users' slopes, their variances, and a check at the end.

Releases   1 who rates what and item means (`item_means`), 2 variances by empirical Bayes, 3 leave-one-out errors of a
           few variants of the model.
Adaptive   which variant is taken depends on released values only.
Recipe     `recipes.RATINGS`.
Privacy    docs/privacy/completion.md, Theorem 1 and Lemmas 1 to 3 and 6; with features also 7 and 9.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hushrank.estimators.completion.feature_recipe import FEATURES
from hushrank.estimators.completion.feature_slopes import release_means_and_slopes
from hushrank.estimators.completion.item_marks import Marks, chance_gain, check_strength, mean_deviations
from hushrank.estimators.completion.item_means import (
    OWN_COLUMNS,
    Census,
    column_variances,
    release_census,
    slope_variances,
    user_columns,
)
from hushrank.estimators.completion.leave_one_out import Variants
from hushrank.estimators.completion.model import CompletionModel, FactorLearner
from hushrank.estimators.completion.rating_kernels import Regression
from hushrank.estimators.completion.recipes import RATINGS, Prior
from hushrank.estimators.completion.releases import RatingReleases
from hushrank.estimators.completion.user_sums import sum_error_differences, sum_moments

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RatingState:
    """Where a fit has got to.

    `along` is what item means are expected to change by with each public feature; `precisions` are those of the noise
    of the item means, and `strength` is how far factors stand above theirs, where a method tells.
    """

    census: Census
    prior: Prior
    means: FloatArray
    factors: FloatArray
    along: FloatArray
    precisions: FloatArray | None = None
    strength: FloatArray | None = None

    @property
    def marks(self) -> Marks:
        """How far means, counts and factors stand above their noise."""
        if self.precisions is None:
            return Marks(self.census.deviation, strength=self.strength)
        chance = self.prior.noise / self.census.counts
        deviations = mean_deviations(self.precisions, chance, self.prior.item)
        return Marks(self.census.deviation, deviations, self.strength)

    @property
    def features(self) -> FloatArray:
        """Columns for the users' offsets and slopes."""
        return user_columns(self.means, self.census, self.prior)

    @property
    def base(self) -> FloatArray:
        """Predictions without ratings."""
        return np.asarray(self.census.center + self.means)

    @property
    def regression(self) -> Regression:
        """What every user regresses on."""
        return Regression(self.base, np.hstack([self.features, self.factors]), self.prior.noise)


def learn_ratings_around(releases: RatingReleases, learn_factors: FactorLearner) -> CompletionModel:
    """Means, slopes, variances and the final check, around factors that are learned in whatever way."""
    census, prior = release_census(releases), Prior()
    census, means = release_means_and_slopes(releases, census, prior, RATINGS.means_share)
    nothing = np.zeros((releases.n_items, 0))
    state = RatingState(census, prior, means.means, nothing, means.along, means.precisions)
    state = estimate_variances(releases, state)
    model = CompletionModel(state.base, state.features, state.factors, state.prior.noise, census.counts)
    factors = learn_factors(model, releases.left - RATINGS.check_share - RATINGS.moments_share)
    state = estimate_variances(releases, replace(state, factors=factors))
    return choose_variant(releases, state)


def estimate_variances(releases: RatingReleases, state: RatingState) -> RatingState:
    """One step of empirical Bayes for the variance of the noise and of every coefficient.

    Each variance is multiplied by a ratio of noisy sums, to a power below 1 where the noise is large; slopes on
    features go the whole way at once.
    """
    model, prior, n_people, items = state.regression, state.prior, releases.n_people, state.census.items
    n_fixed = OWN_COLUMNS + items.n_slopes
    k = model.W.shape[1]
    lattice = releases.vector_lattice(RATINGS.moment_norm * math.sqrt(k + 1), RATINGS.moments_share, nonnegative=True)
    sums = releases.release(releases.total(sum_moments, (model, lattice)), lattice)
    found = np.maximum(sums[: k + 1], 0.0)
    expected = np.clip(sums[k + 1 :], RATINGS.least_moment * n_people, n_people)
    trust = expected**2 / (expected**2 + lattice.scale**2 / RATINGS.moment_trust)
    bounded = np.clip(found / expected, *RATINGS.ratios)
    # One by one: powers of arrays differ in their last bits between processors, and a lattice is made of one of these.
    ratios = np.array([math.pow(ratio, exponent) for ratio, exponent in zip(bounded, trust, strict=True)])
    slopes = slice(OWN_COLUMNS, n_fixed)
    ratios[slopes] = whole_ratios(ratios[slopes], expected[slopes] / n_people)
    factors = np.clip(ratios[:k], *RATINGS.coefficient_ratios)
    prior = replace(
        prior,
        noise=prior.noise * float(np.clip(ratios[k], *RATINGS.noise_ratios)),
        offset=prior.offset * float(factors[0]),
        slope=prior.slope * float(factors[1]),
        popularity=prior.popularity * float(factors[2]),
        features=tuple(v * float(f) for v, f in zip(slope_variances(items, prior), factors[slopes], strict=True)),
    )
    return replace(state, prior=prior, factors=state.factors * np.sqrt(factors[n_fixed:]))


def whole_ratios(ratios: FloatArray, told: FloatArray) -> FloatArray:
    """By what variances are wrong, from the ratios of squared coefficients to what they should be.

    Coefficients are drawn to zero where ratings do not tell them: if a variance is r times as large as was thought, a
    square has the mean told (told r + 1 - told), so that the ratio alone is a part of the way.
    """
    return np.asarray(1.0 + (ratios - 1.0) / np.maximum(told, FEATURES.least_told))


def choose_variant(releases: RatingReleases, state: RatingState) -> CompletionModel:
    """The model, or a variant of it whose leave-one-out error is clearly lower, with all that is left of the budget."""
    features, factors, noise = state.features, state.factors, state.prior.noise
    f, r = features.shape[1], factors.shape[1]
    variants = make_variants(f, r, noise)
    n_others = len(variants.widths) - 1
    lattice = releases.vector_lattice(RATINGS.check_norm * noise * math.sqrt(n_others))
    sums = releases.release(releases.total(sum_error_differences, (state.regression, variants, lattice)), lattice)
    if r and state.strength is None:  # the check tells where the method does not
        chance = chance_gain(r, state.census.counts, noise, releases.n_people)
        state = replace(state, strength=check_strength(sums, variants.widths[1:] == f, lattice.scale, r, chance))
    best = int(np.argmin(sums))
    chosen = best + 1 if sums[best] < -RATINGS.check_deviations * lattice.scale else 0
    scales = np.where(np.arange(f + r) < variants.widths[chosen], variants.scales[chosen], 0.0)
    ridge, n_told = float(variants.ridges[chosen]), 1 + state.census.items.G.shape[1]
    return CompletionModel(
        state.base,
        features * scales[:f],
        factors * scales[f:],
        ridge,
        state.census.counts,
        new_item_map=np.hstack([map_new_items(state) * np.append(1.0, scales[:f]), np.zeros((n_told, r))]),
        marks=state.marks,
    )


def map_new_items(state: RatingState) -> FloatArray:
    """Base and columns of an item that nobody has rated, as `CompletionModel.new_item_map`; it has no factors.

    Its popularity, and its mean but for what features tell, are those of a typical rating.
    """
    census, items = state.census, state.census.items
    shares, along = census.rating_shares, state.along
    expected = np.append(shares @ state.means - (shares @ items.G) @ along, along)  # without features, then by feature
    table = np.zeros((len(expected), 1 + OWN_COLUMNS + items.n_slopes))
    table[:, 0] = table[:, 2] = expected
    table[0, 0] += census.center
    table[0, 1] = 1.0
    table[0, 2] -= shares @ state.means
    table[0, 1 + OWN_COLUMNS :] = -(shares @ items.slopes)
    table[1:, 1 + OWN_COLUMNS :] = items.projection
    return table * np.sqrt([1.0, *column_variances(items, state.prior)])


def make_variants(n_features: int, n_factors: int, noise: float) -> Variants:
    """The model itself first; other ridges; the offset alone with three ridges; fewer or differently scaled factors."""
    whole = n_features + n_factors
    ones = np.ones(whole)
    listed = [(width, ones, ridge * noise) for width in (whole, 1) for ridge in RATINGS.variant_ridges]
    if n_factors:
        listed.append((n_features, ones, noise))
        for scale in RATINGS.variant_scales:
            scales = np.concatenate([np.ones(n_features), np.full(n_factors, math.sqrt(scale))])
            listed.append((whole, scales, noise))
    widths, all_scales, ridges = zip(*listed, strict=True)
    return Variants(np.array(widths, np.int64), np.array(all_scales), np.array(ridges))
