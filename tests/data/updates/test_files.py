"""Files of updates: columns and types are checked for all files before a value is read, values never raise."""

import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hushrank.data import delimited
from hushrank.data.updates import files
from hushrank.data.updates.files import CsvUpdates, ParquetUpdates, read_update_file
from hushrank.exceptions import InvalidParameter
from piece_support import ENOUGH, sent, write_folder

PARTS = {"row": [0, 2, 0, 5], "column": [1, 3, 0, 9], "delta": [0.5, 1.0, -2.0, 7.25], "user": ["ann", None, "7", ""]}


def read(path, needs_users=False):
    return read_update_file(path, needs_users, "A")


def lists_of(origin, most=100):
    """Rows, columns, deltas and users of all chunks."""
    chunks = list(origin.chunks(most))
    assert all(0 < len(chunk) <= most and (chunk.users is not None) == origin.has_users for chunk in chunks)
    names = ("rows", "columns", "deltas") + (("users",) if origin.has_users else ())
    return [[cell for chunk in chunks for cell in getattr(chunk, name).tolist()] for name in names]


def refusal_of(path, needs_users=False):
    with pytest.raises(InvalidParameter) as refusal:
        read(path, needs_users)
    assert "\n" not in str(refusal.value) and "7.25" not in str(refusal.value)
    return str(refusal.value)


# CSV files.


def test_csv_files_with_columns_in_any_order_and_others(tmp_path):
    path = tmp_path / "x.CSV"
    path.write_text('note,delta,col,user,row\n"a\nb",0.5,1, ann ,0\n,1e0,03,,+2.0\n-,"-2",0,"7",0\n')
    assert lists_of(read(path)) == [[0, 2, 0], [1, 3, 0], [0.5, 1.0, -2.0]]
    for most in (1, 2, 100):
        assert lists_of(read(path, True), most)[3] == ["ann", "", "7"]
    origin = read(path, True)
    assert (origin.n_updates, origin.can_repeat) == (None, True) and lists_of(origin) == lists_of(origin)


ODD = {
    "x,1,1": (-1, 1, 1.0), ",1,1": (-1, 1, 1.0), "1.5,1,1": (-1, 1, 1.0), "1,1e1,1": (1, -1, 1.0),
    f"{2**63},{-(2**63)},1": (-1, -(2**63), 1.0), "1,1,": (1, 1, math.nan), "1,1,x": (1, 1, math.nan),
    "1,1,inf": (1, 1, math.inf), "1,1,-1e999": (1, 1, -math.inf), "-5,-1,1": (-5, -1, 1.0), "1,1": (-1, -1, math.nan),
    "1,1,1,1": (-1, -1, math.nan), "": (-1, -1, math.nan), '1,1,"2': (-1, -1, math.nan),
    '1,"1"x,2': (-1, -1, math.nan), "1,\x001,1_0": (1, -1, math.nan),
}  # fmt: skip


@pytest.mark.parametrize("line", ODD, ids=repr)
def test_an_odd_record_changes_itself_only(tmp_path, line):
    path = tmp_path / "x.csv"
    path.write_text(f"row,column,delta\n7,8,9\n{line}\n3,4,5\n")
    found = list(zip(*lists_of(read(path)), strict=True))
    assert found[0] == (7, 8, 9.0) and found[2] == (3, 4, 5.0) and len(found) == 3
    assert np.array_equal(found[1], ODD[line], equal_nan=True)


def test_texts_that_are_not_unicode_are_ids_of_their_own(tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes(b"row,column,delta,user\n0,0,1,\xff\n0,0,1,\xfe\xff\n0,0\n")
    [chunk] = read(path, True).chunks(100)
    cells = [cell.as_buffer().to_pybytes() if cell.is_valid else None for cell in chunk.users]
    assert chunk.users.type == pa.large_string() and cells == [b"\xff", b"\xfe\xff", None]


def test_a_chunk_outlives_the_fields_it_was_made_of(tmp_path, monkeypatch):
    monkeypatch.setattr(delimited, "CHUNK_BYTES", 20)
    path = tmp_path / "x.csv"
    path.write_text("row,column,delta,user\n" + "".join(f"{i},{i},{i},u{i}\n" for i in range(300)))
    chunks = list(read(path, True).chunks(7))
    assert len(chunks) > 100
    assert [row for chunk in chunks for row in chunk.rows] == list(range(300))
    assert [user for chunk in chunks for user in chunk.users.to_pylist()] == [f"u{i}" for i in range(300)]


# Parquet files.


def test_parquet_files_and_folders_in_order(tmp_path):
    table = pa.table(PARTS)
    pq.write_table(table, tmp_path / "x.pq")
    (tmp_path / "parts" / "_old").mkdir(parents=True)
    pq.write_table(table[:1], tmp_path / "parts" / "a.parquet")
    pq.write_table(table[1:].rename_columns(["row", "col", "delta", "user"]), tmp_path / "parts" / "b.parquet")
    pq.write_table(table, tmp_path / "parts" / "_old" / "c.parquet")
    for path in (tmp_path / "x.pq", tmp_path / "parts"):
        assert read(path).n_updates == 4 and read(path).can_repeat
        for most in (1, 3, 100):
            assert lists_of(read(path), most) == [PARTS["row"], PARTS["column"], PARTS["delta"]]
            assert lists_of(read(path, True), most)[3] == PARTS["user"]


TYPED = {
    "narrow": (pa.int8(), pa.float32(), pa.int32()),
    "unsigned": (pa.uint64(), pa.int8(), pa.uint64()),
    "truths and texts": (pa.int32(), pa.bool_(), pa.string()),
}


@pytest.mark.parametrize("kind", TYPED)
def test_parquet_files_of_every_type_with_nulls(tmp_path, kind):
    path, cells = tmp_path / "x.parquet", pa.array([1, None, 0], pa.int8())
    index, delta, user = TYPED[kind]
    types = {"row": index, "column": index, "delta": delta, "user": user}
    pq.write_table(pa.table({name: cells.cast(dtype) for name, dtype in types.items()}), path)
    rows, columns, deltas, users = lists_of(read(path, True))
    assert rows == columns == [1, -1, 0] and users == cells.cast(user).to_pylist()
    assert np.array_equal(deltas, [1.0, math.nan, 0.0], equal_nan=True)


def test_parquet_columns_without_any_value(tmp_path):
    pq.write_table(pa.table({name: pa.nulls(2) for name in PARTS}), tmp_path / "x.parquet")
    rows, columns, deltas, users = lists_of(read(tmp_path / "x.parquet", True))
    assert rows == columns == [-1, -1] and users == [None, None] and np.isnan(deltas).all()


def test_batches_are_bounded_whatever_is_asked_for(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_BATCH_ROWS", 3)
    pq.write_table(pa.table(PARTS), tmp_path / "x.parquet")
    assert [len(chunk) for chunk in read(tmp_path / "x.parquet").chunks(100)] == [3, 1]


# Refusals.


def test_files_are_told_by_their_suffix(tmp_path):
    (tmp_path / "x.txt").write_text("row,column,delta\n")
    listed = ".parquet, .pq, .csv, .tsv, .csv.gz, .tsv.gz, .csv.zst, .tsv.zst"
    suffixes = f"a folder of Parquet or CSV files or a file ending in {listed}"
    assert refusal_of(tmp_path / "x.txt") == f"X of A must be {suffixes}; got 'x.txt'."
    assert refusal_of(tmp_path / "no.csv").startswith("X of A must be an existing file; got")
    assert (
        refusal_of(tmp_path) == f"X of A must be a folder with Parquet or CSV files; got '{tmp_path.name}: none found'."
    )
    assert refusal_of(str(tmp_path / "x.txt")) == f"X of A must be {suffixes}; got 'x.txt'."


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_missing_columns_are_refused(tmp_path, kind):
    path = tmp_path / f"x.{kind}"
    for missing in ("row", "column", "delta", "user"):
        table = pd.DataFrame(PARTS).drop(columns=missing)
        table.to_csv(path, index=False) if kind == "csv" else table.to_parquet(path, index=False)
        message = (
            f"updates of A must be a table with the columns row, column, delta, user; got 'one without {missing}'."
        )
        assert refusal_of(path, True) == message
        if missing == "user":
            assert lists_of(read(path))[0] == PARTS["row"]


TYPES = {
    "row": (pa.float64(), "column 'row' of A must be a vector of integers of at most 64 bits; got"),
    "column": (pa.string(), "column 'column' of A must be a vector of integers of at most 64 bits; got"),
    "delta": (pa.string(), "column 'delta' of A must be a vector of real numbers, one for each update; got"),
    "user": (pa.float64(), "column 'user' of A must be int or str ids; got"),
}


@pytest.mark.parametrize("name", TYPES)
def test_types_of_all_files_are_checked_before_a_value_is_read(tmp_path, name):
    table, (dtype, message) = pa.table({**PARTS, "user": [1, 2, 3, 4]}), TYPES[name]
    changed = table.set_column(table.column_names.index(name), name, table[name].cast(dtype))
    pq.write_table(table, tmp_path / "a.parquet")
    pq.write_table(changed, tmp_path / "b.parquet")
    assert refusal_of(tmp_path, True) == f"{message} 'a column of type {dtype}'."


def test_ids_of_two_types_in_two_files_are_refused(tmp_path):
    for name, users in (("a", ["1"]), ("b", [1]), ("c", [None])):
        pq.write_table(
            pa.table({"row": [0], "column": [0], "delta": [1.0], "user": users}), tmp_path / f"{name}.parquet"
        )
    message = "users of A must be ids of one type in all Parquet files; got 'int and null and str'."
    assert refusal_of(tmp_path, True) == message and len(lists_of(read(tmp_path))[0]) == 3
    (tmp_path / "b.parquet").unlink()
    assert lists_of(read(tmp_path, True))[3] == ["1", None]


@pytest.mark.parametrize("name", ["x.csv.gz", "x.parquet"])
def test_damaged_files_are_refused_in_one_line(tmp_path, name):
    (tmp_path / name).write_bytes(b"\xff\xfe7.25\x00\n")
    kind = "Parquet" if name == "x.parquet" else "CSV"
    refusal = refusal_of(tmp_path / name)
    assert refusal.startswith(f"X of A must be a readable {kind} file; got '{name}: ") and "7.25" not in refusal


def test_a_file_that_turns_bad_is_refused_when_it_is_read(tmp_path):
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table(PARTS), path)
    origin = read(path)
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(InvalidParameter, match=r"a readable Parquet file; got 'x\.parquet: damaged"):
        list(origin.chunks(100))


# Pieces.


@pytest.mark.parametrize("enough", ENOUGH)
@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_pieces_are_the_whole(tmp_path, kind, enough):
    parts = {name: cells * 3 for name, cells in {**PARTS, "user": ["ann", "b", "7", "x"]}.items()}
    paths = sorted(write_folder(tmp_path / "x", pa.table(parts), kind).iterdir())
    origin = (ParquetUpdates if kind == "parquet" else CsvUpdates)(paths, True, "A")
    pieces = origin.pieces(enough)
    found = [lists_of(part, 3) for part in sent(pieces)]
    assert [[cell for part in found for cell in part[j]] for j in range(4)] == lists_of(origin) == list(parts.values())
    assert [part.n_updates for part in sent(pieces)] == [piece.n_entries for piece in pieces]


def test_a_piece_has_the_names_of_its_own_file(tmp_path):
    table = pa.table(PARTS)
    pq.write_table(table, tmp_path / "a.parquet")
    pq.write_table(table.rename_columns(["row", "col", "delta", "user"]), tmp_path / "b.parquet")
    pieces = read(tmp_path).pieces()
    (tmp_path / "a.parquet").unlink()
    assert lists_of(sent(pieces)[1])[1] == PARTS["column"]


def test_a_file_without_records_has_no_pieces(tmp_path):
    (tmp_path / "x.csv").write_text("row,column,delta\n")
    assert (read(tmp_path / "x.csv").n_updates, read(tmp_path / "x.csv").pieces()) == (0, [])


def test_a_folder_of_csv_files_in_order(tmp_path):
    (tmp_path / "b.csv").write_text('delta,col,row\n"1\n,2,3",4\n7,8,9\n')
    (tmp_path / "a.tsv").write_text("row\tcolumn\tdelta\n1\t2\t3\n")
    (tmp_path / "c.csv").write_text("row,column,delta\n")
    rows, columns, deltas = lists_of(read(tmp_path))
    assert (rows, columns, deltas[::2]) == ([1, -1, 9], [2, -1, 8], [3, 7]) and read(tmp_path).n_updates is None
    assert "one without user" in refusal_of(tmp_path, True)
