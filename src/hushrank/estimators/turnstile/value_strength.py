"""How far released singular values stand above the noise: what noise made of them, over its level.

Directions are found in one released array. Of a singular value s it shows y with y^2 = (s^2 + a sigma^2) (s^2 + b
sigma^2) / s^2 for noise of deviation sigma and sizes a and b, if s^4 > a b sigma^4; a smaller one does not show at all.
"""

import math

import numpy as np
from numpy.typing import NDArray

from hushrank.linalg.noise_levels import rectangular_level

FloatArray = NDArray[np.float64]

_LEAST = 1e-100  # level of noise beside the largest value


def value_strength(
    values: FloatArray, noise: float, level: float, shape: tuple[int, int], *, is_full: bool
) -> FloatArray:
    """Singular values over the level that noise alone exceeds in 5 % of the cases; 0 for those that were not kept.

    In a sketch, the rest of the matrix counts as noise as well. Its columns collide there, so that a rest of energy E
    adds about E / (n_rows n_columns) to the variance of every entry, and lifts directions that mean nothing above the
    edge of the privacy noise. Values that are too small to show in so much noise have strengths in proportion to them.

    Parameters
    ----------
    values : ndarray of shape (rank,)
        As released: without what noise adds.
    noise : float
        Standard deviation of an entry of the first released array.
    level : float
        Root mean square of that array: its square is that of the noise, and the energy of the matrix over the entries.
    shape : pair of int
        Of that array: the matrix, or a sketch of its columns.
    is_full : bool
        Whether it is the matrix, whose values were shrunk by the rule of `shrinkage.shrink_values`, which is undone.
        Nothing collides in it, and its level does not count.

    Examples
    --------
    >>> value_strength(np.array([94.9, 25.6, 0.0]), 1.0, 1.1, (400, 100), is_full=True).round(2)
    array([3.3 , 1.32, 0.  ])
    >>> [value_strength(np.array([25.6]), 1.0, level, (400, 100), is_full=False).round(2) for level in (1.0, 2.0)]
    [array([1.15]), array([0.9])]
    """
    n_rows, n_columns = shape
    unit = max(float(values.max(initial=0.0)), noise, level)  # squares of all that is in its units are in range
    s, sigma = values / unit, noise / unit
    if is_full:  # s^2 y^2 = (y^2 - (a + b)^2) (y^2 - (a - b)^2) in units of the noise, a and b the roots of the sizes
        half = (n_rows + n_columns) * sigma**2 + s**2 / 2.0
        seen = np.sqrt(half + np.sqrt(np.maximum(half**2 - ((n_rows - n_columns) * sigma**2) ** 2, 0.0)))
    else:
        rest = (level / unit) ** 2 - sigma**2 - float(np.sum(s**2)) / (n_rows * n_columns)
        sigma = math.sqrt(sigma**2 + max(rest, 0.0))
        smallest = max(sigma * math.pow(n_rows * n_columns, 0.25), _LEAST)  # that shows
        told = np.maximum(s, smallest)
        seen = np.sqrt((told**2 + n_rows * sigma**2) * (1.0 + n_columns * (sigma / told) ** 2)) * (s / told)
    least = max(rectangular_level(sigma, (n_rows, n_columns)), _LEAST)
    return np.asarray(np.where(values > 0.0, seen / least, 0.0))
