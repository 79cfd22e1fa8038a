"""Records in files: columns by name in any order, types from the footers, damaged files refused in one line."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hushrank.data import delimited
from hushrank.data.records.columns import ONE_A_PERSON
from hushrank.data.records.record_files import CsvOrigin, ParquetOrigin, read_record_file
from hushrank.exceptions import InvalidParameter
from piece_support import ENOUGH, sent, write_folder

COLUMNS = {
    "a": pa.array([1.5, -2.5, None, 4.0], pa.float32()),
    "user": pa.array(["x", None, "y", "x"]),
    "b": pa.array([1, 2, 3, 4], pa.int16()),
    "target": pa.array([0.5, 1.5, None, 3.5]),
}
TABLE = pa.table(COLUMNS)


def parts_of(origin, max_rows=3, dtype=None):
    batches = list(origin.batches(max_rows, origin.dtype if dtype is None else np.dtype(dtype)))
    assert all(0 < len(batch) <= max_rows and batch.y.dtype == np.float64 for batch in batches)
    X, y = (np.concatenate([getattr(batch, name) for batch in batches]) for name in ("X", "y"))
    return X, y, [cell for batch in batches if batch.ids is not None for cell in batch.ids.to_pylist()]


def refusal_of(path, *, y=None, users=None, features=None):
    with pytest.raises(InvalidParameter) as refusal:
        read_record_file(path, y, users, features, "A")
    assert "\n" not in str(refusal.value) and "7.25" not in str(refusal.value)
    return str(refusal.value)


@pytest.mark.parametrize("max_rows", [1, 3, 100])
def test_a_parquet_file(tmp_path, max_rows):
    pq.write_table(TABLE, tmp_path / "x.parquet")
    origin = read_record_file(str(tmp_path / "x.parquet"), None, None, None, "A")
    assert type(origin) is ParquetOrigin and origin.has_users and origin.n_records == 4
    assert (origin.columns, origin.dtype, origin.sizes) == (("a", "b"), np.float32, {"n_features": 2})
    X, y, ids = parts_of(origin, max_rows)
    assert X.dtype == np.float32 and ids == ["x", None, "y", "x"]
    assert np.array_equal(X, [[1.5, 1], [-2.5, 2], [np.nan, 3], [4, 4]], equal_nan=True)
    assert np.array_equal(y, [0.5, 1.5, np.nan, 3.5], equal_nan=True)
    assert parts_of(origin, dtype=np.float64)[0].dtype == np.float64


def test_a_folder_of_files_with_columns_in_any_order(tmp_path):
    pq.write_table(TABLE, tmp_path / "0.parquet")
    pq.write_table(TABLE.select(["target", "b", "user", "a"]), tmp_path / "1.pq")
    origin = read_record_file(tmp_path, None, None, None, "A")
    X, y, ids = parts_of(origin)
    assert origin.n_records == 8 and X[:4].tobytes() == X[4:].tobytes() and y[:4].tobytes() == y[4:].tobytes()
    assert ids[:4] == ids[4:]


def test_the_widest_file_decides_how_numbers_are_kept(tmp_path):
    pq.write_table(TABLE, tmp_path / "0.parquet")
    wide = TABLE.set_column(0, "a", pa.array([0.1, 0.2, 0.3, 0.4]))
    pq.write_table(wide, tmp_path / "1.parquet")
    origin = read_record_file(tmp_path, None, None, None, "A")
    assert origin.dtype == np.float64 and parts_of(origin)[0][4, 0] == 0.1


def test_a_stored_index_is_no_feature_but_may_be_the_user(tmp_path):
    table = pd.DataFrame({"a": [1.0, 2.0], "target": [3.0, 4.0]}, index=pd.Index(["x", "y"], name="user"))
    table.to_parquet(tmp_path / "x.parquet")
    origin = read_record_file(tmp_path / "x.parquet", None, None, None, "A")
    assert origin.columns == ("a",) and parts_of(origin)[2] == ["x", "y"]
    pd.DataFrame({"a": [1.0], "target": [3.0]}, index=pd.Index([5], name="key")).to_parquet(tmp_path / "y.parquet")
    assert read_record_file(tmp_path / "y.parquet", None, None, None, "A").columns == ("a",)


def test_chosen_columns_and_records_without_users(tmp_path):
    pq.write_table(TABLE, tmp_path / "x.parquet")
    (tmp_path / "x.csv").write_text("a,b,target\n1.5,1,0.5\n")
    chosen = read_record_file(tmp_path / "x.parquet", "a", "user", ["target", "b"], "A")
    assert chosen.columns == ("target", "b") and parts_of(chosen)[1][0] == 1.5
    alone = read_record_file(tmp_path / "x.csv", None, None, None, "A")
    assert not alone.has_users and parts_of(alone)[0].tolist() == [[1.5, 1]]
    pq.write_table(TABLE.drop(["user"]), tmp_path / "x.parquet")
    assert not read_record_file(tmp_path / "x.parquet", None, None, None, "A").has_users


def test_records_of_one_person_each_have_no_users(tmp_path):
    pq.write_table(TABLE, tmp_path / "x.parquet")
    (tmp_path / "x.csv").write_text("a,user,b,target\n1.5,x,1,0.5\n")
    for path in (tmp_path / "x.parquet", tmp_path / "x.csv"):
        chosen = read_record_file(path, None, ONE_A_PERSON, ["b", "a"], "A")
        assert not chosen.has_users and parts_of(chosen)[0][0].tolist() == [1, 1.5] and parts_of(chosen)[2] == []
        assert "one person each" in refusal_of(path, users=ONE_A_PERSON)


@pytest.mark.parametrize("chunk", [7, 40, 2**22])
def test_a_csv_file(tmp_path, monkeypatch, chunk):
    monkeypatch.setattr(delimited, "CHUNK_BYTES", chunk)
    lines = ['1.5, 7,"note\n2,8,of,1",0.5', "-2.5,07,-,text", "3,8", "nan,,-,1e400", '4,"8",-,', "x,y,z,1"]
    (tmp_path / "x.csv").write_text("a,user,note,target\n" + "\n".join(lines) + "\n")
    origin = read_record_file(tmp_path / "x.csv", None, None, ["a"], "A")
    assert type(origin) is CsvOrigin and origin.dtype == np.float64 and origin.n_records is None
    X, y, ids = parts_of(origin)
    assert np.array_equal(X[:, 0], [1.5, -2.5, np.nan, np.nan, 4, np.nan], equal_nan=True)
    assert np.array_equal(y, [0.5, np.nan, np.nan, np.inf, np.nan, 1], equal_nan=True)
    assert ids == [b"7", b"07", None, b"", b"8", b"y"]


REAL = "a table of real numbers and booleans"
TYPES = {
    "texts": ({"a": ["7.25"] * 4}, {}, f"X of A must be {REAL}; got \"column 'a' of type string\"."),
    "answers": (
        {"target": ["7.25"] * 4},
        {},
        "y of A must be a column of real numbers; got \"column 'target' of type string\".",
    ),
    "floats as ids": (
        {"user": [7.25] * 4},
        {},
        "users of A must be a column of int or str ids; got \"column 'user' of type double\".",
    ),
    "truths as ids": (
        {"user": [True] * 4},
        {},
        "users of A must be a column of int or str ids; got \"column 'user' of type bool\".",
    ),
    "no such answer": (
        {},
        {"y": "z"},
        "y of A must be a vector, or the name of a column of X ('target' if it is None); got "
        "\"no column 'z', but 'a', 'user', 'b', 'target'\".",
    ),
    "no such user": (
        {},
        {"users": "z"},
        "users of A must be ids, or the name of another column of X than y; got "
        "\"no column 'z', but 'a', 'user', 'b', 'target'\".",
    ),
    "answers beside a path": (
        {},
        {"y": [1.0]},
        "y of A must be the name of a column beside a path, or None; got 'list'.",
    ),
    "ids beside a path": (
        {},
        {"users": [1]},
        "users of A must be the name of a column beside a path, or None; got 'list'.",
    ),
}


@pytest.mark.parametrize("kind", TYPES)
def test_types_and_columns_are_refused_before_a_value_is_read(tmp_path, kind):
    columns, given, message = TYPES[kind]
    table = TABLE
    for name, cells in columns.items():
        table = table.set_column(table.column_names.index(name), name, pa.array(cells))
    pq.write_table(table, tmp_path / "x.parquet")
    assert refusal_of(tmp_path / "x.parquet", **given) == message


def test_files_that_differ_are_refused(tmp_path):
    pq.write_table(TABLE, tmp_path / "0.parquet")
    others = {
        "more": (TABLE.append_column("c", pa.array([1] * 4)), "column 'c' not in all, see 1.parquet"),
        "fewer": (TABLE.drop(["b"]), "column 'b' not in all, see 1.parquet"),
        "no users": (TABLE.drop(["user"]), "column 'user' not in all, see 1.parquet"),
    }
    for table, got in others.values():
        pq.write_table(table, tmp_path / "1.parquet")
        requirement = "X of A must be a folder of Parquet files with the same columns"
        assert refusal_of(tmp_path) == f'{requirement}; got "{got}".'
    for ids, got in (([1] * 4, "int and str"), (pa.array([1] * 4, pa.uint64()), "str and uint64")):
        pq.write_table(TABLE.set_column(1, "user", pa.array(ids)), tmp_path / "1.parquet")
        assert refusal_of(tmp_path) == f"users of A must be ids of one type in all Parquet files; got '{got}'."
    pq.write_table(TABLE.set_column(1, "user", pa.nulls(4)), tmp_path / "1.parquet")
    assert parts_of(read_record_file(tmp_path, None, None, None, "A"))[2][4:] == [None] * 4


def test_narrow_integers_of_several_files_are_one_type(tmp_path):
    for k, dtype in enumerate((pa.int8(), pa.uint16(), pa.int64())):
        pq.write_table(TABLE.set_column(1, "user", pa.array([1, 2, 3, 4], dtype)), tmp_path / f"{k}.parquet")
    assert parts_of(read_record_file(tmp_path, None, None, None, "A"))[2] == [1, 2, 3, 4] * 3


def test_paths_that_are_none(tmp_path):
    assert (
        refusal_of(tmp_path / "x.csv") == f"X of A must be an existing file; got '{tmp_path}/x.csv'."
        or len(str(tmp_path)) > 60
    )  # a long path is cut off
    assert refusal_of("x.xlsx").startswith("X of A must be a folder of Parquet or CSV files or a file ending in ")
    assert refusal_of(tmp_path).startswith("X of A must be a folder with Parquet or CSV files; got")


def test_damaged_files_are_refused_in_one_line(tmp_path):
    (tmp_path / "x.parquet").write_bytes(b"PAR1 7.25 PAR1")
    message = "X of A must be a readable Parquet file; got 'x.parquet: damaged, or of another kind'."
    assert refusal_of(tmp_path / "x.parquet") == message
    for text, part in (("", "an empty first line"), ("7.25,1\n", "a first line with numbers"), ("a,a,target\n", "two")):
        (tmp_path / "x.csv").write_text(text)
        assert part in refusal_of(tmp_path / "x.csv")
    (tmp_path / "x.csv").write_text(",user,target\n0,1,2\n")
    message = "X of A must be a CSV file with a name for every column; got 'a column without a name'."
    assert refusal_of(tmp_path / "x.csv") == message
    pq.write_table(TABLE, tmp_path / "y.parquet", row_group_size=1)
    content = bytearray((tmp_path / "y.parquet").read_bytes())
    content[4:60] = bytes(56)  # pages, not the footer: only reading tells
    (tmp_path / "y.parquet").write_bytes(content)
    origin = read_record_file(tmp_path / "y.parquet", None, None, None, "A")
    with pytest.raises(InvalidParameter, match=r"^X of A must be a readable Parquet file; got 'y.parquet: damaged"):
        list(origin.batches(9, origin.dtype))


# Pieces.


def text_of(origin):
    """All records, bit for bit."""
    return [
        (batch.X[i].tobytes(), batch.y[i].tobytes(), batch.ids and batch.ids[i].as_py())
        for batch in origin.batches(3, origin.dtype)
        for i in range(len(batch))
    ]


@pytest.mark.parametrize("enough", ENOUGH)
@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_pieces_are_the_whole(tmp_path, kind, enough):
    folder = write_folder(tmp_path / "x", pa.concat_tables([TABLE] * 3), kind)
    make = ParquetOrigin if kind == "parquet" else CsvOrigin
    origin = make(sorted(folder.iterdir()), None, None, None, "A", "features")
    pieces = origin.pieces(enough)
    parts = sent(pieces)
    assert len(text_of(origin)) == 12 and [row for part in parts for row in text_of(part)] == text_of(origin)
    assert [part.n_records for part in parts] == [piece.n_entries for piece in pieces]
    assert all((part.columns, part.dtype, part.has_users) == (("a", "b"), origin.dtype, True) for part in parts)


def test_a_piece_keeps_numbers_as_the_widest_file_asks_for(tmp_path):
    pq.write_table(TABLE, tmp_path / "0.parquet")
    pq.write_table(TABLE.set_column(0, "a", pa.array([0.1, 0.2, 0.3, 0.4])), tmp_path / "1.parquet")
    pieces = read_record_file(tmp_path, None, None, None, "A").pieces()
    (tmp_path / "1.parquet").unlink()
    [narrow, _] = sent(pieces)
    assert narrow.dtype == np.float64 and parts_of(narrow)[0].dtype == np.float64


def test_a_folder_of_csv_files(tmp_path):
    folder = write_folder(tmp_path / "x", TABLE, "csv")
    origin = read_record_file(folder, None, None, None, "A")
    whole = read_record_file(folder / "3.csv", None, None, ["a", "b"], "A")
    assert type(origin) is CsvOrigin and origin.n_records is None and origin.columns == ("a", "b")
    assert text_of(origin)[-2:] == text_of(whole) and parts_of(origin)[2] == [b"x", b"", b"y", b"x"]
    for header, odd in (("a,b,user,c,target", "c"), ("a,user,target", "b"), ("a,b,target", "user")):
        (folder / "4.csv").write_text(f"{header}\n7.25\n")
        requirement = "X of A must be a folder of CSV files with the same columns"
        assert refusal_of(folder) == f"{requirement}; got \"column '{odd}' not in all, see 4.csv\"."
    assert read_record_file(folder, None, ONE_A_PERSON, ["a"], "A").columns == ("a",)
    empty = write_folder(tmp_path / "y", TABLE[:0], "csv")
    assert read_record_file(empty, None, None, None, "A").n_records == 0
