"""The cap of a fit with a private radius: one event, and no budget that could not be shared after the charge."""

import math
from fractions import Fraction

import numpy as np
import pytest

from hushrank.estimators.second_moment.covariance import PrivateCovariance
from hushrank.estimators.second_moment.pca import PrivatePCA
from hushrank.estimators.second_moment.radius_plan import (
    LARGEST_NORM,
    SMALLEST_NORM,
    RadiusBudget,
    plan_radius_budget,
)
from hushrank.exceptions import InvalidParameter
from hushrank.privacy import accountant
from hushrank.privacy.calibration import event_for
from hushrank.privacy.events import Gaussian, Pure
from hushrank.privacy.filters import filter_for
from hushrank.privacy.guarantee import Budget, Neighbors
from hushrank.privacy.ledger import Ledger
from hushrank.privacy.mechanisms.fields import Field

BUDGETS = [Budget(1.0, delta, neighbors) for delta in (0.0, 1e-6) for neighbors in Neighbors]
TERMS = {"field": Field.REAL, "n_max": 2**26, "is_drawn": False, "owner": "Somebody"}


@pytest.mark.parametrize("budget", BUDGETS)
def test_the_plan_is_one_event_that_costs_the_budget(budget):
    plan = plan_radius_budget(budget, 4, **TERMS)
    assert plan == RadiusBudget(event_for(budget), budget.neighbors, 4, "exact")
    [step] = plan.steps()
    assert step.event == plan.event and step.numerics == "exact"
    assert accountant.epsilon(step.event, budget.delta) <= 1.0
    assert filter_for(step.event).left > 0  # a filter can keep it
    strength = plan.event.epsilon if budget.is_pure else plan.event.noise_multiplier
    assert list(step.scales.values()) == [strength]
    assert plan_radius_budget(budget, 4, **{**TERMS, "is_drawn": True}).steps()[0].numerics == "idealized"


@pytest.mark.parametrize("n_features", [1, 4, 1000])
def test_the_whole_budget_is_planned_whatever_the_number_of_rows_and_columns(n_features):
    """Shares follow from the number of rows, which may have to be released first."""
    for n in (1, 10**6):
        for terms in ({}, {"center": "private"}, {"standardize": "private"}):
            plan = PrivateCovariance(row_norm=1.0, epsilon=0.5, **terms).plan((n, n_features))
            assert plan.event == Pure(0.5) and sum(plan.shares.values()) == pytest.approx(1.0)


@pytest.mark.parametrize("delta", [0.0, 1e-20])
@pytest.mark.parametrize("neighbors", Neighbors)
@pytest.mark.parametrize("epsilon", [1e-200, 1e-18])
def test_budgets_beyond_the_arithmetic_are_refused_in_words_of_the_estimator(epsilon, delta, neighbors):
    with pytest.raises(InvalidParameter, match=r"^epsilon of Somebody must be such that a share of .* of it is"):
        plan_radius_budget(Budget(epsilon, delta, neighbors), 4, **TERMS)


def smallest_budget(delta, **terms):
    """About the smallest epsilon that `plan` takes."""
    low, high = -14.0, 0.0
    while high - low > 0.02:
        middle = (low + high) / 2
        try:
            PrivateCovariance(epsilon=10.0**middle, delta=delta, **terms).plan((100, 3))
            high = middle
        except InvalidParameter:
            low = middle
    return 10.0**high


@pytest.mark.parametrize("delta", [0.0, 1e-15])
@pytest.mark.parametrize("neighbors", Neighbors)
def test_the_smallest_budget_that_is_planned_can_be_spent(delta, neighbors):
    """With a guess of very many rows, every release is made with its smallest share; nothing fails after the charge."""
    terms = {"row_norm": 1.0, "center": "private", "standardize": "private", "neighbors": neighbors.value}
    epsilon = smallest_budget(delta, **terms)
    X = np.random.default_rng(0).standard_normal((100, 3)) + 5.0
    model = PrivateCovariance(epsilon=epsilon, delta=delta, n_samples=2**60, **terms).fit(X)
    assert np.isfinite(model.covariance_).all()


@pytest.mark.parametrize("norm", [SMALLEST_NORM, LARGEST_NORM])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("terms", [{"center": "private"}, {"standardize": "private"}, {"neighbors": "add_remove"}])
def test_rows_at_the_ends_of_the_allowed_norms_are_learned_from(norm, delta, terms):
    """Radii are up to 2^-16 below the bound, and a little above it around a center."""
    for X in (np.zeros((60, 3)), norm * np.eye(3)[np.arange(60) % 3], np.full((60, 3), norm)):
        model = PrivateCovariance(row_norm=norm, epsilon=3.0, delta=delta, **terms).fit(X)
        assert np.isfinite(model.covariance_).all() and 0 < model.radius_ <= 3e4 * norm


@pytest.mark.parametrize("norm", [SMALLEST_NORM, LARGEST_NORM])
@pytest.mark.parametrize("center", [None, "private"])
def test_so_are_draws(norm, center):
    """Values never raise, and nothing fails after the charge."""
    terms = {"row_norm": norm, "epsilon": 1e4, "mechanism": "exponential", "center": center}
    for X in (np.zeros((60, 3)), norm * np.eye(3)[np.zeros(60, int)] * np.where(np.arange(60) % 3, 1.0, -1.0)[:, None]):
        model = PrivatePCA(1, **terms).fit(X)
        assert np.isfinite(model.components_).all()


@pytest.mark.parametrize("norm", [SMALLEST_NORM / 2, LARGEST_NORM * 2])
def test_other_norms_are_refused_before_the_charge(norm, tmp_path):
    with Ledger(tmp_path / "budget.db") as ledger:
        ledger.create("data", epsilon=3.0, neighbors="replace", unit="row")
        model = PrivateCovariance(row_norm=norm, epsilon=1.0, ledger=ledger["data"])
        with pytest.raises(InvalidParameter, match=r"^row_norm of PrivateCovariance must be between 1e-94 and 1e\+94"):
            model.fit(np.zeros((5, 2)))
        assert len(ledger["data"].history()) == 1


def test_shares_of_a_filter_are_gaussian_or_pure_as_the_budget_is():
    for budget in BUDGETS:
        event = plan_radius_budget(budget, 4, **TERMS).event
        part = filter_for(event).share(Fraction(1, 4))
        assert isinstance(part, Pure if budget.is_pure else Gaussian)
        strength = (lambda e: e.epsilon) if budget.is_pure else (lambda e: e.noise_multiplier**-2)
        assert math.isclose(4 * strength(part), strength(event), rel_tol=1e-12)
