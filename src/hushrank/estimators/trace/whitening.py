"""Coordinates in which the measurements are isotropic, from a noisy covariance of their rows and of their columns.

Noise       of the covariance is known. Correlations are shrunk by what it adds to them (James and Stein), and so are
            variances; eigenvalues have a floor at its edge. Where little is known the whitening is a multiple of the
            identity, and directions that hardly vary are taken for ones that vary more: steps along them are too
            short, never too long.
"""

import math

import numpy as np

from hushrank.linalg.quantize import FloatArray
from hushrank.linalg.spectral import eigenbasis
from hushrank.linalg.threads import one_blas_thread

_LEAST_VARIANCE = 0.05  # of one row or column, as a fraction of the mean
_LEAST_EIGENVALUE = 0.02  # of correlations
_NOISE_FLOOR = 4.0  # deviations of a variance, below which none is believed
_ROUNDING = 2.0**-48  # of eigenvalues, as a fraction of the largest
_TINY = float(np.finfo(float).tiny)  # of Python, whose quotients become infinite without a warning


def inverse_root(A: FloatArray) -> FloatArray:
    """A^-1/2 of a covariance, one eigenvalue at a time: powers of arrays differ in last bits between processors."""
    values, Q = eigenbasis((A + A.T) / 2)
    least = float(values[0]) * _ROUNDING  # columns of very different units: rounding may make the smallest negative
    with one_blas_thread():  # with more threads products are rounded otherwise
        root: FloatArray = (Q * [1.0 / math.sqrt(max(value, least)) for value in values.tolist()]) @ Q.T
    return (root + root.T) / 2


def shrink_variances(variances: FloatArray, noise: float) -> FloatArray:
    """Positive numbers from noisy ones of this deviation, moved to their mean by as much as the noise scattered them.

    Examples
    --------
    >>> shrink_variances(np.array([1.0, 3.0]), 0.1).round(2).tolist()
    [1.01, 2.99]
    >>> shrink_variances(np.array([1.0, 3.0]), 1.5).tolist()
    [2.0, 2.0]
    """
    mean = max(float(variances.mean()), noise, _TINY)
    scatter = float(((variances - mean) ** 2).sum())
    kept = max(0.0, 1.0 - (len(variances) * noise) * noise / max(scatter, _TINY))
    return np.maximum(mean + kept * (variances - mean), _LEAST_VARIANCE * mean)


def shrink_covariance(A: FloatArray, noise: float, n_records: float, units: FloatArray | None = None) -> FloatArray:
    """A^-1/2 of a noisy covariance: a matrix, or a diagonal of shape (1, d) where no correlation stands out.

    `noise` is the deviation of an entry off the diagonal, and on it sqrt(2) times that. What a sample of so many
    independent records adds to correlations by chance is taken out with the noise. `A` is that of numbers in `units`.
    """
    d = len(A)
    units = np.ones(d) if units is None else units
    mean = max(float(np.trace(A)) / d, noise, _TINY)
    variances = np.maximum(shrink_variances(np.diag(A), math.sqrt(2.0) * noise), min(_NOISE_FLOOR * noise, mean))
    products = np.outer(variances, variances)
    correlations = A / np.sqrt(products)
    np.fill_diagonal(correlations, 0.0)
    chance = (noise * noise / products + 1.0 / n_records).sum() - (noise * noise / variances**2 + 1.0 / n_records).sum()
    energy = max(float((correlations**2).sum()), _TINY)
    kept = max(0.0, 1.0 - float(chance) / energy)
    if kept == 0.0:
        return np.array([[1.0 / math.sqrt(variance) for variance in (variances * units**2).tolist()]])
    values, Q = eigenbasis(np.eye(d) + kept * correlations)
    edge = kept * 2.0 * math.sqrt(d) * noise / mean
    with one_blas_thread():
        floored = (Q * np.maximum(values, max(_LEAST_EIGENVALUE, min(edge, 1.0)))) @ Q.T
    return inverse_root(floored * np.sqrt(products) * np.outer(units, units))
