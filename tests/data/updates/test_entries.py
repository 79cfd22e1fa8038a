"""Vectors and tables: types before values, no copies of what needs none, the same updates from every table."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from hushrank.data.updates.entries import (
    Entries,
    name_columns,
    read_table,
    read_vectors,
    table_columns,
    to_deltas,
    to_indices,
)
from hushrank.exceptions import InvalidParameter

NAN = math.nan
ROWS, COLUMNS, DELTAS, USERS = [0, 2, 0], [1, 3, 0], [0.5, 1.0, -2.0], ["ann", None, "bob"]


def refusal_of(call, *args):
    with pytest.raises(InvalidParameter) as refusal:
        call(*args)
    assert "\n" not in str(refusal.value) and "7.25" not in str(refusal.value)
    return str(refusal.value)


def lists_of(entries, most=2):
    """Rows, columns, deltas and users of all chunks, whose form `UpdateChunk` checks."""
    chunks = list(entries.chunks(most))
    names = ("rows", "columns", "deltas") + (("users",) if entries.has_users else ())
    return [[cell for chunk in chunks for cell in getattr(chunk, name).tolist()] for name in names]


# Chunks.


def test_what_has_the_right_type_is_not_copied():
    rows, columns, deltas = np.arange(10), np.arange(10, 20), np.arange(10.0)
    for given in ((rows, columns, deltas), tuple(map(pa.array, (rows, columns, deltas)))):
        chunks = list(read_vectors(*given, None, False, "A").chunks(4))
        assert [len(chunk) for chunk in chunks] == [4, 4, 2]
        for chunk in chunks:
            assert np.shares_memory(chunk.rows, rows) and np.shares_memory(chunk.columns, columns)
            assert np.shares_memory(chunk.deltas, deltas) == isinstance(given[0], np.ndarray)
    chunks = list(read_vectors(rows, columns, deltas, None, False, "A").chunks(100))
    assert len(chunks) == 1 and chunks[0].rows.ctypes.data == rows.ctypes.data


def test_other_types_are_converted_a_chunk_at_a_time():
    rows, deltas = np.arange(10, dtype=np.int32), np.arange(10, dtype=np.float32)
    chunks = read_vectors(rows, rows[::-1], deltas, None, False, "A").chunks(4)
    assert next(chunks).rows.tolist() == [0, 1, 2, 3]
    rows[4:], deltas[4:] = 77, 5.0
    chunk = next(chunks)
    assert chunk.rows.tolist() == [77] * 4 and chunk.deltas.tolist() == [5.0] * 4 and chunk.columns[-1] == 2


def test_vectors_with_strides_and_foreign_bytes_become_plain():
    rows, deltas = np.arange(20)[::2], np.arange(10.0).astype(">f8")
    [chunk] = read_vectors(rows, rows.astype(">i8"), deltas, None, False, "A").chunks(100)
    assert chunk.rows.tolist() == chunk.columns.tolist() == list(range(0, 20, 2))
    assert chunk.deltas.tolist() == list(range(10)) and chunk.deltas.dtype == np.float64
    odd = np.frombuffer(b"x" + np.arange(3).tobytes() + b"yyy", np.uint8)[1:25].view(np.int64)
    assert to_indices(odd).tolist() == [0, 1, 2] and to_indices(odd).flags.aligned


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", ">u8"])
def test_indices_of_every_type_are_themselves_or_do_not_fit(dtype):
    info = np.iinfo(dtype)
    cells = [0, info.max, info.min, 7]
    expected = [cell if cell < 2**63 else -1 for cell in cells]
    assert to_indices(np.array(cells, dtype)).tolist() == expected
    if dtype != ">u8":
        column = pa.array([*cells, None], pa.from_numpy_dtype(np.dtype(dtype)))
        assert to_indices(column).tolist() == [*expected, -1]
        assert to_indices(pa.chunked_array([column[:2], column[2:]])).tolist() == [*expected, -1]
        assert to_indices(column[1:3]).tolist() == expected[1:3]
    assert to_indices(pa.nulls(2)).tolist() == [-1, -1]


def test_deltas_of_every_type_are_numbers():
    for dtype in (pa.int8(), pa.uint64(), pa.float32(), pa.float64()):
        assert np.array_equal(to_deltas(pa.array([1, None, 3], dtype)), [1.0, NAN, 3.0], equal_nan=True)
    assert to_deltas(pa.array([True, False])).tolist() == [1.0, 0.0]
    assert np.isnan(to_deltas(pa.nulls(2))).all()
    assert np.array_equal(to_deltas(pa.chunked_array([[1.5], [None]])), [1.5, NAN], equal_nan=True)
    assert to_deltas(np.array([1, 2], np.uint8)).tolist() == [1.0, 2.0]


def test_entries_are_vectors_of_one_length():
    whole, less, matrix = np.zeros(3, np.int64), np.zeros(2, np.int64), np.zeros((3, 2))
    parts = (less, whole, whole), (whole, whole, matrix), (whole, whole, matrix[0]), (whole, whole, pa.array([1]))
    for vectors in (*parts, (whole, whole, whole, pa.array([725]))):
        message = refusal_of(Entries, *vectors)
        assert message.startswith("entries of Updates must be vectors of one length; got 'shapes [")
    entries = Entries(whole, whole, whole)
    assert (entries.n_updates, entries.has_users, entries.can_repeat) == (3, False, True)


# Vectors.


IDS = {
    "integers": ([7, None, 9], [7, None, 9]),
    "array": (np.array([7, 8, 9]), [7, 8, 9]),
    "unsigned": (np.array([1, 2, 2**64 - 1], np.uint64), [1, 2, 2**64 - 1]),
    "texts": (["ann", None, ""], ["ann", None, ""]),
    "both": ([7, "ann", None], ["7", "ann", None]),
    "pandas": (pd.Series(["a", None, "b"], dtype="string"), ["a", None, "b"]),
    "polars": (pl.Series(["a", None, "b"]), ["a", None, "b"]),
    "categories": (pa.array(["a", None, "a"]).dictionary_encode(), ["a", None, "a"]),
    "nobody": (pa.nulls(3), [None] * 3),
}


@pytest.mark.parametrize("kind", IDS)
def test_users_of_every_form(kind):
    users, expected = IDS[kind]
    entries = read_vectors(ROWS, COLUMNS, DELTAS, users, True, "A")
    assert lists_of(entries) == [ROWS, COLUMNS, DELTAS, expected]


def test_users_of_other_forms_are_refused_without_values():
    def read(users):
        return read_vectors(ROWS, COLUMNS, DELTAS, users, True, "A")

    assert refusal_of(read, [1, 2]) == "users of A must be 3 ids, one for each record; got '2 ids'."
    assert refusal_of(read, np.full(3, 7.25)).startswith("users of A must be a vector of int64 or str ids; got")
    assert refusal_of(read, pd.Series(["a", "b", "c"], dtype=object)).endswith("got 'object'.")
    assert refusal_of(read, [7.25, 1, 2]).endswith("got 'a float among them'.")


def test_types_are_refused_before_values_are_looked_at():
    class Untouchable(list):
        def __iter__(self):
            raise AssertionError("looked at")

    with pytest.raises(InvalidParameter, match="rows of A"):
        read_vectors(np.zeros(3), Untouchable(), Untouchable(), None, False, "A")


# Tables.


PARTS = {"row": ROWS, "column": COLUMNS, "delta": DELTAS, "user": USERS, "note": [None, "x", "7.25"]}
FORMS = {
    "pandas": lambda parts: pd.DataFrame(parts).astype({"user": "string"}),
    "pandas nullable": lambda parts: pd.DataFrame(parts).astype({"user": "string", "row": "Int16"}),
    "polars": pl.DataFrame,
    "Arrow": pa.table,
    "Arrow batch": pa.RecordBatch.from_pydict,
    "Arrow chunks": lambda parts: pa.concat_tables([pa.table(parts)[:1], pa.table(parts)[1:]]),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("spelled", ["column", "col"])
def test_tables_of_every_form(form, spelled):
    parts = {spelled if name == "column" else name: cells for name, cells in PARTS.items()}
    for order in (list(parts), sorted(parts)):
        table = FORMS[form]({name: parts[name] for name in order})
        assert lists_of(read_table(table, True, "A")) == [ROWS, COLUMNS, DELTAS, USERS]
        assert lists_of(read_table(table, False, "A")) == [ROWS, COLUMNS, DELTAS]
        assert read_table(table, True, "A").n_updates == 3


def test_nulls_of_a_table_change_their_own_update_only():
    parts = {"row": [0, None, 2, 3], "column": [1, 1, None, 1], "delta": [1.0, 1.0, 1.0, None]}
    for table in (pa.table(parts), pl.DataFrame(parts), pd.DataFrame(parts).astype({"row": "Int64", "column": "Int8"})):
        rows, columns, deltas = lists_of(read_table(table, False, "A"))
        assert (rows, columns) == ([0, -1, 2, 3], [1, 1, -1, 1])
        assert deltas[:3] == [1.0] * 3 and math.isnan(deltas[3])


@pytest.mark.parametrize("name", ["row", "column", "delta", "user"])
def test_a_column_without_any_value_is_no_reason_to_refuse(name):
    table = pa.table({**PARTS, name: pa.nulls(3)})
    found = dict(zip(PARTS, lists_of(read_table(table, True, "A")), strict=False))
    missing = {"row": [-1] * 3, "column": [-1] * 3, "user": [None] * 3}.get(name)
    assert found[name] == missing if missing else np.isnan(found[name]).all()


def table_of(**changes):
    return pa.table({name: cells for name, cells in (PARTS | changes).items() if cells is not None})


REFUSED = {
    "no rows": (
        table_of(row=None),
        "updates of A must be a table with the columns row, column, delta, user; got 'one without row'.",
    ),
    "no columns": (
        table_of(column=None),
        "updates of A must be a table with the columns row, column, delta, user; got 'one without column'.",
    ),
    "no users": (
        table_of(user=None),
        "updates of A must be a table with the columns row, column, delta, user; got 'one without user'.",
    ),
    "both spellings": (
        table_of(col=COLUMNS),
        "X of A must be a table with one of the columns 'column' and 'col'; got 'both'.",
    ),
    "two of one name": (
        pd.DataFrame([[0, 1, 2.0, 725, 5]], columns=["row", "column", "delta", "user", "delta"]),
        "X of A must be a table whose column names differ; got \"two columns 'delta'\".",
    ),
    "float rows": (
        table_of(row=[7.25] * 3),
        "column 'row' of A must be a vector of integers of at most 64 bits; got 'a column of type double'.",
    ),
    "texts for columns": (
        table_of(column=["7.25"] * 3),
        "column 'column' of A must be a vector of integers of at most 64 bits; got 'a column of type string'.",
    ),
    "texts for deltas": (
        table_of(delta=["7.25"] * 3),
        "column 'delta' of A must be a vector of real numbers, one for each update; got 'a column of type string'.",
    ),
    "float users": (table_of(user=[7.25] * 3), "users of A must be int64 or str ids; got 'double'."),
    "lazy": (
        pl.LazyFrame(PARTS),
        "X of A must be data that can be read: collect() the lazy frame, or pass the path of its Parquet file; "
        "got 'LazyFrame'.",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_unsuitable_tables_are_refused_without_values(kind):
    table, message = REFUSED[kind]
    assert refusal_of(read_table, table, True, "A") == message


def test_columns_that_are_not_needed_may_be_anything():
    table = table_of(user=[7.25] * 3, note=[{"a": 1}] * 3)
    assert lists_of(read_table(table, False, "A")) == [ROWS, COLUMNS, DELTAS]
    frame = pd.DataFrame(PARTS).assign(**{"note": object()})
    frame[5] = 1
    assert lists_of(read_table(frame, False, "A")) == [ROWS, COLUMNS, DELTAS]


def test_columns_are_found_by_name():
    assert name_columns(["user", "delta", 7, "col", "row"], True, "A") == ["row", "col", "delta", "user"]
    assert list(table_columns(pa.table(PARTS), False, "A")) == ["row", "column", "delta"]
