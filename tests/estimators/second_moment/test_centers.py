"""Centers: bought for far means and not for near ones, the whole budget spent either way, and no more than that."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from hushrank.estimators.second_moment import releases as releases_module
from hushrank.estimators.second_moment.centers import find_center
from hushrank.estimators.second_moment.covariance import PrivateCovariance
from hushrank.estimators.second_moment.learning import learn_moment
from hushrank.estimators.second_moment.releases import RowReleases
from hushrank.estimators.second_moment.spending import Setting, Spending, Wanted, spend, without_center
from hushrank.exceptions import PlanBroken
from hushrank.linalg.row_frames import Frame
from hushrank.privacy.accountant import squared_mu
from hushrank.privacy.events import Composed, Gaussian, Pure, Repeated
from hushrank.privacy.filters import filter_for
from hushrank.privacy.guarantee import Neighbors
from hushrank.privacy.mechanisms.quantile import quantile_event
from hushrank.privacy.noise.source import NoiseSource

WANTED = Wanted(center=True, scales=False, columns=False, clipped=3.0)
NEAR = np.random.default_rng(0).standard_normal((4000, 5))
NEAR -= NEAR.mean(axis=0)
FAR = NEAR + np.array([9.0, -6.0, 3.0, 0.0, 1.0])
EVENTS = [Gaussian(0.1), Pure(40.0)]
CASES = list(product(EVENTS, Neighbors))


def make(X, event, neighbors):
    return RowReleases(event, neighbors, 2**26, NoiseSource(), lambda kernel, state: kernel(X, state), lambda *_: None)


def found(X, event, neighbors, bound=40.0):
    releases, frame = make(X, event, neighbors), Frame(X.shape[1])
    setting = Setting(event, neighbors, len(X), X.shape[1])
    norms = releases.norms(frame, bound, (2, 1) if releases.is_pure else (2,))
    spending = spend(setting, WANTED)
    return releases, spending, find_center(releases, frame, bound, norms, setting, spending)


def learn(X, **terms):
    """A whole fit: what it released, its executed events, and the cap."""
    model = PrivateCovariance(**{"row_norm": 40.0, "center": "private", **terms})
    plan = model._plan(model._check_parameters(), {"n_features": X.shape[1]})
    releases = make(X, plan.event, plan.neighbors)
    moment = learn_moment(model._task(plan), releases, lambda n: None)
    return moment, releases.noise.executed, plan.event


def cost(events, cap):
    """Exact share of the cap that executed events cost."""
    if isinstance(cap, Gaussian):
        return squared_mu(Composed(events), "test") * Fraction(cap.noise_multiplier) ** 2
    singles = [(one.event, one.count) if isinstance(one, Repeated) else (one, 1) for one in events]
    assert all(isinstance(one, Pure) for one, _ in singles)
    return sum(count * Fraction(one.epsilon) for one, count in singles) / Fraction(cap.epsilon)


# What is bought


@pytest.mark.parametrize(("event", "neighbors"), CASES)
def test_a_far_mean_is_bought_and_is_near_the_truth(event, neighbors):
    """Noise of the mean is below .02 in every entry; 60 deviations are allowed, and what shortening rows moves."""
    releases, spending, center = found(FAR, event, neighbors)
    assert spending.length and center.point is not None
    assert np.linalg.norm(center.point - FAR.mean(axis=0)) < 1.5
    spent = spending.center + spending.length + spending.center_radius + spending.sum_radius
    assert abs(1 - releases.left - spent) < Fraction(1, 10**9) and 1 - releases.left <= spent


@pytest.mark.parametrize(("event", "neighbors"), CASES)
def test_a_mean_of_zero_is_not_bought_and_costs_its_length_only(event, neighbors):
    releases, spending, center = found(NEAR, event, neighbors)
    assert center.point is None and center.squared_length < 0.1
    assert 1 - releases.left == spending.length + spending.center_radius
    assert len(releases.noise.executed) == 2


@pytest.mark.parametrize("event", [Gaussian(1e-6), Pure(1e7)])
def test_at_huge_budgets_the_center_is_the_mean_of_the_shortened_rows(event):
    X = FAR[:, :4] / np.linalg.norm(FAR[:, :4], axis=1, keepdims=True)  # of norm 1: a radius shortens none
    _, _, center = found(X, event, Neighbors.REPLACE, bound=4.0)
    if isinstance(event, Pure):  # rows are bounded in sums of absolute values, at a quantile
        assert np.linalg.norm(center.point - X.mean(axis=0)) < 0.2
    else:
        assert center.point == pytest.approx(X.mean(axis=0), abs=1e-3)


@pytest.mark.parametrize(("event", "neighbors"), CASES)
def test_no_center_lies_outside_of_the_bound(event, neighbors):
    weak = Gaussian(30.0) if isinstance(event, Gaussian) else Pure(0.2)
    points = [found(FAR, weak, neighbors, bound=2.0)[2].point for _ in range(10)]
    assert all(point is None or np.linalg.norm(point) <= 2.0 * (1 + 1e-12) for point in points)


def test_without_a_length_a_center_is_bought_unseen():
    event, X = Pure(1.0), NEAR[:250]
    setting = Setting(event, Neighbors.REPLACE, 250, 5)
    spending = Spending(center=Fraction(1, 5), sum_radius=Fraction(1, 20), radius=Fraction(1, 20))
    releases = make(X, event, Neighbors.REPLACE)
    center = find_center(releases, Frame(5), 40.0, releases.norms(Frame(5), 40.0, (2, 1)), setting, spending)
    assert center.point is not None and center.squared_length == np.inf
    assert len(releases.noise.executed) == 2


# Order of releases, and the whole budget


def shares(cap, *parts):
    """The events of these shares of a cap, in this order; a search of a Gaussian budget is a repeated one."""
    budget = filter_for(cap)
    for kind, share in parts:
        event = budget.share(share) if share is not None else budget.rest()
        yield quantile_event(event, 128) if kind == "search" and isinstance(cap, Gaussian) else event


@pytest.mark.parametrize("X", [FAR, NEAR], ids=["far", "near"])
@pytest.mark.parametrize(("delta", "neighbors"), product([0.0, 1e-6], ["replace", "add_remove"]))
def test_releases_come_in_their_order_and_have_their_shares(X, delta, neighbors):
    _, made, cap = learn(X, epsilon=40.0, delta=delta, neighbors=neighbors)
    setting = Setting(cap, Neighbors(neighbors), 4000, 5)  # a count that is off by some rows has the same shares
    whole = spend(setting, WANTED)
    spending = whole if X is FAR else without_center(whole)
    parts = [("count", spending.count)] if neighbors == "add_remove" else []
    parts += [("search", spending.center_radius), ("length", spending.length)]
    parts += [("search", spending.sum_radius)] if spending.sum_radius else []
    parts += [("vector", spending.center)] if spending.center else []
    parts += [("search", spending.radius), ("matrix", None)]
    expected = list(shares(cap, *parts))
    assert len(made) == len(expected)
    assert list(made[:-1]) == expected[:-1]
    strength = [one.epsilon if delta == 0 else one.noise_multiplier for one in (made[-1], expected[-1])]
    assert strength[0] == pytest.approx(strength[1], rel=1e-9)


@pytest.mark.parametrize("X", [FAR, NEAR, FAR[:40], np.zeros((10, 5))], ids=["far", "near", "few", "zeros"])
@pytest.mark.parametrize(("delta", "neighbors"), product([0.0, 1e-6], ["replace", "add_remove"]))
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 100.0])
def test_the_whole_budget_is_spent_and_no_more(X, delta, neighbors, epsilon):
    for terms in ({}, {"standardize": "private"}, {"center": None}):
        _, made, cap = learn(X, epsilon=epsilon, delta=delta, neighbors=neighbors, **terms)
        spent = cost(made, cap)
        assert spent <= 1 and float(spent) >= 1 - 1e-9


# Overspending is caught


def take_without_booking(self, share):
    """A share that nobody books: what is left stays the whole."""
    return filter_for(self._event).share(share)


def take_twice_as_much(self, share):
    return filter_for(self._event).share(min(2 * share, Fraction(1)))


def rest_that_is_the_whole(self):
    return self._event


PLANTED = [("take", take_without_booking), ("rest", rest_that_is_the_whole), ("take", take_twice_as_much)]


@pytest.mark.parametrize(("delta", "neighbors"), product([0.0, 1e-6], ["replace", "add_remove"]))
@pytest.mark.parametrize(("name", "planted"), PLANTED)
def test_a_fit_that_spends_too_much_keeps_nothing(monkeypatch, name, planted, delta, neighbors):
    model = PrivateCovariance(row_norm=40.0, epsilon=1.0, delta=delta, neighbors=neighbors, center="private")
    model.fit(FAR[:500])
    kept = model.covariance_
    monkeypatch.setattr(releases_module.RowReleases, name, planted)
    if (name, planted) == PLANTED[2]:  # twice the shares, and all that the filter thinks is left
        monkeypatch.setattr(releases_module.RowReleases, "rest", rest_that_is_the_whole)
    with pytest.raises(PlanBroken, match="nothing was kept"):
        model.fit(FAR[:500])
    assert model.covariance_ is kept


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_center_that_is_not_booked_is_caught(monkeypatch, delta):
    def unbooked(self, secret, lattice):
        return releases_module.release_vector(secret, lattice, self.noise)

    monkeypatch.setattr(releases_module.RowReleases, "planned_vector", unbooked)
    with pytest.raises(PlanBroken):
        PrivateCovariance(row_norm=40.0, epsilon=4.0, delta=delta, center="private").fit(FAR)
