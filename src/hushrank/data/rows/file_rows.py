"""Rows of files: the kind of a file is told by its suffix, a folder holds Parquet files or CSV files."""

from collections.abc import Callable, Hashable, Sequence
from pathlib import Path

import numpy as np
import scipy.sparse

from hushrank.data.files import PARQUET_SUFFIXES, refuse_damaged
from hushrank.data.found_files import are_texts, find_files, suffix_of
from hushrank.data.remote_files import Given, check_local
from hushrank.data.rows.arrays import Rows, read_array, read_sparse
from hushrank.data.rows.csv_rows import CsvRows
from hushrank.data.rows.parquet_rows import ParquetRows
from hushrank.data.text_files import TEXT_SUFFIXES
from hushrank.exceptions import InvalidParameter

Columns = Sequence[Hashable] | None


def read_file(path: Given, owner: str, columns: Columns = None) -> Rows:
    """Rows of a Parquet, CSV, npy or npz file, or of a folder of Parquet or CSV files."""
    paths = find_files(path, owner, SUFFIXES)
    read = _ARRAYS.get(suffix_of(paths[0]))
    if read is not None:
        return read(check_local(paths[0], "npy or npz", owner), owner, columns)
    return (CsvRows if are_texts(paths) else ParquetRows)(paths, owner, columns)


def _read_npy(path: Path, owner: str, columns: Columns) -> Rows:
    """Rows of one stored array, mapped into memory."""
    with refuse_damaged(path, "npy", owner):
        # Copy-on-write ("c") would spare the kernel a copy, but such maps may not exceed the memory of the machine.
        return read_array(np.lib.format.open_memmap(path, mode="r"), owner, columns)


def _read_npz(path: Path, owner: str, columns: Columns) -> Rows:
    """Rows of the one array of an archive, or of a matrix saved by scipy.sparse.save_npz; read as a whole."""
    # The file is opened here because NumPy leaves that of a damaged archive open.
    with refuse_damaged(path, "npz", owner), path.open("rb") as file:
        with np.load(file, allow_pickle=False) as archive:
            names = archive.files
            if "format" not in names and len(names) != 1:
                requirement = "an npz file with exactly one array, or a sparse matrix"
                raise InvalidParameter(owner, "X", requirement, f"{path.name}: {len(names)} arrays")
            if "format" not in names:
                return read_array(archive[names[0]], owner, columns)
        file.seek(0)
        return read_sparse(scipy.sparse.load_npz(file), owner, columns)


_ARRAYS: dict[str, Callable[[Path, str, Columns], Rows]] = {".npy": _read_npy, ".npz": _read_npz}
SUFFIXES = (*PARQUET_SUFFIXES, ".csv", *_ARRAYS, *TEXT_SUFFIXES[1:])
"""Of all files of rows, in the order in which they are told."""
