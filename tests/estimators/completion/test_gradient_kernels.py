"""Kernels of the factored gradient method: local steps, contributions and their bounds."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrank.estimators.completion.gradient_kernels import (
    LocalSteps,
    add_factor_products,
    add_item_gradients,
    center_ratings,
    replay_factors,
    shorten_to,
    solve_factors,
)
from hushrank.estimators.completion.rating_kernels import RatingArrays, Regression
from hushrank.linalg.scatter import Bound
from support import four_squares

LIMIT = float(2**30 + 7)
ODD_VALUES = [math.nan, math.inf, -math.inf, 1e30, -1e30, 3e38, 1e-30, 0.0]


def make_users(rng, n_users=7, n_items=9):
    """Ratings of a few users, the first without any, as a block holds them."""
    own = [np.sort(rng.permutation(n_items)[: rng.integers(0, n_items + 1)]) for _ in range(n_users)]
    own[0] = own[0][:0]
    indptr = np.cumsum([0, *map(len, own)]).astype(np.int64)
    items = np.concatenate(own).astype(np.int32)
    return RatingArrays(indptr, items, rng.uniform(-1, 1, len(items)).astype(np.float32))


def one_user(values):
    items = np.arange(len(values), dtype=np.int32)
    return RatingArrays(np.array([0, len(values)]), items, np.asarray(values, np.float64))


def targets_of(ratings, scale=1.0):
    return ratings._replace(values=scale * ratings.values.astype(np.float64))


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
    ratings = make_users(rng)
    indptr, items, values = ratings
    base, F, ridge = rng.normal(size=9), rng.normal(size=(9, n_features)), 0.3
    targets = center_ratings(ratings, Regression(base, F, ridge))
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
    ratings = targets_of(make_users(rng))
    indptr, items, targets = ratings
    rank, bound, steps = 3, 0.8, (0.21, 0.4)
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
        replay_factors(ratings, LocalSteps(start_map, V[: t + 1], R[:t], *steps, bound), U)
        assert np.allclose(U, stored, atol=1e-12)
        if t < n_steps:
            E = M * (stored @ V[t].T - Y)
            stored = stored - steps[0] * E @ V[t] - steps[1] * stored @ R[t]
            stored = np.array([shortened(row, bound) for row in stored])


def test_ridge_factors_solve_features_and_factors_together():
    rng = np.random.default_rng(2)
    ratings = make_users(rng)
    indptr, items, values = ratings
    base, F, V, spread = (rng.normal(size=shape) for shape in (9, (9, 2), (9, 3), (3, 3)))
    spread = spread @ spread.T
    W, ridge, bound = np.hstack([F, V @ spread]), 0.2, 1.5
    U = np.empty((7, 3))
    targets = solve_factors(ratings, Regression(base, W, ridge), spread, bound, U)
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
    ratings = targets_of(make_users(rng), 2.0)
    indptr, items, targets = ratings
    V, U = rng.normal(size=(9, 2)), rng.normal(size=(7, 2))
    residual_norm, norm = 1.0, 3.0 * np.abs(U).max()
    total, expected, n_long = np.zeros((9, 2), np.int64), np.zeros((9, 2)), 0
    n_shortened = add_item_gradients(ratings, V, U, residual_norm, Bound(norm, LIMIT), total)
    for i in range(7):
        span = slice(*indptr[i : i + 2])
        e = targets[span] - V[items[span]] @ U[i]
        n_long += np.linalg.norm(e) > residual_norm
        expected[items[span]] += np.outer(shortened(e, residual_norm), U[i])
    assert np.allclose(total * norm / math.sqrt(LIMIT), expected, atol=7 * norm / math.sqrt(LIMIT))
    assert n_shortened == n_long > 0


def test_products_of_factors_are_sums_of_outer_products():
    U = np.random.default_rng(4).normal(size=(7, 3))
    total = np.zeros((3, 3), np.int64)
    add_factor_products(U, Bound(1.0, LIMIT), total)
    short = np.array([shortened(u, 1.0) for u in U])
    assert np.allclose(total / LIMIT, np.triu(short.T @ short), atol=1e-3)
    assert np.array_equal(total, np.triu(total)) and total.any()


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.lists(st.sampled_from(ODD_VALUES), max_size=4))
def test_no_user_adds_more_than_the_integer_bound(seed, odd):
    """Whatever the ratings, factors and lattice: checked in integers."""
    rng = np.random.default_rng(seed)
    values = np.concatenate([rng.normal(size=rng.integers(0, 400)) * 10.0 ** rng.integers(-3, 6), odd])
    targets = one_user(rng.permutation(values))
    limit, rank, n_items = float(rng.integers(1, 2**48)), int(rng.integers(1, 5)), max(len(values), 1)
    V, U = rng.normal(size=(n_items, rank)), rng.normal(size=(1, rank)) * 10.0 ** rng.integers(-4, 5)
    gradient = np.zeros((n_items, rank), np.int64)
    add_item_gradients(targets, V, U, 0.7, Bound(0.3, limit), gradient)
    assert int((gradient.astype(object) ** 2).sum()) <= limit
    gram_limit = float(rng.integers(1, 2**30))
    outer = np.zeros((rank, rank), np.int64)
    add_factor_products(U, Bound(0.3, gram_limit), outer)
    assert int(np.trace(outer)) <= gram_limit  # the squared norm of the one row, hence its Frobenius norm


@pytest.mark.parametrize("odd", ODD_VALUES[:3])
def test_ratings_that_are_not_finite_add_nothing_and_spoil_nobody(odd):
    indptr, items = np.array([0, 3, 5]), np.array([0, 1, 2, 1, 3], np.int32)
    targets = np.array([0.5, odd, 0.1, 0.3, -0.2])
    rng = np.random.default_rng(5)
    start_map, V = rng.normal(size=(4, 2)), rng.normal(size=(2, 4, 2))

    def totals(indptr, items, values):
        targets, U = RatingArrays(indptr, items, values), np.empty((len(indptr) - 1, 2))
        replay_factors(targets, LocalSteps(start_map, V, np.eye(2)[None], 0.1, 0.1, 0.5), U)
        gradient, outer = np.zeros((4, 2), np.int64), np.zeros((2, 2), np.int64)
        add_item_gradients(targets, V[-1], U, 0.7, Bound(0.35, LIMIT), gradient)
        add_factor_products(U, Bound(0.5, LIMIT), outer)
        return gradient, outer

    with_odd = totals(indptr, items, targets)
    without = totals(np.array([0, 2]), items[3:], targets[3:])
    assert all(np.array_equal(*pair) and pair[1].any() for pair in zip(with_odd, without, strict=True))


def test_worst_users_attain_the_bounds():
    """Opposite gradients, and orthogonal rows: replacing one by the other moves the sums as far as any user can."""
    limit, user_norm, residual_norm = 2**40 + 2**21 + 3, 0.45, 0.7
    direction = np.array(four_squares(limit), np.float64) / math.sqrt(limit)
    targets, gradients = one_user(residual_norm * direction), []
    for sign in (1.0, -1.0):
        total, U = np.zeros((4, 1), np.int64), np.full((1, 1), user_norm)
        V = np.zeros((4, 1))
        bound = Bound(residual_norm * user_norm, float(limit))
        add_item_gradients(targets_of(targets, sign), V, U, residual_norm, bound, total)
        gradients.append(total)
    assert int(((gradients[0] - gradients[1]).astype(object) ** 2).sum()) == 4 * limit

    limit = 2**30 + 2**11 + 3
    a, b, c, d = np.array(four_squares(limit)) * (user_norm / math.sqrt(limit))
    factors = []
    for row in ([a, b, c, d], [-b, a, -d, c]):
        factors.append(np.zeros((4, 4), np.int64))
        add_factor_products(np.array([row]), Bound(user_norm, float(limit)), factors[-1])
    change = (factors[0] - factors[1]).astype(object)
    assert 2 * int((change**2).sum()) - int((change.diagonal() ** 2).sum()) == 2 * limit**2
