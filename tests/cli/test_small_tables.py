"""Catalogues, facts, limits and own ratings from files: types of ids, lenient cells, one line for what cannot be."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hushrank.cli.small_tables import read_bounds, read_catalogue, read_item_table, read_own_ratings
from hushrank.data.ratings.catalogue import Catalogue
from hushrank.data.ratings.item_features import read_item_features
from hushrank.exceptions import InvalidParameter


def write(path, text):
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("item\n3\n1\n-2\n", [3, 1, -2]),
        ("id\n3\n1\n", [3, 1]),
        ("title,item\na,3\nb,1\n", [3, 1]),
        ("item\n3\nx1\n", ["3", "x1"]),
        ("item\n007\n8\n", ["007", "8"]),  # shown as they are written
        ("item\n9223372036854775808\n1\n", [9223372036854775808, 1]),
        ("item\n18446744073709551616\n1\n", ["18446744073709551616", "1"]),
        ('item,note\n5,"one\n7,two\n"\n\n9,x\n', [5, 9]),
        ("\ufeffitem\r\n tea \r\n\r\njam\r\n", ["tea", "jam"]),
        ('item\n"a,b"\n', ["a,b"]),
    ],
)
def test_ids_of_a_csv_catalogue(tmp_path, text, expected):
    assert read_catalogue(write(tmp_path / "items.csv", text)).to_pylist() == expected


def test_ids_of_a_parquet_catalogue_have_their_type(tmp_path):
    path = tmp_path / "items.parquet"
    pq.write_table(pa.table({"item": pa.array([2, 5], pa.int32()), "title": ["a", "b"]}), path)
    assert read_catalogue(path).to_pylist() == [2, 5]
    pq.write_table(pa.table({"any": ["2", "5"]}), path)
    assert read_catalogue(path).to_pylist() == ["2", "5"]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("none.csv", None, "an existing file ending in .parquet, .pq, .csv, .tsv"),
        ("items.txt", "item\n1\n", "an existing file ending in"),
        ("items.csv", "a,b\n1,2\n", "a table with the column item, or with one column"),
        ("items.csv", "item\n1\n1\n", "different ids"),
        ("items.csv", "item\n", "at least one id"),
        ("items.csv", "", "a CSV file with a header line"),
        ("items.csv", "1\n2\n", "a header line of names"),
        ("items.csv", "item\n007\n7\n", "different ids"),
        ("items.csv", "item,b\n1\n", "a CSV file whose records have 2 fields, as its header"),
        ("items.parquet", "item\n1\n", "a readable Parquet file"),
    ],
)
def test_catalogues_that_cannot_be(tmp_path, name, text, message):
    path = tmp_path / name
    if text is not None:
        write(path, text)
    with pytest.raises(InvalidParameter, match=message):
        read_catalogue(path)


FACTS = """title year,item,genres,price,code,odd
1990, 7 ,Drama|Comedy,1.5,007,
,8,,NA,x,
5,,Western,2,1,
1e3,9, Drama ,,,nan
"""


def test_facts_of_a_csv_file_are_numbers_where_all_texts_are(tmp_path):
    table = read_item_table(write(tmp_path / "facts.csv", FACTS))
    assert table.column_names == ["title year", "item", "genres", "price", "code", "odd"]
    assert table["item"].to_pylist() == [7, 8, 9]  # a line without an id is of no item
    for name, expected in (
        ("title year", [1990, np.nan, 1000]),
        ("price", [1.5, np.nan, np.nan]),
        ("odd", [np.nan] * 3),
    ):
        assert table[name].type == pa.float64()
        assert np.array_equal(table[name].to_numpy(), expected, equal_nan=True)
    assert table["genres"].to_pylist() == ["Drama|Comedy", None, "Drama"]
    assert table["code"].to_pylist() == ["007", "x", None]  # one text is no number: all are texts


def test_facts_of_a_file_become_features(tmp_path):
    path = write(tmp_path / "facts.csv", "item,genres,year\n2,Drama|Comedy,1990\n0,Drama,2000\n")
    features = read_item_features(read_item_table(path), Catalogue(3), "Owner")
    assert features.names == ["Comedy", "Drama", "year"]
    assert features.values.tolist() == [[0, 1, 2000], [0.5, 1, 1995], [1, 1, 1990]]
    stored = tmp_path / "facts.parquet"
    pq.write_table(pa.table({"item": [2, 0], "genres": [["Drama", "Comedy"], ["Drama"]], "year": [1990, 2000]}), stored)
    assert read_item_table(stored).schema.field("genres").type == pa.list_(pa.string())
    again = read_item_features(read_item_table(stored), Catalogue(3), "Owner")
    assert again.columns == features.columns and again.values.tolist() == features.values.tolist()


def test_ids_of_facts_are_those_of_the_catalogue_in_the_same_words(tmp_path):
    for ids, expected in (("007\n8\n", ["007", "8"]), ("3\nx\n", ["3", "x"]), ("3\n-1\n", [3, -1])):
        catalogue = read_catalogue(write(tmp_path / "items.csv", f"item\n{ids}"))
        facts = read_item_table(write(tmp_path / "facts.csv", "item,x\n" + ids.replace("\n", ",1\n")))
        assert catalogue.to_pylist() == facts["item"].to_pylist() == expected
    facts = read_item_table(write(tmp_path / "facts.csv", "item,x\n007,1\n"))
    with pytest.raises(
        InvalidParameter, match="a table with int ids in its column 'item', as in the catalogue; got 'str"
    ):
        read_item_features(facts, Catalogue(9), "Owner")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("none.csv", None, "an existing file ending in .parquet, .pq, .csv, .tsv"),
        ("facts.txt", "item,x\n1,2\n", "an existing file ending in"),
        ("facts.csv", "item\n1\n", "a table with the column item and other columns; got 'facts.csv: columns item'"),
        ("facts.csv", "id,x\n1,2\n", "a table with the column item and other columns; got 'facts.csv: columns id, x'"),
        ("facts.csv", "item,x,x\n1,2,3\n", "column names differ"),
        ("facts.csv", "", "a CSV file with a header line"),
        ("facts.csv", "item,x\n1\n", "a CSV file whose records have 2 fields, as its header"),
        ("facts.parquet", "item,x\n1,2\n", "a readable Parquet file"),
    ],
)
def test_facts_that_cannot_be_read(tmp_path, name, text, message):
    path = tmp_path / name
    if text is not None:
        write(path, text)
    with pytest.raises(InvalidParameter) as refused:
        read_item_table(path)
    assert message in str(refused.value) and "\n" not in str(refused.value)


def test_facts_with_two_columns_of_one_name_are_refused(tmp_path):
    path = tmp_path / "facts.parquet"
    pq.write_table(pa.table([[1], [2], [3]], names=["item", "x", "x"]), path)
    with pytest.raises(InvalidParameter, match="must be a table whose column names differ; got '3 columns'"):
        read_item_table(path)


def test_facts_that_are_no_text_are_refused_where_they_are_encoded(tmp_path):
    path = tmp_path / "facts.csv"
    path.write_bytes(b"item,x\n1,a\n2,\xff\n")
    with pytest.raises(InvalidParameter, match="a table of Unicode text and other valid columns; got \"column 'x'\""):
        read_item_features(read_item_table(path), Catalogue(3), "Owner")


def test_own_ratings_of_a_csv_file(tmp_path):
    path = write(tmp_path / "mine.csv", "rating,item,note,user\n5, 3 ,x,ann\nbad,x7,,bob\n,,,\n")
    table = read_own_ratings(path, pa.int64())
    assert table["user"].to_pylist() == ["ann", "bob", ""]
    assert table["item"].to_pylist() == [3, None, None]
    assert np.array_equal(table["rating"].to_numpy(), [5.0, np.nan, np.nan], equal_nan=True)
    assert "note" not in table.column_names
    assert read_own_ratings(path, pa.large_string())["item"].to_pylist() == ["3", "x7", ""]
    assert read_own_ratings(write(path, "item\n4\n"), pa.int64()).column_names == ["item"]


def test_own_ratings_of_a_parquet_file(tmp_path):
    path = tmp_path / "mine.pq"
    pq.write_table(pa.table({"item": [3, 4], "rating": [5, 1]}), path)
    assert read_own_ratings(path, pa.int64()).to_pydict() == {"item": [3, 4], "rating": [5, 1]}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("low,high\n0,1\n\n-2, 3.5 \n", [[0.0, 1.0], [-2.0, 3.5]]),
        (
            'name,low,high\n"age, in ""years""",0,1e2\n"two\nlines",-1,1\n',
            {'age, in "years"': [0.0, 100.0], "two\nlines": [-1.0, 1.0]},
        ),
        ("\ufeffunit,name,min,max\r\nm,a,0,1\r\n", {"a": [0.0, 1.0]}),
        ("low,high\n", []),  # for the table of parameters to refuse
    ],
)
def test_limits_are_the_last_two_columns(tmp_path, text, expected):
    assert read_bounds(write(tmp_path / "bounds.csv", text)) == expected


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"low\n0\n", "the columns low and high at its end; got 'bounds.csv: one'"),
        (b"", "a header line"),
        (b"0,1\n0,2\n", "a header line of names"),
        (b"name;low;high\na;0;1\n", "separated by commas"),
        (b"name,low,high\na,0,1\nb,0,many\n", "finite numbers, low and high; got 'bounds.csv: record 2 has others'"),
        (b"name,low,high\na,0,\n", "record 1 has others"),
        (b"name,low,high\na,0,inf\n", "record 1 has others"),
        (b"name,low,high\na,0,\xff\n", "record 1 has others"),
        (b"name,low,high\na,0\n", "records have 3 fields"),
        (b"name,low,high\na,0,1,2\n", "records have 3 fields"),
        (b'name,low,high\n"a,0,1\nb,0,1\n', "records have 3 fields"),
        (b"\xff\xfe,low,high\na,0,1\n", "CSV file in UTF-8"),
        (b"name,low,low\na,0,1\n", "column names differ"),
        (b"name,low,high\na,0,1\nb,0,1\na,0,2\n", "one record for a column; got 'bounds.csv: one column twice'"),
        (b"\0" * 1000, "the columns low and high"),
    ],
)
def test_limits_that_cannot_be_read_are_refused_in_one_line(tmp_path, content, message):
    (tmp_path / "bounds.csv").write_bytes(content)
    with pytest.raises(InvalidParameter) as refused:
        read_bounds(tmp_path / "bounds.csv")
    assert message in str(refused.value) and "\n" not in str(refused.value)


def test_own_ratings_that_are_no_numbers_are_told(tmp_path):
    path = write(tmp_path / "mine.csv", 'item,rating\n3,5\n4,"3,5"\n')
    with pytest.warns(UserWarning, match=r"ratings in mine\.csv that are no numbers are left out \(a decimal comma"):
        table = read_own_ratings(path, pa.int64(), needed=["item", "rating"])
    assert table["rating"].to_pylist()[0] == 5.0 and len(table) == 2
    read_own_ratings(path, pa.int64(), needed=["item"])  # implicit feedback has none


def test_ratings_of_many_are_not_told_about(tmp_path, recwarn):
    path = write(tmp_path / "all.csv", 'user,item,rating\n1,3,5\n2,4,"3,5"\n')
    read_own_ratings(path, pa.int64(), needed=["item", "rating"])
    assert not recwarn.list
