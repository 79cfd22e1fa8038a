"""Coordinates of rows: chosen columns, kept within public limits, moved and scaled, one row at a time.

A frame maps a row x to u with u_j = (clip(x_j, low_j, high_j) - shift_j) gain_j over the columns that it keeps. Every
number of it is public or was released before, so a frame is a map of one person's row, computed in a fixed order: the
same bits in every block, on every thread and in every memory layout.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushrank.linalg.moved_rows import fill_moved_norms
from hushrank.linalg.quantize import ROWS_PER_BLOCK, FloatArray, compiled, power_sum, row_blocks, row_width

IntegerArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """Coordinates of rows of `width` real numbers; complex rows have their real parts before their imaginary parts.

    Attributes
    ----------
    width : int
        Numbers of a row as it is read.
    columns : int64 array or None
        Columns that are kept, in this order; None keeps all.
    low, high : ndarrays of shape (number of kept columns,) or None
        Limits to which entries are clipped, both or none.
    shift : ndarray of the same shape, or None
        Subtracted from the entries, in the units of the data.
    gain : ndarray of the same shape, or None
        Positive factors, applied last.

    Examples
    --------
    >>> frame = Frame(3).keeping(np.array([2, 0])).moved(np.array([1.0, 0.0])).scaled(np.array([2.0, 1.0]))
    >>> frame.place(np.array([[5.0, 6.0, 7.0]]))
    array([[12.,  5.]])
    """

    width: int
    columns: IntegerArray | None = None
    low: FloatArray | None = None
    high: FloatArray | None = None
    shift: FloatArray | None = None
    gain: FloatArray | None = None

    @property
    def n_columns(self) -> int:
        """Numbers of a row in the frame."""
        return self.width if self.columns is None else len(self.columns)

    @property
    def is_identity(self) -> bool:
        """Whether rows stay as they are."""
        return all(part is None for part in (self.columns, self.low, self.shift, self.gain))

    @property
    def is_move(self) -> bool:
        """Whether rows get another origin, and nothing else."""
        return self.shift is not None and all(part is None for part in (self.columns, self.low, self.gain))

    def shifts(self) -> FloatArray:
        """What is subtracted from each kept column, as numbers."""
        return np.zeros(self.n_columns) if self.shift is None else self.shift

    def gains(self) -> FloatArray:
        """What each kept column is multiplied by, as numbers."""
        return np.ones(self.n_columns) if self.gain is None else self.gain

    def keeping(self, chosen: IntegerArray) -> "Frame":
        """The frame of fewer columns: `chosen` counts among those that it has."""
        columns = chosen if self.columns is None else self.columns[chosen]
        low, high, shift, gain = (
            None if part is None else part[chosen] for part in (self.low, self.high, self.shift, self.gain)
        )
        return Frame(self.width, columns, low, high, shift, gain)

    def limited(self, low: FloatArray, high: FloatArray) -> "Frame":
        """The frame with limits of the entries, in the units of the data."""
        return replace(self, low=low, high=high)

    def moved(self, step: FloatArray) -> "Frame":
        """The frame with another origin: `step` is the new one in the present coordinates."""
        return replace(self, shift=self.shifts() + step / self.gains())

    def scaled(self, factors: FloatArray) -> "Frame":
        """The frame with coordinates times `factors`; its origin stays."""
        return replace(self, shift=self.shifts(), gain=self.gains() * factors)

    def to_data(self, point: FloatArray) -> FloatArray:
        """A point of the frame, in the units of the data, for the kept columns."""
        placed: FloatArray = self.shifts() + point / self.gains()
        return placed

    def place(self, rows: FloatArray, out: FloatArray | None = None) -> FloatArray:
        """C-contiguous float64 rows in this frame; a row with an entry that is not finite gets one that is not.

        `out`, where it is given, has room for so many rows and is written to.
        """
        if self.is_identity:
            return rows
        kept = rows if self.columns is None else np.ascontiguousarray(rows[:, self.columns])
        placed = np.empty(kept.shape) if out is None else out[: len(kept)]
        if self.low is not None and self.high is not None:
            _clip_and_move(kept, self.low, self.high, self.shifts(), self.gains(), placed)
        elif self.gain is not None:
            _move_and_scale(kept, self.shifts(), self.gain, placed)
        elif self.shift is not None:
            _move(kept, self.shift, placed)
        else:
            return kept
        return placed

    def blocks(self, X: NDArray[Any], rows_per_block: int = ROWS_PER_BLOCK) -> Iterator[FloatArray]:
        """Rows of an array in this frame, some at a time in the same memory; real rows among complex ones get zeros.

        Whether the rows of other people are stored as real or as complex numbers must not change the bits of a row.
        """
        rows = min(rows_per_block, len(X))
        placed = None if self.is_identity else np.empty((rows, self.n_columns))
        buffer = np.zeros((rows, self.width)) if row_width(X) != self.width else None
        for _, block in row_blocks(X, rows_per_block):
            if buffer is None:
                yield self.place(block, placed)
                continue
            buffer[: len(block), : block.shape[1]] = block
            yield self.place(buffer[: len(block)], placed)


def row_norms(X: NDArray[Any], frame: Frame, powers: tuple[int, ...] = (2,)) -> tuple[FloatArray, ...]:
    """Norms of rows in a frame, for each power: 2 Euclidean, 1 sums of absolute values.

    They are those of what a row adds to a sum: 0 for a row that is not finite, infinite only where squares overflow.
    """
    norms = tuple(np.empty(len(X)) for _ in powers)
    start = 0
    if powers == (2,) and frame.is_move and row_width(X) == frame.width:  # without a copy of the rows
        assert frame.shift is not None
        for first, block in row_blocks(X, ROWS_PER_BLOCK):
            fill_moved_norms(block, frame.shift, norms[0][first : first + len(block)])
        return norms
    for block in frame.blocks(X):
        parts = tuple(out[start : start + len(block)] for out in norms)
        if powers == (2, 1):
            _fill_both_norms(block, *parts)
        else:
            for power, out in zip(powers, parts, strict=True):
                _fill_norms(block, power, out)
        start += len(block)
    return norms


@compiled
def _move(X: FloatArray, shift: FloatArray, Y: FloatArray) -> None:
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            Y[i, j] = X[i, j] - shift[j]


@compiled
def _move_and_scale(X: FloatArray, shift: FloatArray, gain: FloatArray, Y: FloatArray) -> None:
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            Y[i, j] = (X[i, j] - shift[j]) * gain[j]


@compiled
def _clip_and_move(
    X: FloatArray, low: FloatArray, high: FloatArray, shift: FloatArray, gain: FloatArray, Y: FloatArray
) -> None:
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            x = X[i, j]
            kept = low[j] if x < low[j] else high[j] if x > high[j] else x
            # x - x is 0, or NaN where x is not finite: a limit does not make such an entry a number.
            Y[i, j] = (kept - shift[j]) * gain[j] + (x - x)


@compiled
def _fill_norms(X: FloatArray, power: int, norms: FloatArray) -> None:
    for i in range(X.shape[0]):
        total = power_sum(X, i, power)
        if not total < math.inf:
            total = math.inf
            for j in range(X.shape[1]):
                if not abs(X[i, j]) < math.inf:
                    total = 0.0
        norms[i] = math.sqrt(total) if power == 2 else total


@compiled
def _fill_both_norms(X: FloatArray, euclidean: FloatArray, absolute: FloatArray) -> None:
    """Both norms of the rows in one reading, with the bits of `_fill_norms`."""
    whole = X.shape[1] - X.shape[1] % 4
    for i in range(X.shape[0]):
        x = X[i]
        s0 = s1 = s2 = s3 = 0.0
        a0 = a1 = a2 = a3 = 0.0
        for j in range(0, whole, 4):
            s0 += x[j] * x[j]
            s1 += x[j + 1] * x[j + 1]
            s2 += x[j + 2] * x[j + 2]
            s3 += x[j + 3] * x[j + 3]
            a0 += abs(x[j])
            a1 += abs(x[j + 1])
            a2 += abs(x[j + 2])
            a3 += abs(x[j + 3])
        for j in range(whole, X.shape[1]):
            s0 += x[j] * x[j]
            a0 += abs(x[j])
        squares, total = (s0 + s2) + (s1 + s3), (a0 + a2) + (a1 + a3)
        if not (squares < math.inf and total < math.inf):
            is_lost = False
            for j in range(X.shape[1]):
                is_lost = is_lost or not abs(x[j]) < math.inf
            squares = 0.0 if is_lost else squares
            total = 0.0 if is_lost else total
        euclidean[i], absolute[i] = math.sqrt(squares), total
