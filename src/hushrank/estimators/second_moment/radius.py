"""The search for a clipping radius: a quantile of the norms of the rows, on a public grid below a public bound.

Statistic  for each point of the grid, the number of rows that are no longer.
Release    Gaussian budgets: noisy bisection; pure ones: the first point whose noisy count passes a noisy threshold.
Privacy    docs/privacy/quantile.md, Theorem 1; docs/privacy/sparse_vector.md, Theorem 2.
"""

import math

import numpy as np

from hushrank.linalg.quantize import FloatArray
from hushrank.privacy.events import Gaussian, Pure
from hushrank.privacy.guarantee import Neighbors
from hushrank.privacy.mechanisms.first_above import release_first_above
from hushrank.privacy.mechanisms.quantile import quantile_event, release_quantile
from hushrank.privacy.noise.deviates import Integers
from hushrank.privacy.noise.source import NoiseSource

_POINTS_PER_OCTAVE = 8


def search_grid(top: float, n_points: int) -> FloatArray:
    """Points up to `top`, eight to a factor of two; made one by one, so that they have the same bits everywhere."""
    return np.array([top * math.pow(2.0, -j / _POINTS_PER_OCTAVE) for j in range(n_points - 1, -1, -1)])


def release_radius(
    histogram: Integers,
    grid: FloatArray,
    level: float,
    n_samples: int,
    event: Gaussian | Pure,
    noise: NoiseSource,
    neighbors: Neighbors,
) -> float:
    """A grid point that about the share `level` of the rows does not exceed.

    `n_samples` is public or was released before, never counted from the histogram of a secret number of rows.
    """
    if isinstance(event, Gaussian):
        split = quantile_event(event, len(grid))
        return release_quantile(histogram, grid, level, split, noise, neighbors)
    return release_first_above(histogram, grid, math.ceil(level * n_samples), event, noise, neighbors)
