"""The last look: truths are kept, halves are halved, noise is given up, and all that is left of the budget is spent."""

import logging
import math

import numpy as np
import pytest

from hushrank.estimators.trace.check import CLEAR_GAIN, LEAST_GAIN, LEAST_VOTE, OPTIMISM, check_fit, choose_scale
from hushrank.estimators.trace.record_sums import Candidates
from hushrank.linalg.fixed_rank import nearest_of_rank
from support import FALSE_ALARM, assert_plausible, normal_scale_p_value
from trace_fit_support import Situation

DESIGNS = ("dense", "rank_one", "entry")


def check(here, coef, *, intercept=0.0, alone=0.0, shifts=True, spread=2.0, reach=6.0, n_parameters=10):
    """The check of coefficients in units of the data."""
    candidates = Candidates(here.design, np.ascontiguousarray(coef), intercept, alone)
    terms = {"spread": spread, "reach": reach, "n_parameters": n_parameters, "shifts": shifts}
    return check_fit(here.releases, here.searches, candidates, **terms)


def residuals(here, coef, intercept=0.0):
    predicted = np.concatenate([here.design.predictions(block.X, coef) for block in here.blocks])
    return np.concatenate([block.y for block in here.blocks]) - intercept - predicted


# Numbers


LEAST, GAINED, CLEAR = LEAST_VOTE * 0.01 + OPTIMISM * 0.05, LEAST_GAIN * 0.01, CLEAR_GAIN * 0.01 + 0.05**2


@pytest.mark.parametrize(
    ("votes", "gains", "scale"),
    [
        ((0.5, 0.4, 0.3), (0.02, 0.02), 1.0),
        ((0.5, 0.6, -0.2), (0.02, 0.02), 0.5),  # half of it is better
        ((0.5, 0.6, 0.2), (0.02, 0.02 + LEAST_VOTE * 0.0101), 0.5),  # by squares
        ((0.5, 0.6, -LEAST_VOTE * 0.0099), (0.02, 0.02), 1.0),  # not clearly
        ((0.0, 0.4, 0.0), (0.02, 0.02), 0.5),  # only half of it is better than nothing
        ((LEAST * 1.01, 0.0, 0.0), (0.02, 0.02), 1.0),
        ((LEAST * 0.99, LEAST * 0.99, 0.9), (0.02, 0.02), 0.0),
        ((0.5, 0.5, 0.5), (GAINED * 0.99, GAINED * 1.01), 0.5),  # a few large errors speak against the whole
        ((0.5, 0.5, 0.5), (GAINED * 0.99, GAINED * 0.99), 0.0),
        ((0.5, 0.0, -0.5), (GAINED * 1.01, 0.0), 1.0),
        ((-0.9, -0.9, -0.9), (0.02, 0.02), 0.0),
        ((-0.9, -0.9, 0.0), (CLEAR * 1.01, 0.0), 1.0),  # squares alone, and clearly: most answers are equal
        ((-0.9, -0.9, 0.0), (CLEAR * 0.99, CLEAR * 0.99), 0.0),
        ((0.0, 0.0, 0.0), (0.0, 0.0), 0.0),
    ],
)
def test_scales_are_what_clear_votes_speak_for_and_squares_not_against(votes, gains, scale):
    assert choose_scale(np.array(votes), np.array(gains), 0.01, 0.05) == scale


def test_the_chance_of_a_fit_to_noise_is_asked_for_beside_its_noise():
    votes, gains = np.array([0.1, 0.1, 0.1]), np.array([0.06, 0.06])
    assert choose_scale(votes, gains, 1e-9, 0.0) == 1.0
    assert choose_scale(votes, gains, 1e-9, 0.11 / OPTIMISM) == 0.0
    assert choose_scale(votes, gains, 0.11 / LEAST_VOTE, 0.0) == 0.0
    votes = np.array([-0.1, -0.1, 0.1])
    assert choose_scale(votes, gains, 1e-9, 0.24) == 1.0 and choose_scale(votes, gains, 1e-9, 0.25) == 0.0


# Limit: with a budget without end, the choice by the records themselves


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize(
    ("factor", "scale"), [(1.0, 1.0), (1.1, 1.0), (2.0, 0.5), (-1.0, 0.0), (20.0, 0.0), (0.0, 0.0)]
)
def test_without_noise_the_best_of_three_is_chosen(design, factor, scale):
    here = Situation(3000, design=design)
    coef = factor * here.data.coef
    found = check(here, coef, shifts=False)
    alone, whole, half = (residuals(here, part * coef) for part in (0.0, 1.0, 0.5))
    better = half if scale == 0.5 else whole
    votes = np.sign(np.abs(alone) - np.abs(better))
    assert found.scale == scale and found.gain == pytest.approx(votes.mean(), abs=0.01)
    # Counts of a search have a deviation of a fortieth of the people: eight of them, and the grid, are below a quarter.
    for size, used in ((found.residual, {0.0: alone, 0.5: half, 1.0: whole}[scale]), (found.spread, alone)):
        assert 0.25 < np.mean(np.abs(used) <= size) < 0.75


@pytest.mark.parametrize("design", DESIGNS)
def test_the_mean_of_the_residuals_is_made_up_for_unless_the_intercept_is_given(design):
    coef = Situation(9, design=design).data.coef
    found = check(Situation(4000, design=design, shift=0.4), coef, intercept=0.1, alone=0.2)
    assert found.intercept == pytest.approx(0.4, abs=0.05)
    nothing = check(Situation(4000, design=design, shift=0.4), -coef, intercept=0.1, alone=0.2)
    assert nothing.scale == 0.0 and nothing.intercept == 0.2  # a mean that was found before
    kept = check(Situation(4000, design=design, shift=0.4), coef, intercept=0.1, alone=0.1, shifts=False)
    assert kept.intercept == 0.1


@pytest.mark.parametrize("n", [60, 200, 1000])
def test_a_fit_to_noise_gets_votes_and_no_more_than_are_allowed_for(n):
    """The best matrix of rank 1 for answers of noise has seen the records that vote; 25 data sets from fixed seeds."""
    gains = []
    for seed in range(25):
        here = Situation(n, (5, 4), 1, noise=0.5, singular_values=[1e-9], seed=seed)
        X = np.concatenate([block.X for block in here.blocks])
        fitted = nearest_of_rank(np.einsum("ijk,i->jk", X, here.data.y) / n, 1).matrix
        gains.append(check(here, fitted, n_parameters=8, spread=0.5).gain)
    assert 0.1 * math.sqrt(8 / n) < np.mean(gains) < 1.5 * OPTIMISM * math.sqrt(8 / n)


# Noise and budget


def test_the_gain_has_noise_of_the_stated_deviation():
    """Without coefficients nobody votes, and the gain is noise alone; 1600 of them tell 0.7 and 1.3 of it apart."""
    levels = []
    for neighbors in ("replace", "add_remove"):
        here = Situation(40, (2, 2), 1, mu=0.8, neighbors=neighbors)
        found = [check(here.again(), np.zeros((2, 2)), shifts=False) for _ in range(800)]
        levels.append([one.gain / one.deviation for one in found])
        assert_plausible(normal_scale_p_value(levels[-1], 1.0))
    for factor in (0.7, 1.3):
        assert normal_scale_p_value(factor * np.array(levels), 1.0) < FALSE_ALARM


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("factor", [1.0, 2.0, -1.0])
@pytest.mark.parametrize("mu", [1e-4, 0.3, 1e3])
def test_all_is_spent_but_a_search_that_only_half_a_matrix_needs(design, factor, mu):
    here = Situation(300, design=design, mu=mu)
    kept = here.spending.rest * here.spending.check_share + 3 * here.spending.comparison * here.spending.searches.long
    here.releases.vector_lattice(1.0, here.releases.left - kept)
    found = check(here, factor * here.data.coef)
    search = here.spending.comparison * here.spending.searches.long
    assert here.releases.left == pytest.approx(0.0 if found.scale == 0.5 else search, rel=1e-3, abs=1e-9)
    assert here.asked == ["count_residuals", "count_reach", "sum_numbers", "sum_check"]
    assert math.isfinite(found.intercept) and min(found.residual, found.spread, found.deviation) > 0.0


def test_how_many_records_were_usable_goes_to_the_log_alone(caplog):
    here = Situation(300)
    here.blocks[0].y[:17] = np.nan
    with caplog.at_level(logging.INFO, "hushrank"):
        check(here, here.data.coef)
    assert caplog.messages == ["Not private: 283 records had finite numbers and could be used."]
