"""Coordinates: inner products stay what they are, tangent spaces are those of the matrix, maps are products."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from hushrank.estimators.trace.coordinates import (
    Tangent,
    Whitening,
    apply_map,
    coefficients,
    isotropic,
    map_row,
    remove_core,
    tangent_at,
)
from hushrank.linalg.fixed_rank import nearest_of_rank
from record_support import same_bits
from trace_support import FORMS, SHAPES, make_tangent, make_whitening, project, whitened, whole_map

every_form = pytest.mark.parametrize("form", FORMS)
every_shape = pytest.mark.parametrize("shape", SHAPES)


def point_of(shape, rank=2, seed=1):
    return nearest_of_rank(np.random.default_rng(seed).standard_normal(shape), min(rank, *shape))


@every_form
@every_shape
def test_inner_products_are_the_same_in_both_coordinates(shape, form):
    """<X, L M' R> = <L X R, M'>, and the coefficients have the rank of M'."""
    point, whitening = point_of(shape), make_whitening(form, shape, 2)
    coef = coefficients(point, whitening)
    assert coef == pytest.approx(whitened(point.matrix, whitening), abs=1e-12)
    X = np.random.default_rng(3).standard_normal((7, *shape))
    expected = np.einsum("ipq,pq->i", whitened(X, whitening), point.matrix)
    assert np.einsum("ipq,pq->i", X, coef) == pytest.approx(expected, abs=1e-10)
    assert np.linalg.matrix_rank(coef) == np.linalg.matrix_rank(point.matrix)


@every_form
def test_tangents_hold_what_kernels_meet(form):
    point, whitening = point_of((4, 7)), make_whitening(form, (4, 7), 2)
    tangent = tangent_at(point, whitening, np.float64(0.25))
    assert np.array_equal(tangent.U, point.U.T) and np.array_equal(tangent.V, point.V.T)
    assert tangent.s is point.s and tangent.whitening is whitening
    assert tangent.left == pytest.approx(point.U.T @ whole_map(whitening.left), abs=1e-12)
    assert tangent.right == pytest.approx(point.V.T @ whole_map(whitening.right), abs=1e-12)
    assert np.array_equal(tangent.coef, coefficients(point, whitening))
    assert tangent.intercept == 0.25 and type(tangent.intercept) is float
    arrays = (*tangent[:5], tangent.coef, *tangent.whitening)
    assert all(array.dtype == np.float64 and array.flags.c_contiguous for array in arrays)


def test_an_isotropic_design_is_left_alone():
    whitening = isotropic((3, 4))
    assert whitening.left.tolist() == [[1.0] * 3] and whitening.right.tolist() == [[1.0] * 4]
    point = point_of((3, 4))
    assert coefficients(point, whitening) == pytest.approx(point.matrix, abs=1e-15)


def test_tangents_travel():
    for form in FORMS:
        tangent = make_tangent(form=form)
        copy = pickle.loads(pickle.dumps(tangent))
        assert isinstance(copy, Tangent) and isinstance(copy.whitening, Whitening)
        assert all(map(same_bits, copy[:5], tangent[:5])) and same_bits(copy.coef, tangent.coef)
        assert all(map(same_bits, copy.whitening, tangent.whitening)) and copy.intercept == tangent.intercept


def test_bits_do_not_depend_on_the_number_of_blas_threads():
    shape, results = (501, 401), []
    point, whitening = point_of(shape, 63), make_whitening("matrix", shape, 4)
    for threads in (1, 2):
        with threadpool_limits(threads, "blas"):
            tangent = tangent_at(point, whitening, 0.0)
            results.append((tangent.left, tangent.right, tangent.coef))
    assert all(map(same_bits, *results))


# Maps


@given(st.integers(1, 20), st.booleans(), st.integers(0, 2**32))
@settings(deadline=None)
def test_maps_of_rows_are_products(d, is_diagonal, seed):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((d, d))
    matrix = rng.standard_normal((1, d)) if is_diagonal else A + A.T
    rows, whole = rng.standard_normal((3, d)), np.diag(matrix[0]) if is_diagonal else matrix
    mapped = apply_map(rows, matrix)
    assert mapped == pytest.approx(rows @ whole, abs=1e-12 * d) and mapped.flags.c_contiguous
    for row in rows:
        strided = np.full((d, 2), math.nan)
        contiguous = np.full(d, math.nan)
        map_row(row, matrix, contiguous)
        map_row(row, matrix, strided[:, 1])  # with a stride: the same operations
        assert contiguous == pytest.approx(row @ whole, abs=1e-12 * d)
        assert same_bits(contiguous, strided[:, 1].copy())


def test_numbers_that_are_not_finite_stay_so():
    """What a record makes of them is for its bound to see: nothing raises here."""
    for bad in (math.nan, math.inf, -math.inf):
        for matrix in (np.full((1, 3), 2.0), np.eye(3)):
            out = np.zeros(3)
            map_row(np.array([1.0, bad, 2.0]), matrix, out)
            assert not np.isfinite(out[1])


# The core


@pytest.mark.parametrize(("shape", "rank"), [((5, 4), 2), ((3, 8), 3), ((6, 6), 1)])
def test_the_core_is_taken_out(shape, rank):
    """Q (I - U^T U) for orthonormal rows U; with the other part that is the projection to the tangent space."""
    tangent = make_tangent(shape, rank, seed=5)
    W = np.random.default_rng(6).standard_normal(shape)
    Q = tangent.V @ W.T
    before = Q.copy()
    remove_core(Q, tangent.U)
    assert Q == pytest.approx(before - before @ tangent.U.T @ tangent.U, abs=1e-12)
    assert Q @ tangent.U.T == pytest.approx(np.zeros((rank, rank)), abs=1e-12)
    assert tangent.U.T @ (tangent.U @ W) + Q.T @ tangent.V == pytest.approx(project(W, tangent), abs=1e-12)
