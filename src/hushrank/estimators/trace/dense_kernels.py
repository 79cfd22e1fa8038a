"""Measurements that are matrices: their residuals, their parts in a tangent space, and the sums of those.

Record i contributes rho_i (U^T W_i, (I - U U^T) W_i V), where W_i is the whitened measurement and rho_i the residual:
the coordinates of its gradient in the tangent space. They are r (d1 + d2) numbers in place of d1 d2, shortened to a
bound as a whole, rounded and added. The order of operations is fixed and knows one record at a time, so that the bits
of a contribution do not depend on anybody else.

X are the measurements that residuals are made with, W those that meet the tangent space: mostly the very same array.
Both are float32 or float64; every number is widened before it is used.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushrank.estimators.trace.coordinates import Tangent, Whitening, map_row, remove_core
from hushrank.linalg.quantize import FloatArray, compiled
from hushrank.linalg.scatter import Bound, IntegerArray, Positions, add_contribution

Measurements = NDArray[Any]  # of shape (n, d1, d2), float32 or float64


@compiled
def all_rows(n: int) -> Positions:
    """0 to n - 1: a contribution to every row of a total."""
    rows = np.empty(n, np.int32)
    for a in range(n):
        rows[a] = a
    return rows


@compiled
def squared_norm(G: FloatArray) -> float:
    """Sum of squares of a matrix."""
    total = 0.0
    for a in range(G.shape[0]):
        for p in range(G.shape[1]):
            total += G[a, p] * G[a, p]
    return total


@compiled
def inner_product(X: Measurements, i: int, coef: FloatArray) -> float:
    """<X_i, coef> in an order that eight lanes can share."""
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
    d1, d2 = coef.shape
    whole = d2 - d2 % 8
    for p in range(d1):
        for q in range(0, whole, 8):
            s0 += np.float64(X[i, p, q]) * coef[p, q]
            s1 += np.float64(X[i, p, q + 1]) * coef[p, q + 1]
            s2 += np.float64(X[i, p, q + 2]) * coef[p, q + 2]
            s3 += np.float64(X[i, p, q + 3]) * coef[p, q + 3]
            s4 += np.float64(X[i, p, q + 4]) * coef[p, q + 4]
            s5 += np.float64(X[i, p, q + 5]) * coef[p, q + 5]
            s6 += np.float64(X[i, p, q + 6]) * coef[p, q + 6]
            s7 += np.float64(X[i, p, q + 7]) * coef[p, q + 7]
        for q in range(whole, d2):
            s0 += np.float64(X[i, p, q]) * coef[p, q]
    return ((s0 + s4) + (s2 + s6)) + ((s1 + s5) + (s3 + s7))


@compiled
def predictions(X: Measurements, coef: FloatArray) -> FloatArray:
    """<X_i, coef> of every record."""
    found = np.empty(X.shape[0])
    for i in range(X.shape[0]):
        found[i] = inner_product(X, i, coef)
    return found


@compiled
def project(W: Measurements, i: int, tangent: Tangent, P: FloatArray, Q: FloatArray, rows: FloatArray) -> None:
    """Fill P with U L W_i, of shape (r, d2), and Q with V R W_i^T, of shape (r, d1); `rows` is scratch, (4, d2).

    Four rows at a time: a processor does several columns of P at once, and four sums of Q beside each other.
    """
    (rank, d1), d2 = tangent.left.shape, tangent.right.shape[1]
    left, right = tangent.left, tangent.right
    P[:] = 0.0
    for start in range(0, d1, 4):
        n_rows = min(4, d1 - start)
        for k in range(4):
            for q in range(d2):
                rows[k, q] = np.float64(W[i, start + k, q]) if k < n_rows else 0.0
        for a in range(rank):
            w0 = left[a, start]
            w1 = left[a, start + 1] if n_rows > 1 else 0.0
            w2 = left[a, start + 2] if n_rows > 2 else 0.0
            w3 = left[a, start + 3] if n_rows > 3 else 0.0
            for q in range(d2):
                P[a, q] += (w0 * rows[0, q] + w1 * rows[1, q]) + (w2 * rows[2, q] + w3 * rows[3, q])
            s0 = s1 = s2 = s3 = 0.0
            for q in range(d2):
                weight = right[a, q]
                s0 += rows[0, q] * weight
                s1 += rows[1, q] * weight
                s2 += rows[2, q] * weight
                s3 += rows[3, q] * weight
            sums = (s0, s1, s2, s3)
            for k in range(n_rows):
                Q[a, start + k] = sums[k]


@compiled
def find_gradient(
    X: Measurements, W: Measurements, y: FloatArray, i: int, tangent: Tangent, is_same: bool, G: FloatArray,
    P: FloatArray, Q: FloatArray, rows: FloatArray,
) -> float:  # fmt: skip
    """Fill G, of shape (r, d2 + d1), with the gradient of record i, and return its residual; the rest is scratch."""
    (rank, d1), d2 = Q.shape, P.shape[1]
    project(W, i, tangent, P, Q, rows)
    if is_same:
        predicted = 0.0
        for a in range(rank):
            product = 0.0
            for q in range(d2):
                product += P[a, q] * tangent.right[a, q]
            predicted += tangent.s[a] * product
    else:
        predicted = inner_product(X, i, tangent.coef)
    residual = float(predicted - (y[i] - tangent.intercept))
    for a in range(rank):
        map_row(P[a], tangent.whitening.right, G[a, :d2])
        map_row(Q[a], tangent.whitening.left, G[a, d2:])
    remove_core(G[:, d2:], tangent.U)
    for a in range(rank):
        for p in range(d1 + d2):
            G[a, p] *= residual
    return residual


@compiled
def gradient_norms(
    X: Measurements, W: Measurements, y: FloatArray, tangent: Tangent, is_same: bool
) -> tuple[FloatArray, FloatArray]:
    """Norm of every record's gradient, and its residual; not finite where the record is not."""
    (rank, d1), d2 = tangent.left.shape, tangent.right.shape[1]
    norms, residuals, G = np.empty(len(y)), np.empty(len(y)), np.empty((rank, d1 + d2))
    P, Q, four = np.empty((rank, d2)), np.empty((rank, d1)), np.empty((4, d2))
    for i in range(len(y)):
        residuals[i] = find_gradient(X, W, y, i, tangent, is_same, G, P, Q, four)
        norms[i] = math.sqrt(squared_norm(G))
    return norms, residuals


@compiled
def add_gradients(
    X: Measurements, W: Measurements, y: FloatArray, tangent: Tangent, is_same: bool, bound: Bound, total: IntegerArray
) -> None:
    """Add every record's gradient to `total`, of shape (r, d2 + d1), shortened to the bound and rounded."""
    (rank, d1), d2 = tangent.left.shape, tangent.right.shape[1]
    G, rows = np.empty((rank, d1 + d2)), all_rows(rank)
    P, Q, four = np.empty((rank, d2)), np.empty((rank, d1)), np.empty((4, d2))
    for i in range(len(y)):
        find_gradient(X, W, y, i, tangent, is_same, G, P, Q, four)
        add_contribution(G, rank, rows, bound, total)


@compiled
def whiten(W: Measurements, i: int, whitening: Whitening, out: FloatArray, rows: FloatArray) -> None:
    """Fill `out` with L W_i R; `rows` is scratch of the same shape."""
    left, right = whitening.left, whitening.right
    d1, d2 = out.shape
    for p in range(d1):
        for q in range(d2):
            rows[p, q] = np.float64(W[i, p, q])
        map_row(rows[p], right, out[p])
    if left.shape[0] == 1:
        for p in range(d1):
            for q in range(d2):
                out[p, q] *= left[0, p]
        return
    rows[:] = out
    out[:] = 0.0
    for p in range(d1):
        for k in range(d1):
            weight = left[p, k]
            for q in range(d2):
                out[p, q] += weight * rows[k, q]


@compiled
def start_norms(W: Measurements, y: FloatArray, whitening: Whitening, intercept: float) -> FloatArray:
    """Norm of every record's (y_i - intercept) L W_i R; not finite where the record is not."""
    norms, Z, rows = np.empty(len(y)), np.empty(W.shape[1:]), np.empty(W.shape[1:])
    for i in range(len(y)):
        whiten(W, i, whitening, Z, rows)
        norms[i] = abs(y[i] - intercept) * math.sqrt(squared_norm(Z))
    return norms


@compiled
def add_start(
    W: Measurements, y: FloatArray, whitening: Whitening, intercept: float, bound: Bound, total: IntegerArray
) -> None:
    """Add every record's (y_i - intercept) L W_i R to `total`, of shape (d1, d2), shortened to the bound, rounded."""
    d1, d2 = total.shape
    Z, scratch, rows = np.empty((d1, d2)), np.empty((d1, d2)), all_rows(d1)
    for i in range(len(y)):
        whiten(W, i, whitening, Z, scratch)
        answer = y[i] - intercept
        for p in range(d1):
            for q in range(d2):
                Z[p, q] *= answer
        add_contribution(Z, d1, rows, bound, total)
