"""The default method for implicit feedback: leading eigenvectors of which items are chosen together.

Releases   1 how active users are and how popular items are (`item_means`), 2 the second moment, without its diagonal,
           of every user's 0/1 row over the most popular items, scaled to norm 1.
Privacy    docs/privacy/completion.md, Theorem 1 and Lemmas 1, 2 and 4.
"""

import math
from dataclasses import replace

import numpy as np

from hushrank.estimators.completion.item_means import Activity, release_activity
from hushrank.estimators.completion.model import CompletionModel
from hushrank.estimators.completion.spectral_ratings import LearnFactors
from hushrank.estimators.completion.user_sums import (
    Regression,
    RowState,
    SecondMomentOfUsers,
    most_counted,
    place_items,
)
from hushrank.linalg.hollow import top_hollow_eigenpairs
from hushrank.privacy.adaptive import UserReleases

_FEWEST_TOP_ITEMS = 100
_TOP_ITEMS_PER_USER = 0.06  # times mu: so few items that several eigenvalues stand above the noise
_CUT = 1.1
# Popularity decides where factors do not: among items without factors, and for users without history.
POPULARITY_WEIGHT = 1e-3
_RIDGE = 1e-6


def learn_implicit(releases: UserReleases, rank: int, top_items: int, unobserved: float) -> CompletionModel:
    """Learn popularity and up to `rank` factors, with all that is left of the budget."""
    n_items = releases.n_items
    activity = release_activity(releases, with_center=False)
    detectable = _TOP_ITEMS_PER_USER * releases.n_users * releases.mu * math.sqrt(releases.left)
    top = int(min(max(detectable, min(_FEWEST_TOP_ITEMS, n_items)), n_items, top_items))
    chosen = most_counted(activity.counts, top)
    positions = place_items(chosen, n_items)
    lattice = releases.gram_lattice(1.0)
    nothing = Regression(np.zeros(n_items), np.zeros((n_items, 0)), 1.0)
    rows = RowState(nothing, 0.0, np.ones(n_items), positions, lattice, is_stretched=True)
    (total,) = releases.total(SecondMomentOfUsers(), rows)
    S = releases.release_hollow(total, lattice)
    Q, _, alignments = top_hollow_eigenpairs(S, min(rank, top), lattice.scale, rounds=3, cut=_CUT)
    factors = np.zeros((n_items, Q.shape[1]))
    factors[chosen] = Q * np.sqrt(alignments)
    return replace(_without_factors(activity, unobserved), factors=factors)


def learn_implicit_with(releases: UserReleases, learn_factors: LearnFactors, unobserved: float) -> CompletionModel:
    """Popularity as above, with factors learned in another way."""
    model = replace(_without_factors(release_activity(releases, with_center=False), unobserved), ridge=1.0)
    return replace(model, factors=learn_factors(model, releases.left))


def _without_factors(activity: Activity, unobserved: float) -> CompletionModel:
    nothing = np.zeros((len(activity.counts), 0))
    base = POPULARITY_WEIGHT * activity.counts / activity.counts.max()
    return CompletionModel(base, nothing, nothing, _RIDGE, activity.counts, unobserved)
