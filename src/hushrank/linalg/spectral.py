"""Eigenvectors with a sign rule, and the nearest positive semidefinite matrix."""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from hushrank.linalg.threads import one_blas_thread

FloatArray = NDArray[np.float64]


def top_eigenpairs(A: FloatArray, n_components: int) -> tuple[FloatArray, FloatArray]:
    """Largest eigenvalues of a symmetric matrix, in falling order, and their eigenvectors as rows.

    Computed with one BLAS thread: the bits do not depend on how many there are.

    Parameters
    ----------
    A : ndarray of shape (n_features, n_features)
        Symmetric; the lower triangle is read.
    n_components : int
        Between 1 and n_features.

    Returns
    -------
    eigenvalues : ndarray of shape (n_components,)
    eigenvectors : ndarray of shape (n_components, n_features)
        Orthonormal rows; the entry of largest magnitude in each is positive.

    Examples
    --------
    >>> top_eigenpairs(np.array([[2.0, 0.0], [0.0, 5.0]]), 1)
    (array([5.]), array([[0., 1.]]))
    """
    d = len(A)
    if not 1 <= n_components <= d:
        raise ValueError(f"n_components of top_eigenpairs must be between 1 and {d}; got {n_components}.")
    with one_blas_thread():  # with more threads LAPACK rounds otherwise
        if 4 * n_components > d:  # for many eigenvectors, divide and conquer over all of them is faster
            values, vectors = np.linalg.eigh(A)
            values, vectors = values[d - n_components :], vectors[:, d - n_components :]
        else:
            values, vectors = eigh(A, subset_by_index=[d - n_components, d - 1], check_finite=False)
    return values[::-1].copy(), _fix_signs(vectors[:, ::-1].T)


def project_psd(A: FloatArray, rank: int | None = None) -> tuple[FloatArray, FloatArray]:
    """Nearest positive semidefinite matrix of rank at most `rank`, and its eigenvalues in falling order.

    Nearest in every norm that depends on singular values only: negative eigenvalues are set to zero and the
    largest `rank` of the others are kept.

    Parameters
    ----------
    A : ndarray of shape (n_features, n_features)
        Symmetric.
    rank : int or None, default None
        None keeps every positive eigenvalue.

    Returns
    -------
    projection : ndarray of shape (n_features, n_features)
        Exactly symmetric.
    eigenvalues : ndarray of shape (rank or n_features,)

    Examples
    --------
    >>> project_psd(np.array([[2.0, 0.0], [0.0, -5.0]]))
    (array([[2., 0.],
           [0., 0.]]), array([2., 0.]))
    """
    values, vectors = top_eigenpairs(A, len(A) if rank is None else rank)
    values = np.maximum(values, 0.0)
    roots = vectors * np.sqrt(values)[:, np.newaxis]
    with one_blas_thread():
        return roots.T @ roots, values


def _fix_signs(vectors: FloatArray) -> FloatArray:
    """Rows with the sign that makes their entry of largest magnitude positive."""
    largest = np.abs(vectors).argmax(axis=1)
    return vectors * np.where(vectors[np.arange(len(vectors)), largest] < 0, -1.0, 1.0)[:, np.newaxis]
