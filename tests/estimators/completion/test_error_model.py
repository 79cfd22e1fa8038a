"""The error of a recommender in means: monotone, with the limits that it must have."""

import math

import numpy as np
import pytest

from hushrank.estimators.completion.error_model import expect_error, expect_people, factor_shares
from hushrank.estimators.completion.guesses import RatingGuesses, default_guesses
from hushrank.privacy.guarantee import Neighbors

BUDGETS = np.geomspace(0.02, 10.0, 30)


def guesses(n_items=1000, **others):
    return RatingGuesses(**{**default_guesses(n_items), **others})


def outlook(mu=0.5, n_users=5000, n_items=1000, rank=8, neighbors=Neighbors.REPLACE, **others):
    return expect_error(mu, neighbors, n_users, n_items, min(rank, n_items), guesses(n_items, **others))


@pytest.mark.parametrize("n_items", [2, 50, 1000, 30_000])
@pytest.mark.parametrize("n_users", [30, 3000, 300_000])
def test_more_budget_is_never_worse(n_users, n_items):
    found = [outlook(mu, n_users, n_items) for mu in BUDGETS]
    assert (np.diff([one.error for one in found]) < 0).all()
    assert (np.diff([one.factors for one in found]) > -0.05).all()  # of which more items take a little


@pytest.mark.parametrize("mu", [0.1, 1.0, 5.0])
def test_more_users_are_never_worse(mu):
    found = [outlook(mu, int(n)).error for n in np.geomspace(50, 1e6, 25)]
    assert (np.diff(found) < 0).all()


def test_with_everything_known_only_the_noise_of_a_rating_and_of_its_user_is_left():
    rest = outlook(1e6, 10**9, ratings_per_user=200.0, choice=2.0)
    told = guesses(factor_share=0.15)
    floor = math.sqrt(told.noise_share) * 2 * told.deviation
    assert floor < rest.error < 1.12 * floor and rest.factors == pytest.approx(8)


def test_with_nothing_known_the_error_is_that_of_the_users_means():
    told = guesses()
    nothing = outlook(1e-9, 100)
    assert nothing.error == pytest.approx(2 * told.deviation * math.sqrt(1 - told.user_share), rel=0.02)
    assert nothing.factors == pytest.approx(0, abs=1e-9)


def test_errors_are_in_the_order_of_the_guesses():
    assert outlook(deviation=0.2).error < outlook(deviation=0.3).error
    assert outlook(5.0, factor_share=0.3).error < outlook(5.0, factor_share=0.1).error
    assert outlook(ratings_per_user=200.0).error < outlook(ratings_per_user=20.0).error
    assert outlook(5.0, choice=2.0).factors > outlook(5.0, choice=0.0).factors


def test_no_more_factors_than_are_asked_for_or_exist():
    assert outlook(10.0, 10**6, 100, rank=2, ratings_per_user=50).factors <= 2
    assert outlook(10.0, 10**6, 100, factors=3.0, ratings_per_user=50).factors <= 3
    assert outlook(10.0, 10**6, 100, ratings_per_user=1.0).factors <= 1


def test_chances_add_up_to_the_ratings_of_a_user():
    for n_items, mean in ((10, 4.0), (3000, 100.0), (10**6, 100.0)):
        people = expect_people(100, n_items, guesses(n_items, ratings_per_user=mean))
        assert people.sizes.sum() == n_items and len(people.sizes) <= 1000
        assert people.sizes @ people.chances == pytest.approx(mean, rel=1e-3)
        assert (np.diff(people.chances) <= 0).all() and people.chances.max() <= 1
        assert people.among(n_items // 2) @ people.sizes == pytest.approx(n_items // 2)


def test_shares_of_factors_fall_and_add_up():
    assert factor_shares(3.0) == pytest.approx(np.array([6, 3, 2]) / 11)
    assert factor_shares(2.5).sum() == pytest.approx(1) and len(factor_shares(2.5)) == 3
