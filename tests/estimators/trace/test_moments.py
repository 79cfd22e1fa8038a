"""Moments of measurements: plain products, vectors with the norm of their matrix, each record alone."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrank.estimators.trace import moments
from record_support import same_bits
from trace_support import SHAPES, block_of, hostile_records, make_records

every_shape = pytest.mark.parametrize("shape", SHAPES)
both_sides = pytest.mark.parametrize("columns", [False, True])


def measurements(n, shape, seed=1):
    return np.random.default_rng(seed).standard_normal((n, *shape))


def products(X, columns):
    """X X^T / d2 or X^T X / d1."""
    Z = np.swapaxes(X, 1, 2) if columns else X
    return Z @ np.swapaxes(Z, 1, 2) / Z.shape[2]


@every_shape
@both_sides
def test_row_products_are_upper_triangles_of_mean_products(shape, columns):
    X, d = measurements(5, shape), shape[columns]
    found = moments.row_products(X, columns)
    assert found.shape == (5, moments.triangle_size(d)) == (5, len(np.triu_indices(d)[0]))
    expected = products(X, columns)
    for vector, matrix in zip(found, expected, strict=True):
        assert moments.from_triangle(vector, d) == pytest.approx(matrix, abs=1e-12)
        assert vector @ vector == pytest.approx((matrix**2).sum(), rel=1e-12)  # the norm of the matrix
    rows, columns_of = np.triu_indices(d)
    stretched = np.where(rows == columns_of, 1.0, math.sqrt(2.0)) * expected[:, rows, columns_of]
    assert found == pytest.approx(stretched, abs=1e-12)


@given(st.integers(1, 9), st.integers(0, 2**32))
@settings(deadline=None)
def test_matrices_from_triangles_are_symmetric_and_of_the_same_norm(d, seed):
    """Noise of equal deviation in all numbers is 1/sqrt(2) of that off the diagonal."""
    values = np.random.default_rng(seed).standard_normal(moments.triangle_size(d))
    A = moments.from_triangle(values, d)
    assert (A == A.T).all() and (A**2).sum() == pytest.approx(values @ values, rel=1e-12)
    assert np.array_equal(np.diag(A), values[np.cumsum([0, *range(d, 1, -1)])])


@every_shape
@both_sides
def test_mean_squares_are_the_diagonal_of_mean_products(shape, columns):
    X = measurements(5, shape)
    expected = (X**2).mean(axis=1 if columns else 2)
    assert moments.mean_squares(X, columns) == pytest.approx(expected, abs=1e-12)
    assert expected == pytest.approx(np.diagonal(products(X, columns), axis1=1, axis2=2), abs=1e-12)


def test_norms_are_euclidean():
    rows = np.random.default_rng(2).standard_normal((4, 7))
    assert moments.norms(rows) == pytest.approx(np.linalg.norm(rows, axis=1), rel=1e-12)
    assert moments.norms(rows[:0]).shape == (0,)


@both_sides
@pytest.mark.parametrize("statistic", [moments.row_products, moments.mean_squares])
def test_moments_are_each_records_own(statistic, columns):
    """In any place of a block, and in float32 as in float64."""
    rng = np.random.default_rng(3)
    records = [*hostile_records("dense", rng), *make_records("dense", rng, 5)]
    order = rng.permutation(len(records))
    together = statistic(block_of("dense", [records[i] for i in order]).X, columns)
    for vector, i in zip(together, order, strict=True):
        assert same_bits(vector, statistic(block_of("dense", [records[i]]).X, columns)[0])
    narrow = block_of("dense", records, dtype=np.float32).X
    assert same_bits(statistic(narrow, columns), statistic(narrow.astype(np.float64), columns))
    assert same_bits(moments.norms(narrow[:, 0]), moments.norms(narrow[:, 0].astype(np.float64)))


@both_sides
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 1e300])
@pytest.mark.parametrize("statistic", [moments.row_products, moments.mean_squares])
def test_what_is_not_finite_has_no_finite_norm(statistic, columns, bad):
    X = measurements(3, (4, 5))
    X[1, 2, 3] = bad
    found = moments.norms(statistic(X, columns))
    assert np.isfinite(found).tolist() == [True, False, True]


def octaves_of(X, scale=1.0, count=1, n_octaves=17):
    total = np.zeros((X.shape[1], n_octaves), np.int64)
    moments.add_octaves(X, scale, count, total)
    return total


@pytest.mark.parametrize("scale", [1e-3, 1.0, 50.0])
def test_octaves_begin_at_the_scale(scale):
    """Numbers beyond them are in the first or the last, zeros are in none."""
    sizes = [*(scale * np.array([1.01, 1.99, -2.01, 0.51, 0.49, 0.0, 2.0**7.5])), 1e300, 5e-324]
    cells = [np.flatnonzero(row).tolist() for row in octaves_of(np.array([sizes]), scale)]
    assert cells == [[8], [8], [9], [7], [6], [], [15], [16], [0]]


def test_octaves_add_up_and_stay_within_what_was_planned():
    """Every number adds the same; a record adds d of them at most, and one that is not finite none."""
    rng = np.random.default_rng(4)
    X = np.array([x for x, _ in hostile_records("rank_one", rng)])
    own = [octaves_of(X[i : i + 1], count=3) for i in range(len(X))]
    assert np.array_equal(octaves_of(X, count=3), sum(own))
    for x, alone in zip(X, own, strict=True):
        assert alone.sum() == (3 * np.count_nonzero(x) if np.isfinite(x).all() else 0)
        assert alone.max() <= 3 and (np.count_nonzero(alone, axis=1) <= 1).all()
    with np.errstate(all="ignore"):
        narrow = X.astype(np.float32)
    assert same_bits(octaves_of(narrow), octaves_of(narrow.astype(np.float64)))
    assert same_bits(octaves_of(X), octaves_of(np.asfortranarray(X)))


def test_products_of_larger_matrices_take_too_long():
    """Twenty by twenty may be whole, sixty by sixty may not."""
    assert 20 * 20 * 40 <= moments.MOST_PRODUCTS < 60 * 60 * 120
