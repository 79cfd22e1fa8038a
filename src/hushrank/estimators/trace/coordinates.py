"""Where kernels stand: the current matrix and its tangent space, and the coordinates in which the design is isotropic.

With L = A^-1/2 and R = B^-1/2, A and B the covariances of rows and columns of a measurement X, the measurement L X R is
isotropic, and <X, M> = <L X R, M'> for M = L M' R, which has the rank of M'. All of it is public.
"""

from typing import NamedTuple

import numpy as np

from hushrank.linalg.fixed_rank import FixedRank
from hushrank.linalg.quantize import FloatArray, compiled
from hushrank.linalg.threads import one_blas_thread


class Whitening(NamedTuple):
    """L and R, each a symmetric matrix (d, d), or an array (1, d) that holds a diagonal.

    Attributes
    ----------
    left : ndarray of shape (d1, d1) or (1, d1)
    right : ndarray of shape (d2, d2) or (1, d2)
    """

    left: FloatArray
    right: FloatArray


class Tangent(NamedTuple):
    """A matrix M' = U diag(s) V^T and its tangent space, as kernels take them.

    Attributes
    ----------
    U, V : ndarray of shape (r, d1), (r, d2)
        Singular vectors as rows.
    s : ndarray of shape (r,)
    left, right : ndarray of shape (r, d1), (r, d2)
        U L and V R: what meets a measurement as it is.
    whitening : Whitening
    coef : ndarray of shape (d1, d2)
        M = L M' R.
    intercept : float
        Subtracted from every answer.
    """

    U: FloatArray
    V: FloatArray
    s: FloatArray
    left: FloatArray
    right: FloatArray
    whitening: Whitening
    coef: FloatArray
    intercept: float


def isotropic(shape: tuple[int, int]) -> Whitening:
    """Of a design that is isotropic as it stands."""
    return Whitening(np.ones((1, shape[0])), np.ones((1, shape[1])))


def tangent_at(point: FixedRank, whitening: Whitening, intercept: float) -> Tangent:
    """The tangent space at a matrix in whitened coordinates."""
    U, V = np.ascontiguousarray(point.U.T), np.ascontiguousarray(point.V.T)
    left, right = apply_map(U, whitening.left), apply_map(V, whitening.right)
    return Tangent(U, V, point.s, left, right, whitening, coefficients(point, whitening), float(intercept))


def coefficients(point: FixedRank, whitening: Whitening) -> FloatArray:
    """L M' R."""
    with one_blas_thread():
        left, right = apply_map(point.U.T, whitening.left), apply_map(point.V.T, whitening.right)
        coef: FloatArray = (left.T * point.s) @ right
    return coef


def apply_map(rows: FloatArray, matrix: FloatArray) -> FloatArray:
    """Rows times a symmetric matrix, or a diagonal."""
    if len(matrix) == 1:
        return np.ascontiguousarray(rows * matrix[0])
    with one_blas_thread():
        return np.ascontiguousarray(rows @ matrix)


@compiled
def map_row(x: FloatArray, matrix: FloatArray, out: FloatArray) -> None:
    """Fill `out` with x times a symmetric matrix or a diagonal, for one record: a fixed order of operations."""
    d = len(x)
    if matrix.shape[0] == 1:
        for j in range(d):
            out[j] = x[j] * matrix[0, j]
        return
    for j in range(d):
        out[j] = 0.0
    for i in range(d):
        number = x[i]
        for j in range(d):
            out[j] += number * matrix[i, j]


@compiled
def remove_core(Q: FloatArray, U: FloatArray) -> None:
    """Take the span of the orthonormal rows U out of the rows of Q."""
    rank, d = U.shape
    for a in range(Q.shape[0]):
        for b in range(rank):
            product = 0.0
            for p in range(d):
                product += Q[a, p] * U[b, p]
            for p in range(d):
                Q[a, p] -= product * U[b, p]
