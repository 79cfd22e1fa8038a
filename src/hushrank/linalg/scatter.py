"""Sums of sparse contributions: each shortened to a norm, rounded to integers and added in int64.

A contribution touches some rows of the total only. It is bounded as a whole, before anything is added, and the bound is
checked in integers; the order of operations is fixed, so the bits of a contribution depend on it alone.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushrank.linalg.quantize import FloatArray, compiled

IntegerArray = NDArray[np.int64]
Positions = NDArray[np.int32]


class Bound(NamedTuple):
    """How far a contribution may reach.

    Attributes
    ----------
    norm : float
        Euclidean norm that becomes sqrt(limit) integer units; a longer contribution is shortened to it.
    limit : float
        Largest sum of squared integers, at most 2^48.
    lowest : float
        0 where the plan is for nonnegative contributions, which smaller integers become; minus infinity elsewhere.
    """

    norm: float
    limit: float
    lowest: float = -math.inf


class IntegerRows(NamedTuple):
    """Sparse rows of integers: row i has integers[starts[i] : starts[i + 1]] in the rising columns beside them."""

    starts: IntegerArray
    columns: Positions
    integers: IntegerArray


@compiled
def add_contribution(G: FloatArray, n_rows: int, rows: Positions, bound: Bound, total: IntegerArray) -> float:
    """Add one contribution to the rows `rows` of `total` and return the factor that shortened it.

    Parameters
    ----------
    G : ndarray of shape (at least n_rows, n_columns)
        The contribution; rows beyond `n_rows` are not read.
    n_rows : int
    rows : ndarray of shape (n_rows,)
        Different rows of `total`.
    bound : Bound
        On the Frobenius norm.
    total : ndarray of any number of rows and n_columns

    Returns
    -------
    float
        In [0, 1]; 0 for a contribution whose sum of squares is not finite, which adds nothing.
    """
    squared = 0.0
    for i in range(n_rows):
        for j in range(G.shape[1]):
            squared += G[i, j] * G[i, j]
    norm = math.sqrt(squared)
    if not norm < math.inf:
        return 0.0
    factor = math.sqrt(bound.limit) / max(norm, bound.norm)
    is_rounded = _integer_squares(G, n_rows, factor, True) <= bound.limit
    if not is_rounded:
        # Truncation shortens every entry; the margin covers the rounding of the norm and of the factor.
        factor *= 1 - (n_rows * G.shape[1] + 16) * 2.0**-50
        if not _integer_squares(G, n_rows, factor, False) <= bound.limit:
            return 0.0
    for i in range(n_rows):
        row = rows[i]
        for j in range(G.shape[1]):
            scaled = G[i, j] * factor
            total[row, j] += np.int64(max(np.rint(scaled) if is_rounded else np.trunc(scaled), bound.lowest))
    return min(1.0, bound.norm / norm) if norm > 0.0 else 1.0


@compiled
def _integer_squares(G: FloatArray, n_rows: int, factor: float, is_rounded: bool) -> float:
    """Sum of squares of the integers; at most 2^48 only if the exact sum is, since float addition is monotone."""
    squares = 0.0
    for i in range(n_rows):
        for j in range(G.shape[1]):
            scaled = G[i, j] * factor
            integer = np.rint(scaled) if is_rounded else np.trunc(scaled)
            squares += integer * integer
    return squares


@compiled
def round_number(x: float, bound: Bound) -> int:
    """A number in units of bound.norm / sqrt(bound.limit) as an integer within the bound; 0 if it is not finite."""
    if not abs(x) < math.inf:
        return 0
    largest = math.sqrt(bound.limit)
    scaled = min(max(x / bound.norm, -1.0), 1.0) * largest
    integer = np.rint(scaled)
    if integer * integer > bound.limit:
        integer = np.trunc(scaled * (1 - 2.0**-50))
    return int(max(integer, bound.lowest)) if integer * integer <= bound.limit else 0


@compiled
def quantize_row(x: FloatArray, n: int, bound: Bound, y: IntegerArray) -> bool:
    """Fill y[:n] with x[:n] as integers within the bound, of any sign; False (and zeros) if they are not finite."""
    squared = 0.0
    for i in range(n):
        squared += x[i] * x[i]
    norm = math.sqrt(squared)
    y[:n] = 0
    if not norm < math.inf:
        return False
    factor = math.sqrt(bound.limit) / max(norm, bound.norm)
    for attempt in range(2):
        squares = 0.0
        for i in range(n):
            integer = np.rint(x[i] * factor) if attempt == 0 else np.trunc(x[i] * factor)
            y[i] = np.int64(integer)
            squares += integer * integer
        if squares <= bound.limit:
            return True
        factor *= 1 - (n + 16) * 2.0**-50
    y[:n] = 0
    return False


@compiled
def add_row_products(rows: IntegerRows, first: int, stop: int, offset: int, total: IntegerArray) -> None:
    """Add y_a y_b to total[c_a, c_b] for all b >= a + offset, for all rows y, where first <= c_a < stop.

    With offset 0 that is the upper triangle of the sum of y y^T, with offset 1 what is above its diagonal.
    """
    starts, columns, integers = rows.starts, rows.columns, rows.integers
    for i in range(len(starts) - 1):
        a, end = starts[i], starts[i + 1]
        after = end
        while a < after:  # the first column from `first` on, by bisection
            middle = (a + after) // 2
            if columns[middle] < first:
                a = middle + 1
            else:
                after = middle
        while a < end and columns[a] < stop:
            row, y = total[columns[a]], integers[a]
            for b in range(a + offset, end):
                row[columns[b]] += y * integers[b]
            a += 1
