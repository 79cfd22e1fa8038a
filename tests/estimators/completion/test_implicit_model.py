"""A model of implicit feedback around its factors: popularity, and all that is left for the factors."""

import numpy as np
import pytest

from completion_support import make_people, make_releases
from hushrank.estimators.completion.implicit_model import learn_implicit_around, popularity_model
from hushrank.estimators.completion.item_means import Census
from hushrank.estimators.completion.recipes import IMPLICIT, ITEM_MEANS

N_ITEMS = 24
PEOPLE = make_people(80, N_ITEMS, seed=3)


def test_factors_get_all_that_is_left():
    releases, given = make_releases(PEOPLE, N_ITEMS, is_implicit=True), []

    def learn_factors(model, share):
        given.append((share, model.ridge, model.unobserved))
        return np.ones((N_ITEMS, 2))

    model = learn_implicit_around(releases, learn_factors, 0.7)
    left = 1 - ITEM_MEANS.quantile_share - ITEM_MEANS.counts_share
    assert given == [(pytest.approx(left), IMPLICIT.unit_ridge, 0.7)]
    assert (model.factors == 1.0).all() and model.ridge == IMPLICIT.unit_ridge


def test_popularity_orders_items_and_stays_below_what_factors_say():
    counts = np.array([3.0, 9.0, 1.0])
    model = popularity_model(Census(2.0, counts, np.ones(3), 0.0), 1.5, 0.25)
    assert model.base == pytest.approx(IMPLICIT.popularity_weight * counts / 9.0)
    assert model.base.max() == IMPLICIT.popularity_weight < 0.01
    assert (model.W.shape, model.ridge, model.unobserved) == ((3, 0), 0.25, 1.5)
    assert model.counts is counts
