"""Quantile releases: sensitivity by enumeration, budget split, search, an audit, planted data."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hushrank.evaluation.audit import epsilon_lower_bound
from hushrank.exceptions import InvalidParameter
from hushrank.privacy import accountant
from hushrank.privacy.events import Composed, Gaussian, Pure, Repeated
from hushrank.privacy.guarantee import Neighbors
from hushrank.privacy.mechanisms import quantile
from hushrank.privacy.mechanisms.quantile import (
    quantile_event,
    rank_sensitivity,
    release_quantile,
    search_steps,
)
from hushrank.privacy.noise.source import NoiseSource
from support import FALSE_ALARM, assert_plausible, laplace_scale_p_value

RELATIONS = list(Neighbors)
PARTS = 1 << 20


def histogram_of(values, grid):
    return np.bincount(np.searchsorted(grid, values, side="left"), minlength=len(grid) + 1)


@pytest.mark.parametrize("neighbors", RELATIONS)
@pytest.mark.parametrize("parts", [1, PARTS // 10, PARTS // 2, PARTS - 1])
def test_sensitivity_is_attained(parts, neighbors):
    people = [PARTS - parts, -parts]  # contribution of a value at or below, above the grid point
    others = people if neighbors is Neighbors.REPLACE else [0]
    assert max(abs(y - other) for y in people for other in others) == rank_sensitivity(parts, neighbors)


@given(st.sampled_from([Gaussian, Pure]), st.floats(1e-3, 1e3), st.integers(2, 10**6))
def test_the_budget_is_split_to_the_private_side(make, parameter, n_grid):
    whole, split = make(parameter), quantile_event(make(parameter), n_grid)
    steps = split.count
    assert 2 ** (steps - 1) < n_grid <= 2**steps
    if make is Gaussian:
        spent, allowed = steps / Fraction(split.event.noise_multiplier) ** 2, 1 / Fraction(whole.noise_multiplier) ** 2
    else:
        spent, allowed = steps * Fraction(split.event.epsilon), Fraction(whole.epsilon)
    assert allowed * (1 - Fraction(1, 2**50)) <= spent <= allowed


@pytest.mark.parametrize("neighbors", RELATIONS)
@pytest.mark.parametrize("n_grid", [2, 3, 7, 64, 100])
def test_without_noise_it_is_the_quantile_on_the_grid(n_grid, neighbors):
    grid = np.linspace(-1.0, 1.0, n_grid)
    values = np.random.default_rng(n_grid).normal(0.0, 0.6, 5001)
    for probability in (0.01, 0.25, 0.5, 0.9):
        ranks = np.array([(values <= g).mean() for g in grid])
        expected = grid[min(np.searchsorted(ranks, probability), n_grid - 1)]
        for event in (Gaussian(1e-6), Pure(1e6)):
            plan = quantile_event(event, n_grid)
            got = release_quantile(histogram_of(values, grid), grid, probability, plan, NoiseSource(), neighbors)
            assert got == expected


def test_private_quantile_of_planted_data_is_close_and_not_exact():
    grid, n = np.arange(0, 1024) / 1024, 20_000
    values = np.random.default_rng(0).random(n)
    plan = quantile_event(Pure(1.0), grid.size)
    errors = [
        release_quantile(histogram_of(values, grid), grid, 0.75, plan, NoiseSource()) - np.quantile(values, 0.75)
        for _ in range(100)
    ]
    # Ten steps with Laplace scale 10: ranks are off by less than 10 log(1e12) except with probability 1e-9 in all.
    assert 0 < np.max(np.abs(errors)) < 10 * math.log(1e12) / n + 2 / 1024 + 0.01
    assert len(set(errors)) > 1


@pytest.mark.parametrize("factor", [1.0, 0.5])
def test_audit_notices_halved_noise(factor, monkeypatch):
    """Two grid points, one step: the answer is one noisy sign, and one person moves it by the full sensitivity."""
    exact = quantile.scale_for
    monkeypatch.setattr(quantile, "scale_for", lambda *a: factor * exact(*a))
    grid, plan, n, noise = np.array([0.0, 1.0]), quantile_event(Pure(1.0), 2), 5_000, NoiseSource()
    two_above, one_below = np.array([0, 0, 2]), np.array([1, 0, 1])
    hits = [
        sum(release_quantile(people, grid, 0.5, plan, noise) == 0.0 for _ in range(n))
        for people in (one_below, two_above)
    ]  # fmt: skip
    bound = epsilon_lower_bound(hits[0], n, hits[1], n, confidence=1 - FALSE_ALARM)
    assert bound > 1.2 if factor < 1 else 0.45 < bound < 1.0


def test_every_step_has_noise_of_its_own(monkeypatch):
    drawn = []
    monkeypatch.setattr(quantile, "_search", lambda rank_sums, noises: drawn.extend(noises) or 0)
    plan, noise = quantile_event(Pure(1.0), 1000), NoiseSource()
    for _ in range(300):
        release_quantile(np.ones(1001, np.int64), np.arange(1000.0), 0.5, plan, noise)
    steps = np.array(drawn, float).reshape(300, 10)
    assert len(set(drawn)) > 2990
    assert_plausible(stats.pearsonr(steps[:, 1:].ravel(), steps[:, :-1].ravel()).pvalue)
    # ten steps of epsilon 0.1 each: Laplace of scale 10 people, in units of 2^-20
    assert_plausible(laplace_scale_p_value(steps, 10 * PARTS))
    for wrong in (0.7, 1.3):
        assert laplace_scale_p_value(steps, wrong * 10 * PARTS) < FALSE_ALARM


@pytest.mark.parametrize("flips", [(), (0,), (1, 2)])
def test_search_follows_the_noisy_signs(flips):
    rank_sums = [-30, -20, -10, 0, 10, 20, 30]  # without noise the answer is index 3
    noises = [1000 * (1 if step == 1 else -1) if step in flips else 0 for step in range(3)]
    low, high = 0, 6
    for noise in noises:
        middle = (low + high) // 2
        low, high = (low, middle) if rank_sums[middle] + noise >= 0 else (middle + 1, high)
    assert quantile._search(rank_sums, noises) == min(high, 6)
    assert quantile._search(rank_sums, [0, 0, 0]) == 3


def test_counts_beyond_63_bits_keep_their_sign():
    grid = np.array([0.0, 1.0, 2.0, 3.0])
    huge = np.array([2**61, 0, 0, 2**61, 2**61])
    plan = quantile_event(Pure(1.0), 4)
    assert release_quantile(huge, grid, 0.3, plan, NoiseSource()) == 0.0
    assert release_quantile(huge, grid, 0.4, plan, NoiseSource()) == 3.0


def test_executed_event_is_the_plan_and_costs_what_was_asked():
    noise, plan = NoiseSource(), quantile_event(Gaussian(2.0), 1000)
    release_quantile(np.ones(1001, np.int64), np.arange(1000.0), 0.5, plan, noise)
    assert noise.executed == (plan,) and plan.count == search_steps(1000) == 10
    assert accountant.delta(plan, 0.5) <= accountant.delta(Gaussian(2.0), 0.5)


def test_too_much_noise_to_split_is_refused():
    with pytest.raises(InvalidParameter, match="event of quantile_event must be an event with less noise"):
        quantile_event(Gaussian(1e308), 1000)


GOOD = {
    "histogram": np.ones(3, np.int64),
    "grid": np.array([0.0, 1.0]),
    "probability": 0.5,
    "event": quantile_event(Pure(1.0), 2),
}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("histogram", np.ones(3)),
        ("histogram", np.ones(4, np.int64)),
        ("grid", np.array([1.0, 1.0])),
        ("grid", np.array([0.0, np.nan])),
        ("grid", np.array([0.0])),
        ("probability", 0.0),
        ("probability", 1.0),
        ("probability", math.nan),
        ("event", Pure(1.0)),
        ("event", Repeated(Pure(1.0), 2)),
        ("event", Repeated(Composed([]), 1)),
    ],
)
def test_bad_input_is_refused_and_nothing_is_logged(name, value):
    noise = NoiseSource()
    with pytest.raises(InvalidParameter, match=f"^{name} of release_quantile must be"):
        release_quantile(**{**GOOD, name: value}, noise=noise)
    assert noise.executed == ()


def test_a_relation_in_letters_is_the_relation():
    for word in ("replace", "add_remove"):
        assert rank_sensitivity(PARTS // 4, word) == rank_sensitivity(PARTS // 4, Neighbors(word))
