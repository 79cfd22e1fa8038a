"""A plan says what the release will do: same event, same scales, and a guarantee within the budget."""

import dataclasses
import json
import math

import numpy as np
import pytest

from hushrank.exceptions import InvalidParameter
from hushrank.privacy.events import Composed, Gaussian, Mixture, Pure, Repeated
from hushrank.privacy.figures import show_event
from hushrank.privacy.guarantee import Budget
from hushrank.privacy.mechanisms.counts import release_counts
from hushrank.privacy.mechanisms.exponential import score_lattice
from hushrank.privacy.mechanisms.gram import gram_lattice, release_gram
from hushrank.privacy.mechanisms.quantile import quantile_event, release_quantile
from hushrank.privacy.mechanisms.vector import release_vector, vector_lattice
from hushrank.privacy.noise.source import NoiseSource
from hushrank.privacy.planning import (
    Step,
    draw_step,
    eigenvalues_step,
    gram_step,
    make_plan,
    plan_counts,
    plan_gram,
    plan_quantile,
    plan_vector,
    quantile_step,
)

BUDGETS = [Budget(0.5), Budget(0.5, neighbors="add_remove"), Budget(0.5, 1e-6), Budget(2.0, 1e-3, unit="user")]


@pytest.mark.parametrize("budget", BUDGETS)
def test_executed_events_are_the_planned_ones_and_stay_within_the_budget(budget):
    plans = [
        plan_vector(budget, 2.0),
        plan_gram(budget, 2.0, 3),
        plan_counts(budget, 4),
        plan_quantile(budget, 0.3, 9),
    ]
    noise = NoiseSource()
    release_vector(np.zeros(3, np.int64), vector_lattice(2.0, plans[0].event, budget.neighbors), noise)
    release_gram(np.zeros((3, 3), np.int64), gram_lattice(2.0, plans[1].event, budget.neighbors), noise)
    release_counts(np.zeros(4, np.int64), plans[2].event, noise, budget.neighbors)
    release_quantile(np.zeros(10, np.int64), np.arange(9.0), 0.3, plans[3].event, noise, budget.neighbors)
    assert noise.executed == tuple(plan.event for plan in plans)
    for plan in plans:
        given = plan.guarantee
        assert 0.999 * budget.epsilon < given.epsilon <= budget.epsilon
        assert (given.delta, given.neighbors, given.unit) == (budget.delta, budget.neighbors, budget.unit)
        assert given.numerics == "exact" and given.event == plan.event
        assert json.loads(json.dumps(plan.to_dict())) == plan.to_dict()


def scales(plan):
    (step,) = plan.steps
    return step.scales


def test_scales_of_pure_releases():
    budget = Budget(0.5)
    assert scales(plan_vector(budget, 2.0)) == {"Laplace scale of an entry": pytest.approx(8.0, rel=1e-9)}
    gram = scales(plan_gram(budget, 2.0, 10))
    assert gram["Wishart scale C"] == pytest.approx(8.0, rel=1e-5)
    assert gram["standard deviation off the diagonal"] == pytest.approx(8.0 * math.sqrt(22), rel=1e-5)
    assert gram["standard deviation on the diagonal"] == pytest.approx(8.0 * math.sqrt(44), rel=1e-5)
    assert scales(plan_counts(budget, 10, max_cells=2)) == {"Laplace scale of a count": 8.0}
    assert scales(plan_quantile(budget, 0.5, 8)) == {
        "Laplace scale of a rank, each step (people)": pytest.approx(6.0, rel=1e-9)
    }


def test_scales_of_gaussian_releases():
    budget = Budget(0.5, 1e-6)
    multiplier = plan_vector(budget, 2.0).event.noise_multiplier
    assert scales(plan_vector(budget, 2.0))["standard deviation of an entry"] == pytest.approx(4 * multiplier, rel=1e-9)
    nonnegative = scales(plan_vector(budget, 2.0, nonnegative=True))["standard deviation of an entry"]
    assert nonnegative == pytest.approx(8**0.5 * multiplier, rel=1e-9)
    gram = scales(plan_gram(budget, 2.0, 10))
    assert gram["standard deviation off the diagonal"] == pytest.approx(4 * multiplier, rel=1e-8)
    assert gram["standard deviation on the diagonal"] == pytest.approx(32**0.5 * multiplier, rel=1e-8)
    assert scales(plan_counts(budget, 10))["standard deviation of a count"] == pytest.approx(2**0.5 * multiplier)
    rank = scales(plan_quantile(budget, 0.5, 16))["standard deviation of a rank, each step (people)"]
    assert rank == pytest.approx(2 * multiplier)


@pytest.mark.parametrize(
    ("event", "mechanism"),
    [(Gaussian(2.0), "Hermitian Gaussian noise (GUE-shaped)"), (Pure(0.5), "complex two-sided Wishart noise")],
)
def test_scales_of_complex_second_moments_are_those_of_the_noise(event, mechanism):
    lattice, d = gram_lattice(2.0, event, field="complex"), 200
    step = gram_step("second moment", lattice, d)
    assert (step.mechanism, step.event) == (mechanism, event)
    zeros = np.zeros((d, d), np.int64)
    noise = release_gram((zeros, zeros), lattice, NoiseSource())
    above, diagonal = noise[np.triu_indices(d, 1)], np.diag(noise).real
    off = step.scales["deviation of the real part off the diagonal"]
    for part in (above.real, above.imag):  # 19900 entries: the mean square varies by less than 2 %
        assert np.mean(part**2) == pytest.approx(off**2, rel=0.15)
    stated = step.scales["standard deviation on the diagonal"]  # 200 entries: it varies by about 10 %
    assert stated == pytest.approx(2**0.5 * off) and np.mean(diagonal**2) == pytest.approx(stated**2, rel=0.9)
    assert "standard deviation off the diagonal" not in step.scales
    lines = str(make_plan(Budget(4.0, 1e-3), step)).splitlines()
    assert len({line.index("  ", 46) for line in lines}) == 1  # values stand in one column


def test_the_event_follows_from_delta():
    assert isinstance(plan_vector(Budget(1.0), 1.0).event, Pure)
    assert isinstance(plan_gram(Budget(1.0, 1e-6), 1.0, 3).event, Gaussian)
    assert plan_quantile(Budget(1.0), 0.5, 256).event == Repeated(Pure(0.125), 8)


@pytest.mark.parametrize("budget", BUDGETS)
def test_a_quantile_beside_other_steps_is_planned_as_it_is_alone(budget):
    (alone,) = plan_quantile(budget, 0.3, 9).steps
    event = quantile_event(plan_vector(budget, 1.0).event, 9)
    step = quantile_step("reach", event, 0.3, budget.neighbors)
    assert dataclasses.replace(step, name=alone.name) == alone and alone.name == "quantile" and step.name == "reach"


def test_bad_shapes_are_refused():
    with pytest.raises(InvalidParameter, match="n_features of plan_gram must be an integer >= 1"):
        plan_gram(Budget(1.0), 1.0, 0)


def test_a_plan_of_several_steps_states_what_they_give_together():
    steps = [Step(name, "noise", Pure(epsilon), {"scale": 1.5}) for name, epsilon in (("first", 0.25), ("second", 0.5))]
    plan = make_plan(Budget(1.0), *steps)
    assert plan.event == Composed([Pure(0.25), Pure(0.5)])
    assert plan.guarantee.epsilon == 0.75 and plan.guarantee.event == plan.event
    assert [step["name"] for step in plan.to_dict()["steps"]] == ["first", "second"]


def test_people_read_every_number_of_a_plan():
    plan = dataclasses.replace(plan_gram(Budget(1.0, 1e-6, "add_remove", "user"), 1.0, 3), forecast={"error": 0.125})
    text = str(plan)
    numbers = (show_event(plan.event), "epsilon = 1, delta = 1e-06", "0.125")
    for part in (*numbers, "add or remove one user", "exact", "error"):
        assert part in text
    assert len({line.index("  ", 46) for line in text.splitlines()}) == 1  # values stand in one column


def test_plain_words_come_first_and_terms_second():
    names = [name.strip() for name, _ in plan_vector(Budget(1.0, 1e-6), 2.0).lines()]
    assert names[:3] == ["what it promises", "sum of vectors", "mechanism"]
    assert names.index("event") > names.index("standard deviation of an entry")
    values = dict(plan_vector(Budget(1.0, 1e-6), 2.0).lines())
    assert values["what it promises"].startswith("If any one row were replaced by anything else, the chance of")
    assert values["sum of vectors"] == "noise of 4.22 times what one row can change"
    unknown = make_plan(Budget(1.0, 1e-6), Step("curve", "noise", Mixture([0.0, 1.0], [1e-6, 1e-7]), {}))
    assert dict(unknown.lines())["curve"] == "noise"  # nothing to say in plain words


def test_people_read_what_a_guarantee_takes_for_granted():
    plan = plan_vector(Budget(1.0, 1e-6, premise="nobody looks"), 2.0)
    lines = str(plan).splitlines()
    (line,) = [line for line in lines if line.startswith("provided that")]
    assert line.endswith("  nobody looks") and plan.guarantee.premise == "nobody looks"
    assert len({line.index("  ", 46) for line in lines}) == 1  # values stand in one column
    assert "provided that" not in str(plan_vector(Budget(1.0, 1e-6), 2.0))
    assert json.loads(json.dumps(plan.to_dict())) == plan.to_dict()


def test_a_plan_with_an_idealized_step_says_so():
    exact = gram_step("second moment", gram_lattice(1.0, Pure(0.5)), 4)
    lattice = score_lattice(2.0, Pure(0.5, True), "replace", n_features=4, rank=2)
    draw = draw_step("directions", "exponential mechanism", lattice, 2)
    assert draw.scales["temperature 1/c of the score"] == pytest.approx(2 * 4 / 0.5, rel=1e-5)
    values = eigenvalues_step("eigenvalues", lattice, 2)
    assert values.scales["Laplace scale of an eigenvalue"] == pytest.approx(2 * 4 / 0.5, rel=1e-5)
    for steps, numerics in (((exact,), "exact"), ((exact, draw), "idealized"), ((values,), "idealized")):
        plan = make_plan(Budget(1.0), *steps)
        assert plan.guarantee.numerics == numerics and plan.to_dict()["steps"][0]["numerics"] == steps[0].numerics
