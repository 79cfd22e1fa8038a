"""Coefficients of many users against numpy.linalg."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrank.estimators.completion.fold_in import fold_in_users
from user_support import N_ITEMS, items_of, random_users, ratings_of, values_of


def fold_in(users, base, W, prior):
    Z = np.full((len(users), W.shape[1]), np.nan)
    fold_in_users(ratings_of(users), base, W, prior, Z)
    return Z


@given(st.integers(0, 4), st.integers(0, 2**32))
@settings(deadline=None)
def test_rows_solve_the_equations_of_their_users(k, seed):
    rng = np.random.default_rng(seed)
    base, W, half = rng.standard_normal(N_ITEMS), rng.standard_normal((N_ITEMS, k)), rng.standard_normal((k, k))
    prior = half @ half.T + 0.1 * np.eye(k)
    users = random_users(rng, 6, N_ITEMS)
    for user, z in zip(users, fold_in(users, base, W, prior), strict=True):
        W_o, r = W[items_of(user)], values_of(user) - base[items_of(user)]
        assert np.allclose(z, np.linalg.solve(W_o.T @ W_o + prior, W_o.T @ r), rtol=0, atol=1e-10)


def test_users_do_not_change_each_other():
    rng = np.random.default_rng(1)
    base, W, users = rng.standard_normal(N_ITEMS), rng.standard_normal((N_ITEMS, 3)), random_users(rng, 20, N_ITEMS)
    together = fold_in(users, base, W, np.eye(3))
    assert np.array_equal(together, np.vstack([fold_in([user], base, W, np.eye(3)) for user in users]))


@pytest.mark.parametrize("items", [[], [0, 2, 3, 8]])
def test_coefficients_are_zero_where_there_is_no_solution(items):
    users = [(items, np.ones(len(items))), (np.arange(9), np.ones(9))]
    W = np.ones((N_ITEMS, 2))
    W[5] = -1.0, 1.0  # the second user's equations have a solution, the first one's do not
    Z = fold_in(users, np.zeros(N_ITEMS), W, np.zeros((2, 2)))
    assert Z[0].tolist() == [0.0, 0.0] and np.abs(Z[1] - [0.0, 1.0]).max() < 1e-12
