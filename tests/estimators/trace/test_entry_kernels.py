"""Kernels of single entries: those of the dense measurement in overlapping parts, and no harm from bad indices."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrank.estimators.trace import entry_kernels as kernels
from hushrank.privacy.mechanisms.vector import vector_l2_sensitivity
from record_support import sum_lattice
from trace_support import (
    BAD_INDICES,
    SHAPE,
    SHAPES,
    assert_bits_are_each_records_own,
    assert_numbers_are_each_records_own,
    block_of,
    bound_of,
    gradients_of,
    hostile_records,
    make_design,
    make_records,
    make_tangent,
    make_whitening,
    measurements,
    project,
    residuals_of,
    rounded_entries,
    rounded_sum,
    whitened,
)
from trace_support import SUMS as ALL_SUMS

SUMS = {name: ALL_SUMS[name] for name in ("start", "gradients")}
FORMS = ("isotropic", "diagonal")
every_shape = pytest.mark.parametrize("shape", SHAPES)
every_form = pytest.mark.parametrize("form", FORMS)
seeds = st.integers(0, 2**32)


def arrays_of(n, shape, seed=1):
    """Indices, weights and answers."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, shape, (n, 2)).astype(float), rng.uniform(0.5, 2.0, n), rng.standard_normal(n)


def unit_of(shape):
    return make_design("entry", shape).unit


def find_gradient(X, weights, y, i, tangent, shape):
    """Gradient of one record in its two rows, and its residual."""
    G = np.full((2, len(tangent.s)), math.nan)
    residual = kernels.find_gradient(X, weights, y, i, tangent, unit_of(shape), G)
    return G, residual


def spoilt_indices(shape):
    """Indices of no entry, each beside a good one on the other side."""
    rows = [*BAD_INDICES, float(shape[0]), shape[0] - 0.5]
    columns = [*BAD_INDICES, float(shape[1]), np.nextafter(0.0, 1.0)]
    return np.array([*((j, 0.0) for j in rows), *((0.0, k) for k in columns)])


# 1. Which records count


@every_shape
def test_entries_are_integers_inside_of_the_matrix(shape):
    inside = np.array([(j, k) for j in range(shape[0]) for k in range(shape[1])], float)
    assert all(kernels.is_entry(inside, i, *shape) for i in range(len(inside)))
    assert kernels.is_entry(np.array([[-0.0, -0.0]]), 0, *shape)
    outside = spoilt_indices(shape)
    assert not any(kernels.is_entry(outside, i, *shape) for i in range(len(outside)))


def test_bad_indices_have_no_prediction_and_add_nothing():
    X, tangent = spoilt_indices(SHAPE), make_tangent()
    y, weights, unit = np.full(len(X), 3.0), np.ones(len(X)), unit_of(SHAPE)
    assert np.isnan(kernels.predictions(X, tangent.coef)).all()
    assert all(np.isnan(part).all() for part in kernels.gradient_norms(X, weights, y, tangent, unit))
    assert np.isnan(kernels.start_norms(X, weights, y, tangent.whitening, unit, 0.3)).all()
    for name in SUMS:
        kernel, state = SUMS[name]("entry", tangent, sum_lattice())
        assert not kernel(block_of("entry", list(zip(X, y, strict=True))), state).any()
    for columns in (False, True):
        total = np.zeros(SHAPE[columns], np.int64)
        kernels.add_counts(X, columns, SHAPE, 5, total)
        assert not total.any()


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@every_form
def test_answers_that_are_not_finite_add_nothing(name, bad, form):
    kernel, state = SUMS[name]("entry", make_tangent(form=form), sum_lattice())
    assert kernel(block_of("entry", [((1.0, 2.0), 1.0)]), state).any()
    assert not kernel(block_of("entry", [((1.0, 2.0), bad)]), state).any()


# 2. Formulas


@every_shape
def test_predictions_are_entries(shape):
    X, _, _ = arrays_of(6, shape)
    coef = np.random.default_rng(2).standard_normal(shape)
    assert np.array_equal(kernels.predictions(X, coef), coef[tuple(X.astype(int).T)])
    assert kernels.predictions(X[:0], coef).shape == (0,)


@every_shape
@every_form
def test_gradients_are_those_of_the_dense_measurement_in_overlapping_parts(shape, form):
    """rho (U^T W, W V), without taking the core out of the second part."""
    (X, weights, y), tangent = arrays_of(7, shape), make_tangent(shape, form=form, seed=2)
    whole = measurements("entry", X, shape)
    weighted = weights[:, None, None] * whole
    expected = gradients_of("entry", whole, weighted, y, tangent)
    rho = residuals_of(whole, y, tangent)
    norms, residuals = kernels.gradient_norms(X, weights, y, tangent, unit_of(shape))
    assert residuals == pytest.approx(rho, abs=1e-10)
    assert norms == pytest.approx(np.linalg.norm(expected, axis=(1, 2)), rel=1e-9, abs=1e-10)
    for i, (j, k) in enumerate(X.astype(int)):
        G, residual = find_gradient(X, weights, y, i, tangent, shape)
        placed = np.zeros((shape[1] + shape[0], len(tangent.s)))
        placed[k], placed[shape[1] + j] = G
        assert placed == pytest.approx(expected[i], abs=1e-9) and residual == residuals[i]
        P, Q = make_design("entry", shape).parts(placed)
        Q = Q - tangent.U.T @ (tangent.U @ Q)  # afterwards, from a released sum
        projected = project(whitened(weighted[i], tangent.whitening), tangent)
        assert tangent.U.T @ P + Q @ tangent.V == pytest.approx(rho[i] * projected, abs=1e-9)


def test_the_overlap_makes_gradients_longer_by_a_root_of_two_at_most():
    """|U^T W|^2 + |W V|^2 is |P_T W|^2 and the core once more, which is the smaller of both parts at most."""
    X, tangent = np.array([(j, k) for j in range(5) for k in range(6)], float), make_tangent()
    norms, residuals = kernels.gradient_norms(X, np.ones(30), np.ones(30), tangent, unit_of(SHAPE))
    projected = project(measurements("entry", X), tangent)
    ratios = norms / np.abs(residuals) / np.linalg.norm(projected, axis=(1, 2))
    assert (ratios >= 1.0 - 1e-12).all() and (ratios <= math.sqrt(2.0) + 1e-12).all() and ratios.max() > 1.01


@every_shape
@every_form
def test_starts_are_weighted_answers(shape, form):
    (X, weights, y), whitening = arrays_of(7, shape), make_whitening(form, shape, 4)
    whole = whitened(weights[:, None, None] * measurements("entry", X, shape), whitening)
    expected = np.abs(y - 0.3) * np.linalg.norm(whole, axis=(1, 2))
    assert kernels.start_norms(X, weights, y, whitening, unit_of(shape), 0.3) == pytest.approx(expected, abs=1e-10)


# 3. Sums


@every_form
def test_sums_are_those_of_gradients_shortened_and_rounded_one_by_one(form):
    (X, weights, y), tangent, unit = arrays_of(40, SHAPE, 5), make_tangent(form=form, seed=6), unit_of(SHAPE)
    norms, _ = kernels.gradient_norms(X, weights, y, tangent, unit)
    bound, total = bound_of(sum_lattice(np.median(norms))), np.zeros((11, 2), np.int64)
    kernels.add_gradients(X, weights, y, tangent, unit, bound, total)
    expected = np.zeros_like(total)
    for i, (j, k) in enumerate(X.astype(int)):
        expected[[k, SHAPE[1] + j]] += rounded_sum(find_gradient(X, weights, y, i, tangent, SHAPE)[0][None], bound)
    assert np.array_equal(total, expected)
    whole = measurements("entry", X)
    plain = gradients_of("entry", whole, weights[:, None, None] * whole, y, tangent)
    factors = np.minimum(1.0, bound.norm / np.linalg.norm(plain, axis=(1, 2)))
    size = bound.norm / math.sqrt(bound.limit)
    assert total * size == pytest.approx((factors[:, None, None] * plain).sum(axis=0), abs=50 * size)


@every_form
def test_starts_are_shortened_and_rounded_one_by_one(form):
    (X, weights, y), whitening, unit = arrays_of(40, SHAPE, 7), make_whitening(form, SHAPE, 8), unit_of(SHAPE)
    norms = kernels.start_norms(X, weights, y, whitening, unit, 0.3)
    bound, total = bound_of(sum_lattice(np.median(norms))), np.zeros(SHAPE, np.int64)
    kernels.add_start(X, weights, y, whitening, unit, 0.3, bound, total)
    signed = np.zeros((40, *SHAPE))
    signed[np.arange(40), *X.astype(int).T] = np.copysign(norms, y - 0.3)
    assert np.array_equal(total, rounded_entries(signed, bound)) and total.any()


@every_shape
def test_counts_are_those_of_rows_and_of_columns(shape):
    X, _, _ = arrays_of(50, shape, 9)
    mixed = np.concatenate([spoilt_indices(shape), X])
    for columns in (False, True):
        total = np.zeros(shape[columns], np.int64)
        kernels.add_counts(mixed, columns, shape, 7, total)
        assert np.array_equal(total, 7 * np.bincount(X[:, int(columns)].astype(int), minlength=shape[columns]))


# 4. Bounds


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
def test_opposite_answers_attain_the_sensitivity(name, neighbors):
    """At the first axes both parts of the gradient are equal: twice a square is the bound. The start is one number."""
    square = 2**40
    lattice = sum_lattice(0.7, square if name == "start" else 2 * square, neighbors)
    axes = np.eye(3)[:1], np.eye(4)[:1]
    tangent = make_tangent((3, 4), 1)._replace(U=axes[0], V=axes[1], s=np.zeros(1))
    kernel, state = SUMS[name]("entry", tangent, lattice, (3, 4))
    one, other = (kernel(block_of("entry", [((0.0, 0.0), y)], (3, 4)), state) for y in (1e6, -1e6))
    assert one.dtype == np.int64 and (one.astype(object) ** 2).sum() == lattice.squared_bound
    change = one - (other if neighbors == "replace" else 0)
    most = vector_l2_sensitivity(0.7, lattice.neighbors)
    assert np.linalg.norm(change) * lattice.unit == pytest.approx(most, rel=1e-9)


# 5. Each record alone


@pytest.mark.parametrize("name", SUMS)
@given(seeds)
@settings(deadline=None, max_examples=8)
def test_integers_are_each_records_own(name, seed):
    rng = np.random.default_rng(seed)
    records = [*hostile_records("entry", rng)[::2], *make_records("entry", rng, 6)]
    tangent = make_tangent(form=FORMS[seed % 2], seed=seed)
    kernel, state = SUMS[name]("entry", tangent, sum_lattice(2.0))
    assert_bits_are_each_records_own(kernel, state, "entry", records, seed=seed)


@every_form
def test_norms_and_residuals_are_each_records_own(form):
    rng, tangent, unit = np.random.default_rng(10), make_tangent(form=form), unit_of(SHAPE)
    records = [*hostile_records("entry", rng), *make_records("entry", rng, 6)]

    def numbers(block):
        weights = np.ones(len(block))
        starts = kernels.start_norms(block.X, weights, block.y, tangent.whitening, unit, 0.3)
        predicted = kernels.predictions(block.X, tangent.coef)
        return *kernels.gradient_norms(block.X, weights, block.y, tangent, unit), starts, predicted

    assert_numbers_are_each_records_own(numbers, "entry", records)
