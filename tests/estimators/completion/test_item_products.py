"""Products by item: the bound on fourth powers in exact integers, sums against Python integers, order and blocks."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hushrank.estimators.completion import item_products
from hushrank.estimators.completion.item_products import (
    ByItem,
    UserFactors,
    add_item_products,
    add_products,
    fits_quartic,
    order_by_item,
    to_integer,
)
from support import four_squares
from user_support import random_users, ratings_of

# The bound


def quartic(u, scales, is_rounded):
    """Sum of |y_t|^4 in Python integers."""
    cut = np.rint if is_rounded else np.trunc
    return sum(sum(int(y) ** 2 for y in cut(scale * np.asarray(u))) ** 2 for scale in scales)


@settings(deadline=None)
@given(st.integers(0, 2**32), st.booleans(), st.integers(1, 6), st.integers(0, 9), st.floats(0, 18))
def test_the_check_is_exact(seed, is_rounded, rank, n, bits):
    """Limits just above and just below the exact sum."""
    rng = np.random.default_rng(seed)
    u, scales = rng.standard_normal(rank), 2.0**bits * rng.uniform(0, 1, n) / np.sqrt(rank * max(n, 1))
    total = quartic(u, scales, is_rounded)
    root = int(np.sqrt(float(total)))
    for limit in {max(root + shift, 1) for shift in (-2, -1, 0, 1, 2)}:
        if limit <= 2**36:
            assert fits_quartic(u, scales, is_rounded, limit) == (total <= limit**2)


@pytest.mark.parametrize("limit", [2**36, 2**36 - 1, 2**35 + 12345, 2**18, 2**18 - 1, 1])
def test_one_vector_may_reach_the_limit_and_no_further(limit):
    u = np.array(four_squares(limit), float)
    assert fits_quartic(u, np.ones(1), True, limit)
    assert not fits_quartic(u, np.array([1.0, 1.0]), True, limit)
    u[0] += 1.0
    assert not fits_quartic(u, np.ones(1), True, limit)


def test_a_sum_that_misses_the_limit_by_one_is_noticed():
    """limit^2 = a^2 + b^2 exactly, from Pythagorean triples of squared norms; then a vector of norm 1 more."""
    for multiple in (1, 10**4, 2**36 // 13):
        a, b, limit = 5 * multiple, 12 * multiple, 13 * multiple
        u = np.array([*four_squares(a), *four_squares(b), 1.0], float)
        # A vector for each part, by masks of the same length
        parts = [np.r_[u[:4], np.zeros(5)], np.r_[np.zeros(4), u[4:8], 0.0], np.r_[np.zeros(8), 1.0]]
        high = low = 0
        for part, fits in zip(parts, (True, True, False), strict=True):
            squared = int(part @ part)
            high, low = item_products._add_square(high, low, squared >> 18, squared & (2**18 - 1))
            assert ((high << 36) + low <= limit**2) == fits
        assert (high << 36) + low == limit**2 + 1


@settings(deadline=None)
@given(st.integers(0, 2**36), st.integers(0, 2**36 - 1), st.integers(0, 2**36))
@example(2**36, 2**36 - 1, 2**36)
@example(0, 2**36 - 1, 1)
def test_squares_are_added_in_two_words(high, low, norm):
    got = item_products._add_square(high, low, norm >> 18, norm & (2**18 - 1))
    total = (high << 36) + low + norm**2
    assert got == (total >> 36, total & (2**36 - 1))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e30, 1e200])
@pytest.mark.parametrize("is_rounded", [True, False])
def test_what_is_not_finite_or_huge_never_fits(value, is_rounded):
    assert not fits_quartic(np.array([value, 0.0]), np.ones(1), is_rounded, 2**36)
    assert not fits_quartic(np.ones(2), np.array([0.0, value]), is_rounded, 2**36)
    assert fits_quartic(np.ones(2), np.zeros(3), is_rounded, 1)


# Sums


def some_ratings(seed, n_users=40, n_items=12, rank=5, bits=17):
    """Ratings, user vectors and scales, some of them zero, some users truncated."""
    rng = np.random.default_rng(seed)
    ratings = ratings_of(random_users(rng, n_users, n_items))
    n = len(ratings.items)
    scales = 2.0**bits * rng.uniform(0.1, 1, n) * (rng.random(n) < 0.8)
    U = rng.uniform(-1, 1, (n_users, rank)) / np.sqrt(rank)
    return ratings, UserFactors(U, scales, rng.random(n_users) < 0.5)


def sum_products(ratings, found, n_items, edges=None):
    rank = found.U.shape[1]
    total = np.zeros((n_items, rank * (rank + 1) // 2), np.int64)
    ordered = order_by_item(ratings, found.scales, n_items)
    edges = [0, n_items] if edges is None else edges
    for first, stop in pairwise(edges):
        add_item_products(ordered, found, first, stop, total)
    return total


def exact_products(ratings, found, n_items):
    (indptr, items, _), (U, scales, is_rounded) = ratings, found
    rows, columns = np.tril_indices(U.shape[1])
    total = np.zeros((n_items, len(rows)), object)
    for i in range(len(U)):
        for t in range(indptr[i], indptr[i + 1]):
            y = (np.rint if is_rounded[i] else np.trunc)(scales[t] * U[i]).astype(object)
            total[items[t]] += np.array([int(a) * int(b) for a, b in zip(y[rows], y[columns], strict=True)], object)
    return total


@settings(deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([1, 2, 3, 5, 8]))
def test_sums_are_exact(seed, rank):
    ratings = some_ratings(seed, rank=rank)
    assert (sum_products(*ratings, 12) == exact_products(*ratings, 12)).all()


def test_stripes_of_items_add_up():
    ratings = some_ratings(3)
    assert np.array_equal(sum_products(*ratings, 12, edges=[0, 0, 5, 6, 12]), sum_products(*ratings, 12))


def test_totals_are_added_to_and_not_replaced():
    ratings, found = some_ratings(4)
    total = np.full((12, 15), 7, np.int64)
    add_item_products(order_by_item(ratings, found.scales, 12), found, 0, 12, total)
    assert np.array_equal(total - 7, sum_products(ratings, found, 12))


def test_popular_items_are_exact_beyond_what_float64_holds():
    """More ratings of largest products than 2^53 has room for; odd numbers, so that a lost bit shows."""
    n, largest = 3 * 2**17 + 5, 2**18 - 1
    ordered = ByItem(np.array([0, n]), np.zeros(n, np.int32), np.full(n, float(largest)))
    total = np.zeros((1, 1), np.int64)
    add_item_products(ordered, UserFactors(np.ones((1, 1)), ordered.scales, np.ones(1, np.bool_)), 0, 1, total)
    assert int(total[0, 0]) == n * largest**2 > 2**53


def test_order_keeps_every_rating_with_a_scale():
    ratings, (_, scales, _) = some_ratings(5)
    indptr, items, _ = ratings
    starts, users, ordered = order_by_item(ratings, scales, 12)
    owners = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    for j in range(12):
        own = (items == j) & (scales > 0)
        assert users[starts[j] : starts[j + 1]].tolist() == owners[own].tolist()
        assert ordered[starts[j] : starts[j + 1]].tolist() == scales[own].tolist()
    assert starts[12] == len(users) == (scales > 0).sum()


def test_no_ratings_add_nothing():
    found = UserFactors(np.ones((2, 3)), np.empty(0), np.ones(2, np.bool_))
    assert not sum_products(ratings_of([([], []), ([], [])]), found, 4).any()


def test_four_products_go_to_the_lower_triangle():
    B = np.random.default_rng(6).standard_normal((4, 7))
    A = np.zeros((7, 7))
    add_products(B, A)
    assert np.allclose(A, np.tril(B.T @ B), atol=1e-14)


@settings(deadline=None)
@given(st.floats(-(2.0**40), 2.0**40))
def test_integers(x):
    assert to_integer(x, True) == np.rint(x) and to_integer(x, False) == np.trunc(x)
