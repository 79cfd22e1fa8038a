"""Forecasts of implicit feedback: what a taste needs falls with the budget, and factors appear."""

import numpy as np
import pytest

from hushrank.estimators.completion.choice_forecast import NEEDED, expect_choice_factors, forecast_choices
from hushrank.estimators.user_budget import SharedBudget
from hushrank.privacy.events import Gaussian
from hushrank.privacy.guarantee import Neighbors

NOISES = (40.0, 8.0, 4.2, 2.2, 1.0, 0.5, 0.3)


def budget(noise_multiplier, neighbors=Neighbors.REPLACE):
    return SharedBudget(Gaussian(noise_multiplier), neighbors)


@pytest.mark.parametrize(("n_users", "n_items"), [(943, 1682), (6040, 3706), (100_000, 300), (30, 2)])
def test_a_taste_needs_less_where_there_is_more(n_users, n_items):
    found = [forecast_choices(budget(noise), n_users, n_items, {})[NEEDED] for noise in NOISES]
    assert (np.diff(found) <= 0).all() and found[-1] < found[0] < np.inf
    counts = [expect_choice_factors(budget(noise), n_users, n_items, 32, {}) for noise in NOISES]
    assert counts == sorted(counts) and 1 not in counts
    assert forecast_choices(budget(1.0), 100 * n_users, n_items, {})[NEEDED] < found[4]


def test_films_have_the_factors_that_were_measured_about():
    """On MovieLens-1M, ratings of 4 and 5, fits of rank 32 at epsilon 0.5 and 2 had 3 and 10 factors."""
    few, many = (expect_choice_factors(budget(n), 6040, 3706, 32, {"ratings_per_user": 95}) for n in (8.06, 2.23))
    assert 2 <= few <= 5 and 6 <= many <= 15
    assert expect_choice_factors(budget(2.23), 6040, 3706, 4, {"ratings_per_user": 95}) == 4
