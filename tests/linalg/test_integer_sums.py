"""Exact sums: equal to Python integers, the same bits however the work is split, and bounded in every row."""

import math
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from threadpoolctl import threadpool_limits

from hushrank.linalg import integer_sums
from hushrank.linalg.integer_sums import (
    check_integer_products,
    integer_gram,
    integer_gram_complex,
    integer_sum,
    integer_sum_l1,
)
from hushrank.linalg.quantize import new_tally, quantize_rows, quantize_rows_l1

shapes = array_shapes(min_dims=2, max_dims=2, max_side=6)
any_rows = arrays(np.float64, shapes, elements=st.floats() | st.floats(-2, 2))
squared_bounds = st.sampled_from([1, 7, 25, 4**18 - 1, 4**18, 2**48 - 1, 2**48])


class Plan(NamedTuple):
    """What a sum takes from the lattice of its release."""

    norm_bound: float
    squared_bound: int
    nonnegative: bool = False


def python_gram(Y):
    """Sum of y y^T in Python integers."""
    Y = Y.astype(np.int64).astype(object)
    return (Y.T @ Y).tolist()


def squared_frobenius(D):
    return sum(int(v) ** 2 for v in D.ravel())


def sample(n=5000, d=11, seed=0):
    """Rows of many lengths, some clipped, some zero, some not finite."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * np.exp(2 * rng.standard_normal((n, 1)))
    X[::17] = 0.0
    X[5::101] *= 1e200
    X[7::103, 0] = np.nan
    return X


FULL_ROWS = {25: (4, 2, 2, 1), 4**18 - 1: (262143, 723, 6, 39), 2**48 - 1: (16777215, 5791, 43, 130)}


def orthogonal_pair(squared_bound):
    """Two orthogonal integer rows whose squared norms are the bound."""
    a, b, c, e = FULL_ROWS[squared_bound]
    assert a * a + b * b + c * c + e * e == squared_bound
    return np.array([a, b, c, e]), np.array([-b, a, -e, c])


# Gram matrices are exact.


@given(any_rows, squared_bounds)
@settings(deadline=None)
def test_gram_equals_python_integers(X, squared_bound):
    Y = quantize_rows(X, 1.5, squared_bound)
    total = integer_gram(X, 1.5, squared_bound)
    assert total.dtype == np.int64 and total.tolist() == python_gram(Y)


@pytest.mark.parametrize("squared_bound", FULL_ROWS)
def test_gram_is_exact_where_one_float_product_would_round(squared_bound):
    pair = np.array(orthogonal_pair(squared_bound), dtype=np.float64)
    Y = np.repeat(pair, [613, 402], axis=0)
    X = Y * (3.0 / math.sqrt(squared_bound))
    expected = python_gram(Y)
    assert integer_gram(X, 3.0, squared_bound).tolist() == expected
    if squared_bound == 2**48 - 1:
        assert (Y.T @ Y).tolist() != expected  # what a single block would give


@pytest.mark.parametrize("squared_bound", [1, 25, 4**18, 2**44 + 1, 2**48])
def test_no_float_product_holds_too_many_rows(squared_bound, monkeypatch):
    lengths = []
    multiply = integer_sums.multiply_integers
    monkeypatch.setattr(integer_sums, "multiply_integers", lambda Y, out: (lengths.append(len(Y)), multiply(Y, out)))
    check_integer_products()
    lengths.clear()
    integer_gram(np.ones((3000, 2)), 1.0, squared_bound, rows_per_block=2500)
    assert sum(lengths) == 3000
    assert max(lengths) * squared_bound <= 2**53 and max(lengths) <= 2500


def test_sums_beyond_int64_wrap():
    X = np.ones((2**15, 1))  # n 2^48 passes 2^63 with the last row
    assert integer_gram(X[1:], 1.0, 2**48).item() == 2**63 - 2**48
    assert integer_gram(X, 1.0, 2**48).item() == -(2**63)


def test_no_rows_give_zeros():
    assert integer_gram(np.empty((0, 3)), 1.0, 25).tolist() == [[0] * 3] * 3
    for dtype in (complex, float):
        assert [m.tolist() for m in integer_gram_complex(np.empty((0, 1), dtype), 1.0, 25)] == [[[0]], [[0]]]
    assert integer_sum(np.empty((0, 2)), Plan(1.0, 4)).tolist() == [0, 0]


# The same bits however the work is split.


@pytest.mark.parametrize("rows_per_block", [1, 2, 3, 7, 64, 1000, 10**6])
@pytest.mark.parametrize("squared_bound", [4**18, 2**48])
def test_block_size_does_not_matter(rows_per_block, squared_bound):
    X = sample(2000)
    expected = integer_gram(X, 3.0, squared_bound)
    assert np.array_equal(integer_gram(X, 3.0, squared_bound, rows_per_block=rows_per_block), expected)


@given(st.integers(0, 2**32))
@settings(deadline=None, max_examples=20)
def test_order_and_split_of_the_rows_do_not_matter(seed):
    rng = np.random.default_rng(seed)
    X = sample(700, seed=seed)
    expected = integer_gram(X, 3.0, 4**18)
    shuffled = rng.permutation(X)
    assert np.array_equal(integer_gram(shuffled, 3.0, 4**18), expected)
    parts = np.array_split(shuffled, np.sort(rng.integers(0, 700, 4)))
    assert np.array_equal(sum(integer_gram(part, 3.0, 4**18) for part in parts), expected)


def test_blas_threads_do_not_matter():
    X = sample(4000, d=150)
    with threadpool_limits(limits=1, user_api="blas"):
        expected = integer_gram(X, 3.0, 4**18)
    with threadpool_limits(limits=2, user_api="blas"):
        assert np.array_equal(integer_gram(X, 3.0, 4**18), expected)


def test_concurrent_calls_do_not_disturb_each_other():
    X = sample(20_000, d=40)
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda part: integer_gram(part, 3.0, 4**18, rows_per_block=100), (X[:7000], X[7000:]))
    assert np.array_equal(first + second, integer_gram(X, 3.0, 4**18))


def test_layout_does_not_matter_and_the_input_is_left_alone():
    X = sample()
    frozen = X.copy()
    frozen.setflags(write=False)
    expected = integer_gram(X, 3.0, 4**18)
    for layout in (np.asfortranarray(X), np.repeat(X, 2, axis=1)[:, ::2], X[::-1], frozen):
        assert np.array_equal(integer_gram(layout, 3.0, 4**18), expected)
    assert X.tobytes() == frozen.tobytes()


@pytest.mark.parametrize("gram, columns, part", [(integer_gram, 40, 10), (integer_gram_complex, 20, 5)])
def test_rows_are_converted_block_by_block(gram, columns, part):
    X = np.asfortranarray(np.ones((60_000, columns)))
    gram(X[:10], 1.0, 4**18)
    tracemalloc.start()
    gram(X, 1.0, 4**18)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < X.nbytes / part


# One row changes the Gram matrix by no more than the bound.


@given(any_rows, st.data(), squared_bounds)
@settings(deadline=None)
def test_replacing_or_adding_a_row_stays_within_the_bound(X, data, squared_bound):
    other = X.copy()
    other[0] = data.draw(arrays(np.float64, X.shape[1], elements=st.floats() | st.floats(-2, 2)))
    total = integer_gram(X, 1.0, squared_bound)
    assert squared_frobenius(total - integer_gram(other, 1.0, squared_bound)) <= 2 * squared_bound**2
    assert squared_frobenius(total - integer_gram(X[1:], 1.0, squared_bound)) <= squared_bound**2


@pytest.mark.parametrize("squared_bound", FULL_ROWS)
def test_an_orthogonal_pair_attains_the_bound(squared_bound):
    first, second = orthogonal_pair(squared_bound)
    rest = sample(50, d=4)
    step = 3.0 / math.sqrt(squared_bound)
    one, other = (integer_gram(np.vstack([y * step, rest]), 3.0, squared_bound) for y in (first, second))
    D = one - other
    assert squared_frobenius(D) == 2 * squared_bound**2
    D = D.astype(object)  # eigenvalues +-squared_bound, and no room for others in the Frobenius norm
    assert (D @ first == squared_bound * first.astype(object)).all()
    assert (D @ second == -squared_bound * second.astype(object)).all()
    assert np.linalg.norm(D.astype(float), "nuc") == pytest.approx(2 * squared_bound, rel=1e-12)


@given(shapes, st.integers(0, 2**32), squared_bounds)
@settings(deadline=None)
def test_complex_gram_equals_python_integers(shape, seed, squared_bound):
    rng = np.random.default_rng(seed)
    X, d = rng.standard_normal(shape) + 1j * rng.standard_normal(shape), shape[1]
    Y = [[int(v) for v in row] for row in quantize_rows(X, 1.5, squared_bound)]
    real, imaginary = integer_gram_complex(X, 1.5, squared_bound, rows_per_block=3)
    for j in range(d):
        for k in range(d):  # (a_j + i b_j)(a_k - i b_k)
            assert real[j, k] == sum(y[j] * y[k] + y[d + j] * y[d + k] for y in Y)
            assert imaginary[j, k] == sum(y[d + j] * y[k] - y[j] * y[d + k] for y in Y)
    assert np.array_equal(imaginary, -imaginary.T)


def test_real_rows_have_the_bits_of_complex_rows_without_imaginary_parts():
    X = sample(3000, seed=3)
    integers = np.arange(66).reshape(6, 11) % 7
    for rows in (X, np.asfortranarray(X), integers.astype(np.int16), integers.astype(np.float32), integers > 3):
        for rows_per_block in (11, 2048):
            tallies = [new_tally(), new_tally()]
            real, imaginary = integer_gram_complex(rows, 0.7, 4**18, rows_per_block, tally=tallies[0])
            expected, zero = integer_gram_complex(rows.astype(complex), 0.7, 4**18, tally=tallies[1])
            assert np.array_equal(real, expected) and not imaginary.any() and not zero.any()
            assert tallies[0].tolist() == tallies[1].tolist()


def test_real_rows_are_measured_as_complex_ones():
    # What passes for rounding error depends on the width of a row: 27 units of 2^-52 for 11 numbers, 38 for 22.
    edge = np.eye(1, 11) * (1 + 30 * 2.0**-52)
    shortened = []
    for rows, gram in (
        (edge, integer_gram),
        (edge, integer_gram_complex),
        (edge.astype(complex), integer_gram_complex),
    ):
        tally = new_tally()
        gram(rows, 1.0, 4**18, tally=tally)
        shortened.append(int(tally[2]))
    assert shortened == [1, 0, 0]


@given(st.integers(0, 2**32), squared_bounds)
@settings(deadline=None)
def test_a_complex_row_changes_the_gram_matrix_within_the_bound(seed, squared_bound):
    rng = np.random.default_rng(seed)
    X, other = (rng.standard_normal((2, 3, 2)) @ [1, 1j] * 10 ** rng.uniform(-2, 2, (2, 1)) for _ in range(2))
    other[1] = X[1]
    totals = [integer_gram_complex(rows, 1.0, squared_bound) for rows in (X, other, X[1:])]
    for k, factor in ((1, 2), (2, 1)):  # replaced, removed
        D = [a - b for a, b in zip(totals[0], totals[k], strict=True)]
        assert sum(map(squared_frobenius, D)) <= factor * squared_bound**2


@pytest.mark.parametrize("squared_bound", FULL_ROWS)
def test_an_orthogonal_complex_pair_attains_the_bound(squared_bound):
    a, b, c, e = FULL_ROWS[squared_bound]
    first, second = np.array([a + 1j * b, c + 1j * e]), np.array([-c + 1j * e, a - 1j * b])
    assert np.vdot(first, second) == 0
    step = 3.0 / math.sqrt(squared_bound)
    one, other = (integer_gram_complex(y[np.newaxis] * step, 3.0, squared_bound) for y in (first, second))
    assert sum(squared_frobenius(p - q) for p, q in zip(one, other, strict=True)) == 2 * squared_bound**2
    assert sum(map(squared_frobenius, one)) == squared_bound**2


def test_complex_gram_approximates_the_float_one():
    X = sample(500, d=6, seed=1)[:, :3] + 1j * sample(500, d=6, seed=2)[:, :3]
    X = X[np.isfinite(X).all(axis=1) & (np.abs(X).max(axis=1) < 1e100)]
    clipped = X * np.minimum(1, 3.0 / np.maximum(np.linalg.norm(X, axis=1), 1e-9))[:, np.newaxis]
    real, imaginary = integer_gram_complex(X, 3.0, 4**20)
    assert (real + 1j * imaginary) * (9 / 4**20) == pytest.approx(clipped.T @ clipped.conj(), abs=1e-2)


# Totals.


@given(any_rows, st.integers(1, 2**48), st.booleans())
@settings(deadline=None)
def test_sums_equal_python_integers(X, bound, nonnegative):
    clipped = np.where((X < 0) & np.isfinite(X), 0.0, X) if nonnegative else X
    for total, Y in (
        (integer_sum(X, Plan(1.0, bound, nonnegative)), quantize_rows(clipped, 1.0, bound)),
        (integer_sum_l1(X, 1.0, bound), quantize_rows_l1(X, 1.0, bound)),
    ):
        assert total.tolist() == [sum(int(v) for v in column) for column in Y.T]


@given(any_rows, st.integers(1, 2**48), st.floats(1e-3, 1e3))
@settings(deadline=None)
def test_the_plan_alone_makes_a_sum_nonnegative(X, bound, norm_bound):
    """Rows of such a plan are at right angles or less: two of them differ by at most twice the squared bound."""
    own = [integer_sum([row], Plan(norm_bound, bound, True)).astype(object) for row in X]
    for y in own:
        assert (y >= 0).all() and (y * y).sum() <= bound
        assert max(((y - x) ** 2).sum() for x in own) <= 2 * bound


def test_opposite_rows_of_a_nonnegative_plan():
    rows, plan = [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [-0.0, -1e-300]], Plan(1.0, 25, True)
    assert [integer_sum([row], plan).tolist() for row in rows] == [[5, 0], [0, 0], [0, 5], [0, 0]]


@pytest.mark.parametrize("plan", [1.0, (1.0, 25), None])
def test_a_sum_needs_the_plan_of_its_release(plan):
    with pytest.raises(TypeError, match=r"^lattice of integer_sum must be the plan of a Gaussian sum, with norm_bound"):
        integer_sum([[1.0]], plan)


def test_plans_with_unsuitable_numbers_are_refused():
    with pytest.raises(ValueError, match="squared_bound of integer_sum must be an integer between 1 and"):
        integer_sum([[1.0]], Plan(1.0, 2**48 + 1))
    with pytest.raises(ValueError, match="norm_bound of integer_sum must be a positive finite number"):
        integer_sum([[1.0]], Plan(-1.0, 25))


def test_sums_are_exact_beyond_float_and_in_any_order():
    X = np.tile([[1.0, 0.0], [0.5, -0.5]], (80_001, 1))
    bound = 2**46  # 80001 rows of L1 norm up to 2^46 pass 2^53
    expected = [80_001 * 3 * 2**45, -80_001 * 2**45]
    for rows in (X, X[::-1], np.asfortranarray(X), X.astype(np.float32)):
        assert integer_sum_l1(rows, 1.0, bound).tolist() == expected
    assert integer_sum(X, Plan(1.0, 4**20)).tolist() == [80_001 * 3 * 2**19, -80_001 * 2**19]


def test_bad_rows_add_nothing_and_never_raise():
    X = [[1.0, 2.0], [math.nan, 1.0], [math.inf, 0.0], [-math.inf, 0.0]]
    assert integer_sum(X, Plan(3.0, 9)).tolist() == integer_sum(X, Plan(3.0, 9, True)).tolist() == [1, 2]
    assert integer_sum_l1(X, 3.0, 3).tolist() == [1, 2]


# The guard and refusals.


def single_precision(Y, product):
    product[...] = Y.astype(np.float32).T @ Y.astype(np.float32)


def last_bit_lost(Y, product):
    product[...] = (Y.T @ Y) * (1 - 2.0**-52)


@pytest.mark.parametrize("inexact", [single_precision, last_bit_lost])
def test_an_inexact_product_is_refused(inexact, monkeypatch):
    check_integer_products.cache_clear()
    monkeypatch.setattr(integer_sums, "multiply_integers", inexact)
    for _ in range(2):  # a failure is not remembered as a success
        with pytest.raises(RuntimeError, match="does not multiply integer float64 matrices exactly"):
            integer_gram(np.ones((2, 2)), 1.0, 25)


@pytest.mark.parametrize("gram", [integer_gram, integer_gram_complex])
def test_unsuitable_parameters_are_refused(gram):
    X = np.ones((2, 2), complex if gram is integer_gram_complex else float)
    name = gram.__name__
    for bound in (0, 2**48 + 1, 4.0, True):
        with pytest.raises(ValueError) as refusal:
            gram(X, 1.0, bound)
        assert str(refusal.value) == f"squared_bound of {name} must be an integer between 1 and 2^48; got {bound}."
    with pytest.raises(ValueError, match=f"norm_bound of {name} must be a positive finite number; got -1.0"):
        gram(X, -1.0, 25)
    with pytest.raises(ValueError, match=f"rows_per_block of {name} must be an integer between 1 and"):
        gram(X, 1.0, 25, rows_per_block=0)
    with pytest.raises(ValueError, match=f"X of {name} must have two dimensions and a column"):
        gram(X[0], 1.0, 25)


def test_unsuitable_numbers_are_refused():
    with pytest.raises(TypeError, match=r"X of integer_gram must hold real numbers, at most 64-bit; got complex128"):
        integer_gram(np.ones((2, 2), complex), 1.0, 25)
    with pytest.raises(TypeError, match=r"X of integer_gram_complex must hold real or complex numbers, .* got <U1"):
        integer_gram_complex(np.array([["1"]]), 1.0, 25)


@pytest.mark.parametrize("total", [integer_gram, integer_sum, integer_sum_l1])
def test_tallies_count_rows_that_were_touched(total):
    X, tally = sample(), new_tally()
    public = (Plan(1.5, 100),) if total is integer_sum else (1.5, 100)
    result = total(X, *public, tally=tally)
    assert np.array_equal(result, total(X, *public))
    finite = np.isfinite(X).all(axis=1)
    with np.errstate(invalid="ignore"):
        norms = np.abs(X).sum(axis=1) if total is integer_sum_l1 else np.hypot.reduce(X, axis=1)
    assert tally.tolist() == [len(X), (~finite).sum(), (norms[finite] > 1.5).sum()]
    total(X[:10], *public, tally=tally)
    assert tally[0] == len(X) + 10  # counts are added


def test_tallies_count_complex_rows():
    X = np.array([[0.6, 0.8j], [0.6, 0.8000001j], [np.nan * 1j, 0.0], [0.0, complex(0.0, np.inf)], [0.0, 0.0]])
    tally = new_tally()
    integer_gram_complex(X, 1.0, 25, tally=tally)
    assert tally.tolist() == [5, 2, 1]
    integer_gram_complex(X[:2].real, 1.0, 25, tally=tally)
    assert tally.tolist() == [7, 2, 1]  # counts are added


def test_a_row_at_the_bound_is_not_called_shortened():
    tally = new_tally()
    integer_gram(np.array([[0.6, 0.8], [0.6, 0.8000001], [0.0, 0.0]]), 1.0, 25, tally=tally)
    assert tally.tolist() == [3, 0, 1]
