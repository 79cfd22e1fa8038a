"""Columns of tables: which are chosen, and which are refused."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from hushrank.data.frames import choose_columns, exact_dtype, is_table, to_block
from hushrank.exceptions import InvalidParameter


def test_columns_are_chosen_in_order():
    assert choose_columns(["a", "b", "c"], None, "PCA") == [0, 1, 2]
    assert choose_columns(["a", "b", "c"], ("c", "a"), "PCA") == [2, 0]
    assert choose_columns([0, "b", 2], [2], "PCA") == [2]


@pytest.mark.parametrize(
    ("names", "columns", "message"),
    [
        (["a", "b", "a"], None, "X of PCA must be a table whose column names differ; got \"two columns 'a'\"."),
        (["a", "b"], ["c"], "X of PCA must be a table with the column 'c'; got \"no column 'c', but 'a', 'b'\"."),
        (
            [f"{j}{'a' * 40}" for j in range(3)],
            ["c"],
            "X of PCA must be a table with the column 'c'; got \"no column 'c', but 3 others\".",
        ),
        (["a", "b"], ["a", "a"], "columns of PCA must be a list of different column names; got ['a', 'a']."),
        (["a", "b"], [], "columns of PCA must be a list of different column names; got []."),
        (["a", "b"], "ab", "columns of PCA must be a list of different column names; got 'ab'."),
        ([], None, "X of PCA must be a table with a column; got '0 feature(s) (shape=(0, 0)) while a minimum of 1 is"),
    ],
)
def test_unsuitable_columns_are_refused(names, columns, message):
    with pytest.raises(InvalidParameter) as refusal:
        choose_columns(names, columns, "PCA")
    assert str(refusal.value).startswith(message)


FRAMES = [pd.DataFrame, pl.DataFrame, pa.table]


def test_what_is_a_table():
    tables = [frame({"a": [1]}) for frame in FRAMES]
    assert all(map(is_table, tables))
    for other in (np.ones((2, 2)), [[1]], "a.csv", iter([]), len, pd.Series([1]), None):
        assert not is_table(other)


def test_the_narrower_float_that_is_exact():
    narrow = [pa.bool_(), pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.float16(), pa.float32()]
    assert exact_dtype(narrow) == np.float32
    for wide in (pa.int32(), pa.uint32(), pa.int64(), pa.uint64(), pa.float64(), pa.null()):
        assert exact_dtype([*narrow, wide]) == np.float64


def test_blocks_of_single_precision_keep_every_bit():
    bits = np.array([0x7FA00000, 1, 0x80000000], np.uint32)
    columns = [pa.array(bits.view(np.float32)), pa.array([1, None, 3], pa.int16())]
    block = to_block(columns, 3, np.dtype(np.float32))
    assert block.dtype == np.float32 and block[:, 0].tobytes() == bits.tobytes()
    assert np.array_equal(block[:, 1], [1, np.nan, 3], equal_nan=True)
