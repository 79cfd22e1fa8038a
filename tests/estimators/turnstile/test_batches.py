"""Batches: every update within its bound and rounded oddly, what is invalid counted, a sort that loses nothing."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hushrank.estimators.turnstile.batches import (
    BUCKET_BYTES,
    MOST_BUCKETS,
    Rounding,
    bound_updates,
    bucket_shift,
    sort_by_place,
)

bounds = st.floats(1e-200, 1e200)
units = st.integers(1, 2**16)


def bounded(deltas, bound, units, rows=None, columns=None, shape=(5, 4)):
    """Integers, and the counts of what is outside and not finite."""
    deltas = np.asarray(deltas, np.float64)
    zeros = np.zeros(len(deltas), np.int64)
    rows, columns = (zeros if given is None else np.asarray(given, np.int64) for given in (rows, columns))
    integers = np.full(len(deltas), 99)
    counts = bound_updates(rows, columns, deltas, *shape, Rounding(units / bound, units), integers)
    return integers.tolist(), counts


# Bounding


@given(st.floats(allow_nan=False, allow_infinity=False), bounds, units)
@example(0.1, 0.3, 3)
@example(math.nextafter(3.0, 0.0), 3.0, 7)
@settings(deadline=None)  # the first call compiles
def test_an_update_is_clipped_and_rounded_to_the_nearest_unit(delta, bound, units):
    (integer,), counts = bounded([delta], bound, units)
    assert abs(integer) <= units and counts == (0, 0)
    clipped = min(max(Fraction(delta), -Fraction(bound)), Fraction(bound))
    error = abs(integer - clipped * units / Fraction(bound))
    assert error <= Fraction(1, 2) + Fraction(units, 2**50)
    if abs(delta) >= bound:
        assert abs(integer) == units


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1), bounds, units)
@example([0.25, 0.75, 1.25], 2.0, 4)  # halves of a unit
@settings(deadline=None)  # the first call compiles
def test_what_an_update_adds_its_opposite_takes_away(deltas, bound, units):
    plus, minus = (bounded(sign * np.array(deltas), bound, units)[0] for sign in (1.0, -1.0))
    assert [-integer for integer in plus] == minus


@pytest.mark.parametrize(
    ("delta", "expected"),
    [(0.0, 0), (-0.0, 0), (0.5, 1), (0.25, 0), (0.75, 2), (-0.75, -2), (1.0, 2), (1.01, 2), (-1e308, -2), (5e-324, 0)],
)
def test_halves_go_to_the_even_unit_on_both_sides(delta, expected):
    assert bounded([delta], 1.0, 2)[0] == [expected]


def test_the_largest_integer_may_be_more_or_less_than_a_bound():
    """Updates may be cut shorter than the bound, or be left longer."""
    integers, zeros = np.zeros(4, np.int64), np.zeros(4, np.int64)
    deltas = np.array([0.5, -3.0, 3.0, 1e308])
    for largest, expected in ((3, [3, -3, 3, 3]), (2**36, [4, -24, 24, 2**36])):
        assert bound_updates(zeros, zeros, deltas, 1, 1, Rounding(8.0, largest), integers) == (0, 0)
        assert integers.tolist() == expected


@given(st.floats(1e-300, 1e200), units)
@settings(deadline=None)  # the first call compiles
def test_products_beyond_every_float_are_clipped(bound, units):
    assert bounded([1.7e308, -1.7e308], bound, units)[0] == [units, -units]


def test_what_is_outside_or_not_finite_is_counted_once_and_left_at_zero():
    rows = [0, -1, 5, 4, 0, 0, 2, 2, 2, -1]
    columns = [0, 0, 0, 3, 4, -1, 1, 1, 1, 9]
    deltas = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, math.nan, math.inf, -math.inf, math.nan]
    integers, counts = bounded(deltas, 1.0, 8, rows, columns)
    assert integers == [8, 0, 0, 8, 0, 0, 0, 0, 0, 0]
    assert counts == (5, 3)  # one that is both is outside
    assert bounded([], 1.0, 8) == ([], (0, 0))


@pytest.mark.parametrize("index", [-(2**63), 2**63 - 1, 2**32, -1, 5])
def test_no_index_wraps_into_the_matrix(index):
    assert bounded([1.0], 1.0, 8, rows=[index]) == ([0], (1, 0))
    assert bounded([1.0], 1.0, 8, columns=[index]) == ([0], (1, 0))


# Sorting


@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 9), st.integers(-9, 9))), st.integers(0, 8))
@settings(deadline=None)  # the first call compiles
def test_sorting_keeps_every_update_and_groups_buckets_in_order(updates, shift):
    where, which, integers = np.array(updates, np.int64).reshape(-1, 3).T.copy()
    before = where.copy()
    out = sort_by_place(where, which, integers, 100, shift)
    expected = sorted(updates, key=lambda update: update[0] >> shift)  # stable, as a counting sort is
    assert list(zip(*(array.tolist() for array in out), strict=True)) == expected
    assert np.array_equal(where, before) and not any(np.shares_memory(array, where) for array in out)


@pytest.mark.parametrize("n_places", [1, 3, 4, 5, 64, 65])
def test_the_last_place_has_a_bucket(n_places):
    for shift in range(8):
        where = np.full(3, n_places - 1)
        assert sort_by_place(where, where, where, n_places, shift)[0].tolist() == where.tolist()


@pytest.mark.parametrize("n_places", [1, 1000, 10**6, 2**40])
@pytest.mark.parametrize("place_bytes", [0, 4, 8, 512, 2**17, 2**20])
def test_buckets_fit_the_cache_unless_they_would_be_too_many(n_places, place_bytes):
    shift = bucket_shift(n_places, place_bytes)
    assert n_places >> shift <= MOST_BUCKETS
    if (n_places >> shift) * 2 <= MOST_BUCKETS and n_places > 1 << shift:
        assert shift == 0 or (place_bytes or 1) << shift <= BUCKET_BYTES
    if n_places >> max(shift - 1, 0) <= MOST_BUCKETS:
        assert (place_bytes or 1) << (shift + 1) > BUCKET_BYTES


@given(st.lists(st.floats(-1.0, 1.0), min_size=1, max_size=200), st.integers(1, 2**16), st.floats(1e-3, 1e3))
def test_toward_zero_no_total_of_magnitudes_grows(parts, units, bound):
    """What is promised of deltas holds for integers; to the nearest, it would not."""
    deltas = bound * np.array(parts) / max(np.abs(parts).sum(), 1.0)
    zeros, integers = np.zeros(len(parts), np.int64), np.empty(len(parts), np.int64)
    bound_updates(zeros, zeros, deltas, 1, 1, Rounding(units / bound, units, True), integers)
    assert np.abs(integers).sum() <= units


def test_toward_zero_whole_numbers_of_units_stay():
    for units, bound in ((43876, 1.0), (12345, 3.0), (7, 0.1), (65535, 1e-3)):
        deltas = np.array([bound, -bound, bound / units, 0.9 * bound / units])
        zeros, integers = np.zeros(4, np.int64), np.empty(4, np.int64)
        bound_updates(zeros, zeros, deltas, 1, 1, Rounding(units / bound, units, True), integers)
        assert integers.tolist() == [units, -units, 1, 0]
    halves = np.full(2 * 1000, 0.51)
    zeros, integers = np.zeros(2000, np.int64), np.empty(2000, np.int64)
    bound_updates(zeros, zeros, halves, 1, 1, Rounding(1.0, 1000), integers)
    assert integers.sum() == 2000  # the reason for it: a total of 1020 units has become 2000
