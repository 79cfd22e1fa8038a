"""Calibrated events meet the budget by the accountant's word; with one percent less noise they do not."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrank.exceptions import InvalidParameter
from hushrank.privacy import accountant, gdp
from hushrank.privacy.calibration import calibrate, event_for
from hushrank.privacy.events import Composed, Gaussian, Mixture, NonPrivate, Pure, Repeated, leaves
from hushrank.privacy.guarantee import Budget

FAMILIES = {
    "gaussian": Gaussian,
    "fifty": lambda x: Repeated(Gaussian(x), 50),
    "two scales": lambda x: Composed([Repeated(Gaussian(3.0 * x), 7), Gaussian(x)]),
    "beside pure": lambda x: Composed([Pure(0.01), Gaussian(x)]),
    "beside bounded range": lambda x: Composed([Repeated(Pure(0.01, bounded_range=True), 5), Gaussian(x)]),
    "beside a table": lambda x: Composed([Mixture([0.0, 0.01, 0.1], [1e-3, 1e-5, 1e-12]), Gaussian(x)]),
    "pure": lambda x: Repeated(Pure(1.0 / x), 30),
}


def noise_of(event):
    last = list(leaves(event))[-1]
    return 1.0 / last.epsilon if isinstance(last, Pure) else last.noise_multiplier


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-3), (1.0, 1e-6), (1.0, 1e-10), (8.0, 1e-6)])
def test_budget_is_met_and_tight(family, epsilon, delta):
    make_event, budget = FAMILIES[family], Budget(epsilon, delta)
    event = calibrate(budget, make_event)
    assert accountant.delta(event, epsilon) <= delta
    assert accountant.epsilon(event, delta) <= epsilon
    noise = noise_of(event)
    less = make_event(noise * 0.99)
    assert accountant.delta(less, epsilon) > delta
    assert accountant.epsilon(less, delta) > epsilon
    slightly_less = make_event(noise * (1 - 1e-8))
    assert accountant.epsilon(slightly_less, delta) > epsilon


@given(st.floats(1e-3, 50.0), st.floats(-25.0, -0.5))
@settings(deadline=None)
def test_every_gaussian_budget_is_met(epsilon, exponent):
    budget = Budget(epsilon, 10.0**exponent)
    event = calibrate(budget)
    assert accountant.delta(event, budget.epsilon) <= budget.delta
    assert accountant.epsilon(event, budget.delta) <= budget.epsilon
    assert accountant.delta(Gaussian(event.noise_multiplier * 0.99), budget.epsilon) > budget.delta


def test_closed_path_and_search_agree():
    for budget in (Budget(0.3, 1e-5), Budget(3.0, 1e-9)):
        searched = calibrate(budget, lambda x: Composed([Gaussian(x)]))
        assert noise_of(searched) == pytest.approx(calibrate(budget).noise_multiplier, rel=1e-11)


@pytest.mark.parametrize("epsilon", [1e-12, 1e4, 1e7, 1e12, 1e300])
def test_extreme_budgets_are_met(epsilon):
    for delta in (1e-300, 1e-6, 0.9):
        event = calibrate(Budget(epsilon, delta))
        assert accountant.epsilon(event, delta) <= epsilon


def test_event_is_checked_once_more(monkeypatch):
    faulty = gdp.mu_of_budget(1.0, 1e-6) * (1 + 1e-5)
    monkeypatch.setattr(gdp, "mu_of_budget", lambda epsilon, delta: faulty)
    event = calibrate(Budget(1.0, 1e-6))
    assert accountant.delta(event, 1.0) <= 1e-6
    assert accountant.epsilon(event, 1e-6) <= 1.0


def test_pure_budget_is_met_exactly():
    event = calibrate(Budget(1.0), lambda x: Repeated(Pure(1.0 / x), 3))
    assert 1.0 - 1e-12 < accountant.epsilon(event) <= 1.0


def test_any_noise_will_do():
    assert calibrate(Budget(1.0, 1e-6), lambda x: Pure(0.5)) == Pure(0.5)


def test_event_for_spends_the_whole_budget():
    assert event_for(Budget(0.7)) == Pure(0.7)
    assert event_for(Budget(0.7, 1e-6)) == calibrate(Budget(0.7, 1e-6))
    assert accountant.epsilon(event_for(Budget(0.7, 1e-6)), 1e-6) == pytest.approx(0.7, rel=1e-8)


@pytest.mark.parametrize("make_event", [Gaussian, lambda x: Composed([Pure(0.1), Gaussian(x)])])
def test_delta_zero_is_refused_for_gaussian_noise(make_event):
    message = r"^delta of calibrate must be > 0, because only pure releases meet delta = 0; got 0\.0\.$"
    with pytest.raises(InvalidParameter, match=message):
        calibrate(Budget(1.0), make_event)


@pytest.mark.parametrize(
    "make_event",
    [
        lambda x: Composed([Pure(2.0), Gaussian(x)]),
        lambda x: Composed([NonPrivate(), Gaussian(x)]),
        lambda x: Composed([Mixture([0.0], [1e-4]), Gaussian(x)]),
    ],
)
def test_target_that_no_noise_meets_is_refused(make_event):
    message = r"^epsilon of calibrate must be so large that some amount of noise meets the budget; got 1\.0"
    with pytest.raises(InvalidParameter, match=message):
        calibrate(Budget(1.0, 1e-6), make_event)


def test_what_is_not_an_event_is_refused():
    with pytest.raises(InvalidParameter, match=r"^event of accountant\.delta must be made of Gaussian"):
        calibrate(Budget(1.0, 1e-6), lambda x: math.sqrt(x))
