"""How large noise of a known scale makes the leading eigenvalue or singular value: the level of 5 %.

What stands above its level would do so in at most 5 % of the cases if there were nothing but noise.
"""

import math

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

_TRACY_WIDOM = 0.98  # of which 5 % are above, for real matrices
_NORMAL = 1.645  # deviations, of which 5 % are above


def symmetric_level(deviation: float, n: int) -> float:
    """Level of the largest eigenvalue of a symmetric matrix of normal noise with this deviation off its diagonal.

    Examples
    --------
    >>> round(symmetric_level(1.0, 100), 2)
    20.45
    """
    return above_edge(2.0 * deviation * math.sqrt(n), n)


def above_edge(edge: float, n: int) -> float:
    """The same where the edge of the spectrum is known, as for entries of different variances."""
    return edge * (1.0 + _TRACY_WIDOM / 2.0 * math.pow(n, -2.0 / 3.0))


def rectangular_level(deviation: float, shape: tuple[int, int]) -> float:
    """Level of the largest singular value of independent normal noise of this deviation.

    Examples
    --------
    >>> round(rectangular_level(1.0, (400, 100)), 2)
    30.26
    """
    a, b = math.sqrt(shape[0]), math.sqrt(shape[1])
    if min(shape) == 1:  # a norm: its square has one normal coordinate more or less
        return deviation * (max(a, b) + _NORMAL / math.sqrt(2.0) + (a * b < 4.0) * 0.5)
    return deviation * (a + b + 0.5 * _TRACY_WIDOM * math.cbrt(1.0 / a + 1.0 / b))


def hollow_strength(vectors: FloatArray, S: FloatArray, w: FloatArray, level: float) -> FloatArray:
    """Eigenvalues w over their level, for eigenvectors of S, whose diagonal was imputed and does not count.

    The diagonal is made of the largest eigenvalues, those of noise among them, and lifts what it was made of.
    """
    if level <= 0.0:
        return np.zeros(len(w))
    lifted = np.diagonal(S) @ (vectors * vectors)
    return np.asarray(np.maximum(w - lifted, 0.0) / level)
