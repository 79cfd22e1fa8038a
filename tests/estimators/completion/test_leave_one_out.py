"""Leave-one-out errors in closed form against regressions without the rating, and bounded differences of them."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrank.estimators.completion.leave_one_out import Variants, add_error_differences, mean_error
from hushrank.estimators.completion.rating_kernels import Regression
from hushrank.linalg.scatter import Bound
from user_support import (
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
    values_of,
)

LIMIT = 2**40
WIDTHS = np.array([3, 1, 0, 2])
SCALES = np.array([[1.0, 1.0, 1.0], [0.5, 1.0, 1.0], [1.0, 1.0, 1.0], [2.0, 0.7, 1.0]])
RIDGES = np.array([1.0, 0.4, 1.0, 2.0])
VARIANTS = Variants(WIDTHS, SCALES, RIDGES)


def public_numbers(seed, scale=0.3, n_items=N_ITEMS):
    """Base and columns; with a small scale no rating has a leverage near 1."""
    rng = np.random.default_rng(seed)
    return 0.1 * rng.standard_normal(n_items), scale * rng.standard_normal((n_items, 3))


def closed_form(user, base, W, variant):
    items = np.asarray(user[0], np.int32)
    r = values_of(user) - base[items]
    return mean_error(items, r, W, W[items].T @ W[items], VARIANTS, variant)


def refitted(user, base, W, variant, largest=4.0):
    """The same by as many regressions as there are ratings, each without one of them."""
    columns = W[:, : WIDTHS[variant]] * SCALES[variant, : WIDTHS[variant]]
    items, values = items_of(user), values_of(user)
    errors = []
    for t in range(len(items)):
        z = regress((np.delete(items, t), np.delete(values, t)), base, columns, RIDGES[variant])[0]
        errors.append(values[t] - base[items[t]] - columns[items[t]] @ z)
    return np.minimum(np.square(errors), largest).sum() / max(len(items), 1)


def sum_differences(users, base, W, norm_bound, limit, ridges=RIDGES):
    total = np.zeros((1, len(WIDTHS) - 1), np.int64)
    variants, bound = Variants(WIDTHS, SCALES, ridges), Bound(norm_bound, float(limit))
    add_error_differences(ratings_of(users), Regression(base, W, 1.0), variants, bound, total)
    return total


def plain_differences(user, base, W):
    errors = np.array([refitted(user, base, W, variant) for variant in range(len(WIDTHS))])
    return (errors[1:] - errors[0])[None]


# One user's error.


@given(st.integers(0, 2**32), st.integers(0, len(WIDTHS) - 1))
@settings(deadline=None)
def test_errors_are_those_of_regressions_without_the_rating(seed, variant):
    base, W = public_numbers(seed)
    for user in random_users(np.random.default_rng(seed), 4, N_ITEMS):
        assert closed_form(user, base, W, variant) == pytest.approx(refitted(user, base, W, variant), rel=1e-9)


def test_each_error_counts_at_most_four():
    base, W = public_numbers(1)
    user = (np.arange(6), [0.5, -30.0, 0.25, 0.0, 1.0, 2.0])
    limited, full = (refitted(user, base, W, 0, largest) for largest in (4.0, math.inf))
    assert closed_form(user, base, W, 0) == pytest.approx(limited, rel=1e-9)
    assert limited < 4.0 < 100 < full


def test_leverages_near_one_are_taken_as_less():
    """One rating and a long column: 1 - h = ridge / (w^2 + ridge) is below 0.05, which is divided by instead."""
    base, W = np.zeros(2), np.full((2, 3), 10.0)
    user = ([0], [0.75])
    left = 0.75 * 0.4 / (25.0 + 0.4)  # the second variant: one column, halved, and the ridge 0.4
    assert closed_form(user, base, W, 1) == pytest.approx((left / 0.05) ** 2, rel=1e-9)


def test_without_ratings_or_without_a_solution():
    items, W = np.arange(4, dtype=np.int32), np.ones((4, 3))
    assert closed_form(([], []), np.zeros(4), W, 0) == 0.0
    singular = Variants(np.array([3]), np.ones((1, 3)), np.zeros(1))
    assert mean_error(items, np.ones(4), W, np.full((3, 3), 4.0), singular, 0) == 4.0


# Sums of differences.


@given(any_user(), any_model(), st.sampled_from([0.0, 5e-324, 0.3, 1e300]), st.floats(1e-3, 1e3), st.integers(1, 2**48))
@settings(deadline=None)
def test_no_user_exceeds_the_bound(user, model, ridge, norm_bound, limit):
    W = np.hstack([model.W, np.ones((N_ITEMS, 3))])[:, :3].copy()
    ridges = np.array([ridge, 0.1, model.ridge, 1.0])
    assert exact_squares(sum_differences([user], model.base, W, norm_bound, limit, ridges)) <= limit


@pytest.mark.parametrize("limit", [7, 2**48])
def test_a_user_with_very_many_ratings_obeys_the_bound(limit):
    n_items = 100_000
    base, W = public_numbers(2, n_items=n_items)
    values = np.random.default_rng(3).uniform(-1, 1, n_items) + 2.0 * W[:, 0]
    for extreme in (np.full(n_items, np.finfo(np.float32).max), np.full(n_items, np.nan), values):
        total = sum_differences([(np.arange(n_items), extreme)], base, W, 1e-4, limit)
        assert exact_squares(total) <= limit
    # The last of them comes close: at most one lattice unit an entry is lost.
    assert exact_squares(total) >= max(math.sqrt(limit) - math.sqrt(3) - 1e-3, 0) ** 2


def test_differences_are_those_of_refitted_regressions():
    base, W = public_numbers(4)
    factors = []
    for user in random_users(np.random.default_rng(5), 12, N_ITEMS):
        plain = plain_differences(user, base, W)
        for norm_bound in (0.01, 0.1, 10.0):
            ideal, factor = shorten(plain, norm_bound)
            assert_rounded(sum_differences([user], base, W, norm_bound, LIMIT), ideal, norm_bound, LIMIT)
            factors.append(factor)
    assert factors.count(1.0) > 12 and min(factors) < 0.1


def test_ratings_that_are_not_finite_add_nothing():
    base, W = public_numbers(6)
    assert not sum_differences([([1, 2, 3], [0.5, math.nan, 0.5])], base, W, 1.0, LIMIT).any()


@given(st.integers(0, 2**32), st.integers(0, 12))
@settings(deadline=None, max_examples=20)
def test_a_block_is_the_sum_of_its_users(seed, n_users):
    base, W = public_numbers(seed, scale=1.0)
    users = random_users(np.random.default_rng(seed), n_users, N_ITEMS)
    apart = [sum_differences([user], base, W, 0.1, LIMIT) for user in users]
    assert np.array_equal(sum_differences(users, base, W, 0.1, LIMIT), sum(apart, np.zeros((1, 3), np.int64)))
