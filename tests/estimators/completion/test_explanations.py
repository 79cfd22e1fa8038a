"""Reasons: what of an item a user likes, told in words that the item has, the most important first."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushrank.data.ratings.catalogue import Catalogue
from hushrank.data.ratings.item_features import ItemFeatures, read_item_features
from hushrank.estimators.completion.explanations import MOST_REASONS, reasons_for

WORDS = [{"A", "B"}, {"B"}, {"C", "A"}, set(), {"A", "B", "C"}, set()]  # the last item has no row


def read(n_items, **columns):
    table = pa.table({"item": range(len(next(iter(columns.values())))), **columns})
    return read_item_features(table, Catalogue(n_items), "Owner")


GENRES = read(6, genre=["|".join(words) or None for words in WORDS[:5]])


@pytest.mark.parametrize(
    ("slopes", "expected"),
    [
        ([1, 0, 0], [("A",), (), ("A",), (), ("A",), ()]),
        ([-1, 0, 0], [()] * 6),  # that an item is no A speaks for it, and is no reason
        ([0, 0, 0], [()] * 6),
        # What is rare counts more: half of the items are C, and three quarters A and B. Ties in the order of columns.
        ([1, 1, 1], [("A", "B"), ("B",), ("C", "A"), (), ("C", "A"), ()]),
        ([1, 2, 3], [("B", "A"), ("B",), ("C",), (), ("C", "B"), ()]),
        ([3, 1, 0], [("A", "B"), ("B",), ("A",), (), ("A", "B"), ()]),  # a third of the first is told
        ([3, 0.9, 0], [("A",), ("B",), ("A",), (), ("A",), ()]),
        ([1, -5, -5], [("A",), (), ("A",), (), ("A",), ()]),  # also where something else speaks against it
    ],
)
def test_reasons_are_words_that_the_item_has_and_the_user_likes(slopes, expected):
    assert GENRES.names == ["A", "B", "C"]
    assert reasons_for(GENRES, np.array(slopes, float), range(6)) == expected


def test_reasons_are_those_of_the_items_asked_for_in_their_order():
    slopes = np.array([1.0, 2.0, 3.0])
    everything = reasons_for(GENRES, slopes, range(6))
    for positions in ([4, 0, 2], np.array([5, 5, 1]), []):
        assert reasons_for(GENRES, slopes, positions) == [everything[j] for j in positions]


def test_numbers_are_high_or_low():
    years = read(4, year=[1900, 2000, 2100])
    assert years.names == ["year", "year squared"]
    assert reasons_for(years, np.array([1.0, 0.0]), range(4)) == [(), (), ("high year",), ()]
    assert reasons_for(years, np.array([-1.0, 0.0]), range(4)) == [("low year",), (), (), ()]


def test_a_number_and_its_square_are_one_reason():
    years = read(5, year=[1, 2, 3, 4, 10])  # about 4, and the squares about 10
    # Somebody who likes what is far from typical likes the last one.
    assert reasons_for(years, np.array([0.0, 1.0]), [0, 4]) == [(), ("high year",)]
    # The square counts against it: -6 + 26 / 10.
    assert reasons_for(years, np.array([-1.0, 0.1]), [0, 4]) == [("low year",), ()]
    assert reasons_for(years, np.array([-1.0, 0.3]), [0, 4]) == [("low year",), ("high year",)]
    both = read(5, year=[1, 2, 3, 4, 10], length=[9, 1, 5, 2, 3], kind=["x", "y", "y", "y", "y"])
    assert both.names == ["year", "year squared", "length", "length squared", "x", "y"]
    assert reasons_for(both, np.array([0, 1, 0, 1, 0, 0.0]), [4]) == [("high year",)]
    assert reasons_for(both, np.array([-1, 0, 1, 0, 0, 0.0]), [0]) == [("high length", "low year")]
    assert reasons_for(both, np.array([-1, 0, 1, 0, 9, 0.0]), [0]) == [("x", "high length")]


def test_columns_of_arrays_are_called_features():
    features = read_item_features(np.array([[0, 5.0], [1, 3.0]]), Catalogue(2), "Owner")
    slopes = np.array([1.0, 0.2])
    assert reasons_for(features, slopes, [0, 1]) == [("high feature 1",), ("high feature 0",)]
    assert reasons_for(read(2, **{"7th": [0, 1]}), np.array([1.0]), [1]) == [("high 7th",)]


def test_words_of_two_columns_are_told_apart():
    features = read(3, genre=["dark", "light", "light"], mood=["dark", "dark", "light"])
    assert reasons_for(features, np.ones(4), [0, 2]) == [("genre: dark", "mood: dark"), ("mood: light", "genre: light")]


@given(st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=3), st.permutations(range(6)))
def test_no_item_is_praised_for_a_word_that_it_does_not_have(slopes, positions):
    told = reasons_for(GENRES, np.array(slopes), positions)
    for position, reasons in zip(positions, told, strict=True):
        assert set(reasons) <= WORDS[position] and len(reasons) <= MOST_REASONS
        assert all(slopes[GENRES.names.index(word)] > 0 for word in reasons)


def test_numbers_of_any_size_stop_nothing():
    """A file from a stranger may have any slopes; the values of features are checked."""
    features = ItemFeatures(GENRES.columns, GENRES.values, GENRES.typical)
    for slopes in ([1e308] * 3, [-1e308] * 3, [np.nan] * 3, [np.inf, -np.inf, 0.0]):
        with np.errstate(all="ignore"):
            told = reasons_for(features, np.array(slopes), range(6))
        assert all(set(reasons) <= words for reasons, words in zip(told, WORDS, strict=True))
