"""Forecasts: fall with users and budget, follow stated guesses, keep their width, and hold for planted ratings."""

import math

import numpy as np
import pytest

from hushrank.estimators.completion.error_model import expect_error
from hushrank.estimators.completion.estimator import PrivateCompletion
from hushrank.estimators.completion.forecast import (
    MODEL_ERROR,
    expect_matrix_factors,
    expect_ratings,
    forecast_matrix,
    forecast_ratings,
)
from hushrank.estimators.completion.guesses import GUESSES, RatingGuesses, default_guesses
from hushrank.estimators.user_budget import SharedBudget
from hushrank.evaluation.metrics import root_mean_squared_error
from hushrank.evaluation.synthetic import low_rank_matrix, synthetic_ratings
from hushrank.privacy.events import Gaussian
from hushrank.privacy.guarantee import Neighbors

FROM, TO = "root mean squared error, from", "root mean squared error, to"
SHARE = "share of an entry's variance a factor needs"
# The description of `synthetic_ratings`: qualities, generosity, tastes and noise with rounding, as shares.
SYNTHETIC_SHARES = {"item_share": 0.13, "user_share": 0.16, "factor_share": 0.24}
SYNTHETIC = {"deviation": 0.25, **SYNTHETIC_SHARES, "factors": 2, "choice": 0.7}


def budget(noise_multiplier=1.0, neighbors=Neighbors.REPLACE):
    return SharedBudget(Gaussian(noise_multiplier), neighbors)


def band(noise_multiplier=1.0, n_users=5000, n_items=1000, half_range=2.0, **guesses):
    found = forecast_ratings(budget(noise_multiplier), n_users, n_items, min(8, n_items), half_range, guesses)
    assert set(found) == {FROM, TO}
    return found[FROM], found[TO]


def needed(noise_multiplier=1.0, n_users=5000, n_items=1000, **guesses):
    return forecast_matrix(budget(noise_multiplier), n_users, n_items, guesses)[SHARE]


def width(low, high):
    return (high - low) / ((high + low) / 2)


def test_errors_grow_with_noise_and_items_and_fall_with_users():
    middle = band()
    assert 0 < middle[0] < middle[1]
    for better in ({"noise_multiplier": 0.5}, {"n_users": 20_000}):
        assert all(a < b for a, b in zip(band(**better), middle, strict=True))
        assert needed(**better) < needed()
    assert needed(n_items=200) < needed()


@pytest.mark.parametrize("n_items", [1, 3, 40, 3000, 10**6])
@pytest.mark.parametrize("n_users", [2, 300, 50_000])
def test_a_band_is_narrower_than_a_quarter(n_users, n_items):
    for noise in (20.0, 1.0, 0.2):
        low, high = band(noise, n_users, n_items)
        assert 0 < low < high < math.inf and 0.15 < width(low, high) <= 0.25


def test_a_band_moves_with_the_budget():
    lows, highs = zip(*(band(noise, 6040, 3706) for noise in (8.0, 4.2, 2.2, 0.98, 0.54, 0.31)), strict=True)
    assert (np.diff(lows) < 0).all() and (np.diff(highs) < 0).all()
    assert lows[0] / lows[-1] > 1.1


def test_stated_guesses_make_a_band_narrower_and_move_it():
    default, stated = band(), band(deviation=0.28)
    assert width(*stated) < width(*default) and stated[0] > default[0] and stated[1] < default[1]
    everything = band(**default_guesses(1000))
    assert everything[1] / everything[0] == pytest.approx(math.exp(2 * MODEL_ERROR))
    assert np.array(band(deviation=0.14)) == pytest.approx(0.5 * np.array(stated), rel=0.2)
    assert band(ratings_per_user=300.0)[1] < band(ratings_per_user=20.0)[0] * 1.3


def test_errors_scale_with_the_range_of_ratings():
    assert np.array(band(half_range=50.0)) == pytest.approx(25 * np.array(band()))


def test_who_states_all_guesses_gets_the_error_at_them():
    guesses = default_guesses(1000)
    low, high = band(half_range=1.0, **guesses)
    outlook = expect_error(1.0, Neighbors.REPLACE, 5000, 1000, 8, RatingGuesses(**guesses))
    assert math.sqrt(low * high) == pytest.approx(outlook.error)
    assert expect_ratings(budget(), 5000, 1000, 8, {}) == outlook


def test_fewer_neighbors_mean_less_noise():
    replaced, added = (expect_ratings(budget(1.0, n), 5000, 1000, 8, {}) for n in Neighbors)
    assert added.error < replaced.error and added.factors >= replaced.factors


def test_every_guess_has_a_range_around_its_default():
    assert all(guess.low <= guess.default <= guess.high and guess.help for guess in GUESSES.values())


# Planted ratings: errors of 30 fits are 0.87 at epsilon 0.3 and 0.78 at 5, with deviations below 0.006.
@pytest.mark.parametrize("epsilon", [0.3, 5.0])
def test_planted_ratings_lie_in_the_band(epsilon):
    train, test = synthetic_ratings(2000, 60, seed=1, ratings_per_user=25, rank=2).split(0.1, seed=2)
    model = PrivateCompletion(3, epsilon=epsilon, delta=1e-6, rating_range=(1, 5), items=60)
    guesses = {**SYNTHETIC, "ratings_per_user": len(train.users) / 2000}
    forecast = model.plan((2000, 60), guesses=guesses).forecast
    found = root_mean_squared_error(model.fit(train.table()).predict_ratings(train.table(), test.table()), test.ratings)
    assert forecast[FROM] < found < forecast[TO]


def test_factors_that_explain_less_than_the_forecast_are_not_found():
    matrix = low_rank_matrix(1500, 40, 3, noise=0.05, seed=1)  # each of three factors explains about a third
    found = {}
    for epsilon in (0.02, 5.0):
        model = PrivateCompletion(3, epsilon=epsilon, delta=1e-6, rating_range=(-5, 5), offsets=False)
        share = model.plan((1500, 40)).forecast[SHARE]
        error = matrix.error(model.fit(matrix.observed).predict(matrix.observed))
        found[share > 1 / 3] = error / matrix.error(np.zeros_like(matrix.truth))
    assert found[False] < 0.1 and found[True] > 0.7


def test_factors_of_a_matrix_are_those_that_explain_enough():
    counts = [expect_matrix_factors(budget(noise), 5000, 40, 5, {"factor_share": 0.9}) for noise in (1e4, 10.0, 0.01)]
    assert counts[0] == 0 and counts == sorted(counts) and counts[-1] == 5
    assert expect_matrix_factors(budget(0.01), 5000, 40, 5, {"factors": 3}) == 3
