"""Where the answers lie and how far they spread, by noisy searches.

Fine       quartiles: the middle is that between them, and not the median, because where answers have few values, such
           as 0 and 1, the median is one of them.
Rough      where people are few, the median and the median distance from it: a noisy search for a quartile runs off.
           Distances are those of answers rounded to the grid, so that their histogram is made of the first one.
"""

import math
from collections.abc import Callable

import numpy as np

from hushrank.estimators.trace.recipe import Y_OCTAVES
from hushrank.linalg.histogram import geometric_grid
from hushrank.linalg.quantize import FloatArray
from hushrank.linalg.scatter import IntegerArray

QUARTILES, MEDIAN = (0.25, 0.75), 0.5

# quantile(histogram, grid, level) with the share of its comparisons.
Quantile = Callable[[IntegerArray, FloatArray, float], float]


def signed_grid(low: float, high: float, n_points: int) -> FloatArray:
    """Points of equal ratios from `low` to `high`, their negatives, and zero: an odd number of at most `n_points`.

    Examples
    --------
    >>> signed_grid(1.0, 4.0, 8).tolist()
    [-4.0, -2.0, -1.0, 0.0, 1.0, 2.0, 4.0]
    """
    half = geometric_grid(low, high, (n_points - 1) // 2)
    return np.concatenate([-half[::-1], [0.0], half])


def answer_grid(y_scale: float, comparisons: int) -> FloatArray:
    """Where quartiles of answers are searched for: with 12 comparisons 2^12 points at most, 1 % apart."""
    return signed_grid(y_scale * 2.0**-Y_OCTAVES, y_scale * 2.0**Y_OCTAVES, 2**comparisons)


def find_quartiles(histogram: IntegerArray, grid: FloatArray, quantile: Quantile) -> tuple[float, float]:
    """The middle between two quartiles, and half of their distance; two searches."""
    low, high = sorted(quantile(histogram, grid, level) for level in QUARTILES)
    return (low + high) / 2.0, (high - low) / 2.0


def find_medians(histogram: IntegerArray, grid: FloatArray, quantile: Quantile) -> tuple[float, float]:
    """The median, and the median distance from it; two searches."""
    middle = quantile(histogram, grid, MEDIAN)
    points = geometric_grid(float(grid[grid > 0.0][0]), 2.0 * float(grid[-1]), len(grid) // 2 + 1)
    cells = np.searchsorted(points, np.append(np.abs(grid - middle), math.inf))  # what lies above the grid is far away
    distances = np.zeros(len(points) + 1, np.int64)
    np.add.at(distances, cells, histogram)
    return middle, quantile(distances, points, MEDIAN)


def find_middle_and_spread(
    histogram: IntegerArray, grid: FloatArray, quantile: Quantile, middle: float | None, *, is_rough: bool = False
) -> tuple[float, float]:
    """Where the answers lie, unless that is given, and how far they spread about it; `histogram` is on the grid."""
    found, spread = (find_medians if is_rough else find_quartiles)(histogram, grid, quantile)
    # A spread below the distance of grid points there was not seen.
    place = min(max(int(np.searchsorted(grid, found)), 1), len(grid) - 1)
    spread = max(spread, float(grid[place] - grid[place - 1]) / 2.0)
    return (found, spread) if middle is None else (middle, max(spread, abs(found - middle)))
