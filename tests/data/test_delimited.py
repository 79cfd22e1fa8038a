"""The reader of CSV files: records and fields as pandas reads them, and malformed ones reach no further than stated."""

import io
import re
import tracemalloc

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hushrank.data import delimited
from hushrank.data.delimited import DelimitedText, follow_header, parse_header
from hushrank.exceptions import InvalidParameter


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("csv")


def text_of(folder, content):
    path = folder / "x.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return DelimitedText(path, "PCA")


def records_of(folder, content, names=None):
    """All records as tuples of bytes, None for one that cannot be read."""
    text = text_of(folder, content)
    positions = [text.names.index(name) for name in names or text.names]
    found = []
    for fields in text.fields(positions):
        columns = [fields.column(j) for j in range(len(positions))]
        assert all(column.type == pa.large_binary() and len(column) == len(fields) for column in columns)
        rows = zip(*(column.to_pylist() for column in columns), strict=True)
        found += [None if None in row else row for row in rows]
    return found


def test_fields_are_chosen_by_name(folder):
    content = "item, rating ,user\n7,5,ann\n8,4,bob\r\n9,3,eve"
    assert records_of(folder, content, ["user", "item"]) == [(b"ann", b"7"), (b"bob", b"8"), (b"eve", b"9")]
    assert records_of(folder, content, ["rating"]) == [(b"5",), (b"4",), (b"3",)]
    assert records_of(folder, "a,b\n") == records_of(folder, "a,b") == []


FIELDS = {
    b"ann": b"ann",
    b" ann\t": b"ann",
    b"a  b": b"a  b",
    b"": b"",
    b"\r": b"",
    b"a\rb": b"a\rb",
    b'"a,b"': b"a,b",
    b'"a\nb"': b"a\nb",
    b'"a\r\n7,8\r\n"': b"a\r\n7,8",
    b'" ann "': b"ann",
    b' "ann" ': b"ann",
    b'a"b': b'a"b',
    b'a"b"': b'a"b"',
    b'"a""b"': b'a"b',
    b'"""a"""': b'"a"',
    b'""""': b'"',
    b'""': b"",
    "\xe9".encode(): "\xe9".encode(),
    b"\xff\xfe": b"\xff\xfe",
    b'"\xff"': b"\xff",
    b"\x00": b"\x00",
    b"\xef\xbb\xbfann": b"\xef\xbb\xbfann",
}


@pytest.mark.parametrize("field", FIELDS, ids=repr)
@pytest.mark.parametrize("chunk", [1, 3, 2**22])
def test_a_field_keeps_its_bytes_and_its_neighbors_stay(folder, monkeypatch, field, chunk):
    monkeypatch.setattr(delimited, "CHUNK_BYTES", chunk)
    content = b"user,item\nx,1\n" + field + b",2\ny," + field + b"\nz,3\n"
    assert records_of(folder, content) == [(b"x", b"1"), (FIELDS[field], b"2"), (b"y", FIELDS[field]), (b"z", b"3")]


UNREADABLE = {
    "one field": b"1",
    "three fields": b"1,2,3",
    "an empty line": b"",
    "a carriage return": b"\r",
    "an open quote": b'1,"2',
    "an open quote with more": b'"1,2',
    "text after a quote": b'"1"x,2',
    "quotes that are not doubled": b'1,"he said "no" to it"',
    "a quoted line break and three fields": b'1,"a\nb",3',
    "semicolons": b"1;2",
}


@pytest.mark.parametrize("line", UNREADABLE.values(), ids=UNREADABLE)
@pytest.mark.parametrize("after", [b"3,4", b'3,"4"', b'"3","4"', b'3,"4\n5"', b'3,""', b'"",4'])
@pytest.mark.parametrize("chunk", [5, 2**22])
def test_an_unreadable_record_is_one_record_and_its_neighbors_stay(folder, monkeypatch, line, after, chunk):
    """An open quote would swallow what follows; it ends with its line because a quote must be followed by a comma."""
    monkeypatch.setattr(delimited, "CHUNK_BYTES", chunk)
    [expected] = records_of(folder, b"a,b\n" + after + b"\n")
    assert records_of(folder, b"a,b\n1,2\n" + line + b"\n" + after + b"\n5,6\n") == [
        (b"1", b"2"), None, expected, (b"5", b"6"),
    ]  # fmt: skip


def test_an_open_quote_reaches_at_most_to_the_next_quote(folder):
    """What a malformed file means: the record ends with its line unless a later quote happens to close the field."""
    assert records_of(folder, b'a,b\n1,"2\n3,4\n5,6\n') == [None, (b"3", b"4"), (b"5", b"6")]
    assert records_of(folder, b'a,b\n1,"2\n3,""\n5,6\n') == [None, (b"3", b""), (b"5", b"6")]
    assert records_of(folder, b'a,b\n1,"2\n3,4"\n5,6\n') == [(b"1", b"2\n3,4"), (b"5", b"6")]


@pytest.mark.parametrize("chunk", [1, 7, 16, 1000])
def test_records_beyond_the_limit_are_one_unreadable_record(folder, monkeypatch, chunk):
    monkeypatch.setattr(delimited, "CHUNK_BYTES", chunk)
    monkeypatch.setattr(delimited, "LONGEST_RECORD", 40)
    longest = "1," + "0" * 37 + "2"
    overlong = [longest + "0", "7" * 500, '1,"' + "x\n3,4\n" * 50 + '"', '1,"' + 'a""\n' * 50 + '"', "1,2," + "x" * 90]
    for line in overlong:
        for before in range(9):  # wherever the chunks end
            lines = ["9,9"] * before + ["3,4", longest, line, "5,6"]
            found = records_of(folder, "\n".join(["a,b", *lines, ""]))
            assert found[before:] == [(b"3", b"4"), (b"1", b"0" * 37 + b"2"), None, (b"5", b"6")]
    assert records_of(folder, "a,b\n3,4\n" + overlong[2]) == [(b"3", b"4"), None]  # at the end of the file
    malformed = 'a,b\n1,"' + "x\n3,4\n" * 20 + '"x,5\n6,7\n'
    assert records_of(folder, malformed) == [None, *[(b"3", b"4"), None] * 19, (b"3", b"4"), None, (b"6", b"7")]


def pandas_records(content):
    table = pd.read_csv(io.BytesIO(content), dtype=str, keep_default_na=False)
    return [tuple(field.strip(" \t\n\v\f\r").encode() for field in row) for row in table.itertuples(index=False)]


texts = st.text('0123456789.,+-eE"NA x_\n\t\r\xe9', max_size=12)


@given(st.lists(st.tuples(texts, texts, texts), max_size=8), st.sampled_from(["\n", "\r\n"]), st.booleans())
@example([("", "", ""), ("a\nb", 'c"d', "1,2")], "\n", False)
@settings(deadline=None, max_examples=150)
def test_well_formed_files_are_read_as_by_pandas(tmp_path_factory, rows, newline, quote_all):
    content = written([("a", "b", "c"), *rows], newline, quote_all)
    for chunk in (1, 13, 2**22):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(delimited, "CHUNK_BYTES", chunk)
            found = records_of(tmp_path_factory.getbasetemp(), content)
        assert found == pandas_records(content) and len(found) == len(rows)


def written(rows, newline, quote_all):
    """Records as RFC 4180 has them: fields with a comma, a quote or a line break are quoted, quotes doubled."""

    def field(text):
        is_quoted = quote_all or any(mark in text for mark in ',"\r\n') or (text == "")
        return '"' + text.replace('"', '""') + '"' if is_quoted else text

    return "".join(",".join(map(field, row)) + newline for row in rows).encode()


any_line = st.binary(max_size=12) | st.text('0123,"x \r\xe9', max_size=12).map(str.encode)


@given(st.lists(any_line, max_size=10), st.integers(1, 40))
@settings(deadline=None, max_examples=150)
def test_chunks_change_nothing_whatever_the_bytes(tmp_path_factory, lines, chunk):
    folder, content = tmp_path_factory.getbasetemp(), b"a,b\n" + b"\n".join(lines)
    expected = records_of(folder, content)
    for longest in (2**24, 9):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(delimited, "LONGEST_RECORD", longest)
            if longest == 9:
                patch.setattr(DelimitedText, "_read_header", lambda self, file: (["a", "b"], 4, True))
                expected = records_of(folder, content)
            patch.setattr(delimited, "CHUNK_BYTES", chunk)
            assert records_of(folder, content) == expected


def reference_records(content, longest):
    """Records of two fields by the rule of docs/guide/data.md, in plain Python and quadratic time."""
    found, place = [], 0
    while place < len(content):
        end, fields = one_record(content, place)
        if end is None:
            line = content.find(b"\n", place)
            end = len(content) if line < 0 else line
        is_read = fields is not None and len(fields) == 2 and end - place <= longest
        found.append(tuple(field.strip(b" \t\n\v\f\r") for field in fields) if is_read else None)
        place = end + 1
    return found


def one_record(content, place):
    """Where a well-formed record ends and its fields, or (None, None)."""
    fields = []
    while True:
        quoted = re.compile(rb'[ \t]*"((?:[^"]|"")*)"[ \t\r]*(?=,|\n|\Z)').match(content, place)
        if quoted:
            fields.append(quoted[1].replace(b'""', b'"'))
        elif re.compile(rb'[ \t]*"').match(content, place):
            return None, None
        else:
            quoted = re.compile(rb"[^,\n]*").match(content, place)
            fields.append(quoted[0])
        place = quoted.end()
        if place == len(content) or content[place] == ord("\n"):
            return place, fields
        place += 1


stray = st.lists(
    st.sampled_from([b'x","', b'"', b'""', b",", b"\n", b"a", b" ", b'"a"', b"\r", b'1,"2']), max_size=25
).map(b"".join)


@given(
    stray | st.binary(max_size=30), st.sampled_from([1, 4, 9, 100]), st.sampled_from([5, 12, 2**24]), st.integers(1, 8)
)
@example(b'x","\n' * 30, 7, 2**24, 3)
@example(b'x","\n' * 30, 7, 9, 3)
@settings(deadline=None, max_examples=400)
def test_any_bytes_are_read_by_the_rule(tmp_path_factory, content, chunk, longest, most):
    """Stray quotes too: what is remembered of a malformed record, and how much is read at a time, changes nothing."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DelimitedText, "_read_header", lambda self, file: (["a", "b"], 4, True))
        patch.setattr(delimited, "CHUNK_BYTES", chunk)
        patch.setattr(delimited, "LONGEST_RECORD", longest)
        patch.setattr(delimited, "MOST_FIELDS", most)
        assert records_of(tmp_path_factory.getbasetemp(), b"a,b\n" + content) == reference_records(content, longest)


def test_memory_is_for_records_and_not_for_line_breaks(folder):
    """A note of line breaks in a wide file, and empty lines, took the columns times the lines."""
    names = [f"x{j}" for j in range(60)]
    content = (",".join([*names, "note"]) + "\n" + "1," * 60 + '"' + "\n" * 2**20 + '"\n').encode() + b"\n" * 2**18
    text, n_records = text_of(folder, content), 0
    tracemalloc.start()
    for fields in text.fields(range(60)):
        assert len(fields.column(0)) == len(fields)
        n_records += len(fields)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert n_records == 1 + 2**18 and peak < 40e6


def test_lines_of_a_single_column(folder):
    assert records_of(folder, "a\n1\n\n2\n") == [(b"1",), (b"",), (b"2",)]


# Whole tables.


def test_small_tables_are_read_whole(folder):
    table = text_of(folder, 'a,b\n1,x\n\n"2\n3",y\r\n').read(["b", "a"])
    assert {name: column.to_pylist() for name, column in table.items()} == {"b": [b"x", b"y"], "a": [b"1", b"2\n3"]}
    assert text_of(folder, "a,b\n").read(["a"])["a"].to_pylist() == [] and text_of(folder, "a,b\n1,2\n").read([]) == {}
    with pytest.raises(InvalidParameter, match="file of PCA must be a CSV file whose records have 2 fields") as refusal:
        text_of(folder, "a,b\n1,2\n725\n").read(["a"])
    assert "725" not in str(refusal.value)


# Headers.


def test_headers_may_be_quoted_and_marked(folder):
    assert text_of(folder, b'\xef\xbb\xbf"a", "b c"\r\n1,2\r\n').names == ["a", "b c"]
    assert text_of(folder, '"a,b",c\n1,2\n').names == ["a,b", "c"]
    assert records_of(folder, b'\xef\xbb\xbf"a\nx","b"\n1,2\n') == [(b"1", b"2")]
    assert text_of(folder, b'"a\nx","b"\n1,2\n').names == ["a\nx", "b"]
    assert text_of(folder, b'\t"a,b", c\n').names == ["a,b", "c"] and text_of(folder, b'"a ""b""",c').names == [
        'a "b"',
        "c",
    ]


NUMBERS = "x.csv: a first line with numbers or missing values"
REFUSED = [
    ("", "a CSV file with a header line; got 'x.csv: an empty first line'"),
    ("\n1,2\n", "a CSV file with a header line; got 'x.csv: an empty first line'"),
    ('a,"725\n1,2\n', "a CSV file with a header line; got 'x.csv: an open quote'"),
    ('a,"b"725\n1,2\n', "a CSV file with a header line; got 'x.csv: an open quote'"),
    *(
        (f"{line}\n1,2,3\n", f"a CSV file with a header line of names; got {NUMBERS!r}")
        for line in ("7.25,3,4", "725,NA,x", "a,725,b", "x,nan,y", "0,1,2", "x,inf,y", "a,1e5,725")
    ),
    *(
        (content, "a CSV file whose lines end with LF or CRLF; got 'x.csv: a carriage return alone'")
        for content in (b"user,item\r725,0\r2,0\r", b"user,it\rem\n725,0\n")
    ),
    (
        "a;b\n1;2\n",
        'a CSV file separated by commas (pandas.read_csv(path, sep=";", decimal=",").to_csv(new_path, index=False) '
        "converts semicolons; add thousands=\".\" only if 1.234 means 1234); got 'x.csv: one column, with semicolons'",
    ),
    (
        "a\tb\n1\t2\n",
        "a CSV file separated by commas (a name that ends in .tsv is for tabs); got 'x.csv: one column, with tabs'",
    ),
    ("a725,a725\n1,2\n", "a CSV file whose column names differ; got 'x.csv: two columns of one name'"),
    *(
        (
            content,
            f"a CSV file in UTF-8 (pandas.read_csv(path, encoding={read}).to_csv(new_path, index=False) may convert "
            "it); got 'x.csv: names in another encoding'",
        )
        for content, read in (
            (b"\xff\xfea\x00\n", '"utf-16"'),
            (b"h\xf6he,a\n", '"cp1252"'),
            (b"h\xf6he;a\n", '"cp1252", sep=";", decimal=","'),
        )
    ),
]


@pytest.mark.parametrize(("content", "message"), REFUSED)
def test_unsuitable_headers_are_refused_without_values(folder, content, message):
    with pytest.raises(InvalidParameter) as refusal:
        text_of(folder, content)
    assert str(refusal.value).rstrip(".") == f"X of PCA must be {message}" and "725" not in str(refusal.value)


@pytest.mark.parametrize("point", [".", ","])
def test_the_cure_for_semicolons_cures(folder, point):
    with pytest.raises(InvalidParameter, match=r"decimal=\",\", skiprows=1\)"):
        text_of(folder, "sep=;\na;b\n1;2\n")
    table = pd.read_csv(io.StringIO(f"a;b\n1{point}5;x\n2;y\n"), sep=";", decimal=",")
    text = text_of(folder, table.to_csv(index=False))
    assert text.first_cells(["a"], 1)["a"].to_pylist() == [b"1.5"]


def test_first_cells_are_those_of_some_records(folder, monkeypatch):
    monkeypatch.setattr(delimited, "CHUNK_BYTES", 8)
    text = text_of(folder, "a,b\n1,x\n2\n3,z\n4,u\n")
    assert text.first_cells(["b", "a"], 3)["b"].to_pylist() == [b"x", None, b"z"]
    assert len(text.first_cells(["a"], 9)["a"]) == 4 and text.first_cells([], 9) == {}
    assert text_of(folder, "a,b\n").first_cells(["a"], 9)["a"].to_pylist() == []


def test_headers_of_bytes_that_are_no_file():
    header = b'\xef\xbb\xbf"a\nx", b \r\n'
    for rest in (b"", b"1,2\n", b'"open'):
        assert parse_header(header + rest, "bytes", "PCA") == (["a\nx", "b"], len(header))
        assert follow_header(header + rest)[::2] == (3, len(header) - 4)  # behind the mark, before the line break
    for cut in range(4, len(header)):
        assert follow_header(header[:cut])[2] < 0
    assert parse_header(b"a,b", "bytes", "PCA") == (["a", "b"], 3)
    with pytest.raises(InvalidParameter, match=r"^X of PCA must be .* names; got 'bytes: a first line with numbers"):
        parse_header(b"725,a\n", "bytes", "PCA")


def test_a_file_that_disappears_is_refused(folder):
    text = text_of(folder, "a,b\n1,2\n")
    (folder / "x.csv").unlink()
    with pytest.raises(InvalidParameter, match=r"got 'x.csv: No such file or directory'"):
        list(text.fields([0]))


def test_first_texts_that_would_take_much_memory_are_fewer(tmp_path, monkeypatch):
    path = tmp_path / "long.csv"
    path.write_text("a,b\n" + "".join(f"{'x' * 50_000},{i}\n" for i in range(400)))
    text = DelimitedText(path, "Somebody")
    assert [len(column) for column in text.first_cells(["b", "a"], 300).values()] == [300, 300]
    monkeypatch.setattr(delimited, "MOST_SAMPLE_BYTES", 10**6)
    cells = text.first_cells(["b", "a"], 300)
    assert 20 < len(cells["a"]) == len(cells["b"]) < 200 and cells["b"][:2].to_pylist() == [b"0", b"1"]


@pytest.mark.parametrize("rest", ["", "\n", "\n1", "\n1,2,3\n"])
def test_a_header_may_be_longer_than_what_is_read_at_first(folder, rest):
    names = ["a", 'b"\nx' * 30_000, "c" * 70_000]
    header = ",".join(f'"{name.replace(chr(34), chr(34) * 2)}"' for name in names)
    text = text_of(folder, header + rest)
    assert text.names == names and text.has_records == (len(rest) > 1)
