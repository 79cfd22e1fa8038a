"""What a private factorization of a matrix is compared with: the best one, and the paper's without privacy."""

from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse
from numpy.typing import NDArray
from scipy.sparse.linalg import svds

from hushrank.estimators.turnstile.decoders import Factors, decode_figure1
from hushrank.evaluation.turnstile_matrices import seeded_stream
from hushrank.linalg.threads import one_blas_thread
from hushrank.parameters import check_integer
from hushrank.privacy.noise.continuous import normals

FloatArray = NDArray[np.float64]

_MOST_DENSE = 400  # rows or columns of which all singular values are computed


def optimal_space_factorization_without_privacy(
    A: Any, rank: int, sketch_sizes: tuple[int, int], seed: int = 0
) -> Factors:
    """The paper's space-optimal factorization of a matrix (Figure 1, Theorem 12). NOT PRIVATE: it has no noise at all.

    Parameters
    ----------
    A : ndarray or sparse matrix of shape (n_rows, n_columns)
    rank : int
    sketch_sizes : pair of int (t, v)
        Widths of the two sketches, and of the core.
    seed : int, default 0
        Of the Gaussian operators.

    References
    ----------
    Upadhyay: Fast and space-optimal low-rank factorization in the streaming model with application in differential
    privacy, Figure 1.

    Examples
    --------
    >>> A = np.outer([3.0, 0.0, 4.0], [1.0, 0.0, 0.0, 0.0])
    >>> optimal_space_factorization_without_privacy(A, 1, (2, 3)).s.round(6)
    array([5.])
    """
    (n_rows, n_columns), (t, v) = A.shape, sketch_sizes
    stream = seeded_stream("operators without privacy", seed)
    Phi, Psi, S, T = (
        normals((width, size), stream) / np.sqrt(width)
        for width, size in ((t, n_columns), (t, n_rows), (v, n_rows), (v, n_columns))
    )
    with one_blas_thread():
        columns, rows, core = A @ Phi.T, (A.T @ Psi.T).T, S @ (A @ T.T)
    return decode_figure1(columns, rows, core, lambda M: S @ M, lambda M: T @ M, rank)


def best_rank_error(A: Any, rank: int) -> float:
    """Frobenius error of the best matrix of this rank: the smallest there is.

    Examples
    --------
    >>> best_rank_error(np.diag([5.0, 4.0, 3.0]), 1)
    5.0
    """
    rank = check_integer(rank, "rank", "best_rank_error", minimum=0)
    if min(A.shape) <= rank:
        return 0.0
    if min(A.shape) <= max(_MOST_DENSE, 4 * rank):
        return float(np.sqrt(np.sum(_all_squared_values(A)[rank:])))
    start = normals(min(A.shape), seeded_stream("start of an iteration", 0))
    with one_blas_thread():
        values = svds(A.astype(np.float64), k=rank, v0=start, return_singular_vectors=False) if rank else np.zeros(0)
    return float(np.sqrt(max(_squared_norm(A) - np.sum(values**2), 0.0)))


def factorization_error(A: Any, U: FloatArray, s: FloatArray, Vt: FloatArray) -> float:
    """Frobenius norm of A - U diag(s) Vt with orthonormal factors, without making the product.

    It is exact to about 1e-8 of the norm of A.

    Examples
    --------
    >>> factorization_error(np.diag([5.0, 4.0, 3.0]), np.eye(3, 1), np.array([5.0]), np.eye(1, 3))
    5.0
    """
    inner = np.sum((A.T @ U).T * Vt, axis=1)
    return float(np.sqrt(max(_squared_norm(A) - 2.0 * float(inner @ s) + float(s @ s), 0.0)))


def _all_squared_values(A: Any) -> FloatArray:
    """Squares of all singular values, in falling order; those of a sparse matrix to about 1e-16 of the largest."""
    with one_blas_thread():
        if not scipy.sparse.issparse(A):
            return np.asarray(scipy.linalg.svdvals(np.asarray(A, np.float64)) ** 2)
        A = A.astype(np.float64)
        gram = A @ A.T if A.shape[0] <= A.shape[1] else A.T @ A
        return np.maximum(np.linalg.eigvalsh(gram.toarray())[::-1], 0.0)


def _squared_norm(A: Any) -> float:
    """Duplicates of a sparse matrix are one entry, their sum."""
    if scipy.sparse.issparse(A):
        A = A.tocsr(copy=not getattr(A, "has_canonical_format", False))
        A.sum_duplicates()
    entries = A.data if scipy.sparse.issparse(A) else np.asarray(A)
    return float(np.sum(entries.astype(np.float64) ** 2))
