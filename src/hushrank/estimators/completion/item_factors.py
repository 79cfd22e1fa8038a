"""Item factors without data: where a method starts, eigenvectors as a start, and changes of their units.

Balanced factors have U^T U / n_users = V^T V / n_items; in units of the prior, user factors have covariance I.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import eigsh
from scipy.special import ndtri

from hushrank.linalg.spectral import fix_signs, top_eigenpairs

FloatArray = NDArray[np.float64]

_GOLDEN = 0x9E3779B97F4A7C15  # 2^64 over the golden ratio
_DENSE = 300  # up to this size all of a matrix is reduced
_TOLERANCE = 1e-4  # relative, of eigenvalues of larger ones: those in the bulk of the noise converge slowly


def scatter_normals(n_rows: int, n_columns: int) -> FloatArray:
    """Numbers that look like independent standard normals and are the same for all data.

    Normal quantiles of a quadratic Weyl sequence, frac(k (k + 1) / (2 golden ratio)), in integers modulo 2^64. Entries
    at any fixed distance are equidistributed as pairs, so rows and columns are uncorrelated as they grow.
    """
    k = np.arange(1, n_rows * n_columns + 1, dtype=np.uint64)
    words = (k * (k + np.uint64(1)) // np.uint64(2)) * np.uint64(_GOLDEN)
    uniforms = ((words >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52
    normals: FloatArray = ndtri(uniforms).reshape(n_rows, n_columns)
    return normals


def leading_eigenpairs(A: FloatArray, rank: int) -> tuple[FloatArray, FloatArray]:
    """Largest eigenvalues, falling, and eigenvectors as rows of a symmetric matrix, by iteration if it is large.

    Signs are those of `top_eigenpairs`.
    """
    if len(A) <= max(_DENSE, 4 * rank):
        return top_eigenpairs(A, rank)
    w, Q = eigsh(A, k=rank, which="LA", v0=np.ones(len(A)), tol=_TOLERANCE)
    falling = np.argsort(-w)
    return w[falling], fix_signs(Q[:, falling].T)


def shorten_rows(V: FloatArray, norm_bound: float) -> FloatArray:
    """Rows of V, longer ones shortened to `norm_bound` (Algorithm 1, line 10)."""
    norms = np.linalg.norm(V, axis=1, keepdims=True)
    shortened: FloatArray = V * (norm_bound / np.maximum(norms, norm_bound))
    return shortened


def symmetric_power(A: FloatArray, exponent: float) -> FloatArray:
    """A^exponent of a positive semidefinite matrix, whose smallest eigenvalues are lifted a little."""
    w, Q = np.linalg.eigh(A)
    w = np.maximum(w, max(1e-9 * float(w[-1]), np.finfo(float).tiny))
    power: FloatArray = (Q * w**exponent) @ Q.T
    return power


def to_prior_units(V: FloatArray) -> FloatArray:
    """Item factors V S^(1/2) for user factors of covariance I, from balanced ones, S = V^T V / n_items."""
    return V @ symmetric_power(V.T @ V / len(V), 0.5)


def to_balanced_units(V: FloatArray) -> FloatArray:
    """The inverse of `to_prior_units`."""
    return V @ symmetric_power(V.T @ V / len(V), -0.25)
