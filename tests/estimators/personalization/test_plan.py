"""The plan of a representation: one cap or rounds of choices, from parameters and public sizes alone."""

import pytest

import hushrank as hr
from hushrank import registry
from hushrank.exceptions import InvalidParameter
from hushrank.privacy import accountant
from hushrank.privacy.calibration import calibrate
from hushrank.privacy.guarantee import Budget

TERMS = {"n_components": 2, "epsilon": 1.0, "delta": 1e-6}
SIZES = {"n_users": 5000, "n_features": 20}
Planner = registry.planner("PrivateRepresentation")


@pytest.mark.parametrize(
    "terms",
    [{}, {"neighbors": "add_remove", "loss": "logistic"}, {"method": "altmin"}, {"method": hr.GradientSteps(2)}],
)
def test_a_planner_plans_one_cap_as_the_estimator_does(terms):
    plan = Planner(**{**TERMS, **terms}).plan(**SIZES)
    assert plan == hr.PrivateRepresentation(**{**TERMS, **terms}).plan((5000, 20))
    [step] = plan.steps
    assert step.event == calibrate(Budget(1.0, 1e-6, terms.get("neighbors", "replace"), "user"))
    assert plan.guarantee.unit == "user" and all(0 < value < 10 for value in plan.forecast.values())


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
def test_choices_are_planned_round_by_round(neighbors):
    options = hr.ExponentialSelection(rounds=4, candidates=50, growth=2.0)
    terms = {**TERMS, "delta": 0.0, "method": options, "neighbors": neighbors}
    plan = Planner(**terms).plan(**SIZES)
    assert len(plan.steps) == 4 and accountant.epsilon(plan.event, 0.0) <= 1.0
    epsilons = [step.event.epsilon for step in plan.steps]
    assert sum(epsilons) == pytest.approx(1.0) and epsilons == sorted(epsilons)
    users = [step.scales["users of full score that make odds of e"] for step in plan.steps]
    assert users == pytest.approx([(2 if neighbors == "replace" else 1) / epsilon for epsilon in epsilons])


def test_a_number_of_users_that_parameters_tell_need_not_be_said():
    assert Planner(**TERMS, n_users=5000).plan(n_features=20) == Planner(**TERMS).plan(**SIZES)
    with pytest.raises(InvalidParameter, match="n_users of PrivateRepresentation must be an integer >= 1; got None"):
        Planner(**TERMS).plan(n_features=20)


def test_few_users_are_warned_of_before_the_charge():
    notes = [Planner(**TERMS).plan(n_users=n, n_features=20).notes for n in (100, 10**6 - 1)]
    assert len(notes[0]) == 1 and "too few users for this budget" in notes[0][0] and notes[1] == ()
    counts = [
        sum(map(len, Planner(**TERMS).plan(n_users=n, n_features=20).notes)) for n in (10**2, 10**3, 10**4, 10**6 - 1)
    ]
    assert sorted(counts, reverse=True)[0] == counts[0] and counts[-1] == 0
    pure = {**TERMS, "delta": 0.0, "method": "exponential"}
    assert Planner(**pure).plan(n_users=100, n_features=20).notes == ()


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ({"delta": 0.0}, "delta of PrivateRepresentation must be > 0, because sums over users have Gaussian noise"),
        ({"method": "exponential"}, "delta of PrivateRepresentation must be 0 for method 'exponential'"),
        ({"n_components": 21}, "n_components of PrivateRepresentation must be at most the number of features, 20"),
        ({"epsilon": 1e-9, "delta": 1e-12}, "epsilon of PrivateRepresentation must be so large that the noise"),
        ({"method": "altmin", "loss": "logistic"}, "loss of PrivateRepresentation must be 'squared' for this method"),
        ({"n_users": 3, "neighbors": "add_remove"}, "n_users of PrivateRepresentation must be None under add_remove"),
    ],
)
def test_refusals(terms, message):
    for make in (Planner, hr.PrivateRepresentation):
        with pytest.raises(InvalidParameter, match=message):
            make(**{**TERMS, **terms}).plan(n_features=20, **({} if "n_users" in terms else {"n_users": 5000}))
