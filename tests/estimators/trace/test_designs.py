"""Designs: one table of three, weights of records one at a time, whatever a given function does."""

import dataclasses
import math
import pickle

import numpy as np
import pytest

from hushrank.estimators.trace.designs import DESIGNS, Design
from record_support import same_bits, sum_lattice
from trace_support import (
    RANK,
    SHAPE,
    block_of,
    bound_of,
    form_of,
    gradients_of,
    hostile_records,
    make_design,
    make_records,
    make_tangent,
    measurements,
    whitened,
)

every_design = pytest.mark.parametrize("name", DESIGNS)
WEIGHTS = np.random.default_rng(0).uniform(0.5, 2.0, SHAPE)
LEFT, RIGHT = (np.random.default_rng(1).uniform(0.5, 2.0, d) for d in SHAPE)


def weigh(X):
    """Lambda^-1 X of independent entries."""
    return X * WEIGHTS


def weigh_pair(x, z):
    return x * LEFT, z * RIGHT


# Name -> design, weight of a record, whole weighted measurements.
WEIGHTED = {
    "dense, array": ("dense", WEIGHTS, lambda W: W * WEIGHTS),
    "dense, function": ("dense", weigh, lambda W: W * WEIGHTS),
    "rank_one, function": ("rank_one", weigh_pair, lambda W: W * LEFT[:, None] * RIGHT),
    "entry, array": ("entry", WEIGHTS, lambda W: W * WEIGHTS),
}
every_weight = pytest.mark.parametrize("case", WEIGHTED)


def block(name, n=12, seed=2):
    return block_of(name, make_records(name, np.random.default_rng(seed), n))


def numbers_of(design, records, tangent, lattice):
    """All that a design makes of a block, but for predictions."""
    bound = bound_of(lattice)
    return (
        *design.gradient_norms(records, tangent),
        design.gradients(records, tangent, bound),
        design.start_norms(records, tangent.whitening, 0.3),
        design.start(records, tangent.whitening, 0.3, bound),
    )


# 1. The table


def test_designs_are_known_by_their_names():
    assert list(DESIGNS) == ["dense", "rank_one", "entry"]
    assert all(kind.name == name and issubclass(kind, Design) for name, kind in DESIGNS.items())
    assert [make_design(name).unit for name in DESIGNS] == [1.0, 1.0, math.sqrt(30.0)]
    with pytest.raises(dataclasses.FrozenInstanceError):
        make_design("dense").shape = (1, 1)


@every_design
def test_totals_have_their_shapes_and_are_integers_also_without_records(name):
    design, tangent, bound = make_design(name), make_tangent(), bound_of(sum_lattice())
    for n in (0, 3):
        records = block(name, n)
        total, start = design.gradients(records, tangent, bound), design.start(records, tangent.whitening, 0.3, bound)
        assert total.shape == design.total_shape(RANK) and start.shape == SHAPE
        assert total.dtype == start.dtype == np.int64 and total.any() == start.any() == (n > 0)
        norms, residuals = design.gradient_norms(records, tangent)
        starts, predicted = design.start_norms(records, tangent.whitening, 0.3), design.predictions(records.X, WEIGHTS)
        for numbers in (norms, residuals, starts, predicted):
            assert numbers.shape == (n,) and numbers.dtype == np.float64


@every_design
def test_parts_are_those_of_the_layout(name):
    design = make_design(name)
    P, Q = np.arange(RANK * 6.0).reshape(RANK, 6), 100.0 + np.arange(5.0 * RANK).reshape(5, RANK)
    total = np.vstack([P.T, Q]) if name == "entry" else np.hstack([P, Q.T])
    assert total.shape == design.total_shape(RANK)
    assert all(map(np.array_equal, design.parts(total), (P, Q)))


@every_design
def test_predictions_are_inner_products_with_the_coefficients(name):
    """For entries the coefficients are the expected answers themselves."""
    records, design = block(name), make_design(name)
    expected = np.einsum("ipq,pq->i", measurements(name, records.X), WEIGHTS) / design.unit
    assert design.predictions(records.X, WEIGHTS) == pytest.approx(expected, abs=1e-10)


@every_design
@pytest.mark.parametrize("form", ["isotropic", "matrix"])
def test_numbers_of_records_are_those_of_the_formulas(name, form):
    tangent, records = make_tangent(form=form_of(name, form)), block(name)
    whole = measurements(name, records.X)
    norms, _, total, starts, start = numbers_of(make_design(name), records, tangent, sum_lattice(1e3))
    expected = gradients_of(name, whole, whole, records.y, tangent)
    assert norms == pytest.approx(np.linalg.norm(expected, axis=(1, 2)), abs=1e-10)
    unit = sum_lattice(1e3).unit
    assert total * unit == pytest.approx(expected.sum(axis=0), abs=20 * unit)
    starting = (records.y - 0.3)[:, None, None] * whitened(whole, tangent.whitening)
    assert starts == pytest.approx(np.linalg.norm(starting, axis=(1, 2)), abs=1e-10)
    assert start * unit == pytest.approx(starting.sum(axis=0), abs=20 * unit)


# 2. Weights


@every_weight
def test_weights_multiply_measurements_and_leave_residuals(case):
    name, precision, weighted = WEIGHTED[case]
    tangent, records = make_tangent(), block(name)
    whole = measurements(name, records.X)
    found = numbers_of(make_design(name, precision=precision), records, tangent, sum_lattice(1e3))
    expected = gradients_of(name, whole, weighted(whole), records.y, tangent)
    assert found[0] == pytest.approx(np.linalg.norm(expected, axis=(1, 2)), abs=1e-10)
    assert found[1] == pytest.approx(make_design(name).gradient_norms(records, tangent)[1], abs=1e-10)
    unit = sum_lattice(1e3).unit
    assert found[2] * unit == pytest.approx(expected.sum(axis=0), abs=20 * unit)
    starting = (records.y - 0.3)[:, None, None] * weighted(whole)
    assert found[3] == pytest.approx(np.linalg.norm(starting, axis=(1, 2)), abs=1e-10)
    assert found[4] * unit == pytest.approx(starting.sum(axis=0), abs=20 * unit)


def test_an_array_has_the_bits_of_the_function_that_multiplies_by_it():
    tangent, lattice, rng = make_tangent(), sum_lattice(), np.random.default_rng(3)
    records = [*hostile_records("dense", rng), *make_records("dense", rng, 5)]
    for dtype in (np.float64, np.float32):
        data = block_of("dense", records, dtype=dtype)
        designs = make_design("dense", precision=WEIGHTS), make_design("dense", precision=weigh)
        assert all(map(same_bits, *(numbers_of(design, data, tangent, lattice) for design in designs)))


@every_weight
def test_weighted_records_have_bits_of_their_own(case):
    name, precision, _ = WEIGHTED[case]
    design, tangent, lattice = make_design(name, precision=precision), make_tangent(), sum_lattice(3.0)
    rng = np.random.default_rng(4)
    records = [*hostile_records(name, rng)[::3], *make_records(name, rng, 5)]
    norms, residuals, total, starts, start = numbers_of(design, block_of(name, records), tangent, lattice)
    own = [numbers_of(design, block_of(name, [record]), tangent, lattice) for record in records]
    for together, place in ((norms, 0), (residuals, 1), (starts, 3)):
        assert same_bits(together, np.concatenate([alone[place] for alone in own]))
    assert same_bits(total, sum(alone[2] for alone in own)) and same_bits(start, sum(alone[4] for alone in own))


@pytest.mark.parametrize("precision", [None, WEIGHTS, weigh])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_center_is_taken_out_of_measurements_one_by_one(precision, dtype):
    """The bits are those of measurements from which it was subtracted before, whatever stands beside them."""
    rng, tangent = np.random.default_rng(8), make_tangent()
    center = rng.standard_normal(SHAPE)
    data = block_of("dense", [*hostile_records("dense", rng), *make_records("dense", rng, 5)], dtype=dtype)
    with np.errstate(all="ignore"):
        before = dataclasses.replace(data, X=data.X - center)
    design, plain = (DESIGNS["dense"](SHAPE, precision, part) for part in (center, None))
    made = numbers_of(design, data, tangent, sum_lattice()), numbers_of(plain, before, tangent, sum_lattice())
    assert all(map(same_bits, *made)) and made[0][2].any()
    expected = plain.predictions(before.X[-5:], WEIGHTS)
    assert design.predictions(data.X[-5:], WEIGHTS) == pytest.approx(
        expected, abs=1e-5 if dtype is np.float32 else 1e-10
    )
    assert plain.centered(data.X) is data.X and same_bits(design.centered(data.X), before.X)


# 3. Functions that misbehave


def raising(X):
    """Fails for one person."""
    if X[0, 0] > 1e3:
        raise KeyError("1e3")
    return X


def of_another_shape(X):
    return X if X[0, 0] <= 1e3 else X[:2]


def words(X):
    return X if X[0, 0] <= 1e3 else "no numbers"


def not_finite(X):
    return X if X[0, 0] <= 1e3 else X * math.nan


@pytest.mark.parametrize("function", [raising, of_another_shape, words, not_finite])
def test_a_record_for_which_the_function_fails_counts_as_nothing(function):
    """And nobody else: the sums are those of the others."""
    records = make_records("dense", np.random.default_rng(5), 6)
    records[2][0][0, 0] = 1e4
    design, tangent, lattice = make_design("dense", precision=function), make_tangent(), sum_lattice()
    found = numbers_of(design, block_of("dense", records), tangent, lattice)
    others = numbers_of(design, block_of("dense", records[:2] + records[3:]), tangent, lattice)
    assert np.isnan(found[0][2]) and np.isnan(found[3][2]) and np.isfinite(found[0]).sum() == 5
    assert same_bits(found[2], others[2]) and same_bits(found[4], others[4]) and found[2].any()


@pytest.mark.parametrize("made", [lambda x, z: x, lambda x, z: (z, x[:3]), lambda x, z: (x, "z"), lambda x, z: 1 / 0])
def test_functions_of_two_vectors_may_fail_as_well(made):
    design, tangent, records = make_design("rank_one", precision=made), make_tangent(), block("rank_one", 4)
    norms, residuals, total, starts, start = numbers_of(design, records, tangent, sum_lattice())
    assert np.isnan(norms).all() and np.isnan(starts).all() and np.isfinite(residuals).all()
    assert not total.any() and not start.any()


def test_functions_get_copies_one_record_at_a_time():
    seen = []

    def greedy(X):
        seen.append((X.shape, X.dtype))
        X *= 7.0
        return X / 7.0

    data = block_of("dense", make_records("dense", np.random.default_rng(6), 4), dtype=np.float32)
    before = data.X.copy()
    make_design("dense", precision=greedy).start(data, make_tangent().whitening, 0.3, bound_of(sum_lattice()))
    assert same_bits(data.X, before) and seen == [(SHAPE, np.dtype(np.float64))] * 4


def test_a_function_that_fills_one_array_again_and_again_does_not_mix_records():
    buffer, records, tangent = np.empty(SHAPE), block("dense", 5), make_tangent()
    filling = make_design("dense", precision=lambda X: np.multiply(X, WEIGHTS, out=buffer))
    weighing = make_design("dense", precision=weigh)
    found, expected = (numbers_of(design, records, tangent, sum_lattice()) for design in (filling, weighing))
    assert all(map(same_bits, found, expected))


def test_functions_that_overflow_do_not_warn():
    """Warnings are errors here; a warning would tell of one person's numbers."""
    records = make_records("dense", np.random.default_rng(7), 3)
    records[1] = (np.full(SHAPE, 1e300), 1.0)
    design = make_design("dense", precision=lambda X: np.minimum(X * 1e10, 1.0))
    norms = design.start_norms(block_of("dense", records), make_tangent().whitening, 0.3)
    assert norms[1] == pytest.approx(0.7 * math.sqrt(30.0))


# 4. States travel


@every_weight
def test_pickled_designs_give_the_same_bits(case):
    name, precision, _ = WEIGHTED[case]
    design, tangent, records = make_design(name, precision=precision), make_tangent(), block(name)
    copy = pickle.loads(pickle.dumps(design))
    assert type(copy) is type(design) and copy.shape == design.shape
    made = (numbers_of(one, records, tangent, sum_lattice()) for one in (design, copy))
    assert all(map(same_bits, *made))
