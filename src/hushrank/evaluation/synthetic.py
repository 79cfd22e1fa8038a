"""Built-in data for demonstrations, tests and benchmarks; never private."""

import numpy as np
from numpy.typing import NDArray

DIGITS_PIXEL_MAX = 16.0


def load_digits() -> NDArray[np.float64]:
    """The 1797 images of scikit-learn's digits: rows of 64 pixels between 0 and 16."""
    from sklearn.datasets import load_digits as load  # scikit-learn is slow to import, and only this needs it

    return np.asarray(load().data, np.float64)


def power_law_rows(n_samples: int, n_features: int, *, seed: int) -> NDArray[np.float64]:
    """Rows of N(0, diag(1/i)), rotated at random and shortened to unit norm where they are longer."""
    rng = np.random.default_rng(seed)
    rotation = np.linalg.qr(rng.standard_normal((n_features, n_features)))[0]
    X: NDArray[np.float64] = rng.standard_normal((n_samples, n_features)) / np.sqrt(np.arange(1, n_features + 1))
    X = X @ rotation.T
    X /= np.maximum(1.0, np.linalg.norm(X, axis=1, keepdims=True))
    return X
