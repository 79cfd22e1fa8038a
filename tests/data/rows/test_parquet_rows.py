"""Parquet: schemas from the footers, rows streamed in bounded memory, damage refused in one line."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hushrank.data.found_files import folder_files
from hushrank.data.rows.parquet_rows import ParquetRows, first_with_rows
from hushrank.exceptions import InvalidParameter
from piece_support import ENOUGH, sent, write_folder


def joined(rows, max_rows=8192):
    return np.vstack(list(rows.blocks(max_rows)))


def write(path, **options):
    columns = options.pop("columns", {"a": [1, 2, None], "b": [0.5, 1.5, 2.5]})
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path, **options)
    return path


@pytest.mark.parametrize("row_group_size", [1, 2, 3])
def test_a_file_is_read_in_blocks(tmp_path, row_group_size):
    rows = ParquetRows([write(tmp_path / "x.parquet", row_group_size=row_group_size)], "PCA", None)
    assert (rows.n_samples, rows.columns, rows.can_repeat) == (3, ("a", "b"), True)
    for max_rows in (1, 2, 8192):
        assert np.array_equal(joined(rows, max_rows), [[1, 0.5], [2, 1.5], [np.nan, 2.5]], equal_nan=True)
        assert max(len(block) for block in rows.blocks(max_rows)) <= max_rows


def test_columns_keep_the_order_asked_for_in_every_file(tmp_path):
    write(tmp_path / "1.parquet", columns={"a": [1], "b": [2.0]})
    write(tmp_path / "2.parquet", columns={"b": [4], "a": [True]})
    paths = folder_files(tmp_path, "PCA")
    assert joined(ParquetRows(paths, "PCA", None)).tolist() == [[1, 2], [1, 4]]
    assert joined(ParquetRows(paths, "PCA", ["b", "a"])).tolist() == [[2, 1], [4, 1]]


def test_names_with_dots_are_plain_names(tmp_path):
    path = write(tmp_path / "x.parquet", columns={"a.b": [1], "a": [2], "text": ["x"]})
    assert joined(ParquetRows([path], "PCA", ["a"])).tolist() == [[2]]
    assert joined(ParquetRows([path], "PCA", ["a", "a.b"])).tolist() == [[2, 1]]


def test_a_stored_index_is_no_column(tmp_path):
    pd.DataFrame({"a": [1.0]}, index=pd.Index([7], name="user")).to_parquet(tmp_path / "x.parquet")
    assert ParquetRows([tmp_path / "x.parquet"], "PCA", None).columns == ("a",)


def test_files_without_rows_are_fine(tmp_path):
    path = write(tmp_path / "x.parquet", columns={"a": pa.array([], pa.int8())})
    rows = ParquetRows([path, path], "PCA", None)
    assert (rows.n_samples, rows.n_features, list(rows.blocks())) == (0, 1, [])


def test_first_cells_are_those_of_the_first_file_with_rows(tmp_path):
    nothing = {"a": pa.array([], pa.int8()), "user": pa.array([], pa.int8())}
    paths = [write(tmp_path / f"{i}.parquet", columns=nothing) for i in range(2)]
    assert first_with_rows(paths, "PCA") == paths[0]
    paths += [write(tmp_path / "3.parquet", columns={"a": [7, 8]}), write(tmp_path / "4.parquet", columns={"a": [9]})]
    rows = ParquetRows(paths, "PCA", ["a"])
    assert first_with_rows(paths, "PCA") == paths[2]
    assert {name: cells.to_pylist() for name, cells in rows.first_cells(["a", "user"], 5).items()} == {"a": [7, 8]}
    assert ParquetRows(paths[:2], "PCA", None).first_cells(["a"], 5) == {}


def test_a_large_row_group_needs_little_memory(tmp_path):
    n_samples, n_features = 200_000, 50
    X = np.random.default_rng(0).standard_normal((n_features, n_samples))
    table = pa.table(list(X), names=[f"c{j}" for j in range(n_features)])
    options = {"row_group_size": n_samples, "use_dictionary": False, "data_page_size": 2**16}
    pq.write_table(table, tmp_path / "x.parquet", **options)
    del table
    before, peak, total = pa.total_allocated_bytes(), 0, 0.0
    for block in ParquetRows([tmp_path / "x.parquet"], "PCA", None).blocks():
        peak = max(peak, pa.total_allocated_bytes() - before)
        total += block.sum()
    assert total == pytest.approx(X.sum(), abs=1e-6)
    assert 0 < peak < X.nbytes / 4  # a few pages of each column; the row group holds 80 MB


# Folders.


@pytest.mark.parametrize("other", [{"a": [1]}, {"a": [1], "b": [1.0], "c": [1.0]}, {"a": [1], "B": [1.0]}])
def test_files_with_other_columns_are_refused(tmp_path, other):
    paths = [write(tmp_path / "1.parquet"), write(tmp_path / "2.parquet", columns=other)]
    with pytest.raises(InvalidParameter, match=r"files with the same columns; got \"column '[bcB]' not in all, see 2"):
        ParquetRows(paths, "PCA", None)


def test_types_are_checked_in_every_file_but_only_of_chosen_columns(tmp_path):
    paths = [write(tmp_path / "1.parquet"), write(tmp_path / "2.parquet", columns={"a": [1], "b": ["7.25"]})]
    with pytest.raises(InvalidParameter, match="numbers and booleans; got \"column 'b' of type string\""):
        ParquetRows(paths, "PCA", None)
    assert ParquetRows(paths, "PCA", ["a"]).n_samples == 4
    with pytest.raises(InvalidParameter, match="with the column 'c'"):
        ParquetRows(paths, "PCA", ["c"])


# Damage.


def test_what_is_not_parquet_is_refused(tmp_path):
    (tmp_path / "x.parquet").write_bytes(b"secret,7.25\n" * 10)
    with pytest.raises(InvalidParameter) as refusal:
        ParquetRows([tmp_path / "x.parquet"], "PCA", None)
    assert str(refusal.value) == (
        "X of PCA must be a readable Parquet file; got 'x.parquet: damaged, or of another kind'."
    )


def test_a_damaged_page_is_refused_while_reading(tmp_path):
    path = write(tmp_path / "x.parquet", columns={"a": np.arange(1000.0)}, compression="gzip", use_dictionary=False)
    content = bytearray(path.read_bytes())
    content[40:400] = bytes(360)
    path.write_bytes(content)
    rows = ParquetRows([path], "PCA", None)
    with pytest.raises(InvalidParameter, match=r"a readable Parquet file; got 'x.parquet: "):
        list(rows.blocks())


def test_a_file_that_lost_a_column_is_refused_while_reading(tmp_path):
    path = write(tmp_path / "x.parquet")
    rows = ParquetRows([path], "PCA", None)
    write(path, columns={"a": [1]})
    with pytest.raises(InvalidParameter, match="a readable Parquet file"):
        list(rows.blocks())


# Pieces.


@pytest.mark.parametrize("enough", ENOUGH)
def test_pieces_are_the_whole(tmp_path, enough):
    table = pa.table({"a": np.arange(11.0), "b": [None, *range(10)], "c": [True] * 11})
    rows = ParquetRows(folder_files(write_folder(tmp_path / "x", table), "PCA"), "PCA", ["c", "a", "b"])
    pieces = rows.pieces(enough)
    parts = sent(pieces)
    assert [part.n_samples for part in parts] == [piece.n_entries for piece in pieces]
    assert all(part.columns == rows.columns and part.header == rows.header for part in parts)
    for max_rows in (1, 8192):
        assert np.vstack([joined(part, max_rows) for part in parts]).tobytes() == joined(rows).tobytes()
    assert len(parts) == {1: 7, 2: 7, 3: 4, 10**9: 3}[enough]


def test_a_piece_settles_nothing_and_opens_no_other_file(tmp_path):
    paths = [write(tmp_path / "1.parquet"), write(tmp_path / "2.parquet")]
    rows = ParquetRows(paths, "PCA", None)
    write(paths[1], columns={"b": [4.0], "a": [3], "new": ["text"]})
    paths[0].unlink()
    assert joined(sent(rows.pieces())[1]).tolist() == [[3, 4]]
    assert ParquetRows([write(tmp_path / "3.parquet", columns={"a": pa.array([], "f8")})], "PCA", None).pieces() == []
