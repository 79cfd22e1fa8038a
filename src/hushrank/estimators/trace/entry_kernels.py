"""Measurements of single entries: record i sees the entry (j, k) of a matrix, times `unit` = sqrt(d1 d2).

With u_j, v_k rows of U and V and w = unit l_j r_k, the gradient has 2 r numbers: rho w u_j in column k of the first
part and rho w v_k in row j of the second; `weights` multiply it where the design is weighted record by record. The
overlap of both parts is left in: taking it out would make every number of the second part a little different from
zero, and it is small where singular vectors are spread out.

A record whose indices are no integers inside of the matrix counts as nothing.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushrank.estimators.trace.coordinates import Tangent, Whitening
from hushrank.linalg.quantize import FloatArray, compiled
from hushrank.linalg.scatter import Bound, IntegerArray, add_contribution, round_number

Indices = NDArray[Any]  # of shape (n, 2), float64


@compiled
def is_entry(X: Indices, i: int, d1: int, d2: int) -> bool:
    """Whether record i has the indices of an entry of a (d1, d2) matrix."""
    j, k = X[i, 0], X[i, 1]
    if not (0.0 <= j < d1 and 0.0 <= k < d2):
        return False
    return bool(j == math.floor(j) and k == math.floor(k))


@compiled
def predictions(X: Indices, coef: FloatArray) -> FloatArray:
    """coef[j, k] of every record; NaN where the indices are none."""
    found = np.empty(X.shape[0])
    for i in range(X.shape[0]):
        found[i] = math.nan
        if is_entry(X, i, coef.shape[0], coef.shape[1]):
            found[i] = coef[int(X[i, 0]), int(X[i, 1])]
    return found


@compiled
def find_gradient(
    X: Indices, weights: FloatArray, y: FloatArray, i: int, tangent: Tangent, unit: float, G: FloatArray
) -> float:
    """Fill G, of shape (2, r), with the gradient of record i, whose indices are good, and return its residual."""
    j, k = int(X[i, 0]), int(X[i, 1])
    rank = len(tangent.s)
    weight = unit * tangent.whitening.left[0, j] * tangent.whitening.right[0, k]
    predicted = 0.0
    for a in range(rank):
        predicted += tangent.s[a] * tangent.U[a, j] * tangent.V[a, k]
    residual = float(weight * predicted - (y[i] - tangent.intercept))
    scaled = residual * weight * weights[i]
    for a in range(rank):
        G[0, a] = scaled * tangent.U[a, j]
        G[1, a] = scaled * tangent.V[a, k]
    return residual


@compiled
def gradient_norms(
    X: Indices, weights: FloatArray, y: FloatArray, tangent: Tangent, unit: float
) -> tuple[FloatArray, FloatArray]:
    """Norm of every record's gradient, and its residual; not finite where the record is not, or is no entry."""
    (rank, d1), d2 = tangent.U.shape, tangent.V.shape[1]
    norms, residuals, G = np.full(len(y), math.nan), np.full(len(y), math.nan), np.empty((2, rank))
    for i in range(len(y)):
        if is_entry(X, i, d1, d2):
            residuals[i] = find_gradient(X, weights, y, i, tangent, unit, G)
            total = 0.0
            for a in range(rank):
                total += G[0, a] * G[0, a] + G[1, a] * G[1, a]
            norms[i] = math.sqrt(total)
    return norms, residuals


@compiled
def add_gradients(
    X: Indices, weights: FloatArray, y: FloatArray, tangent: Tangent, unit: float, bound: Bound, total: IntegerArray
) -> None:
    """Add every record's gradient to `total`, of shape (d2 + d1, r), shortened to the bound and rounded."""
    (rank, d1), d2 = tangent.U.shape, tangent.V.shape[1]
    G, rows = np.empty((2, rank)), np.empty(2, np.int32)
    for i in range(len(y)):
        if is_entry(X, i, d1, d2):
            find_gradient(X, weights, y, i, tangent, unit, G)
            rows[0], rows[1] = int(X[i, 1]), d2 + int(X[i, 0])
            add_contribution(G, 2, rows, bound, total)


@compiled
def start_norms(
    X: Indices, weights: FloatArray, y: FloatArray, whitening: Whitening, unit: float, intercept: float
) -> FloatArray:
    """Size of every record's weighted answer; not finite where the record is not, or is no entry."""
    d1, d2 = whitening.left.shape[1], whitening.right.shape[1]
    norms = np.full(len(y), math.nan)
    for i in range(len(y)):
        if is_entry(X, i, d1, d2):
            weight = unit * whitening.left[0, int(X[i, 0])] * whitening.right[0, int(X[i, 1])]
            norms[i] = abs(weight * weights[i] * (y[i] - intercept))
    return norms


@compiled
def add_start(
    X: Indices, weights: FloatArray, y: FloatArray, whitening: Whitening, unit: float, intercept: float,
    bound: Bound, total: IntegerArray,
) -> None:  # fmt: skip
    """Add every record's weighted answer to its entry of `total`, shortened to the bound and rounded."""
    d1, d2 = total.shape
    for i in range(len(y)):
        if is_entry(X, i, d1, d2):
            j, k = int(X[i, 0]), int(X[i, 1])
            weight = unit * whitening.left[0, j] * whitening.right[0, k]
            total[j, k] += round_number(weight * weights[i] * (y[i] - intercept), bound)


@compiled
def add_counts(X: Indices, columns: bool, shape: tuple[int, int], count: int, total: IntegerArray) -> None:
    """Add `count` to the row, or with `columns` to the column, of every record that has an entry of the matrix."""
    for i in range(X.shape[0]):
        if is_entry(X, i, shape[0], shape[1]):
            total[int(X[i, 1 if columns else 0])] += count
