"""Files for predictions: columns by name, ids as they were given, and one line for what cannot be read."""

from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hushrank.cli.own_records import read_new, read_own
from hushrank.exceptions import InvalidParameter

NAMED = SimpleNamespace(feature_names_in_=np.array(["a", "b"], object), n_features_in_=2)
NAMELESS = SimpleNamespace(n_features_in_=2)
OWN = "target,b,note,a\n1,20,x,10\n2,21,y,11\n"
MANY = "b,user,target,a\n20,ann,1,10\n21,07,2,11\n22,ann,3,12\n"


@pytest.fixture
def write(tmp_path):
    def write(name, content):
        path = tmp_path / name
        if isinstance(content, str):
            path.write_text(content)
        else:
            pq.write_table(pa.table(content), path)
        return path

    return write


@pytest.fixture
def one(write):
    return read_own(NAMED, write("own.csv", OWN), "target", None)[0]


@pytest.fixture
def many(write):
    return read_own(NAMED, write("many.csv", MANY), "target", None)[0]


def test_features_come_in_the_order_of_the_model(write, one, many):
    assert one.is_single and one.block.X.tolist() == [[10, 20], [11, 21]] and one.block.y.tolist() == [1, 2]
    assert many.ids.tolist() == ["ann", "07"] and many.block.X[2].tolist() == [11, 21]
    table = {"b": [20.0, 21.0], "t": [1, 2], "a": [10.0, 11.0], "who": pa.array([2**64 - 1, 3], pa.uint64())}
    people, features = read_own(NAMED, write("own.parquet", table), "t", "who")
    assert people.ids.tolist() == [2**64 - 1, 3] and people.block.X.tolist() == [[10, 20], [11, 21]]
    assert features == ["a", "b"]


def test_a_model_without_names_takes_the_columns_of_the_own_records(write):
    people, features = read_own(NAMELESS, write("own.csv", "z,target,y\n1,2,3\n"), "target", None)
    assert features == ["z", "y"] and people.block.X.tolist() == [[1, 3]]
    new = read_new(write("new.csv", "y,z\n30,10\n"), features, None, people)
    assert new.X.tolist() == [[10, 30]]
    with pytest.raises(InvalidParameter, match=r"^X of own records must be records of 2 features; got '3 features'"):
        read_own(NAMELESS, write("own.csv", "z,target,y,x\n1,2,3,4\n"), "target", None)


def test_new_records_keep_their_order_and_ids(write, one, many):
    new = read_new(write("new.csv", "a,target,b\n1,7,2\n3,8,\n5,9,inf\n"), ["a", "b"], None, one)
    assert np.array_equal(new.X, [[1, 2], [3, np.nan], [5, np.nan]], equal_nan=True)
    assert new.ids is None and new.codes.tolist() == [0, 0, 0]
    new = read_new(write("new.csv", "a,user,b\n1,7,2\n3,eve,4\n5,ann,6\n7,7.0,8\n"), ["b", "a"], None, many)
    assert new.codes.tolist() == [1, -1, 0, 1] and new.ids.to_pylist() == ["7", "eve", "ann", "7.0"]
    assert new.X.tolist() == [[2, 1], [4, 3], [6, 5], [8, 7]]
    table = {"a": [1, 2], "b": [True, None], "user": [7, 8]}
    new = read_new(write("new.parquet", table), ["a", "b"], None, many)
    assert new.codes.tolist() == [1, -1] and new.ids.to_pylist() == [7, 8]
    assert np.array_equal(new.X, [[1, 1], [2, np.nan]], equal_nan=True)


def test_one_named_person_needs_no_column_of_users(write):
    people, features = read_own(NAMED, write("own.csv", "user,target,a,b\nann,1,2,3\n"), "target", None)
    assert read_new(write("new.csv", "a,b\n1,2\n"), features, None, people).codes.tolist() == [0]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("new.csv", "a,b\n1,2\n", "file of new records must be a table with the column 'user', as the own records"),
        ("new.csv", "a,user\n1,ann\n", "X of new records must be a table with the column 'b'"),
        ("new.csv", "user,a,b\nann,1,2\nann,1\n", "file of new records must be a CSV file whose records have 3 fields"),
        ("new.csv", 'user,a,b\nann,1,2\n"ann"x,1,2\n', "file of new records must be a CSV file whose records have 3"),
        ("new.csv", "user,a,b\nann,1,2\n,1,2\n", "file of new records must be records with a user in every row"),
        ("new.parquet", {"a": [1], "b": [2], "user": [None]}, "records with a user in every row"),
        ("new.parquet", {"a": [1], "b": [2], "user": [0.5]}, "users of new records must be a column of int or str ids"),
        ("new.parquet", {"a": [1], "b": ["x"], "user": [1]}, "X of new records must be a table of real numbers"),
        ("new.parquet", "no parquet", "X of new records must be a readable Parquet file"),
        (
            "new.txt",
            "a,b\n1,2\n",
            "file of new records must be an existing file ending in .parquet, .pq, .csv, .tsv, .csv.gz",
        ),
    ],
)
def test_what_cannot_be_answered_is_refused(write, many, name, content, message):
    with pytest.raises(InvalidParameter) as refusal:
        read_new(write(name, content), ["a", "b"], None, many)
    assert message in str(refusal.value) and "\n" not in str(refusal.value)


def test_users_without_own_records_of_users_are_refused(write, one):
    with pytest.raises(InvalidParameter, match=r"^file of new records must be a table without users, as the own rec"):
        read_new(write("new.csv", "a,b,user\n1,2,ann\n"), ["a", "b"], None, one)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b\n1,2\n", "no column 'target'"),
        ("a,target\n1,2\n", "a table with the column 'b'"),
        ("target,a,b,user\n1,2,3,\n", "with a user in every row"),
        ("target,a,b,user\n1,2,3,7\n1,2,3,07\n", "one spelling of every user"),
        ("target,a,b\n1,2,3\n1,2\n", "a CSV file whose records have 3 fields"),
    ],
)
def test_own_records_are_read_whole_or_not_at_all(write, content, message):
    with pytest.raises(InvalidParameter) as refusal:
        read_own(NAMED, write("own.csv", content), "target", None)
    assert message in str(refusal.value) and "own records" in str(refusal.value)
