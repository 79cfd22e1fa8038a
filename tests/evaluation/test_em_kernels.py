"""Sums of EM equal the plain formulas, user by user."""

import numpy as np
import pytest

from hushrank.evaluation.em_kernels import Columns, add_users, solve_users

N_ITEMS, RANK = 7, 2


def make(n_fixed, seed=0):
    """Columns with uncertain items, and ratings of four users, one of whom has none."""
    rng = np.random.default_rng(seed)
    k = n_fixed + RANK
    W = rng.standard_normal((N_ITEMS, k))
    W[:, :n_fixed] = 0.4
    root = 0.3 * rng.standard_normal((N_ITEMS, k, k))
    root[:, :n_fixed] = 0.0
    products = W[:, :, None] * W[:, None, :] + root @ root.transpose(0, 2, 1)
    columns = Columns(W, rng.standard_normal((N_ITEMS, k)), products, 0.1, 0.4 if n_fixed else 0.0, n_fixed, 0.25)
    indptr = np.array([0, 3, 3, 5, 10], np.int64)
    items = np.array([0, 2, 6, 1, 5, 0, 1, 2, 3, 4], np.int32)
    return columns, (indptr, items, rng.uniform(-1, 1, len(items)).astype(np.float32))


def posterior(columns, own, y):
    """Mean and covariance of a user's coefficients."""
    precision = columns.products[own].sum(axis=0) + columns.noise * np.eye(columns.W.shape[1])
    right = (columns.W[own] * y[:, None] - columns.shift[own]).sum(axis=0)
    return np.linalg.solve(precision, right), columns.noise * np.linalg.inv(precision)


@pytest.mark.parametrize("n_fixed", [0, 1])
def test_solutions(n_fixed):
    columns, (indptr, items, values) = make(n_fixed)
    Z = np.full((4, n_fixed + RANK), np.nan)
    solve_users(indptr, items, values, columns, Z)
    for i in range(4):
        own = slice(indptr[i], indptr[i + 1])
        assert Z[i] == pytest.approx(posterior(columns, items[own], values[own])[0], abs=1e-12)


def test_no_solution_is_zero():
    columns, ratings = make(0)
    Z = np.full((4, RANK), np.nan)
    solve_users(*ratings, columns._replace(products=-columns.products), Z)
    assert (Z[[0, 2, 3]] == 0.0).all()


@pytest.mark.parametrize("n_fixed", [0, 1])
def test_moments(n_fixed):
    columns, (indptr, items, values) = make(n_fixed)
    k, width = n_fixed + RANK, 1 + RANK
    gram, right, second = np.zeros((N_ITEMS, width, width)), np.zeros((N_ITEMS, width)), np.zeros(k)
    targets = add_users(indptr, items, values, columns, gram, right, second)
    expected = [np.zeros_like(gram), np.zeros_like(right), np.zeros_like(second), 0.0]
    for i in (0, 2, 3):  # the other has no ratings
        own = slice(indptr[i], indptr[i + 1])
        z, P = posterior(columns, items[own], values[own])
        joint = np.outer(z, z) + P
        expected[2] += np.diag(joint)
        for j, y in zip(items[own], values[own].astype(float), strict=True):
            # Moments of (1, z), then of x = (1, u) and t = y - center - offset z_0, which are linear in them.
            moments = np.block([[np.ones((1, 1)), z[None]], [z[:, None], joint]])
            to_x = np.delete(np.eye(1 + k), 1, axis=0) if n_fixed else np.eye(1 + k)
            to_t = np.zeros(1 + k)
            to_t[0] = y - columns.center
            to_t[1 : 1 + n_fixed] = -columns.offset
            expected[0][j] += to_x @ moments @ to_x.T
            expected[1][j] += to_x @ moments @ to_t
            expected[3] += to_t @ moments @ to_t
    for found, wanted in zip((gram, right, second, targets), expected, strict=True):
        assert found == pytest.approx(wanted, abs=1e-12)
