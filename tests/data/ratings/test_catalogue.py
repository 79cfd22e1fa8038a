"""Catalogues: positions of public ids, -1 for every other, and types that are refused before values are seen."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushrank.data.ratings.catalogue import Catalogue
from hushrank.exceptions import InvalidParameter

INTS, WORDS = [30, -10, 2**40], ["tea", "rye", "jam ä"]

INT_FORMS = {
    "list": lambda ids: ids,
    "tuple": tuple,
    "int64": lambda ids: np.array(ids, np.int64),
    "big-endian": lambda ids: np.array(ids, ">i8"),
    "pandas": pd.Series,
    "pandas nullable": lambda ids: pd.Series(ids, dtype="Int64", index=list("xyz")[: len(ids)]),
    "polars": pl.Series,
    "Arrow": pa.array,
    "Arrow chunks": lambda ids: pa.chunked_array([ids[:1], ids[1:]]),
    "dictionary": lambda ids: pa.array(ids).dictionary_encode(),
}
OBJECT_FORMS = {"NumPy": lambda ids: np.array(ids, object), "pandas": lambda ids: pd.Series(ids, dtype=object)}
WORD_FORMS = {
    "list": lambda ids: ids,
    "str": np.array,
    "StringDType": lambda ids: np.array(ids, np.dtypes.StringDType()),
    "pandas": lambda ids: pd.Series(ids, dtype="string"),
    "categorical": lambda ids: pd.Series(ids, dtype="string").astype("category"),
    "polars": pl.Series,
    "polars categorical": lambda ids: pl.Series(ids, dtype=pl.Categorical),
    "Arrow": pa.array,
    "large": lambda ids: pa.array(ids, pa.large_string()),
    "view": lambda ids: pa.array(ids, pa.string_view()),
}


@pytest.mark.parametrize("form", INT_FORMS)
def test_integers_of_every_form(form):
    convert = INT_FORMS[form]
    catalogue = Catalogue(convert(INTS))
    assert catalogue == Catalogue(INTS) and catalogue.ids.to_pylist() == INTS and len(catalogue) == 3
    found = catalogue.positions(convert([2**40, 7, 30]))
    assert found.dtype == np.int64 and found.tolist() == [2, -1, 0]


@pytest.mark.parametrize("form", OBJECT_FORMS)
def test_objects_are_ids_of_one_type(form):
    """What older versions of pandas make of unique() and of columns of texts; a catalogue is public."""
    for ids in (INTS, WORDS):
        assert Catalogue(OBJECT_FORMS[form](ids)) == Catalogue(ids)
    for odd in ([1, "a"], ["a", None], [1.5], [[1], [2]], [b"a"], [True]):
        with pytest.raises(InvalidParameter, match=r"^ids of Catalogue must be"):
            Catalogue(OBJECT_FORMS[form]([*odd, odd[0]][:2]))


def test_texts_that_write_integers_are_those_whatever_the_catalogue():
    written = pa.array([b"7", b"07", b"7.0", b"+7", b"m7", b" 7 "], pa.large_binary())
    for ids in ([5, 7], ["5", "7"], ["m5", "007"]):
        assert Catalogue(ids).positions_of_texts(written).tolist() == [1, 1, 1, 1, -1, 1]


@pytest.mark.parametrize("form", WORD_FORMS)
def test_words_of_every_form(form):
    convert = WORD_FORMS[form]
    catalogue = Catalogue(convert(WORDS))
    assert catalogue == Catalogue(WORDS) and catalogue.ids.to_pylist() == WORDS
    found = catalogue.positions(convert(["jam ä", "oil", "tea", "rye"]))
    assert found.dtype == np.int64 and found.tolist() == [2, -1, 0, 1]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "uint64"])
def test_narrow_and_unsigned_integers(dtype):
    assert Catalogue(np.array([5, 9], dtype)).positions(np.array([9, 8, 5], dtype)).tolist() == [1, -1, 0]


def test_unsigned_ids_beyond_int64_are_unknown_not_negative():
    assert Catalogue([-1, 3]).positions(np.array([2**64 - 1, 3], np.uint64)).tolist() == [-1, 1]
    assert Catalogue(np.array([4, 3], np.uint64)).ids.type == pa.int64()


def test_unsigned_ids_beyond_int64_have_positions():
    ids = [2**64 - 1, 3, 2**63]
    for catalogue in (Catalogue(np.array(ids, np.uint64)), Catalogue(ids)):
        assert catalogue.kind == "int" and catalogue.ids.to_pylist() == ids
        assert catalogue.positions(np.array([3, 2**63, 2**64 - 1, 7], np.uint64)).tolist() == [1, 2, 0, -1]
        assert catalogue.positions([3, -1]).tolist() == [1, -1]  # 2^64 - 1 and -1 have the same bits
        texts = pa.array([b"18446744073709551615", b"03", b"-1", b"x"], pa.large_binary())
        assert catalogue.positions_of_texts(texts).tolist() == [0, 1, -1, -1]
    assert pickle.loads(pickle.dumps(catalogue)) == catalogue


def test_written_ids_are_found_in_their_canonical_form():
    good = {b"7": 0, b"+7": 0, b"007": 0, b"7.0": 0, b"-3": 1, b"9223372036854775807": 2, b"0" * 5000 + b"7": 0}
    bad = [b"", b"7.5", b"0x7", b"1_0", b"--3", b"+", b"9223372036854775808", b"9" * 5000, b"x", b"\xff", b"\xb2", None]
    texts = pa.array([*good, *bad, b"8"], pa.large_binary())
    found = Catalogue([7, -3, 2**63 - 1]).positions_of_texts(texts)
    assert found.dtype == np.int64 and found.tolist() == [*good.values(), *[-1] * len(bad), -1]
    words = Catalogue(["tea", "\xe9", "007"])
    texts = pa.array([b"tea", "\xe9".encode(), b"\xe9", b"", b"7", b"+07.", b" tea", b"Tea"], pa.large_binary())
    assert words.positions_of_texts(texts).tolist() == [0, 1, -1, -1, 2, 2, 0, -1]
    assert words.positions(["7", "07", " tea "]).tolist() == [2, 2, 0] and words.ids.to_pylist()[2] == "007"


def test_nulls_are_unknown():
    assert Catalogue([0, 30]).positions(pa.array([None, 30, 0])).tolist() == [-1, 1, 0]
    assert Catalogue(WORDS).positions(pl.Series([None, "tea"])).tolist() == [-1, 0]
    assert Catalogue(WORDS).positions([None, None]).tolist() == [-1, -1]
    assert Catalogue(INTS).positions(pd.Series([None, 30], dtype="Int64")).tolist() == [-1, 0]


def test_no_ids_have_no_positions():
    for empty in ([], np.array([], np.int64), pa.array([], pa.int8()), pa.chunked_array([], pa.int64())):
        found = Catalogue(3).positions(empty)
        assert found.shape == (0,) and found.dtype == np.int64


def test_a_count_stands_for_the_first_integers():
    assert Catalogue(4) == Catalogue(np.int32(4)) == Catalogue(range(4)) == Catalogue([0, 1, 2, 3])
    assert Catalogue(4).positions([3, 4, -1, 0]).tolist() == [3, -1, -1, 0]


@given(st.lists(st.integers(-20, 20), min_size=1, unique=True), st.lists(st.integers(-25, 25)))
def test_positions_are_those_of_a_dictionary(ids, asked):
    where = {item: position for position, item in enumerate(ids)}
    assert Catalogue(ids).positions(asked).tolist() == [where.get(item, -1) for item in asked]


def test_catalogues_are_values():
    catalogue = Catalogue(WORDS)
    assert repr(catalogue) == "Catalogue(3 str ids)" and repr(Catalogue(5)) == "Catalogue(5 int ids)"
    assert catalogue != Catalogue(WORDS[::-1]) and catalogue != Catalogue(3) and catalogue != WORDS
    copy = pickle.loads(pickle.dumps(catalogue))
    assert copy == catalogue and copy.positions(["tea"]).tolist() == [0]


# Refusals.


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([], "at least one id; got '0 ids, none of them set'"),
        ([None], "at least one id; got '1 ids, none of them set'"),
        ([1, None], "ids that are set and not empty; got '1 others'"),
        (["a", "", " "], "ids that are set and not empty; got '2 others'"),
        ([1, 2, 1, 1], r"different ids \(7, 07 and 7.0 are one\); got '2 repeated'"),
        (["7", "07", "x", "7.0"], r"different ids \(7, 07 and 7.0 are one\); got '2 repeated'"),
        (0, "a count >= 1 and <= 2147483647 or a sequence of ids; got 0"),
        (-3, "a count >= 1 and <= 2147483647 or a sequence of ids; got -3"),
        (True, "int64 or str ids in a list, array or column; got 'bool'"),
    ],
)
def test_unsuitable_catalogues_are_refused(ids, message):
    with pytest.raises(InvalidParameter, match=f"ids of Catalogue must be {message}"):
        Catalogue(ids)


def test_ids_of_the_other_type_are_refused():
    with pytest.raises(InvalidParameter, match="must be int ids as in the catalogue; got 'large_string'"):
        Catalogue(3).positions(["1"])
    with pytest.raises(InvalidParameter, match="must be str ids as in the catalogue; got 'int64'"):
        Catalogue(WORDS).positions([1])


@pytest.mark.parametrize("ids", [pd.Index(["tea", "jam"]), pd.Series(["tea", "jam"], dtype="string").unique()])
def test_pandas_indexes_and_unique_values_are_catalogues(ids):
    assert Catalogue(ids).ids.to_pylist() == ["tea", "jam"]
