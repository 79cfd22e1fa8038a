"""Exact sums of rows in a frame: equal to Python integers, the same for any block, bounded in every row."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from hushrank.linalg import framed_sums
from hushrank.linalg.framed_sums import framed_moments, framed_sum, sum_integers
from hushrank.linalg.quantize import new_tally, quantize_rows, quantize_rows_l1
from hushrank.linalg.row_frames import Frame
from support import four_squares

WILD = [0.0, 5e-324, 1e-200, 0.3, -7.0, 1e30, -1e200, 1e308, math.inf, math.nan]
shapes = array_shapes(min_dims=2, max_dims=2, max_side=6)
wild_rows = arrays(np.float64, shapes, elements=st.one_of(st.sampled_from(WILD), st.floats(), st.floats(-2, 2)))
bounds = st.sampled_from([1, 7, 25, 4**12, 4**18 - 1, 2**36, 2**48 - 1, 2**48])
ENTRIES = {"all": lambda v: v, "magnitudes": abs, "squares": lambda v: v * v}


def sample(n=3000, d=5, seed=0):
    """Rows of many lengths, some shortened, some zero, some not finite."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * np.exp(2 * rng.standard_normal((n, 1)))
    X[::17], X[5::101] = 0.0, 1e200 * X[5::101]
    X[7::103, 0], X[9::107, -1] = np.nan, np.inf
    return X


def frame_of(width, seed=0):
    rng = np.random.default_rng(seed)
    return Frame(width).moved(rng.standard_normal(width)).scaled(2.0 ** rng.standard_normal(width))


def integer_rows(X, frame, norm_bound, bound, power):
    """Quantized rows in Python integers."""
    with np.errstate(all="ignore"):
        placed = frame.place(np.ascontiguousarray(X, np.float64))
    quantize = quantize_rows if power == 2 else quantize_rows_l1
    return [[int(v) for v in row] for row in quantize(placed, norm_bound, bound)]


def python_sum(rows, entries, width):
    return [sum(ENTRIES[entries](row[j]) for row in rows) for j in range(width)]


def python_gram(rows, width):
    return [[sum(row[j] * row[k] for row in rows) for k in range(width)] for j in range(width)]


# Equal to Python integers


@given(wild_rows, bounds, st.integers(0, 99))
@settings(deadline=None)
def test_moments_equal_python_integers(X, bound, seed):
    width, tally = X.shape[1], new_tally()
    frame = frame_of(width, seed)
    gram, total = framed_moments(X, frame, 1.5, bound, tally)
    rows = integer_rows(X, frame, 1.5, bound, 2)
    assert gram.dtype == total.dtype == np.int64
    assert gram.tolist() == python_gram(rows, width) and total.tolist() == python_sum(rows, "all", width)
    with np.errstate(all="ignore"):
        lost = int((~np.isfinite(frame.place(X)).all(axis=1)).sum())
    assert tally[:2].tolist() == [len(X), lost]


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("entries", ENTRIES)
@given(X=wild_rows, bound=bounds, seed=st.integers(0, 99))
@settings(deadline=None, max_examples=40)
def test_sums_equal_python_integers(power, entries, X, bound, seed):
    if (power, entries) == (1, "squares"):
        bound = min(bound, 2**24)  # squares of entries are at most bound^2
    frame, tally = frame_of(X.shape[1], seed), new_tally()
    total = framed_sum(X, frame, 1.5, bound, power, tally, entries)
    rows = integer_rows(X, frame, 1.5, bound, power)
    assert total.dtype == np.int64 and total.tolist() == python_sum(rows, entries, X.shape[1])
    assert tally[0] == len(X)


@pytest.mark.parametrize("bound", [4**18 - 1, 2**48 - 1, 2**48])
def test_totals_are_exact_where_one_float_sum_would_round(bound):
    """1000 rows as long as they may be: sums of squares pass 2^57."""
    y = np.array(four_squares(bound), float)
    X = np.tile(y / math.sqrt(bound), (1000, 1)) * np.where(np.arange(1000) % 7, 1.0, -1.0)[:, np.newaxis]
    gram, total = framed_moments(X, Frame(4), 1.0, bound, new_tally())
    rows = integer_rows(X, Frame(4), 1.0, bound, 2)
    assert sum(v * v for v in rows[0]) == bound  # it is attained
    assert gram.tolist() == python_gram(rows, 4) and total.tolist() == python_sum(rows, "all", 4)
    squares = framed_sum(X, Frame(4), 1.0, bound, 2, new_tally(), "squares")
    assert squares.tolist() == np.diagonal(gram).tolist() and int(squares.sum()) == 1000 * bound


# The same however the work is split


@pytest.mark.parametrize("block_rows", [1, 2, 31, 1000, 5000])
def test_block_sizes_and_order_of_rows_change_no_bit(monkeypatch, block_rows):
    X, frame = sample(), frame_of(5)
    calls = {
        "moments": lambda X, tally: framed_moments(X, frame, 0.9, 4**18, tally),
        "fine moments": lambda X, tally: framed_moments(X, frame, 0.9, 2**48, tally),
        **{
            f"{entries} {power}": lambda X, tally, p=power, e=entries: framed_sum(X, frame, 0.9, 2**24, p, tally, e)
            for power in (1, 2)
            for entries in ENTRIES
            if (power, entries) != (1, "squares")
        },
    }
    order = np.random.default_rng(1).permutation(len(X))
    for name, call in calls.items():
        tally, other = new_tally(), new_tally()
        expected = call(X, tally)
        with monkeypatch.context() as patched:
            patched.setattr(framed_sums, "BLOCK_ROWS", block_rows)
            found = call(X, other)
        shuffled = call(np.asfortranarray(X[order]), new_tally())
        parts = [call(part, new_tally()) for part in np.array_split(X, 4)]
        summed = tuple(map(sum, zip(*parts, strict=True))) if isinstance(expected, tuple) else sum(parts)
        for result in (found, shuffled, summed):
            for one, two in zip(np.atleast_1d(*_tuple(expected)), np.atleast_1d(*_tuple(result)), strict=True):
                assert np.array_equal(one, two), name
        assert tally.tolist() == other.tolist() and tally[0] == len(X) and tally[1] > 0 and tally[2] > 0, name


def _tuple(result):
    return result if isinstance(result, tuple) else (result, result)


def test_complex_rows_are_read_as_real_ones_of_twice_the_length():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((50, 3)) + 1j * rng.standard_normal((50, 3))
    joint = np.hstack([X.real, X.imag])
    frame = Frame(6).moved(rng.standard_normal(6))
    for one, two in zip(
        framed_moments(X, frame, 2.0, 4**18, new_tally()),
        framed_moments(joint, frame, 2.0, 4**18, new_tally()),
        strict=True,
    ):
        assert np.array_equal(one, two)


def test_no_rows_are_zero():
    gram, total = framed_moments(np.zeros((0, 3)), Frame(3), 1.0, 25, new_tally())
    assert not gram.any() and not total.any()
    assert framed_sum(np.zeros((0, 3)), Frame(3), 1.0, 25, 1, new_tally()).tolist() == [0, 0, 0]


# Bounds


wild_row = arrays(np.float64, 4, elements=st.one_of(st.sampled_from(WILD), st.floats(), st.floats(-2, 2)))


@given(wild_row, bounds, st.floats(1e-100, 1e100))
@settings(deadline=None)
def test_no_row_contributes_more_than_its_bound(row, bound, norm_bound):
    X, frame = row[np.newaxis], frame_of(4, seed=3)
    gram, total = framed_moments(X, frame, norm_bound, bound, new_tally())
    assert int(np.trace(gram.astype(object))) <= bound
    assert sum(int(v) ** 2 for v in total) <= bound
    squares = framed_sum(X, frame, norm_bound, bound, 2, new_tally(), "squares")
    assert min(squares) >= 0 and sum(map(int, squares)) <= bound
    magnitudes = framed_sum(X, frame, norm_bound, bound, 2, new_tally(), "magnitudes")
    assert min(magnitudes) >= 0 and sum(int(v) ** 2 for v in magnitudes) <= bound
    for entries in ("all", "magnitudes"):
        assert sum(abs(int(v)) for v in framed_sum(X, frame, norm_bound, bound, 1, new_tally(), entries)) <= bound


def test_partial_sums_of_a_block_stay_below_two_to_the_53(monkeypatch):
    """So few rows are added at a time that no order of a float sum can round."""
    seen = []
    monkeypatch.setattr(framed_sums, "sum_integers", lambda Y, ones: seen.append(np.abs(Y).sum(axis=0).max()) or 0)
    X = np.ones((40_000, 1))
    for bound, power, entries in ((2**48, 2, "squares"), (2**48, 1, "all"), (2**40, 2, "squares"), (2**48, 2, "all")):
        seen.clear()
        framed_sum(X, Frame(1), 1.0, bound, power, new_tally(), entries)
        assert 0 < max(seen) <= 2**53
    seen.clear()
    framed_moments(X, Frame(1), 1.0, 2**48, new_tally())
    assert 0 < max(seen) <= 2**53


def test_sums_of_few_integers_are_exact():
    Y = np.array([[2.0**52, -1.0], [2.0**52 - 1, 3.0]])
    assert sum_integers(Y, np.ones(5)).tolist() == [2**53 - 1, 2]
