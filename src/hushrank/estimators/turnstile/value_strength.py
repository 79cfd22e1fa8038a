"""How far released singular values stand above the noise: what they were before they were shrunk, over its level."""

import numpy as np
from numpy.typing import NDArray

from hushrank.linalg.noise_levels import rectangular_level

FloatArray = NDArray[np.float64]

_LEAST = 1e-100  # level of noise beside the largest value


def value_strength(values: FloatArray, noise: float, shape: tuple[int, int], *, is_full: bool) -> FloatArray:
    """Singular values over the level that noise alone exceeds in 5 % of the cases; 0 for those that were not kept.

    Parameters
    ----------
    values : ndarray of shape (rank,)
        As released: without what noise adds.
    noise : float
        Standard deviation of an entry of the first released array.
    shape : pair of int
        Of that array: the matrix, or a sketch of its columns, in which a singular value s shows as
        sqrt(s^2 + n_rows noise^2).
    is_full : bool
        Whether it is the matrix, whose values were shrunk by the rule of `shrinkage.shrink_values`, which is undone.

    Examples
    --------
    >>> value_strength(np.array([94.9, 25.6, 0.0]), 1.0, (400, 100), is_full=True).round(2)
    array([3.3 , 1.32, 0.  ])
    """
    n_rows, n_columns = shape
    unit = max(float(values.max(initial=0.0)), noise)  # squares of all that is in its units are in range
    s, sigma = values / unit, noise / unit
    if is_full:  # s^2 y^2 = (y^2 - (a + b)^2) (y^2 - (a - b)^2) in units of the noise, a and b the roots of the sizes
        half = (n_rows + n_columns) * sigma**2 + s**2 / 2.0
        seen = np.sqrt(half + np.sqrt(np.maximum(half**2 - ((n_rows - n_columns) * sigma**2) ** 2, 0.0)))
    else:
        seen = np.sqrt(s**2 + n_rows * sigma**2)
    level = max(rectangular_level(sigma, (n_rows, n_columns)), _LEAST)
    return np.asarray(np.where(values > 0.0, seen / level, 0.0))
