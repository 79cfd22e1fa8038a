"""Sparse contributions: the bound holds for any floats, worst ones attain it, others are rounded to nearest."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from hushrank.linalg.scatter import (
    Bound,
    IntegerRows,
    add_contribution,
    add_row_products,
    quantize_row,
    round_number,
)
from support import four_squares
from user_support import assert_rounded, exact_squares, shorten

TINIEST = 5e-324
LIMITS = [1, 2, 3, 7, 4**18, 4**18 - 1, 12345678901, 2**48 - 1, 2**48]
EXTREMES = [0.0, -0.0, TINIEST, 1e-200, 1e154, 1e300, -1.7e308, math.inf, -math.inf, math.nan]

shapes = array_shapes(min_dims=2, max_dims=2, max_side=7)
any_floats = st.floats() | st.sampled_from(EXTREMES)
any_matrices = arrays(np.float64, shapes, elements=any_floats)
ordinary_matrices = arrays(np.float64, shapes, elements=st.floats(-4, 4, allow_subnormal=False))
limits = st.integers(1, 2**48) | st.integers(1, 50)
norm_bounds = st.floats(min_value=0, exclude_min=True, allow_infinity=False) | st.floats(0.01, 100)
ordinary_bounds = st.floats(0.01, 100)


def contribution_of(G, norm_bound, limit, n_rows=None, lowest=-math.inf):
    """The integers that are added to rows 0, 2, 4, ... of zeros, and the returned factor."""
    n = len(G) if n_rows is None else n_rows
    total = np.zeros((2 * len(G), G.shape[1]), np.int64)
    factor = add_contribution(
        G, n, np.arange(0, 2 * n, 2, dtype=np.int32), Bound(norm_bound, float(limit), lowest), total
    )
    assert not total[1::2].any() and not total[2 * n :].any()
    return total[::2], factor


def quantized(x, norm_bound, limit):
    """The integers of a row, and whether it is finite; entries beyond its length are left alone."""
    y = np.full(len(x) + 1, 77, np.int64)
    is_finite = quantize_row(x, len(x), Bound(norm_bound, float(limit)), y)
    assert y[-1] == 77
    return y[:-1], is_finite


def rounded(x, norm_bound, limit, lowest=-math.inf):
    return round_number(x, Bound(norm_bound, float(limit), lowest))


# The bound holds whatever the floats are.


@given(any_matrices | ordinary_matrices, norm_bounds, limits)
@example(np.full((2, 3), 1e300), 1.0, 4**18)
@example(np.full((2, 3), TINIEST), TINIEST, 2**48)
@example(np.full((3, 3), 1e-170), 1e-170, 2**48)  # squares that underflow hide a norm of three times the bound
@example(np.array([[math.nan, 1.0]]), 1.0, 9)
@example(np.array([[math.inf, -math.inf]]), 1.0, 9)
@settings(deadline=None, max_examples=200)
def test_no_contribution_exceeds_the_limit(G, norm_bound, limit):
    for y, result in (contribution_of(G, norm_bound, limit), quantized(G.reshape(-1), norm_bound, limit)):
        assert exact_squares(y) <= limit
        assert 0.0 <= result <= 1.0


@given(any_floats, norm_bounds, limits | st.just(0))
@settings(deadline=None, max_examples=200)
def test_no_number_exceeds_the_limit(x, norm_bound, limit):
    assert rounded(x, norm_bound, limit) ** 2 <= limit


@given(any_matrices | ordinary_matrices, norm_bounds, limits)
@settings(deadline=None, max_examples=200)
def test_a_nonnegative_plan_gets_nonnegative_integers_and_the_same_ones_otherwise(G, norm_bound, limit):
    free, factor = contribution_of(G, norm_bound, limit)
    kept, same = contribution_of(G, norm_bound, limit, lowest=0.0)
    assert np.array_equal(kept, np.maximum(free, 0)) and factor == same
    for x in G.reshape(-1).tolist():
        assert rounded(x, norm_bound, limit, 0.0) == max(rounded(x, norm_bound, limit), 0)


@pytest.mark.parametrize("n", [3, 1000, 100_000])
@pytest.mark.parametrize("limit", [5, 4**9, 4**18, 2**48])
def test_long_contributions_stay_within_the_limit_and_close_to_it(n, limit):
    rng = np.random.default_rng(n)
    equal = np.full((n, 1), 1e6)  # all are rounded alike, which pushes the sum over the limit for many limits
    for G in (1e6 * rng.standard_normal((n, 1)), equal, equal * math.pi):
        for y, result in (contribution_of(G, 0.1, limit), quantized(G[:, 0], 0.1, limit)):
            squares = exact_squares(y)
            assert 0.0 < result <= 1.0
            assert max(math.sqrt(limit) - math.sqrt(n) - 1e-6, 0) ** 2 <= squares <= limit


@given(any_matrices)
@settings(deadline=None)
def test_what_has_no_finite_norm_adds_nothing(G):
    with np.errstate(all="ignore"):
        is_finite = math.isfinite((G * G).sum())
    y, factor = contribution_of(G, 1.0, 2**40)
    z, ok = quantized(G.reshape(-1), 1.0, 2**40)
    assert ok is is_finite
    if not is_finite:
        assert not y.any() and not z.any() and factor == 0.0


@pytest.mark.parametrize("x", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_not_finite_are_zero(x):
    assert rounded(x, 1.0, 2**40) == 0


# Worst contributions attain it.


@pytest.mark.parametrize("norm_bound", [1.0, 0.1, math.pi, 1e-100, 1e100])
@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("length", [1.0, 1.0 + 1e-9, 3.0])
def test_contributions_at_full_norm_attain_the_limit(limit, norm_bound, length):
    integers = np.array(four_squares(limit)) * [1, -1, -1, 1]
    G = (integers * (length * norm_bound / math.sqrt(limit))).reshape(2, 2)
    y, factor = contribution_of(G, norm_bound, limit)
    assert np.array_equal(y.reshape(-1), integers)
    assert factor == pytest.approx(1 / length, rel=1e-12)
    y, is_finite = quantized(G.reshape(-1), norm_bound, limit)
    assert np.array_equal(y, integers) and is_finite


@pytest.mark.parametrize("limit", LIMITS)
def test_numbers_at_the_bound_attain_the_limit(limit):
    for x in (0.3, 0.4, 1e300):
        assert rounded(x, 0.3, limit) == math.isqrt(limit) == -rounded(-x, 0.3, limit)


# Shorter ones are rounded to nearest, longer ones are shortened first.


@given(ordinary_matrices, ordinary_bounds, limits)
@settings(deadline=None, max_examples=200)
def test_contributions_are_shortened_and_rounded(G, norm_bound, limit):
    ideal, stated = shorten(G, norm_bound)
    y, factor = contribution_of(G, norm_bound, limit)
    assert_rounded(y, ideal, norm_bound, limit)
    assert factor == pytest.approx(stated, rel=1e-12)
    assert_rounded(quantized(G.reshape(-1), norm_bound, limit)[0], ideal, norm_bound, limit)


@given(st.floats(-4, 4), ordinary_bounds, limits)
@settings(deadline=None)
def test_numbers_are_clipped_and_rounded(x, norm_bound, limit):
    ideal = min(max(x, -norm_bound), norm_bound)
    y = rounded(x, norm_bound, limit)
    assert_rounded(np.array([y]), [ideal], norm_bound, limit)


@given(st.integers(-(2**20), 2**20), st.integers(0, 2**10))
@settings(deadline=None)
def test_nearest_is_decided_exactly_where_floats_are_exact(numerator, shift):
    x = numerator / 2**12 + shift  # multiples of 2^-12 in units of 1
    y = rounded(x, 2.0**20, 2**40)
    assert abs(Fraction(x) - int(y)) <= Fraction(1, 2)


def test_a_contribution_of_zeros_is_not_shortened():
    y, factor = contribution_of(np.zeros((3, 2)), 1.0, 100)
    assert not y.any() and factor == 1.0
    y, factor = contribution_of(np.ones((3, 2)), 1.0, 100, n_rows=0)
    assert not y.any() and factor == 1.0


def test_contributions_are_added_to_what_is_there():
    total = np.array([[10, 20], [30, 40], [50, 60]])
    factor = add_contribution(np.array([[0.3, -0.4]]), 1, np.array([2], np.int32), Bound(0.5, 25.0), total)
    assert total.tolist() == [[10, 20], [30, 40], [53, 56]] and factor == 1.0


def test_rows_beyond_the_number_are_not_read():
    G = np.array([[0.3], [0.4], [math.nan]])
    y, factor = contribution_of(G, 0.5, 25, n_rows=2)
    assert y.reshape(-1).tolist() == [3, 4, 0] and factor == 1.0


# Products of rows.


@pytest.mark.parametrize("offset", [0, 1])
@given(st.integers(0, 6), st.integers(1, 8), st.integers(0, 2**32), st.lists(st.integers(0, 8), max_size=3))
@settings(deadline=None)
def test_products_fill_the_triangle_with_or_without_the_diagonal(offset, n_rows, size, seed, cuts):
    rng = np.random.default_rng(seed)
    dense = rng.integers(-(2**24), 2**24, (n_rows, size)) * rng.integers(0, 2, (n_rows, size))
    stored = [np.flatnonzero((row != 0) | (rng.random(size) < 0.3)) for row in dense]  # zeros among them
    starts = np.cumsum([0, *map(len, stored)], dtype=np.int64)
    columns = np.concatenate([*stored, np.empty(0)]).astype(np.int32)
    integers = np.concatenate([*(row[own] for row, own in zip(dense, stored, strict=True)), np.empty(0)])
    rows = IntegerRows(starts, columns, integers.astype(np.int64))
    total, edges = np.zeros((size, size), np.int64), [0, *sorted(min(cut, size) for cut in cuts), size]
    for first, stop in pairwise(edges):
        before = total.copy()
        add_row_products(rows, first, stop, offset, total)
        assert np.array_equal(np.delete(total, slice(first, stop), 0), np.delete(before, slice(first, stop), 0))
    assert np.array_equal(total, np.triu(dense.T @ dense, offset))
