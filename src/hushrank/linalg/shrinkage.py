"""Eigenvalues of a matrix with noise of a known law, without what the noise adds to them.

Model      M = A + N, N of a law that no rotation changes; eigenvalues of M are read, its eigenvectors are kept.
Formulas   docs/privacy/spectra.md: the eigenvalues xi_i = u_i^* A u_i, nearest to A in the Frobenius norm, as estimated
           from the eigenvalues of M alone (Bun, Allez, Bouchaud and Potters 2016); then the trace.
"""

import math

import numpy as np
from scipy.optimize import isotonic_regression

from hushrank.linalg.noise_spectra import NoiseLaw, check_falling, count_significant
from hushrank.linalg.spectral import FloatArray

_BLOCK = 2**17  # entries of a block of gaps between eigenvalues
_CLEAR = 3.0  # deviations of a trace
_FARTHEST = 1e150  # of a gap over the resolution: its square is finite


def shrink_eigenvalues(values: FloatArray, law: NoiseLaw) -> FloatArray:
    """Eigenvalues for the eigenvectors of M that bring it nearer to a positive semidefinite A.

    Rotation-invariant shrinkage, made falling and not negative; where the sum exceeds the trace of M, lowered by a
    constant, but not below zero, to that sum. Where no component stands above the noise, the trace is what is left, and
    it has noise as well: below three of its deviations the result is zero; above, from four columns on, all is
    multiplied by 1 - (1 - 2 / d) (deviation / trace)^2.

    Parameters
    ----------
    values : ndarray of shape (d,)
        All eigenvalues of M in falling order.
    law : NoiseLaw

    Returns
    -------
    shrunk : ndarray of shape (d,)
        Falling, at least 0, with a sum of at most the trace of M; all zero where that is not positive.

    Examples
    --------
    >>> shrink_eigenvalues(np.array([10.0, 3.0, 0.5, -1.0, -2.0]), NoiseLaw("gaussian", 1.0)).round(2)
    array([8.77, 1.23, 0.06, 0.06, 0.06])
    """
    vector = check_falling(values, "shrink_eigenvalues")
    total = float(vector.sum())
    factor = 1.0 if count_significant(vector, law) else _trace_factor(total, law, len(vector))
    if not total > 0 or factor == 0.0:
        return np.zeros_like(vector)
    invariant = _shrink_invariantly(vector, law) if law.scale > 0 else vector
    shrunk: FloatArray = np.maximum(isotonic_regression(invariant, increasing=False).x, 0.0)
    return factor * _lower_to_total(shrunk, total)


def _trace_factor(total: float, law: NoiseLaw, d: int) -> float:
    """What is kept where the trace alone speaks for A, in the manner of James and Stein; nothing of an unclear one."""
    deviation = math.sqrt(d) * law.diagonal_deviation
    if not total > _CLEAR * deviation:
        return 0.0
    share = 1 - 2 / d if d > 3 else 0.0
    return 1 - share * (deviation / total) ** 2


def _shrink_invariantly(values: FloatArray, law: NoiseLaw) -> FloatArray:
    """xi_i = Im[(z - rho(H)) H] / Im H with H = sum_j 1 / (z - lambda_j), z = lambda_i - i eta."""
    d = len(values)
    root = 1.0 if law.kind == "gaussian" else math.sqrt(d)  # eta / scale
    eta, h = root * law.scale, np.empty(d, np.complex128)
    rows = max(1, _BLOCK // d)
    for start in range(0, d, rows):
        part = values[start : start + rows, np.newaxis]
        with np.errstate(over="ignore"):
            gaps = np.clip((part - values) / eta, -_FARTHEST, _FARTHEST)
        inverse = 1 / (1 + gaps**2)
        h[start : start + rows] = (np.sum(gaps * inverse, axis=1) + 1j * np.sum(inverse, axis=1)) / root
    shrunk: FloatArray = values - eta * h.real / h.imag - law.scale * (law.energy(h) * h).imag / h.imag
    return shrunk


def _lower_to_total(values: FloatArray, total: float) -> FloatArray:
    """(values - level)_+ with the least level >= 0 at which the sum is at most `total` > 0, for falling values >= 0."""
    if values.sum() <= total:
        return values
    levels = (np.cumsum(values) - total) / np.arange(1, len(values) + 1)
    last = int(np.count_nonzero(values > levels))
    lowered: FloatArray = np.maximum(values - levels[max(last, 1) - 1], 0.0)
    return lowered * (total / max(float(lowered.sum()), total))  # where rounding leaves more
