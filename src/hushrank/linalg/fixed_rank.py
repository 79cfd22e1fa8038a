"""Matrices of fixed rank: singular triples, steps along the tangent space, and what noise does to singular values."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushrank.linalg.spectral import fix_signs, top_eigenpairs
from hushrank.linalg.threads import one_blas_thread

FloatArray = NDArray[np.float64]

_NOTHING = 1e-24  # of a squared norm, the largest entry being 1
_LARGE = 256  # rows and columns, above which not all singular vectors are computed


class FixedRank(NamedTuple):
    """A matrix U diag(s) V^T of shape (d1, d2).

    Attributes
    ----------
    U : ndarray of shape (d1, r)
        Orthonormal columns, of which the entry of largest magnitude is positive.
    s : ndarray of shape (r,)
        Singular values in falling order; some may be zero.
    V : ndarray of shape (d2, r)
        Orthonormal columns.
    """

    U: FloatArray
    s: FloatArray
    V: FloatArray

    @property
    def matrix(self) -> FloatArray:
        """The whole matrix."""
        with one_blas_thread():
            whole: FloatArray = (self.U * self.s) @ self.V.T
        return whole


def nearest_of_rank(M: FloatArray, rank: int) -> FixedRank:
    """The nearest matrix of this rank, with one BLAS thread: the bits do not depend on how many there are.

    Examples
    --------
    >>> nearest_of_rank(np.array([[3.0, 0.0], [0.0, -5.0]]), 1).s
    array([5.])
    """
    if min(M.shape) > _LARGE:  # a few eigenvectors of the smaller product take a fraction of the time
        return nearest_of_large(M, rank) if M.shape[0] >= M.shape[1] else _turned(nearest_of_large(M.T, rank))
    with one_blas_thread():
        U, s, Vt = np.linalg.svd(M, full_matrices=False)
    return _with_signs(U[:, :rank], s[:rank], Vt[:rank].T)


def nearest_of_large(M: FloatArray, rank: int) -> FixedRank:
    """The same for a matrix of at least as many rows as columns, by eigenvectors of M^T M and one QR decomposition."""
    with one_blas_thread():
        _, rows = top_eigenpairs(M.T @ M, rank)
        Q, R = np.linalg.qr(M @ rows.T)
        U, s, Vt = np.linalg.svd(R)
        return _with_signs(Q @ U, s, rows.T @ Vt.T)


def _turned(point: FixedRank) -> FixedRank:
    return _with_signs(point.V, point.s, point.U)


def step_along(point: FixedRank, P: FloatArray, Q: FloatArray) -> FixedRank:
    """The nearest matrix of the same rank to U diag(s) V^T + U P + Q V^T: a step and its retraction.

    Parameters
    ----------
    point : FixedRank
    P : ndarray of shape (r, d2)
    Q : ndarray of shape (d1, r)
        Any two matrices; the step is tangent whatever they are.

    Examples
    --------
    >>> start = FixedRank(np.eye(3)[:, :1], np.array([2.0]), np.eye(3)[:, :1])
    >>> step_along(start, np.array([[1.0, 0.0, 0.0]]), np.zeros((3, 1))).s
    array([3.])
    """
    rank = len(point.s)
    with one_blas_thread():
        # The sum is [U, Q] times [diag(s) V^T + P, V^T], of rank 2 r at most.
        left, right = np.hstack([point.U, Q]), np.hstack([point.V * point.s + P.T, point.V])
        (Q1, R1), (Q2, R2) = np.linalg.qr(left), np.linalg.qr(right)
        U, s, Vt = np.linalg.svd(R1 @ R2.T)
        return _with_signs((Q1 @ U)[:, :rank], s[:rank], (Q2 @ Vt.T)[:, :rank])


def _with_signs(U: FloatArray, s: FloatArray, V: FloatArray) -> FixedRank:
    """The same matrix with the signs of columns that the rule asks for."""
    signed = fix_signs(U.T).T
    flips = np.where((signed != U).any(axis=0), -1.0, 1.0)
    return FixedRank(np.ascontiguousarray(signed), s.copy(), np.ascontiguousarray(V * flips))


def noise_edge(shape: tuple[int, int], scale: float) -> float:
    """Largest singular value that independent noise of this standard deviation has, about."""
    return scale * (math.sqrt(shape[0]) + math.sqrt(shape[1]))


def shrink_singular_values(s: FloatArray, shape: tuple[int, int], scale: float) -> FloatArray:
    """Singular values of a low-rank matrix from those of its sum with independent noise of this standard deviation.

    The rule of least Frobenius error for large matrices: zero up to the edge of the noise, above it
    sqrt((y^2 - b - 1)^2 - 4 b) / y in units of scale sqrt(d2), where b = d1 / d2 <= 1.

    References
    ----------
    Gavish, Donoho: Optimal shrinkage of singular values, IEEE Transactions on Information Theory, 2017.

    Examples
    --------
    >>> shrink_singular_values(np.array([10.0, 1.0]), (4, 4), 1.0).round(3)
    array([9.165, 0.   ])
    """
    if scale <= 0.0:
        return s.copy()
    small, large = min(shape), max(shape)
    ratio, unit = small / large, scale * math.sqrt(large)
    y = np.maximum(s / unit, 1.0)  # what is smaller is below the edge, and may be zero
    inside = np.maximum((y * y - ratio - 1.0) ** 2 - 4.0 * ratio, 0.0)
    return np.where(y > 1.0 + math.sqrt(ratio), unit * np.sqrt(inside) / y, 0.0)


def leading_values(coef: FloatArray, rank: int) -> tuple[FloatArray, float]:
    """Singular values of a matrix of at most this rank, and the largest entry that is left if it has a higher one.

    By so many steps of an elimination with pivots: a decomposition of the whole takes long for large matrices.
    """
    rest, rows = coef.copy(), np.zeros((rank, coef.shape[1]))
    with one_blas_thread():
        for row in rows:
            squares = np.einsum("ij,ij->j", rest, rest)
            if squares.max() < _NOTHING:
                break
            column = rest[:, int(np.argmax(squares))]
            direction = column / float(np.linalg.norm(column))
            row[:] = direction @ rest
            rest -= np.outer(direction, row)
        return np.asarray(np.linalg.svd(rows, compute_uv=False), np.float64), float(np.abs(rest).max())
