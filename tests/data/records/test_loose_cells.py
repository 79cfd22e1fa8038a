"""Cells of later blocks: whatever they are, a number, NaN, an id or none; only another form is refused."""

import datetime
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from hushrank.data.id_arrays import bytes_as_text
from hushrank.data.records.loose_cells import column_cells, loose_ids, loose_numbers
from hushrank.exceptions import InvalidParameter

NAN = np.nan
CELLS = [1.5, "2.5", None, "x", b"3", 2**70, 1j, 2 + 0j, object(), datetime.date(2020, 1, 1), [1, 2], {}, True]
NUMBERS = [1.5, 2.5, NAN, NAN, 3, 2.0**70, NAN, 2, NAN, NAN, NAN, NAN, 1]


def test_numbers_of_any_cells():
    vector = np.empty(len(CELLS), object)
    vector[:] = CELLS
    for data in (vector, pd.Series(CELLS, dtype=object)):
        assert np.array_equal(loose_numbers(data, "y", "A"), NUMBERS, equal_nan=True)
    table = pd.DataFrame({"a": vector, "b": 1.0})
    assert np.array_equal(loose_numbers(table, "X", "A", ["b", "a"])[:, 1], NUMBERS, equal_nan=True)


@pytest.mark.parametrize(
    ("column", "numbers"),
    [
        (pa.array(["1.5", None, "x"]), [1.5, NAN, NAN]),
        (pa.array(["1.5", None, "x"]).dictionary_encode(), [1.5, NAN, NAN]),
        (pa.array([b"1.5", b"\xff", None]), [1.5, NAN, NAN]),
        (bytes_as_text([b"1.5", b"\xff", None]), [1.5, NAN, NAN]),
        (pa.array(["1.5", None, "x"], pa.string_view()), [1.5, NAN, NAN]),
        (pa.array([1, None, 3]), [1, NAN, 3]),
        (pa.array([True, None, False]), [1, NAN, 0]),
        (pa.nulls(3), [NAN] * 3),
        (pa.array([2**62, None, 1], pa.timestamp("ns")), [NAN] * 3),  # no cell of it is looked at
        (pa.array([decimal.Decimal("1.5"), None, None]), [NAN] * 3),
        (pa.array([[1.5], None, []]), [NAN] * 3),
        (pa.chunked_array([["1.5"], [], [None, "x"]]), [1.5, NAN, NAN]),
    ],
    ids=lambda part: str(getattr(part, "type", "")),
)
def test_numbers_of_arrow_columns_of_every_type(column, numbers):
    assert np.array_equal(loose_numbers(column, "y", "A"), numbers, equal_nan=True)
    assert np.array_equal(loose_numbers(pa.table({"a": column}), "X", "A"), np.array([numbers]).T, equal_nan=True)


def test_numbers_of_arrays_lists_and_tables():
    assert loose_numbers([["1", 2.0], [3, "4"]], "X", "A").tolist() == [[1, 2], [3, 4]]
    assert loose_numbers(np.array([["1", "2"]]), "X", "A").tolist() == [[1, 2]]
    assert loose_numbers(np.ones((2, 3, 4)) + 0j, "X", "A").shape == (2, 3, 4)
    assert loose_numbers(pl.DataFrame({"a": ["1"], "b": [2]}), "X", "A").tolist() == [[1, 2]]
    assert loose_numbers(pa.RecordBatch.from_pydict({"a": ["1"]}), "X", "A").tolist() == [[1]]
    assert loose_numbers(pa.table({"a": pa.array([], pa.string())}), "X", "A").shape == (0, 1)


def test_ids_of_any_cells():
    cells = [7, "7", 7.0, np.float32(7), NAN, None, 7.5, 2.0**60, True, b"seven", "\ud800", object(), pd.NA, [7]]
    ids = loose_ids(pd.Series(cells, dtype=object), "A")
    texts = [None if not cell.is_valid else cell.as_buffer().to_pybytes() for cell in ids]
    assert texts == [b"7"] * 4 + [None] * 5 + [b"seven", b"\xed\xa0\x80", None, None, None]
    assert loose_ids(np.array([1.0, NAN, -2.0]), "A").to_pylist() == ["1", None, "-2"]
    assert loose_ids(pa.array([1.0, None]), "A").to_pylist() == ["1", None]
    assert loose_ids(pa.array([b"x", None]), "A").to_pylist() == ["x", None]


def test_a_column_of_a_table():
    for table in (pd.DataFrame({"a": ["x"]}), pl.DataFrame({"a": ["x"]}), pa.table({"a": ["x"]})):
        [cell] = column_cells(table, "a", "A")
        assert cell in ("x", b"x")


def test_what_is_masked_is_no_number():
    """Some readers make a masked array only where somebody's number is missing."""
    found = loose_numbers(np.ma.masked_array([1.0, 2.0], [True, False]), "X", "A")
    assert np.array_equal(found, [np.nan, 2.0], equal_nan=True) and type(found) is np.ndarray


def test_numbers_beyond_all_bounds_do_not_warn():
    assert loose_numbers([np.longdouble("1e4000"), 1.0], "y", "A").tolist() == [np.inf, 1.0]


def test_other_forms_are_refused():
    with pytest.raises(InvalidParameter, match=r"^y of A must be an array, a list or a column in every block; got 's"):
        loose_numbers("1.5", "y", "A")
    with pytest.raises(InvalidParameter, match=r"^users of A must be a vector of ids in every block; got 'shape"):
        loose_ids([[1]], "A")
    with pytest.raises(InvalidParameter, match=r"^X of A must be sequences of equal length in every block; got 'list'"):
        loose_numbers([np.ones((2, 2)), np.ones((2, 3))], "X", "A")
    with pytest.raises(
        InvalidParameter, match=r"^X of A must be a table with the column 'b'; got .no column 'b', but 'a'"
    ):
        column_cells(pa.table({"a": [1]}), "b", "A")
