"""What to expect of implicit feedback: how strong a taste must be to become a factor, and how many factors there are.

Recall itself is not forecast: it depends on how people choose far more than on the noise. Followed is the second moment
of `spectral_implicit`: rows of ones over the most popular items, scaled to norm 1. Its first eigenvalue is that of
popularity alone; a taste that raises the log odds of a choice by `choice` deviations has that times choice^2.
"""

import math
from collections.abc import Mapping

import numpy as np

from hushrank.estimators.completion.error_model import People, expect_people, factor_shares, smaller_budgets
from hushrank.estimators.completion.guesses import GUESSES, IMPLICIT_GUESSES, RatingGuesses, default_guesses
from hushrank.estimators.completion.implicit_recipe import IMPLICIT
from hushrank.estimators.completion.options import Spectral
from hushrank.estimators.completion.recipes import ITEM_MEANS
from hushrank.estimators.user_budget import SharedBudget
from hushrank.privacy.guarantee import Neighbors

NEEDED = "log odds by which a taste must move choices to become a factor"


def forecast_choices(
    releases: SharedBudget, n_users: int, n_items: int, guesses: Mapping[str, float]
) -> dict[str, float]:
    """What a taste needs: above half of the noise edge its eigenvector begins to show."""
    return {NEEDED: 1.0 / math.sqrt(_strength_of_choices(releases, n_users, n_items, guesses))}


def expect_choice_factors(
    releases: SharedBudget, n_users: int, n_items: int, rank: int, guesses: Mapping[str, float]
) -> int:
    """Popularity, and tastes that stand above the noise; fewer than two are dropped for popularity alone."""
    values = _values(n_items, guesses)
    strength = _strength_of_choices(releases, n_users, n_items, guesses)
    ratios = strength * np.append(1.0, values.choice**2 * factor_shares(values.factors))
    found = min(int((np.maximum(ratios, 1.0) / 2 + 0.5 / np.maximum(ratios, 1.0) > IMPLICIT.cut + 0.15).sum()), rank)
    return found if found >= IMPLICIT.fewest_factors else 0


def _values(n_items: int, guesses: Mapping[str, float]) -> RatingGuesses:
    unused = {name: guess.default for name, guess in GUESSES.items() if name not in IMPLICIT_GUESSES}
    return RatingGuesses(**unused, **{**default_guesses(n_items, IMPLICIT_GUESSES), **guesses})


def _strength_of_choices(releases: SharedBudget, n_users: int, n_items: int, guesses: Mapping[str, float]) -> float:
    """Eigenvalue of popularity over half of the edge of noise and sampling, best over all smaller budgets."""
    share = 1.0 - ITEM_MEANS.quantile_share - ITEM_MEANS.counts_share - IMPLICIT.check_share
    change = 1.0 if releases.neighbors is Neighbors.REPLACE else math.sqrt(0.5)
    whole = 1.0 / releases.event.noise_multiplier
    people = expect_people(n_users, n_items, _values(n_items, guesses))
    per_mu, fewest = IMPLICIT.top_items_per_user * n_users, min(IMPLICIT.fewest_top_items, n_items)
    top = int(min(max(per_mu * whole, fewest), n_items, Spectral().top_items))
    best = smaller_budgets(whole, top, per_mu, fewest)
    return max(_at_top(people, n, mu * math.sqrt(share) / change) for n, mu in best)


def _at_top(people: People, n_top: int, mu: float) -> float:
    sizes, chances = people.sizes * people.among(n_top), people.chances
    eigenvalue = people.n_users * float(sizes @ chances**2 / (sizes @ chances))
    return eigenvalue / math.hypot(math.sqrt(n_top) / mu, math.sqrt(people.n_users / n_top))
