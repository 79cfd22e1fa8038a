"""Means of answers and residuals: bounded, right where numbers are skewed, and zero where all is noise."""

import math

import numpy as np
import pytest

from hushrank.estimators.trace.means import Residuals, find_mean, find_reach, reach_level, shrink_mean, sum_numbers
from hushrank.privacy.guarantee import Neighbors
from hushrank.privacy.mechanisms.vector import vector_l2_sensitivity
from record_support import sum_lattice
from support import FALSE_ALARM, assert_plausible, normal_scale_p_value
from trace_fit_support import Situation
from trace_support import block_of, make_design

LAWS = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "skewed": lambda rng, n: rng.exponential(1.0, n),
    "rare ones": lambda rng, n: (rng.random(n) < 0.15).astype(float),
    "mostly equal": lambda rng, n: np.where(rng.random(n) < 0.8, 0.0, rng.exponential(2.0, n)),
}


def situation(numbers, **terms):
    """Records with these answers."""
    here = Situation(len(numbers), (2, 2), 1, **terms)
    start = 0
    for block in here.blocks:
        block.y[...] = numbers[start : start + len(block)]
        start += len(block)
    return here


# Sensitivity


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
def test_opposite_answers_attain_the_sensitivity(neighbors):
    lattice, residuals = sum_lattice(1.0, 2**40, neighbors), Residuals(make_design("entry"), None, 0.5)
    one, other = (sum_numbers(block_of("entry", [((1.0, 1.0), y)]), (residuals, 2.0, lattice)) for y in (1e30, -1e30))
    assert one.tolist() == [2**20] and other.tolist() == [-(2**20)]
    change = abs(int((one - (other if neighbors == "replace" else 0))[0])) * lattice.unit
    assert change == pytest.approx(vector_l2_sensitivity(1.0, Neighbors(neighbors)), rel=1e-9)


@pytest.mark.parametrize("y", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_adds_nothing(y):
    lattice, residuals = sum_lattice(1.0), Residuals(make_design("entry"), np.ones((6, 5)), 0.5)
    assert not sum_numbers(block_of("entry", [((1.0, 1.0), y)]), (residuals, 2.0, lattice)).any()
    assert not sum_numbers(block_of("entry", [((9.0, 1.0), 1.0)]), (residuals, 2.0, lattice)).any()  # no entry


# Limit and planted data


@pytest.mark.parametrize("law", LAWS)
def test_with_a_budget_without_end_it_is_the_mean_of_shortened_numbers(law):
    numbers = LAWS[law](np.random.default_rng(1), 4000)
    here = situation(numbers)
    residuals = Residuals(here.design, None, 0.0)
    reach = find_reach(here.releases, residuals, 1.0, 0.3)
    assert 0.95 < np.mean(np.abs(numbers) <= reach) <= 1.0
    shortened = np.clip(numbers, -reach, reach).mean()
    assert find_mean(here.releases, residuals, reach, 0.3) == pytest.approx(shortened, abs=1e-3)
    assert abs(shortened - numbers.mean()) < 0.05 * numbers.std()


@pytest.mark.parametrize("law", LAWS)
def test_few_people_have_a_mean_that_is_little_worse_than_their_own(law):
    """A thousand people at mu = 1: noise of at most 2 reach / 500, and what is cut off."""
    numbers, errors = LAWS[law](np.random.default_rng(2), 1000), []
    for _ in range(20):
        here = situation(numbers, mu=1.0)
        residuals = Residuals(here.design, None, 0.0)
        reach = find_reach(here.releases, residuals, 1.0, 0.1)
        errors.append(find_mean(here.releases, residuals, reach, 0.25) - numbers.mean())
    assert np.sqrt(np.mean(np.square(errors))) < 0.1 * numbers.std()


def test_levels_are_as_high_as_the_noise_allows():
    levels = [reach_level(deviation) for deviation in (1e-9, 0.01, 0.05, 0.1, 1.0)]
    assert levels == sorted(levels, reverse=True) and levels[0] == 0.98 and levels[-1] == 0.5
    assert levels[1] == pytest.approx(0.96)


# Noise


def test_the_noise_of_a_mean_has_its_scale_and_no_other():
    """Sums of nobody are noise alone; 1600 of them tell 0.7 and 1.3 of the scale apart."""
    here, found = situation(np.full(50, np.nan), mu=0.8), []
    for _ in range(1600):
        again = here.again()
        lattice = again.releases.vector_lattice(1.0, 0.5)
        state = Residuals(here.design, None, 0.0), 1.0, lattice
        found.append(
            float(again.releases.release(again.releases.total(sum_numbers, state), lattice)[0]) / lattice.scale
        )
    assert_plausible(normal_scale_p_value(found, 1.0))
    for factor in (0.7, 1.3):
        assert normal_scale_p_value(factor * np.array(found), 1.0) < FALSE_ALARM


def test_means_are_shrunk_by_their_noise():
    assert shrink_mean(0.5, 0.0) == 0.5 and shrink_mean(0.0, 1.0) == shrink_mean(0.05, 0.1) == 0.0
    assert shrink_mean(-0.5, 0.01) == pytest.approx(-0.5, rel=0.01) == -shrink_mean(0.5, 0.01)
    rng = np.random.default_rng(1)
    for deviation in (0.02, 0.2, 1.0):
        truth = 0.2 * rng.standard_normal(4000)
        noisy = truth + deviation * rng.standard_normal(4000)
        shrunk = np.array([shrink_mean(number, deviation) for number in noisy])
        loss, plain = np.mean((shrunk - truth) ** 2), np.mean((noisy - truth) ** 2)
        assert loss < 1.25 * plain and loss < 1.25 * np.mean(truth**2)  # neither worse than the number nor than zero


@pytest.mark.parametrize("deviation", [1.0, 30.0, 1e4])
def test_noise_does_not_pass_for_a_mean_of_numbers_in_the_unit_interval(deviation):
    """However large it is: numbers between -1 and 1 have no other mean."""
    for deviations in (1.1, 3.0, 9.0):
        assert abs(shrink_mean(deviations * deviation, deviation)) < 0.05 / deviation
