"""Contributions of users to sums over items: sparse, shortened to a norm, rounded to integers and added in int64.

A user's contribution touches the items of that user only. It is bounded as a whole, before anything is added, and the
bound is checked in integers; the order of operations is fixed, so the bits of a contribution depend on it alone.
"""

import math

import numpy as np
from numpy.typing import NDArray

from hushrank.linalg.quantize import FloatArray, compiled

IntegerArray = NDArray[np.int64]
Positions = NDArray[np.int32]


@compiled
def add_contribution(
    G: FloatArray, n_rows: int, rows: Positions, norm_bound: float, limit: float, lowest: float, total: IntegerArray
) -> float:
    """Add one user's contribution to the rows `rows` of `total` and return the factor that shortened it.

    Parameters
    ----------
    G : ndarray of shape (at least n_rows, n_columns)
        The contribution; rows beyond `n_rows` are not read.
    n_rows : int
    rows : ndarray of shape (n_rows,)
        Different rows of `total`.
    norm_bound : float
        Frobenius norm that becomes sqrt(limit) integer units; a longer contribution is shortened to it.
    limit : float
        Largest sum of squared integers, at most 2^48.
    lowest : float
        0 where the plan is for nonnegative contributions, which smaller integers become; minus infinity elsewhere.
    total : ndarray of shape (n_items, n_columns)

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
    factor = math.sqrt(limit) / max(norm, norm_bound)
    is_rounded = _integer_squares(G, n_rows, factor, True) <= limit
    if not is_rounded:
        # Truncation shortens every entry; the margin covers the rounding of the norm and of the factor.
        factor *= 1 - (n_rows * G.shape[1] + 16) * 2.0**-50
        if not _integer_squares(G, n_rows, factor, False) <= limit:
            return 0.0
    for i in range(n_rows):
        row = rows[i]
        for j in range(G.shape[1]):
            scaled = G[i, j] * factor
            total[row, j] += np.int64(max(np.rint(scaled) if is_rounded else np.trunc(scaled), lowest))
    return min(1.0, norm_bound / norm) if norm > 0.0 else 1.0


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
def round_number(x: float, norm_bound: float, limit: float, lowest: float) -> int:
    """A number in units of norm_bound / sqrt(limit) as an integer of square at most `limit`; 0 if it is not finite.

    Integers below `lowest`, 0 or minus infinity as for `add_contribution`, become that.
    """
    if not abs(x) < math.inf:
        return 0
    largest = math.sqrt(limit)
    scaled = min(max(x / norm_bound, -1.0), 1.0) * largest
    integer = np.rint(scaled)
    if integer * integer > limit:
        integer = np.trunc(scaled * (1 - 2.0**-50))
    return int(max(integer, lowest)) if integer * integer <= limit else 0


@compiled
def quantize_row(x: FloatArray, n: int, norm_bound: float, limit: float, y: IntegerArray) -> bool:
    """Fill y[:n] with x[:n] as integers, sum y^2 <= limit, longer rows shortened; False (and zeros) if not finite."""
    squared = 0.0
    for i in range(n):
        squared += x[i] * x[i]
    norm = math.sqrt(squared)
    y[:n] = 0
    if not norm < math.inf:
        return False
    factor = math.sqrt(limit) / max(norm, norm_bound)
    for attempt in range(2):
        squares = 0.0
        for i in range(n):
            integer = np.rint(x[i] * factor) if attempt == 0 else np.trunc(x[i] * factor)
            y[i] = np.int64(integer)
            squares += integer * integer
        if squares <= limit:
            return True
        factor *= 1 - (n + 16) * 2.0**-50
    y[:n] = 0
    return False


@compiled
def add_products_of_users(
    starts: IntegerArray, columns: Positions, integers: IntegerArray, first: int, stop: int, total: IntegerArray
) -> None:
    """Add y_a y_b to total[c_a, c_b] for a < b, for all rows y, where first <= c_a < stop.

    Row i has the integers y = integers[starts[i] : starts[i + 1]] in the rising columns c.
    """
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
            for b in range(a + 1, end):
                row[columns[b]] += y * integers[b]
            a += 1
