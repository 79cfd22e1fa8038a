"""Files by suffix: NumPy archives and arrays, folders, and one line for every file that cannot be read."""

import gzip
import io
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

from hushrank.data.rows.csv_rows import CsvRows
from hushrank.data.rows.file_rows import read_file
from hushrank.exceptions import InvalidParameter
from piece_support import write_folder

X = np.arange(12.0).reshape(4, 3)


def joined(rows):
    return np.vstack(list(rows.blocks(3)))


def refusal_of(path, columns=None):
    with pytest.raises(InvalidParameter) as refusal:
        read_file(path, "PCA", columns)
    assert "\n" not in str(refusal.value)
    return str(refusal.value)


@pytest.mark.parametrize("order", ["C", "F"])
def test_npy_files_are_mapped(tmp_path, order):
    np.save(tmp_path / "x.npy", np.asarray(X, order=order, dtype=np.float32))
    rows = read_file(tmp_path / "x.npy", "PCA")
    blocks = list(rows.blocks())
    assert rows.n_samples == 4 and blocks[0].dtype == np.float32 and np.array_equal(blocks[0], X)
    base = blocks[0]
    while base.base is not None and not isinstance(base, np.memmap):
        base = base.base
    assert isinstance(base, np.memmap) or type(base).__name__ == "mmap"


def test_npz_files_hold_one_array_or_a_sparse_matrix(tmp_path):
    np.savez(tmp_path / "dense.npz", anything=X)
    np.savez_compressed(tmp_path / "small.npz", X)
    sp.save_npz(tmp_path / "sparse.npz", sp.csc_matrix(X))
    for name in ("dense.npz", "small.npz", "sparse.npz"):
        assert np.array_equal(joined(read_file(str(tmp_path / name), "PCA")), X)


def test_numpy_files_may_be_complex(tmp_path):
    Z = X * (1 + 2j)
    np.save(tmp_path / "x.npy", Z)
    np.savez(tmp_path / "dense.npz", Z)
    sp.save_npz(tmp_path / "sparse.npz", sp.csr_matrix(Z))
    for name in ("x.npy", "dense.npz", "sparse.npz"):
        rows = read_file(tmp_path / name, "PCA")
        assert rows.is_complex and np.array_equal(joined(rows), Z)


def test_suffixes_may_be_capital_and_folders_hold_parquet(tmp_path):
    table = pa.table(list(X.T), names=["a", "b", "c"])
    for name in ("x.PARQUET", "y.pq"):
        pq.write_table(table, tmp_path / name)
        assert read_file(tmp_path / name, "PCA").columns == ("a", "b", "c")
    assert read_file(tmp_path, "PCA", ["c"]).n_samples == 8
    (tmp_path / "z.CSV").write_text("a\n1\n")
    assert read_file(tmp_path / "z.CSV", "PCA").columns == ("a",)


# Refusals.


def test_unknown_and_missing_files_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    more = ".tsv, .csv.gz, .tsv.gz, .csv.zst, .tsv.zst"
    known = f"a folder of Parquet or CSV files or a file ending in .parquet, .pq, .csv, .npy, .npz, {more}"
    assert refusal_of("x.txt") == f"X of PCA must be {known}; got 'x.txt'."
    assert refusal_of("folder") == f"X of PCA must be {known}; got 'folder'."
    assert refusal_of("x.npy") == "X of PCA must be an existing file; got 'x.npy'."


@pytest.mark.parametrize("suffix", ["parquet", "npy", "npz"])
@pytest.mark.parametrize("content", [b"", b"secret 7.25" * 20, b"\x93NUMPY\x01\x00", b"PK\x03\x04" + bytes(40)])
def test_damaged_files_are_refused_in_one_line(tmp_path, suffix, content):
    path = tmp_path / f"x.{suffix}"
    path.write_bytes(content)
    kind = "Parquet" if suffix == "parquet" else suffix
    expected = f"X of PCA must be a readable {kind} file; got 'x.{suffix}: damaged, or of another kind'."
    assert refusal_of(path) == expected


def test_truncated_arrays_are_refused(tmp_path):
    np.save(tmp_path / "x.npy", X)
    np.savez(tmp_path / "x.npz", X)
    for suffix in ("npy", "npz"):
        path = tmp_path / f"x.{suffix}"
        path.write_bytes(path.read_bytes()[:-60])
        assert "damaged, or of another kind" in refusal_of(path)


def test_pickles_are_not_opened(tmp_path):
    objects = np.array([[{"secret": 7.25}]], dtype=object)
    np.save(tmp_path / "x.npy", objects, allow_pickle=True)
    np.savez(tmp_path / "x.npz", objects)
    (tmp_path / "y.npy").write_bytes(b"\x80\x04N.")
    for name in ("x.npy", "x.npz", "y.npy"):
        assert "damaged, or of another kind" in refusal_of(tmp_path / name)


def test_archives_with_more_than_one_array_are_refused(tmp_path):
    np.savez(tmp_path / "x.npz", a=X, b=X)
    assert refusal_of(tmp_path / "x.npz") == (
        "X of PCA must be an npz file with exactly one array, or a sparse matrix; got 'x.npz: 2 arrays'."
    )


def test_a_broken_sparse_archive_is_refused(tmp_path):
    good = io.BytesIO()
    sp.save_npz(good, sp.csr_matrix(X))
    with zipfile.ZipFile(good) as source, zipfile.ZipFile(tmp_path / "x.npz", "w") as target:
        for name in source.namelist():
            if name != "indices.npy":
                target.writestr(name, source.read(name))
    assert "damaged, or of another kind" in refusal_of(tmp_path / "x.npz")


def test_arrays_of_files_meet_the_checks_of_arrays(tmp_path):
    np.savez(tmp_path / "x.npz", X[0])
    assert "Reshape your data" in refusal_of(tmp_path / "x.npz")
    np.save(tmp_path / "x.npy", X)
    assert refusal_of(tmp_path / "x.npy", ["a"]).startswith("columns of PCA must be None for data whose columns have")


# Folders of CSV files.


def test_a_folder_of_text_files_is_one_table(tmp_path):
    write_folder(tmp_path / "x", pa.table(list(X.T), names=["a", "b", "c"]), "csv")
    rows = read_file(tmp_path / "x", "PCA")
    assert isinstance(rows, CsvRows) and rows.n_samples is None and rows.columns == ("a", "b", "c")
    assert np.array_equal(joined(rows), X)
    (tmp_path / "x" / "4.tsv").write_text("c\ta\tb\n3\t1\t2\n")
    with gzip.open(tmp_path / "x" / "5.csv.gz", "wt") as file:
        file.write('c,b,a\n6,"\n5",4\n7,8\n')
    expected = [*X.tolist(), [1, 2, 3], [4, 5, 6], [np.nan] * 3]
    assert np.array_equal(joined(read_file(str(tmp_path / "x"), "PCA")), expected, equal_nan=True)
    (tmp_path / "x" / "6.csv").write_text("a,b\n1,2\n")
    assert refusal_of(tmp_path / "x") == (
        "X of PCA must be a folder of CSV files with the same columns; got \"column 'c' not in all, see 6.csv\"."
    )
    assert read_file(tmp_path / "x", "PCA", ["b"]).n_features == 1
