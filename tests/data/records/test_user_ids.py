"""Ids of users: the type of an array decides whether it is refused, an id of one person never does."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from hushrank.data.identifiers import IdTable
from hushrank.data.records.user_ids import read_user_ids
from hushrank.exceptions import InvalidParameter

NAN = math.nan


def codes_of(users):
    return IdTable().add(read_user_ids(users, len(users), "A")).tolist()


def refusal_of(users, n_records=None):
    with pytest.raises(InvalidParameter) as refusal:
        read_user_ids(users, len(users) if n_records is None else n_records, "A")
    assert "\n" not in str(refusal.value) and "7.25" not in str(refusal.value)
    return str(refusal.value)


FORMS = {
    "list": list,
    "tuple": tuple,
    "array": np.array,
    "strings of NumPy": lambda ids: np.array([str(i) for i in ids], np.dtypes.StringDType()),
    "foreign byte order": lambda ids: np.array(ids, ">i8") if isinstance(ids[0], int) else np.array(ids, ">U3"),
    "pandas": lambda ids: pd.Series(ids, dtype="int64" if isinstance(ids[0], int) else "string"),
    "pandas index": pd.Index,
    "pandas category": lambda ids: pd.Series(ids, dtype="category"),
    "polars": pl.Series,
    "Arrow": pa.array,
    "Arrow chunks": lambda ids: pa.chunked_array([ids[:1], ids[1:]]),
    "Arrow dictionary": lambda ids: pa.array(ids).dictionary_encode(),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("ids", [[5, -3, 5, 9], ["eve", "ann", "eve", "bob"]])
def test_ids_of_every_form(form, ids):
    assert codes_of(FORMS[form](ids)) == [0, 1, 0, 2]


def test_unsigned_ids_beyond_int64_stay_apart():
    ids = [2**64 - 1, 2**64 - 2, 1, 2**64 - 1, 2**63]
    for users in (ids, np.array(ids, np.uint64), pl.Series(ids, dtype=pl.UInt64), pa.array(ids, pa.uint64())):
        assert codes_of(users) == [0, 1, 2, 0, 3]


MISSING = {
    "integers": [4, None, 4, None, 6],
    "integers and NaN": [4, NAN, 4, np.float32(NAN), 6],
    "texts and NaN": ["a", NAN, "a", None, "b"],
    "empty texts": ["a", "", "a", "  ", "b"],
    "marks of pandas": [4, pd.NA, "4", pd.NaT, 6],
    "pandas": pd.Series([4, None, 4, None, 6], dtype="Int64"),
    "pandas texts": pd.Series(["a", None, "a", NAN, "b"], dtype="string"),
    "pandas category": pd.Series(["a", None, "a", None, "b"], dtype="category"),
    "polars": pl.Series([4, None, 4, None, 6]),
    "Arrow": pa.array(["a", None, "a", None, "b"]),
    "strings of NumPy": np.array(["a", NAN, "a", NAN, "b"], np.dtypes.StringDType(na_object=NAN)),
}


@pytest.mark.parametrize("form", MISSING)
def test_what_is_missing_is_no_user_and_changes_no_other(form):
    assert codes_of(MISSING[form]) == [0, -1, 0, -1, 1]


def test_nothing_but_missing_ids():
    for users in ([None, None], [NAN, None], pa.nulls(2), pl.Series([None, None]), ["", " "]):
        assert codes_of(users) == [-1, -1]
    assert codes_of([]) == codes_of(np.empty(0, np.int64)) == []


def test_one_odd_id_of_a_list_changes_no_other():
    """A list has no type of its own: a huge, negative, odd or foreign id must not decide about all of them."""
    for odd in ("x", "\ud800", 2**64 - 1, -1, "-1", np.int8(-1), np.uint64(2**64 - 1)):
        assert codes_of([7, odd, 8, 7, odd]) == [0, 1, 2, 0, 1]
        assert codes_of([-7, odd, "8", -7, odd]) == [0, 1, 2, 0, 1]
    for none in (2**64, -(2**63) - 1, 10**5000, -(10**5000)):
        assert codes_of([7, none, 8, 7, none]) == [0, -1, 1, 0, -1]


def test_an_integer_and_the_text_that_writes_it_are_one_id():
    assert codes_of([7, "7", "07", "+7", " 7.0 ", "7.5", -7, "-7"]) == [0, 0, 0, 0, 0, 1, 2, 2]
    for spelled in ("7", "07", "+7", "7.0", " 7"):
        assert codes_of([spelled, "7", "8"]) == codes_of(np.array([spelled, "7", "8"])) == [0, 0, 1]


def test_text_that_is_not_unicode_is_itself_everywhere():
    half = ["a", "\ud800", "a", "\udfff", "\ud800"]
    column = pd.Series(half, dtype=pd.StringDtype("python"))
    categories = pd.Series(pd.Categorical(column))
    kept = [categories] if categories.nunique() == 3 else []  # pandas 2 takes the two halves for one
    for users in (half, tuple(half), np.array(half), column, *kept):
        assert codes_of(users) == [0, 1, 0, 2, 1]


REFUSED = {
    "floats": (np.array([7.25, 1]), "a vector of int64 or str ids; got 'float64 (2,)'"),
    "bytes": (np.array([b"7.25"]), "a vector of int64 or str ids; got '|S4 (1,)'"),
    "objects": (np.array(["7.25"], object), "a vector of int64 or str ids; got 'object (1,)'"),
    "matrix": (np.ones((2, 1), np.int64), "a vector of int64 or str ids; got 'int64 (2, 1)'"),
    "matrix of texts": (np.array([["7.25"]]), "a vector of int64 or str ids; got '<U4 (1, 1)'"),
    "pandas objects": (pd.Series(["7.25"], dtype=object), "int64 or str ids (astype(\"string\")); got 'object'"),
    "pandas floats": (pd.Series([7.25]), "int64 or str ids; got 'double'"),
    "Arrow floats": (pa.array([7.25]), "int64 or str ids; got 'double'"),
    "text": ("7.25", "int64 or str ids in a list, array or column; got 'str'"),
    "dict": ({7.25: 1}, "int64 or str ids in a list, array or column; got 'dict'"),
    "pandas complex": (
        pd.Series([7.25j]),
        "int64, uint64 or str ids, None where a record has no user; got 'Series of another type'",
    ),
    "mask": (np.ma.masked_array([1], mask=True), "ids without a mask; got 'MaskedArray'"),
    "list of floats": (
        [1, 7.25],
        "int64, uint64 or str ids, None where a record has no user; got 'a float among them'",
    ),
    "list of truths": (
        [True, 7],
        "int64, uint64 or str ids, None where a record has no user; got 'a bool among them'",
    ),
    "list of bytes": (
        [b"7.25"],
        "int64, uint64 or str ids, None where a record has no user; got 'a bytes among them'",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_refusals_show_no_ids(kind):
    users, message = REFUSED[kind]
    assert refusal_of(users) == f"users of A must be {message}."


def test_there_is_one_id_for_each_record():
    for users in ([1, 2], np.array([1, 2]), pa.array(["a", "b"])):
        assert refusal_of(users, 3) == "users of A must be 3 ids, one for each record; got '2 ids'."
