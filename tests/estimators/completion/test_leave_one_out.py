"""Leave-one-out errors in closed form against regressions without the rating, and bounded differences of them."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrank.estimators.completion.leave_one_out import Variants, add_error_differences, mean_errors, new_scratch
from hushrank.estimators.completion.rating_kernels import Regression
from hushrank.linalg.ridge import LANES
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
SLOPES = Variants(np.array([2, 1]), np.ones((2, 2)), np.ones(2))  # with and without the second column


def public_numbers(seed, scale=0.3, n_items=N_ITEMS):
    """Base and columns; with a small scale no rating has a leverage near 1."""
    rng = np.random.default_rng(seed)
    return 0.1 * rng.standard_normal(n_items), scale * rng.standard_normal((n_items, 3))


def closed_form(user, base, W, variants=VARIANTS):
    """Errors of all variants, in scratch memory full of what must be overwritten."""
    items, scratch = np.asarray(user[0], np.int32), new_scratch(len(variants.widths), W.shape[1])
    for array in scratch:
        array.fill(np.nan)
    mean_errors(items, values_of(user) - base[items], W, variants, scratch)
    return scratch.errors


def refitted(user, base, W, variants=VARIANTS, largest=4.0, step=1):
    """The same by as many regressions as there are ratings, each without one of them."""
    items, values, means = items_of(user), values_of(user), []
    for width, scales, ridge in zip(*variants, strict=True):
        columns, errors = W[:, :width] * scales[:width], []
        for t in range(0, len(items), step):
            z = regress((np.delete(items, t), np.delete(values, t)), base, columns, ridge)[0]
            errors.append(values[t] - base[items[t]] - columns[items[t]] @ z)
        means.append(np.minimum(np.square(errors), largest).sum() / max(len(errors), 1))
    return np.array(means)


def sum_differences(users, base, W, norm_bound, limit, variants=VARIANTS):
    total = np.zeros((1, len(variants.widths) - 1), np.int64)
    add_error_differences(ratings_of(users), Regression(base, W, 1.0), variants, Bound(norm_bound, float(limit)), total)
    return total


def plain_differences(user, base, W):
    errors = refitted(user, base, W)
    return (errors[1:] - errors[0])[None]


# One user's error.


@given(st.integers(0, 2**32))
@settings(deadline=None)
def test_errors_are_those_of_regressions_without_the_rating(seed):
    base, W = public_numbers(seed)
    for user in random_users(np.random.default_rng(seed), 4, N_ITEMS):
        assert closed_form(user, base, W) == pytest.approx(refitted(user, base, W), rel=1e-9)


@pytest.mark.parametrize(
    ("n", "width"), [(LANES - 1, 8), (LANES, 7), (LANES + 1, 7), (2 * LANES, 3), (150, 3), (LANES, 3)]
)
def test_ratings_beyond_the_lanes_are_predicted_as_well(n, width):
    rng = np.random.default_rng(n)
    base, W = np.zeros(n), 0.3 * rng.standard_normal((n, width))
    variants = Variants(np.array([width, width - 1, 2]), rng.uniform(0.5, 2.0, (3, width)), np.array([0.3, 1.0, 2.0]))
    user = (np.arange(n), rng.uniform(-1, 1, n))
    assert closed_form(user, base, W, variants) == pytest.approx(refitted(user, base, W, variants), rel=1e-9)


@pytest.mark.parametrize(("n", "width", "step"), [(170, 3, 1), (171, 3, 2), (342, 3, 3), (300, 8, 5), (1, 513, 2)])
def test_of_very_many_ratings_every_second_or_third_is_predicted_from_all_others(n, width, step):
    """Every one below 512 ratings times columns, every second one up to twice as many, and so on."""
    rng = np.random.default_rng(n)
    base, W = np.zeros(n), rng.standard_normal((n, width)) / width
    variants = Variants(np.array([min(width, 40), 1]), np.ones((2, width)), np.array([0.5, 1.0]))
    user = (np.arange(n), rng.uniform(-1, 1, n))
    expected = refitted(user, base, W, variants, step=step)
    assert closed_form(user, base, W, variants) == pytest.approx(expected, rel=1e-9)
    if 1 < step < n:
        assert np.abs(expected - refitted(user, base, W, variants)).max() > 1e-4


def test_each_error_counts_at_most_four():
    base, W = public_numbers(1)
    user = (np.arange(6), [0.5, -30.0, 0.25, 0.0, 1.0, 2.0])
    limited, full = (refitted(user, base, W, largest=largest) for largest in (4.0, math.inf))
    assert closed_form(user, base, W) == pytest.approx(limited, rel=1e-9)
    assert (limited < 4.0).all() and (full > 100).all()


def test_leverages_near_one_are_taken_as_less():
    """One rating and a long column: 1 - h = ridge / (w^2 + ridge) is below 0.05, which is divided by instead."""
    base, W = np.zeros(2), np.full((2, 3), 10.0)
    user = ([0], [0.75])
    left = 0.75 * 0.4 / (25.0 + 0.4)  # the second variant: one column, halved, and the ridge 0.4
    assert closed_form(user, base, W)[1] == pytest.approx((left / 0.05) ** 2, rel=1e-9)


def test_without_ratings_or_without_a_solution():
    W, user = np.ones((4, 3)), (np.arange(4), np.ones(4))
    assert closed_form(([], []), np.zeros(4), W).tolist() == [0.0] * 4
    singular = Variants(np.array([3, 1, 3]), np.ones((3, 3)), np.array([0.0, 1.0, 1.0]))
    errors = closed_form(user, np.zeros(4), W, singular)
    assert errors[0] == 4.0
    assert errors[1:] == pytest.approx(refitted(user, np.zeros(4), W, Variants(*(part[1:] for part in singular))))


# Sums of differences.


@given(any_user(), any_model(), st.sampled_from([0.0, 5e-324, 0.3, 1e300]), st.floats(1e-3, 1e3), st.integers(1, 2**48))
@settings(deadline=None)
def test_no_user_exceeds_the_bound(user, model, ridge, norm_bound, limit):
    W = np.hstack([model.W, np.ones((N_ITEMS, 3))])[:, :3].copy()
    variants = VARIANTS._replace(ridges=np.array([ridge, 0.1, model.ridge, 1.0]))
    assert exact_squares(sum_differences([user], model.base, W, norm_bound, limit, variants)) <= limit


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


@pytest.mark.parametrize("limit", [4**18, 12345678901, 2**48 - 1])
def test_two_users_attain_the_bound_of_the_gain_of_slopes(limit):
    """One whose ratings go with the slope, one whose ratings go against it: they are 2 C apart, to one lattice unit."""
    W = np.column_stack([np.full(N_ITEMS, 0.2), np.where(np.arange(N_ITEMS) < 5, 1.0, -1.0)])
    pleased, deceived = (np.arange(N_ITEMS), W[:, 1]), ([0, 1], [1.0, -1.0])
    with_it, against = (
        int(sum_differences([user], np.zeros(N_ITEMS), W, 0.05, limit, SLOPES)[0, 0]) for user in (pleased, deceived)
    )
    assert math.isqrt(limit) == with_it == -against
    assert (with_it - against) ** 2 <= 4 * limit


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
    base, W = public_numbers(seed, scale=1.0, n_items=800)
    rng = np.random.default_rng(seed)
    users = random_users(rng, n_users, N_ITEMS)
    long = (np.arange(800), rng.uniform(-1, 1, 800))  # of whom every second rating is predicted
    users.insert(n_users // 2, long)
    apart = [sum_differences([user], base, W, 0.1, LIMIT) for user in users]
    assert np.array_equal(sum_differences(users, base, W, 0.1, LIMIT), sum(apart))
