"""Rows of CSV files: a record is a row whatever it holds, a cell is a number or NaN, and no record changes another."""

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hushrank.data import delimited
from hushrank.data.rows.csv_rows import CsvRows
from hushrank.exceptions import InvalidParameter
from piece_support import sent, write_folder

NAN = math.nan


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("csv")


def rows_of(folder, content, columns=None):
    path = folder / "x.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return CsvRows([path], "PCA", columns)


def joined(rows, max_rows=8192):
    blocks = list(rows.blocks(max_rows))
    assert all(block.dtype == np.float64 and len(block) <= max_rows for block in blocks)
    return np.vstack([np.empty((0, rows.n_features)), *blocks])


def test_plain_numbers(folder):
    rows = rows_of(folder, "a,b\n1,0.5\n-2e3,+7\r\n3,.25")
    assert (rows.n_samples, rows.n_features, rows.columns, rows.can_repeat) == (None, 2, ("a", "b"), True)
    for max_rows in (1, 2, 8192):
        assert joined(rows, max_rows).tolist() == [[1, 0.5], [-2000, 7], [3, 0.25]]


def test_columns_are_chosen_and_ordered(folder):
    content = 'a,name,b\n1,"Ann, of 7\n9,8,7",2\n3,Bob,4\n'
    assert joined(rows_of(folder, content, ["b", "a"])).tolist() == [[2, 1], [4, 3]]


CELLS = {
    "": NAN,
    " ": NAN,
    "NA": NAN,
    "null": NAN,
    "nan": NAN,
    "x": NAN,
    "0x10": NAN,
    "1_0": NAN,
    "1 2": NAN,
    "--1": NAN,
    " 1.5 ": 1.5,
    "inf": math.inf,
    "-Infinity": -math.inf,
    "1e999": math.inf,
    "1e-999": 0.0,
    "0.1": 0.1,
    "123456789012345678901234567890": 123456789012345678901234567890.0,
    '"2.5"': 2.5,
    '"\n2.5"': 2.5,
    '2"5': NAN,
    '""': NAN,
    "\x00": NAN,
    "\xe9t\xe9": NAN,
    "\u0661": NAN,
}


@pytest.mark.parametrize("cell", CELLS)
def test_a_cell_is_a_number_or_nan_and_its_neighbors_stay(folder, cell):
    X = joined(rows_of(folder, f"a,b\n4,5\n6,{cell}\n0.1,7"))
    assert np.array_equal(X, [(4, 5), (6, CELLS[cell]), (0.1, 7)], equal_nan=True)


@pytest.mark.parametrize("line", ["1", "1,2,3", "", '"', '"1,2', ",,,,", '"a', "1;2", "\t", "\r", "1,2\r3,4\r5,6"])
def test_an_unreadable_record_is_one_row_of_nan(folder, line):
    X = joined(rows_of(folder, f"a,b\n1,2\n{line}\n3,4\n"))
    assert np.array_equal(X, [[1, 2], [NAN, NAN], [3, 4]], equal_nan=True)


def test_a_type_that_changes_late_does_not_stop_the_reading(folder, monkeypatch):
    monkeypatch.setattr(delimited, "CHUNK_BYTES", 64)
    lines = ["1,2"] * 500 + ["word,2"] + ["1,2"] * 500 + ["1,2,3", '"5",6'] + ["1,2"] * 10
    X = joined(rows_of(folder, "\n".join(["a,b", *lines])))
    assert len(X) == 1013 and np.isnan(X[:, 0]).sum() == 2 and np.isnan(X[:, 1]).sum() == 1
    assert np.nansum(X[:, 0]) == 1015 and np.nansum(X[:, 1]) == 2 * 1011 + 6


any_line = st.binary(max_size=12) | st.text("0123456789.,+-eENAinf x_\r\t", max_size=16).map(str.encode)


@given(st.lists(any_line.map(lambda line: line.replace(b"\n", b"").replace(b'"', b"")), max_size=12))
@example([b"\xef\xbb\xbf1,2", b"3,4"])
@example([b"3,4", b"\xef\xbb\xbf1,2"])
@example([b"1\r2,3", b"\r", b"\r\r"])
@example([b"nan(7),1", b"1_0,2", b"\x00,\x00"])
@settings(deadline=None, max_examples=100)
def test_every_record_is_one_row_that_depends_on_nothing_else(tmp_path_factory, lines):
    folder = tmp_path_factory.getbasetemp()
    together = joined(rows_of(folder, b"a,b\n" + b"".join(line + b"\n" for line in lines)))
    alone = [joined(rows_of(folder, b"a,b\n" + line + b"\n")) for line in lines]
    assert len(together) == len(lines) and all(len(X) == 1 for X in alone)
    assert np.array_equal(together, np.vstack([np.empty((0, 2)), *alone]), equal_nan=True)


def test_unsuitable_columns_are_refused_by_name(folder):
    with pytest.raises(InvalidParameter, match="with the column 'z'"):
        rows_of(folder, "a,b\n", ["z"])
    with pytest.raises(InvalidParameter, match="a CSV file with a name for every column"):
        rows_of(folder, ",a\n0,1\n")
    assert joined(rows_of(folder, ",a\n0,5\n1,6\n", ["a"])).tolist() == [[5], [6]]


# Several files.


def test_files_are_read_one_after_the_other_with_columns_in_any_order(tmp_path):
    table = pa.table({"a": np.arange(9.0), "b": np.arange(9.0) / 2, "c": [1] * 9})
    paths = sorted(write_folder(tmp_path / "x", table, "csv").iterdir())
    rows = CsvRows(paths, "PCA", ["c", "a"])
    assert rows.n_samples is None and rows.columns == ("c", "a")
    assert np.array_equal(joined(rows, 2), np.column_stack([np.ones(9), np.arange(9.0)]))
    assert CsvRows(paths, "PCA", None).columns == ("a", "b", "c")
    assert CsvRows(paths[1:2], "PCA", None).n_samples == 0


def test_files_with_other_columns_are_refused(tmp_path):
    paths = [tmp_path / "1.csv", tmp_path / "2.csv"]
    paths[0].write_text("a,b\n1,2\n")
    paths[1].write_text("a,c\n3,4\n")
    with pytest.raises(InvalidParameter) as refusal:
        CsvRows(paths, "PCA", None)
    assert str(refusal.value) == (
        "X of PCA must be a folder of CSV files with the same columns; got \"column 'b' not in all, see 2.csv\"."
    )
    assert joined(CsvRows(paths, "PCA", ["a"])).tolist() == [[1], [3]]
    with pytest.raises(InvalidParameter, match="with the column 'b'"):
        CsvRows(paths, "PCA", ["b"])


def test_pieces_are_whole_files(tmp_path):
    contents = ("a,b\n1,2\n", "b,a\n", 'b,a\n"\n3",4\n5\n')
    paths = [tmp_path / f"{i}.csv" for i in range(3)]
    for path, content in zip(paths, contents, strict=True):
        path.write_text(content)
    rows = CsvRows(paths, "PCA", None)
    for enough in (1, 10**9):
        pieces = rows.pieces(enough)
        assert [piece.n_entries for piece in pieces] == [None, None]
        together = np.vstack([joined(part) for part in sent(pieces)])
        assert np.array_equal(together, joined(rows), equal_nan=True) and len(together) == 3
    paths[0].unlink()
    assert joined(sent(rows.pieces())[1])[0].tolist() == [4, 3]
