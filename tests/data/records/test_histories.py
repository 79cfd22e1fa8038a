"""Own records: every form gives the same block, everybody is answered or all are refused, and ids find their owners."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hushrank.data.records.histories import find_users, read_histories
from hushrank.data.records.reading import read_records
from hushrank.exceptions import InvalidParameter

RNG = np.random.default_rng(2)
X, Y = RNG.standard_normal((40, 2)), RNG.standard_normal(40)
IDS = RNG.choice(["eve", "ann", "bob", "zoe"], 40)
TABLE = pa.table({"b": X[:, 1], "user": IDS, "target": Y, "note": ["-"] * 40, "a": X[:, 0]})


def read(*data, columns=None):
    return read_histories(*data, columns=columns, owner="A")


def bits_of(block):
    return block.indptr.tolist(), block.X.tobytes(), block.y.tobytes()


def forms(path):
    pq.write_table(TABLE, path / "x.parquet")
    (path / "files").mkdir()
    pq.write_table(TABLE[:15], path / "files" / "0.parquet")
    pq.write_table(TABLE[15:].select(["a", "target", "user", "b"]), path / "files" / "1.parquet")
    TABLE.to_pandas().to_csv(path / "x.csv", index=False)
    pandas = TABLE.to_pandas().astype({"user": "string"})
    beside = (TABLE.select(["b", "a"]), Y, IDS)
    return [(X, Y, IDS), (X.tolist(), Y.tolist(), IDS.tolist()), (TABLE,), (pl.from_arrow(TABLE),), (pandas,), beside,
            (path / "x.parquet",), (path / "files",), (str(path / "x.csv"),)]  # fmt: skip


def test_every_form_gives_the_block_of_a_fit(tmp_path):
    [expected] = read_records(X, Y, IDS, owner="A").blocks()
    for data in forms(tmp_path):
        histories = read(*data, columns=["a", "b"])
        assert bits_of(histories.block) == bits_of(expected) and not histories.is_single
        assert histories.ids.dtype == object and histories.ids.tolist() == list(dict.fromkeys(IDS))
        assert np.array_equal(histories.ids[histories.codes], IDS)


def test_one_person_has_no_id(tmp_path):
    alone = TABLE.drop(["user"])
    pq.write_table(alone, tmp_path / "x.parquet")
    alone.to_pandas().to_csv(tmp_path / "x.csv", index=False)
    [expected] = read_records(X, Y, np.zeros(40, np.int64), owner="A").blocks()
    for data in ((X, Y), (alone,), (pl.from_arrow(alone),), (tmp_path / "x.parquet",), (tmp_path / "x.csv",)):
        histories = read(*data, columns=["a", "b"])
        assert histories.is_single and histories.ids is None and histories.codes.tolist() == [0] * 40
        assert bits_of(histories.block) == bits_of(expected)
    nothing = read(np.empty((0, 2)), [])
    assert nothing.is_single and nothing.block.indptr.tolist() == [0, 0]


def test_single_precision_and_matrices():
    assert read(X.astype(np.float32), Y).block.X.dtype == np.float32
    assert read(X.reshape(40, 1, 2), Y, IDS).block.X.shape == (40, 1, 2)


def test_nobody_is_a_list_of_none():
    histories = read(np.empty((0, 2)), [], np.empty(0, np.int64))
    assert not histories.is_single and histories.ids.tolist() == [] and len(histories.block) == 0
    assert find_users(histories, [1]).tolist() == [-1]


@pytest.mark.parametrize(
    ("ids", "dtype"),
    [
        ([7, -3, 7], np.int64),
        (np.array([2**64 - 1, 3, 2**64 - 1], np.uint64), np.uint64),
        (["g", "x\0", "g"], object),
    ],
)
def test_ids_come_back_as_they_were(ids, dtype):
    histories = read(X[:3], Y[:3], ids)
    assert histories.ids.dtype == dtype and histories.ids.tolist() == list(ids[:2])
    assert find_users(histories, ids).tolist() == [0, 1, 0] == histories.codes.tolist()


def test_users_are_found_in_their_canonical_form_and_others_are_not():
    words = read(X[:3], Y[:3], ["7", "ann", "bob"])
    assert find_users(words, ["ann", "eve", None, "", "07", " bob "]).tolist() == [1, -1, -1, -1, 0, 2]
    assert find_users(words, [7, 8]).tolist() == [0, -1]
    assert find_users(words, np.array([7], np.uint64)).tolist() == [0]
    assert find_users(words, pa.nulls(2)).tolist() == [-1, -1]
    numbers = read(X[:2], Y[:2], [-1, 5])
    assert find_users(numbers, np.array([2**64 - 1, 5], np.uint64)).tolist() == [-1, 1]
    assert find_users(numbers, pl.Series(["-1", "5.0", "x"])).tolist() == [0, 1, -1]


def test_one_person_is_not_looked_for():
    with pytest.raises(
        InvalidParameter, match=r"^users of A must be None beside the records of one person; got 'list'"
    ):
        find_users(read(X, Y), ["ann"], "A")
    with pytest.raises(InvalidParameter, match=r"^users of find_users must be a vector of int64 or str ids"):
        find_users(read(X, Y, IDS), np.ones(3))


@pytest.mark.parametrize("missing", [None, "", " "])
def test_a_row_without_a_user_is_refused_by_name(tmp_path, missing):
    table = pa.table({"a": [1.0, 2.0], "target": [1.0, 2.0], "user": pa.array([missing, "ann"])})
    pq.write_table(table, tmp_path / "x.parquet")
    pd.DataFrame({"a": [1, 2], "target": [1, 2], "user": [missing, "ann"]}).to_csv(tmp_path / "x.csv", index=False)
    for data in (table, tmp_path / "x.parquet", tmp_path / "x.csv"):
        with pytest.raises(
            InvalidParameter, match=r"^X of A must be records with a user in every row; got 'a row with"
        ):
            read(data)


def test_a_file_of_nulls_is_refused_too(tmp_path):
    for k, ids in enumerate((pa.array([1, 2]), pa.nulls(2))):
        pq.write_table(pa.table({"a": [1.0, 2.0], "target": [1.0, 2.0], "user": ids}), tmp_path / f"{k}.parquet")
    with pytest.raises(InvalidParameter, match="records with a user in every row"):
        read(tmp_path)
    pq.write_table(pa.table({"a": [], "target": [], "user": pa.nulls(0)}), tmp_path / "1.parquet")
    assert read(tmp_path).ids.tolist() == [1, 2]


def test_two_spellings_of_one_user_are_refused(tmp_path):
    (tmp_path / "x.csv").write_text("a,target,user\n1,1,7\n2,2,07\n")
    message = r"^X of A must be records with one spelling of every user \(7, 07 and 7.0 are one\); got 'two spellings"
    for data in ((X[:2], Y[:2], ["7", "07"]), (tmp_path / "x.csv",)):
        with pytest.raises(InvalidParameter, match=message):
            read(*data)


def test_a_csv_file_with_a_broken_record_is_refused_and_blank_lines_are_none(tmp_path):
    for header in ("a,target,user", "a,target,other"):
        (tmp_path / "x.csv").write_text(f"{header}\n1,1,7\n2,2\n")
        with pytest.raises(InvalidParameter, match="a CSV file whose records have 3 fields, as its header"):
            read(tmp_path / "x.csv", columns=["a"])
        (tmp_path / "x.csv").write_text(f"{header}\n1,1,7\n\n2,x,7\n")
        assert np.array_equal(read(tmp_path / "x.csv", columns=["a"]).block.y, [np.nan, 1], equal_nan=True)


REFUSED = {
    "a source": ((read_records(X, Y, owner="A"),), None, "X of A must be an array, a table or a path; got 'Records'."),
    "blocks": ((iter([(X, Y)]),), None, "X of A must be an array, a table or a path; got 'list_iterator'."),
    "no answers": ((X,), None, "y of A must be a vector, one number for each record; got None."),
    "a missing column": (
        (TABLE,),
        ["a", "z"],
        "X of A must be a table with the column 'z'; got \"no column 'z', but 'b', 'user', 'target', 'note', 'a'\".",
    ),
    "a text for columns": (
        (TABLE,),
        "a",
        "columns of A must be None or a list of different names of columns other than those of y and users; got 'str'.",
    ),
    "a text as a number": (
        (TABLE,),
        None,
        "X of A must be a table of real numbers and booleans; got \"column 'note' of type string\".",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_refusals(kind):
    data, columns, message = REFUSED[kind]
    with pytest.raises(InvalidParameter) as refusal:
        read(*data, columns=columns)
    assert str(refusal.value) == message
