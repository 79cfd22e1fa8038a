"""Grouping by user: the bits of a user's ratings depend on that user's ratings alone, in any order."""

import functools
import math
import operator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrank.data.ratings import grouping
from hushrank.data.ratings.grouping import (
    RATING,
    Tally,
    UserBlock,
    cut_users,
    group_ratings,
    no_users,
    scale_ratings,
    user_spans,
)
from rating_support import users_of

ROWS = st.lists(st.tuples(st.integers(0, 4), st.integers(-1, 6), st.floats(-1, 1)), max_size=40)


def records(rows):
    return np.array(rows, RATING)


def add_in_order(values):
    """Sum in rising order; the function sum of newer Pythons compensates for rounding."""
    return functools.reduce(operator.add, sorted(values), 0.0)


def expected_users(rows, n_users):
    """The same by dictionaries and Python's floats."""
    users = [{} for _ in range(n_users)]
    for user, item, value in rows:
        if item >= 0:
            users[user].setdefault(item, []).append(value)
    result = []
    for ratings in users:
        means = [add_in_order(ratings[item]) / len(ratings[item]) for item in sorted(ratings)]
        result.append((sorted(ratings), np.array(means, np.float32).tobytes()))
    return result


@given(ROWS, st.randoms(use_true_random=False))
@settings(deadline=None)
def test_every_order_of_the_rows_gives_the_same_bits(rows, random):
    block, n_repeated = group_ratings(records(rows), 5, 7)
    assert users_of(block) == expected_users(rows, 5)
    assert n_repeated == sum(item >= 0 for _, item, _ in rows) - len(block.items)
    shuffled = rows.copy()
    random.shuffle(shuffled)
    assert users_of(group_ratings(records(shuffled), 5, 7)[0]) == users_of(block)


@given(ROWS)
@settings(deadline=None)
def test_other_users_change_nothing(rows):
    together = users_of(group_ratings(records(rows), 5, 7)[0])
    for user in range(5):
        alone = records([row for row in rows if row[0] == user])
        assert users_of(group_ratings(alone, 5, 7)[0])[user] == together[user]


def test_the_mean_of_repeats_needs_an_order():
    values = [1.0, 2.0**-53, 2.0**-53, -1.0]  # 0 or 2^-54 as they come
    for order in (values, values[::-1], [values[i] for i in (1, 3, 0, 2)]):
        block, n_repeated = group_ratings(records([(0, 2, value) for value in order]), 1, 3)
        assert block.values.tolist() == [add_in_order(values) / 4] and n_repeated == 3


def test_one_user_with_many_ratings():
    rng = np.random.default_rng(0)
    rows = np.empty(100_000, RATING)
    rows["user"], rows["item"], rows["value"] = 1, rng.permutation(100_000), rng.uniform(-1, 1, 100_000)
    block, n_repeated = group_ratings(rows, 3, 100_000)
    assert block.indptr.tolist() == [0, 0, 100_000, 100_000] and n_repeated == 0
    assert np.array_equal(block.items, np.arange(100_000))
    assert np.array_equal(block.values, rows["value"][np.argsort(rows["item"])].astype(np.float32))
    rows["item"] = 5
    block, n_repeated = group_ratings(rows, 3, 100_000)
    assert len(block.items) == 1 and n_repeated == 99_999 and abs(block.values[0]) < 0.02


def test_no_ratings_and_users_without_any():
    assert users_of(group_ratings(records([]), 2, 7)[0]) == [([], b"")] * 2
    assert users_of(group_ratings(records([(1, -1, 0.0)] * 3), 2, 7)[0]) == [([], b"")] * 2
    assert len(group_ratings(records([]), 0, 7)[0]) == 0


# Scaling.


def scaled(ratings, rating_range, users=None, items=None):
    n, tally = len(ratings), Tally()
    users = np.zeros(n, np.int32) if users is None else np.array(users, np.int32)
    items = np.arange(n) if items is None else np.array(items, np.int64)
    return scale_ratings(users, items, np.array(ratings, float), rating_range, tally), tally


def test_ratings_are_clipped_and_mapped():
    found, tally = scaled([1, 3, 5, 4.5, 0.999, 1e30, -1e308], (1, 5))
    assert found["value"].tolist() == [-1, 0, 1, 0.75, -1, 1, -1]
    assert tally == Tally(n_read=7, n_clipped=3)


def test_what_is_not_finite_or_unknown_only_says_that_its_user_exists():
    found, tally = scaled(
        [math.nan, math.inf, -math.inf, 2, math.nan, 2], (1, 5), [3, 4, 5, 6, 7, -1], [0, 1, 2, -1, -1, 0]
    )
    assert found["user"].tolist() == [3, 4, 5, 6, 7] and found["item"].tolist() == [-1] * 5
    assert np.all(found["value"] == 0)
    assert tally == Tally(n_read=6, n_without_user=1, n_unknown=2, n_not_finite=3)


def test_every_finite_rating_is_one_for_implicit_feedback():
    found, tally = scaled([0, -7, 1e30, math.nan], None)
    assert found["value"].tolist() == [1, 1, 1, 0] and found["item"].tolist() == [0, 1, 2, -1]
    assert tally == Tally(n_read=4, n_not_finite=1)


@given(
    st.tuples(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False)),
    st.lists(st.floats(), max_size=9),
)
@settings(deadline=None)
def test_values_are_in_the_unit_range_for_every_range(bounds, ratings):
    low, high = min(bounds), max(bounds)
    if high / 2 - low / 2 > 0:
        found, _ = scaled([*ratings, low, high], (low, high))
        assert np.all(np.abs(found["value"]) <= 1) and np.all(np.diff(found["value"][-2:]) > 0)


def test_arrays_of_different_lengths_are_refused():
    """The compiled loop would read past the end of the shorter ones."""
    users, items, ratings = np.zeros(3, np.int32), np.zeros(3, np.int64), np.zeros(3)
    for arguments in ((users[:2], items, ratings), (users, items[:2], ratings), (users, items, ratings[:2])):
        with pytest.raises(ValueError, match="as many items and ratings as users"):
            scale_ratings(*arguments, (1, 5), Tally())


def test_the_tally_is_one_line():
    tally = Tally(n_read=1234, n_without_user=1, n_unknown=2, n_not_finite=3, n_clipped=4, n_repeated=5)
    assert str(tally) == (
        "Not private: 1,234 ratings read; 3 not finite, 2 of unknown items and 1 without a user or unreadable were "
        "ignored, 4 clipped to the range; 5 were repeated and count with others as one mean."
    )


def test_tallies_add_up():
    one, other = Tally(10, 1, 2, 3, 4, 5), Tally(100, 10, 20, 30, 40, 50)
    assert one + other == other + one == Tally(110, 11, 22, 33, 44, 55)
    assert one == Tally(10, 1, 2, 3, 4, 5) and one + Tally() == one


# Spans.


@given(st.lists(st.integers(0, 3 * 2**21), max_size=30), st.integers(1, 7))
def test_spans_are_full_and_bounded(counts, max_rows):
    indptr = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    spans = list(user_spans(indptr, max_rows))
    assert [u for start, stop in spans for u in range(start, stop)] == list(range(len(counts)))
    for start, stop in spans:
        assert stop - start == 1 or (stop - start <= max_rows and indptr[stop] - indptr[start] <= 2**22)
        more = min(stop + 1, len(counts))
        assert more == stop or stop - start == max_rows or indptr[more] - indptr[start] > 2**22


def test_blocks_count_their_users():
    block = UserBlock(np.array([0, 1, 1]), np.array([4], np.int32), np.ones(1, np.float32))
    assert len(block) == 2
    with pytest.raises(AttributeError):
        block.items = None


@pytest.mark.parametrize("max_rows", [1, 2, 10**6])
def test_cut_users_are_views_of_whole_users(monkeypatch, max_rows):
    monkeypatch.setattr(grouping, "MAX_BLOCK_ROWS", 3)
    indptr = np.array([0, 2, 2, 3, 7, 8])
    users = UserBlock(indptr, np.arange(8, dtype=np.int32), np.linspace(-1, 1, 8, dtype=np.float32))
    blocks = list(cut_users(users, max_rows))
    assert [len(block) for block in blocks] == {1: [1] * 5, 2: [2, 2, 1], 10**6: [3, 2]}[max_rows]
    assert [user for block in blocks for user in users_of(block)] == users_of(users)
    assert all(np.shares_memory(block.items, users.items) for block in blocks if len(block.items))


def test_nobody():
    assert len(no_users()) == 0 and users_of(no_users()) == [] and list(cut_users(no_users(), 5)) == []
