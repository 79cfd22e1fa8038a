"""How far a released matrix is from the one it stands for, and how good predictions and recommendations are."""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def captured_variance(components: NDArray[np.float64], true: NDArray[np.float64]) -> float:
    """Variance along orthonormal rows V over that along as many top eigenvectors of M: tr(V M V') / best."""
    best = np.linalg.eigvalsh(true)[-len(components) :].sum()
    return float(np.trace(components @ true @ components.T) / best)


def root_mean_squared_error(predicted: NDArray[np.float64], true: NDArray[np.float64]) -> float:
    """Root of the mean squared difference.

    Examples
    --------
    >>> root_mean_squared_error(np.array([1.0, 3.0]), np.array([2.0, 3.0]))
    0.707...
    """
    return float(np.sqrt(np.mean((np.asarray(predicted) - np.asarray(true)) ** 2)))


def recall_at_k(recommended: NDArray[Any], relevant: Sequence[Collection[Any]]) -> float:
    """Mean over users of the relevant items among the k recommended, over the most that can be: min(k, relevant).

    Parameters
    ----------
    recommended : ndarray of shape (n_users, k)
        Item ids.
    relevant : sequence of n_users collections of item ids
        Users without any are left out.

    Examples
    --------
    >>> recall_at_k(np.array([[1, 2], [3, 4]]), [{2, 9, 8}, {7}])
    0.25
    """
    shares = []
    for row, wanted in zip(np.asarray(recommended).tolist(), relevant, strict=True):
        if len(wanted):
            shares.append(len(set(row) & set(wanted)) / min(len(row), len(wanted)))
    return float(np.mean(shares)) if shares else 0.0
