"""Estimates of variances: the two halves of a sum have the same mean where the model holds, for any user a bound."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrank.estimators.completion.rating_kernels import Regression
from hushrank.estimators.completion.variance_kernels import add_moments, add_noise_levels, add_slopes
from hushrank.linalg.scatter import Bound
from user_support import N_ITEMS, any_model, any_user, exact_squares, random_users, ratings_of, regress

LIMIT = float(2**48)


def moments(users, model, norm=100.0):
    total = np.zeros((1, 2 * model.W.shape[1] + 2), np.int64)
    add_moments(ratings_of(users), model, Bound(norm, LIMIT, 0.0), total)
    return total[0] * norm / math.sqrt(LIMIT)


def noise_levels(users, model, n_expected=4.0, norm=100.0):
    total = np.zeros((1, 2), np.int64)
    add_noise_levels(ratings_of(users), model, n_expected, Bound(norm, LIMIT, 0.0), total)
    return total[0] * norm / math.sqrt(LIMIT)


def slopes(users, model, first=0, norm=100.0):
    total = np.zeros((1, 2 * (model.W.shape[1] - first)), np.int64)
    add_slopes(ratings_of(users), model, first, Bound(norm, LIMIT), total)
    return total[0] * norm / math.sqrt(LIMIT)


def planted(n_users, ridge, k=2, seed=1):
    """Users whose ratings the model describes: coefficients N(0, I), noise of variance `ridge`."""
    rng = np.random.default_rng(seed)
    model = Regression(0.2 * rng.standard_normal(N_ITEMS), rng.standard_normal((N_ITEMS, k)), ridge)
    users = []
    for _ in range(n_users):
        items = np.sort(rng.permutation(N_ITEMS)[: rng.integers(1, N_ITEMS + 1)])
        noise = math.sqrt(ridge) * rng.standard_normal(len(items))
        users.append((items, model.base[items] + model.W[items] @ rng.standard_normal(k) + noise))
    return users, model


@pytest.mark.parametrize("ridge", [0.05, 0.8])
def test_ratios_are_one_where_the_model_holds(ridge):
    """Within five standard errors of 4000 users; a variance twice as large is noticed."""
    users, model = planted(4000, ridge)
    sums = moments(users, model)
    assert sums[:3] / sums[3:] == pytest.approx(np.ones(3), abs=0.12)
    squares, freedom = noise_levels(users, model)
    assert squares / freedom == pytest.approx(1.0, abs=0.08)
    doubled = model._replace(ridge=ridge / 2)
    assert np.divide(*noise_levels(users, doubled)) > 1.5


@pytest.mark.parametrize("k", [1, 3, 35])  # 35 with slopes on features
def test_moments_are_those_of_numpy(k):
    users, model = planted(30, 0.3, k=k)
    expected, levels = np.zeros(2 * k + 2), np.zeros(2)
    for user in users:
        z, e, P = regress(user, *model)
        n, free = len(user[0]), len(user[0]) - k + np.trace(P)
        expected += [*z**2, e @ e / (0.3 * n), *(1 - np.diag(P)), free / n]
        levels += [e @ e / 0.3 / 4.0, free / 4.0]
    assert moments(users, model) == pytest.approx(expected, rel=1e-5, abs=1e-3)
    assert noise_levels(users, model) == pytest.approx(levels, rel=1e-5, abs=1e-3)


@pytest.mark.parametrize(("k", "first"), [(1, 0), (3, 2), (35, 2), (35, 0)])
def test_slopes_are_those_of_numpy(k, first):
    users, model = planted(30, 0.3, k=k)
    expected = np.zeros(2 * (k - first))
    for user in users:
        z, _, P = regress(user, *model)
        expected += [*z[first:], *(1 - np.diag(P)[first:])]
    assert slopes(users, model, first) == pytest.approx(expected, rel=1e-5, abs=1e-3)


def test_the_ratio_of_slopes_is_their_mean_over_people():
    """Coefficients of mean 1 beside those of mean 0, within five standard errors of 4000 users.

    A tight bound shortens those who differ most from others, and draws the ratio to zero a little.
    """
    users, model = planted(4000, 0.8)
    everybody = model.W @ [1.0, 0.0]
    users = [(items, y + everybody[items]) for items, y in users]
    for norm, mean in ((100.0, 1.0), (0.7, 0.8)):
        sums = slopes(users, model, norm=norm)
        assert sums[:2] / sums[2:] == pytest.approx([mean, 0.0], abs=0.1)


@given(any_user(), any_model(), st.floats(1e-3, 1e3), st.integers(1, 2**48))
@settings(deadline=None, max_examples=100)
def test_no_user_exceeds_the_bound_or_adds_a_negative_number(user, model, norm, limit):
    regression = Regression(model.base, model.W, model.ridge)
    first, second = np.zeros((1, 2 * model.W.shape[1] + 2), np.int64), np.zeros((1, 2), np.int64)
    bound = Bound(norm, float(limit), 0.0)
    add_moments(ratings_of([user]), regression, bound, first)
    add_noise_levels(ratings_of([user]), regression, 3.0, bound, second)
    for total in (first, second):
        assert exact_squares(total) <= limit and (total >= 0).all()
    third = np.zeros((1, 2 * model.W.shape[1]), np.int64)
    add_slopes(ratings_of([user]), regression, 0, Bound(norm, float(limit)), third)
    assert exact_squares(third) <= limit


def test_users_without_ratings_and_without_a_solution_add_nothing():
    model = Regression(np.zeros(N_ITEMS), np.ones((N_ITEMS, 2)), 0.0)
    for user in (([], []), (np.arange(4), np.ones(4))):
        assert not any(summed([user], model).any() for summed in (moments, noise_levels, slopes))


def test_a_block_is_the_sum_of_its_users():
    users = random_users(np.random.default_rng(3), 12, N_ITEMS)
    model = planted(1, 0.4)[1]
    for summed in (moments, noise_levels, slopes):
        assert np.allclose(summed(users, model), sum(summed([user], model) for user in users), rtol=0, atol=1e-9)
