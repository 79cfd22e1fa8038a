"""Noisy searches for quantiles of one number a user, on grids of equal ratios; comparisons have equal shares."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushrank.estimators.personalization.recipe import Spending, Window
from hushrank.linalg.histogram import geometric_grid
from hushrank.privacy.adaptive import AdaptiveReleases

FloatArray = NDArray[np.float64]


class Searches:
    """Searches of one fit.

    Parameters
    ----------
    releases : AdaptiveReleases
    spending : Spending
    """

    def __init__(self, releases: AdaptiveReleases, spending: Spending) -> None:
        self._releases, self._spending = releases, spending

    def grid(self, window: Window, *, is_long: bool) -> FloatArray:
        """Points of a search: as many as its comparisons can tell apart."""
        searches = self._spending.searches
        return geometric_grid(*window, 2 ** (searches.long if is_long else searches.short))

    def find(
        self, kernel: Callable[..., Any], state: Any, window: Window, level: float, *, is_long: bool = False
    ) -> float:
        """A quantile of the numbers that kernel(block, (state, grid)) counts."""
        grid = self.grid(window, is_long=is_long)
        return self.read(self._releases.total(kernel, (state, grid)), grid, level)

    def read(self, histogram: NDArray[np.int64], grid: FloatArray, level: float) -> float:
        """A quantile of numbers that were counted in the cells of a grid."""
        share = self._spending.comparison * (len(grid) - 1).bit_length()
        return self._releases.quantile_of(histogram, grid, level, share)
