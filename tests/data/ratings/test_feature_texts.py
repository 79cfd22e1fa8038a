"""Columns of encoded features: names that differ, texts that come back, and refusals of what no fit writes."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushrank.data.ratings.feature_texts import FeatureColumn, check_numbers, is_unicode, names_of, to_columns, to_text


def number(source):
    return FeatureColumn(source, "number", "")


def square(source):
    return FeatureColumn(source, "square", "")


def word(source, text):
    return FeatureColumn(source, "word", text)


COLUMNS = (
    number("year"), square("year"), word("genres", "Comedy"), word("genres", "Film Noir"), word("mood", "h\u00e9"),
    number("7"),
)  # fmt: skip
TEXTS = [
    '["year","number",""]', '["year","square",""]', '["genres","word","Comedy"]', '["genres","word","Film Noir"]',
    '["mood","word","h\u00e9"]', '["7","number",""]',
]  # fmt: skip


def test_columns_have_a_text_each_and_come_back():
    assert [to_text(column) for column in COLUMNS] == TEXTS
    for texts in (TEXTS, tuple(TEXTS), np.array(TEXTS, object), np.array(TEXTS)):
        assert to_columns(texts) == COLUMNS


def test_names_are_words_where_those_are_unambiguous():
    assert names_of(COLUMNS) == ["year", "year squared", "Comedy", "Film Noir", "h\u00e9", "7"]
    both = (number("Comedy"), word("genres", "Comedy"), word("genres", "Drama"), word("mood", "Comedy"))
    assert names_of(both) == ["Comedy", "genres: Comedy", "Drama", "mood: Comedy"]


def test_names_differ_though_sources_and_words_are_chosen_to_meet():
    of_a, of_x = (word("a", "b: c"), word("a: b", "c")), (word("x", "b: c"), word("x", "c"))
    columns = (number("a: b: c"), *of_a, *of_x, number("a: b: c (2)"))
    assert names_of(columns) == ["a: b: c", "a: b: c (3)", "a: b: c (4)", "x: b: c", "x: c", "a: b: c (2)"]
    years = (number("year"), square("year"), number("year squared"), square("year squared"), word("x", "year squared"))
    shown = ["year", "year squared", "year squared (2)", "year squared squared", "x: year squared"]
    assert names_of(years) == shown


@given(st.lists(st.tuples(st.text("a: ", min_size=1, max_size=4), st.text("a: ", max_size=4)), unique=True))
def test_names_always_differ(pairs):
    columns = [word(source, text) if text else number(source) for source, text in pairs]
    columns += [square(column.source) for column in columns if column.kind == "number"]
    names = names_of(columns)
    assert len(set(names)) == len(names) == len(columns)


PARTS, WRITTEN = "does not have three parts", "is one that no fit writes"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", PARTS),
        ("year", PARTS),
        (None, PARTS),
        (7, PARTS),
        (b'["year","number",""]', PARTS),
        ('{"year": 1}', PARTS),
        ('["year","number"]', PARTS),
        ('["year","number","",""]', PARTS),
        ('["year","number",null]', PARTS),
        ('["year",["number"],""]', PARTS),
        ("[" * 10**5, PARTS),
        ("9" * 10**5, PARTS),
        ('["year", "number", ""]', PARTS),  # spaces
        ('["ye\\u0061r","number",""]', WRITTEN),
        ('["year","number","x"]', WRITTEN),
        ('["year","date",""]', WRITTEN),
        ('["year","Square",""]', PARTS),
        ('["year","square","x"]', WRITTEN),
        ('["year","square"," "]', WRITTEN),
        ('["year squared","square"]', PARTS),
        ('["genres","word",""]', WRITTEN),
        ('["genres","word"," Comedy"]', WRITTEN),
        ('["genres","word","Comedy|Drama"]', WRITTEN),
        ('["","number",""]', WRITTEN),
        ('["item","number",""]', WRITTEN),
        ('["\\ud800","number",""]', WRITTEN),
        ('["\ud800","number",""]', WRITTEN),
    ],
    ids=lambda value: type(value).__name__,
)
def test_texts_that_no_fit_writes_are_refused(text, message):
    with pytest.raises(ValueError, match=f"^a text about a column of its item features {message}$"):
        to_columns([*TEXTS, text])


@pytest.mark.parametrize(
    "columns",
    [
        (number("a"), number("a")),
        (number("a"), number("b"), number("a")),
        (word("a", "x"), word("a", "x")),
        (word("a", "y"), word("a", "x")),
        (word("a", "x"), number("b"), word("a", "y")),
        (number("a"), word("a", "x")),
        (word("a", "x"), number("a")),
        (square("a"),),
        (square("a"), number("a")),
        (number("a"), square("b")),
        (number("a"), square("a"), square("a")),
        (number("a"), number("b"), square("a")),
        (number("a"), square("a"), number("a")),
        (word("a", "x"), square("a")),
        (number("a"), square("a"), word("a", "x")),
        tuple(word("a", f"{k:04}") for k in range(1025)),
    ],
)
def test_columns_in_an_order_that_no_fit_gives_are_refused(columns):
    with pytest.raises(ValueError, match="in an order that no fit gives"):
        to_columns([to_text(column) for column in columns])


def test_other_numbers_of_columns_are_refused():
    assert len(to_columns([to_text(number(str(j))) for j in range(4096)])) == 4096
    assert len(to_columns([to_text(make(str(j))) for j in range(2048) for make in (number, square)])) == 4096
    for n_columns in (0, 4097):
        with pytest.raises(ValueError, match=f"it has {n_columns} columns of item features, not 1 to 4096"):
            to_columns([to_text(number(str(j))) for j in range(n_columns)])
    for texts in (None, "abc", {"a": 1}, 5, np.array("a"), np.array([TEXTS])):
        with pytest.raises(ValueError, match="are no list of texts"):
            to_columns(texts)


TWO = (number("year"), word("genres", "Comedy"))
VALUES, TYPICAL = np.array([[1990.0, 1.0], [2000.0, 0.5], [1995.0, 0.0]]), np.array([1995.0, 0.5])


def changed(array, place, number):
    array = array.copy()
    array[place] = number
    return array


@pytest.mark.parametrize(
    ("values", "typical", "message"),
    [
        (VALUES.tolist(), TYPICAL, "the values of its item features are no array of float64 in 2 dimensions"),
        (VALUES.astype(np.float32), TYPICAL, "the values of its item features are no array of float64"),
        (VALUES[0], TYPICAL, "the values of its item features are no array of float64 in 2 dimensions"),
        (VALUES, TYPICAL[:, None], "the typical values of its item features are no array of float64 in 1 dim"),
        (VALUES, None, "the typical values of its item features are no array"),
        (VALUES[:, :1], TYPICAL, r"the values of its item features have the shape \(3, 1\)"),
        (VALUES[:0], TYPICAL, r"the values of its item features have the shape \(0, 2\)"),
        (VALUES, TYPICAL[:1], r"the typical values of its item features have the shape \(1,\)"),
        (changed(VALUES, (0, 0), np.nan), TYPICAL, "are not all finite and of size <= 1e"),
        (changed(VALUES, (0, 0), np.inf), TYPICAL, "are not all finite and of size <= 1e"),
        (changed(VALUES, (0, 0), 1e101), TYPICAL, "are not all finite and of size <= 1e"),
        (VALUES, changed(TYPICAL, 0, np.nan), "the typical values of its item features are not all finite"),
        (changed(VALUES, (0, 1), 1.5), TYPICAL, r"words with values outside of \[0, 1\]"),
        (changed(VALUES, (0, 1), -0.5), TYPICAL, r"words with values outside of \[0, 1\]"),
        (VALUES, changed(TYPICAL, 0, 2001.0), "typical values of its item features are outside of their values"),
        (VALUES, changed(TYPICAL, 1, -0.5), "typical values of its item features are outside of their values"),
    ],
)
def test_numbers_that_no_features_have_are_refused(values, typical, message):
    check_numbers(TWO, VALUES, TYPICAL)
    with pytest.raises(ValueError, match=message):
        check_numbers(TWO, values, typical)


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused_with_a_value_error(text):
    for claimed in (text, json.dumps([text, "word", text]), json.dumps([text, "number", ""], ensure_ascii=False)):
        try:
            [column] = to_columns([claimed])
        except ValueError as error:
            assert type(error) is ValueError
        else:
            assert to_text(column) == claimed


def test_halves_of_surrogate_pairs_are_no_unicode():
    assert is_unicode("h\u00e9\U0001f600") and not is_unicode("a\ud800")
