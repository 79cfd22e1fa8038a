"""How far a released matrix is from the one it stands for."""

import numpy as np
from numpy.typing import NDArray


def relative_spectral_error(released: NDArray[np.float64], true: NDArray[np.float64]) -> float:
    """Largest singular value of the error over that of the true matrix."""
    return float(np.linalg.norm(released - true, 2) / np.linalg.norm(true, 2))


def captured_variance(components: NDArray[np.float64], true: NDArray[np.float64]) -> float:
    """Variance along orthonormal rows V over that along as many top eigenvectors of M: tr(V M V') / best."""
    best = np.linalg.eigvalsh(true)[-len(components) :].sum()
    return float(np.trace(components @ true @ components.T) / best)
