"""The numbers of records: views of arrays, float64 blocks of bounded size, and refusals that show no values."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from hushrank.data.records import features
from hushrank.data.records.features import Features, PairFeatures, read_features
from hushrank.exceptions import InvalidParameter

REAL = ["bool", "int8", "uint64", "float16", "float32", "float64", ">f8"]


def joined(found, max_rows):
    blocks = list(found.blocks(max_rows))
    assert all(block.dtype == np.float64 and block.flags.c_contiguous and block.flags.aligned for block in blocks)
    assert all(0 < len(block) <= max_rows for block in blocks)
    return np.concatenate([np.empty((0, *found.shape)), *blocks])


@pytest.mark.parametrize("shape", [(7, 6), (7, 2, 3)])
@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("order", ["C", "F"])
def test_blocks_of_arrays_of_every_dtype_and_layout(shape, dtype, order):
    X = np.array(np.arange(42).reshape(shape) % 2, dtype, order=order)
    found = read_features(X, "A")
    assert len(found) == 7 and found.shape == shape[1:] and found.width == 6 and found.columns is None
    for max_rows in (1, 3, 100):
        assert np.array_equal(joined(found, max_rows), X)


SINGLE = ["bool", "int8", "uint8", "int16", "uint16", "float16", "float32", ">f4", ">i2"]


@pytest.mark.parametrize("dtype", SINGLE)
def test_narrow_numbers_are_float32_and_exact(dtype):
    X = np.array([[0, 1], [np.iinfo(dtype).max if np.dtype(dtype).kind in "iu" else 1, 0]]).astype(dtype)
    found = read_features(X, "A")
    [block] = found.blocks(9, found.dtype)
    assert found.dtype == np.float32 == block.dtype and block.flags.c_contiguous
    assert np.array_equal(block.astype(np.float64), X.astype(np.float64))


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64", "float64", ">f8"])
def test_wider_numbers_are_float64(dtype):
    assert read_features(np.ones((2, 2), dtype), "A").dtype == np.float64


def test_lists_have_no_type_of_their_own():
    """One person's number would decide how everybody's are kept."""
    for rows in ([[True, False]], [[1, 2]], ((0.5, 1.0),), [np.ones(2, np.float32)]):
        assert read_features(rows, "A").dtype == np.float64


def test_tables_are_as_wide_as_their_widest_column():
    narrow = {"a": pa.array([1, None], pa.int16()), "b": [True, None], "c": pa.array([0.5, None], pa.float32())}
    for table in (pa.table(narrow), pl.from_arrow(pa.table(narrow)), pa.RecordBatch.from_pydict(narrow)):
        found = read_features(table, "A")
        [block] = found.blocks(9, found.dtype)
        assert found.dtype == block.dtype == np.float32
        assert block[0].tolist() == [1, 1, 0.5] and np.isnan(block[1]).all()
    pandas = pd.DataFrame({"a": pd.array([1, None], "Int16"), "c": np.array([0.5, np.nan], np.float32)})
    assert read_features(pandas, "A").dtype == np.float32
    for wide in (pa.array([1.0, 2.0]), pa.array([1, 2]), pa.nulls(2), pa.array([1, 2], pa.uint32())):
        for table in (pa.table({**narrow, "d": wide}), pl.from_arrow(pa.table({**narrow, "d": wide}))):
            assert read_features(table, "A").dtype == np.float64


def test_columns_are_chosen_by_name():
    found = read_features(pl.DataFrame({"a": [1], "b": ["x"], "c": [3]}), "A", ["c", "a"])
    assert found.columns == ("c", "a") and next(found.blocks()).tolist() == [[3, 1]]


@pytest.mark.parametrize("shape", [(9, 4), (9, 2, 2)])
def test_blocks_of_float64_in_c_order_are_views(shape):
    X = np.ones(shape)
    assert all(np.shares_memory(block, X) for block in read_features(X, "A").blocks(4))


def test_wide_records_come_fewer_at_a_time(monkeypatch):
    found = read_features(np.ones((9, 4)), "A")
    assert [len(block) for block in found.blocks()] == [9]
    monkeypatch.setattr(features, "MAX_BLOCK_ROWS", 5)
    assert [len(block) for block in found.blocks()] == [5, 4]
    monkeypatch.setattr(features, "MAX_BLOCK_BYTES", 3 * 4 * 8)
    assert [len(block) for block in found.blocks()] == [3, 3, 3]
    monkeypatch.setattr(features, "MAX_BLOCK_BYTES", 8)
    assert [len(block) for block in found.blocks()] == [1] * 9


TABLES = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "Arrow": pa.table,
    "Arrow batch": pa.RecordBatch.from_pydict,
}


@pytest.mark.parametrize("form", TABLES)
def test_tables(form):
    found = read_features(TABLES[form]({"a": [1, 2, 3], "b": [True, False, True], "c": [0.5, None, 2.5]}), "A")
    assert (len(found), found.shape, found.columns) == (3, (3,), ("a", "b", "c"))
    expected = [[1, 1, 0.5], [2, 0, np.nan], [3, 1, 2.5]]
    assert np.array_equal(joined(found, 2), expected, equal_nan=True)


def test_nested_lists_and_no_records():
    assert joined(read_features([[1, 2], [3, 4]], "A"), 9).tolist() == [[1, 2], [3, 4]]
    empty = read_features(np.empty((0, 3)), "A")
    assert len(empty) == 0 and list(empty.blocks()) == []


# Pairs.


@pytest.mark.parametrize("max_rows", [1, 3, 100])
def test_pairs_are_joined_some_records_at_a_time(monkeypatch, max_rows):
    monkeypatch.setattr(features, "MAX_BLOCK_BYTES", 8 * 5 * 4)  # four records of five numbers, or more of fewer
    first, second = np.arange(14.0).reshape(7, 2), np.arange(21).reshape(7, 3)[::-1]
    pair = PairFeatures(Features(first), Features(second))
    assert (len(pair), pair.shape, pair.parts, pair.dtype, pair.columns) == (7, (5,), (2, 3), np.float64, None)
    assert np.array_equal(joined(pair, min(max_rows, 4)), np.hstack([first, second]))
    assert max(len(block) for block in pair.blocks(max_rows)) == min(max_rows, 4)


def test_pairs_are_as_wide_as_the_wider_part():
    single, double = np.ones((2, 1), np.float32), np.full((2, 1), 0.1)
    for parts, dtype in (
        ((single, single), np.float32),
        ((single, double), np.float64),
        ((double, single), np.float64),
    ):
        pair = PairFeatures(*map(Features, parts))
        [block] = pair.blocks(9, pair.dtype)
        assert pair.dtype == dtype == block.dtype and block.tolist() == [[parts[0][0, 0], parts[1][0, 0]]] * 2


def test_pairs_of_tables_have_the_names_of_both():
    one, other = (read_features(pl.DataFrame({name: [1.0]}), "A") for name in "ab")
    assert PairFeatures(one, other).columns == ("a", "b") and PairFeatures(one, one).columns == ("a", "a")
    assert PairFeatures(one, read_features([[1.0]], "A")).columns is None


REFUSED = {
    "text": (np.array([["7.25"]]), "real numbers of at most double precision; got '<U4'"),
    "objects": (np.array([[7.25]], object), "real numbers of at most double precision; got 'object'"),
    "complex": (
        np.ones((1, 1)) * 7.25j,
        "real numbers of at most double precision (Complex data not supported); got 'complex128'",
    ),
    "vector": (
        np.full(3, 7.25),
        "of shape (n, d) or (n, d1, d2), a vector or matrix for each record (Reshape your data); got 'shape (3,)'",
    ),
    "four axes": (
        np.ones((1, 1, 1, 1)),
        "of shape (n, d) or (n, d1, d2), a vector or matrix for each record (Reshape your data); "
        "got 'shape (1, 1, 1, 1)'",
    ),
    "no columns": (
        np.ones((12, 0)),
        "an array with a number for each record; got '0 feature(s) (shape=(12, 0)) while a minimum of 1 is required'",
    ),
    "no columns of a matrix": (
        np.ones((12, 3, 0)),
        "an array with a number for each record; "
        "got '0 feature(s) (shape=(12, 3, 0)) while a minimum of 1 is required'",
    ),
    "ragged": ([[7.25, 1.0], [2.0]], "an array, or sequences of equal length; got 'list'"),
    "mask": (
        np.ma.masked_array([[7.25]], mask=True),
        "an array without a mask (X.filled(numpy.nan)); got 'MaskedArray'",
    ),
    "sparse": (sp.csr_array([[7.25]]), "an array or a table (toarray() makes one); got 'csr_array'"),
    "text column": (
        pl.DataFrame({"a": ["7.25"]}),
        "a table of real numbers and booleans; got \"column 'a' of type String\"",
    ),
    "lazy": (
        pl.LazyFrame({"a": [7.25]}),
        "data that can be read: collect() the lazy frame, or pass the path of its Parquet file; got 'LazyFrame'",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_refusals_show_no_values(kind):
    data, message = REFUSED[kind]
    with pytest.raises(InvalidParameter) as refusal:
        read_features(data, "A")
    assert str(refusal.value) == f"X of A must be {message}."
