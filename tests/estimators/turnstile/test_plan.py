"""Parameters of sketches: what goes together, what a guarantee takes for granted, and that plans keep their budget."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hushrank as hr
from hushrank.estimators.turnstile.plan import CHOSEN_BLINDLY, MOST_CLIP, PROMISED, TurnstilePlanner
from hushrank.estimators.turnstile.sketch_plan import HOPELESS
from hushrank.exceptions import InvalidParameter
from hushrank.privacy import accountant
from hushrank.privacy.events import Gaussian, Mixture, Pure, Repeated

TERMS = {"shape": (50, 40), "rank": 3, "epsilon": 1.0, "delta": 1e-6}
SMALL = {"kind": "three_sketch", "sketch_sizes": (8, 12)}
LEDGER_REFUSED = "None where a guarantee rests on a random sketch, whose cost is no sum of mu\\^2"


def planner(**changes):
    return TurnstilePlanner(**{**TERMS, **changes})


def lattice_of(**changes):
    one = planner(**changes)
    return one._plan(one._check_parameters(), {}).lattice


# What does not go together

REFUSED = {
    "a rank above the shape": ({"rank": 41}, "rank", "at most 40, as rows and columns; got 41"),
    "operators of a matrix": ({"kind": "full", "operator": "srht"}, "operator", "left at its default for kind='full'"),
    "sizes of a matrix": ({"kind": "full", "sketch_sizes": (9, 9)}, "sketch_sizes", "left at its default for kind="),
    "sizes below the rank": ({"sketch_sizes": (2, 9)}, "sketch_sizes", r"t and v >= 3, the rank; got \(2, 9\)"),
    "a core below the sketches": ({**SMALL, "sketch_sizes": (9, 8)}, "sketch_sizes", "v >= t for kind='three_sketch'"),
    "rows below columns in figure 3": ({"kind": "figure3", "sketch_sizes": (9, 8)}, "sketch_sizes", "v >= t for kind"),
    "more signs than places": ({"per_column": 9, "sketch_sizes": (8, 20)}, "per_column", "at most 8, the smaller"),
    "a huge clip": ({"clip": 1.0 + MOST_CLIP}, "clip", "at most 256 times the bound, or 'none'; got 257"),
    "narrow Gaussian columns": ({"unit": "row", "integers": "int32"}, "integers", "'int64' for Gaussian operators"),
    "narrow noise": ({"pan_private": True, "integers": "int32"}, "integers", "'int64' for noise in the state"),
    "counters in a private state": (
        {"pan_private": True, "unit": "user"}, "user_totals", "counters of users would be no secret in it",
    ),
    "pure Gaussian columns": ({"delta": 0.0, "operator": "gaussian"}, "delta", "> 0 for Gaussian operators"),
    "a pure unit without a sum": ({"delta": 0.0, "unit": "row", "kind": "full"}, "delta", "> 0 for unit 'row'"),
    "signs on both sides": (
        {**SMALL, "unit": "rank1", "operator": "sparse_sign"}, "operator", "signs on both sides have no bound",
    ),
    "too little memory": ({"memory": 1000}, "memory", r"at least \d+ bytes for these sizes; .*; got 1000"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_go_together_is_refused_by_name_before_anything_is_charged(case, tmp_path):
    changes, name, message = REFUSED[case]
    terms = {**TERMS, **changes}
    for call in (planner(**changes).plan, hr.TurnstileSketch(**terms).plan, hr.TurnstileSketch(**terms).factorize):
        with pytest.raises(InvalidParameter, match=f"^{name} of TurnstileSketch must be .*{message}") as refusal:
            call()
        assert "\n" not in str(refusal.value)
    unit = terms.get("unit", "entry")
    with hr.Ledger(tmp_path / "budget.db") as ledger:
        account = ledger.create("data", epsilon=9.0, delta=terms["delta"], unit=unit, neighbors="add_remove")
        sketch = hr.TurnstileSketch(**terms, ledger=account)
        with pytest.raises(InvalidParameter):
            sketch.update([0], [0], [1.0])
        assert len(account.history()) == 1 and sketch._held is None


@pytest.mark.parametrize(
    "random", [{"unit": "frobenius"}, {"unit": "row", "operator": "sparse_sign"}, {"unit": "rank1", "operator": "srht"}]
)
def test_a_ledger_is_refused_beside_a_random_sketch(random, tmp_path):
    with hr.Ledger(tmp_path / "budget.db") as ledger:
        account = ledger.create("data", epsilon=9.0, delta=1e-6, unit=random["unit"], neighbors="add_remove")
        for call in (lambda one: one.update([0], [0], [1.0]), lambda one: one.factorize(), lambda one: one.plan()):
            with pytest.raises(InvalidParameter, match=f"^ledger of TurnstileSketch must be {LEDGER_REFUSED}"):
                call(hr.TurnstileSketch(**TERMS, **random, ledger=account))
        # Nor can it be given later, when there is something to release.
        sketch = hr.TurnstileSketch(**TERMS, **random).update([0], [0], [1.0])
        sketch.ledger = account
        with pytest.raises(InvalidParameter, match="ledger of TurnstileSketch"):
            sketch.factorize()
        assert len(account.history()) == 1 and sketch._held.n_releases == 0
        hr.TurnstileSketch(**TERMS, unit=random["unit"], kind="full", ledger=account).factorize()
        assert len(account.history()) == 2


def test_memory_is_refused_before_it_is_taken():
    with pytest.raises(InvalidParameter, match=r"memory of TurnstileSketch must be at least \d{15} bytes"):
        hr.TurnstileSketch(**{**TERMS, "shape": (2**30, 2**14)}, kind="full").update([0], [0], [1.0])
    for changes in ({}, {"unit": "row"}, {"integers": "int32"}, {"kind": "full"}):
        with pytest.raises(InvalidParameter) as refusal:
            planner(**changes, memory=1).plan()
        needed = int(refusal.value.requirement.split()[2])
        sketch = hr.TurnstileSketch(**TERMS, **changes, memory=needed).update([0], [0], [1.0])
        state = sketch._held.intake.state
        stored = sum(one._columns.nbytes for one in state._operators.values() if hasattr(one, "_columns"))
        assert sum(array.nbytes for array in state.arrays) + stored == needed
        with pytest.raises(InvalidParameter, match="memory"):
            planner(**changes, memory=needed - 1).plan()


def test_sizes_of_a_plan_are_those_of_the_shape():
    assert planner().plan() == planner().plan(n_updates=2000) == planner().plan((2000, 50, 40))
    with pytest.raises(InvalidParameter, match=r"n_rows of TurnstilePlanner must be as in the shape \(50, 40\)"):
        planner().plan(n_rows=51)


# Defaults


def test_operators_and_clips_follow_the_unit():
    found = {unit: planner(unit=unit) for unit in ("entry", "user", "row", "rank1", "frobenius")}
    operators = ["sparse_sign", "sparse_sign", "gaussian", "gaussian", "gaussian"]
    assert [one._operator for one in found.values()] == operators
    assert [one._clip for one in found.values()] == [1.0, 1.0, 1.0, None, None]
    assert planner(clip="none")._clip is None and planner(unit="rank1", clip=2)._clip == 2.0


@pytest.mark.parametrize("pair", [(50, 40), [50, 40], np.array([50, 40]), (np.int32(50), np.int64(40))])
def test_a_shape_may_be_any_pair(pair):
    assert planner(shape=pair).plan() == planner().plan()


# What a guarantee takes for granted


@pytest.mark.parametrize(
    ("changes", "premise"),
    [
        ({}, ""),
        ({"unit": "user"}, ""),
        ({"unit": "user", "user_totals": "promised"}, PROMISED),
        ({"unit": "frobenius"}, CHOSEN_BLINDLY),
        ({"unit": "frobenius", "kind": "full"}, ""),
        ({"unit": "row", "operator": "srht"}, CHOSEN_BLINDLY),
        ({"operator": "gaussian"}, CHOSEN_BLINDLY),
        ({"unit": "user", "user_totals": "promised", "operator": "gaussian"}, f"{CHOSEN_BLINDLY}; {PROMISED}"),
    ],
)
def test_premises_are_stated_where_they_are_needed_and_nowhere_else(changes, premise):
    plan = planner(**changes).plan()
    assert plan.guarantee.premise == premise
    assert ("PROVIDED THAT" in str(plan.guarantee)) == bool(premise)
    sketch = hr.TurnstileSketch(**TERMS, **changes)
    users = ["ann"] if sketch._counts_users else None
    assert sketch.update([0], [0], [1.0], users=users).factorize().privacy_ == plan.guarantee


# Budgets


@settings(max_examples=25, deadline=None)
@given(
    epsilon=st.floats(0.05, 20.0),
    log_delta=st.floats(-12.0, -3.0),
    changes=st.sampled_from(
        [
            {"pan_private": True},
            {"unit": "row", "operator": "sparse_sign"},
            {"kind": "three_sketch", "operator": "srht", "sketch_sizes": (8, 16)},
            {"unit": "frobenius", "kind": "full", "pan_private": True},
            {"delta": 0.0, "pan_private": True},
            {"integers": "int32", "kind": "figure3"},
        ]
    ),
    neighbors=st.sampled_from(["add_remove", "replace"]),
)
def test_a_plan_keeps_its_budget_and_uses_it(epsilon, log_delta, changes, neighbors):
    terms = {"delta": 10.0**log_delta, **changes, "epsilon": epsilon, "neighbors": neighbors}
    plan, lattice = planner(**terms).plan(), lattice_of(**terms)
    assert plan.guarantee.epsilon <= epsilon and plan.guarantee.delta <= terms["delta"]
    assert accountant.epsilon(plan.event, terms["delta"]) <= epsilon
    assert plan.event == lattice.total(2 if "pan_private" in changes else 1)
    assert accountant.epsilon(plan.event, terms["delta"]) >= 0.999 * epsilon
    # What the noise of the lattice would allow is hardly more than what the event claims.
    change = lattice.units * (2 if neighbors == "replace" else 1)
    if isinstance(lattice.event, Gaussian):
        moved = change**2 * sum(part.squared_gain / 4**part.coarser for part in lattice.parts)
        assert 0.99 <= moved * lattice.event.noise_multiplier**2 / 4**lattice.exponent <= 1.0
    elif isinstance(lattice.event, Pure):
        moved = change * sum(part.l1_gain / 2**part.coarser for part in lattice.parts)
        assert 0.99 <= moved / (lattice.event.epsilon * 2**lattice.exponent) <= 1.0
    else:
        assert isinstance(lattice.event, Mixture)
        assert 0.99 <= change * lattice.noise_multiplier / 2**lattice.exponent <= 1.0


def test_looks_cost_together_what_was_asked_for():
    once, twice = lattice_of().event, lattice_of(pan_private=True).event
    assert twice.noise_multiplier == pytest.approx(math.sqrt(2) * once.noise_multiplier, rel=1e-12)
    assert lattice_of(delta=0.0, pan_private=True).event == Pure(0.5)
    assert planner(pan_private=True).plan().event == Repeated(twice, 2)
    random = lattice_of(unit="frobenius", pan_private=True)
    assert random.noise_multiplier == pytest.approx(math.sqrt(2) * lattice_of(unit="frobenius").noise_multiplier)


def test_a_replacement_moves_twice_as_far():
    for changes in ({}, {"unit": "frobenius"}, {"delta": 0.0}, {"kind": "full"}):
        one, two = lattice_of(**changes), lattice_of(**changes, neighbors="replace")
        assert two.deviation(0) == pytest.approx(2 * one.deviation(0), rel=1e-3)


def test_lattices_are_as_fine_as_the_integers_allow():
    limits = {"int64": ({}, 2**16), "int32": ({"integers": "int32"}, 2**10), "core": ({**SMALL, "unit": "row"}, 2**8)}
    for changes, most in limits.values():
        assert most / 2 <= lattice_of(**changes).units <= most


# Notes


def test_notes_say_what_is_hopeless_hidden_in_part_or_kept():
    notes = planner().plan(n_updates=100).notes
    assert HOPELESS in notes and HOPELESS not in planner(shape=(5000, 4000)).plan(n_updates=10**7).notes
    in_part = "an update that is larger than the bound is hidden only in part: clip=bound hides all of it"
    for changes, is_said in (({}, False), ({"clip": 2.0}, True), ({"clip": 0.5}, False), ({"unit": "rank1"}, True)):
        assert (in_part in planner(**changes).plan().notes) == is_said
    assert "a counter for every user is kept, about 100 bytes each" in planner(unit="user").plan().notes
    assert not any("counter" in note for note in planner(unit="user", user_totals="promised").plan().notes)


def test_forecasts_are_the_noise_against_the_norm():
    one = planner()
    plan, releases = one.plan(n_updates=2000), one._plan(one._check_parameters(), {})
    signal = math.sqrt(2000)
    assert list(plan.forecast.values()) == pytest.approx(
        [releases.noise * math.sqrt(3 * 90) / signal, releases.smallest_value / signal]
    )
