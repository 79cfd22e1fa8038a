"""Noisy searches for quantiles of one number a person, on grids of equal ratios; comparisons have equal shares."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hushrank.linalg.histogram import geometric_grid
from hushrank.privacy.adaptive import AdaptiveReleases

FloatArray = NDArray[np.float64]
Window = tuple[float, float]

LEAST_COMPARISON = 1e-9  # share, however many people there are


@dataclass(frozen=True, slots=True)
class SearchRecipe:
    """How clip bounds and variances are searched for: by noisy bisection on a grid of equal ratios.

    Tuned on planted data of personalization (n = 2000 to 20000, d = 20 to 100). Levels near the middle and precise
    counts matter: with counts of deviation n / 10, or levels of .75 and more, a search runs off to the end of its
    window now and then and ruins the fit.

    Attributes
    ----------
    deviation : float
        Of the count in each comparison, as a fraction of the number of people, where the budget allows it.
    most_share : float
        Largest share of the whole budget for all searches together.
    long, short : int
        Comparisons of a first search, and of one around a value that is known roughly.
    """

    deviation: float = 1 / 40
    most_share: float = 0.12
    long: int = 7
    short: int = 5

    def comparison_share(self, people: float, whole: float, count: int) -> float:
        """Share for each of `count` comparisons, where `people` is their number times mu and `whole` what there is."""
        precise = max(1.0 / (self.deviation * people) ** 2, LEAST_COMPARISON)
        return min(precise, self.most_share * whole / count)


SEARCHES = SearchRecipe()
FEW_SEARCHES = SearchRecipe(most_share=0.3, long=5, short=3)
"""Where there are few people for the budget."""


class SearchSpending(Protocol):
    """What searches take of the plan of a fit: their recipe, and the share of the whole for one comparison."""

    @property
    def searches(self) -> SearchRecipe: ...

    @property
    def comparison(self) -> float: ...


class Searches:
    """Searches of one fit.

    Parameters
    ----------
    releases : AdaptiveReleases
    spending : SearchSpending
    """

    def __init__(self, releases: AdaptiveReleases, spending: SearchSpending) -> None:
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
        return self._releases.quantile_of(histogram, grid, level, self.cost(grid))

    def cost(self, grid: FloatArray) -> float:
        """Share of the whole for a search on this grid."""
        return self._spending.comparison * (len(grid) - 1).bit_length()


def octaves(center: float, below: float, above: float) -> Window:
    """A window from 2^-below to 2^above times a center."""
    return center * math.exp2(-below), center * math.exp2(above)
