"""Which files hold the data at a path: by their suffixes, of a folder Parquet files or else CSV files."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hushrank.data.found_files import are_texts, check_suffix, find_files, folder_files
from hushrank.data.rows.parquet_rows import ParquetRows
from hushrank.exceptions import InvalidParameter

KNOWN = ".parquet, .pq, .csv, .tsv, .csv.gz, .tsv.gz, .csv.zst, .tsv.zst"


def write(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix.lower() in (".parquet", ".pq"):
        pq.write_table(pa.table({"a": [1, 2, None], "b": [0.5, 1.5, 2.5]}), path)
    else:
        path.write_text("a,b\n1,2\n")
    return path


def names_below(folder):
    return [path.relative_to(folder).as_posix() for path in folder_files(folder, "PCA")]


def refusal_of(call, *args):
    with pytest.raises(InvalidParameter) as refusal:
        call(*args)
    assert "\n" not in str(refusal.value)
    return str(refusal.value)


HIDDEN = [".hidden{0}", "_x{0}", "_tmp/y{0}", "deep/.z/y{0}"]


def test_parquet_files_of_a_folder_are_found_below_hidden_names_aside(tmp_path):
    for name in ("b.parquet", "a.pq", "deep/er/c.PARQUET", *(name.format(".parquet") for name in HIDDEN), "x.csv"):
        write(tmp_path / name)
    (tmp_path / "notes.txt").write_text("no rows")
    (tmp_path / "folder.parquet").mkdir()
    assert names_below(tmp_path) == ["a.pq", "b.parquet", "deep/er/c.PARQUET"]
    assert not are_texts(find_files(tmp_path, "PCA"))
    assert ParquetRows(folder_files(tmp_path, "PCA"), "PCA", None).n_samples == 9


def test_without_parquet_files_text_files_are_found(tmp_path):
    hidden = [name.format(ending) for name in HIDDEN for ending in (".csv", ".parquet")]
    for name in ("b.csv", "a.TSV", "deep/c.csv.gz", "deep/b.tsv.zst", *hidden, "d.txt", "e.gz", "f.npy"):
        write(tmp_path / name)
    (tmp_path / "folder.csv").mkdir()
    assert names_below(tmp_path) == ["a.TSV", "b.csv", "deep/b.tsv.zst", "deep/c.csv.gz"]
    assert are_texts(find_files(str(tmp_path), "PCA"))


def test_a_folder_whose_own_name_is_hidden_is_read(tmp_path):
    write(tmp_path / ".cache" / "a.parquet")
    assert names_below(tmp_path / ".cache") == ["a.parquet"]


def test_a_folder_with_neither_is_refused(tmp_path):
    folder = tmp_path / "folder"
    write(folder / "x.npy")
    expected = "X of PCA must be a folder with Parquet or CSV files; got 'folder: none found'."
    assert refusal_of(find_files, folder, "PCA") == expected


def test_one_file_is_told_by_its_suffix(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = write(tmp_path / "x.csv")
    assert find_files(path, "PCA") == [path] and find_files("x.csv", "PCA")[0].samefile(path)
    assert refusal_of(find_files, "gone.csv", "PCA") == "X of PCA must be an existing file; got 'gone.csv'."
    wanted = f"X of PCA must be a folder of Parquet or CSV files or a file ending in {KNOWN}"
    assert refusal_of(find_files, "x.npy", "PCA") == f"{wanted}; got \"x.npy; did you mean 'x.csv'?\"."
    assert check_suffix(tmp_path / "y.NPY", "PCA", (".npy",)) == ".npy"
