"""Forecasts: fall with users and budget, rise with items, and hold for planted ratings."""

import math

import numpy as np
import pytest

from hushrank.estimators.completion.estimator import PrivateCompletion
from hushrank.estimators.completion.forecast import ADVERSE, FAVORABLE, forecast_completion
from hushrank.evaluation.metrics import root_mean_squared_error
from hushrank.evaluation.synthetic import low_rank_matrix, synthetic_ratings
from hushrank.privacy.events import Gaussian

FROM, TO = "root mean squared error, from", "root mean squared error, to"
SHARE = "share of an entry's variance a factor needs"


def band(noise_multiplier=1.0, n_users=5000, n_items=1000, half_range=2.0):
    found = forecast_completion(Gaussian(noise_multiplier), n_users, n_items, half_range, has_offsets=True)
    assert set(found) == {FROM, TO}
    return found[FROM], found[TO]


def needed(noise_multiplier=1.0, n_users=5000, n_items=1000):
    return forecast_completion(Gaussian(noise_multiplier), n_users, n_items, 1.0, has_offsets=False)[SHARE]


def test_errors_grow_with_noise_and_items_and_fall_with_users():
    middle = band()
    assert 0 < middle[0] < middle[1]
    for better in ({"noise_multiplier": 0.5}, {"n_users": 20_000}, {"n_items": 200}):
        assert all(a < b for a, b in zip(band(**better), middle, strict=True))
        assert needed(**better) < needed()


def test_errors_scale_with_the_range_of_ratings():
    assert np.array(band(half_range=50.0)) == pytest.approx(25 * np.array(band()))


def test_without_privacy_the_best_prediction_remains():
    low, high = band(noise_multiplier=1e-9, n_users=10**9, half_range=1.0)
    assert low == pytest.approx(math.sqrt(FAVORABLE[2]), rel=1e-3)
    assert high == pytest.approx(math.sqrt(ADVERSE[2]), rel=1e-3)


def test_however_large_the_noise_errors_are_those_of_the_prior():
    low, high = band(noise_multiplier=1e9, half_range=1.0)
    assert low == pytest.approx(math.sqrt(FAVORABLE[2] + 0.0375)) and high == pytest.approx(
        math.sqrt(ADVERSE[2] + 0.0375)
    )


@pytest.mark.parametrize("n_items", [1, 3, 40])
def test_small_catalogues_have_forecasts(n_items):
    assert 0 < band(n_items=n_items)[0] < math.inf and 0 < needed(n_items=n_items) < math.inf


# Planted ratings: errors of 30 fits are 0.87 at epsilon 0.3 and 0.78 at 5, with deviations below 0.006.
@pytest.mark.parametrize("epsilon", [0.3, 5.0])
def test_planted_ratings_lie_in_the_band(epsilon):
    train, test = synthetic_ratings(2000, 60, seed=1, ratings_per_user=25, rank=2).split(0.1, seed=2)
    model = PrivateCompletion(3, epsilon=epsilon, delta=1e-6, rating_range=(1, 5), items=60)
    forecast = model.plan((2000, 60)).forecast
    found = root_mean_squared_error(model.fit(train.table()).predict_ratings(train.table(), test.table()), test.ratings)
    assert 0.9 * forecast[FROM] < found < 1.1 * forecast[TO]


def test_factors_that_explain_less_than_the_forecast_are_not_found():
    matrix = low_rank_matrix(1500, 40, 3, noise=0.05, seed=1)  # each of three factors explains about a third
    found = {}
    for epsilon in (0.02, 5.0):
        model = PrivateCompletion(3, epsilon=epsilon, delta=1e-6, rating_range=(-5, 5), offsets=False)
        share = model.plan((1500, 40)).forecast[SHARE]
        error = matrix.error(model.fit(matrix.observed).predict(matrix.observed))
        found[share > 1 / 3] = error / matrix.error(np.zeros_like(matrix.truth))
    assert found[False] < 0.1 and found[True] > 0.7
