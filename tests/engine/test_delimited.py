"""CSV: a line is a row whatever it holds, a cell is a number or NaN, and no line changes another."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hushrank.engine import delimited
from hushrank.engine.delimited import CsvRows
from hushrank.exceptions import InvalidParameter

NAN = math.nan


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("csv")


def rows_of(folder, content, columns=None):
    path = folder / "x.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return CsvRows(path, "PCA", columns)


def joined(rows, max_rows=8192):
    blocks = list(rows.blocks(max_rows))
    assert all(block.dtype == np.float64 and len(block) <= max_rows for block in blocks)
    return np.vstack([np.empty((0, rows.n_features)), *blocks])


def as_rows(X):
    """Rows in an order of their own: quoted and ragged lines may come after the others."""
    return sorted((tuple(None if v != v else float(v) for v in row) for row in X), key=repr)


def test_plain_numbers(folder):
    rows = rows_of(folder, "a,b\n1,0.5\n-2e3,+7\r\n3,.25")
    assert (rows.n_samples, rows.n_features, rows.columns, rows.can_repeat) == (None, 2, ("a", "b"), True)
    for max_rows in (1, 2, 8192):
        assert joined(rows, max_rows).tolist() == [[1, 0.5], [-2000, 7], [3, 0.25]]


def test_columns_are_chosen_and_ordered(folder):
    content = 'a,name,b\n1,"Ann, of 7",2\n3,Bob,4\n'
    assert as_rows(joined(rows_of(folder, content, ["b", "a"]))) == [(2, 1), (4, 3)]


CELLS = {
    "": NAN,
    " ": NAN,
    "NA": NAN,
    "null": NAN,
    "nan": NAN,
    "x": NAN,
    "0x10": NAN,
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
    '"2.5': 2.5,
    '2"5': NAN,
    '""': NAN,
    "\x00": NAN,
    "\xe9t\xe9": NAN,
}


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_a_cell_is_a_number_or_nan_and_its_neighbors_stay(folder, cell, encoding):
    X = joined(rows_of(folder, f"a,b\n4,5\n6,{cell}\n0.1,7".encode(encoding)))
    assert np.array_equal(sorted(map(tuple, X)), [(0.1, 7), (4, 5), (6, CELLS[cell])], equal_nan=True)


RAGGED = ["1", "1,2,3", "", '"', '"1,2', ",,,,", '"a', "1;2", "\t", "\r", "1,2\r3,4\r5,6"]


@pytest.mark.parametrize("line", RAGGED)
def test_a_line_with_the_wrong_number_of_fields_is_one_row_of_nan(folder, line):
    X = joined(rows_of(folder, f"a,b\n1,2\n{line}\n3,4\n"))
    assert as_rows(X) == as_rows([[1, 2], [3, 4], [NAN, NAN]])


def test_a_type_that_changes_late_does_not_stop_the_reading(folder, monkeypatch):
    monkeypatch.setattr(delimited, "CHUNK_BYTES", 64)
    lines = ["1,2"] * 500 + ["word,2"] + ["1,2"] * 500 + ["1,2,3", '"5",6'] + ["1,2"] * 10
    X = joined(rows_of(folder, "\n".join(["a,b", *lines])))
    assert len(X) == 1013 and np.isnan(X[:, 0]).sum() == 2 and np.isnan(X[:, 1]).sum() == 1
    assert np.nansum(X[:, 0]) == 1015 and np.nansum(X[:, 1]) == 2 * 1011 + 6


def test_a_line_beyond_the_limit_is_one_row_of_nan(folder, monkeypatch):
    monkeypatch.setattr(delimited, "CHUNK_BYTES", 16)
    monkeypatch.setattr(delimited, "LONGEST_LINE", 40)
    longest = "1," + "0" * 36 + "2"  # with its newline 40 bytes
    for before in range(17):  # wherever the chunks end
        lines = ["9,9"] * before + ["3,4", longest, longest + "0", "7" * 500, "5,6"]
        X = joined(rows_of(folder, "\n".join(["a,b", *lines, ""])))
        expected = [(3, 4), (1, 2), (5, 6), (None, None), (None, None)] + [(9, 9)] * before
        assert as_rows(X) == sorted(expected, key=repr)


any_line = st.binary(max_size=12) | st.text('0123456789.,+-eE"NAinf x_\r\t', max_size=16).map(str.encode)


@given(st.lists(any_line.map(lambda line: line.replace(b"\n", b"")), max_size=12))
@example([b"\xef\xbb\xbf1,2", b"3,4"])
@example([b"3,4", b"\xef\xbb\xbf1,2"])
@example([b"1\r2,3", b"\r", b"\r\r"])
@example([b'"', b'"'])
@example([b"nan(7),1", b"1_0,2", b"\x00,\x00"])
@settings(deadline=None, max_examples=100)
def test_every_line_is_one_row_that_depends_on_nothing_else(tmp_path_factory, lines):
    folder = tmp_path_factory.getbasetemp()
    together = joined(rows_of(folder, b"a,b\n" + b"".join(line + b"\n" for line in lines)))
    alone = [joined(rows_of(folder, b"a,b\n" + line + b"\n")) for line in lines]
    assert len(together) == len(lines) and all(len(X) == 1 for X in alone)
    assert as_rows(together) == as_rows(np.vstack([np.empty((0, 2)), *alone]))


def test_lines_of_a_single_column(folder):
    assert as_rows(joined(rows_of(folder, "a\n1\n\n2\n"))) == [(1.0,), (2.0,), (None,)]
    assert joined(rows_of(folder, "a\n")).shape == joined(rows_of(folder, "a")).shape == (0, 1)


# Headers.


def test_headers_may_be_quoted_and_marked(folder):
    assert rows_of(folder, b'\xef\xbb\xbf"a", "b c"\r\n1,2\r\n').columns == ("a", "b c")
    assert rows_of(folder, '"a,b",c\n1,2\n').columns == ("a,b", "c")
    assert joined(rows_of(folder, ",a\n0,5\n1,6\n", ["a"])).tolist() == [[5], [6]]


NUMBERS = "x.csv: a first line with numbers or missing values"
REFUSED = [
    ("", "a CSV file with a header line; got 'x.csv: an empty first line'"),
    ("\n1,2\n", "a CSV file with a header line; got 'x.csv: an empty first line'"),
    *(
        (f"{line}\n1,2,3\n", f"a CSV file with a header line of names; got {NUMBERS!r}")
        for line in ("7.25,3,4", "725,NA,x", "a,725,b", "x,nan,y", "0,1,2", "x,inf,y", "a,1e5,725")
    ),
    ("a;b\n1;2\n", "a CSV file separated by commas; got 'x.csv: one column'"),
    ("a725,a725\n1,2\n", "a CSV file whose column names differ; got 'x.csv: two columns of one name'"),
    (",a\n0,1\n", "a CSV file with a name for every column; got 'a column without a name'"),
    (b"\xff\xfea\x00\n", "a readable CSV file; got 'x.csv: damaged, or of another kind'"),
]


@pytest.mark.parametrize(("content", "message"), REFUSED)
def test_unsuitable_headers_are_refused_without_values(folder, content, message):
    with pytest.raises(InvalidParameter) as refusal:
        rows_of(folder, content)
    assert str(refusal.value).rstrip(".") == f"X of PCA must be {message}" and "725" not in str(refusal.value)


def test_a_missing_column_is_refused_by_name(folder):
    with pytest.raises(InvalidParameter, match="with the column 'z'"):
        rows_of(folder, "a,b\n", ["z"])


def test_a_file_that_disappears_is_refused(folder):
    rows = rows_of(folder, "a,b\n1,2\n")
    (folder / "x.csv").unlink()
    with pytest.raises(InvalidParameter, match=r"got 'x.csv: No such file or directory'"):
        list(rows.blocks())
