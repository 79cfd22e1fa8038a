"""Words out of texts, categories and lists: the same words in every form."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushrank.data.ratings.feature_words import guess_separator, is_text, split_column, words_of

TEXTS = ["Drama|Comedy", None, " Comedy ", "", "|", "Drama", "Film Noir | Drama|Drama", "Drama|Comedy"]
LISTS = [["Drama", "Comedy"], None, ["Comedy"], [], [None, " "], ["Drama"], ["Film Noir", "Drama ", "Drama"],
         ["Comedy|Drama"]]  # fmt: skip
WORDS = [{"Drama", "Comedy"}, set(), {"Comedy"}, set(), set(), {"Drama"}, {"Film Noir", "Drama"}, {"Drama", "Comedy"}]

FORMS = {
    "string": pa.array(TEXTS),
    "large": pa.array(TEXTS, pa.large_string()),
    "view": pa.array(TEXTS, pa.string_view()),
    "chunks": pa.chunked_array([TEXTS[:3], [], TEXTS[3:]], pa.string()),
    "slice": pa.array(["x", *TEXTS, "y"])[1:-1],
    "dictionary": pa.array(TEXTS).dictionary_encode(),
    "two dictionaries": pa.chunked_array([pa.array(part).dictionary_encode() for part in (TEXTS[:3], TEXTS[3:])]),
    "category": pa.Array.from_pandas(pd.Series(TEXTS, dtype="string").astype("category")),
    "polars": pl.Series(TEXTS).to_arrow(),
    "polars categories": pl.Series(TEXTS, dtype=pl.Categorical).to_arrow(),
    "lists": pa.array(LISTS),
    "large lists": pa.array(LISTS, pa.large_list(pa.large_string())),
    "lists in chunks": pa.chunked_array([LISTS[:2], LISTS[2:]], pa.list_(pa.string())),
    "slice of lists": pa.array([["x", "z"], *LISTS, ["y"]])[1:-1],
    "polars lists": pl.Series(LISTS).to_arrow(),
    "lists of one size": pa.array(
        [None if one is None else [*one, None, None, None][:3] for one in LISTS], pa.list_(pa.string(), 3)
    ),
    "lists of categories": pl.Series(LISTS, dtype=pl.List(pl.Categorical)).to_arrow(),
}


def sets_of(found, n_rows):
    rows = [set() for _ in range(n_rows)]
    for row, code in zip(found.rows.tolist(), found.codes.tolist(), strict=True):
        assert found.words[code] not in rows[row]  # once
        rows[row].add(found.words[code])
    return rows


@pytest.mark.parametrize("form", FORMS)
def test_every_form_has_the_same_words(form):
    column = FORMS[form]
    assert is_text(column.type)
    found = split_column(column, np.full(8, True))
    assert found.words == ("Comedy", "Drama", "Film Noir") and sets_of(found, 8) == WORDS


@pytest.mark.parametrize("form", FORMS)
def test_words_of_other_rows_do_not_exist(form):
    found = split_column(FORMS[form], np.arange(8) < 6)
    assert found.words == ("Comedy", "Drama") and sets_of(found, 8)[:6] == WORDS[:6]
    assert found.rows.max() == 5


def test_categories_that_are_integers_are_words():
    found = split_column(pa.array([10, 9, None, 10]).dictionary_encode(), np.full(4, True))
    assert found.words == ("10", "9") and sets_of(found, 4) == [{"10"}, {"9"}, set(), {"10"}]


@pytest.mark.parametrize(
    "column",
    [pa.array([], pa.string()), pa.array(["", None, " | "]), pa.array([[], None]), pa.nulls(2).dictionary_encode(),
     pa.array([[]], pa.list_(pa.string())), pa.chunked_array([], pa.large_list(pa.string()))],
)  # fmt: skip
def test_a_column_may_have_no_words(column):
    assert is_text(column.type)
    found = split_column(column, np.full(len(column), True))
    assert found.words == () and found.rows.shape == found.codes.shape == (0,)


@pytest.mark.parametrize(
    "dtype",
    [pa.int64(), pa.float64(), pa.bool_(), pa.null(), pa.binary(), pa.large_binary(), pa.date32(), pa.timestamp("s"),
     pa.list_(pa.int64()), pa.list_(pa.list_(pa.string())), pa.struct([("a", pa.string())]), pa.list_(pa.binary()),
     pa.map_(pa.string(), pa.string()), pa.dictionary(pa.int8(), pa.float64()), pa.dictionary(pa.int8(), pa.binary())],
    ids=str,
)  # fmt: skip
def test_other_types_are_no_text(dtype):
    assert not is_text(dtype)


@given(st.lists(st.one_of(st.none(), st.text("ab| \t\u00e9", max_size=8)), max_size=12))
def test_words_are_those_of_each_text(texts):
    found = split_column(pa.array(texts, pa.string()), np.full(len(texts), True))
    expected = [words_of(text) if text is not None else set() for text in texts]
    assert found.words == tuple(sorted(set().union(*expected))) and sets_of(found, len(texts)) == expected
    assert all(word == word.strip() and word and "|" not in word for word in found.words)


def test_other_separators_are_guessed_where_what_they_separate_recurs():
    def guess(*texts):
        words = sorted(set(texts))
        return guess_separator(words, np.array([words.index(text) for text in texts]))

    assert guess("a, b", "b, c", "a", "c, a", "c", "b") == ", "
    assert guess("a;b", "b;c", "a;c", "a") == ";" and guess("a / b", "b / a", "a", "b", "a / c") == " / "
    assert guess("Heat, The", "Jaws, A", "Up, Up", "Ran, x") is None  # titles: their parts are more
    assert guess("a", "b", "a, b", "a", "b", "b", "a", "c") is None  # too few
    assert guess() is None and guess("a") is None
