"""Columns of tables: which are chosen, and which are refused."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from hushrank.data.frames import choose_columns, is_table
from hushrank.exceptions import InvalidParameter


def test_columns_are_chosen_in_order():
    assert choose_columns(["a", "b", "c"], None, "PCA") == [0, 1, 2]
    assert choose_columns(["a", "b", "c"], ("c", "a"), "PCA") == [2, 0]
    assert choose_columns([0, "b", 2], [2], "PCA") == [2]


@pytest.mark.parametrize(
    ("names", "columns", "message"),
    [
        (["a", "b", "a"], None, "X of PCA must be a table whose column names differ; got \"two columns 'a'\"."),
        (["a", "b"], ["c"], "X of PCA must be a table with the column 'c'; got '2 other columns'."),
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
