"""Releases of sketches: what a change moves, in integers; noise from both sides; lattices that promise too much."""

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrank.estimators.turnstile.layout import build_layout
from hushrank.estimators.turnstile.state import SketchState
from hushrank.exceptions import InvalidParameter
from hushrank.privacy import accountant
from hushrank.privacy.calibration import calibrate
from hushrank.privacy.events import Gaussian, Mixture, NonPrivate, Pure, Repeated
from hushrank.privacy.guarantee import Budget, Neighbors, Unit
from hushrank.privacy.mechanisms.sketch import SketchPart, blur_sketch, release_sketch, sketch_lattice
from hushrank.privacy.noise.deviates import MAX_EXPONENT
from hushrank.privacy.noise.sketch_draws import fresh_key
from hushrank.privacy.noise.source import NoiseSource
from hushrank.privacy.sketched import Shift, sketched_event
from support import FALSE_ALARM, assert_plausible, laplace_scale_p_value, normal_scale_p_value

RELATIONS = list(Neighbors)
SHAPE, SIZES, MOST = (6, 5), (4, 7), 2**16
CERTAIN = [("two_sketch", "sparse_sign"), ("two_sketch", "srht"), ("three_sketch", "sparse_sign"),
           ("three_sketch", "srht"), ("full", "")]  # fmt: skip
LAWS = (Shift("chi_square", 1.0, (4,)),), (Shift("signs", 1.0, (2,)),)
RANDOM = (SketchPart(16, shifts=LAWS[0]), SketchPart(64, coarser=1, shifts=LAWS[0]))
FLAT = (SketchPart(4, 4), SketchPart(9, 9, coarser=1))


def entry_layout(kind, operator):
    return build_layout(SHAPE, kind, operator, 3, SIZES, Unit.ENTRY)


def lattice_of(layout, budget, **options):
    return sketch_lattice(1.0, budget, [array.part for array in layout.arrays], **{"most_units": MOST, **options})


def changed(neighbors):
    return 1 if neighbors is Neighbors.ADD_REMOVE else 2


def moved(state, lattice, E):
    """Squared norm and sum of magnitudes by which E, in lattice units, moves all parts, in noise of the first one."""
    rows, columns = np.nonzero(E)
    assert state.add(*map(np.ascontiguousarray, (rows, columns)), E[rows, columns])
    pairs = list(zip([array.tolist() for array in map(np.ravel, state.arrays)], lattice.parts, strict=True))
    assert state.add(*map(np.ascontiguousarray, (rows, columns)), -E[rows, columns])
    squared = sum(Fraction(sum(x * x for x in values), 4**part.coarser) for values, part in pairs)
    return squared, sum(Fraction(sum(map(abs, values)), 2**part.coarser) for values, part in pairs)


def cost_of(lattice, squared, magnitudes):
    """1 for a change that takes all of the event, in rational numbers."""
    if isinstance(lattice.event, Pure):
        return magnitudes / 2**lattice.exponent / Fraction(lattice.event.epsilon)
    return squared * Fraction(lattice.event.noise_multiplier) ** 2 / 4**lattice.exponent


# Sensitivity


@pytest.mark.parametrize(("kind", "operator"), CERTAIN)
@pytest.mark.parametrize("neighbors", RELATIONS)
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_worst_pair_takes_the_whole_event_and_one_unit_more_is_too_much(kind, operator, neighbors, delta):
    layout = entry_layout(kind, operator)
    lattice = lattice_of(layout, Budget(0.9, delta, neighbors))
    state = SketchState(layout, fresh_key(), np.int64)
    for units, is_within in ((lattice.units, True), (lattice.units + 1, False)):
        E = np.zeros(SHAPE, np.int64)
        E[4, 2] = changed(neighbors) * units  # under replace: from +units to -units
        cost = cost_of(lattice, *moved(state, lattice, E))
        assert (cost <= 1) == is_within and cost == pytest.approx(1.0, rel=1e-3)


@given(
    st.sampled_from(CERTAIN), st.sampled_from(RELATIONS), st.sampled_from([0.0, 1e-6]),
    st.lists(st.integers(-(2**20), 2**20), min_size=30, max_size=30), st.integers(0, 29),
)  # fmt: skip
@settings(max_examples=120, deadline=None)
def test_no_change_of_bounded_magnitude_moves_more(case, neighbors, delta, weights, n_zero):
    layout = entry_layout(*case)
    lattice = lattice_of(layout, Budget(0.9, delta, neighbors))
    weights[:n_zero] = [0] * n_zero
    total, most = max(sum(map(abs, weights)), 1), changed(neighbors) * lattice.units
    E = np.array([int(math.copysign(abs(w) * most // total, w)) for w in weights]).reshape(SHAPE)
    assert np.abs(E).sum() <= most
    state = SketchState(layout, bytes(32), np.int64)
    assert cost_of(lattice, *moved(state, lattice, E)) <= 1


@given(
    st.lists(st.tuples(st.integers(1, 10**6), st.integers(1, 10**6), st.integers(0, 6)), min_size=1, max_size=3),
    st.floats(1e-3, 50), st.floats(-12, -2), st.sampled_from(RELATIONS), st.integers(1, 3),
    st.sampled_from([2**8, 2**10, 2**16]), st.booleans(),
)  # fmt: skip
@settings(deadline=None)
def test_certain_lattices_are_private_and_as_fine_as_they_can_be(
    numbers, epsilon, log_delta, neighbors, looks, most, pure
):
    parts = [SketchPart(*part) for part in numbers]
    budget = Budget(epsilon, 0.0 if pure else 10.0**log_delta, neighbors)
    lattice = sketch_lattice(2.0, budget, parts, most_units=most, looks=looks)
    squared = sum(Fraction(part.squared_gain, 4**part.coarser) for part in parts)
    magnitudes = sum(Fraction(part.l1_gain, 2**part.coarser) for part in parts)
    for units in (lattice.units, lattice.units + 1):
        change = changed(neighbors) * units
        cost = cost_of(lattice, change**2 * squared, change * magnitudes)
        assert cost <= 1 if units == lattice.units or lattice.exponent == 0 else cost > 1
    assert 1 <= lattice.units <= most
    assert 2 * lattice.units >= most - 1 or lattice.exponent + max(part.coarser for part in parts) == MAX_EXPONENT
    total = lattice.total(looks)
    assert accountant.epsilon(total, budget.delta) <= epsilon * (1 + 1e-12)
    assert accountant.epsilon(lattice.total(looks + 1), budget.delta) > epsilon


@pytest.mark.parametrize("neighbors", RELATIONS)
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("looks", [1, 2])
def test_random_lattices_have_the_noise_of_their_event(neighbors, law, looks):
    budget = Budget(1.0, 1e-4, neighbors)
    parts = [SketchPart(4, shifts=law), SketchPart(400, coarser=2, shifts=law)]
    lattice = sketch_lattice(3.0, budget, parts, most_units=MOST, looks=looks)
    shifts = [Shift(law[0].law, weight, law[0].sizes) for weight in (4.0, 25.0)]
    assert lattice.is_random and lattice.event == sketched_event(shifts, lattice.noise_multiplier, 1.0)
    for units, is_within in ((lattice.units, True), (lattice.units + 1, False)):
        needed = Fraction(lattice.noise_multiplier) * changed(neighbors) * units
        assert (needed <= 2**lattice.exponent) == is_within
    # What all looks see is one release with less noise: it meets the budget, and hardly more noise than it needs.
    total = lattice.total(looks)
    assert accountant.delta(total, 1.0) <= 1e-4 and accountant.epsilon(total, 1e-4) <= 1.0
    assert (
        accountant.delta(sketched_event(shifts, 0.999 * lattice.noise_multiplier / math.sqrt(looks), 1.0), 1.0) > 1e-4
    )


def test_one_sketch_seen_twice_costs_more_than_two_sketches():
    lattice = sketch_lattice(1.0, Budget(1.0, 1e-4), RANDOM, most_units=MOST)
    twice = lattice.total(2)
    assert isinstance(twice, Mixture) and lattice.total(1) == lattice.event
    assert accountant.delta(twice, 1.0) > 1.3 * accountant.delta(Repeated(lattice.event, 2), 1.0)
    certain = sketch_lattice(1.0, Budget(1.0, 1e-4), FLAT, most_units=MOST)
    assert certain.total(1) == certain.event and certain.total(3) == Repeated(certain.event, 3)


def test_units_and_deviations():
    budget = Budget(1.0, 1e-6, "add_remove")
    lattice = sketch_lattice(3.0, budget, FLAT, most_units=MOST)
    noise = calibrate(budget).noise_multiplier * math.sqrt(4 + 9 / 4)  # of the first part, for a change of one unit
    assert lattice.deviation(0) == pytest.approx(3.0 * noise / 2, rel=1e-4)
    assert lattice.deviation(1) == pytest.approx(3.0 * noise * 2 / 3, rel=1e-4)
    assert lattice.unit(1) == pytest.approx(3.0 / lattice.units / 3)
    pure = sketch_lattice(3.0, Budget(0.5, 0.0, "replace"), FLAT, most_units=MOST)
    assert pure.deviation(0) == pytest.approx(math.sqrt(2) * 3.0 * 2 * (4 + 9 / 2) / 0.5 / 2, rel=1e-4)


# Noise


@pytest.mark.parametrize("budget", [Budget(1.0, 1e-6), Budget(1.0)])
@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_scale_is_right_from_both_sides(budget, kind):
    lattice = sketch_lattice(2.0, budget, FLAT, most_units=MOST)
    totals = [np.full((300, 200), 10**6, kind), np.full(50_000, -(10**6), kind)]
    p_value, of_law = (laplace_scale_p_value, math.sqrt(2)) if budget.is_pure else (normal_scale_p_value, 1.0)
    for number, (released, total) in enumerate(
        zip(release_sketch(totals, lattice, NoiseSource()), totals, strict=True)
    ):
        error, scale = released - total * lattice.unit(number), lattice.deviation(number) / of_law
        assert released.shape == total.shape and released.dtype == np.float64
        assert_plausible(p_value(error, scale))
        for wrong in (0.7, 1.3):
            assert p_value(error, wrong * scale) < FALSE_ALARM


def test_random_sketches_have_normal_noise_of_their_scale():
    lattice = sketch_lattice(2.0, Budget(1.0, 1e-6), RANDOM, most_units=MOST)
    for number, released in enumerate(release_sketch([np.zeros(50_000, np.int64)] * 2, lattice, NoiseSource())):
        assert_plausible(normal_scale_p_value(released, lattice.deviation(number)))
        for wrong in (0.7, 1.3):
            assert normal_scale_p_value(released, wrong * lattice.deviation(number)) < FALSE_ALARM


@pytest.mark.parametrize("parts", [FLAT, RANDOM])
def test_a_release_is_the_state_and_noise_of_its_own(parts):
    lattice = sketch_lattice(2.0, Budget(1.0, 1e-6), parts, most_units=MOST)
    totals = [np.random.default_rng(1).integers(-(10**9), 10**9, shape) for shape in ((7, 3), (2, 5))]
    kept = [total.copy() for total in totals]
    with_, without = (release_sketch(given, lattice, NoiseSource(3)) for given in (totals, [0 * t for t in totals]))
    for number, total in enumerate(totals):
        difference = np.rint(with_[number] / lattice.unit(number)) - np.rint(without[number] / lattice.unit(number))
        assert np.array_equal(difference, total) and np.array_equal(total, kept[number])
    noises = [np.rint(array / lattice.unit(number)).ravel()[:6] for number, array in enumerate(without)]
    assert not np.intersect1d(*noises).size  # no part has the noise of another


@pytest.mark.parametrize("budget", [Budget(1e9, 1e-6), Budget(1e9)])
def test_the_state_comes_through_where_the_noise_is_small(budget):
    lattice = sketch_lattice(1.0, budget, FLAT, most_units=MOST)
    totals = [np.array([[5, -7], [2**40, 0]]), np.array([3, 2**30])]
    for number, released in enumerate(release_sketch(totals, lattice, NoiseSource())):
        error = np.abs(released - totals[number] * lattice.unit(number)).max()
        assert error <= 40 * lattice.deviation(number) < 0.1 < 1e-3 * np.abs(released).max()


@pytest.mark.parametrize("budget", [Budget(1.0, 1e-6), Budget(1.0)])
def test_blurring_is_a_release_that_stays_in_the_state(budget):
    lattice = sketch_lattice(2.0, budget, FLAT, most_units=MOST)
    totals = [np.arange(12).reshape(3, 4), np.arange(5)]
    released, noise = release_sketch(totals, lattice, NoiseSource(5)), NoiseSource(5)
    assert blur_sketch(totals, lattice, noise) is None and noise.executed == (lattice.event,)
    for number, total in enumerate(totals):
        assert np.array_equal(total * lattice.unit(number), released[number])


# Refusals


@pytest.mark.parametrize("budget", [Budget(1.0, 1e-6), Budget(1.0)])
@pytest.mark.parametrize("parts", [FLAT, RANDOM])
def test_a_lattice_that_promises_too_much_cannot_be_made(budget, parts):
    if budget.is_pure and parts is RANDOM:
        with pytest.raises(InvalidParameter, match=r"^delta of sketch_lattice must be > 0, because"):
            sketch_lattice(1.0, budget, parts, most_units=MOST)
        return
    lattice = sketch_lattice(1.0, budget, parts, most_units=MOST)
    finer, larger = dataclasses.replace(parts[1], coarser=0), dataclasses.replace(parts[1], squared_gain=90, l1_gain=90)
    others = [{"exponent": lattice.exponent - 1}, {"units": lattice.units + 1}, {"parts": (parts[0], larger)},
              {"parts": (parts[0], finer)}, {"event": Pure(0.5)}, {"event": Gaussian(1e4)}, {"event": NonPrivate()},
              {"event": Pure(1.0, bounded_range=True)}]  # fmt: skip
    if lattice.is_random:
        others += [{"noise_multiplier": lattice.noise_multiplier * 1.1}, {"epsilon": 1.1},
                   {"event": sketched_event([Shift("chi_square", 20.0, (4,))], 1e3, 1.0)}]  # fmt: skip
    for changes in others:
        with pytest.raises(InvalidParameter, match=r"^(event|noise_multiplier) of sketch\w+ must be"):
            dataclasses.replace(lattice, **changes)
    assert dataclasses.replace(lattice, units=lattice.units - 1, neighbors="replace").units == lattice.units - 1


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"neighbors": "twins"}, "neighbors"), ({"bound": -1.0}, "bound"), ({"bound": math.nan}, "bound"),
        ({"bound": 1e-304}, "bound"), ({"bound": 1e300}, "bound"), ({"units": 0}, "event"), ({"units": 1.5}, "units"),
        ({"exponent": 50}, "event"), ({"exponent": -1}, "exponent"), ({"exponent": 2.5}, "exponent"),
    ],
)  # fmt: skip
def test_lattices_made_by_hand_are_checked(changes, name):
    lattice = sketch_lattice(1.0, Budget(1.0, 1e-6), FLAT, most_units=MOST)
    with pytest.raises(InvalidParameter, match=f"^{name} of sketch_lattice must be"):
        dataclasses.replace(lattice, **changes)
    wide = dataclasses.replace(lattice, units=np.int32(lattice.units), exponent=np.int32(lattice.exponent))
    assert wide == lattice and type(wide.units) is int  # nothing wraps around in the check


@pytest.mark.parametrize("release", [release_sketch, blur_sketch])
def test_wrong_arrays_are_refused_before_anything_is_logged(release):
    lattice, noise = sketch_lattice(1.0, Budget(1.0), FLAT, most_units=MOST), NoiseSource()
    right = np.zeros(3, np.int64)
    wrong = [[right], [right] * 3, [right, np.zeros(3)], [right, [0, 0]], [right, np.zeros(3, np.uint64)]]
    for totals in [*wrong, *([[right, np.zeros(3, np.int32)]] if release is blur_sketch else [])]:
        with pytest.raises(InvalidParameter, match=rf"^totals of {release.__name__} must be 2 arrays of "):
            release(totals, lattice, noise)
    assert noise.executed == ()
    release([right, right], lattice, noise)
    assert noise.executed == (lattice.event,)
