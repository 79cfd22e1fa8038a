"""Counters of users: each user's updates are shortened by that user's own, in their order, however they arrive."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrank.estimators.turnstile.user_totals import UserTotals

BOUND = 10
ODD_IDS = ["", "ann", " ann ", "Ann", "änn", "日本", "a,b", 'a"b', "a\nb", "7", "07", "+7", "7.0", "-7", "9" * 30, "\0"]


def ids_of(users):
    return pa.array(users, pa.large_string())


def limited(totals, users, integers):
    """What is left of updates, after it was booked."""
    codes = totals.codes(ids_of(users))
    allowed = totals.limit(codes, np.array(integers, np.int64))
    totals.take(codes, allowed)
    return allowed.tolist()


def reference(updates, bound=BOUND):
    """The rule, one update at a time."""
    spent, left = Counter(), []
    for user, integer in updates:
        size = min(abs(integer), bound - spent[user])
        spent[user] += size
        left.append(size if integer > 0 else -size)
    return left, spent


def spent_by(totals):
    ids, spent = totals.content()
    return dict(zip(ids.to_pylist(), spent.tolist(), strict=True))


def test_updates_are_shortened_in_their_order():
    totals = UserTotals(BOUND)
    assert limited(totals, ["ann", "bob", "ann", "ann", "ann"], [7, -20, -2, 4, 5]) == [7, -10, -2, 1, 0]
    assert limited(totals, ["ann", "cid", "bob"], [-1, -3, 1]) == [0, -3, 0]
    assert spent_by(totals) == {"ann": 10, "bob": 10, "cid": 3} and len(totals) == 3


def test_magnitudes_count_and_opposites_do_not_cancel():
    totals = UserTotals(BOUND)
    assert limited(totals, ["ann"] * 4, [6, -6, 6, -6]) == [6, -4, 0, 0]


def test_what_is_not_booked_does_not_count():
    totals = UserTotals(BOUND)
    codes = totals.codes(ids_of(["ann"]))
    for _ in range(3):  # a batch that was refused may come again
        assert totals.limit(codes, np.array([8])).tolist() == [8]
    assert spent_by(totals) == {"ann": 0}
    given_back = np.array([8])
    totals.limit(codes, given_back)
    assert given_back.tolist() == [8]  # the caller's integers are left alone


updates = st.lists(st.tuples(st.sampled_from("abcde"), st.integers(-2 * BOUND, 2 * BOUND)), max_size=40)


@settings(deadline=None)
@given(updates=updates, cuts=st.lists(st.integers(0, 40), max_size=5))
def test_batches_of_any_size_leave_what_the_rule_leaves(updates, cuts):
    totals, found = UserTotals(BOUND), []
    edges = [0, *sorted(min(cut, len(updates)) for cut in cuts), len(updates)]
    for start, stop in pairwise(edges):
        batch = updates[start:stop]
        found += limited(totals, [user for user, _ in batch], [integer for _, integer in batch])
    left, spent = reference(updates)
    assert found == left
    assert spent_by(totals) == {user: spent[user] for user, _ in updates}
    assert max(spent.values(), default=0) <= BOUND


@settings(deadline=None)
@given(updates=updates, own=st.lists(st.integers(-(2**40), 2**40), max_size=20), seed=st.integers(0, 2**32))
def test_one_user_changes_nothing_of_another(updates, own, seed):
    """Whatever the user "a" does, anywhere in the stream."""
    others = [pair for pair in updates if pair[0] != "a"]
    places = np.sort(np.random.default_rng(seed).integers(0, len(others) + 1, len(own)))
    stream = list(others)
    for place, integer in reversed(list(zip(places.tolist(), own, strict=True))):
        stream.insert(place, ("a", integer))
    found = limited(UserTotals(BOUND), [user for user, _ in stream], [integer for _, integer in stream])
    theirs = [left for (user, _), left in zip(stream, found, strict=True) if user != "a"]
    assert theirs == reference(others)[0]
    assert sum(abs(left) for (user, _), left in zip(stream, found, strict=True) if user == "a") <= BOUND


def test_many_users_are_many_counters():
    totals, n = UserTotals(BOUND), 5000
    for start in (0, 2500, 0):
        users = [f"user {i}" for i in range(start, start + n)]
        limited(totals, users, [3] * n)
    expected = {f"user {i}": 3 * ((i < n) + (i >= 2500) + (i < n)) for i in range(7500)}
    assert spent_by(totals) == expected


def test_ids_have_one_canonical_form():
    totals = UserTotals(BOUND)
    valid = [user for user in ODD_IDS if user]
    limited(totals, valid, [1] * len(valid))
    found = spent_by(totals)
    assert found["7"] == 4 and found["ann"] == 2  # with 07, +7 and 7.0, and with spaces around it
    assert {name: count for name, count in found.items() if name not in ("7", "ann")} == dict.fromkeys(
        ["Ann", "änn", "日本", "a,b", 'a"b', "a\nb", "-7", "9" * 30, "\0"], 1
    )
    assert totals.codes(ids_of(["", None, "  ", "ann"])).tolist()[:3] == [-1, -1, -1]


# Merging


def totals_of(spent):
    totals = UserTotals(BOUND)
    totals.load(ids_of(list(spent)), np.array(list(spent.values()), np.int64))
    return totals


@pytest.mark.parametrize(
    ("mine", "theirs", "fits"),
    [
        ({}, {}, True),
        ({"ann": 10}, {}, True),
        ({}, {"ann": 10}, True),
        ({"ann": 10}, {"bob": 10}, True),
        ({"ann": 4, "bob": 10}, {"ann": 6, "cid": 1}, True),
        ({"ann": 4, "bob": 10}, {"cid": 1, "ann": 7}, False),
        ({"ann": 10}, {"ann": 0}, True),
        ({"7": 6}, {"07": 5}, False),
    ],
)
def test_shards_fit_if_nobody_exceeds_the_bound(mine, theirs, fits):
    one, other = totals_of(mine), totals_of(theirs)
    assert one.fits(other) == other.fits(one) == fits
    assert spent_by(one) == mine and spent_by(other) == theirs  # nothing was added by asking
    if fits:
        one.merge(other)
        assert spent_by(one) == {user: mine.get(user, 0) + theirs.get(user, 0) for user in [*mine, *theirs]}


def test_content_and_load_are_inverse():
    totals = UserTotals(BOUND)
    limited(totals, [user for user in ODD_IDS if user], range(1, len(ODD_IDS)))
    ids, spent = totals.content()
    copy = UserTotals(BOUND)
    copy.load(ids, spent)
    again, same = copy.content()
    assert ids.equals(again) and np.array_equal(spent, same) and len(copy) == len(totals)
    assert limited(copy, ["日本"], [BOUND]) == limited(totals, ["日本"], [BOUND])
    spent[:] = 0  # a copy: nobody resets counters by it
    assert spent_by(totals)["Ann"] > 0
    empty, nothing = UserTotals(BOUND).content()
    assert len(empty) == len(nothing) == 0


def test_small_batches_of_many_users_are_limited_as_large_ones_are():
    """Counters are copied as a whole for a batch of many updates, and one by one for a small one."""
    rng = np.random.default_rng(8)
    codes, integers = rng.integers(40, size=300), rng.integers(-6, 7, size=300)
    large, small = UserTotals(20), UserTotals(20)
    everybody = pa.array([f"u{number}" for number in range(40)], pa.large_string())
    for totals in (large, small):
        totals.codes(everybody)
    allowed = large.limit(codes, integers)
    large.take(codes, allowed)
    found = []
    for start in range(0, 300, 7):
        part = slice(start, start + 7)
        found.append(small.limit(codes[part], integers[part]))
        small.take(codes[part], found[-1])
    assert np.array_equal(np.concatenate(found), allowed) and np.abs(allowed).sum() < np.abs(integers).sum()
    assert np.array_equal(small.content()[1], large.content()[1]) and large.content()[1].max() == 20
