"""Held-out ratings: how many, which, and that a user's split depends on nobody else."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushrank.data.ratings.grouping import UserBlock
from hushrank.data.ratings.leave_out import LeaveOut, history_of
from hushrank.data.ratings.reading import read_ratings


def block_of(users):
    """Ratings of users who are given by their items."""
    items = np.array([item for own in users for item in own], np.int32)
    values = np.linspace(-1.0, 1.0, len(items)).astype(np.float32)
    return UserBlock(np.append(0, np.cumsum([len(own) for own in users])).astype(np.int64), items, values)


def items_of(block, user):
    return block.items[block.indptr[user] : block.indptr[user + 1]].tolist()


def numbers(block):
    return np.diff(block.indptr).tolist()


USERS = st.lists(st.lists(st.integers(0, 30), unique=True, max_size=12).map(sorted), min_size=1, max_size=6)


@given(users=USERS, share=st.floats(0.01, 0.99), most=st.integers(1, 5), seed=st.integers(0, 2**63 - 1))
def test_both_parts_are_all_there_is_and_have_the_stated_sizes(users, share, most, seed):
    block = block_of(users)
    history, held_out = LeaveOut(share, most, seed).split(block)
    expected = [0 if len(own) < 2 else min(max(int(share * len(own) + 0.5), 1), most, len(own) - 1) for own in users]
    assert numbers(held_out) == expected and numbers(history) == [
        len(u) - n for u, n in zip(users, expected, strict=True)
    ]
    for user, own in enumerate(users):
        assert sorted(items_of(history, user) + items_of(held_out, user)) == own
        assert items_of(history, user) == sorted(items_of(history, user))
    pairs = [set(zip(part.items.tolist(), part.values.tolist(), strict=True)) for part in (history, held_out, block)]
    assert pairs[0] | pairs[1] == pairs[2]  # values go with their items


@given(users=USERS, others=USERS, seed=st.integers(0, 2**63 - 1))
def test_a_user_is_split_alike_among_anybody(users, others, seed):
    rule = LeaveOut(0.3, 3, seed)
    alone = [items_of(rule.split(block_of([own]))[1], 0) for own in users]
    among = rule.split(block_of([*others, *users]))[1]
    assert [items_of(among, len(others) + i) for i in range(len(users))] == alone


def test_ratings_of_all_places_are_held_out_and_seeds_hold_out_others():
    rng = np.random.default_rng(1)
    block = block_of([sorted(rng.choice(1000, 10, replace=False)) for _ in range(3000)])
    held = [LeaveOut(0.1, 1, seed).split(block)[1] for seed in (0, 1)]
    places = [np.flatnonzero(np.isin(block.items[10 * i : 10 * i + 10], items_of(held[0], i)))[0] for i in range(3000)]
    assert abs(np.bincount(places, minlength=10) - 300).max() < 100
    assert 0.8 < np.mean(held[0].items != held[1].items) < 0.98


def test_the_history_is_a_source_with_all_users():
    ratings = read_ratings([[1, 5, np.nan], [np.nan, 2, np.nan], [np.nan] * 3], owner="test", rating_range=(1, 5))
    history = history_of(ratings, LeaveOut(0.5, 5, 0), (1.0, 5.0), None)
    [block] = history.blocks()
    assert history.n_users == 3 and numbers(block) == [1, 1, 0] and history.rating_range == (1.0, 5.0)
    assert history.n_items == 3 and block.values.dtype == np.float32


def test_nobody_has_a_history():
    ratings = read_ratings(np.empty((0, 3)), owner="test", rating_range=(1, 5))
    assert history_of(ratings, LeaveOut(0.5, 5, 0), (1.0, 5.0), None).n_users == 0


@pytest.mark.parametrize("seed", [0, 2**63 - 1])
def test_large_seeds_are_seeds(seed):
    assert numbers(LeaveOut(0.5, 5, seed).split(block_of([[1, 2, 3, 4]]))[1]) == [2]
