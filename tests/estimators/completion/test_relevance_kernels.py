"""How much features explain of a user's residuals: squared cosines of NumPy, 1 by chance, and for any user a bound."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from hushrank.estimators.completion.rating_kernels import Regression
from hushrank.estimators.completion.relevance_kernels import add_relevances
from hushrank.linalg.scatter import Bound
from support import assert_plausible
from user_support import (
    EXTREMES,
    N_ITEMS,
    any_model,
    any_user,
    assert_rounded,
    exact_squares,
    items_of,
    random_users,
    ratings_of,
    regress,
    shorten,
)

LIMIT, NORM = 2**48, 50.0  # units of 3e-6
EVERY = np.arange(N_ITEMS)
FLAT = Regression(np.zeros(N_ITEMS), np.zeros((N_ITEMS, 0)), 1.0)  # residuals are the ratings


def sum_relevances(users, model, G, norm_bound=NORM, limit=LIMIT):
    total = np.zeros((1, G.shape[1]), np.int64)
    add_relevances(ratings_of(users), model, np.ascontiguousarray(G, float), Bound(norm_bound, float(limit)), total)
    return total


def relevances(user, model, G, norm_bound=NORM):
    """In units of the data."""
    return sum_relevances([user], model, G, norm_bound)[0] * (norm_bound / math.sqrt(LIMIT))


def plain_relevances(user, model, G):
    """(n - 1) cos^2 of what is left of the residuals and each feature, both less their means, at most 9, less 1."""
    e, n, found = regress(user, *model)[1], len(user[0]), np.zeros((1, G.shape[1]))
    if n < 2 or np.ptp(e) < 1e-9:
        return found
    e = e - e.mean()
    for b, g in enumerate(G[items_of(user)].T):
        if np.ptp(g) > 0:
            g = g - g.mean()
            found[0, b] = min((n - 1) * (e @ g) ** 2 / ((e @ e) * (g @ g)), 9.0) - 1.0
    return found


def make_public(seed, k=2, p=5, n_items=N_ITEMS):
    rng = np.random.default_rng(seed)
    model = Regression(0.2 * rng.standard_normal(n_items), 0.4 * rng.standard_normal((n_items, k)), 0.3)
    return model, rng.standard_normal((n_items, p))


# One user.


@pytest.mark.parametrize("k", [0, 1, 3])
@pytest.mark.parametrize("p", [1, 6, 40])
def test_relevances_are_the_squared_cosines_of_numpy(k, p):
    factors = []
    for seed in range(3):
        model, G = make_public(seed, k, p, n_items=30)
        for user in random_users(np.random.default_rng(seed), 12, 30):
            plain = plain_relevances(user, model, G)
            for norm_bound in (0.5, 1.5 * math.sqrt(p), 1e3):
                ideal, factor = shorten(plain, norm_bound)
                total = sum_relevances([user], model, G, norm_bound, 2**40)
                assert_rounded(total, ideal, norm_bound, 2**40, tol=1e-2)
                factors.append(factor)
    assert factors.count(1.0) > 12 and min(factors) < 0.5


def test_users_with_less_than_three_ratings_tell_nothing():
    model, G = make_public(1)
    assert not relevances(([], []), model, G).any() and not relevances(([4], [0.7]), model, G).any()
    assert relevances(([4, 7], [0.7, -0.2]), model, G) == pytest.approx(np.zeros(5), abs=1e-6)  # two points, one line
    assert np.abs(relevances(([4, 6, 7], [0.7, 0.1, -0.2]), model, G)).max() > 0.1


def test_a_feature_that_explains_everything_counts_nine_and_one_that_explains_nothing_zero():
    n = 21
    flat, g = Regression(np.zeros(n), np.zeros((n, 0)), 1.0), np.linspace(-1.0, 1.0, n)
    G = np.column_stack([g, -7.0 * g + 3.0, g**2])
    assert relevances((np.arange(n), g), flat, G) == pytest.approx([8.0, 8.0, -1.0], abs=1e-5)
    assert relevances((np.arange(7), g[:7]), flat, G[:, :2]) == pytest.approx([5.0, 5.0], abs=1e-5)  # n - 1 = 6


def test_scales_and_levels_of_ratings_and_features_do_not_matter():
    model, G = make_public(2)
    flat = Regression(model.base, np.zeros((N_ITEMS, 0)), 1.0)
    y = np.random.default_rng(3).uniform(-1, 1, N_ITEMS)
    expected = relevances((EVERY, model.base + y), flat, G)
    for level, scale in ((0.3, 1.0), (0.0, 1e-3), (-0.5, 0.25)):
        assert relevances((EVERY, model.base + level + scale * y), flat, G) == pytest.approx(expected, abs=1e-3)
        assert relevances((EVERY, model.base + y), flat, 50.0 * level + scale * G) == pytest.approx(expected, abs=1e-3)


def test_what_does_not_vary_tells_nothing():
    model, G = make_public(4)
    G[:, 1], G[:, 3] = 0.7, 0.0
    G[:5, 2] = -3.3  # the same for the items of the first user
    user = (np.arange(5), [0.5, -0.5, 1.0, 0.2, -1.0])
    found = relevances(user, model, G)
    assert (found[[1, 2, 3]] == 0.0).all() and (np.abs(found[[0, 4]]) > 1e-3).all()
    assert relevances((EVERY, np.linspace(-1, 1, N_ITEMS)), model, G)[2] != 0.0
    assert not relevances((EVERY, np.full(N_ITEMS, 0.3)), FLAT, G).any()  # somebody who rates everything alike


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_ratings_that_are_not_finite_add_nothing(bad):
    model, G = make_public(5)
    assert not sum_relevances([([1, 4, 6, 7], [0.5, bad, -0.5, 0.1])], model, G).any()


def test_a_regression_without_solution_adds_nothing():
    _, G = make_public(6)
    singular = Regression(np.zeros(N_ITEMS), np.ones((N_ITEMS, 2)), 0.0)
    assert not sum_relevances([(EVERY, np.linspace(-1, 1, N_ITEMS))], singular, G).any()


def test_by_chance_the_mean_is_zero_but_for_what_the_limit_takes():
    """Of users with residuals of any variance: cos^2 has the law Beta(1/2, n/2 - 1)."""
    rng, n_users, n = np.random.default_rng(), 20_000, 20
    flat, G = Regression(np.zeros(n), np.zeros((n, 0)), 1.0), rng.standard_normal((n, 1))
    users = [(np.arange(n), rng.exponential() * rng.standard_normal(n)) for _ in range(n_users)]
    mean = sum_relevances(users, flat, G)[0, 0] * NORM / math.sqrt(LIMIT) / n_users
    law = stats.beta(0.5, n / 2 - 1)
    first, second = (law.expect(lambda x, k=k: np.minimum((n - 1) * x, 9.0) ** k) for k in (1, 2))
    assert -0.02 < first - 1 < 0.0 and (n - 1) * law.mean() == pytest.approx(1.0)
    assert_plausible(2 * stats.norm.sf(abs(mean - (first - 1)) / math.sqrt((second - first**2) / n_users)))


# The bound.


@given(any_user(), any_model(), st.integers(1, 6), st.floats(1e-3, 1e3), st.integers(1, 2**48) | st.integers(1, 50))
@settings(deadline=None, max_examples=200)
def test_no_user_exceeds_the_bound(user, model, p, norm_bound, limit):
    rng = np.random.default_rng(p)
    G = np.where(rng.random((N_ITEMS, p)) < 0.3, rng.choice(EXTREMES, (N_ITEMS, p)), rng.standard_normal((N_ITEMS, p)))
    regression = Regression(model.base, model.W, model.ridge)
    assert exact_squares(sum_relevances([user], regression, G, norm_bound, limit)) <= limit


@pytest.mark.parametrize("limit", [7, 2**40, 2**48])
def test_a_user_with_very_many_ratings_obeys_the_bound_and_comes_close(limit):
    n_items, rng = 50_000, np.random.default_rng(7)
    model, G = make_public(8, p=3, n_items=n_items)
    y = rng.uniform(-1, 1, n_items)
    for values in (y, np.full(n_items, np.finfo(np.float32).max), model.base + G.sum(axis=1)):
        total = sum_relevances([(np.arange(n_items), values)], model, G, 0.01, limit)
        assert exact_squares(total) <= limit
    assert exact_squares(total) >= max(math.sqrt(limit) - math.sqrt(3) - 1e-3, 0) ** 2


@pytest.mark.parametrize("p", [1, 40])
def test_two_users_are_twice_the_bound_apart(p):
    """One whose ratings are the features, one whose ratings are at right angles to them."""
    n = 20
    flat, g = Regression(np.zeros(n), np.zeros((n, 0)), 1.0), np.where(np.arange(n) % 2, 1.0, -1.0)
    G, norm_bound = np.repeat(g[:, None], p, axis=1), 0.9 * math.sqrt(p)
    across = np.where(np.arange(n) // 2 % 2, 1.0, -1.0)
    one, other = (sum_relevances([(np.arange(n), y)], flat, G, norm_bound, 2**48) for y in (g, across))
    assert abs(across @ g) == 0.0
    change = exact_squares(one - other)
    assert 4 * 2**48 * (1 - 1e-5) <= change <= 4 * 2**48


@pytest.mark.parametrize("p", [50, 400])
def test_at_the_bound_of_the_recipe_both_ends_are_nearly_reached(p):
    """Nothing is explained by less than zero, so that one side ends at -1 each: 2.5 of 3 roots of p at least."""
    n, norm_bound = 20, 1.5 * math.sqrt(p)
    flat, g = Regression(np.zeros(n), np.zeros((n, 0)), 1.0), np.where(np.arange(n) % 2, 1.0, -1.0)
    across = np.where(np.arange(n) // 2 % 2, 1.0, -1.0)
    G = np.repeat(g[:, None], p, axis=1)
    G[:, : p // 50] = across[:, None]
    one, other = (sum_relevances([(np.arange(n), y)], flat, G, norm_bound, 2**48) for y in (g, across))
    change = math.sqrt(exact_squares(one - other)) * norm_bound / 2.0**24
    assert 2.5 * math.sqrt(p) < change <= 2 * norm_bound
    assert exact_squares(one) >= (2.0**24 - math.sqrt(p)) ** 2


# Users do not change each other's contributions.


@given(st.integers(0, 2**32), st.integers(0, 12))
@settings(deadline=None, max_examples=20)
def test_a_block_is_the_sum_of_its_users_in_any_order(seed, n_users):
    model, G = make_public(seed)
    rng = np.random.default_rng(seed)
    users = [*random_users(rng, n_users, N_ITEMS), (EVERY, np.full(N_ITEMS, np.nan))]
    apart = sum(sum_relevances([user], model, G, 2.0) for user in users)
    assert np.array_equal(sum_relevances(users, model, G, 2.0), apart)
    assert np.array_equal(sum_relevances(users[::-1], model, G, 2.0), apart)


def test_no_feature_changes_what_another_one_gets():
    model, G = make_public(9)
    user = (EVERY, np.linspace(-1, 1, N_ITEMS) ** 2)
    alone = [relevances(user, model, G[:, [b]])[0] for b in range(5)]
    assert relevances(user, model, G) == pytest.approx(alone, abs=1e-3)
