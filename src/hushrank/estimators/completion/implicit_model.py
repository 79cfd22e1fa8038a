"""A model of implicit feedback around its factors: counts as far as they are needed, candidates and their check.

Releases   1 how active users are and how popular items are (`item_means`), 2 counts again, as far as a list by
           popularity needs them (`implicit_counts`), 3 if factors have a chance, whatever a method needs for them, 4
           which candidate finds most of the users' own items (`implicit_candidates`).
Recipe     `implicit_recipe.IMPLICIT`.
Privacy    docs/privacy/completion.md, Theorem 1 and Lemmas 1, 2 and 8.
"""

import math

from hushrank.estimators.completion.implicit_candidates import POPULARITY, Candidates
from hushrank.estimators.completion.implicit_counts import count_again, count_for_factors
from hushrank.estimators.completion.implicit_recipe import IMPLICIT
from hushrank.estimators.completion.item_means import Census, release_census
from hushrank.estimators.completion.model import CompletionModel, FactorLearner
from hushrank.estimators.completion.releases import RatingReleases

_ROUNDING = 1e-9  # of shares that add up


def learn_implicit_around(releases: RatingReleases, learn_factors: FactorLearner, unobserved: float) -> CompletionModel:
    """Popularity and public features, and factors that are learned in whatever way."""
    first, ridge = release_census(releases, with_center=False), IMPLICIT.unit_ridge
    census = count_for_factors(releases, first, count_top_items(releases))
    if census is None:
        return learn_without_factors(releases, first, unobserved, ridge)
    start = Candidates.of(census, unobserved, ridge).model(POPULARITY)
    factors = learn_factors(start, releases.left - IMPLICIT.check_share)
    return Candidates.of(census, unobserved, ridge, factors).choose(releases)


def learn_without_factors(releases: RatingReleases, census: Census, unobserved: float, ridge: float) -> CompletionModel:
    """Popularity with all that is left, less a check if there are public features."""
    more = releases.left - (IMPLICIT.check_share if census.items.n_slopes else 0.0)
    if more > _ROUNDING:
        census = count_again(releases, census, more)
    return Candidates.of(census, unobserved, ridge).choose(releases)


def count_top_items(releases: RatingReleases, most: int | None = None) -> int:
    """Items that can have factors: so few that their second moment, bought with all that is left, stands out."""
    n_items = releases.n_items
    detectable = IMPLICIT.top_items_per_user * releases.n_people * releases.mu * math.sqrt(releases.left)
    fewest = min(IMPLICIT.fewest_top_items, n_items)
    return int(min(max(detectable, fewest), n_items, n_items if most is None else most))
