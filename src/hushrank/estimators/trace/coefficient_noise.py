"""How far a matrix stands above the noise of its steps: its singular values, and each of its coefficients.

In whitened coordinates noise has one known variance in every coordinate of the tangent space, which is what steps have
left open, and the answers' own errors add to it. Functions of what was released and of public scales alone.
"""

import math

import numpy as np

from hushrank.estimators.trace.coordinates import Whitening, apply_map
from hushrank.linalg.fixed_rank import FixedRank
from hushrank.linalg.noise_levels import rectangular_level
from hushrank.linalg.quantize import FloatArray

_NORMAL = 1.4826  # deviation of a normal number over the median of its size
_SURE = 1e6  # strength where there is no noise at all


def chance_variance(residual: float, n_people: float) -> float:
    """Variance that answers of this median error leave in each coordinate, without any noise that was added."""
    return (_NORMAL * residual) ** 2 / n_people


def singular_strength(point: FixedRank, shape: tuple[int, int], variance: float) -> FloatArray:
    """Singular values over the level that noise of this variance in each coordinate exceeds in 5 % of the cases."""
    level = rectangular_level(math.sqrt(variance), shape)
    return np.asarray(np.minimum(point.s / max(level, np.finfo(float).tiny), _SURE))


def coefficient_deviations(point: FixedRank, whitening: Whitening, variance: float) -> FloatArray:
    """Deviations of the entries of L Z R for noise Z of this variance in the tangent space at a matrix.

    With l_i and r_j the rows of L and R, and those parts of them that lie in the singular vectors marked by a prime,
    entry (i, j) has the variance |l_i|^2 |r'_j|^2 + |l'_i|^2 (|r_j|^2 - |r'_j|^2) times that of the noise. Singular
    vectors that were dropped bring no noise, unless all were.
    """
    kept = point.s > 0.0 if point.s.any() else point.s == 0.0
    rows, rows_inside = _squares(point.U[:, kept], whitening.left)
    columns, columns_inside = _squares(point.V[:, kept], whitening.right)
    squares = np.outer(rows, columns_inside) + np.outer(rows_inside, np.maximum(columns - columns_inside, 0.0))
    return np.asarray(np.sqrt(variance * squares))


def _squares(basis: FloatArray, matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Squared norms of the rows of a symmetric matrix or a diagonal, and of their parts in a basis."""
    whole = matrix[0] ** 2 if len(matrix) == 1 else (matrix * matrix).sum(axis=1)
    inside = apply_map(np.ascontiguousarray(basis.T), matrix)
    return np.asarray(whole), np.asarray((inside * inside).sum(axis=0))
