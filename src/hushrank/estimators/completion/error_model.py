"""The error of a recommender followed through its recipe, in means: what noise does to item means, factors and users.

Every release of `item_means` and `spectral_ratings` is replaced by what it does on average to ratings that are as
guessed: chances that an item is rated, item means with noise drawn to their prior, factors that stand above the noise
edge and what of them is learned, and users who regress on what is there. Steps that a fit makes or does not are made
in part, so that forecasts fall smoothly and never rise with the budget or the number of users.

Calibrated by benchmarks/bench_forecast.py: with guesses as the data have them the root mean squared error is within
3 % or so. Units: half ranges squared.
"""

import math
from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushrank.estimators.completion.guesses import RatingGuesses
from hushrank.estimators.completion.options import Spectral
from hushrank.estimators.completion.recipes import ITEM_MEANS, RATINGS, Prior
from hushrank.privacy.guarantee import Neighbors

FloatArray = NDArray[np.float64]

# Fitted to eleven kinds of generated ratings and MovieLens at six budgets (benchmarks/forecast_data.py).
SIGNAL, STARTED, STEPPED = 0.71, 0.515, 0.82
"""Of an eigenvalue as it would be for equal items; of what a start, and an EM step, would learn of a factor."""
_ACTIVITY = 0.9  # deviation of the logarithm of a user's number of ratings
_SOFT = 0.12  # of a logarithm: how sharply a step is made where it becomes possible
_QUANTILES = np.array([NormalDist().inv_cdf((i + 0.5) / 16) for i in range(16)])
_TOLD = 0.7  # of a user's coefficients, by the user's own ratings
_OTHER_ITEMS = 0.01  # of the catalogue, about equally popular at the top
_STEP = 0.15  # of the logarithm of a number of items
_ALONE = 400  # most popular items that are followed one by one, and groups of the others


class Outlook(NamedTuple):
    """What to expect.

    Attributes
    ----------
    error : float
        Root mean squared error in half ranges.
    factors : float
        Number of factors above the noise.
    """

    error: float
    factors: float


class People(NamedTuple):
    """Who rates what, in expectation: a few typical users, and items in groups of falling popularity.

    Attributes
    ----------
    n_users : int
    counts : ndarray
        Numbers of ratings of typical users.
    low_count : float
        Their low quantile.
    sizes, chances : ndarray
        Items of each group, and the chance that a user rates one of them.
    """

    n_users: int
    counts: FloatArray
    low_count: float
    sizes: FloatArray
    chances: FloatArray

    @property
    def shares(self) -> FloatArray:
        """Of the groups in all ratings."""
        return np.asarray(self.sizes * self.chances / (self.sizes @ self.chances))

    @property
    def weight(self) -> float:
        """Mean over ratings of the weight of a user, who has no more influence than one at the low quantile."""
        weights = np.minimum(1.0, np.sqrt(self.low_count / self.counts))
        return float(self.counts @ weights / self.counts.sum())

    def among(self, n_top: int) -> FloatArray:
        """Which part of each group belongs to the `n_top` most popular items."""
        before = np.cumsum(self.sizes) - self.sizes
        return np.clip((n_top - before) / self.sizes, 0.0, 1.0)


def expect_people(n_users: int, n_items: int, guesses: RatingGuesses) -> People:
    """Users and items as guessed."""
    mean = min(guesses.ratings_per_user, 0.9 * n_items)
    activity = np.exp(_ACTIVITY * _QUANTILES)
    counts = np.clip(mean * activity / activity.mean(), 1.0, n_items)
    low_count = max(float(np.quantile(counts, ITEM_MEANS.low_quantile)), 1.0)
    sizes, chances = _expect_items(n_items, mean, guesses.popularity)
    return People(n_users, counts, low_count, sizes, chances)


@lru_cache(maxsize=256)
def _expect_items(n_items: int, mean: float, power: float) -> tuple[FloatArray, FloatArray]:
    """Groups of items, the most popular ones alone, and chances 1 - exp(-rate popularity) that add up to `mean`."""
    edges = np.unique(np.append(np.arange(min(n_items, _ALONE)), np.geomspace(1, n_items, _ALONE).astype(np.int64)))
    edges = np.append(edges[edges < n_items], n_items)
    sizes = np.diff(edges).astype(np.float64)
    popularity = (edges[:-1] + (sizes - 1) / 2 + 2.0 + _OTHER_ITEMS * n_items) ** -power
    popularity /= sizes @ popularity
    low, high = mean, 1e4 * mean
    for _ in range(30):
        rate = math.sqrt(low * high)
        low, high = (rate, high) if -(sizes @ np.expm1(-rate * popularity)) < mean else (low, rate)
    return sizes, -np.expm1(-low * popularity)


def expect_error(
    mu: float, neighbors: Neighbors, n_users: int, n_items: int, rank: int, guesses: RatingGuesses
) -> Outlook:
    """The error and the number of factors to expect; mu is of Gaussian DP for the whole budget."""
    people, is_replaced = expect_people(n_users, n_items, guesses), neighbors is Neighbors.REPLACE
    mu_of_sums = mu if is_replaced else 2 * mu  # a replaced user moves a sum twice as far as an added one
    mu_of_products = mu if is_replaced else math.sqrt(2) * mu
    variance = (2 * guesses.deviation) ** 2
    spread = (guesses.noise_share + guesses.factor_share) * variance + _MEAN_ERROR
    kept, alignments, top = _standing(mu_of_products, people, rank, guesses, spread)
    rest = _share_for_learning()
    only_means = _mean_error(mu_of_sums, people, rest, spread, guesses.item_share * variance)
    without = _user_error(people, guesses, only_means, np.zeros(0))
    if not len(kept) or kept[0] < 1e-6:
        return Outlook(math.sqrt(without), float(kept.sum()))
    for_steps = (rest - RATINGS.means_share - RATINGS.spectral_share) / RATINGS.em_rounds
    means = _mean_error(mu_of_sums, people, RATINGS.means_share + for_steps, spread, guesses.item_share * variance)
    gain = _step_gain(mu_of_sums, people, for_steps, spread)
    started = STARTED * people.among(top)
    learned = [float(people.shares @ (1 - (1 - a * started) * (1 - STEPPED * gain))) for a in alignments]
    factors = kept * np.array(learned) * factor_shares(guesses.factors)[: len(kept)] * guesses.factor_share * variance
    with_factors = _user_error(people, guesses, means, factors)
    part = float(kept[0])
    return Outlook(math.sqrt((1 - part) * without + part * min(without, with_factors)), float(kept.sum()))


_MEAN_ERROR = 0.02  # added to residuals, of item means that are still wrong


def _share_for_learning() -> float:
    """Of the budget, for item means and factors."""
    before = ITEM_MEANS.quantile_share + ITEM_MEANS.counts_share + ITEM_MEANS.center_share
    return 1.0 - before - 3 * RATINGS.moments_share - RATINGS.check_share


def factor_shares(factors: float) -> FloatArray:
    """Of the variance of all factors, for one after another; a broken number of factors has a weaker last one."""
    count = math.ceil(factors)
    weights = 1.0 / np.arange(1.0, count + 1)
    weights[-1] *= 1.0 - (count - factors)
    return np.asarray(weights / weights.sum())


def _mean_error(mu: float, people: People, share: float, spread: float, item_variance: float) -> float:
    """Mean squared error of item means over ratings: noise, sampling, and shrinkage by a prior that may be wrong."""
    prior, counts = Prior(), people.n_users * people.chances * people.weight
    kept = min(1.0, ITEM_MEANS.clip * math.sqrt(prior.noise / spread))
    bound = ITEM_MEANS.clip * math.sqrt(people.low_count * prior.noise)
    deviations = 2 * bound / (mu * math.sqrt(share)) / _item_weights(people)
    variances = (deviations / (kept * counts)) ** 2 + spread / counts
    errors = (variances**2 * item_variance + prior.item**2 * variances) / (prior.item + variances) ** 2
    return float(people.shares @ np.minimum(errors, item_variance))


def _item_weights(people: People) -> FloatArray:
    weights = people.chances**-ITEM_MEANS.weight_power
    return np.asarray(weights / math.sqrt(float(people.shares @ weights**2)))


def _standing(
    mu: float, people: People, rank: int, guesses: RatingGuesses, spread: float
) -> tuple[FloatArray, FloatArray, int]:
    """How sure each factor stands above the noise, how much of it a start then has, and of how many items."""
    n_items, mu = int(people.sizes.sum()), mu * math.sqrt(RATINGS.spectral_share)
    fewest = min(RATINGS.fewest_top_items, n_items)
    per_mu = RATINGS.top_items_per_user * people.n_users
    top = int(min(max(per_mu * mu, fewest), n_items, Spectral().top_items))
    cover = float(people.shares @ people.among(top))
    most = min(rank, math.ceil(guesses.factors), top // 4, int(people.low_count * cover))
    if most < 1:
        return np.zeros(0), np.zeros(0), top
    best = smaller_budgets(mu, top, per_mu, fewest)
    edges = max(float(people.shares @ people.among(n)) * m / (2 * n**1.5) for n, m in best)
    edges *= people.n_users * people.low_count
    allowed = _soft(cover / RATINGS.least_cover) * _soft(edges / RATINGS.least_edges)
    strength = max(_strength(m, people, n, guesses, spread) for n, m in best)
    half_edges = strength * factor_shares(guesses.factors)[:most]  # eigenvalues over half of the noise edge
    lifted = (half_edges + 1.0 / half_edges) / 2.0  # released ones over the edge, from 1 on
    kept = allowed * np.where(half_edges > 1.0, _soft(lifted / RATINGS.cut), _soft(half_edges / RATINGS.cut))
    return kept, np.clip(1.0 - half_edges**-2.0, 0.0, 1.0), top


def smaller_budgets(mu: float, top: int, per_mu: float, fewest: int) -> list[tuple[int, float]]:
    """Numbers of items with factors, and the smaller budgets that would have so many; last of all this one.

    The best of them is expected: more budget, which more items share, then never means fewer factors.
    """
    n_steps = max(math.ceil(math.log(top / fewest) / _STEP), 1)
    sizes = (int(fewest * math.exp(_STEP * i)) for i in range(1, n_steps))
    return [*((n, min(n / per_mu, mu)) for n in sizes if n < top), (top, mu)]


def _strength(mu: float, people: People, n_top: int, guesses: RatingGuesses, spread: float) -> float:
    """Eigenvalue of a factor that explains everything, over half of the edge of noise and sampling."""
    chances, sizes, prior = people.chances, people.sizes * people.among(n_top), Prior()
    scales = (chances / chances[0]) ** -RATINGS.row_power
    typical = float(people.shares @ people.chances)
    tells = float(np.average(1.0 - chances, weights=sizes * chances * scales**2)) * math.pow(
        1.0 - typical**2, RATINGS.density_power
    )
    rated = math.sqrt(guesses.factor_share) * 2 * guesses.deviation + math.sqrt(prior.noise) * tells * guesses.choice
    energy = spread + prior.noise * tells**2
    told = float(sizes @ (chances * scales) ** 2 / (sizes @ (chances * scales**2)))
    edge = math.hypot(math.sqrt(n_top) / mu, math.sqrt(people.n_users / n_top))
    return SIGNAL * people.n_users * told * rated**2 / energy / edge


def _step_gain(mu: float, people: People, share: float, spread: float) -> FloatArray:
    """Part of what is still missing of an item's factors that the EM steps find."""
    prior, counts = Prior(), people.n_users * people.chances * people.weight
    deviations = 2 * math.sqrt(people.low_count * prior.noise) / (mu * math.sqrt(share)) / _item_weights(people)
    told = _TOLD * min(1.0, math.sqrt(prior.noise / spread)) * counts
    variance = RATINGS.factor_step_variance
    gain = told / (told + deviations**2 / (variance * told) + spread / variance)
    return np.asarray(1.0 - (1.0 - RATINGS.step_size * gain) ** RATINGS.em_rounds)


def _user_error(people: People, guesses: RatingGuesses, mean_error: float, factors: FloatArray) -> float:
    """Mean squared error over ratings of users who know their own; `factors` are the variances that are learned."""
    variance = (2 * guesses.deviation) ** 2
    unlearned = guesses.factor_share * variance - float(factors.sum())
    noise = guesses.noise_share * variance + mean_error + unlearned
    shares = people.counts / people.counts.sum()
    own = [guesses.user_share * variance, *factors]
    return noise + math.fsum(float(shares @ (v * noise / (noise + people.counts * v))) for v in own)


def _soft(ratio: FloatArray | float) -> FloatArray:
    """From 0 to 1 as a ratio passes 1."""
    return np.asarray(0.5 * (1.0 + np.tanh(np.log(np.maximum(ratio, 1e-300)) / _SOFT)))
