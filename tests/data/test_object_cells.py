"""Columns of Python objects: each cell is decided by itself, and none raises."""

import datetime
from decimal import Decimal

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest

from hushrank.data.object_cells import is_of_objects, object_ids, object_numbers
from hushrank.data.ratings.reading import read_ratings

CELLS = [
    ("ann", "ann"), ("7", "7"), (7, "7"), (np.int32(7), "7"), (np.float32(7), "7"), (-3.0, "-3"), ("", ""),
    (2**63, str(2**63)), (b"ann", "ann"), (None, None), (7.5, None), (True, None), (np.True_, None),
    (Decimal(7), None), (10**5000, None), ((1, 2), None), (pd.NA, None), (pd.NaT, None), (np.nan, None),
    (datetime.date(2020, 1, 1), None), (complex(7), None), (float("inf"), None), (1e300, None), ([1, 2], None),
    ({}, None), (np.arange(2), None),
]  # fmt: skip


def test_ids_cell_by_cell():
    cells, expected = [*(cell for cell, _ in CELLS), "half \ud800"], [text for _, text in CELLS]
    assert object_ids(cells).slice(0, len(expected)).to_pylist() == expected
    assert object_ids(cells)[-1].as_buffer().to_pybytes() == "half \ud800".encode("utf-8", "surrogatepass")
    for cell, text in zip(cells, expected, strict=False):  # alone as among others
        assert object_ids([cell]).to_pylist() == [text] and object_ids(["x", cell]).to_pylist() == ["x", text]
    assert object_ids([[1, 2], [3, 4]]).to_pylist() == [None, None] and len(object_ids([])) == 0


def test_numbers_cell_by_cell():
    cells = [3, "4.5", " 2 ", "good", None, np.float32(1), True, [1], np.arange(2), Decimal("1.5"), "1_0", object()]
    expected = [3.0, 4.5, 2.0, np.nan, np.nan, 1.0, 1.0, np.nan, np.nan, 1.5, np.nan, np.nan]
    assert np.array_equal(object_numbers(cells), expected, equal_nan=True) and len(object_numbers([])) == 0


def test_objects_are_told_by_the_type_of_the_column():
    def is_one(series):
        return is_of_objects(nw.from_native(series, series_only=True))

    assert is_one(pd.Series(["a"], dtype=object)) and is_one(pl.Series([object()], dtype=pl.Object))
    assert not is_one(pd.Series(["a"], dtype="string")) and not is_one(pl.Series(["a"])) and not is_one(pd.Series([1]))


@pytest.mark.parametrize("items", [[0, 1, 2], ["0", "1", "2"]])
def test_one_odd_cell_changes_one_person(items):
    """A table of texts of older versions of pandas: every spelling of an id is one user, of an item one item."""
    rows = {"user": ["ann", "7", 7, "07", "bob"], "item": ["0", 1, "2", 2.0, "1"], "rating": [1, "5", 3.0, "3", 4]}
    plain = read_ratings(pd.DataFrame(rows, dtype=object), owner="A", items=items, rating_range=(1, 5))
    [block] = plain.blocks()
    assert block.indptr.tolist() == [0, 1, 3, 4] and block.items.tolist() == [0, 1, 2, 1]
    assert block.values.tolist() == [-1.0, 1.0, 0.0, 0.5]
    for odd in (None, np.nan, [1], object(), 7.5, True, "\ud800", b"\xff"):
        for role in rows:
            changed = {**rows, role: [*rows[role][:-1], odd]}
            table = pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in changed.items()})
            [other] = read_ratings(table, owner="A", items=items, rating_range=(1, 5)).blocks()
            assert other.indptr.tolist()[:3] == [0, 1, 3] and other.items.tolist()[:3] == [0, 1, 2]
            assert other.values.tolist()[:3] == [-1.0, 1.0, 0.0]
