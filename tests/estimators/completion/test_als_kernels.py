"""Users of alternating least squares: bounds for any user, attained by a worst one; weights, regressions, bits."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrank.estimators.completion.als_kernels import (
    ADAPTIVE,
    TAIL,
    UNIFORM,
    Sweep,
    scale_products,
    solve_users,
    weigh_ratings,
)
from hushrank.estimators.completion.item_products import UserFactors, fits_quartic, to_integer
from hushrank.linalg.scatter import Bound
from support import four_squares
from user_support import exact_squares, random_users, ratings_of, regress

BOUNDINGS = (UNIFORM, TAIL, ADAPTIVE)
LIMIT, RIGHT_LIMIT = 2**36 - 5, 2**40 + 7


def make_sweep(n_items=30, rank=3, n_features=1, seed=0, **changes):
    rng = np.random.default_rng(seed)
    k, norm, bound = changes.get("max_ratings", 7), changes.get("user_norm", 0.4), changes.get("residual_bound", 0.5)
    width, is_tail = n_features + rank, changes.get("bounding") == TAIL
    priority = 1.0 * rng.permutation(n_items) if is_tail else np.exp(rng.standard_normal(n_items))
    public = Sweep(
        base=0.2 * rng.standard_normal(n_items),
        W=rng.standard_normal((n_items, width)),
        n_features=n_features,
        rank=rank,
        penalty=np.zeros((width, width)),
        ridge=0.1,
        bounding=ADAPTIVE,
        priority=priority,
        max_ratings=k,
        user_norm=norm,
        residual_bound=bound,
        gram_bound=k**0.25 * norm,
        gram_limit=LIMIT,
        right=Bound(math.sqrt(k) * bound * norm, float(RIGHT_LIMIT)),
    )
    return public._replace(**changes)


def contribute(users, sweep):
    """What users make of a block: ratings, factors, scales, rounding, sums for the right side, number shortened."""
    ratings = ratings_of(users)
    U, scales = np.full((len(users), sweep.rank), np.nan), np.full(len(ratings.items), np.nan)
    is_rounded, right = np.zeros(len(users), np.bool_), np.zeros((len(sweep.base), sweep.rank), np.int64)
    shortened = solve_users(ratings, sweep, UserFactors(U, scales, is_rounded), right)
    return ratings, U, scales, is_rounded, right, shortened


def integer_vectors(u, scales, is_rounded):
    return [[int(to_integer(scale * x, bool(is_rounded))) for x in u] for scale in scales]


def quartic(vectors):
    return sum(sum(y * y for y in vector) ** 2 for vector in vectors)


# Bounds


def adverse_users(n_items, rng):
    every = np.arange(n_items)
    sign = np.where(every % 2, 1.0, -1.0)
    some = np.sort(rng.permutation(n_items)[: n_items // 2])
    mixed = rng.uniform(-1, 1, n_items)
    mixed[n_items // 2] = np.nan
    return [
        (every[:0], every[:0]),
        (every, np.full(n_items, np.nan)),
        (every, sign * np.inf),
        (every, sign * 1e30),
        (every, np.ones(n_items)),
        (every, sign),
        (every[-1:], [1.0]),
        (every, mixed),
        (some, rng.uniform(-1, 1, len(some))),
    ]


@settings(deadline=None)
@given(
    st.integers(0, 2**32),
    st.sampled_from(BOUNDINGS),
    st.sampled_from([1e-300, 1e-20, 1e-3, 1.0, 1e3, 1e20, 1e160, 1e300]),
    st.sampled_from([1, 7, 10**6]),
)
def test_no_user_exceeds_a_bound_whatever_was_released(seed, bounding, scale, max_ratings):
    rng = np.random.default_rng(seed)
    sweep = make_sweep(seed=seed, bounding=bounding, max_ratings=max_ratings, ridge=float(10.0 ** rng.uniform(-9, 3)))
    sweep = sweep._replace(W=sweep.W * scale)
    for user in adverse_users(30, rng):
        _, U, scales, is_rounded, right, _ = contribute([user], sweep)
        assert np.isfinite(scales).all() and np.isfinite(U).all()
        assert quartic(integer_vectors(U[0], scales, is_rounded[0])) <= LIMIT**2
        assert exact_squares(right) <= RIGHT_LIMIT


def full_user(limit, max_ratings=1):
    """A sweep and a user whose factor points along integers of squared norm `limit`, longer than user_norm."""
    direction = np.array(four_squares(limit), float)
    W = np.ones((2, 1)) * 10.0 * direction / np.linalg.norm(direction)
    return make_sweep(2, 4, 0, W=W, base=np.zeros(2), max_ratings=max_ratings, user_norm=0.05)


@pytest.mark.parametrize("bounding", BOUNDINGS)
def test_a_worst_user_attains_the_bound_of_the_products(bounding):
    sweep = full_user(LIMIT)._replace(bounding=bounding, priority=np.array([1.0, 2.0]))
    _, U, scales, is_rounded, _, shortened = contribute([([1], [1.0])], sweep)
    assert shortened == 1
    assert quartic(integer_vectors(U[0], scales, is_rounded[0])) == pytest.approx(LIMIT**2, rel=1e-9)


@pytest.mark.parametrize("bounding", BOUNDINGS)
def test_a_worst_user_attains_the_bound_of_the_right_side(bounding):
    sweep = full_user(RIGHT_LIMIT)._replace(bounding=bounding, priority=np.array([1.0, 2.0]))
    *_, right, _ = contribute([([1], [1.0])], sweep)
    assert exact_squares(right) == pytest.approx(RIGHT_LIMIT, rel=1e-9)


@pytest.mark.parametrize("bounding", BOUNDINGS)
def test_users_with_many_ratings_use_the_whole_bound(bounding):
    """Up to rounding, which costs a lattice unit an entry."""
    sweep = make_sweep(200, user_norm=1e-3, bounding=bounding)
    user = (np.arange(200), np.ones(200))
    _, U, scales, is_rounded, _, _ = contribute([user], sweep)
    assert quartic(integer_vectors(U[0], scales, is_rounded[0])) == pytest.approx(LIMIT**2, rel=1e-3)


def test_rounding_beyond_the_bound_is_truncated_instead():
    """Many full users: some integer vectors exceed the bound by rounding, none is lost for it."""
    users = [(np.arange(30), np.sign(np.sin(np.arange(30) * (i + 1.0)))) for i in range(100)]
    _, U, scales, is_rounded, _, _ = contribute(users, make_sweep(user_norm=1e-3))
    assert 5 < is_rounded.sum() < 95
    scales = scales.reshape(100, 30)
    for i in range(100):
        vectors = integer_vectors(U[i], scales[i], is_rounded[i])
        assert 0.999 * LIMIT**2 < quartic(vectors) <= LIMIT**2


@pytest.mark.parametrize("length", [1.0, 1.0 + 1e-13, 1.1, 1e3])
def test_vectors_beyond_the_bound_are_shortened_to_it(length):
    """Whatever made them too long, such as rounding, they are not lost."""
    sweep, scales = make_sweep(), np.empty(7)
    u = np.array([0.6, 0.0, -0.8]) * sweep.user_norm * length
    is_rounded = scale_products(u, np.ones(7), sweep, scales)
    assert quartic(integer_vectors(u, scales, is_rounded)) == pytest.approx(LIMIT**2, rel=1e-4)
    assert fits_quartic(u, scales, is_rounded, LIMIT)


# Weights


def weights_of(items, sweep):
    weights = np.full(len(items), np.nan)
    weigh_ratings(np.asarray(items, np.int32), sweep, weights)
    return weights


@settings(deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(BOUNDINGS), st.integers(0, 30), st.integers(1, 40))
def test_squared_weights_add_up_to_the_bound_at_most(seed, bounding, n, most):
    sweep = make_sweep(seed=seed, bounding=bounding, max_ratings=most)
    items = np.sort(np.random.default_rng(seed).permutation(30)[:n])
    weights = weights_of(items, sweep)
    if bounding == ADAPTIVE:
        assert n == 0 or (weights**2).sum() == pytest.approx(most, rel=1e-12)
    else:
        assert set(weights) <= {0.0, 1.0} and weights.sum() == min(n, most)


def test_adaptive_weights_follow_the_priorities():
    sweep = make_sweep(max_ratings=11)
    items = np.array([2, 5, 17])
    own = sweep.priority[items]
    assert np.allclose(weights_of(items, sweep), own * math.sqrt(11 / (own**2).sum()), rtol=1e-14)


def test_tail_keeps_the_smallest_priorities():
    sweep = make_sweep(bounding=TAIL, max_ratings=4)
    items = np.arange(3, 25)
    kept = items[weights_of(items, sweep) > 0]
    assert sorted(sweep.priority[kept]) == sorted(sweep.priority[items])[:4]


def test_uniform_is_evenly_spaced_and_favors_nobody():
    """Gaps differ by at most one; over many users every item is kept about as often as any other."""
    sweep, rng = make_sweep(60, bounding=UNIFORM, max_ratings=7), np.random.default_rng(1)
    kept = rated = np.zeros(60)
    for _ in range(6000):
        items = np.sort(rng.permutation(60)[: rng.integers(20, 41)])
        weights = weights_of(items, sweep)
        gaps = np.diff(np.flatnonzero(weights))
        assert np.ptp(gaps) <= 1
        kept, rated = kept + np.bincount(items, weights, 60), rated + np.bincount(items, minlength=60)
    rates = kept / rated
    assert np.abs(rates - rates.mean()).max() < 7 * math.sqrt(rates.mean() / rated.min())


# Regressions


def by_numpy(user, sweep):
    """Factor, weights and right side of one user, without rounding."""
    items, values = np.asarray(user[0], int), np.asarray(user[1], np.float32).astype(float)
    z, _, _ = regress(user, sweep.base, sweep.W, sweep.ridge)
    u = z[sweep.n_features :] * min(1.0, sweep.user_norm / np.linalg.norm(z[sweep.n_features :]))
    rest = values - sweep.base[items] - sweep.W[items, : sweep.n_features] @ z[: sweep.n_features]
    w = sweep.priority[items] * math.sqrt(sweep.max_ratings / (sweep.priority[items] ** 2).sum())
    right = (w * np.clip(rest, -sweep.residual_bound, sweep.residual_bound))[:, None] * u
    return u, w, right


@pytest.mark.parametrize("n_features, rank", [(0, 1), (0, 4), (2, 3), (1, 6)])
def test_contributions_are_those_of_numpy(n_features, rank):
    rng, sweep = np.random.default_rng(2), make_sweep(30, rank, n_features)
    users = [user for user in random_users(rng, 25, 30) if len(user[0])]
    (indptr, items, _), U, scales, is_rounded, right, shortened = contribute(users, sweep)
    expected_right, lengths = np.zeros((30, rank)), 0
    unit, right_unit = sweep.gram_bound**2 / LIMIT, sweep.right.norm / math.sqrt(RIGHT_LIMIT)
    for i, user in enumerate(users):
        own = slice(indptr[i], indptr[i + 1])
        u, w, right_side = by_numpy(user, sweep)
        assert np.allclose(U[i], u, rtol=1e-9, atol=1e-12)
        lengths += np.linalg.norm(u) > sweep.user_norm * (1 - 1e-12)
        y = np.array(integer_vectors(U[i], scales[own], is_rounded[i]), float)
        assert np.abs(y - np.sqrt(w / unit)[:, None] * u).max() < 1 + 1e-6
        expected_right[items[own]] += right_side
    assert np.allclose(right * right_unit, expected_right, atol=2 * len(users) * right_unit)
    assert shortened == lengths
    assert rank == 1 or 0 < shortened < len(users)


def test_a_penalty_is_part_of_the_regression():
    rng = np.random.default_rng(3)
    P = np.cov(rng.standard_normal((4, 20)))
    sweep = make_sweep(user_norm=1e3, penalty=P)
    items, values = np.arange(4, 19), rng.uniform(-1, 1, 15).astype(np.float32)
    _, U, *_ = contribute([(items, values)], sweep)
    W = sweep.W[items]
    z = np.linalg.solve(W.T @ W + P + sweep.ridge * np.eye(4), W.T @ (values - sweep.base[items]))
    assert np.allclose(U[0], z[1:], rtol=1e-9)


# Identities


@pytest.mark.parametrize("bounding", BOUNDINGS)
def test_a_user_has_the_same_bits_in_every_block(bounding):
    rng = np.random.default_rng(4)
    users = [*random_users(rng, 20, 30), *adverse_users(30, rng)]
    sweep = make_sweep(bounding=bounding)
    (indptr, _, _), U, scales, is_rounded, right, shortened = contribute(users, sweep)
    total, count = np.zeros_like(right), 0
    for i, user in enumerate(users):
        _, u, own_scales, rounded, own_right, long = contribute([user], sweep)
        own = slice(indptr[i], indptr[i + 1])
        assert np.array_equal(u[0], U[i]) and np.array_equal(own_scales, scales[own]) and rounded[0] == is_rounded[i]
        total, count = total + own_right, count + long
    assert np.array_equal(total, right) and count == shortened


def test_users_without_ratings_or_finite_ones_add_nothing():
    users = [([], []), (np.arange(5), np.full(5, np.nan)), (np.arange(5), [1.0, np.inf, 0, 0, 0])]
    _, U, _, _, right, shortened = contribute(users, make_sweep())
    assert not U.any() and not right.any() and shortened == 0
