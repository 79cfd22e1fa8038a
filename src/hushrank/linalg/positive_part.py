"""Regressions with the positive part of many small symmetric matrices, negative eigenvalues set to zero.

The eigenvectors are never formed: a Householder reduction to tridiagonal form and the rotations of the QL iteration
are applied to b as they are found, and undone in the opposite order after the division by the eigenvalues.
"""

import math

import numpy as np

from hushrank.linalg.quantize import FloatArray, compiled
from hushrank.linalg.scatter import Positions

_MOST_STEPS = 50  # of the QL iteration for one eigenvalue; two or three is usual


@compiled
def solve_positive_part(packed: FloatArray, B: FloatArray, ridge: float, noise: float, X: FloatArray) -> None:
    """Fill row i of X with the solution of (A_+ + ridge I + noise A_+^-1) x = b, A_+ the positive part of matrix i.

    x has no component where an eigenvalue is not positive, which is the limit of both small eigenvalues and no noise.

    Parameters
    ----------
    packed : ndarray of shape (n, size * (size + 1) / 2)
        Lower triangles, row after row.
    B, X : ndarrays of shape (n, size)
    ridge, noise : float >= 0
    """
    size = B.shape[1]
    A, diagonal, beside = np.empty((size, size)), np.empty(size), np.empty(size)
    v, w = np.empty(size), np.empty(size)
    rotations, places = np.empty((_MOST_STEPS * size * size, 2)), np.empty(_MOST_STEPS * size * size, np.int32)
    for i in range(len(B)):
        x = X[i]
        x[:] = B[i]
        _unpack(packed[i], A)
        _reduce(A, v, w, x)
        for a in range(size):
            diagonal[a] = A[a, a]
            beside[a] = A[a + 1, a] if a + 1 < size else 0.0
        n = _diagonalize(diagonal, beside, x, rotations, places)
        for a in range(size):
            value = diagonal[a]
            x[a] *= value / (value * (value + ridge) + noise) if value > 0.0 else 0.0
        for t in range(n - 1, -1, -1):
            c, s, a = rotations[t, 0], rotations[t, 1], places[t]
            x[a], x[a + 1] = c * x[a] + s * x[a + 1], c * x[a + 1] - s * x[a]
        _undo_reduction(A, x)


@compiled
def _unpack(packed: FloatArray, A: FloatArray) -> None:
    p = 0
    for a in range(A.shape[0]):
        for b in range(a + 1):
            A[a, b] = A[b, a] = packed[p]
            p += 1


@compiled
def _reduce(A: FloatArray, v: FloatArray, w: FloatArray, x: FloatArray) -> None:
    """Reflect A to tridiagonal form, and x with it; reflection k is I - h h^T with h left in A[k, k + 1 :]."""
    for k in range(A.shape[0] - 2):
        n = A.shape[0] - k - 1
        rest, h, y, tail = A[k + 1 :, k + 1 :], v[:n], w[:n], x[k + 1 :]
        beside = _reflector(A[k, k + 1 :], h)
        y[:] = 0.0
        for b in range(n):  # rows as views: the compiler makes vectors of their loops
            row, t = rest[b], h[b]
            for a in range(n):
                y[a] += row[a] * t
        inner = projection = 0.0
        for a in range(n):
            inner += y[a] * h[a]
            projection += tail[a] * h[a]
        for a in range(n):
            y[a] -= 0.5 * inner * h[a]
            tail[a] -= projection * h[a]
        for b in range(n):
            row, s, t = rest[b], y[b], h[b]
            for a in range(n):
                row[a] -= t * y[a] + s * h[a]
        A[k + 1, k] = beside
        A[k, k + 1 :] = h


@compiled
def _reflector(row: FloatArray, h: FloatArray) -> float:
    """Fill h so that I - h h^T turns `row` into a multiple of the first unit vector, which is returned."""
    squares = 0.0
    for a in range(1, len(row)):
        squares += row[a] * row[a]
    if squares == 0.0:
        h[:] = 0.0
        return float(row[0])
    first = -math.copysign(math.sqrt(squares + row[0] * row[0]), row[0])
    scale = math.sqrt(2.0 / (squares + (row[0] - first) ** 2))
    for a in range(len(row)):
        h[a] = row[a] * scale
    h[0] = (row[0] - first) * scale
    return first


@compiled
def _undo_reduction(A: FloatArray, x: FloatArray) -> None:
    for k in range(A.shape[0] - 3, -1, -1):
        h, tail, projection = A[k, k + 1 :], x[k + 1 :], 0.0
        for a in range(len(h)):
            projection += tail[a] * h[a]
        for a in range(len(h)):
            tail[a] -= projection * h[a]


@compiled
def _diagonalize(
    diagonal: FloatArray, beside: FloatArray, x: FloatArray, rotations: FloatArray, places: Positions
) -> int:
    """Turn a tridiagonal matrix into its eigenvalues, and x with it, by implicit QL steps; the number of rotations.

    Rotation t, (cosine, sine) = rotations[t], acts on coordinates places[t] and places[t] + 1.
    """
    n = 0
    for first in range(len(diagonal)):
        for _ in range(_MOST_STEPS):
            last = _end_of_part(diagonal, beside, first)
            if last == first:
                break
            # Wilkinson's shift, from the leading 2 x 2 block
            g = (diagonal[first + 1] - diagonal[first]) / (2.0 * beside[first])
            g = diagonal[last] - diagonal[first] + beside[first] / (g + math.copysign(math.hypot(g, 1.0), g))
            s, c, p, a = 1.0, 1.0, 0.0, last - 1
            while a >= first:
                f, h = s * beside[a], c * beside[a]
                r = math.sqrt(f * f + g * g)
                beside[a + 1] = r
                if r == 0.0:
                    diagonal[a + 1] -= p
                    break
                s, c = f / r, g / r
                g = diagonal[a + 1] - p
                r = (diagonal[a] - g) * s + 2.0 * c * h
                p = s * r
                diagonal[a + 1] = g + p
                g = c * r - h
                x[a], x[a + 1] = c * x[a] - s * x[a + 1], s * x[a] + c * x[a + 1]
                rotations[n, 0], rotations[n, 1], places[n] = c, s, a
                n += 1
                a -= 1
            if a < first:
                diagonal[first] -= p
                beside[first] = g
            beside[last] = 0.0
    return n


@compiled
def _end_of_part(diagonal: FloatArray, beside: FloatArray, first: int) -> int:
    """Last coordinate of the part of the tridiagonal matrix that begins at `first` and is not split."""
    for a in range(first, len(diagonal) - 1):
        if abs(beside[a]) <= 2.0**-53 * (abs(diagonal[a]) + abs(diagonal[a + 1])):
            return a
    return len(diagonal) - 1
