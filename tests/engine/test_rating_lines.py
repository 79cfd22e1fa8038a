"""Lines of ratings: fields by comma and quote, whatever their bytes; what a line becomes depends on nothing else."""

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hushrank.engine import delimited
from hushrank.engine.catalogue import Catalogue
from hushrank.engine.rating_lines import RatingLines, to_positions, to_ratings, to_users
from hushrank.exceptions import InvalidParameter


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("lines")


def fields_of(folder, content, names=("user", "item")):
    """All rows of fields, sorted, and the number of unreadable lines."""
    path = folder / "x.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    rows, n_unreadable = [], 0
    for columns, n_left_out in RatingLines(path, "A").columns(names):
        assert all(column.type == pa.large_binary() for column in columns)
        rows += zip(*(column.to_pylist() for column in columns), strict=True)
        n_unreadable += n_left_out
    return sorted(rows), n_unreadable


def test_fields_are_chosen_by_name(folder):
    content = "item, rating ,user\n7,5,ann\n8,4,bob\r\n9,3,eve"
    assert fields_of(folder, content) == ([(b"ann", b"7"), (b"bob", b"8"), (b"eve", b"9")], 0)
    assert fields_of(folder, content, ["rating"]) == ([(b"3",), (b"4",), (b"5",)], 0)
    assert RatingLines(folder / "x.csv", "A").names == ["item", "rating", "user"]
    assert fields_of(folder, "user,item\n") == fields_of(folder, "user,item") == ([], 0)


FIELDS = {
    b"ann": b"ann",
    b" ann\t": b"ann",
    b"a  b": b"a  b",
    b"": b"",
    b"\r": b"",
    b'"a,b"': b"a,b",
    b'" ann "': b"ann",
    b'a"b': b'a"b',
    b'"a""b"': b'a"b',
    b'""': b"",
    "\xe9".encode(): "\xe9".encode(),
    b"\xe9": b"\xe9",
    b"\xff\xfe": b"\xff\xfe",
    b'"\xff"': b"\xff",
    b"\x00": b"\x00",
    b"\xef\xbb\xbfann": b"\xef\xbb\xbfann",
}


@pytest.mark.parametrize("field", FIELDS, ids=repr)
def test_a_field_keeps_its_bytes(folder, field):
    """Two users whose names differ in one accent must not become one."""
    rows, n_unreadable = fields_of(folder, b"user,item\nx,1\n" + field + b",2\ny,3\n")
    assert sorted(rows) == sorted([(b"x", b"1"), (FIELDS[field], b"2"), (b"y", b"3")]) and n_unreadable == 0


@pytest.mark.parametrize(
    "line", [b"1", b"1,2,3", b"", b'"', b'"1,2', b",,,,", b"1;2", b'"1",2,3', b"\r", b'"a\rb",1\r2', b"1\xff"]
)
def test_a_line_with_the_wrong_number_of_fields_is_counted(folder, line):
    rows, n_unreadable = fields_of(folder, b"user,item\nx,1\n" + line + b"\ny,2\n")
    assert rows == [(b"x", b"1"), (b"y", b"2")] and n_unreadable == 1


def test_long_lines_and_fields_are_counted(folder, monkeypatch):
    monkeypatch.setattr(delimited, "CHUNK_BYTES", 16)
    monkeypatch.setattr(delimited, "LONGEST_LINE", 40)
    content = "user,item\nx,1\n" + "7" * 100 + ",2\ny,2\n"
    assert fields_of(folder, content) == ([(b"x", b"1"), (b"y", b"2")], 1)
    monkeypatch.undo()
    assert fields_of(folder, 'user,item\nx,1\n"' + "7" * 200_000 + '",2\n') == ([(b"x", b"1")], 1)


any_line = st.binary(max_size=12) | st.text('0123,"x \r\xe9', max_size=12).map(str.encode)


@given(st.lists(any_line.map(lambda line: line.replace(b"\n", b"")), max_size=10))
@example([b"\xef\xbb\xbf1,2", b"3,4"])
@example([b'"', b'"'])
@settings(deadline=None, max_examples=100)
def test_a_line_depends_on_nothing_else(tmp_path_factory, lines):
    folder = tmp_path_factory.getbasetemp()
    rows, n_unreadable = fields_of(folder, b"user,item\n" + b"".join(line + b"\n" for line in lines))
    alone = [fields_of(folder, b"user,item\n" + line + b"\n") for line in lines]
    assert len(rows) + n_unreadable == len(lines)
    assert rows == sorted(row for single, _ in alone for row in single)


# Fields as values.


def binary(*fields):
    return pa.array(fields, pa.large_binary())


def test_users_are_any_bytes_that_do_not_spell_a_missing_value():
    users = to_users(binary(b"1", b"", b"NA", b"null", b"NaN", b"none", b"\xff"))
    assert users.to_pylist() == [b"1", None, None, None, None, b"none", b"\xff"]
    assert len(to_users(binary())) == 0


def test_integers_are_written_out():
    good = {b"7": 0, b"+7": 0, b"007": 0, b"-3": 1, b"9223372036854775807": 2, b"0" * 5000 + b"7": 0}
    bad = [b"", b"7.0", b"0x7", b"1_0", b"--3", b"+", b"9223372036854775808", b"9" * 5000, b"x", b"\xff", b"\xb2"]
    found = to_positions(binary(*good, *bad, b"8"), Catalogue([7, -3, 2**63 - 1]))
    assert found.dtype == np.int64 and found.tolist() == [*good.values(), *[-1] * len(bad), -1]


def test_strings_are_utf_8():
    catalogue = Catalogue(["tea", "\xe9", "", "7"])
    fields = binary(b"tea", "\xe9".encode(), b"\xe9", b"", b"7", b"07", b"tea")
    assert to_positions(fields, catalogue).tolist() == [0, 1, -1, 2, 3, -1, 0]
    assert to_positions(binary(), catalogue).tolist() == []


def test_ratings_are_numbers_or_nan():
    found = to_ratings(binary(b"4.5", b"1e30", b"", b"x", b"-inf", b"nan", b"4.5", b"\xff"))
    expected = [4.5, 1e30, math.nan, math.nan, -math.inf, math.nan, 4.5, math.nan]
    assert np.array_equal(found, expected, equal_nan=True) and to_ratings(binary()).tolist() == []


# Refusals.


def test_a_first_line_of_numbers_is_refused_without_showing_it(folder):
    with pytest.raises(InvalidParameter, match="a CSV file with a header line of names") as refusal:
        fields_of(folder, "725,3\n1,2\n")
    assert "725" not in str(refusal.value)


def test_a_file_that_disappears_is_refused(folder):
    (folder / "y.csv").write_text("user,item\n1,2\n")
    lines = RatingLines(folder / "y.csv", "A")
    (folder / "y.csv").unlink()
    with pytest.raises(InvalidParameter, match=r"got 'y.csv: No such file or directory'"):
        list(lines.columns(["user"]))
