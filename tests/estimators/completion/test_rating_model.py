"""A model of ratings around factors: variances that follow the data, a check that prefers what predicts better."""

import math

import numpy as np
import pytest

from completion_support import make_people, make_releases
from hushrank.estimators.completion.item_means import Census, release_census, release_means
from hushrank.estimators.completion.rating_model import (
    RatingState,
    choose_variant,
    estimate_variances,
    learn_ratings_around,
    make_variants,
)
from hushrank.estimators.completion.recipes import ITEM_MEANS, RATINGS, Prior

N_ITEMS = 24
PEOPLE = make_people(80, N_ITEMS, seed=3)


def state_of(releases, factors=None):
    """What is known after the item means."""
    census = release_census(releases)
    means = release_means(releases, census, Prior(), RATINGS.means_share, RATINGS.mean_rounds)
    return RatingState(census, Prior(), means.means, np.zeros((N_ITEMS, 0)) if factors is None else factors)


# 3. Planted variances: `make_people` draws ratings with noise of variance 0.04 about an offset of variance 0.04.


def test_variances_follow_the_data():
    state = state_of(make_releases(make_people(3000, N_ITEMS, seed=5, rank=0), N_ITEMS, epsilon=1e3))
    releases = make_releases(make_people(3000, N_ITEMS, seed=5, rank=0), N_ITEMS, epsilon=1e3)
    for _ in range(6):
        state = estimate_variances(releases, state)
    assert state.prior.noise == pytest.approx(0.04, rel=0.15)
    assert state.prior.offset == pytest.approx(0.04, rel=0.25)
    assert state.prior.item == Prior().item  # is not estimated


def test_factors_that_predict_nothing_shrink():
    rng = np.random.default_rng(1)
    people = make_people(2000, N_ITEMS, seed=6, rank=0)
    releases = make_releases(people, N_ITEMS, epsilon=1e3)
    state = state_of(releases, 0.5 * rng.standard_normal((N_ITEMS, 1)))
    shrunk = estimate_variances(releases, state)
    assert np.linalg.norm(shrunk.factors) < 0.7 * np.linalg.norm(state.factors)


def test_hardly_any_budget_hardly_moves_a_variance():
    releases = make_releases(PEOPLE, N_ITEMS, epsilon=1e-3)
    before = state_of(releases)
    after = estimate_variances(releases, before)
    for name in ("noise", "offset", "slope", "popularity"):
        assert getattr(after.prior, name) == pytest.approx(getattr(before.prior, name), rel=0.2)


def test_wrong_factors_are_left_out_by_the_check():
    """Long factors of noise spoil predictions: a variant without them, or with less of them, is taken."""
    people = make_people(3000, N_ITEMS, seed=7, rank=0, n_ratings=8.0)
    releases = make_releases(people, N_ITEMS, epsilon=1e3)
    wrong = np.random.default_rng(2).standard_normal((N_ITEMS, 3))
    model = choose_variant(releases, state_of(releases, wrong))
    assert releases.left == 0.0
    assert np.linalg.norm(model.factors) < 0.8 * np.linalg.norm(wrong)


# 4. Identities


def test_factors_get_all_but_what_comes_after_them():
    releases, given = make_releases(PEOPLE, N_ITEMS), []

    def learn_factors(model, share):
        given.append(share)
        assert model.factors.shape == (N_ITEMS, 0) and model.W.shape == (N_ITEMS, 3)
        return np.zeros((N_ITEMS, 2))

    model = learn_ratings_around(releases, learn_factors)
    first = ITEM_MEANS.quantile_share + ITEM_MEANS.counts_share + ITEM_MEANS.center_share
    after = RATINGS.moments_share + RATINGS.check_share
    assert given == [pytest.approx(1 - first - RATINGS.means_share - RATINGS.moments_share - after)]
    assert model.factors.shape == (N_ITEMS, 2) and releases.left == 0.0


@pytest.mark.parametrize(("n_factors", "n_variants"), [(0, 6), (3, 9)])
def test_variants_begin_with_the_model_itself(n_factors, n_variants):
    variants = make_variants(3, n_factors, 0.2)
    whole = 3 + n_factors
    assert (variants.widths[0], variants.ridges[0]) == (whole, 0.2) and (variants.scales[0] == 1.0).all()
    assert variants.widths.shape == variants.ridges.shape == (n_variants,)
    assert variants.scales.shape == (n_variants, whole)
    assert {int(width) for width in variants.widths} == {1, 3, whole}
    if n_factors:
        assert variants.scales[-2:, -1].tolist() == [math.sqrt(0.5), math.sqrt(2.0)]


def test_the_state_predicts_by_center_means_and_factors():
    census = Census(4.0, np.arange(1.0, 6.0), np.ones(5), 0.25)
    state = RatingState(census, Prior(), np.arange(5.0), np.ones((5, 2)))
    model = state.regression
    assert model.base == pytest.approx(0.25 + np.arange(5.0)) and model.W.shape == (5, 5)
    assert (model.W[:, 3:] == 1.0).all() and model.ridge == Prior().noise
