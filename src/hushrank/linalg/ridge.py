"""Small ridge regressions on a few rows of a matrix: Gram matrix, Cholesky factor, solution, inverse.

Everything is a compiled function with a fixed order of operations, called inside loops over many of them.
"""

import math

from hushrank.linalg.quantize import FloatArray, compiled
from hushrank.linalg.scatter import Positions

LANES = 64
"""Rows that are worked on side by side."""


@compiled
def gram_of_rows(W: FloatArray, rows: Positions, A: FloatArray) -> None:
    """Fill A with sum of w_j w_j^T over the rows j, both triangles; W is (n, k), A is (k, k)."""
    k, n = W.shape[1], len(rows)
    for a in range(k):
        for b in range(a + 1):
            A[a, b] = 0.0
    # Eight rows at a time save loads and stores; every entry is still added up row by row, in their order.
    for i in range(0, n - n % 8, 8):
        w0, w1, w2, w3 = W[rows[i]], W[rows[i + 1]], W[rows[i + 2]], W[rows[i + 3]]
        w4, w5, w6, w7 = W[rows[i + 4]], W[rows[i + 5]], W[rows[i + 6]], W[rows[i + 7]]
        for a in range(k):
            entries, x0, x1, x2, x3, x4, x5, x6, x7 = A[a], w0[a], w1[a], w2[a], w3[a], w4[a], w5[a], w6[a], w7[a]
            for b in range(a + 1):
                half = (((entries[b] + x0 * w0[b]) + x1 * w1[b]) + x2 * w2[b]) + x3 * w3[b]
                entries[b] = (((half + x4 * w4[b]) + x5 * w5[b]) + x6 * w6[b]) + x7 * w7[b]
    for i in range(n - n % 8, n):
        w = W[rows[i]]
        for a in range(k):
            entries, x = A[a], w[a]
            for b in range(a + 1):
                entries[b] += x * w[b]
    for a in range(k):
        for b in range(a):
            A[b, a] = A[a, b]


@compiled
def factorize(A: FloatArray, ridge: float, L: FloatArray) -> bool:
    """Fill the lower triangle of L with the Cholesky factor of A + ridge I; False if it is not positive definite."""
    k = A.shape[0]
    for b in range(k):
        row, value = L[b], A[b, b] + ridge
        for c in range(b):
            value -= row[c] * row[c]
        if not value > 0.0:
            return False
        row[b] = pivot = math.sqrt(value)
        # Four rows at a time, each in its own order: a processor need not wait for one subtraction to end.
        for a in range(b + 1, k - (k - b - 1) % 4, 4):
            l0, l1, l2, l3 = L[a], L[a + 1], L[a + 2], L[a + 3]
            v0, v1, v2, v3 = A[a, b], A[a + 1, b], A[a + 2, b], A[a + 3, b]
            for c in range(b):
                v0 -= l0[c] * row[c]
                v1 -= l1[c] * row[c]
                v2 -= l2[c] * row[c]
                v3 -= l3[c] * row[c]
            l0[b], l1[b], l2[b], l3[b] = v0 / pivot, v1 / pivot, v2 / pivot, v3 / pivot
        for a in range(k - (k - b - 1) % 4, k):
            value = A[a, b]
            for c in range(b):
                value -= L[a, c] * row[c]
            L[a, b] = value / pivot
    return True


@compiled
def solve_lower(L: FloatArray, x: FloatArray) -> None:
    """Replace x by L^-1 x."""
    for a in range(L.shape[0]):
        value = x[a]
        for c in range(a):
            value -= L[a, c] * x[c]
        x[a] = value / L[a, a]


@compiled
def solve_factorized(L: FloatArray, x: FloatArray) -> None:
    """Replace x by (L L^T)^-1 x."""
    solve_lower(L, x)
    for a in range(L.shape[0] - 1, -1, -1):
        value = x[a]
        for c in range(a + 1, L.shape[0]):
            value -= L[c, a] * x[c]
        x[a] = value / L[a, a]


@compiled
def invert_factorized(L: FloatArray, first: int, inverse: FloatArray) -> None:
    """Fill `inverse` with the columns of (L L^T)^-1 from `first` on, solved for side by side by `solve_factorized`."""
    k = L.shape[0]
    for a in range(k):
        x = inverse[a]
        for b in range(len(x)):
            x[b] = 0.0
        if a >= first:
            x[a - first] = 1.0
        for c in range(a):
            _subtract(L[a, c], inverse[c], x)
        _divide(x, L[a, a])
    for a in range(k - 1, -1, -1):
        x = inverse[a]
        for c in range(a + 1, k):
            _subtract(L[c, a], inverse[c], x)
        _divide(x, L[a, a])


@compiled
def inverse_diagonal(L: FloatArray, X: FloatArray, diagonal: FloatArray) -> None:
    """Fill `diagonal` with that of (L L^T)^-1, the squares of the columns of L^-1; X is scratch of the shape of L."""
    diagonal[:] = 0.0
    for a in range(L.shape[0]):
        x = X[a, : a + 1]
        x[:] = 0.0
        x[a] = 1.0
        for c in range(a):
            _subtract(L[a, c], X[c], x[: c + 1])
        _divide(x, L[a, a])
        for b in range(a + 1):
            diagonal[b] += x[b] * x[b]


@compiled
def _subtract(factor: float, y: FloatArray, x: FloatArray) -> None:
    for b in range(len(x)):
        x[b] -= factor * y[b]


@compiled
def _divide(x: FloatArray, divisor: float) -> None:
    for b in range(len(x)):
        x[b] /= divisor


@compiled
def ridge_solution(
    W: FloatArray, rows: Positions, target: FloatArray, ridge: float, A: FloatArray, L: FloatArray, z: FloatArray
) -> bool:
    """Fill A with the Gram matrix of the rows, L with the factor of A + ridge I, z with the solution for `target`.

    The prediction for row j is w_j . z. False, and z = 0, where A + ridge I is not positive definite.
    """
    gram_of_rows(W, rows, A)
    z[:] = 0.0
    if not factorize(A, ridge, L):
        return False
    for i in range(len(rows)):
        w, y = W[rows[i]], target[i]
        for a in range(len(w)):
            z[a] += w[a] * y
    solve_factorized(L, z)
    return True


@compiled
def multiply_rows(rows: Positions, W: FloatArray, P: FloatArray, lanes: FloatArray, products: FloatArray) -> None:
    """Fill column t of `products` with w P for the row w of W at rows[t], of at most `LANES` of them; lanes is scratch.

    Entries are added up in the order of w. Rows lie side by side, so that processors do several of them at once.
    """
    n = len(rows)
    for t in range(n):
        w = W[rows[t]]
        for b in range(len(w)):
            lanes[b, t] = w[b]
    for a in range(P.shape[1]):
        product = products[a]
        for t in range(n):
            product[t] = 0.0
        for b in range(P.shape[0]):
            lane, x = lanes[b], P[b, a]
            for t in range(n):
                product[t] += lane[t] * x
