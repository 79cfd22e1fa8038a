"""What a plan of a sketch says: its one release, the noise that will be there, its memory, and what it cannot do."""

import dataclasses
import math

import numpy as np
import pytest

from hushrank.estimators.turnstile.plan import TurnstilePlanner
from hushrank.estimators.turnstile.sketch_plan import notes_on_error, notes_on_space
from hushrank.estimators.turnstile.state import SketchState
from hushrank.privacy.events import Gaussian, Pure, Repeated
from hushrank.privacy.mechanisms.sketch import release_sketch
from hushrank.privacy.noise.source import NoiseSource
from support import FALSE_ALARM, assert_plausible, normal_scale_p_value

SHAPE = (120, 90)
TERMS = {"shape": SHAPE, "rank": 3, "epsilon": 1.0, "delta": 1e-6}
KINDS = {
    "two sketches": {},
    "three sketches": {"kind": "three_sketch", "sketch_sizes": (10, 20)},
    "Hadamard": {"operator": "srht"},
    "Gaussian": {"unit": "frobenius"},
    "Gaussian core": {"unit": "frobenius", "kind": "three_sketch", "sketch_sizes": (10, 20)},
    "full": {"kind": "full"},
    "int32": {"integers": "int32"},
}


def plan_of(**changes):
    planner = TurnstilePlanner(**{**TERMS, **changes})
    return planner._plan(planner._check_parameters(), {})


def test_all_arrays_are_one_release():
    [step] = plan_of(kind="three_sketch", sketch_sizes=(10, 20)).steps()
    assert step.name == "sketch (columns 120 x 10 and rows 90 x 10 and core 20 x 20)"
    assert isinstance(step.event, Gaussian) and "Gaussian noise" in step.mechanism
    [pure] = plan_of(delta=0.0).steps()
    assert pure.event == Pure(1.0) and "Laplace noise" in pure.mechanism


def test_a_private_state_is_paid_for_twice():
    plan = plan_of(pan_private=True)
    [step] = plan.steps()
    assert step.event == Repeated(plan.lattice.event, 2)
    assert step.mechanism.endswith("once in the state and once in the output")
    assert plan.noise == pytest.approx(math.sqrt(2) * dataclasses.replace(plan, looks=1).noise)


@pytest.mark.parametrize("name", KINDS)
def test_noise_is_that_of_the_first_array(name):
    plan = plan_of(**KINDS[name])
    zeros = [np.zeros(array.shape, np.int64) for array in plan.layout.arrays]
    released = release_sketch(zeros, plan.lattice, NoiseSource())
    assert_plausible(normal_scale_p_value(released[0], plan.noise))
    for factor in (0.7, 1.3):
        assert normal_scale_p_value(released[0], factor * plan.noise) < FALSE_ALARM


def test_a_matrix_of_noise_has_the_smallest_value():
    """Its largest singular value is about noise (sqrt(m) + sqrt(n)); that exceeds t noise with P < exp(-t^2/2)."""
    plan = plan_of(kind="full")
    [noise] = release_sketch([np.zeros(SHAPE, np.int64)], plan.lattice, NoiseSource())
    largest = np.linalg.norm(noise, 2)
    assert 0.6 * plan.smallest_value < largest < plan.smallest_value + 6.5 * plan.noise


def test_the_smallest_value_of_sketches_is_that_of_the_longer_side():
    plan, turned = plan_of(), plan_of(shape=SHAPE[::-1])
    assert plan.smallest_value == pytest.approx(2 * plan.noise * math.sqrt(120))
    assert turned.smallest_value == pytest.approx(plan.smallest_value)


@pytest.mark.parametrize("name", KINDS)
def test_space_is_what_is_taken(name):
    plan = plan_of(**KINDS[name])
    dtype = np.dtype(KINDS[name].get("integers", "int64"))
    state = SketchState(plan.layout, bytes(32), dtype)
    n_bytes = sum(array.nbytes for array in state.arrays)
    stored = sum(one._columns.nbytes for one in state._operators.values() if hasattr(one, "_columns"))
    [note] = notes_on_space(plan, dtype.itemsize)
    assert note == f"the state takes {n_bytes} bytes" + (f", its operators {stored}" if stored else "")
    assert bool(stored) == ("Gaussian" in name)


def test_the_cost_of_sketching_is_told():
    notes = list(notes_on_error(plan_of(sketch_sizes=(13, 24)), SHAPE, 8, memory=8 * 120 * 90))
    factor = math.sqrt(1 + 3 / 9 + 3 / 20)
    assert notes == [
        f"beside the noise, expect about {factor:.3g} times the error of the best matrix of rank 3",
        "kind='full' takes 86400 bytes, fits the memory, and is more accurate",
    ]


def test_nothing_is_said_that_is_not_so():
    narrow = plan_of(sketch_sizes=(4, 4))
    assert list(notes_on_error(narrow, SHAPE, 8, memory=8 * 120 * 90 - 1)) == []
    assert list(notes_on_error(plan_of(kind="full"), SHAPE, 8, memory=2**40)) == []
