"""Where answers lie: grids, the middle between quartiles and how far they are apart, for answers of every kind."""

import itertools

import numpy as np
import pytest

from hushrank.data.records.blocks import RecordBlock
from hushrank.estimators.trace.answers import (
    MEDIAN,
    QUARTILES,
    answer_grid,
    find_medians,
    find_middle_and_spread,
    find_quartiles,
    signed_grid,
)
from hushrank.estimators.trace.recipe import ANSWERS, FEW_ANSWERS, Y_OCTAVES
from hushrank.estimators.trace.record_sums import count_answers

RNG = np.random.default_rng(2)
NORMAL = RNG.standard_normal(4001)
FINE = answer_grid(1.0, ANSWERS.answers)


def exact(histogram, grid, level):
    """The quantile without noise: the first point that so many people are at or below."""
    at_most = histogram.cumsum()
    return float(grid[min(int((at_most < level * at_most[-1]).sum()), len(grid) - 1)])


def count(answers, grid=FINE):
    return count_answers(RecordBlock(np.zeros((len(answers), 1)), np.asarray(answers, np.float64)), grid)


def find(answers, middle=None, grid=FINE, **terms):
    return find_middle_and_spread(count(answers, grid), grid, exact, middle, **terms)


# Grids


@pytest.mark.parametrize(
    ("low", "high", "n_points"), [(1e-3, 1e3, 4096), (1.0, 2.0, 5), (0.1, 7.0, 16), (1e-60, 1e60, 64)]
)
def test_grids_are_symmetric_and_not_longer_than_asked_for(low, high, n_points):
    grid = signed_grid(low, high, n_points)
    assert n_points - 2 <= len(grid) <= n_points and len(grid) % 2 == 1
    assert (np.diff(grid) > 0).all() and np.array_equal(grid, -grid[::-1])
    assert grid[-1] == high and grid[len(grid) // 2] == 0.0 and grid[len(grid) // 2 + 1] == low
    ratios = grid[len(grid) // 2 + 2 :] / grid[len(grid) // 2 + 1 : -1]
    assert ratios == pytest.approx((high / low) ** (1.0 / len(ratios)), rel=1e-9)


@pytest.mark.parametrize("y_scale", [1e-59, 0.3, 1.0, 1e59])
def test_answers_are_searched_for_within_the_stated_octaves(y_scale):
    for comparisons in (ANSWERS.answers, FEW_ANSWERS.answers):
        grid = answer_grid(y_scale, comparisons)
        assert (len(grid) - 1).bit_length() == comparisons  # what searches pay for
        assert grid[-1] == pytest.approx(y_scale * 2.0**Y_OCTAVES) and grid[0] == -grid[-1]
        assert grid[grid > 0].min() == pytest.approx(y_scale * 2.0**-Y_OCTAVES)
    fine = answer_grid(y_scale, ANSWERS.answers)
    assert (fine[-1] / fine[-2] - 1.0) < 0.0101


# Limit: without noise, the quartiles of the answers


@pytest.mark.parametrize("shift", [0.0, 0.02, -3.0, 40.0])
@pytest.mark.parametrize("size", [0.01, 1.0, 8.0])
def test_without_noise_the_quartiles_are_those_of_the_answers(shift, size):
    answers = shift + size * NORMAL
    low, high = np.quantile(answers, QUARTILES)
    middle, spread = find(answers)
    step = 0.0105 * (abs(shift) + size) + 2.0**-Y_OCTAVES  # of the grid there
    assert middle == pytest.approx((low + high) / 2, abs=step)
    assert spread == pytest.approx((high - low) / 2, abs=step) and spread > 0.0


@pytest.mark.parametrize("shift", [0.0, 0.02, -3.0, 40.0])
@pytest.mark.parametrize("comparisons", [ANSWERS.answers, FEW_ANSWERS.answers])
def test_without_noise_medians_are_those_of_the_answers_and_of_their_distances(shift, comparisons):
    grid = answer_grid(1.0, comparisons)
    middle, spread = find(shift + NORMAL, None, grid, is_rough=True)
    ratio = 2.0 ** (2 * Y_OCTAVES / (len(grid) / 2)) - 1.0  # of the grid
    step = ratio * (abs(shift) + 1.0) + 2.0**-Y_OCTAVES
    assert middle == pytest.approx(np.median(shift + NORMAL), abs=step)
    assert spread == pytest.approx(np.median(np.abs(NORMAL)), abs=2.0 * step) and spread > 0.0


@pytest.mark.parametrize("middle", [-2000.0, -1.0, 0.0, 700.0])
def test_distances_are_counted_once_for_every_answer(middle):
    """Also those of answers outside of the grid: a search pays for one cell a person."""
    answers = np.append(NORMAL, [1e300, -1e300, FINE[0], FINE[-1], 0.0])
    seen = []

    def quantile(histogram, grid, level):
        seen.append((histogram, grid, level))
        return middle if len(seen) == 1 else exact(histogram, grid, level)

    find_medians(count(answers), FINE, quantile)
    (first, _, level), (distances, points, again) = seen
    assert level == again == MEDIAN == 0.5 and first.sum() == distances.sum() == len(answers)
    assert len(distances) == len(points) + 1 and (np.diff(points) > 0.0).all()
    assert distances[-1] >= 1  # what lies above the grid is as far away as can be
    for neighbor in (1e300, -1e300, 0.3):
        seen.clear()
        find_medians(count(np.append(answers[1:], neighbor)), FINE, quantile)
        assert np.abs(seen[1][0] - distances).sum() in (0, 2)


def test_answers_of_two_values_have_their_middle_between_them():
    """The median would be one of them."""
    for share in (0.4, 0.5, 0.6):
        answers = (np.arange(1000) < 1000 * share).astype(float)
        assert find(answers) == pytest.approx((0.5, 0.5), abs=0.02)


@pytest.mark.parametrize("value", [0.0, 1.0, -700.0, 1e-9, 1e9, -1e300])
@pytest.mark.parametrize("is_rough", [False, True])
def test_a_spread_is_never_below_the_distance_of_grid_points(value, is_rough):
    middle, spread = find(np.full(50, value), is_rough=is_rough)
    place = np.clip(np.searchsorted(FINE, np.clip(value, FINE[0], FINE[-1])), 1, len(FINE) - 1)
    assert spread >= (FINE[place] - FINE[place - 1]) / 2 > 0.0
    assert abs(middle - np.clip(value, FINE[0], FINE[-1])) <= 0.0101 * abs(middle) + 2.0**-Y_OCTAVES


@pytest.mark.parametrize("given", [0.0, 0.25, -5.0, 3000.0])
def test_a_given_middle_stays_and_the_spread_reaches_the_answers(given):
    own, spread = find(NORMAL + 2.0)
    found, wide = find(NORMAL + 2.0, given)
    assert found == given and wide == pytest.approx(max(spread, abs(own - given)))


@pytest.mark.parametrize("answers", [np.empty(0), np.full(9, np.nan), np.full(3, np.inf), np.array([np.nan, 1.0])])
def test_nothing_makes_finite_numbers(answers):
    for middle in (None, 1.0):
        for is_rough in (False, True):
            found = find(answers, middle, is_rough=is_rough)
            assert np.isfinite(found).all() and found[1] > 0.0


# Searches


def test_two_searches_read_one_histogram():
    asked = []

    def quantile(histogram, grid, level):
        asked.append((histogram, grid, level))
        return exact(histogram, grid, level)

    histogram = count(NORMAL)
    find_middle_and_spread(histogram, FINE, quantile, None)
    find_middle_and_spread(histogram, FINE, quantile, 0.5)
    assert [level for *_, level in asked] == [*QUARTILES, *QUARTILES]
    assert all(one is histogram and grid is FINE for one, grid, _ in asked)
    assert sum(QUARTILES) == pytest.approx(1.0) and QUARTILES[0] < QUARTILES[1]


def test_noise_that_swaps_quartiles_makes_no_negative_spread():
    for first, second in itertools.permutations((-3.0, 1.0)):
        values = {QUARTILES[0]: first, QUARTILES[1]: second}
        assert find_quartiles(values, None, lambda values, _, level: values[level]) == (-1.0, 2.0)


def test_one_answer_is_in_one_cell_or_in_none():
    base = count(NORMAL)
    for odd in (0.0, 1e300, -1e300, 5e-324, np.inf, -np.inf, np.nan):
        more = count(np.append(NORMAL, odd)) - base
        assert more.sum() == np.isfinite(odd) and (more >= 0).all()
