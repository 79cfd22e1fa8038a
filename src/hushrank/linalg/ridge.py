"""Small ridge regressions on a few rows of a matrix: Gram matrix, Cholesky factor, solution, inverse.

Everything is a compiled function with a fixed order of operations, called inside loops over many of them.
"""

import math

from hushrank.linalg.quantize import FloatArray, compiled
from hushrank.linalg.scatter import Positions


@compiled
def gram_of_rows(W: FloatArray, rows: Positions, A: FloatArray) -> None:
    """Fill A with sum of w_j w_j^T over the rows j, both triangles; W is (n, k), A is (k, k)."""
    k = W.shape[1]
    for a in range(k):
        for b in range(a + 1):
            A[a, b] = 0.0
    for j in rows:
        for a in range(k):
            w = W[j, a]
            for b in range(a + 1):
                A[a, b] += w * W[j, b]
    for a in range(k):
        for b in range(a):
            A[b, a] = A[a, b]


@compiled
def factorize(A: FloatArray, ridge: float, L: FloatArray) -> bool:
    """Fill the lower triangle of L with the Cholesky factor of A + ridge I; False if it is not positive definite."""
    k = A.shape[0]
    for a in range(k):
        for b in range(a + 1):
            value = A[a, b]
            if a == b:
                value += ridge
            for c in range(b):
                value -= L[a, c] * L[b, c]
            if a == b:
                if not value > 0.0:
                    return False
                L[a, a] = math.sqrt(value)
            else:
                L[a, b] = value / L[b, b]
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
def invert_factorized(L: FloatArray, column: FloatArray, inverse: FloatArray) -> None:
    """Fill `inverse` with (L L^T)^-1; `column` is scratch of length k."""
    k = L.shape[0]
    for a in range(k):
        column[:] = 0.0
        column[a] = 1.0
        solve_factorized(L, column)
        for b in range(k):
            inverse[b, a] = column[b]


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
        for a in range(W.shape[1]):
            z[a] += W[rows[i], a] * target[i]
    solve_factorized(L, z)
    return True
