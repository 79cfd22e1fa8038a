"""Eigenvectors with a sign rule, and the nearest positive semidefinite matrix."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, eigh_tridiagonal, eigvalsh_tridiagonal, lapack

from hushrank.linalg.threads import one_blas_thread

FloatArray = NDArray[np.float64]
Matrix = NDArray[Any]  # float64 or complex128

_LARGE = 200  # columns from which on one reduction is faster than two


def eigenbasis(A: Matrix) -> tuple[FloatArray, Matrix]:
    """All eigenvalues of a symmetric or Hermitian matrix, in falling order, and their eigenvectors as columns.

    Computed with one BLAS thread, as in `top_eigenpairs`; signs and phases are those of LAPACK.

    Examples
    --------
    >>> values, vectors = eigenbasis(np.array([[2.0, 0.0], [0.0, 5.0]]))
    >>> values, np.abs(vectors)
    (array([5., 2.]), array([[0., 1.],
           [1., 0.]]))
    """
    with one_blas_thread():
        values, vectors = np.linalg.eigh(A)
    return values[::-1].copy(), vectors[:, ::-1]


def all_eigenvalues(A: Matrix) -> FloatArray:
    """All eigenvalues of a symmetric or Hermitian matrix, in falling order, without their eigenvectors.

    Computed with one BLAS thread, as in `top_eigenpairs`.

    Examples
    --------
    >>> all_eigenvalues(np.array([[2.0, 0.0], [0.0, 5.0]]))
    array([5., 2.])
    """
    with one_blas_thread():
        values: FloatArray = np.linalg.eigvalsh(A)
    return values[::-1].copy()


def top_eigenpairs(A: Matrix, n_components: int) -> tuple[FloatArray, Matrix]:
    """Largest eigenvalues of a symmetric or Hermitian matrix, in falling order, and their eigenvectors as rows.

    Computed with one BLAS thread: the bits do not depend on how many there are.

    Parameters
    ----------
    A : ndarray of shape (n_features, n_features)
        Symmetric or Hermitian; the lower triangle is read.
    n_components : int
        Between 1 and n_features.

    Returns
    -------
    eigenvalues : ndarray of shape (n_components,)
    eigenvectors : ndarray of shape (n_components, n_features)
        Orthonormal rows; the entry of largest magnitude in each is positive. Of complex rows v the eigenvectors are
        the columns v^T, not v^*.

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
    return values[::-1].copy(), fix_signs(vectors[:, ::-1].T)


def eigenvalues_and_top(A: Matrix, n_components: int) -> tuple[FloatArray, Matrix]:
    """All eigenvalues in falling order, and the eigenvectors of the largest ones as rows.

    As `all_eigenvalues` and `top_eigenpairs` give them; a large real matrix is reduced to tridiagonal form once.

    Examples
    --------
    >>> eigenvalues_and_top(np.array([[2.0, 0.0], [0.0, 5.0]]), 1)
    (array([5., 2.]), array([[0., 1.]]))
    """
    d = len(A)
    if np.iscomplexobj(A) or d < _LARGE or 4 * n_components > d:
        return all_eigenvalues(A), top_eigenpairs(A, n_components)[1]
    with one_blas_thread():
        size = int(lapack.dsytrd_lwork(d, lower=1)[0])
        reflectors, diagonal, beside, factors, _ = lapack.dsytrd(A, lower=1, lwork=size)
        values = eigvalsh_tridiagonal(diagonal, beside, check_finite=False, lapack_driver="sterf")
        chosen = (d - n_components, d - 1)
        _, vectors = eigh_tridiagonal(diagonal, beside, select="i", select_range=chosen, check_finite=False)
        # The reflectors of a lower reduction act on all coordinates but the first.
        turned, _, _ = lapack.dormqr("L", "N", reflectors[1:, :-1], factors, vectors[1:], lwork=64 * n_components)
    vectors[1:] = turned
    return values[::-1].copy(), fix_signs(vectors[:, ::-1].T)


def project_psd(A: Matrix, rank: int | None = None) -> tuple[Matrix, FloatArray]:
    """Nearest positive semidefinite matrix of rank at most `rank`, and its eigenvalues in falling order.

    Nearest in every norm that depends on singular values only: negative eigenvalues are set to zero and the
    largest `rank` of the others are kept.

    Parameters
    ----------
    A : ndarray of shape (n_features, n_features)
        Symmetric or Hermitian.
    rank : int or None, default None
        None keeps every positive eigenvalue.

    Returns
    -------
    projection : ndarray of shape (n_features, n_features)
        Exactly symmetric or Hermitian.
    eigenvalues : ndarray of shape (rank or n_features,)

    Examples
    --------
    >>> project_psd(np.array([[2.0, 0.0], [0.0, -5.0]]))
    (array([[2., 0.],
           [0., 0.]]), array([2., 0.]))
    """
    values, vectors = top_eigenpairs(A, len(A) if rank is None else rank)
    values = np.maximum(values, 0.0)
    return gram_of_columns((vectors * np.sqrt(values)[:, np.newaxis]).T), values


def gram_of_columns(F: Matrix) -> Matrix:
    """F F^*, exactly symmetric or Hermitian."""
    with one_blas_thread():
        if not np.iscomplexobj(F):
            symmetric: Matrix = F @ F.T
            return symmetric
        product = F @ F.conj().T
    hermitian: Matrix = (product + product.conj().T) / 2
    return hermitian


def fix_signs(vectors: Matrix) -> Matrix:
    """Rows times the sign, or phase, that makes their entry of largest magnitude positive."""
    where = np.arange(len(vectors)), np.abs(vectors).argmax(axis=1)
    largest = vectors[where]
    if not np.iscomplexobj(vectors):
        signed: Matrix = vectors * np.where(largest < 0, -1.0, 1.0)[:, np.newaxis]
        return signed
    turned: Matrix = vectors * (largest.conj() / np.abs(largest))[:, np.newaxis]
    turned[where] = np.abs(largest)
    return turned
