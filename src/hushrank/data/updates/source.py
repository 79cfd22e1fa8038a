"""A source of updates: entries of a matrix of public shape, each with what is added to it.

An update outside the shape, or of a delta that is not finite, is left out when it is read; their numbers go to the
log, which is for the data holder. What remains is what kernels rest on: they write to places without looking again.
"""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushrank.data.numbers import convert
from hushrank.data.source import MAX_BLOCK_ROWS, Source
from hushrank.exceptions import InvalidParameter

log = logging.getLogger("hushrank")

_FORM = "int64 rows and columns and float64 deltas, vectors of one length"


@dataclass(frozen=True, slots=True, eq=False)
class UpdateBlock:
    """Consecutive updates.

    Attributes
    ----------
    rows, columns : ndarray of shape (n_updates,)
        Which entry, int64; within the public shape.
    deltas : ndarray of shape (n_updates,)
        What is added to it, finite float64.
    """

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    deltas: NDArray[np.float64]

    def __post_init__(self) -> None:
        arrays = (self.rows, self.columns, self.deltas)
        dtypes = [getattr(array, "dtype", None) for array in arrays]
        shapes = {getattr(array, "shape", None) for array in arrays}
        if dtypes != [np.int64, np.int64, np.float64] or shapes != {(len(self.rows),)}:
            raise InvalidParameter("UpdateBlock", "arrays", _FORM, f"{dtypes} of shapes {shapes}")

    def __len__(self) -> int:
        """Number of updates."""
        return len(self.rows)


class Entries(NamedTuple):
    """Updates as they are given: integers and real numbers of any dtype and value, vectors of one length."""

    rows: NDArray[Any]
    columns: NDArray[Any]
    deltas: NDArray[Any]


class Updates(Source):
    """Updates of a matrix, each an entry of its own; `n_samples` counts those that are left out as well.

    Parameters
    ----------
    entries : Entries
        The updates; not copied, and not looked at before they are read.
    shape : pair of int
        Rows and columns of the matrix, public.
    """

    def __init__(self, entries: Entries, shape: tuple[int, int]) -> None:
        shapes = {array.shape for array in entries}
        if shapes != {(len(entries.deltas),)}:
            raise InvalidParameter("Updates", "entries", "vectors of one length", f"shapes {sorted(shapes)}")
        super().__init__(len(entries.deltas))
        self._entries, self.shape = entries, shape
        self._is_logged = False

    @property
    def sizes(self) -> Mapping[str, int]:
        """n_rows and n_columns of the matrix."""
        return {"n_rows": self.shape[0], "n_columns": self.shape[1]}

    def blocks(self, max_rows: int = MAX_BLOCK_ROWS) -> Iterator[UpdateBlock]:
        """Blocks of at most `max_rows` and 8192 updates, in their order and without those that are left out."""
        n_given, length = len(self._entries.deltas), min(max_rows, MAX_BLOCK_ROWS)
        n_outside = n_not_finite = 0
        for start in range(0, n_given, length):
            rows, columns, deltas = (array[start : start + length] for array in self._entries)
            inside = _is_inside(rows, self.shape[0]) & _is_inside(columns, self.shape[1])
            deltas = convert(deltas, np.float64)
            kept = inside & np.isfinite(deltas)
            n_outside += len(kept) - int(np.count_nonzero(inside))
            n_not_finite += int(np.count_nonzero(inside)) - int(np.count_nonzero(kept))
            if kept.any():
                yield UpdateBlock(rows[kept].astype(np.int64), columns[kept].astype(np.int64), deltas[kept])
        self._log(n_given, n_outside, n_not_finite)

    def empty_block(self) -> UpdateBlock:
        """A block without updates."""
        return UpdateBlock(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))

    def _log(self, n_given: int, n_outside: int, n_not_finite: int) -> None:
        """Tell the data holder once, however often the updates are read."""
        if not self._is_logged:
            message = "Not private: %s updates read; %s outside the matrix and %s not finite were left out."
            log.info(message, f"{n_given:,}", f"{n_outside:,}", f"{n_not_finite:,}")
        self._is_logged = True


def _is_inside(indices: NDArray[Any], size: int) -> NDArray[np.bool_]:
    """Which indices lie within an axis; compared in their own dtype, in which none of them wraps around."""
    return np.asarray((indices >= 0) & (indices < size))
