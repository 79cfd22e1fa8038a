"""Tables: every numeric type of every library gives the same float64 blocks, and nulls are NaN."""

import decimal
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from hushrank.data.frames import is_table, to_block
from hushrank.data.rows.table_rows import read_table
from hushrank.exceptions import InvalidParameter

VALUES = {"i": [1, 2, 3], "f": [0.5, math.nan, math.inf], "b": [True, False, True]}
EXPECTED = np.array([[1, 0.5, 1], [2, math.nan, 0], [3, math.inf, 1]])
FRAMES = [pd.DataFrame, pl.DataFrame, pa.table]


def joined(rows, max_rows=8192):
    blocks = list(rows.blocks(max_rows))
    assert all(block.dtype == np.float64 and len(block) <= max_rows for block in blocks)
    return np.vstack(blocks)


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("max_rows", [1, 2, 8192])
def test_numbers_and_booleans_become_float64(frame, max_rows):
    rows = read_table(frame(VALUES), "PCA")
    assert (rows.n_samples, rows.n_features, rows.columns) == (3, 3, ("i", "f", "b"))
    assert np.array_equal(joined(rows, max_rows), EXPECTED, equal_nan=True)


@pytest.mark.parametrize("frame", FRAMES)
def test_columns_are_chosen_and_ordered(frame):
    rows = read_table(frame({**VALUES, "text": ["x", "y", "z"]}), "PCA", ["b", "i"])
    assert rows.columns == ("b", "i")
    assert joined(rows).tolist() == [[1, 1], [0, 2], [1, 3]]


NULLS = [
    pd.DataFrame({"x": pd.array([2**62 + 1, None], dtype="Int64"), "b": pd.array([True, None], dtype="boolean")}),
    pd.DataFrame({"x": pd.array([2**62 + 1, None], dtype="int64[pyarrow]"), "b": pd.array([1.0, None], "Float32")}),
    pl.DataFrame({"x": [2**62 + 1, None], "b": [True, None]}),
    pa.table({"x": [2**62 + 1, None], "b": [True, None]}),
    pa.table({"x": pa.array([2**62 + 1, None], pa.uint64()), "b": pa.array([1.0, None], pa.float32())}),
]


@pytest.mark.parametrize("data", NULLS)
def test_nulls_become_nan_and_large_integers_never_raise(data):
    assert np.array_equal(joined(read_table(data, "PCA")), [[2.0**62, 1], [math.nan] * 2], equal_nan=True)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32"])
def test_every_width_is_read(dtype):
    X = np.array([[0, 1], [100, 7]], dtype)
    expected = X.astype(np.float64)
    for data in (pd.DataFrame(X, columns=["a", "b"]), pl.DataFrame(X, schema=["a", "b"])):
        assert np.array_equal(joined(read_table(data, "PCA")), expected)
    assert np.array_equal(joined(read_table(pa.table({"a": X[:, 0], "b": X[:, 1]}), "PCA")), expected)


def test_arrow_types_of_the_edge():
    half = pa.array(np.array([0.5, 2.0], np.float16))
    chunked = pa.chunked_array([pa.array([1]), pa.array([], pa.int64()), pa.array([None], pa.int64())])
    assert to_block([half, chunked], 2).tolist()[0] == [0.5, 1.0]
    signaling = np.array([0x7FA00000], np.uint32).view(np.float32)
    assert np.isnan(to_block([pa.array(signaling, from_pandas=False)], 1)).all()


def test_the_index_is_no_column():
    frame = pd.DataFrame({"a": [1.0, 2.0]}, index=pd.Index(["ann", 3], name="user"))  # mixed: Arrow cannot hold it
    rows = read_table(frame, "PCA")
    assert rows.columns == ("a",) and joined(rows).tolist() == [[1], [2]]
    stored = pa.Table.from_pandas(pd.DataFrame({"a": [1.0]}, index=pd.Index([7], name="user")))
    assert stored.column_names == ["a", "user"]
    assert read_table(stored, "PCA").columns == ("a",)
    assert joined(read_table(stored, "PCA", ["user"])).tolist() == [[7]]


def test_names_that_are_not_strings_are_not_reported():
    frame = pd.DataFrame(np.arange(6.0).reshape(2, 3), columns=[2, 0, "x"])
    assert read_table(frame, "PCA").columns is None
    assert joined(read_table(frame, "PCA")).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert joined(read_table(frame, "PCA", [0])).tolist() == [[1], [4]]
    assert read_table(frame, "PCA", ["x"]).columns == ("x",)


@pytest.mark.parametrize("frame", FRAMES)
def test_tables_without_rows_have_columns(frame):
    rows = read_table(frame({"a": np.empty(0), "b": np.empty(0)}), "PCA")
    assert (rows.n_samples, rows.n_features, list(rows.blocks())) == (0, 2, [])


def test_record_batches_are_tables():
    assert joined(read_table(pa.RecordBatch.from_pydict({"a": [1, 2]}), "PCA")).tolist() == [[1], [2]]


def test_wide_tables_give_short_blocks():
    rows = read_table(pa.table({f"c{j}": np.zeros(5000, np.int8) for j in range(1000)}), "PCA")
    assert [len(block) for block in rows.blocks()] == [4194, 806]


@pytest.mark.parametrize("table", [pl.DataFrame, pa.table])
def test_columns_without_any_value_are_nan(table):
    """Whether a part of the data has a value in some column may depend on one person."""
    block = joined(read_table(table({"t": [None, None], "a": [1, 2]}), "PCA"))
    assert np.array_equal(block, [[np.nan, 1], [np.nan, 2]], equal_nan=True)


# Refusals.

DAY = np.array(["2020-01-01"], "M8[ns]")
REFUSED = [
    (pd.DataFrame({"a": [1.0], "t": ["7.25"]}, dtype=object), "'a' of type Object"),
    (pd.DataFrame({"a": [1.0], "t": pd.array(["7.25"], "string")}), "'t' of type String"),
    (pd.DataFrame({"t": DAY}), "'t' of type Datetime"),
    (pd.DataFrame({"t": pd.Categorical([1])}), "'t' of type Categorical"),
    (pd.DataFrame({"t": pd.interval_range(0, 1)}), "'t' of type Unknown"),
    (pd.DataFrame({"t": pd.arrays.SparseArray([7.25, 0.0])}), "'t' of type Unknown"),  # Arrow has no such type
    (pl.DataFrame({"a": [1.0], "t": ["7.25"]}), "'t' of type String"),
    (pl.DataFrame({"t": pl.Series([7.25j], dtype=pl.Object)}), "'t' of type Object"),
    (pl.DataFrame({"t": [decimal.Decimal("7.25")]}), "'t' of type Decimal"),
    (pl.DataFrame({"t": [[7.25]]}), "'t' of type List"),
    (pa.table({"a": [1.0], "t": ["7.25"]}), "'t' of type string"),
    (pa.table({"t": [decimal.Decimal("7.25")]}), "'t' of type decimal128"),
    (pa.table({"t": pa.array(["7.25"]).dictionary_encode()}), "'t' of type dictionary"),
    (pa.table({"t": pa.array(DAY)}), "'t' of type timestamp"),
]


@pytest.mark.parametrize(("data", "part"), REFUSED)
def test_other_types_are_refused_by_column_and_type(data, part):
    with pytest.raises(InvalidParameter) as refusal:
        read_table(data, "PCA")
    message = str(refusal.value)
    assert message.startswith('X of PCA must be a table of real numbers and booleans; got "column ')
    assert part in message and "7.25" not in message and "\n" not in message


@pytest.mark.parametrize(
    "column", [np.array([7.25j]), np.array([7.25], np.complex64), np.empty(0, complex), pd.arrays.SparseArray([7.25j])]
)
def test_complex_columns_are_refused_with_advice(column):
    """Arrow, through which frames are read, has no complex numbers."""
    with pytest.raises(InvalidParameter) as refusal:
        read_table(pd.DataFrame({"a": np.ones(len(column)), "t": column}), "PCA")
    requirement = "a table of real numbers and booleans (complex data: an array, npy or npz file)"
    assert str(refusal.value) == f"X of PCA must be {requirement}; got \"column 't' of complex numbers\"."


@pytest.mark.parametrize(
    "data",
    [pd.DataFrame([[1, 2]], columns=["a", "a"]), pa.table([[1], [2]], names=["a", "a"])],
)
def test_repeated_names_are_refused(data):
    with pytest.raises(InvalidParameter, match="a table whose column names differ; got \"two columns 'a'\""):
        read_table(data, "PCA")


@pytest.mark.parametrize("frame", FRAMES)
def test_a_missing_column_is_refused_by_name(frame):
    with pytest.raises(InvalidParameter, match=r"the column 'age'; got .no column 'age', but 'i', 'f', 'b'"):
        read_table(frame(VALUES), "PCA", ["i", "age"])


def test_tables_without_columns_are_refused():
    stored_index = pa.Table.from_pandas(pd.DataFrame(index=pd.Index([7], name="user")))
    for data in (pd.DataFrame(index=[0, 1]), pl.DataFrame(), stored_index):
        with pytest.raises(InvalidParameter, match=r"0 feature\(s\)"):
            read_table(data, "PCA")


def test_lazy_frames_are_refused_with_advice():
    lazy = pl.LazyFrame({"a": [1.0]})
    assert is_table(lazy)
    with pytest.raises(InvalidParameter, match=r"collect\(\) the lazy frame, or pass the path .*; got 'LazyFrame'"):
        read_table(lazy, "PCA")


@pytest.mark.parametrize("make", FRAMES)
def test_narrow_columns_can_be_read_in_single_precision(make):
    narrow = {"i": np.array([1, 2], np.int16), "f": np.array([0.1, np.nan], np.float32), "b": [True, False]}
    rows = read_table(make(narrow), "A")
    [single], [double] = rows.blocks(9, rows.exact_dtype), rows.blocks(9)
    assert rows.exact_dtype == single.dtype == np.float32 and double.dtype == np.float64
    assert np.array_equal(single.astype(np.float64), double, equal_nan=True)
    assert read_table(make({**narrow, "d": [0.1, 0.2]}), "A").exact_dtype == np.float64
