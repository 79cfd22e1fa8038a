"""Integer rows: the bound holds for any floats, worst rows attain it, and rounding moves rows as little as it may."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from hushrank.linalg.quantize import quantize_rows, quantize_rows_l1, round_row, row_blocks

TINIEST = 5e-324
SQUARED_BOUNDS = [1, 2, 3, 7, 4**18, 4**18 - 1, int(0.7 * 2**35), 12345678901, 2**48 - 1, 2**48]
NORM_BOUNDS = [1.0, 0.1, math.pi, 1e-200, 1e200, 3e300]

shapes = array_shapes(min_dims=2, max_dims=2, max_side=9)
any_rows = arrays(np.float64, shapes, elements=st.floats())
finite_rows = arrays(np.float64, shapes, elements=st.floats(allow_nan=False, allow_infinity=False))
ordinary_rows = arrays(np.float64, shapes, elements=st.floats(-4, 4, allow_subnormal=False))
norm_bounds = st.floats(min_value=0, exclude_min=True, allow_infinity=False)
integer_bounds = st.integers(1, 2**48) | st.integers(1, 50)


def squared_norms(Y):
    return [sum(int(v) ** 2 for v in row) for row in Y]


def absolute_sums(Y):
    return [sum(abs(int(v)) for v in row) for row in Y]


def two_squares(total):
    for a in range(math.isqrt(total // 2) + 1):
        b = math.isqrt(total - a * a)
        if a * a + b * b == total:
            return a, b
    return None


def four_squares(total):
    """Integers whose squares sum to `total`, the first two large."""
    for a in range(math.isqrt(total), -1, -1):
        for b in range(math.isqrt(total - a * a), -1, -1):
            if (rest := two_squares(total - a * a - b * b)) is not None:
                return np.array([a, -b, *rest], dtype=np.float64)
    raise AssertionError("Lagrange")


def ideal_row(row, norm_bound, radius, power):
    """The shortened, scaled row to 60 digits."""
    x = [Decimal(float(v)) for v in row]
    norm = sum(v * v for v in x).sqrt() if power == 2 else sum(abs(v) for v in x)
    return [v * radius / max(norm, Decimal(norm_bound)) for v in x]


def check_rounding(Y, X, norm_bound, bound, power):
    """Entries are rounded to nearest, or truncated where rounding up could break the bound."""
    with localcontext(prec=60, Emax=10**6, Emin=-(10**6)):
        radius = Decimal(bound).sqrt() if power == 2 else Decimal(bound)
        tol = radius * (X.shape[1] + 16) / 2**50  # float error of a longest row, 4e-7 for power 2
        for y, x in zip(Y, X, strict=True):
            v = ideal_row(x, norm_bound, radius, power)
            moves = [abs(Decimal(int(a)) - b) for a, b in zip(y, v, strict=True)]
            if max(moves) <= Decimal("0.5") + tol:
                continue
            upper = sum(int(abs(b) + Decimal("0.5") + tol) ** power for b in v)
            assert upper > bound
            assert max(moves) <= 1 + tol
            assert all(abs(int(a)) <= abs(b) + tol for a, b in zip(y, v, strict=True))


# The bound holds for every row.


@given(any_rows | ordinary_rows, norm_bounds, integer_bounds)
@example(np.full((2, 3), 1e300), 1.0, 4**18)
@example(np.full((2, 3), TINIEST), TINIEST, 2**48)
@example(np.array([[np.nan, 1.0], [np.inf, 1.0], [-np.inf, np.inf]]), 1.0, 9)
@settings(deadline=None)
def test_integer_norms_never_exceed_the_bound(X, norm_bound, bound):
    Y, Z = quantize_rows(X, norm_bound, bound), quantize_rows_l1(X, norm_bound, bound)
    assert np.array_equal(Y, np.rint(Y)) and np.array_equal(Z, np.rint(Z))
    assert max(squared_norms(Y)) <= bound
    assert max(absolute_sums(Z)) <= bound


@pytest.mark.parametrize("n_features", [1, 3, 100, 1003])
@pytest.mark.parametrize("squared_bound", [5, 4**9, 4**18, 2**48])
def test_clipped_rows_stay_within_the_bound_and_close_to_it(n_features, squared_bound):
    X = 1e6 * np.random.default_rng(n_features).standard_normal((300, n_features))
    norms = squared_norms(quantize_rows(X, 0.1, squared_bound))
    assert max(norms) <= squared_bound
    assert min(norms) >= max(math.sqrt(squared_bound) - math.sqrt(n_features) - 1e-6, 0) ** 2


def test_a_wrong_norm_cannot_let_a_long_row_through():
    Y = np.ones((1, 3))
    round_row(np.full((1, 3), 1e6), 0, 0.0, 1.0, 100.0, 2, Y, 0)  # claims that the sum of squares is zero
    assert not Y.any()


# Worst rows attain it.


@pytest.mark.parametrize("norm_bound", NORM_BOUNDS)
@pytest.mark.parametrize("squared_bound", SQUARED_BOUNDS)
def test_integer_rows_at_full_norm_are_kept(squared_bound, norm_bound):
    y = four_squares(squared_bound)
    assert squared_norms([y]) == [squared_bound]
    wide = np.zeros((2, 1003))
    wide[:, [0, 500, 501, 1002]] = y, -y[::-1]
    for rows in (np.array([y, y[::-1], -y]), wide):
        step = norm_bound / math.sqrt(squared_bound)
        assert np.array_equal(quantize_rows(rows * step, norm_bound, squared_bound), rows)
        assert np.array_equal(quantize_rows(rows * step * 1e7, norm_bound, squared_bound), rows)


@pytest.mark.parametrize("root", [1, 2, 2**18, 2**24, 2**24 - 1])
def test_axis_rows_attain_a_square_bound(root):
    X = np.array([[0.3, 0.0], [0.0, -0.3], [-7e250, 0.0]])
    assert quantize_rows(X, 0.3, root**2).tolist() == [[root, 0], [0, -root], [-root, 0]]


@given(st.integers(0, 2**32), st.integers(1, 2000), st.sampled_from(NORM_BOUNDS))
@settings(deadline=None, max_examples=50)
def test_dense_integer_rows_at_full_norm_are_kept(seed, n_features, norm_bound):
    y = np.rint(np.random.default_rng(seed).standard_normal(n_features) * 1e5) + 1.0
    squared_bound = squared_norms([y])[0] or 1
    X = y[np.newaxis] * (norm_bound / math.sqrt(squared_bound))
    assert np.array_equal(quantize_rows(X, norm_bound, squared_bound)[0], y)


@given(st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=250), st.sampled_from(NORM_BOUNDS))
@example([2**48], 1.0)
@example([-(2**47), 2**47 - 1, 1], 0.1)
@settings(deadline=None)
def test_integer_rows_at_full_l1_norm_are_kept(y, norm_bound):
    integer_bound = sum(map(abs, y)) or 1
    X = np.array([y], dtype=np.float64) * (norm_bound / integer_bound)
    assert quantize_rows_l1(X, norm_bound, integer_bound)[0].tolist() == y


@pytest.mark.parametrize("norm_bound", [0.1, 0.3, 0.7, 1 / 3, math.pi])
def test_wide_l1_rows_at_full_norm_are_kept_though_their_float_norm_errs(norm_bound):
    y = np.full((1, 10_000), 2.0**33 - 1)
    y[0, 0] = 2.0**47
    integer_bound = absolute_sums(y)[0]
    assert np.array_equal(quantize_rows_l1(y * (norm_bound / integer_bound), norm_bound, integer_bound), y)


# Rounding moves rows no further than it must.


@given(finite_rows | ordinary_rows, norm_bounds, integer_bounds)
@settings(deadline=None)
def test_rows_are_rounded_to_nearest_or_truncated(X, norm_bound, squared_bound):
    check_rounding(quantize_rows(X, norm_bound, squared_bound), X, norm_bound, squared_bound, 2)


@given(finite_rows | ordinary_rows, norm_bounds, integer_bounds)
@settings(deadline=None)
def test_l1_rows_are_rounded_to_nearest_or_truncated(X, norm_bound, integer_bound):
    check_rounding(quantize_rows_l1(X, norm_bound, integer_bound), X, norm_bound, integer_bound, 1)


def test_ties_go_to_even():
    X = [[2.4999, 2.5, 3.5, -2.5, -3.4999]]
    assert quantize_rows(X, 100.0, 10_000).tolist() == [[2, 2, 4, -2, -3]]
    assert quantize_rows_l1(X, 100.0, 100).tolist() == [[2, 2, 4, -2, -3]]


@pytest.mark.parametrize("squared_bound", [2**48 - 1, 2**48 - 60, 2**47])
def test_integer_rows_too_long_by_one_are_shortened_not_dropped(squared_bound):
    y = four_squares(squared_bound + 1)
    rows = np.array([y, -y, y[::-1]])
    for norm_bound in NORM_BOUNDS:
        Y = quantize_rows(rows * (norm_bound / math.sqrt(squared_bound)), norm_bound, squared_bound)
        assert max(squared_norms(Y)) <= squared_bound
        assert np.abs(Y - rows).max() == 1


def test_truncation_replaces_rounding_only_where_the_norm_would_grow():
    X = np.array([[1.6, 1.6], [1.6, 0.2]])  # rounds to (2, 2), too long for 5, and to (2, 0)
    assert quantize_rows(X, math.sqrt(5), 5).tolist() == [[1, 1], [2, 0]]
    assert quantize_rows_l1(X, 3.5, 3).tolist() == [[1, 1], [1, 0]]


@pytest.mark.parametrize("scale", [1e300, 1e200, 1.0, 1e-200, TINIEST])
def test_overflowing_and_denormal_rows_keep_their_direction(scale):
    X = np.array([[3.0, -4.0], [30.0, -40.0]]) * scale
    assert quantize_rows(X, 5 * scale, 25).tolist() == [[3, -4], [3, -4]]
    assert quantize_rows_l1(X, 7 * scale, 7).tolist() == [[3, -4], [3, -4]]
    smallest = TINIEST if scale > TINIEST else 1e-323
    assert quantize_rows(X[1:], smallest, 25).tolist() == [[3, -4]]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_row_that_is_not_finite_is_zero_and_alone(bad):
    X = np.array([[3.0, 4.0], [bad, 4.0], [1e300, bad], [4.0, 3.0]])
    for quantize, norm_bound, bound in ((quantize_rows, 5, 25), (quantize_rows_l1, 7, 7)):
        assert quantize(X, float(norm_bound), bound).tolist() == [[3, 4], [0, 0], [0, 0], [4, 3]]


# Types and layouts.


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", ">f8", "i1", "i4", "i8", "u1", "u8", "?"])
def test_every_real_dtype_is_read_as_float64(dtype):
    X = (100 * np.random.default_rng(1).random((5000, 3))).astype(dtype)
    assert np.array_equal(quantize_rows(X, 60.0, 4**10), quantize_rows(X.astype(np.float64), 60.0, 4**10))
    assert np.array_equal(quantize_rows_l1(X, 60.0, 4**10), quantize_rows_l1(X.astype(np.float64), 60.0, 4**10))


def test_signaling_nan_is_a_zero_row():
    X = np.array([[0x7FA00000, 0x3F800000]], dtype=np.uint32).view(np.float32)
    assert quantize_rows(X, 1.0, 4).tolist() == [[0, 0]]


def test_layout_and_write_protection_do_not_matter():
    X = np.random.default_rng(2).standard_normal((5000, 7))
    frozen = X.copy()
    frozen.setflags(write=False)
    wide = np.repeat(X, 2, axis=1)
    expected = quantize_rows(X, 2.0, 4**18)
    for layout in (np.asfortranarray(X), wide[:, ::2], np.ascontiguousarray(X[::-1])[::-1], frozen):
        assert np.array_equal(quantize_rows(layout, 2.0, 4**18), expected)
    assert np.array_equal(X, frozen)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex_rows_share_one_norm(dtype):
    rng = np.random.default_rng(3)
    X = (rng.standard_normal((3000, 5)) + 1j * rng.standard_normal((3000, 5))).astype(dtype)
    side_by_side = np.hstack([X.real, X.imag]).astype(np.float64)
    assert np.array_equal(quantize_rows(X, 2.0, 4**12), quantize_rows(side_by_side, 2.0, 4**12))
    assert quantize_rows(np.array([[3 + 4j], [6 - 8j]]), 5.0, 25).tolist() == [[3, 4], [3, -4]]
    assert quantize_rows(np.array([[complex(1, np.nan), 1]]), 5.0, 25).tolist() == [[0, 0, 0, 0]]


def test_no_rows_become_no_rows():
    assert quantize_rows(np.empty((0, 4)), 1.0, 100).shape == (0, 4)


# Refusals.


@pytest.mark.parametrize("bound", [0, -1, 2**48 + 1, 2.0, True, "9", None])
def test_bounds_that_are_no_integers_in_range_are_refused(bound):
    for quantize, name in ((quantize_rows, "squared_bound"), (quantize_rows_l1, "l1_bound")):
        with pytest.raises(ValueError) as refusal:
            quantize([[1.0]], 1.0, bound)
        message = f"{name} of {quantize.__name__} must be an integer between 1 and 2^48; got {bound!r}."
        assert str(refusal.value) == message


@pytest.mark.parametrize("norm_bound", [0, -1.0, math.inf, math.nan, True, "1", 10**400, Fraction(1, 10**400)])
def test_norm_bounds_that_are_not_positive_and_finite_are_refused(norm_bound):
    for quantize in (quantize_rows, quantize_rows_l1):
        with pytest.raises(ValueError, match=rf"norm_bound of {quantize.__name__} must be a positive finite number"):
            quantize([[1.0]], norm_bound, 4)


@pytest.mark.parametrize("X", [np.ones(3), np.ones((2, 2, 2)), np.ones((2, 0)), 1.0])
def test_rows_of_another_shape_are_refused(X):
    with pytest.raises(ValueError, match=r"X of quantize_rows must have two dimensions and a column; got shape"):
        quantize_rows(X, 1.0, 4)


@pytest.mark.parametrize("X", [[["a"]], [[None]], np.ones((2, 2), np.longdouble), np.ones((2, 2), np.clongdouble)])
def test_rows_of_another_dtype_are_refused(X):
    with pytest.raises(TypeError, match=r"X of quantize_rows must hold real or complex numbers, at most 64-bit; got"):
        quantize_rows(X, 1.0, 4)


def test_complex_rows_have_no_l1_rounding():
    with pytest.raises(TypeError, match=r"X of quantize_rows_l1 must hold real numbers, .*; got complex128"):
        quantize_rows_l1(np.ones((2, 2), complex), 1.0, 4)


# Nonnegative rows.


@given(any_rows | ordinary_rows)
@settings(deadline=None)
def test_blocks_of_nonnegative_rows_lose_negative_finite_entries_and_nothing_else(X):
    before = X.copy()
    for start, block in row_blocks(X, 3, nonnegative=True):
        part = before[start : start + len(block)]
        assert np.array_equal(block, np.where((part < 0) & np.isfinite(part), 0.0, part), equal_nan=True)
    assert np.array_equal(X, before, equal_nan=True)
