"""Several CSV files as one table: columns by name in each, and no record reaches into another file."""

import pickle

import pytest

from hushrank.data.delimited_texts import fields_of, open_texts
from hushrank.exceptions import InvalidParameter


def texts_of(folder, *contents):
    paths = [folder / f"{i}.csv" for i in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)
    return open_texts(paths, "A")


def cells_of(texts, names=("a", "b")):
    return [
        [fields.column(j)[i].as_py() for j in range(len(names))]
        for fields in texts.fields(names)
        for i in range(len(fields))
    ]


THREE = (b"a,b\n", b'a,note,b\n1,"x\ny,",2\n3', b'b,a\n"5,6\n7,8\n')


def test_files_come_one_after_the_other_by_name(tmp_path):
    texts = texts_of(tmp_path, *THREE)
    # An open quote ends with its own file, and a last line without an end is no part of the next file.
    assert cells_of(texts) == [[b"1", b"2"], [None, None], [None, None], [b"8", b"7"]]
    assert texts.names == ["a", "note", "b"] and texts.has_records
    assert list(fields_of(texts.texts[0], ["b"])) == []


def test_first_cells_are_those_of_the_first_file_with_records(tmp_path):
    texts = texts_of(tmp_path, *THREE)
    found = texts.first_cells(["note", "a", "gone"], 1)
    assert {name: cells.to_pylist() for name, cells in found.items()} == {"note": [b"x\ny,"], "a": [b"1"]}
    empty = texts_of(tmp_path, b"a,b\n", b"b,a")
    assert not empty.has_records and empty.names == ["a", "b"] and cells_of(empty) == []


def test_each_file_with_records_alone(tmp_path):
    texts = texts_of(tmp_path, *THREE)
    alone = [pickle.loads(pickle.dumps(one)) for one in texts.apart()]
    assert len(alone) == 2 and [row for one in alone for row in cells_of(one)] == cells_of(texts)


def test_whole_columns_of_all_files(tmp_path):
    found = texts_of(tmp_path, b"a,b\n1,2\n\n", b"b,a\n", b"b,a\n3,4\n").read(["a", "b"])
    assert {name: cells.to_pylist() for name, cells in found.items()} == {"a": [b"1", b"4"], "b": [b"2", b"3"]}
    with pytest.raises(InvalidParameter, match=r"as its header; got '1.csv: another record'"):
        texts_of(tmp_path, b"a,b\n1,2\n", b"a,b\n1\n").read(["a"])


def test_a_bad_header_of_any_file_is_refused(tmp_path):
    with pytest.raises(InvalidParameter, match=r"got '1.csv: a first line with numbers"):
        texts_of(tmp_path, b"a,b\n1,2\n", b"3,4\n5,6\n")
