"""Measurements x z^T: the kernels of `dense_kernels` without ever making the matrix.

A record holds the numbers of x, then those of z. With x' = L x and z' = R z, a = U^T x' and b = V^T z', its gradient in
the tangent space is rho (a z'^T, (x' - U a) b^T), and its prediction sum_k s_k a_k b_k.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushrank.estimators.trace.coordinates import Tangent, Whitening, map_row
from hushrank.estimators.trace.dense_kernels import all_rows
from hushrank.linalg.quantize import FloatArray, compiled
from hushrank.linalg.scatter import Bound, IntegerArray, add_contribution

Pairs = NDArray[Any]  # of shape (n, d1 + d2), float32 or float64


@compiled
def squared_length(x: FloatArray) -> float:
    """Sum of squares."""
    total = 0.0
    for j in range(len(x)):
        total += x[j] * x[j]
    return total


@compiled
def whiten(W: Pairs, i: int, whitening: Whitening, x: FloatArray, z: FloatArray, row: FloatArray) -> None:
    """Fill x with L x_i and z with R z_i; `row` is scratch of length d1 + d2."""
    d1, d2 = len(x), len(z)
    for j in range(d1 + d2):
        row[j] = np.float64(W[i, j])
    map_row(row[:d1], whitening.left, x)
    map_row(row[d1:], whitening.right, z)


@compiled
def products(rows: FloatArray, x: FloatArray, out: FloatArray) -> None:
    """Fill `out` with the products of rows and x."""
    for a in range(rows.shape[0]):
        total = 0.0
        for j in range(rows.shape[1]):
            total += rows[a, j] * x[j]
        out[a] = total


@compiled
def predict_one(X: Pairs, i: int, tangent: Tangent) -> float:
    """Prediction for record i."""
    (rank, d1), d2 = tangent.left.shape, tangent.right.shape[1]
    predicted = 0.0
    for a in range(rank):
        first = second = 0.0
        for j in range(d1):
            first += tangent.left[a, j] * np.float64(X[i, j])
        for j in range(d2):
            second += tangent.right[a, j] * np.float64(X[i, d1 + j])
        predicted += tangent.s[a] * first * second
    return predicted


@compiled
def predictions(X: Pairs, coef: FloatArray) -> FloatArray:
    """x^T coef z of every record."""
    d1, d2 = coef.shape
    found = np.empty(X.shape[0])
    for i in range(X.shape[0]):
        total = 0.0
        for p in range(d1):
            product = 0.0
            for q in range(d2):
                product += coef[p, q] * np.float64(X[i, d1 + q])
            total += np.float64(X[i, p]) * product
        found[i] = total
    return found


@compiled
def find_gradient(
    X: Pairs, W: Pairs, y: FloatArray, i: int, tangent: Tangent, G: FloatArray, row: FloatArray, factors: FloatArray
) -> float:
    """Fill G, of shape (r, d2 + d1), with the gradient of record i, and return its residual; the rest is scratch."""
    (rank, d1), d2 = tangent.left.shape, tangent.right.shape[1]
    x, z, a, b = row[:d1], row[d1 : d1 + d2], factors[0], factors[1]
    whiten(W, i, tangent.whitening, x, z, row[d1 + d2 :])
    products(tangent.U, x, a)
    products(tangent.V, z, b)
    residual = float(predict_one(X, i, tangent) - (y[i] - tangent.intercept))
    for k in range(rank):
        for p in range(d1):
            x[p] -= a[k] * tangent.U[k, p]
    for k in range(rank):
        first, second = residual * a[k], residual * b[k]
        for q in range(d2):
            G[k, q] = first * z[q]
        for p in range(d1):
            G[k, d2 + p] = second * x[p]
    return residual


@compiled
def gradient_norms(X: Pairs, W: Pairs, y: FloatArray, tangent: Tangent) -> tuple[FloatArray, FloatArray]:
    """Norm of every record's gradient, and its residual; not finite where the record is not."""
    (rank, d1), d2 = tangent.left.shape, tangent.right.shape[1]
    norms, residuals, G = np.empty(len(y)), np.empty(len(y)), np.empty((rank, d1 + d2))
    row, factors = np.empty(2 * (d1 + d2)), np.empty((2, rank))
    for i in range(len(y)):
        residuals[i] = find_gradient(X, W, y, i, tangent, G, row, factors)
        total = 0.0
        for k in range(rank):
            total += squared_length(G[k])
        norms[i] = math.sqrt(total)
    return norms, residuals


@compiled
def add_gradients(X: Pairs, W: Pairs, y: FloatArray, tangent: Tangent, bound: Bound, total: IntegerArray) -> None:
    """Add every record's gradient to `total`, of shape (r, d2 + d1), shortened to the bound and rounded."""
    (rank, d1), d2 = tangent.left.shape, tangent.right.shape[1]
    G, rows = np.empty((rank, d1 + d2)), all_rows(rank)
    row, factors = np.empty(2 * (d1 + d2)), np.empty((2, rank))
    for i in range(len(y)):
        find_gradient(X, W, y, i, tangent, G, row, factors)
        add_contribution(G, rank, rows, bound, total)


@compiled
def start_norms(W: Pairs, y: FloatArray, whitening: Whitening, intercept: float) -> FloatArray:
    """Norm of every record's (y_i - intercept) x' z'^T; not finite where the record is not."""
    d1, d2 = whitening.left.shape[1], whitening.right.shape[1]
    norms, x, z, row = np.empty(len(y)), np.empty(d1), np.empty(d2), np.empty(d1 + d2)
    for i in range(len(y)):
        whiten(W, i, whitening, x, z, row)
        norms[i] = abs(y[i] - intercept) * math.sqrt(squared_length(x)) * math.sqrt(squared_length(z))
    return norms


@compiled
def add_start(
    W: Pairs, y: FloatArray, whitening: Whitening, intercept: float, bound: Bound, total: IntegerArray
) -> None:
    """Add every record's (y_i - intercept) x' z'^T to `total`, of shape (d1, d2), shortened to the bound, rounded."""
    d1, d2 = total.shape
    Z, rows, x, z, row = np.empty((d1, d2)), all_rows(d1), np.empty(d1), np.empty(d2), np.empty(d1 + d2)
    for i in range(len(y)):
        whiten(W, i, whitening, x, z, row)
        answer = y[i] - intercept
        for p in range(d1):
            for q in range(d2):
                Z[p, q] = answer * x[p] * z[q]
        add_contribution(Z, d1, rows, bound, total)
