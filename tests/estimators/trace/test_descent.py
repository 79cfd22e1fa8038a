"""Steps: that of Gauss and Newton without noise, as much as noise allows with it, and a guard that takes steps back.

Sensitivity of the sums is in `test_record_sums.py`, that of whole fits in tests/system/test_trace_replay.py.
"""

from dataclasses import replace

import numpy as np
import pytest

from hushrank.estimators.trace import descent as module
from hushrank.estimators.trace.coordinates import tangent_at
from hushrank.estimators.trace.descent import Descent, Direction, Gradient, Place
from hushrank.linalg.fixed_rank import nearest_of_rank
from trace_fit_support import Situation
from trace_support import gradients_of, measurements

DESIGNS = ("dense", "rank_one", "entry")
RNG = np.random.default_rng(1)


def descend(here, *, spread=2.0, shifts=False, **recipe):
    spending = replace(here.spending, recipe=replace(here.recipe, **recipe))
    return Descent(here.releases, here.searches, here.design, here.whitening, spending, spread=spread, shifts=shifts)


def near(here, size=0.2, rank=2):
    """A matrix of the rank not far from the truth."""
    Z = np.random.default_rng(5).standard_normal(here.design.shape)
    return nearest_of_rank(here.truth + size * np.linalg.norm(here.truth) * Z / np.linalg.norm(Z), rank)


def gradient(G, noise=0.0, taken=1.0):
    return Gradient(np.asarray(G, float), noise, taken)


# Limit


@pytest.mark.parametrize("design", DESIGNS)
def test_without_noise_a_direction_is_the_mean_of_shortened_gradients_over_the_level(design):
    here = Situation(500, design=design)
    point = near(here)
    tangent = tangent_at(point, here.whitening, 0.1)
    X = measurements(design, np.concatenate([block.X for block in here.blocks]), here.design.shape)
    G = gradients_of(design, X, X, here.data.y, tangent)
    norms = np.sqrt((G**2).sum(axis=(1, 2)))
    bound = float(np.quantile(norms, 0.6))
    total = (G * np.minimum(1.0, bound / norms)[:, None, None]).sum(axis=0)
    P, Q = here.design.parts(total / (here.recipe.level * 500))
    found = descend(here)._direct(Place(point, 0.1, bound), 0.5)
    assert found.P == pytest.approx(P, abs=1e-2 * np.abs(P).max())  # gains and roundings
    assert found.Q == pytest.approx(Q - point.U @ point.U.T @ Q, abs=1e-2 * np.abs(P).max())
    assert np.abs(point.U.T @ found.Q).max() < 1e-12


@pytest.mark.parametrize("design", DESIGNS)
def test_without_noise_steps_find_the_matrix(design):
    """A step of full length takes most of the way: least squares with normal measurements have curvature one."""
    here = Situation(3000, design=design, noise=0.0)
    errors = []
    point = near(here)
    steps = descend(here)
    place = steps._look(point, 0.0, None)
    for _ in range(4):
        place = steps._step(place, 0.01)
        errors.append(here.error(place.point.matrix))
    assert errors[0] < 0.12 and errors[-1] < 0.25 * errors[0]
    fresh = Situation(3000, design=design, noise=0.0)
    assert fresh.error(descend(fresh).run(point, 0.0).point.matrix) < (1e-2 if design == "entry" else 1e-4)


@pytest.mark.parametrize("shift", [0.8, -0.05])
def test_the_intercept_is_found_or_left_alone(shift):
    # A comparison of a search has a deviation of 32 people: of 20,000 they are .0016, and quartiles are off by .004.
    here = Situation(20_000, shift=shift)
    assert here.spending.deviation < 0.002
    place = descend(here, shifts=True).run(near(here), 0.0)
    # The grid of changes has steps of 2^-8 spreads and ratios of 1.2: the middle of two points is off by .08.
    assert place.intercept == pytest.approx(shift, abs=0.08 + 0.1 * abs(shift))
    fixed = Situation(4000, shift=shift)
    assert descend(fixed).run(near(fixed), 0.25).intercept == 0.25


# Gains


def test_a_gradient_of_noise_is_hardly_taken():
    taken, D = [], 18
    for _ in range(300):
        steps = descend(SMALL)
        taken.append(steps._gain(gradient(3.0 * RNG.standard_normal((6, 3)), 9.0 * D), 1.0))
    assert np.mean(taken) < 0.25 and min(taken) == 0.0
    assert descend(SMALL)._gain(gradient(np.full((6, 3), 1e3), 9.0 * D), 1.0) > 0.999
    assert descend(SMALL)._gain(gradient(np.zeros((6, 3))), 1.0) == 0.0


def test_steps_average_what_they_are_told_as_a_filter_of_kalman_does():
    """Of noise v1 and v2 the average of least variance has 1 / (1 / v1 + 1 / v2)."""
    steps = descend(SMALL)
    steps._gain(gradient(np.full((6, 3), 1e6), 4.0), 1.0)
    assert steps._open == pytest.approx(4.0)
    small = gradient(np.full((6, 3), 1e-9), 1.0)  # smaller than its noise: taken by what the step before left open
    assert steps._gain(small, 1.0) == pytest.approx(0.8) and steps._open == pytest.approx(0.8)
    assert steps._gain(small, 2.0) == pytest.approx(0.8 / 4.8) and steps._open == pytest.approx(1 / (1 / 0.8 + 1 / 4))
    point = nearest_of_rank(np.eye(6, 5), 2)
    assert steps.open_variance(point) == pytest.approx(steps._open / (2 * (6 + 5 - 2)))
    assert descend(SMALL).open_variance(point) == 0.0


@pytest.mark.parametrize(
    ("curvature", "length"), [(1.0, 1.0), (0.5, 2.0), (0.4, 2.5), (0.01, 4.0), (1.6, 0.625), (9.0, 0.25)]
)
def test_lengths_follow_the_curvature_between_limits(curvature, length):
    """A step t leaves 1 - t h of a gradient."""
    steps, G = descend(SMALL), RNG.standard_normal((6, 5))
    steps._last = gradient(G, 1e-9, taken=0.5)
    steps._adapt_length(gradient((1.0 - 0.5 * curvature) * G))
    assert steps._length == pytest.approx(length, rel=1e-6)


def test_a_gradient_of_noise_tells_no_curvature():
    G = RNG.standard_normal((6, 5))
    for last in (None, gradient(G, float(np.sum(G * G))), gradient(G, 1e-9, taken=0.0)):
        steps = descend(SMALL)
        steps._last = last
        steps._adapt_length(gradient(-G))
        assert steps._length == 1.0


# The guard


class Told(Descent):
    """Looks tell bounds that were made up, and directions are one of length 1."""

    def tell(self, *bounds):
        self._bounds, self.looks, self.n_directions = list(bounds), [], 0
        return self

    def _direct(self, place, share):
        self.n_directions += 1
        return Direction(np.ones((2, 5)), np.zeros((6, 2)))

    def _look(self, point, intercept, bound):
        self.looks.append(point)
        return Place(point, intercept, self._bounds.pop(0))


def told(*bounds, retries=3):
    spending = replace(SMALL.spending, recipe=replace(SMALL.recipe, retries=retries))
    made = Told(None, None, SMALL.design, SMALL.whitening, spending, spread=1.0, shifts=False)
    return made.tell(*bounds)


def lengths_of(steps, monkeypatch, place):
    """How far each trial went, and where the step ended."""
    moves = []
    monkeypatch.setattr(module, "_moved", lambda place, direction, length: moves.append(length) or length)
    return steps._step(place, 0.1), moves


def test_a_step_that_harms_is_tried_again_at_a_quarter_of_its_length(monkeypatch):
    before, harms = Place("before", 0.0, 1.0), SMALL.recipe.harms
    place, moves = lengths_of(told(1.01 * harms, 5 * harms, 0.99 * harms), monkeypatch, before)
    assert moves == [1.0, 0.25, 0.0625] and place.point == 0.0625 and place.bound == 0.99 * harms
    assert lengths_of(told(0.5), monkeypatch, before)[1] == [1.0]


def test_who_has_no_retries_left_stays(monkeypatch):
    before, bad = Place("before", 0.0, 1.0), 2 * SMALL.recipe.harms
    steps = told(*[bad] * 4, retries=2)
    place, moves = lengths_of(steps, monkeypatch, before)
    assert place is before and moves == [1.0, 0.25, 0.0625] and steps._retries == 0
    place, moves = lengths_of(steps, monkeypatch, before)  # retries are of all steps together
    assert place is before and moves == [1.0] and steps._bounds == []


# The budget


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
@pytest.mark.parametrize("mu", [1e-3, 0.5, 1e3])
def test_the_check_keeps_its_share_and_steps_are_within_their_limits(design, neighbors, mu):
    here = Situation(300, design=design, mu=mu, neighbors=neighbors)
    spending, recipe = here.spending, here.recipe
    place = descend(here, shifts=True).run(near(here), 0.0)
    kept = spending.rest * spending.check_share
    searched = spending.comparison * 3 * spending.searches.long  # of the sizes of residuals
    most = kept + searched + spending.look * (recipe.retries + 1)
    most += spending.comparison * here.asked.count("count_look")  # rough searches for medians are shorter by one
    assert (kept + searched) * (1 - 1e-9) <= here.releases.left <= most * (1 + 1e-9)
    n_last = len(recipe.last_shares)
    first = min(recipe.first_steps, spending.most_steps)
    assert first + n_last <= here.asked.count("sum_gradients") <= spending.most_steps + n_last
    assert np.isfinite(place.point.matrix).all() and place.bound > 0.0


@pytest.mark.parametrize(
    ("falls", "taken"),
    [([0.5, 0.5, 0.5, 0.5, 0.5], 4), ([0.9, 0.96, 0.5], 2), ([0.96, 0.5, 0.5], 1), ([1.5, 0.5], 1), ([0.5, 1.99], 2)],
)
def test_first_steps_end_where_they_do_not_help(falls, taken):
    """Each makes the bound smaller by the stated factor; four are allowed, and the last ones come in any case."""
    here, n_last = SMALL.again(), len(SMALL.recipe.last_shares)
    recipe = replace(here.recipe, first_steps=1, helps=0.95, harms=2.0, first_share=0.01)
    spending = replace(here.spending, recipe=recipe, most_steps=4)
    steps = Told(here.releases, None, here.design, here.whitening, spending, spread=1.0, shifts=False)
    bounds = np.cumprod([1.0, *falls[:taken], *[1.0] * n_last])
    steps.tell(*bounds.tolist()).run(nearest_of_rank(here.truth, 2), 0.0)
    assert steps.n_directions == taken + n_last and len(steps.looks) == 1 + taken + n_last - 1


SMALL = Situation(50)
