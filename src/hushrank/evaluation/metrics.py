"""How far a released matrix is from the one it stands for."""

import numpy as np
from numpy.typing import NDArray


def relative_spectral_error(released: NDArray[np.float64], true: NDArray[np.float64]) -> float:
    """Largest singular value of the error over that of the true matrix."""
    return float(np.linalg.norm(released - true, 2) / np.linalg.norm(true, 2))


def captured_variance(released: NDArray[np.float64], true: NDArray[np.float64], n_components: int) -> float:
    """Share of the best possible variance that the top eigenvectors of the released matrix capture: tr(V'MV) / best."""
    V = np.linalg.eigh(released)[1][:, -n_components:]
    best = np.linalg.eigvalsh(true)[-n_components:].sum()
    return float(np.trace(V.T @ true @ V) / best)
