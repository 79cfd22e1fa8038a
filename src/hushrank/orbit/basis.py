"""From a factor of H to something that depends on H alone.

A sampler returns H = F F^* through one of its many factors F, and which one may depend on the data (the matrix-ball
chart, for instance, makes the upper block of F positive in the eigenbasis of M). Only H is private: what is published
is computed here, as a function of H that does not blow up rounding errors. Those of F are known functions of the data,
and the eigenvectors of tied eigenvalues, which any such error decides, would show them.
"""

import numpy as np
from numpy.typing import NDArray

from hushrank.linalg.spectral import Matrix, fix_signs
from hushrank.orbit.law import FloatArray

# Eigenvalues that agree to this part of the largest one count as tied; rounding errors are far smaller.
_TIED = 1e-8


def canonical_vectors(factor: Matrix, levels: FloatArray) -> Matrix:
    """Eigenvectors of H = factor factor^* as rows, chosen by a rule that uses H and nothing else.

    A single level has one eigenvector up to its sign or phase, which makes the entry of largest magnitude positive.
    Equal levels share a subspace S. In it the rule takes the eigenvectors of the compression to S of the public matrix
    diag(d, ..., 2, 1), in falling order; they differ for almost every S. The whole space has the unit vectors, exactly.

    Parameters
    ----------
    factor : ndarray of shape (d, k)
        Columns are orthogonal with squared lengths `levels`; columns of equal levels may be any basis of their span.
    levels : ndarray of shape (k,)
        In falling order.

    Returns
    -------
    vectors : ndarray of shape (k, d)
        Orthonormal rows v; the eigenvectors are the columns v^T.
    """
    return _canonical(factor / np.sqrt(levels), np.flatnonzero(np.diff(levels)) + 1)


def top_of_real_part(factor: Matrix, rank: int) -> tuple[FloatArray, FloatArray]:
    """Top eigenvalues of Re(factor factor^*) in falling order, and their eigenvectors as rows, by the same rule.

    Eigenvalues can be tied: the real part of a projection of rank k > d / 2 has the eigenvalue 1 at least 2 k - d
    times.
    """
    U, singular_values, _ = np.linalg.svd(real_part_factor(factor), full_matrices=False)
    values = singular_values**2
    cuts = np.flatnonzero(-np.diff(values) > _TIED * values[0]) + 1
    return values[:rank], _canonical(U, cuts)[:rank]


def real_part_factor(factor: Matrix) -> FloatArray:
    """A real factor R of shape (d, 2 k) with R R^T = Re(factor factor^*)."""
    return np.hstack([factor.real, factor.imag])


def _canonical(columns: Matrix, cuts: NDArray[np.intp]) -> Matrix:
    """Rows that span, between one cut and the next, what the columns there span, chosen by the rule above."""
    d = len(columns)
    weights = np.arange(d, 0.0, -1.0)[:, np.newaxis]
    blocks = []
    for block in np.split(columns, cuts, axis=1):
        if block.shape[1] == d:
            blocks.append(np.eye(d, dtype=columns.dtype))
        elif block.shape[1] > 1:
            blocks.append(block @ np.linalg.eigh(block.conj().T @ (weights * block))[1][:, ::-1])
        else:
            blocks.append(block)
    return fix_signs(np.hstack(blocks).T)
