"""From a factor of H to something that depends on H alone.

A sampler returns H = F F^* through one of its many factors F, and which one may depend on the data (the matrix-ball
chart, for instance, makes the upper block of F positive in the eigenbasis of M). Only H is private: what is published
is computed here, as a function of H.
"""

import numpy as np

from hushrank.linalg.spectral import Matrix, fix_signs
from hushrank.orbit.law import FloatArray


def canonical_vectors(factor: Matrix, levels: FloatArray) -> Matrix:
    """Eigenvectors of H = factor factor^* as rows, chosen by a rule that uses H and nothing else.

    A single level has one eigenvector up to its sign or phase, which makes the entry of largest magnitude positive.
    Equal levels share a subspace S. In it the rule takes the eigenvectors of the compression to S of the public matrix
    diag(d, ..., 2, 1), in falling order; they differ for almost every S.

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
    columns = factor / np.sqrt(levels)
    weights = np.arange(len(factor), 0.0, -1.0)[:, np.newaxis]
    starts = np.flatnonzero(np.diff(levels, prepend=np.inf))
    for start, end in zip(starts, [*starts[1:], len(levels)], strict=True):
        if end - start > 1:
            block = columns[:, start:end]
            turn = np.linalg.eigh(block.conj().T @ (weights * block))[1][:, ::-1]
            columns[:, start:end] = block @ turn
    return fix_signs(columns.T)


def real_part_factor(factor: Matrix) -> FloatArray:
    """A real factor R of shape (d, 2 k) with R R^T = Re(factor factor^*)."""
    return np.hstack([factor.real, factor.imag])


def top_of_real_part(factor: Matrix, rank: int) -> tuple[FloatArray, FloatArray]:
    """Top eigenvalues of Re(factor factor^*) in falling order, and their eigenvectors as rows."""
    U, singular_values, _ = np.linalg.svd(real_part_factor(factor), full_matrices=False)
    return singular_values[:rank] ** 2, fix_signs(U[:, :rank].T)
