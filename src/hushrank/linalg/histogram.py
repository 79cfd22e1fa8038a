"""Exact counts of people in the cells of a public grid, and grids of equal ratios."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

IntegerArray = NDArray[np.int64]


def geometric_grid(low: float, high: float, n_points: int) -> NDArray[np.float64]:
    """Points from `low` to `high` whose ratios are equal.

    As `numpy.geomspace`, but with the same bits on every processor: a point of a grid is released as it stands, and
    NumPy's powers of arrays differ in their last bits between instruction sets.

    Examples
    --------
    >>> geometric_grid(1.0, 8.0, 4).tolist()
    [1.0, 2.0, 4.0, 8.0]
    """
    exponents = np.linspace(math.log10(low), math.log10(high), n_points).tolist()
    return np.array([low, *(math.pow(10.0, exponent) for exponent in exponents[1:-1]), high])


def integer_histogram(values: ArrayLike, grid: ArrayLike) -> IntegerArray:
    """Count the values in each cell between neighboring grid points.

    Parameters
    ----------
    values : array-like of shape (n_samples,)
        Real numbers; those that are not finite are counted as well, NaN in the last cell.
    grid : array-like of shape (n_points,)
        Finite, strictly increasing.

    Returns
    -------
    counts : ndarray of shape (n_points + 1,)
        Entry j counts the values v with grid[j - 1] < v <= grid[j]; entry 0 those up to grid[0], the last entry
        those above grid[-1].

    Examples
    --------
    >>> integer_histogram([0.0, 0.5, 1.0, 7.0, float("nan")], grid=[0.0, 1.0])
    array([1, 2, 2])
    """
    owner = "integer_histogram"
    points = _check_vector(grid, "grid", owner).astype(np.float64)
    if not (points.size and np.isfinite(points).all() and (points[1:] > points[:-1]).all()):
        shown = np.array2string(points, threshold=6, separator=", ")
        raise ValueError(f"grid of {owner} must be finite, strictly increasing and not empty; got {shown}.")
    cells = np.searchsorted(points, _check_vector(values, "values", owner), side="left")  # NaN sorts last
    return np.bincount(cells, minlength=points.size + 1).astype(np.int64, copy=False)


def _check_vector(values: ArrayLike, name: str, owner: str) -> NDArray[Any]:
    array = np.asarray(values)
    if array.dtype.kind not in "biuf" or array.ndim != 1:
        raise ValueError(
            f"{name} of {owner} must be a vector of real numbers; got {array.dtype} of shape {array.shape}."
        )
    return array
