"""The plan of an evaluation: sensitivity, noise, forecast, and what is refused."""

import numpy as np
import pytest

from hushrank.estimators.completion.evaluation_plan import (
    COUNT_WEIGHT,
    EvaluationPlanner,
    evaluation_sensitivity,
    plan_evaluation,
)
from hushrank.exceptions import InvalidParameter
from hushrank.privacy.events import Gaussian, Pure
from hushrank.privacy.guarantee import Budget
from hushrank.privacy.mechanisms.vector import vector_l1_sensitivity, vector_l2_sensitivity

BUDGETS = [Budget(1.0, 1e-6, relation, "user") for relation in ("replace", "add_remove")] + [
    Budget(0.5, 0.0, relation, "user") for relation in ("replace", "add_remove")
]


def planned(budget, **changes):
    terms = {"compared": ("model", "baseline"), "most_held_out": 5.0, "has_errors": True, "n_max": 2**26, **changes}
    return plan_evaluation(budget, **terms)


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_the_lattice_has_the_sensitivity_of_the_box(budget):
    """Of vectors with entries between 0 and their weights, whichever relation."""
    release = planned(budget)
    sensitivity = evaluation_sensitivity(release.weights, is_pure=budget.is_pure)
    of_lattice = vector_l1_sensitivity if budget.is_pure else vector_l2_sensitivity
    assert of_lattice(release.lattice.norm_bound, budget.neighbors) == pytest.approx(sensitivity, rel=1e-12)
    corner = np.array([1.0, 1.0, COUNT_WEIGHT, 1.0, 1.0, COUNT_WEIGHT])
    assert release.weights.tolist() == corner.tolist()
    assert sensitivity == pytest.approx(np.linalg.norm(corner, 1 if budget.is_pure else 2), rel=1e-12)
    noise = sensitivity / budget.epsilon if budget.is_pure else sensitivity * release.lattice.event.noise_multiplier
    assert release.lattice.scale == pytest.approx(noise, rel=1e-6) and release.lattice.scale >= noise * (1 - 1e-12)


def test_scales_are_in_the_units_of_the_sums():
    release = planned(BUDGETS[0])
    scales = dict(zip(release.names, release.scales, strict=True))
    assert scales["squared errors, model"] == pytest.approx(5 * scales["recall, model"])
    assert scales["held-out ratings"] == pytest.approx(scales["squared errors, model"] / COUNT_WEIGHT)
    assert list(release.steps()[0].scales.values()) == release.scales.tolist()


def test_fewer_are_compared_with_less_noise():
    one, two = planned(BUDGETS[0], compared=("model",)), planned(BUDGETS[0])
    assert len(one.names) == 4 and one.lattice.scale < 0.75 * two.lattice.scale
    assert planned(BUDGETS[0], has_errors=False).names[0] == "recall, model"


@pytest.mark.parametrize(("delta", "event"), [(1e-6, Gaussian), (0.0, Pure)])
def test_a_plan_forecasts_noise_that_falls_with_the_users(delta, event):
    planner = EvaluationPlanner(epsilon=1.0, delta=delta)
    few, many = planner.plan(n_users=100), planner.plan(n_users=1000)
    assert isinstance(few.event, event) and few.guarantee.epsilon <= 1.0 and few.guarantee.unit == "user"
    assert len(few.forecast) == 2
    assert all(few.forecast[name] == pytest.approx(10 * many.forecast[name]) for name in few.forecast)
    assert len(EvaluationPlanner(epsilon=1.0, delta=delta, feedback="implicit").plan(n_users=9).forecast) == 1


def test_a_stated_number_of_users_is_refused_where_it_is_secret():
    with pytest.raises(InvalidParameter, match="n_users of EvaluationPlanner must be None under add_remove"):
        EvaluationPlanner(epsilon=1.0, n_users=5, neighbors="add_remove").plan(n_users=5)
    assert EvaluationPlanner(epsilon=1.0, n_users=5).plan().forecast


@pytest.mark.parametrize(
    "terms", [{"k": 0}, {"held_out": 1.0}, {"held_out": 0.0}, {"most_held_out": 0}, {"split_seed": -1}]
)
def test_wrong_choices_are_refused(terms):
    with pytest.raises(InvalidParameter, match=f"{next(iter(terms))} of EvaluationPlanner must be"):
        EvaluationPlanner(epsilon=1.0, **terms).plan(n_users=5)
