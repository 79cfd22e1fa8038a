"""The releases of a fit with a private radius: booked shares, grids, counts that are released, planned vectors."""

import math
from fractions import Fraction

import numpy as np
import pytest

from hushrank.estimators.second_moment import radius, releases
from hushrank.estimators.second_moment.covariance import PrivateCovariance
from hushrank.estimators.second_moment.learning import learn_moment
from hushrank.estimators.second_moment.radius import search_grid
from hushrank.estimators.second_moment.releases import RowReleases, deviation_of
from hushrank.estimators.second_moment.spending import (
    N_GRID,
    Setting,
    first_level,
    radius_level,
    spend,
    without_center,
)
from hushrank.exceptions import BudgetExceeded
from hushrank.linalg.row_frames import Frame
from hushrank.privacy.events import Gaussian, Pure
from hushrank.privacy.guarantee import Neighbors
from hushrank.privacy.noise.source import NoiseSource
from support import FALSE_ALARM, assert_plausible, laplace_scale_p_value, normal_scale_p_value

EVENTS = [Gaussian(1.3), Pure(0.8)]
X = np.random.default_rng(0).standard_normal((300, 4))


def make(event, neighbors=Neighbors.REPLACE, rows=X, told=None):
    report = (lambda *terms: None) if told is None else (lambda *terms: told.append(terms))
    return RowReleases(event, neighbors, 2**26, NoiseSource(), lambda kernel, state: kernel(rows, state), report)


# Budget


@pytest.mark.parametrize("event", EVENTS)
def test_shares_are_booked_and_no_more_than_the_whole(event):
    made = make(event)
    assert made.left == 1
    made.take(Fraction(1, 4))
    assert made.left == Fraction(3, 4)
    with pytest.raises(BudgetExceeded):
        made.take(Fraction(4, 5))
    assert made.left == Fraction(3, 4)
    made.rest()
    assert made.left == 0
    with pytest.raises(BudgetExceeded):
        made.rest()


@pytest.mark.parametrize("event", EVENTS)
def test_a_planned_vector_costs_nothing_until_it_is_made(event):
    made = make(event)
    lattice = made.plan_vector(2.0, Fraction(1, 10))
    assert made.left == 1 and made.noise.executed == ()
    made.planned_vector(np.zeros(3, np.int64), lattice)
    assert Fraction(9, 10) <= made.left < Fraction(9, 10) + Fraction(1, 10**9)
    assert made.noise.executed == (lattice.event,)
    made.take(Fraction(85, 100))
    with pytest.raises(BudgetExceeded):  # a plan is no reservation
        made.planned_vector(np.zeros(3, np.int64), lattice)
    assert len(made.noise.executed) == 1  # and nothing was drawn


def test_vectors_that_are_booked_have_no_negative_entries():
    assert make(Gaussian(1.0)).book_vector(2.0, Fraction(1, 10)).nonnegative
    assert make(Pure(1.0)).book_vector(2.0, Fraction(1, 10)).norm_bound == 2.0


@pytest.mark.parametrize("neighbors", Neighbors)
@pytest.mark.parametrize("event", EVENTS)
def test_the_deviation_of_a_vector_is_that_of_its_noise(event, neighbors):
    made = make(event, neighbors)
    lattice = made.plan_vector(2.0, Fraction(1, 10))
    noise = made.planned_vector(np.zeros(5000, np.int64), lattice)
    scale = deviation_of(lattice) / (math.sqrt(2.0) if made.is_pure else 1.0)
    p_value = laplace_scale_p_value if made.is_pure else normal_scale_p_value
    assert_plausible(p_value(noise, scale))
    for wrong in (0.7, 1.3):
        assert p_value(noise, wrong * scale) < FALSE_ALARM


# Norms and radii


def test_norms_are_counted_on_the_grid_that_the_radius_is_taken_from():
    made, frame = make(Gaussian(1e-4)), Frame(4)
    norms = made.norms(frame, 8.0, (2, 1))
    assert {power: len(cells) for power, cells in norms.items()} == {2: N_GRID + 1, 1: N_GRID + 1}
    for power, top in ((2, 8.0), (1, 16.0)):  # sums of absolute values are up to sqrt(d) times as large
        lengths = np.linalg.norm(X, axis=1, ord=power)
        grid = search_grid(top, N_GRID)
        assert norms[power].sum() == 300 and norms[power][0] == np.count_nonzero(lengths <= grid[0])
        assert np.cumsum(norms[power])[:-1].tolist() == [np.count_nonzero(lengths <= point) for point in grid]
        found = made.radius(norms, frame, 8.0, 0.75, 300, Fraction(1, 20), power)
        assert found in grid and np.mean(lengths <= found) == pytest.approx(0.75, abs=0.06)


@pytest.mark.parametrize("event", EVENTS)
def test_a_first_radius_has_the_first_level(monkeypatch, event):
    seen = []
    monkeypatch.setattr(releases, "release_radius", lambda *terms: seen.append(terms[2:4]) or 1.0)
    made, setting = make(event), Setting(event, Neighbors.REPLACE, 300, 4)
    made.first_radius(made.norms(Frame(4), 8.0), Frame(4), 8.0, setting, Fraction(1, 20), 2)
    assert seen == [(first_level(setting, Fraction(1, 20)), 300)]


def test_the_data_holder_is_told_of_rows_that_are_shortened():
    told = []
    made = make(Gaussian(1.0), told=told)
    made.sum_within(Frame(4), 1.0, 4**12, "the center")
    [(tally, words)] = told
    assert words == "longer than 1 for the center" and tally[0] == 300
    assert tally[2] == np.count_nonzero(np.linalg.norm(X, axis=1) > 1.0)


@pytest.mark.parametrize("event", [Gaussian(1e-6), Pure(1e7)])
def test_lengths_are_in_radii_and_not_negative(event):
    made = make(event)
    secret = made.sum_within(Frame(4), 2.0, 4**12, "a test")
    rows = X * np.minimum(1.0, 2.0 / np.linalg.norm(X, axis=1))[:, np.newaxis]
    expected = np.linalg.norm(rows.sum(axis=0)) / 2.0
    assert made.length(secret, 4**12, Fraction(1, 2)) == pytest.approx(expected, rel=1e-3)
    noisy = make(Pure(1e-3))
    assert min(noisy.length(np.zeros(4, np.int64), 4**12, Fraction(1, 100)) for _ in range(40)) == 0.0


# The number of rows


@pytest.mark.parametrize("secret", [0, 1, 10**6])
def test_a_count_is_at_least_one_and_has_its_noise(secret):
    counts = [make(Pure(1.0), Neighbors.ADD_REMOVE).count(secret) for _ in range(300)]
    assert min(counts) >= 1 and len(set(counts)) > 10
    if secret == 10**6:
        errors = np.array(counts) - secret
        assert_plausible(laplace_scale_p_value(errors, 1 / 0.02))
        assert laplace_scale_p_value(errors, 2 / 0.02) < FALSE_ALARM


def fit_with_count(monkeypatch, model, rows, told):
    """A fit whose released count is `told`, and what its searches were given: thresholds, or levels."""
    seen = {"threshold": [], "level": []}

    def count(secret, event, noise, neighbors):
        noise.begin(event, neighbors)
        return np.array([told])

    def above(*terms, found=radius.release_first_above):
        seen["threshold"].append(terms[2])
        return found(*terms)

    def quantile(*terms, found=radius.release_quantile):
        seen["level"].append(terms[2])
        return found(*terms)

    monkeypatch.setattr(releases, "release_counts", count)
    monkeypatch.setattr(radius, "release_first_above", above)
    monkeypatch.setattr(radius, "release_quantile", quantile)
    plan = model._plan(model._check_parameters(), {"n_features": rows.shape[1]})
    made = make(plan.event, plan.neighbors, rows)
    return learn_moment(model._task(plan), made, lambda n: None), seen


@pytest.mark.parametrize("center", [None, "private"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_under_add_remove_all_levels_follow_the_released_count(monkeypatch, delta, center):
    """The true number, 300, is nowhere: with 5000 or with 70 told, thresholds are those of 5000 or 70."""
    for told in (5000, 70):
        terms = {"row_norm": 9.0, "epsilon": 30.0, "delta": delta, "neighbors": "add_remove", "center": center}
        with monkeypatch.context() as patched:
            moment, seen = fit_with_count(patched, PrivateCovariance(**terms), X, told)
        model = PrivateCovariance(**terms)
        plan = model._plan(model._check_parameters(), {"n_features": 4})
        setting = Setting(plan.event, plan.neighbors, told, 4)
        spending = spend(setting, model._wanted())
        levels = {first_level(setting, share) for share in (spending.center_radius, spending.sum_radius) if share}
        levels.add(radius_level(setting, spending, model._wanted()))
        if center:  # where no center was bought, its share is left
            levels.add(radius_level(setting, without_center(spending), model._wanted()))
        assert moment.count == told
        if delta:
            assert seen["level"] and set(seen["level"]) <= levels and not seen["threshold"]
        else:
            assert seen["threshold"] and set(seen["threshold"]) <= {math.ceil(level * told) for level in levels}


def test_under_replace_the_number_of_rows_is_public_and_checked():
    told = []
    model = PrivateCovariance(row_norm=9.0, epsilon=3.0)
    plan = model._plan(model._check_parameters(), {"n_features": 4})
    moment = learn_moment(model._task(plan), make(plan.event), told.append)
    assert told == [300] and moment.count == 300
