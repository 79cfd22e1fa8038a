"""Searches: grids that their comparisons can tell apart, quantiles of planted numbers, and shares as planned."""

import numpy as np
import pytest

from hushrank.estimators.personalization.recipe import GRADIENT, plan_spending
from hushrank.estimators.personalization.searches import Searches
from hushrank.estimators.personalization.user_sums import count_mean_squares
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
