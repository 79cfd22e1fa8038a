"""Releases about one part of the people after the other: where everybody is in one, all cost no more than one.

Statistic  the same sequence of releases for every part, with the same shares of the budget; sums over a part's people.
Release    as in `hushrank.privacy.adaptive`; what is released about a part may decide how the next one is looked at.
Privacy    docs/privacy/personalization.md, Theorem 3. A person's part is a function of this person's own data. A
           replacement moves one part by a replacement, or one part by a removal and another by an addition, which
           together cost no more; for quantiles that needs levels between 0.3 and 0.7.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushrank.exceptions import InvalidParameter, PlanBroken
from hushrank.parameters import check_integer
from hushrank.privacy.adaptive import AdaptiveReleases
from hushrank.privacy.events import Event, Gaussian
from hushrank.privacy.guarantee import Neighbors
from hushrank.privacy.noise.keystream import Keystream
from hushrank.privacy.noise.source import NoiseSource

FloatArray = NDArray[np.float64]
# select(block, part, n_parts): the people of a block who are in this part.
Select = Callable[[Any, int, int], Any]

# Removing a person moves a rank by at most max(p, 1 - p), and twice the square of that must be at most 1.
_LEVELS = (0.3, 0.7)


def releases_in_parts(releases: AdaptiveReleases, n_parts: int, select: Select) -> Iterator["PartReleases"]:
    """Releases for each part; those of the first are paid for, and every other part must repeat them.

    Parameters
    ----------
    releases : AdaptiveReleases
        Of the whole fit.
    n_parts : int
    select : callable
        A function of a module, so that an engine may send it elsewhere. It must put everybody into one part, by this
        person's data alone.
    """
    count = check_integer(n_parts, "n_parts", "releases_in_parts", minimum=1)
    first, booked = len(releases.executed), list[tuple[float | None, Gaussian]]()
    for part in range(count):
        yield PartReleases(releases, part, count, select, first, booked)


class PartReleases(AdaptiveReleases):
    """`AdaptiveReleases` for one part of the people, made by `releases_in_parts`.

    Attributes
    ----------
    n_people : float
        Of the whole, over the number of parts: how many are in a part is not counted.
    """

    def __init__(
        self,
        whole: AdaptiveReleases,
        part: int,
        n_parts: int,
        select: Select,
        first: int,
        booked: list[tuple[float | None, Gaussian]],
    ) -> None:
        self.neighbors, self.mu, self._n_max, self._filter = whole.neighbors, whole.mu, whole._n_max, whole._filter
        self.n_people = max(whole.n_people / n_parts, 1.0)
        self._whole, self._part, self._n_parts, self._select = whole, part, n_parts, select
        self._noise = PartNoise(whole._noise, part, first)
        self._booked, self._n_taken = booked, 0
        self.total = self._total_of_part

    def quantile_of(self, histogram: NDArray[np.int64], grid: FloatArray, probability: float, share: float) -> float:
        """As in `AdaptiveReleases`, at levels near the middle."""
        if not _LEVELS[0] <= probability <= _LEVELS[1]:
            requirement = f"between {_LEVELS[0]} and {_LEVELS[1]} where people are in parts"
            raise InvalidParameter("PartReleases", "probability", requirement, probability)
        return super().quantile_of(histogram, grid, probability, share)

    def _total_of_part(self, kernel: Callable[..., Any], state: Any) -> Any:
        return self._whole.total(sum_part, (kernel, state, self._select, self._part, self._n_parts))

    def _take(self, share: float | None) -> Gaussian:
        if self._part == 0:
            self._booked.append((share, self._whole._take(share)))
        if self._n_taken == len(self._booked) or self._booked[self._n_taken][0] != share:
            raise PlanBroken(f"part {self._part} does not repeat the shares of the first; got {share}.")
        self._n_taken += 1
        return self._booked[self._n_taken - 1][1]


class PartNoise(NoiseSource):
    """The noise of one part: the first part's releases are logged, those of another repeat them."""

    def __init__(self, whole: NoiseSource, part: int, first: int) -> None:
        super().__init__()
        self._whole, self._part, self._next = whole, part, first

    @property
    def executed(self) -> tuple[Event, ...]:
        """The events of all releases of the fit so far."""
        return self._whole.executed

    def begin(self, event: Event, neighbors: Neighbors | str, *, numerics: str = "exact") -> Keystream:
        """As in `NoiseSource`."""
        number, self._next = self._next, self._next + 1
        if self._part == 0:
            return self._whole.begin(event, neighbors, numerics=numerics)
        return self._whole.begin_again(number, self._part, event, neighbors, numerics=numerics)


def sum_part(block: Any, state: tuple[Callable[..., Any], Any, Select, int, int]) -> Any:
    """What a kernel makes of the people of a block who are in one part."""
    kernel, public, select, part, n_parts = state
    return kernel(select(block, part, n_parts), public)
