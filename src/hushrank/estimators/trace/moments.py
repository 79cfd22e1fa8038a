"""How measurements vary along the rows and along the columns of the matrix: what is summed over records to whiten them.

dense      mean over columns of the products of two rows, and over rows of those of two columns, as vectors of the
           upper triangle; where that takes too long, the mean squares of rows and of columns alone.
rank_one   in which octave each number lies, and x x^T and z z^T in units of the columns' own sizes.
entry      which row, and which column.

Only X is looked at. A record that is not finite counts as nothing.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushrank.linalg.quantize import FloatArray, compiled

MOST_PRODUCTS = 2**17
"""Multiplications for a record, d1 d2 (d1 + d2), above which covariances of dense measurements have a diagonal only."""

Matrices = NDArray[Any]  # of shape (n, d1, d2), float32 or float64


def triangle_size(d: int) -> int:
    """Entries of an upper triangle."""
    return d * (d + 1) // 2


@compiled
def row_products(X: Matrices, columns: bool) -> FloatArray:
    """Upper triangle of X_i X_i^T / d2, or with `columns` of X_i^T X_i / d1, for each record.

    Entries off the diagonal are multiplied by sqrt(2), so that the norm of the vector is that of the matrix.
    """
    n, d1, d2 = X.shape
    d, other = (d2, d1) if columns else (d1, d2)
    found, A, Z = np.empty((n, d * (d + 1) // 2)), np.empty((d, d)), np.empty((other, d))
    for i in range(n):
        for q in range(other):
            for p in range(d):
                Z[q, p] = np.float64(X[i, q, p]) if columns else np.float64(X[i, p, q])
        for p in range(d):
            row = A[p]
            row[:] = 0.0
            for q in range(other):
                weight = Z[q, p] / other
                for k in range(d):  # all of them: a processor does several at once
                    row[k] += weight * Z[q, k]
        place = 0
        for p in range(d):
            for k in range(p, d):
                found[i, place] = A[p, k] if k == p else math.sqrt(2.0) * A[p, k]
                place += 1
    return found


@compiled
def mean_squares(X: Matrices, columns: bool) -> FloatArray:
    """Mean square of every row, or with `columns` of every column, of each measurement."""
    n, d1, d2 = X.shape
    found = np.zeros((n, d2 if columns else d1))
    for i in range(n):
        for p in range(d1):
            total = 0.0
            for q in range(d2):
                square = np.float64(X[i, p, q]) * np.float64(X[i, p, q])
                total += square
                if columns:
                    found[i, q] += square / d1
            if not columns:
                found[i, p] = total / d2
    return found


@compiled
def norms(rows: NDArray[Any]) -> FloatArray:
    """Euclidean norm of each row; not finite where the row is not."""
    found = np.empty(rows.shape[0])
    for i in range(rows.shape[0]):
        total = 0.0
        for j in range(rows.shape[1]):
            total += np.float64(rows[i, j]) * np.float64(rows[i, j])
        found[i] = math.sqrt(total)
    return found


@compiled
def add_octaves(X: NDArray[Any], scale: float, count: int, total: NDArray[np.int64]) -> None:
    """Add `count` to the octave of every number of every record, in a total of shape (d, odd number of octaves).

    The middle octave begins at `scale`; what lies outside is in the first or the last. Zeros are in none.
    """
    d, n_octaves = total.shape
    for i in range(X.shape[0]):
        is_finite = True
        for j in range(d):
            is_finite &= bool(abs(np.float64(X[i, j])) < math.inf)
        if not is_finite:
            continue
        for j in range(d):
            size = abs(np.float64(X[i, j]))
            if size > 0.0:
                octave = math.floor(math.log2(size) - math.log2(scale)) + n_octaves // 2
                total[j, min(max(octave, 0), n_octaves - 1)] += count


def from_triangle(values: FloatArray, d: int) -> FloatArray:
    """The symmetric matrix whose upper triangle `row_products` would give.

    Examples
    --------
    >>> from_triangle(np.array([1.0, math.sqrt(2.0), 3.0]), 2).round(9).tolist()
    [[1.0, 1.0], [1.0, 3.0]]
    """
    A = np.zeros((d, d))
    A[np.triu_indices(d)] = values
    off = np.triu(A, 1) / math.sqrt(2.0)
    return np.diag(np.diag(A)) + off + off.T
