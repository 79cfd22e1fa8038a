"""Rows of norm at most 1 for the benchmarks of principal components; nothing in them is private."""

import numpy as np

from hushrank.evaluation.synthetic import load_digits, power_law_rows


def power_law() -> np.ndarray:
    """20000 rows of 50 columns with variances proportional to 1/i; all of them come out with norm 1."""
    return power_law_rows(20_000, 50, seed=0)


def centered_digits(repeats: int = 1) -> np.ndarray:
    """The digits around their mean, the longest twentieth shortened, in units of the longest row that is left.

    Mean and bound are read off the data, which stands for knowing them; to repeat the rows stands for having more.
    """
    X = load_digits()
    X = X - X.mean(axis=0)
    norms = np.linalg.norm(X, axis=1)
    bound = np.quantile(norms, 0.95)
    return np.tile(X / np.maximum(norms, bound)[:, np.newaxis], (repeats, 1))
