"""Ratings of somebody else's class: whatever their blocks hold, what is handed on is what sensitivities rest on."""

from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrank.data.ratings.foreign_ratings import ForeignRatings, proper_block
from hushrank.data.ratings.grouping import UserBlock
from hushrank.data.rows.reading import read_rows
from hushrank.data.source import Source
from hushrank.exceptions import InvalidParameter
from rating_support import user, users_of

N_ITEMS = 4


def block_of(indptr, items, values, dtype=np.float32):
    return UserBlock(np.array(indptr, np.int64), np.array(items, np.int32), np.array(values, dtype))


def test_a_proper_block_is_handed_on_untouched():
    block = block_of([0, 2, 2, 3], [0, 3, 1], [1, -1, 0.25])
    proper = proper_block(block, N_ITEMS, "A")
    assert proper.items is block.items and proper.values is block.values
    assert users_of(proper) == [user(i0=1, i3=-1), user(), user(i1=0.25)]


ODD = {
    "repeated": ([2, 2], [1, 0], user(i2=0.5)),
    "falling": ([3, 1], [1, 0.5], user(i1=0.5, i3=1)),
    "too large": ([0, 1], [7, -np.inf], user(i0=1)),
    "not a number": ([0, 1], [np.nan, 0.5], user(i1=0.5)),
    "unknown item": ([1, 4], [0.5, 0.5], user(i1=0.5)),
    "negative item": ([-1, 1], [0.5, 0.5], user(i1=0.5)),
}


@pytest.mark.parametrize("odd", ODD)
def test_an_odd_user_is_grouped_anew_and_the_others_stay(odd):
    items, values, expected = ODD[odd]
    block = block_of([0, 1, 3, 4], [2, *items, 3], [0.25, *values, -1])
    assert users_of(proper_block(block, N_ITEMS, "A")) == [user(i2=0.25), expected, user(i3=-1)]


@given(st.lists(st.lists(st.tuples(st.integers(-2, 6), st.floats(width=32)), max_size=6), max_size=5))
@settings(deadline=None)
def test_every_block_becomes_proper(users):
    indptr = np.cumsum([0, *map(len, users)])
    ratings = [rating for own in users for rating in own]
    block = block_of(indptr, [item for item, _ in ratings], [value for _, value in ratings], np.float64)
    proper = proper_block(block, N_ITEMS, "A")
    assert len(proper) == len(users)
    for items, values in users_of(proper):
        assert items == sorted(set(items)) and all(0 <= item < N_ITEMS for item in items)
        assert np.all(np.abs(np.frombuffer(values, np.float32)) <= 1)


@pytest.mark.parametrize(
    "block",
    [
        block_of([0, 3], [1, 2], [1, 1]),
        block_of([0, 2], [1, 2], [1]),
        block_of([0, 2, 1, 2], [1, 2], [1, 1]),
        block_of([1, 2], [1, 2], [1, 1]),
        block_of([0, 2**63 - 1, -(2**63), -1, 2], [1, 2], [1, 1]),  # differences would wrap around
        block_of([], [], []),
        SimpleNamespace(indptr=np.array([0, 1]), items=np.array([1.0]), values=np.array([1.0])),
        SimpleNamespace(indptr=np.array([0, 1]), items=np.array([1]), values=np.array(["1"])),
        np.ones((2, 2)),
    ],
)
def test_arrays_that_contradict_each_other_are_refused(block):
    with pytest.raises(InvalidParameter, match=r"^X of A must be blocks of users: indptr from 0 on"):
        proper_block(block, N_ITEMS, "A")


class Odd(Source):
    """Blocks that break every rule."""

    n_users = 3
    sizes: ClassVar = {"n_items": N_ITEMS}

    def empty_block(self):
        return None

    def blocks(self, max_rows=8192):
        yield block_of([0, 2, 2, 3], [2, 2, 9], [5, -5, 1])


def test_foreign_rows_keep_their_public_sizes():
    rows = ForeignRatings(Odd(3), "A")
    assert (rows.sizes["n_items"], rows.n_samples, rows.n_users, rows.can_repeat) == (N_ITEMS, 3, 3, True)
    assert [users_of(block) for block in rows.blocks()] == [[user(i2=0), user(), user()]]
    assert users_of(rows.empty_block()) == []


def test_a_source_that_is_no_ratings_is_refused():
    for source in (read_rows([[1.0, 2.0]], owner="A"), type("NoUsers", (Odd,), {"sizes": {"n_features": 3}})(3)):
        with pytest.raises(InvalidParameter, match=r"X of A must be ratings: a table, a matrix or the path of a file"):
            ForeignRatings(source, "A")
