"""The default method for implicit feedback: leading eigenvectors of which items are chosen together.

Releases   1 how active users are and how popular items are (`item_means`), 2 the second moment, without its diagonal,
           of every user's 0/1 row over the most popular items, scaled to norm 1.
Recipe     `recipes.IMPLICIT`.
Privacy    docs/privacy/completion.md, Theorem 1 and Lemmas 1, 2 and 4.
"""

import math
from dataclasses import replace

import numpy as np

from hushrank.estimators.completion.implicit_model import popularity_model
from hushrank.estimators.completion.item_means import release_census
from hushrank.estimators.completion.model import CompletionModel
from hushrank.estimators.completion.rating_kernels import Regression, RowsOfItems
from hushrank.estimators.completion.recipes import IMPLICIT
from hushrank.estimators.completion.releases import RatingReleases
from hushrank.estimators.completion.user_sums import RowState, SecondMoment, most_counted, place_items
from hushrank.linalg.hollow import top_hollow_eigenpairs


def learn_implicit(releases: RatingReleases, rank: int, top_items: int, unobserved: float) -> CompletionModel:
    """Learn popularity and up to `rank` factors, with all that is left of the budget."""
    n_items = releases.n_items
    census = release_census(releases, with_center=False)
    detectable = IMPLICIT.top_items_per_user * releases.n_people * releases.mu * math.sqrt(releases.left)
    top = int(min(max(detectable, min(IMPLICIT.fewest_top_items, n_items)), n_items, top_items))
    chosen = most_counted(census.counts, top)
    lattice = releases.gram_lattice(1.0)
    nothing = Regression(np.zeros(n_items), np.zeros((n_items, 0)), 1.0)
    rows = RowsOfItems(0.0, np.ones(n_items), place_items(chosen, n_items), True)
    (total,) = releases.total(SecondMoment(), RowState(nothing, rows, lattice))
    S = releases.release_hollow(total, lattice)
    Q, _, alignments = top_hollow_eigenpairs(S, min(rank, top), lattice.scale, rounds=IMPLICIT.rounds, cut=IMPLICIT.cut)
    factors = np.zeros((n_items, Q.shape[1]))
    factors[chosen] = Q * np.sqrt(alignments)
    return replace(popularity_model(census, unobserved, IMPLICIT.ridge), factors=factors)
