"""The default method for ratings: item means, local user slopes, a spectral start and noisy EM steps.

Releases   1 who rates what (`item_means`), 2 item means, 3 variances by empirical Bayes, 4 the second moment, without
           diagonal, of rows (residual + constant) over the most popular items, 5 EM steps for means and factors,
           6 leave-one-out errors of a few variants.
Adaptive   whether there are factors, how many, how much budget goes where and which variant is taken depend on
           released values only.
Privacy    docs/privacy/completion.md, Theorem 1 and Lemmas 1 to 6.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hushrank.estimators.completion.item_means import (
    CLIP_SHARE,
    Activity,
    Means,
    Prior,
    mean_factor,
    release_activity,
    release_means,
    user_columns,
)
from hushrank.estimators.completion.model import CompletionModel
from hushrank.estimators.completion.user_sums import (
    Regression,
    RowState,
    SecondMomentOfUsers,
    StepState,
    Variants,
    most_counted,
    place_items,
    sum_error_differences,
    sum_gradients,
    sum_moments,
)
from hushrank.linalg.hollow import project_out, top_hollow_eigenpairs
from hushrank.privacy.adaptive import UserReleases

FloatArray = NDArray[np.float64]
LearnFactors = Callable[[CompletionModel, float], FloatArray]

# Shares of mu^2; what is left goes to the EM steps.
MEANS_SHARE, SPECTRAL_SHARE, MOMENTS_SHARE, CHECK_SHARE = 0.30, 0.22, 0.01, 0.02
MEAN_ROUNDS, EM_ROUNDS = 4, 2

_FEWEST_TOP_ITEMS = 100
_TOP_ITEMS_PER_USER = 0.13  # times mu^(1/2) of the spectral share: the first eigenvalue is then about twice the edge
_LEAST_COVER = 0.4
_CUT = 1.1  # eigenvalues are kept from this many noise edges on
_ROW_POWER = 0.25  # rows are scaled by popularity^-1/4
_FACTOR_VARIANCE, _FACTOR_STEP_VARIANCE, _STEP = 0.005, 0.003, 0.7
_MOMENT_NORM, _MOMENT_TRUST = 2.0, 0.1
_CHECK_NORM, _CHECK_DEVIATIONS = 0.25, 1.5


@dataclass(frozen=True, slots=True)
class _State:
    """Where the fit has got to."""

    activity: Activity
    prior: Prior
    means: FloatArray
    factors: FloatArray

    @property
    def features(self) -> FloatArray:
        return user_columns(self.means, self.activity, self.prior)

    @property
    def regression(self) -> Regression:
        W = np.hstack([self.features, self.factors])
        return Regression(self.activity.center + self.means, W, self.prior.noise)


def learn_ratings(releases: UserReleases, rank: int, top_items: int) -> CompletionModel:
    """Learn item means and up to `rank` factors, with all that is left of the budget."""
    activity, prior = release_activity(releases), Prior()
    top, has_factors = _gate(releases, activity, rank, top_items)
    share = MEANS_SHARE if has_factors else releases.left - CHECK_SHARE - 2 * MOMENTS_SHARE
    means = release_means(releases, activity, prior, share, MEAN_ROUNDS)
    state = _State(activity, prior, means.means, np.zeros((releases.n_items, 0)))
    state = _estimate_variances(releases, state)
    if has_factors:
        state = _learn_factors(releases, state, means, min(rank, top // 4), top)
    state = _estimate_variances(releases, state)
    return _choose_variant(releases, state)


def learn_ratings_with(releases: UserReleases, learn_factors: LearnFactors) -> CompletionModel:
    """Item means, local slopes, variances and the final check as above, with factors learned in another way.

    learn_factors(model, share) is given what is known before and spends at most this share of the budget.
    """
    activity, prior = release_activity(releases), Prior()
    means = release_means(releases, activity, prior, MEANS_SHARE, MEAN_ROUNDS)
    state = _State(activity, prior, means.means, np.zeros((releases.n_items, 0)))
    state = _estimate_variances(releases, state)
    base = activity.center + state.means
    model = CompletionModel(base, state.features, state.factors, state.prior.noise, activity.counts)
    factors = learn_factors(model, releases.left - CHECK_SHARE - MOMENTS_SHARE)
    state = _estimate_variances(releases, replace(state, factors=factors))
    return _choose_variant(releases, state)


def _gate(releases: UserReleases, activity: Activity, rank: int, top_items: int) -> tuple[int, bool]:
    """How many items can have factors, and whether they carry enough ratings for any.

    So many that a typical first eigenvalue of their second moment is about twice the noise edge; they must carry 40 %
    of the ratings, and a user at the low quantile must have more ratings of them than there are factors.
    """
    n_items = releases.n_items
    detectable = _TOP_ITEMS_PER_USER * releases.n_users * releases.mu * math.sqrt(SPECTRAL_SHARE)
    top = int(min(max(detectable, min(_FEWEST_TOP_ITEMS, n_items)), n_items, top_items))
    cover = float(np.sort(activity.counts)[::-1][:top].sum() / activity.counts.sum())
    has_factors = top >= 4 and cover >= _LEAST_COVER and activity.count_norm**2 * cover >= rank
    return top, has_factors


def _learn_factors(releases: UserReleases, state: _State, means: Means, rank: int, top: int) -> _State:
    """Spectral start and EM steps; where no factor stands above the noise, the budget goes back to the means."""
    state = replace(state, factors=_spectral_factors(releases, state, rank, top))
    if state.factors.shape[1] == 0:
        share = releases.left - CHECK_SHARE - MOMENTS_SHARE
        more = release_means(releases, state.activity, state.prior, share, MEAN_ROUNDS, means)
        return replace(state, means=more.means)
    state = _estimate_variances(releases, state)
    share = (releases.left - CHECK_SHARE - MOMENTS_SHARE) / EM_ROUNDS
    for _ in range(EM_ROUNDS):
        state = _em_step(releases, state, share - CLIP_SHARE)
    return state


def _spectral_factors(releases: UserReleases, state: _State, rank: int, top: int) -> FloatArray:
    """Factors from the second moment of rows (residual + constant), which sees who rates what as well as how."""
    activity, n_items = state.activity, releases.n_items
    chosen = most_counted(activity.counts, top)
    positions = place_items(chosen, n_items)
    popularity = np.maximum(activity.counts, 1.0) / max(float(activity.counts.max()), 1.0)
    shape = popularity**-_ROW_POWER
    lattice = releases.gram_lattice(1.0, SPECTRAL_SHARE)
    shift = math.sqrt(state.prior.noise)
    rows = RowState(state.regression, shift, shape, positions, lattice, is_stretched=True)
    (total,) = releases.total(SecondMomentOfUsers(), rows)
    S = releases.release_hollow(total, lattice)
    expected = (popularity * shape)[chosen]
    project_out(S, expected / np.linalg.norm(expected))  # what popularity alone explains
    Q, _, alignments = top_hollow_eigenpairs(S, rank, lattice.scale, rounds=3, cut=_CUT)
    factors = np.zeros((n_items, Q.shape[1]))
    factors[chosen] = Q / expected[:, None]
    norms = np.sqrt(np.maximum(activity.weights @ factors**2, 1e-12))
    scaled: FloatArray = np.clip(factors / norms * np.sqrt(alignments), -3.0, 3.0) * math.sqrt(_FACTOR_VARIANCE)
    return scaled


def _estimate_variances(releases: UserReleases, state: _State) -> _State:
    """One step of empirical Bayes for the variance of the noise and of every coefficient.

    Each variance is multiplied by a ratio of noisy sums, to a power below 1 where the noise is large.
    """
    model, prior = state.regression, state.prior
    k = model.W.shape[1]
    lattice = releases.vector_lattice(_MOMENT_NORM * math.sqrt(k + 1), MOMENTS_SHARE, nonnegative=True)
    sums = releases.release(releases.total(sum_moments, (model, lattice)), lattice)
    found = np.maximum(sums[: k + 1], 0.0)
    expected = np.clip(sums[k + 1 :], 0.02 * releases.n_users, releases.n_users)
    trust = expected**2 / (expected**2 + lattice.scale**2 / _MOMENT_TRUST)
    ratios = np.clip(found / expected, 0.1, 10.0) ** trust
    factors, noise = np.clip(ratios[:k], 0.2, 5.0), float(np.clip(ratios[k], 0.3, 2.5))
    prior = replace(
        prior,
        noise=prior.noise * noise,
        offset=prior.offset * float(factors[0]),
        slope=prior.slope * float(factors[1]),
        popularity=prior.popularity * float(factors[2]),
    )
    return replace(state, prior=prior, factors=state.factors * np.sqrt(factors[3:]))


def _em_step(releases: UserReleases, state: _State, share: float) -> _State:
    """One noisy EM step for item means and factors, with the gain of a Wiener filter."""
    activity, prior = state.activity, state.prior
    bound = activity.count_norm * math.sqrt(prior.noise)
    lattice, clip_lattice = releases.vector_lattice(bound, share), releases.interval_lattice(CLIP_SHARE)
    n_fixed = state.features.shape[1]
    step = StepState(state.regression, activity.shaping, lattice, clip_lattice, releases.interval_center, n_fixed)
    total, clipped = releases.total(sum_gradients, step)
    effective = mean_factor(releases, releases.release_interval(clipped, clip_lattice)) * activity.counts
    gradient = releases.release(total, lattice) / activity.shape[:, None]
    deviations = lattice.scale / activity.shape
    for_means = _gain(effective, deviations, prior.noise, prior.item / 4)
    for_factors = _gain(effective, deviations, prior.noise, _FACTOR_STEP_VARIANCE)
    return replace(
        state,
        means=state.means + _STEP * for_means * gradient[:, 0],
        factors=state.factors + _STEP * for_factors[:, None] * gradient[:, 1:],
    )


def _gain(counts: FloatArray, deviations: FloatArray, noise: float, variance: float) -> FloatArray:
    return counts / (counts**2 + deviations**2 / variance + counts * noise / variance)


def _choose_variant(releases: UserReleases, state: _State) -> CompletionModel:
    """The model, or a variant of it whose leave-one-out error is clearly lower."""
    features, factors, noise = state.features, state.factors, state.prior.noise
    f, r = features.shape[1], factors.shape[1]
    variants = _variants(f, r, noise)
    n_others = len(variants.widths) - 1
    bound = _CHECK_NORM * noise * math.sqrt(n_others)
    lattice = releases.vector_lattice(bound)
    sums = releases.release(releases.total(sum_error_differences, (state.regression, variants, lattice)), lattice)
    best = int(np.argmin(sums))
    chosen = best + 1 if sums[best] < -_CHECK_DEVIATIONS * lattice.scale else 0
    scales = np.where(np.arange(f + r) < variants.widths[chosen], variants.scales[chosen], 0.0)
    base, ridge = state.activity.center + state.means, float(variants.ridges[chosen])
    return CompletionModel(base, features * scales[:f], factors * scales[f:], ridge, state.activity.counts)


def _variants(n_features: int, n_factors: int, noise: float) -> Variants:
    """The model itself first; other ridges; the offset alone with three ridges; fewer or differently scaled factors."""
    whole = n_features + n_factors
    ones = np.ones(whole)
    listed = [(whole, ones, ridge * noise) for ridge in (1.0, 0.6, 1.6)]
    listed += [(1, ones, ridge * noise) for ridge in (1.0, 0.6, 1.6)]
    if n_factors:
        listed.append((n_features, ones, noise))
        for scale in (0.5, 2.0):
            scales = np.concatenate([np.ones(n_features), np.full(n_factors, math.sqrt(scale))])
            listed.append((whole, scales, noise))
    columns = list(zip(*listed, strict=True))
    return Variants(np.array(columns[0], np.int64), np.array(columns[1]), np.array(columns[2]))
