"""Arrays in npy files, read some records at a time into new arrays.

They are not mapped into memory, so that no more of a file is resident than the blocks that somebody holds. Only the
header is believed, and only if the file has the length that it tells; objects are never loaded.
"""

import math
import os
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushrank.data.files import PARQUET_SUFFIXES, refuse_damaged
from hushrank.data.found_files import check_suffix
from hushrank.data.records.features import Features, Slices, check_form
from hushrank.data.records.in_memory import check_count, read_answers
from hushrank.data.records.stores import read_at
from hushrank.data.remote_files import Given, Place, check_local, to_path
from hushrank.data.text_files import DATA_SUFFIXES
from hushrank.data.vectors import check_real
from hushrank.exceptions import InvalidParameter

NPY_SUFFIX = ".npy"
_SUFFIXES = (*DATA_SUFFIXES, NPY_SUFFIX)

# Version 3.0 is for the names of fields, which numbers do not have.
_HEADERS: dict[tuple[int, int], Callable[..., Any]] = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


class StoredArray:
    """Real numbers of an npy file, which stays open as long as this object lives; threads may read it at once.

    Parameters
    ----------
    path : str or path
        The file.
    name, owner : str
        What it is called and who asks, for error messages.

    Attributes
    ----------
    shape, dtype : as of an array
    """

    def __init__(self, path: Given, name: str, owner: str) -> None:
        self._path, self._name, self._owner = check_local(to_path(path, owner, name), "npy", owner, name), name, owner
        if self._path.suffix.lower() != NPY_SUFFIX or not self._path.is_file():
            raise InvalidParameter(owner, name, "an existing npy file", str(self._path))
        with refuse_damaged(self._path, "npy", owner, name), self._path.open("rb") as file:
            self.shape, is_fortran, self.dtype = _HEADERS[np.lib.format.read_magic(file)](file)
            self._start, size = file.tell(), os.fstat(file.fileno()).st_size
            self._check(is_fortran, size)
            self._descriptor = os.dup(file.fileno())
        weakref.finalize(self, os.close, self._descriptor)
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, part: slice) -> NDArray[Any]:
        """Consecutive entries of the first axis, as a new array; refused if the file has become shorter."""
        start, stop, _ = part.indices(len(self))
        block = np.empty((max(0, stop - start), *self.shape[1:]), self.dtype)
        with refuse_damaged(self._path, "npy", self._owner, self._name):
            read_at(self._descriptor, self._start + start * self._entry_bytes, block, self._lock)
        return block

    @property
    def _entry_bytes(self) -> int:
        return int(math.prod(self.shape[1:]) * self.dtype.itemsize)

    def _check(self, is_fortran: bool, size: int) -> None:
        """Refuse other types, orders and lengths than those of real numbers in C order."""
        check_real(self.dtype, self._name, self._owner)
        if is_fortran:
            requirement = "an npy file in C order (saved from numpy.ascontiguousarray)"
            raise InvalidParameter(self._owner, self._name, requirement, f"{self._path.name}: in Fortran order")
        if not self.shape or min(self.shape) < 0 or size != self._start + len(self) * self._entry_bytes:
            got = f"{self._path.name}: another length than its header tells"
            raise InvalidParameter(self._owner, self._name, "a whole npy file", got)


def kind_of_file(path: Place, owner: str) -> str:
    """The suffix of a file of numbers, in lower case; that of Parquet files for a folder, whatever is in it."""
    with refuse_damaged(path, "data", owner):
        return PARQUET_SUFFIXES[0] if path.is_dir() else check_suffix(path, owner, _SUFFIXES)


def read_npy_answers(y: Any, n_records: int, owner: str) -> Slices:
    """A vector with an answer for each record, in memory or in an npy file."""
    if not isinstance(y, str | os.PathLike):
        return read_answers(y, n_records, owner)
    stored = StoredArray(y, "y", owner)
    if len(stored.shape) != 1:
        raise InvalidParameter(owner, "y", "a vector, one number for each record", f"shape {stored.shape}")
    check_count(len(stored), n_records, owner)
    return stored


def read_npy(path: Given, owner: str) -> Features:
    """The numbers X of an npy file."""
    stored = StoredArray(path, "X", owner)
    check_form(stored.shape, owner)
    return Features(stored)
