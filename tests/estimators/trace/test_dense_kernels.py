"""Kernels of measurements that are matrices: plain formulas, each record alone, bounds that are attained."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrank.estimators.trace import dense_kernels as kernels
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
    project,
    residuals_of,
    rounded_sum,
    whitened,
)
from trace_support import SUMS as ALL_SUMS
from user_support import assert_rounded

SUMS = {name: ALL_SUMS[name] for name in ("start", "gradients")}
every_shape = pytest.mark.parametrize("shape", SHAPES)
every_form = pytest.mark.parametrize("form", FORMS)
seeds = st.integers(0, 2**32)


def arrays_of(n, shape, seed=1):
    """Measurements, others in their place, and answers."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, *shape)), rng.standard_normal((n, *shape)), rng.standard_normal(n)


def find_gradient(X, W, y, i, tangent, is_same):
    """Gradient of one record, and its residual."""
    (rank, d1), d2 = tangent.left.shape, tangent.right.shape[1]
    scratch = [np.full(shape, math.nan) for shape in ((rank, d1 + d2), (rank, d2), (rank, d1), (4, d2))]
    residual = kernels.find_gradient(X, W, y, i, tangent, is_same, *scratch)
    return scratch[0], residual


# 1. Formulas


@every_shape
def test_predictions_are_inner_products(shape):
    X, coef, _ = arrays_of(6, shape)
    expected = np.einsum("ipq,pq->i", X, coef[0])
    assert kernels.predictions(X, coef[0]) == pytest.approx(expected, abs=1e-10)
    assert kernels.inner_product(X, 4, coef[0]) == pytest.approx(expected[4], abs=1e-10)
    assert kernels.predictions(X[:0], coef[0]).shape == (0,)


@every_shape
@every_form
def test_gradients_are_residuals_times_projections_to_the_tangent_space(shape, form):
    (X, _, y), tangent = arrays_of(5, shape), make_tangent(shape, form=form, seed=2)
    norms, residuals = kernels.gradient_norms(X, X, y, tangent, True)
    rho = residuals_of(X, y, tangent)
    projected = project(whitened(X, tangent.whitening), tangent)
    assert residuals == pytest.approx(rho, abs=1e-10)
    assert norms == pytest.approx(np.abs(rho) * np.linalg.norm(projected, axis=(1, 2)), abs=1e-10)
    expected = gradients_of("dense", X, X, y, tangent)
    for i in range(len(y)):
        G, residual = find_gradient(X, X, y, i, tangent, True)
        assert G == pytest.approx(expected[i], abs=1e-10) and residual == residuals[i]
        P, Q = make_design("dense", shape).parts(G)
        assert tangent.U.T @ P + Q @ tangent.V == pytest.approx(rho[i] * projected[i], abs=1e-10)


@every_shape
@every_form
def test_residuals_are_of_one_measurement_and_tangents_meet_another(shape, form):
    """With weights of records: W in the place of X, but for the prediction."""
    (X, W, y), tangent = arrays_of(5, shape), make_tangent(shape, form=form, seed=3)
    norms, residuals = kernels.gradient_norms(X, W, y, tangent, False)
    expected = gradients_of("dense", X, W, y, tangent)
    assert residuals == pytest.approx(residuals_of(X, y, tangent), abs=1e-10)
    assert norms == pytest.approx(np.linalg.norm(expected, axis=(1, 2)), abs=1e-10)
    assert find_gradient(X, W, y, 2, tangent, False)[0] == pytest.approx(expected[2], abs=1e-10)
    same = kernels.gradient_norms(X, X, y, tangent, False)  # both ways to predict agree
    assert all(map(np.allclose, same, kernels.gradient_norms(X, X, y, tangent, True)))


@every_shape
@every_form
def test_starts_are_answers_times_whitened_measurements(shape, form):
    (_, W, y), whitening = arrays_of(5, shape), make_whitening(form, shape, 4)
    expected = (y - 0.3)[:, None, None] * whitened(W, whitening)
    found, scratch = np.full(shape, math.nan), np.full(shape, math.nan)
    kernels.whiten(W, 1, whitening, found, scratch)
    assert found == pytest.approx(whitened(W, whitening)[1], abs=1e-10)
    norms = kernels.start_norms(W, y, whitening, 0.3)
    assert norms == pytest.approx(np.linalg.norm(expected, axis=(1, 2)), abs=1e-10)


def test_small_parts_are_those_of_numpy():
    G = np.random.default_rng(5).standard_normal((3, 7))
    assert kernels.squared_norm(G) == pytest.approx((G * G).sum(), rel=1e-12)
    rows = kernels.all_rows(4)
    assert rows.tolist() == [0, 1, 2, 3] and rows.dtype == np.int32


# 2. Sums


@every_form
@pytest.mark.parametrize("is_same", [True, False])
def test_sums_are_those_of_gradients_shortened_and_rounded_one_by_one(form, is_same):
    """Of 30 records, about half of them longer than the bound."""
    shape, tangent = (4, 9), make_tangent((4, 9), form=form, seed=6)
    X, W, y = arrays_of(30, shape, 7)
    W = X if is_same else W
    norms, _ = kernels.gradient_norms(X, W, y, tangent, is_same)
    bound, total = bound_of(sum_lattice(np.median(norms))), np.zeros((2, 13), np.int64)
    kernels.add_gradients(X, W, y, tangent, is_same, bound, total)
    gradients = np.array([find_gradient(X, W, y, i, tangent, is_same)[0] for i in range(30)])
    assert np.array_equal(total, rounded_sum(gradients, bound))
    plain = gradients_of("dense", X, W, y, tangent)
    for G in plain[:5]:
        shortened = G * min(1.0, bound.norm / np.linalg.norm(G))
        assert_rounded(rounded_sum(G[np.newaxis], bound), shortened, bound.norm, int(bound.limit))
    factors = np.minimum(1.0, bound.norm / np.linalg.norm(plain, axis=(1, 2)))
    unit = bound.norm / math.sqrt(bound.limit)
    assert total * unit == pytest.approx((factors[:, None, None] * plain).sum(axis=0), abs=40 * unit)


@every_form
def test_starts_are_shortened_and_rounded_one_by_one(form):
    shape, whitening = (4, 9), make_whitening(form, (4, 9), 8)
    _, W, y = arrays_of(30, shape, 9)
    bound = bound_of(sum_lattice(np.median(kernels.start_norms(W, y, whitening, 0.3))))
    total, expected = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    kernels.add_start(W, y, whitening, 0.3, bound, total)
    for i in range(30):
        Z, scratch = np.empty(shape), np.empty(shape)
        kernels.whiten(W, i, whitening, Z, scratch)
        expected += rounded_sum((Z * (y[i] - 0.3))[np.newaxis], bound)
    assert np.array_equal(total, expected) and total.any()


def test_sums_are_added_to_what_is_there():
    X, _, y = arrays_of(3, (2, 3))
    tangent, bound, made = make_tangent((2, 3)), bound_of(sum_lattice()), []
    for first in (0, 100):
        total = np.full((2, 5), first)
        kernels.add_gradients(X, X, y, tangent, True, bound, total)
        made.append(total - first)
    assert np.array_equal(*made) and made[0].any()


# 3. Bounds


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
def test_opposite_answers_attain_the_sensitivity(name, neighbors):
    """Measurements along one row of the matrix, which the tangent space holds, in exact lattice integers."""
    lattice = sum_lattice(0.7, neighbors=neighbors)
    X = np.zeros((3, 4))
    X[0] = four_squares(lattice.squared_bound)
    tangent = make_tangent((3, 4), 1)._replace(U=np.eye(3)[:1], left=np.eye(3)[:1], s=np.zeros(1))
    kernel, state = SUMS[name]("dense", tangent, lattice, (3, 4))
    one, other = (kernel(block_of("dense", [(X, y)], (3, 4)), state) for y in (1e6, -1e6))
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
    records = [*hostile_records("dense", rng, shape)[::3], *make_records("dense", rng, 6, shape)]
    tangent = make_tangent(shape, form=FORMS[seed % 4], seed=seed)
    kernel, state = SUMS[name]("dense", tangent, sum_lattice(2.0), shape)
    assert_bits_are_each_records_own(kernel, state, "dense", records, shape, seed)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shape", [(5, 6), (3, 17)])
def test_norms_and_residuals_are_each_records_own(form, shape):
    rng, tangent = np.random.default_rng(10), make_tangent(shape, form=form)
    records = [*hostile_records("dense", rng, shape), *make_records("dense", rng, 6, shape)]
    for is_same in (True, False):
        assert_numbers_are_each_records_own(
            lambda b, is_same=is_same: kernels.gradient_norms(b.X, b.X, b.y, tangent, is_same), "dense", records, shape
        )
    assert_numbers_are_each_records_own(
        lambda b: (kernels.start_norms(b.X, b.y, tangent.whitening, 0.3), kernels.predictions(b.X, tangent.coef)),
        "dense",
        records,
        shape,
    )


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("form", FORMS)
def test_records_that_are_not_finite_add_nothing(name, bad, form):
    x, y = make_records("dense", np.random.default_rng(11), 1)[0]
    kernel, state = SUMS[name]("dense", make_tangent(form=form), sum_lattice())
    assert kernel(block_of("dense", [(x, y)]), state).any()
    for p, q in ((0, 0), (2, 5), (4, 3)):
        spoilt = x.copy()
        spoilt[p, q] = bad
        assert not kernel(block_of("dense", [(spoilt, y)]), state).any()
    assert not kernel(block_of("dense", [(x, bad)]), state).any()
