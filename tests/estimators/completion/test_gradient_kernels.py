"""Kernels of the factored gradient method: local steps, contributions and their bounds, changes of units."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrank.estimators.completion.gradient_kernels import (
    add_factor_products,
    add_item_gradients,
    add_row_products,
    center_ratings,
    leading_eigenpairs,
    replay_factors,
    scatter_normals,
    shorten_rows,
    shorten_to,
    solve_factors,
    symmetric_power,
    to_balanced_units,
    to_prior_units,
)
from support import four_squares

LIMIT = float(2**30 + 7)
ODD_VALUES = [math.nan, math.inf, -math.inf, 1e30, -1e30, 3e38, 1e-30, 0.0]


def make_users(rng, n_users=7, n_items=9):
    """Ratings of a few users, the first without any, as a block holds them."""
    own = [np.sort(rng.permutation(n_items)[: rng.integers(0, n_items + 1)]) for _ in range(n_users)]
    own[0] = own[0][:0]
    indptr = np.cumsum([0, *map(len, own)]).astype(np.int64)
    items = np.concatenate(own).astype(np.int32)
    return indptr, items, rng.uniform(-1, 1, len(items)).astype(np.float32)


def one_user(values):
    return np.array([0, len(values)]), np.arange(len(values), dtype=np.int32), np.asarray(values, np.float64)


def shortened(x, bound):
    return x * min(1.0, bound / max(np.linalg.norm(x), 1e-300))


# Factors of users


def test_vectors_are_shortened_to_the_bound_and_no_further():
    for x, expected in (([3.0, 4.0], [0.6, 0.8]), ([0.3, 0.4], [0.3, 0.4]), ([0.0, 0.0], [0.0, 0.0])):
        array = np.array(x)
        shorten_to(array, 1.0)
        assert np.allclose(array, expected, rtol=1e-15)


@pytest.mark.parametrize("n_features", [0, 2])
def test_targets_are_what_base_and_features_leave(n_features):
    rng = np.random.default_rng(1)
    indptr, items, values = make_users(rng)
    base, F, ridge = rng.normal(size=9), rng.normal(size=(9, n_features)), 0.3
    targets = np.empty(len(items))
    center_ratings(indptr, items, values, base, F, ridge, targets)
    for i in range(len(indptr) - 1):
        span = slice(*indptr[i : i + 2])
        y, X = values[span] - base[items[span]], F[items[span]]
        z = np.linalg.solve(X.T @ X + ridge * np.eye(n_features), X.T @ y)
        assert np.allclose(targets[span], y - X @ z, atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 6))
def test_replayed_factors_are_those_of_users_who_keep_them(seed, n_steps):
    """One pass from the whole history equals factors that are stored and moved a step at a time."""
    rng = np.random.default_rng(seed)
    indptr, items, targets = make_users(rng)
    rank, bound, steps = 3, 0.8, np.array([0.21, 0.4])
    start_map, V = rng.normal(size=(9, rank)), rng.normal(size=(n_steps + 1, 9, rank))
    R = rng.normal(size=(n_steps, rank, rank))
    R += R.transpose(0, 2, 1)
    Y, M = np.zeros((7, 9)), np.zeros((7, 9))
    for i in range(7):
        Y[i, items[slice(*indptr[i : i + 2])]] = targets[slice(*indptr[i : i + 2])]
        M[i, items[slice(*indptr[i : i + 2])]] = 1.0
    stored = np.array([shortened(row, bound) for row in Y @ start_map])
    for t in range(n_steps + 1):
        U = np.empty((7, rank))
        replay_factors(indptr, items, targets.astype(np.float64), start_map, V[: t + 1], R[:t], bound, steps, U)
        assert np.allclose(U, stored, atol=1e-12)
        if t < n_steps:
            E = M * (stored @ V[t].T - Y)
            stored = stored - steps[0] * E @ V[t] - steps[1] * stored @ R[t]
            stored = np.array([shortened(row, bound) for row in stored])


def test_ridge_factors_solve_features_and_factors_together():
    rng = np.random.default_rng(2)
    indptr, items, values = make_users(rng)
    base, F, V, spread = (rng.normal(size=shape) for shape in (9, (9, 2), (9, 3), (3, 3)))
    spread = spread @ spread.T
    W, ridge, bound = np.hstack([F, V @ spread]), 0.2, 1.5
    targets, U = np.empty(len(items)), np.empty((7, 3))
    solve_factors(indptr, items, values, base, W, ridge, spread, bound, targets, U)
    for i in range(7):
        span = slice(*indptr[i : i + 2])
        y, X = values[span] - base[items[span]], W[items[span]]
        z = np.linalg.solve(X.T @ X + ridge * np.eye(5), X.T @ y)
        assert np.allclose(targets[span], y - F[items[span]] @ z[:2], atol=1e-12)
        assert np.allclose(U[i], shortened(spread @ z[2:], bound), atol=1e-12)
    assert not U[0].any()  # no ratings, no factor


# Contributions


def test_gradients_are_sums_of_shortened_residuals_times_factors():
    rng = np.random.default_rng(3)
    indptr, items, values = make_users(rng)
    targets, V, U = 2.0 * values.astype(np.float64), rng.normal(size=(9, 2)), rng.normal(size=(7, 2))
    residual_norm, norm = 1.0, 3.0 * np.abs(U).max()
    total, expected, n_long = np.zeros((9, 2), np.int64), np.zeros((9, 2)), 0
    n_shortened = add_item_gradients(indptr, items, targets, V, U, residual_norm, norm, LIMIT, -math.inf, total)
    for i in range(7):
        span = slice(*indptr[i : i + 2])
        e = targets[span] - V[items[span]] @ U[i]
        n_long += np.linalg.norm(e) > residual_norm
        expected[items[span]] += np.outer(shortened(e, residual_norm), U[i])
    assert np.allclose(total * norm / math.sqrt(LIMIT), expected, atol=7 * norm / math.sqrt(LIMIT))
    assert n_shortened == n_long > 0


def test_products_of_factors_and_of_rows_are_sums_of_outer_products():
    rng = np.random.default_rng(4)
    indptr, items, values = make_users(rng)
    U = rng.normal(size=(7, 3))
    factors, rows = np.zeros((3, 3), np.int64), np.zeros((9, 9), np.int64)
    add_factor_products(U, 1.0, LIMIT, factors)
    add_row_products(indptr, items, values.astype(np.float64), 1.0, LIMIT, rows)
    short_U = np.array([shortened(u, 1.0) for u in U])
    Y = np.zeros((7, 9))
    for i in range(7):
        span = slice(*indptr[i : i + 2])
        Y[i, items[span]] = shortened(values[span].astype(np.float64), 1.0)
    for total, short in ((factors, short_U), (rows, Y)):
        assert np.allclose(total / LIMIT, np.triu(short.T @ short), atol=1e-3)
        assert np.array_equal(total, np.triu(total)) and total.any()


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.lists(st.sampled_from(ODD_VALUES), max_size=4))
def test_no_user_adds_more_than_the_integer_bound(seed, odd):
    """Whatever the ratings, factors and lattice: checked in integers."""
    rng = np.random.default_rng(seed)
    values = np.concatenate([rng.normal(size=rng.integers(0, 400)) * 10.0 ** rng.integers(-3, 6), odd])
    indptr, items, targets = one_user(rng.permutation(values))
    limit, rank, n_items = float(rng.integers(1, 2**48)), int(rng.integers(1, 5)), max(len(items), 1)
    V, U = rng.normal(size=(n_items, rank)), rng.normal(size=(1, rank)) * 10.0 ** rng.integers(-4, 5)
    gradient = np.zeros((n_items, rank), np.int64)
    add_item_gradients(indptr, items, targets, V, U, 0.7, 0.3, limit, -math.inf, gradient)
    assert int((gradient.astype(object) ** 2).sum()) <= limit
    gram_limit = float(rng.integers(1, 2**30))
    products, outer = np.zeros((n_items, n_items), np.int64), np.zeros((rank, rank), np.int64)
    add_row_products(indptr, items, targets, 0.7, gram_limit, products)
    add_factor_products(U, 0.3, gram_limit, outer)
    for total in (products, outer):
        assert int(np.trace(total)) <= gram_limit  # the squared norm of the one row, hence its Frobenius norm


@pytest.mark.parametrize("odd", ODD_VALUES[:3])
def test_ratings_that_are_not_finite_add_nothing_and_spoil_nobody(odd):
    indptr, items = np.array([0, 3, 5]), np.array([0, 1, 2, 1, 3], np.int32)
    targets = np.array([0.5, odd, 0.1, 0.3, -0.2])
    rng = np.random.default_rng(5)
    start_map, V = rng.normal(size=(4, 2)), rng.normal(size=(2, 4, 2))

    def totals(indptr, items, targets):
        U = np.empty((len(indptr) - 1, 2))
        replay_factors(indptr, items, targets, start_map, V, np.eye(2)[None], 0.5, np.array([0.1, 0.1]), U)
        gradient, outer, rows = (np.zeros(shape, np.int64) for shape in ((4, 2), (2, 2), (4, 4)))
        add_item_gradients(indptr, items, targets, V[-1], U, 0.7, 0.35, LIMIT, -math.inf, gradient)
        add_factor_products(U, 0.5, LIMIT, outer)
        add_row_products(indptr, items, targets, 0.7, LIMIT, rows)
        return gradient, outer, rows

    with_odd = totals(indptr, items, targets)
    without = totals(np.array([0, 2]), items[3:], targets[3:])
    assert all(np.array_equal(*pair) and pair[1].any() for pair in zip(with_odd, without, strict=True))


def test_worst_users_attain_the_bounds():
    """Opposite gradients, and orthogonal rows: replacing one by the other moves the sums as far as any user can."""
    limit, user_norm, residual_norm = 2**40 + 2**21 + 3, 0.45, 0.7
    direction = np.array(four_squares(limit), np.float64) / math.sqrt(limit)
    indptr, items, targets = one_user(residual_norm * direction)
    gradients = []
    for sign in (1.0, -1.0):
        total, U = np.zeros((4, 1), np.int64), np.full((1, 1), user_norm)
        V = np.zeros((4, 1))
        bounds = (residual_norm, residual_norm * user_norm, float(limit), -math.inf)
        add_item_gradients(indptr, items, sign * targets, V, U, *bounds, total)
        gradients.append(total)
    assert int(((gradients[0] - gradients[1]).astype(object) ** 2).sum()) == 4 * limit

    limit = 2**30 + 2**11 + 3
    a, b, c, d = np.array(four_squares(limit)) * (user_norm / math.sqrt(limit))
    factors, rows = [], []
    for row in ([a, b, c, d], [-b, a, -d, c]):
        factors.append(np.zeros((4, 4), np.int64))
        add_factor_products(np.array([row]), user_norm, float(limit), factors[-1])
        rows.append(np.zeros((4, 4), np.int64))
        add_row_products(*one_user(row), user_norm, float(limit), rows[-1])
    for first, second in (factors, rows):
        change = (first - second).astype(object)
        assert 2 * int((change**2).sum()) - int((change.diagonal() ** 2).sum()) == 2 * limit**2


# Item factors


def test_scattered_normals_look_normal_and_uncorrelated():
    for shape in ((1000, 5), (4000, 16)):
        Z = scatter_normals(*shape)
        assert np.array_equal(Z, scatter_normals(*shape)) and Z.shape == shape
        assert abs(Z.mean()) < 0.02 and abs(Z.std() - 1) < 0.02
        assert np.abs(np.corrcoef(Z.T) - np.eye(shape[1])).max() < 0.12
        assert abs(np.mean(np.abs(Z) > 1.0) - 0.3173) < 0.02


@pytest.mark.parametrize("n_items", [3, 40, 400])
def test_leading_eigenpairs_of_small_and_large_matrices(n_items):
    rng = np.random.default_rng(8)
    A = rng.normal(size=(n_items, n_items))
    A = A + A.T + 3 * n_items * np.diag(np.arange(n_items) < 2)
    w, Q = leading_eigenpairs(A, 3)
    expected, columns = np.linalg.eigh(A)
    assert np.allclose(w, expected[::-1][:3], rtol=1e-3)
    assert np.allclose(np.abs(Q @ columns[:, ::-1][:, :2]), np.eye(3, 2), atol=1e-3)
    assert all(row[np.abs(row).argmax()] > 0 for row in Q)
    assert np.array_equal(Q, leading_eigenpairs(A.copy(), 3)[1])


def test_rows_are_shortened_and_short_ones_kept():
    V = np.array([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0]])
    assert np.allclose(shorten_rows(V, 1.0), [[0.6, 0.8], [0.3, 0.4], [0.0, 0.0]], rtol=1e-15)


def test_powers_of_a_matrix_and_changes_of_units():
    rng = np.random.default_rng(6)
    B = rng.normal(size=(3, 3))
    A = B @ B.T
    root = symmetric_power(A, 0.5)
    assert np.allclose(root @ root, A) and np.allclose(symmetric_power(A, -1.0) @ A, np.eye(3))
    assert np.isfinite(symmetric_power(np.zeros((2, 2)), -0.25)).all()
    V = rng.normal(size=(20, 3))
    W = to_prior_units(V)
    assert np.allclose(to_balanced_units(W), V)
    # If balanced factors u have second moment S = V^T V / n, then S^(-1/2) u, which W belongs to, has I.
    S = V.T @ V / 20
    assert np.allclose(W @ symmetric_power(S, -0.5), V)
    assert not to_prior_units(np.zeros((4, 2))).any() and not to_balanced_units(np.zeros((4, 2))).any()
