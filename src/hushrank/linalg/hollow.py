"""Leading eigenvectors of a noisy second moment whose diagonal was not released."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import eigsh

from hushrank.linalg.threads import one_blas_thread

FloatArray = NDArray[np.float64]

_DENSE = 300  # up to this size all eigenvectors are computed
_CHUNK = 256
# Of residuals, relative. Those of eigenpairs in the bulk of the noise, which are not kept, fall slowly: when they are
# below this, eigenpairs that are kept have converged to 1e-5 or better.
_TOLERANCE = 1e-3


def top_hollow_eigenpairs(
    S: FloatArray, rank: int, deviation: float, *, rounds: int, cut: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Eigenpairs of S that stand above the noise, corrected for it. The diagonal of S is overwritten.

    The diagonal is imputed by that of the best approximation of rank `rank`, again and again (HeteroPCA, Zhang, Cai and
    Wu 2022). Noise of standard deviation `deviation` an entry has eigenvalues up to edge = 2 deviation sqrt(n), turns
    an eigenvalue l > edge / 2 into w = l + edge^2 / (4 l), and leaves c^2 = 1 - edge^2 / (4 l^2) of its eigenvector.

    Parameters
    ----------
    S : ndarray of shape (n, n)
        Symmetric.
    rank : int
        Most eigenpairs.
    deviation : float
    rounds : int
        Imputations, at least 1.
    cut : float
        Eigenvalues w above cut * edge are kept.

    Returns
    -------
    vectors : ndarray of shape (n, n_kept)
    values : ndarray of shape (n_kept,)
        The l, in falling order.
    alignments : ndarray of shape (n_kept,)
        The c^2.
    """
    edge = 2.0 * deviation * np.sqrt(len(S))
    start = np.ones(len(S))
    with one_blas_thread():
        for _ in range(rounds):
            w, Q = _top(S, rank, start)
            start = Q.sum(axis=1)  # near the eigenvectors of the next round
            np.fill_diagonal(S, np.maximum((Q * Q) @ w, 0.0))
    kept = w > cut * edge
    w, Q = w[kept], Q[:, kept]
    values = (w + np.sqrt(np.maximum(w * w - edge**2, 0.0))) / 2
    return Q, values, 1.0 - (edge / 2) ** 2 / np.maximum(values, np.finfo(float).tiny) ** 2


def _top(S: FloatArray, rank: int, start: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Largest eigenvalues in falling order, and their eigenvectors as columns."""
    if len(S) <= max(_DENSE, 4 * rank):
        w, Q = np.linalg.eigh(S)
    else:
        w, Q = eigsh(S, k=rank, which="LA", v0=start, tol=_TOLERANCE)
    return w[-rank:][::-1].copy(), Q[:, -rank:][:, ::-1].copy()


def project_out(S: FloatArray, direction: FloatArray) -> None:
    """Replace S by P S P, P = I - d d^T for the unit vector d; no second matrix of the size of S is made."""
    d = direction
    with one_blas_thread():
        v = S @ d
        right = v - (d @ v) * d
        for start in range(0, len(S), _CHUNK):
            rows = slice(start, start + _CHUNK)
            S[rows] -= np.outer(v[rows], d) + np.outer(d[rows], right)
