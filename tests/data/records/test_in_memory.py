"""Records in memory: arrays as they are, tables by the names of their columns."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from hushrank.data.records.columns import ONE_A_PERSON
from hushrank.data.records.in_memory import read_in_memory
from hushrank.exceptions import InvalidParameter

TABLE = {"user": ["ann", "bob", "ann"], "age": [31.0, 47.0, 11.0], "target": [0.5, 1.5, 2.5], "height": [1.0, 2.0, 3.0]}
FRAMES = {
    "pandas": pd.DataFrame(TABLE).astype({"user": "string"}),
    "polars": pl.DataFrame(TABLE),
    "Arrow": pa.table(TABLE),
    "Arrow batch": pa.RecordBatch.from_pydict(TABLE),
}


def all_of(origin, max_rows=2):
    batches = list(origin.batches(max_rows, origin.dtype))
    ids = [cell for batch in batches if batch.ids is not None for cell in batch.ids.to_pylist()]
    return np.concatenate([batch.X for batch in batches]).tolist(), [y for batch in batches for y in batch.y], ids


@pytest.mark.parametrize("kind", FRAMES)
def test_tables_by_name(kind):
    origin = read_in_memory(FRAMES[kind], None, None, None, "A")
    assert (origin.columns, origin.n_records, origin.has_users) == (("age", "height"), 3, True)
    assert all_of(origin) == ([[31, 1], [47, 2], [11, 3]], [0.5, 1.5, 2.5], ["ann", "bob", "ann"])
    origin = read_in_memory(FRAMES[kind], "height", "user", ["target", "age"], "A")
    assert all_of(origin)[:2] == ([[0.5, 31], [1.5, 47], [2.5, 11]], [1, 2, 3])
    assert origin.roles.features == ("target", "age")


@pytest.mark.parametrize("kind", FRAMES)
def test_answers_and_users_may_lie_beside_a_table(kind):
    table = FRAMES[kind]
    origin = read_in_memory(table, [7, 8, 9], [1, 2, 1], ["age"], "A")
    assert all_of(origin) == ([[31], [47], [11]], [7, 8, 9], [1, 2, 1])
    origin = read_in_memory(table, np.arange(3), "user", ["age"], "A")
    assert all_of(origin)[2] == ["ann", "bob", "ann"]
    numbers = read_in_memory(pl.DataFrame(TABLE).select("age", "height", "target"), [7, 8, 9], None, None, "A")
    assert not numbers.has_users and numbers.columns == ("age", "height")
    assert read_in_memory(table, [7, 8, 9], [1, 2, 1], None, "A").columns == ("age", "height")
    asked = read_in_memory(table, [7, 8, 9], [1, 2, 1], ["target", "age"], "A")
    assert all_of(asked) == ([[0.5, 31], [1.5, 47], [2.5, 11]], [7, 8, 9], [1, 2, 1])


def test_arrays():
    X = np.arange(6.0).reshape(3, 2)
    origin = read_in_memory(X, [1, 2, 3], ["a", None, "b"], None, "A")
    [batch] = origin.batches(9, origin.dtype)
    assert np.shares_memory(batch.X, X) and batch.ids.to_pylist() == ["a", None, "b"] and origin.roles is None
    assert not read_in_memory(X, [1, 2, 3], None, None, "A").has_users


@pytest.mark.parametrize("kind", FRAMES)
def test_records_of_one_person_each_have_no_users(kind):
    origin = read_in_memory(FRAMES[kind], None, ONE_A_PERSON, ["age"], "A")
    assert not origin.has_users and all_of(origin) == ([[31], [47], [11]], [0.5, 1.5, 2.5], [])
    with pytest.raises(
        InvalidParameter, match=r"^X of A must be records of one person each, .*; got \"a column 'user'"
    ):
        read_in_memory(FRAMES[kind], None, ONE_A_PERSON, None, "A")
    assert not read_in_memory(np.ones((2, 1)), [1, 2], ONE_A_PERSON, None, "A").has_users


def test_the_stored_index_of_a_pandas_table_is_no_feature():
    table = pa.Table.from_pandas(pd.DataFrame({"a": [1.0], "target": [2.0]}, index=pd.Index([5], name="key")))
    assert "key" in table.column_names
    assert read_in_memory(table, None, None, None, "A").columns == ("a",)


REFUSED = {
    "features of an array": (
        (np.ones((3, 2)), TABLE["target"], None, ["a"]),
        "features of A must be None for data whose columns have no names; got ['a'].",
    ),
    "no answers": (
        (np.ones((3, 2)), None, None, None),
        "y of A must be a vector, one number for each record; got None.",
    ),
    "a name for an array": (
        (np.ones((3, 2)), "target", None, None),
        "y of A must be real numbers of at most double precision; got '<U6'.",
    ),
    "users by name for an array": (
        (np.ones((3, 2)), TABLE["target"], "user", None),
        "users of A must be int64 or str ids in a list, array or column; got 'str'.",
    ),
    "texts as numbers": (
        (pl.DataFrame({**TABLE, "note": "7.25"}), None, None, None),
        "X of A must be a table of real numbers and booleans; got \"column 'note' of type String\".",
    ),
    "texts as answers": (
        (pl.DataFrame({**TABLE, "target": "7.25"}), None, None, None),
        "y of A must be real numbers of at most double precision; got 'a column of type large_string'.",
    ),
    "floats as users": (
        (pl.DataFrame({**TABLE, "user": 7.25}), None, None, None),
        "users of A must be int64 or str ids; got 'double'.",
    ),
    "objects as users": (
        (pd.DataFrame(TABLE).astype({"user": object}), None, None, None),
        "users of A must be int64 or str ids (astype(\"string\")); got 'object'.",
    ),
    "fewer answers": (
        (pl.DataFrame(TABLE), [1.0], None, ["age"]),
        "y of A must be a vector of 3 numbers, one for each record; got '1 numbers'.",
    ),
    "repeated names": (
        (pa.table([[1], [2], [3]], names=["a", "a", "target"]), None, None, None),
        "X of A must be a table whose column names differ; got \"two columns 'a'\".",
    ),
    "lazy": (
        (pl.LazyFrame(TABLE), None, None, None),
        "X of A must be data that can be read: collect() the lazy frame, or pass the path of its Parquet file; "
        "got 'LazyFrame'.",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_refusals_show_no_values(kind):
    data, message = REFUSED[kind]
    with pytest.raises(InvalidParameter) as refusal:
        read_in_memory(*data, "A")
    assert str(refusal.value) == message
