"""Kernels of measurements x z^T: those of the dense matrix, each record alone, bounds that are attained."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrank.estimators.trace import dense_kernels
from hushrank.estimators.trace import rank_one_kernels as kernels
from hushrank.privacy.mechanisms.vector import vector_l2_sensitivity
from record_support import sum_lattice
from support import four_squares
from trace_support import (
    FORMS,
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
    rounded_sum,
    whitened,
)
from trace_support import SUMS as ALL_SUMS

SUMS = {name: ALL_SUMS[name] for name in ("start", "gradients")}
every_shape = pytest.mark.parametrize("shape", SHAPES)
every_form = pytest.mark.parametrize("form", FORMS)
seeds = st.integers(0, 2**32)


def arrays_of(n, shape, seed=1):
    """Measurements, others in their place, and answers."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, sum(shape))), rng.standard_normal((n, sum(shape))), rng.standard_normal(n)


def find_gradient(X, W, y, i, tangent):
    """Gradient of one record, and its residual."""
    (rank, d1), d2 = tangent.left.shape, tangent.right.shape[1]
    scratch = [np.full(shape, math.nan) for shape in ((rank, d1 + d2), (2 * (d1 + d2),), (2, rank))]
    residual = kernels.find_gradient(X, W, y, i, tangent, *scratch)
    return scratch[0], residual


# 1. Formulas


@every_shape
def test_predictions_are_bilinear(shape):
    X, _, _ = arrays_of(6, shape)
    coef = np.random.default_rng(2).standard_normal(shape)
    expected = np.einsum("ip,pq,iq->i", X[:, : shape[0]], coef, X[:, shape[0] :])
    assert kernels.predictions(X, coef) == pytest.approx(expected, abs=1e-10)
    assert kernels.predictions(X[:0], coef).shape == (0,)


@every_shape
@every_form
def test_gradients_are_residuals_times_projections_to_the_tangent_space(shape, form):
    (X, _, y), tangent = arrays_of(5, shape), make_tangent(shape, form=form, seed=2)
    whole = measurements("rank_one", X, shape)
    norms, residuals = kernels.gradient_norms(X, X, y, tangent)
    rho = residuals_of(whole, y, tangent)
    projected = project(whitened(whole, tangent.whitening), tangent)
    assert residuals == pytest.approx(rho, abs=1e-10)
    assert norms == pytest.approx(np.abs(rho) * np.linalg.norm(projected, axis=(1, 2)), abs=1e-9)
    for i in range(len(y)):
        G, residual = find_gradient(X, X, y, i, tangent)
        P, Q = make_design("rank_one", shape).parts(G)
        assert tangent.U.T @ P + Q @ tangent.V == pytest.approx(rho[i] * projected[i], abs=1e-10)
        assert residual == residuals[i]
        assert kernels.predict_one(X, i, tangent) == pytest.approx((whole[i] * tangent.coef).sum(), abs=1e-10)


@every_shape
@every_form
def test_they_are_those_of_the_dense_measurement(shape, form):
    """With W in the place of X, but for the prediction."""
    (X, W, y), tangent = arrays_of(5, shape), make_tangent(shape, form=form, seed=3)
    whole, other = measurements("rank_one", X, shape), measurements("rank_one", W, shape)
    found = kernels.gradient_norms(X, W, y, tangent)
    for one, dense in zip(found, dense_kernels.gradient_norms(whole, other, y, tangent, False), strict=True):
        assert one == pytest.approx(dense, rel=1e-9, abs=1e-10)
    expected = gradients_of("dense", whole, other, y, tangent)
    for i in range(len(y)):
        assert find_gradient(X, W, y, i, tangent)[0] == pytest.approx(expected[i], abs=1e-10)


@every_shape
@every_form
def test_starts_are_those_of_the_dense_measurement(shape, form):
    (X, _, y), whitening = arrays_of(5, shape), make_whitening(form, shape, 4)
    whole = measurements("rank_one", X, shape)
    x, z, row = (np.full(n, math.nan) for n in (shape[0], shape[1], sum(shape)))
    kernels.whiten(X, 1, whitening, x, z, row)
    assert np.outer(x, z) == pytest.approx(whitened(whole, whitening)[1], abs=1e-10)
    norms = kernels.start_norms(X, y, whitening, 0.3)
    assert norms == pytest.approx(dense_kernels.start_norms(whole, y, whitening, 0.3), rel=1e-9, abs=1e-10)


def test_small_parts_are_those_of_numpy():
    rows, x = np.random.default_rng(5).standard_normal((3, 7)), np.random.default_rng(6).standard_normal(7)
    out = np.full(3, math.nan)
    kernels.products(rows, x, out)
    assert out == pytest.approx(rows @ x, abs=1e-12)
    assert kernels.squared_length(x) == pytest.approx(x @ x, rel=1e-12)


# 2. Sums


@every_form
@pytest.mark.parametrize("is_same", [True, False])
def test_sums_are_those_of_gradients_shortened_and_rounded_one_by_one(form, is_same):
    shape, tangent = (4, 9), make_tangent((4, 9), form=form, seed=6)
    X, W, y = arrays_of(30, shape, 7)
    W = X if is_same else W
    norms, _ = kernels.gradient_norms(X, W, y, tangent)
    bound, total = bound_of(sum_lattice(np.median(norms))), np.zeros((2, 13), np.int64)
    kernels.add_gradients(X, W, y, tangent, bound, total)
    gradients = np.array([find_gradient(X, W, y, i, tangent)[0] for i in range(30)])
    assert np.array_equal(total, rounded_sum(gradients, bound))
    plain = gradients_of("dense", *(measurements("rank_one", part, shape) for part in (X, W)), y, tangent)
    factors = np.minimum(1.0, bound.norm / np.linalg.norm(plain, axis=(1, 2)))
    unit = bound.norm / math.sqrt(bound.limit)
    assert total * unit == pytest.approx((factors[:, None, None] * plain).sum(axis=0), abs=40 * unit)
    assert 10 < (factors < 1.0).sum() < 20


@every_form
def test_starts_are_shortened_and_rounded_one_by_one(form):
    shape, whitening = (4, 9), make_whitening(form, (4, 9), 8)
    X, _, y = arrays_of(30, shape, 9)
    bound = bound_of(sum_lattice(np.median(kernels.start_norms(X, y, whitening, 0.3))))
    total, expected = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    kernels.add_start(X, y, whitening, 0.3, bound, total)
    for i in range(30):
        x, z, row = (np.empty(n) for n in (4, 9, 13))
        kernels.whiten(X, i, whitening, x, z, row)
        expected += rounded_sum(((y[i] - 0.3) * x[:, None] * z)[np.newaxis], bound)
    assert np.array_equal(total, expected) and total.any()


# 3. Bounds


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
def test_opposite_answers_attain_the_sensitivity(name, neighbors):
    """x along the one singular vector, and z in exact lattice integers."""
    lattice = sum_lattice(0.7, neighbors=neighbors)
    x = np.array([1.0, 0.0, 0.0, *four_squares(lattice.squared_bound)])
    tangent = make_tangent((3, 4), 1)._replace(U=np.eye(3)[:1], left=np.eye(3)[:1], s=np.zeros(1))
    kernel, state = SUMS[name]("rank_one", tangent, lattice, (3, 4))
    one, other = (kernel(block_of("rank_one", [(x, y)], (3, 4)), state) for y in (1e6, -1e6))
    assert one.dtype == np.int64 and (one.astype(object) ** 2).sum() == lattice.squared_bound
    change = one - (other if neighbors == "replace" else 0)
    most = vector_l2_sensitivity(0.7, lattice.neighbors)
    assert np.linalg.norm(change) * lattice.unit == pytest.approx(most, rel=1e-9)


# 4. Each record alone


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("shape", [(5, 6), (3, 17)])
@given(seeds)
@settings(deadline=None, max_examples=8)
def test_integers_are_each_records_own(name, shape, seed):
    rng = np.random.default_rng(seed)
    records = [*hostile_records("rank_one", rng, shape)[::3], *make_records("rank_one", rng, 6, shape)]
    tangent = make_tangent(shape, form=FORMS[seed % 4], seed=seed)
    kernel, state = SUMS[name]("rank_one", tangent, sum_lattice(2.0), shape)
    assert_bits_are_each_records_own(kernel, state, "rank_one", records, shape, seed)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shape", [(5, 6), (3, 17)])
def test_norms_and_residuals_are_each_records_own(form, shape):
    rng, tangent = np.random.default_rng(10), make_tangent(shape, form=form)
    records = [*hostile_records("rank_one", rng, shape), *make_records("rank_one", rng, 6, shape)]

    def numbers(block):
        starts = kernels.start_norms(block.X, block.y, tangent.whitening, 0.3)
        predicted = kernels.predictions(block.X, tangent.coef)
        return *kernels.gradient_norms(block.X, block.X, block.y, tangent), starts, predicted

    assert_numbers_are_each_records_own(numbers, "rank_one", records, shape)


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("form", FORMS)
def test_records_that_are_not_finite_add_nothing(name, bad, form):
    """Whether x, z or the answer is not, and whatever stands beside it."""
    x, y = make_records("rank_one", np.random.default_rng(11), 1)[0]
    kernel, state = SUMS[name]("rank_one", make_tangent(form=form), sum_lattice())
    assert kernel(block_of("rank_one", [(x, y)]), state).any()
    for place in (0, 4, 5, 10):
        for beside in (x, np.zeros_like(x)):
            spoilt = beside.copy()
            spoilt[place] = bad
            assert not kernel(block_of("rank_one", [(spoilt, y)]), state).any()
    assert not kernel(block_of("rank_one", [(x, bad)]), state).any()
