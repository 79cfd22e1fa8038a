"""A model of implicit feedback but for its factors: popularity, which decides where factors do not.

Releases   how active users are and how popular items are (`item_means`).
Recipe     `recipes.IMPLICIT`.
Privacy    docs/privacy/completion.md, Theorem 1 and Lemmas 1 and 2.
"""

from dataclasses import replace

import numpy as np

from hushrank.estimators.completion.item_means import Census, release_census
from hushrank.estimators.completion.model import CompletionModel, FactorLearner
from hushrank.estimators.completion.recipes import IMPLICIT
from hushrank.estimators.completion.releases import RatingReleases


def learn_implicit_around(releases: RatingReleases, learn_factors: FactorLearner, unobserved: float) -> CompletionModel:
    """Popularity, and factors that are learned in whatever way with all that is left."""
    model = popularity_model(release_census(releases, with_center=False), unobserved, IMPLICIT.unit_ridge)
    return replace(model, factors=learn_factors(model, releases.left))


def popularity_model(census: Census, unobserved: float, ridge: float) -> CompletionModel:
    """A model without factors; `unobserved` is the weight of all items, chosen or not."""
    nothing = np.zeros((len(census.counts), 0))
    base = IMPLICIT.popularity_weight * census.counts / census.counts.max()
    return CompletionModel(base, nothing, nothing, ridge, census.counts, unobserved)
