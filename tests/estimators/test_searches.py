"""Searches: grids that their comparisons can tell apart, quantiles of planted numbers, and shares as planned."""

import math
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from hushrank.estimators.personalization.recipe import GRADIENT, plan_spending
from hushrank.estimators.personalization.user_sums import count_mean_squares
from hushrank.estimators.searches import FEW_SEARCHES, LEAST_COMPARISON, SEARCHES, Searches, SearchRecipe, octaves
from hushrank.privacy.accountant import squared_mu
from record_support import make_releases

WINDOW = (1e-3, 1e3)


def people(n=2000, seed=0):
    """Users with one answer each, squares spread evenly over the logarithms of a window."""
    squares = np.exp(np.random.default_rng(seed).uniform(np.log(0.01), np.log(100.0), n))
    return [(np.zeros((1, 4)), np.sqrt([square])) for square in squares], squares


def make_searches(mu=2.0, n=2000, **terms):
    users, squares = people(n)
    releases = make_releases(users, mu=mu, **terms)
    spending = plan_spending(releases, 6, long=4, short_a_step=3)
    return Searches(releases, spending), releases, spending, squares


@pytest.mark.parametrize("mu", [2.0, 0.05])  # few people for the second budget
@pytest.mark.parametrize("is_long", [True, False])
def test_a_search_books_what_was_planned_for_its_comparisons(mu, is_long):
    searches, releases, spending, _ = make_searches(mu)
    count = spending.searches.long if is_long else spending.searches.short
    assert spending.searches is (GRADIENT.searches if mu > 1 else GRADIENT.few_searches)
    grid = searches.grid(WINDOW, is_long=is_long)
    assert len(grid) == 2**count and (grid[0], grid[-1]) == pytest.approx(WINDOW, rel=1e-12)
    assert np.diff(np.log(grid)) == pytest.approx(np.log(1e6) / (2**count - 1), rel=1e-9)
    before = releases.left
    searches.find(count_mean_squares, None, WINDOW, 0.5, is_long=is_long)
    [event] = releases.executed
    assert event.count == count
    assert before - releases.left == pytest.approx(count * spending.comparison, rel=1e-9)
    assert float(squared_mu(event, "test")) == pytest.approx(count * spending.comparison * mu**2, rel=1e-9)


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
def test_all_planned_searches_fit_and_leave_the_rest(neighbors):
    searches, releases, spending, _ = make_searches(neighbors=neighbors)
    for _ in range(4):
        searches.find(count_mean_squares, None, WINDOW, 0.5, is_long=True)
    for _ in range(3 * spending.steps + 1):
        searches.find(count_mean_squares, None, WINDOW, 0.5)
    assert releases.left == pytest.approx(spending.rest, rel=1e-9) and releases.left >= spending.rest


@pytest.mark.parametrize("level", [0.3, 0.6, 0.9])
def test_quantiles_are_those_of_the_numbers(level):
    searches, _, _, squares = make_searches(mu=50.0)
    found = searches.find(count_mean_squares, None, WINDOW, level, is_long=True)
    # A quarter of the people is ten deviations of a count; the grid has steps of 11 %.
    ranks = np.mean(squares <= found), np.mean(squares <= found / 1.2)
    assert ranks[1] - 0.25 < level < ranks[0] + 0.25


def test_a_histogram_that_was_counted_before_is_read_with_the_same_share():
    searches, releases, spending, _ = make_searches(mu=50.0)
    grid = searches.grid(WINDOW, is_long=False)
    histogram = np.zeros(len(grid) + 1, np.int64)
    histogram[5] = 2000
    assert searches.read(histogram, grid, 0.5) == grid[5]
    assert 1.0 - releases.left == pytest.approx(spending.searches.short * spending.comparison, rel=1e-9)


@pytest.mark.parametrize("recipe", [SEARCHES, FEW_SEARCHES, SearchRecipe(0.1, 0.5, 3, 2)])
@pytest.mark.parametrize("people", [1e-3, 1.0, 40.0, 1e4, 1e12])
@pytest.mark.parametrize(("whole", "count"), [(1.0, 1), (0.98, 90), (0.1, 1000)])
def test_a_comparison_is_as_precise_as_asked_for_or_as_the_budget_allows(recipe, people, whole, count):
    share = recipe.comparison_share(people, whole, count)
    deviation = 1.0 / (people * math.sqrt(share))  # of a count, as a fraction of the people: 1 / mu is its scale
    assert share * count <= recipe.most_share * whole * (1 + 1e-12)
    assert deviation <= recipe.deviation * (1 + 1e-12) or share * count == pytest.approx(recipe.most_share * whole)
    is_least = share == LEAST_COMPARISON
    assert deviation >= recipe.deviation * (1 - 1e-12) or is_least  # and nothing is spent in vain
    assert share > 0.0 and (not is_least or people > 1e4)


def test_recipes_of_searches_cannot_be_changed():
    for recipe in (SEARCHES, FEW_SEARCHES):
        assert 0 < recipe.most_share < 1 and 0 < recipe.short <= recipe.long
        with pytest.raises(FrozenInstanceError):
            recipe.long = 9
    assert FEW_SEARCHES.long <= SEARCHES.long and FEW_SEARCHES.most_share >= SEARCHES.most_share


def test_windows_reach_so_many_factors_of_two():
    assert octaves(3.0, 2, 4) == (0.75, 48.0) and octaves(1.0, 0.5, -0.5) == pytest.approx((2**-0.5, 2**-0.5))
