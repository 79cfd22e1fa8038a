"""Small regressions against numpy.linalg."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrank.linalg.ridge import (
    LANES,
    factorize,
    gram_of_rows,
    inverse_diagonal,
    invert_factorized,
    multiply_rows,
    ridge_solution,
    solve_factorized,
    solve_lower,
)

sizes, seeds = st.integers(0, 11), st.integers(0, 2**32)


def positive_definite(k, rng):
    """Symmetric, with eigenvalues between 0.1 and 10."""
    Q = np.linalg.qr(rng.standard_normal((k, k)))[0]
    A = (Q * rng.uniform(0.1, 10.0, k)) @ Q.T
    return (A + A.T) / 2


def scratch(k):
    """Memory full of what must be overwritten or not read."""
    return np.full((k, k), np.nan)


@given(sizes, st.integers(0, 9), seeds)
@settings(deadline=None)
def test_gram_matrix_of_items(k, n, seed):
    rng = np.random.default_rng(seed)
    W, items, A = rng.standard_normal((12, k)), rng.permutation(12)[:n].astype(np.int32), scratch(k)
    gram_of_rows(W, items, A)
    assert np.allclose(A, W[items].T @ W[items], rtol=0, atol=1e-12)
    assert np.array_equal(A, A.T)


@pytest.mark.parametrize("n", range(26))
def test_every_entry_of_a_gram_matrix_is_added_up_row_by_row(n):
    """Eight rows are taken at a time, and another order has other bits."""
    rng = np.random.default_rng(n)
    W, A = rng.standard_normal((30, 5)), scratch(5)
    rows, expected = rng.permutation(30)[:n].astype(np.int32), np.zeros((5, 5))
    gram_of_rows(W, rows, A)
    for j in rows:
        expected += W[j][:, None] * W[j]
    assert A.tobytes() == expected.tobytes()
    backwards = np.zeros((5, 5))
    for j in rows[::-1]:
        backwards += W[j][:, None] * W[j]
    assert n < 5 or backwards.tobytes() != expected.tobytes()


@given(sizes, st.floats(0, 3), seeds)
@settings(deadline=None)
def test_factor_solutions_and_inverse(k, ridge, seed):
    rng = np.random.default_rng(seed)
    A, L, x, inverse = positive_definite(k, rng), scratch(k), rng.standard_normal(k), scratch(k)
    shifted = A + ridge * np.eye(k)
    assert factorize(A, ridge, L)
    lower = np.tril(np.nan_to_num(L))
    assert np.isnan(L[np.triu_indices(k, 1)]).all()
    assert np.allclose(lower, np.linalg.cholesky(shifted), rtol=0, atol=1e-12)
    half, solution = x.copy(), x.copy()
    solve_lower(L, half)
    assert np.allclose(lower @ half, x, rtol=0, atol=1e-12)
    solve_factorized(L, solution)
    assert np.allclose(solution, np.linalg.solve(shifted, x), rtol=0, atol=1e-11)
    invert_factorized(L, 0, inverse)
    assert np.allclose(inverse, np.linalg.inv(shifted), rtol=0, atol=1e-11)
    diagonal = np.full(k, np.nan)
    inverse_diagonal(L, scratch(k), diagonal)
    assert np.allclose(diagonal, np.diag(np.linalg.inv(shifted)), rtol=0, atol=1e-11)


@pytest.mark.parametrize("k", range(1, 14))
def test_every_entry_of_a_factor_is_subtracted_column_by_column(k):
    """Four rows are taken at a time, and another order has other bits."""
    A, L, expected = positive_definite(k, np.random.default_rng(k)), scratch(k), np.zeros((k, k))
    assert factorize(A, 0.25, L)
    for a in range(k):
        for b in range(a + 1):
            value = A[a, b] + (0.25 if a == b else 0.0)
            for c in range(b):
                value -= expected[a, c] * expected[b, c]
            expected[a, b] = np.sqrt(value) if a == b else value / expected[b, b]
    assert np.tril(np.nan_to_num(L)).tobytes() == expected.tobytes()


@given(st.integers(1, 7), seeds)
@settings(deadline=None, max_examples=30)
def test_some_columns_of_an_inverse_have_the_bits_of_their_own_solutions(k, seed):
    rng = np.random.default_rng(seed)
    L = scratch(k)
    assert factorize(positive_definite(k, rng), 0.3, L)
    solved = np.eye(k)
    for column in solved:
        solve_factorized(L, column)
    for first in range(k + 1):
        inverse = np.full((k, k - first), np.nan)
        invert_factorized(L, first, inverse)
        assert inverse.tobytes() == np.ascontiguousarray(solved[first:].T).tobytes()


@pytest.mark.parametrize("n", [0, 1, 5, LANES - 1, LANES])
@pytest.mark.parametrize(("k", "width"), [(1, 1), (4, 2), (9, 9), (3, 0)])
def test_products_of_rows_side_by_side(n, k, width):
    rng = np.random.default_rng(n)
    W, P, rows = rng.standard_normal((80, k)), rng.standard_normal((k, width)), rng.permutation(80)[:n].astype(np.int32)
    lanes, products, expected = np.full((k, LANES), np.nan), np.full((width, LANES), np.nan), np.zeros((width, n))
    multiply_rows(rows, W, P, lanes, products)
    for b in range(k):  # in the order of w
        expected += P[b][:, None] * W[rows, b]
    assert np.ascontiguousarray(products[:, :n]).tobytes() == expected.tobytes()
    assert np.isnan(products[:, n:]).all()
    assert np.allclose(products[:, :n], (W[rows] @ P).T, rtol=0, atol=1e-12)


@given(st.integers(1, 7), seeds)
@settings(deadline=None)
def test_matrices_are_refused_unless_positive_definite(k, seed):
    rng = np.random.default_rng(seed)
    A, lowest = positive_definite(k, rng), rng.uniform(0.1, 5.0)
    A -= np.eye(k) * (np.linalg.eigvalsh(A)[0] + lowest)  # the lowest eigenvalue is -lowest
    assert not factorize(A, 0.0, scratch(k))
    assert not factorize(A, 0.99 * lowest, scratch(k))
    assert factorize(A, 1.01 * lowest, scratch(k))


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, -np.inf])
def test_zero_negative_and_missing_pivots_are_refused(bad):
    for i in range(3):
        A = np.eye(3)
        A[i, i] = bad
        assert not factorize(A, 0.0, scratch(3))


@given(sizes, st.integers(0, 9), st.floats(0.01, 3), seeds)
@settings(deadline=None)
def test_ridge_solution(k, n, ridge, seed):
    rng = np.random.default_rng(seed)
    W, items, target = rng.standard_normal((12, k)), rng.permutation(12)[:n].astype(np.int32), rng.standard_normal(n)
    A, L, z = scratch(k), scratch(k), np.full(k, np.nan)
    assert ridge_solution(W, items, target, ridge, A, L, z)
    # A regression on more rows: least squares of (W; sqrt(ridge) I) on (target; 0).
    rows, right = np.vstack([W[items], np.sqrt(ridge) * np.eye(k)]), np.append(target, np.zeros(k))
    assert np.allclose(z, np.linalg.lstsq(rows, right, rcond=None)[0], rtol=0, atol=1e-9)
    assert np.allclose(A, W[items].T @ W[items], rtol=0, atol=1e-12)
    assert np.allclose(np.tril(np.nan_to_num(L)), np.linalg.cholesky(A + ridge * np.eye(k)), rtol=0, atol=1e-9)


def test_without_a_solution_the_coefficients_are_zero():
    W, items, z = np.ones((5, 2)), np.arange(4, dtype=np.int32), np.full(2, np.nan)
    assert not ridge_solution(W, items, np.ones(4), 0.0, scratch(2), scratch(2), z)
    assert z.tolist() == [0.0, 0.0]
