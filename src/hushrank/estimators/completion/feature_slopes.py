"""Whether, and along what, users have own slopes on public item features: asked after the first round of item means.

Statistics 1 the mean of the users' slopes (`common_slopes`); 2 of many features, how much more each explains of a
           user's residuals than chance would; 3 by how much slopes lower a user's leave-one-out error.
Post       the columns that users have slopes on, or none.
Recipe     `feature_recipe.FEATURES`.
Privacy    docs/privacy/completion.md, Lemmas 6, 7 and 9.
"""

import math
from dataclasses import replace

import numpy as np

from hushrank.estimators.completion.common_slopes import release_common_slopes
from hushrank.estimators.completion.feature_recipe import FEATURES
from hushrank.estimators.completion.item_means import (
    OWN_COLUMNS,
    Census,
    Means,
    first_means,
    release_means,
    release_round,
    user_columns,
)
from hushrank.estimators.completion.leave_one_out import Variants
from hushrank.estimators.completion.public_items import PublicItems
from hushrank.estimators.completion.rating_kernels import Regression
from hushrank.estimators.completion.recipes import RATINGS, Prior
from hushrank.estimators.completion.releases import RatingReleases
from hushrank.estimators.completion.user_sums import sum_error_differences, sum_relevances


def share_of_slopes(items: PublicItems) -> float:
    """Share of the budget that the questions about slopes take."""
    if not items.n_slopes:
        return 0.0
    return FEATURES.common_share + FEATURES.check_share + (FEATURES.relevance_share if _has_many(items) else 0.0)


def release_means_and_slopes(
    releases: RatingReleases, census: Census, prior: Prior, share: float
) -> tuple[Census, Means]:
    """Item means in rounds, from a line on, and after the first of them the slopes that users have from then on.

    `share` is that of the rounds. Where slopes are found to tell nothing, these are as many as without features.
    """
    if not census.items.n_slopes:
        return census, release_means(releases, census, prior, share, RATINGS.mean_rounds)
    if _has_many(census.items):
        census = replace(census, items=_relevant(releases, census, prior))
    first = share / RATINGS.mean_rounds
    means = first_means(release_common_slopes(releases, census, prior))
    means = release_round(releases, census, prior, first, means, has_slopes=False)
    if _release_gain(releases, census, prior, means) <= 0.0:
        census = replace(census, items=census.items.without_slopes())
    n_rounds = FEATURES.more_rounds if census.items.n_slopes else RATINGS.mean_rounds - 1
    return census, release_means(releases, census, prior, share - first, n_rounds, means)


def _has_many(items: PublicItems) -> bool:
    return bool(items.G.shape[1] > FEATURES.most_slopes)


def _relevant(releases: RatingReleases, census: Census, prior: Prior) -> PublicItems:
    """The items with slopes along features that stand out, the more the further; along all where none does."""
    G = census.items.G
    W = user_columns(np.zeros(releases.n_items), census, prior)[:, :OWN_COLUMNS]
    model = Regression(np.full(releases.n_items, census.center), np.ascontiguousarray(W), prior.noise)
    lattice = releases.vector_lattice(FEATURES.relevance_norm * math.sqrt(G.shape[1]), FEATURES.relevance_share)
    sums = releases.release(releases.total(sum_relevances, (model, G, lattice)), lattice)
    excess = np.maximum(sums - FEATURES.relevance_deviations * lattice.scale, 0.0)
    return census.items.weighted(np.sqrt(excess / excess.max())) if excess.any() else census.items


def _release_gain(releases: RatingReleases, census: Census, prior: Prior, means: Means) -> float:
    """By how much slopes lower the leave-one-out errors of all users together, with noise."""
    W = user_columns(means.means, census, prior)
    model = Regression(census.center + means.means, W, prior.noise)
    widths = np.array([W.shape[1], OWN_COLUMNS])
    variants = Variants(widths, np.ones((2, W.shape[1])), np.array([prior.noise, prior.noise]))
    lattice = releases.vector_lattice(FEATURES.check_norm * prior.noise, FEATURES.check_share)
    return float(releases.release(releases.total(sum_error_differences, (model, variants, lattice)), lattice)[0])
