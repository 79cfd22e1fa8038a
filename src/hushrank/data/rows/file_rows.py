"""Rows of files: the kind of a file is told by its suffix, a folder holds Parquet files."""

from collections.abc import Callable, Hashable, Sequence
from os import PathLike, fspath
from pathlib import Path

import numpy as np
import scipy.sparse

from hushrank.data.files import PARQUET_SUFFIXES, guess_file, parquet_files, refuse_damaged, say_path
from hushrank.data.rows.arrays import Rows, read_array, read_sparse
from hushrank.data.rows.csv_rows import CsvRows
from hushrank.data.rows.parquet_rows import ParquetRows
from hushrank.data.text_files import TEXT_SUFFIXES, text_suffix
from hushrank.exceptions import InvalidParameter

Columns = Sequence[Hashable] | None


def read_file(path: str | PathLike[str], owner: str, columns: Columns = None) -> Rows:
    """Rows of a Parquet, CSV, npy or npz file, or of a folder of Parquet files."""
    path = Path(fspath(path))
    if path.is_dir():
        return ParquetRows(parquet_files(path, owner), owner, columns)
    read = _READERS.get(text_suffix(path) or path.suffix.lower())
    if read is None:
        requirement = f"a folder of Parquet files or a file ending in {', '.join(_READERS)}"
        raise InvalidParameter(owner, "X", requirement, f"{path.name}{guess_file(path)}")
    if not path.is_file():
        raise InvalidParameter(owner, "X", "an existing file", say_path(path))
    return read(path, owner, columns)


def _read_parquet(path: Path, owner: str, columns: Columns) -> Rows:
    return ParquetRows([path], owner, columns)


def _read_csv(path: Path, owner: str, columns: Columns) -> Rows:
    return CsvRows([path], owner, columns)


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


_READERS: dict[str, Callable[[Path, str, Columns], Rows]] = {
    **dict.fromkeys(PARQUET_SUFFIXES, _read_parquet),
    ".csv": _read_csv,
    ".npy": _read_npy,
    ".npz": _read_npz,
    **dict.fromkeys(TEXT_SUFFIXES[1:], _read_csv),
}
