"""The releases that a fit with a private radius is made of, out of one budget: counts, radii and sums of rows.

A filter hands out shares of the budget; nothing is released around it.
Privacy    docs/privacy/second_moment.md, Theorem 2.
"""

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from hushrank.estimators.second_moment.radius import release_radius, search_grid
from hushrank.estimators.second_moment.recipe import RECIPE
from hushrank.estimators.second_moment.spending import N_GRID, Setting, first_level
from hushrank.estimators.second_moment.sums import count_norms, sum_entries, sum_within
from hushrank.linalg.quantize import FloatArray
from hushrank.linalg.row_frames import Frame
from hushrank.privacy.events import Gaussian, Pure
from hushrank.privacy.filters import filter_for
from hushrank.privacy.guarantee import Neighbors
from hushrank.privacy.mechanisms.counts import release_counts
from hushrank.privacy.mechanisms.length import release_length
from hushrank.privacy.mechanisms.vector import GaussianLattice, VectorLattice, release_vector, vector_lattice
from hushrank.privacy.noise.deviates import Integers
from hushrank.privacy.noise.source import NoiseSource

Norms = Mapping[int, Integers]
Total = Callable[..., Any]


class RowReleases:
    """Releases of one fit, and what is left of its budget.

    Parameters
    ----------
    event : Gaussian or Pure
        The whole budget.
    neighbors : Neighbors
    n_max : int
        Public bound on the number of rows.
    noise : NoiseSource
    total : callable
        total(kernel, state): the exact sum of an integer kernel over all blocks.
    report : callable
        report(tally, too_long): tells the data holder how many rows were shortened, and why.
    """

    def __init__(
        self,
        event: Gaussian | Pure,
        neighbors: Neighbors,
        n_max: int,
        noise: NoiseSource,
        total: Total,
        report: Callable[[Any, str], None],
    ) -> None:
        self.neighbors, self.n_max, self.noise, self.total, self.report = neighbors, n_max, noise, total, report
        self.is_pure = isinstance(event, Pure)
        self._event, self._filter = event, filter_for(event)

    @property
    def left(self) -> Fraction:
        """Share of the whole that is left."""
        return self._filter.left / self._filter.total

    def take(self, share: Fraction) -> Gaussian | Pure:
        """Book a share of the whole."""
        return self._filter.share(share)

    def rest(self) -> Gaussian | Pure:
        """Book all that is left."""
        return self._filter.rest()

    def norms(self, frame: Frame, bound: float, powers: tuple[int, ...] = (2,)) -> Norms:
        """Rows in the cells of the grids of their norms, by power; secret."""
        grids = tuple(search_grid(_top(bound, frame, power), N_GRID) for power in powers)
        return dict(zip(powers, self.total(count_norms, (frame, powers, grids)), strict=True))

    def count(self, secret: int) -> int:
        """A secret number of rows with noise, at least 1."""
        event = self.take(RECIPE.count)
        return max(1, int(release_counts(np.array([secret]), event, self.noise, self.neighbors)[0]))

    def radius(
        self, norms: Norms, frame: Frame, bound: float, level: float, count: int, share: Fraction, power: int = 2
    ) -> float:
        """A norm of this power that about the share `level` of the rows does not exceed."""
        grid, event = search_grid(_top(bound, frame, power), N_GRID), self.take(share)
        return release_radius(norms[power], grid, level, count, event, self.noise, self.neighbors)

    def first_radius(
        self, norms: Norms, frame: Frame, bound: float, setting: Setting, share: Fraction, power: int
    ) -> float:
        """A radius before anything is known of the rows."""
        return self.radius(norms, frame, bound, first_level(setting, share), setting.n_samples, share, power)

    def sum_within(self, frame: Frame, radius: float, squared_bound: int, purpose: str) -> Integers:
        """Sum of the rows, shortened to a radius that is sqrt(squared_bound) integer units; secret."""
        secret, tally = self.total(sum_within, (frame, radius, squared_bound))
        self.report(tally, f"longer than {radius:g} for {purpose}")
        return np.asarray(secret)

    def length(self, secret: Integers, squared_bound: int, share: Fraction) -> float:
        """The length of such a sum, with noise and in radii; at least 0."""
        released = release_length(secret, squared_bound, self.take(share), self.noise, self.neighbors)
        return max(0.0, released / math.sqrt(squared_bound))

    def plan_vector(self, radius: float, share: Fraction, *, bits: int | None = None) -> VectorLattice:
        """The release of a sum of vectors that may never be made: nothing is booked."""
        event = filter_for(self._event).share(share)
        return vector_lattice(radius, event, self.neighbors, n_max=self.n_max, bits=bits)

    def planned_vector(self, secret: Integers, lattice: VectorLattice) -> FloatArray:
        """Make a release of `plan_vector`."""
        self._filter.spend(lattice.event)
        return release_vector(secret, lattice, self.noise)

    def book_vector(self, norm: float, share: Fraction) -> VectorLattice:
        """Book the release of a sum of vectors without negative entries."""
        event = self.take(share)
        return vector_lattice(norm, event, self.neighbors, nonnegative=not self.is_pure, n_max=self.n_max)

    def sum_entries(self, frame: Frame, lattice: VectorLattice, entries: str, purpose: str) -> Integers:
        """Sum of rows on a lattice, or of the magnitudes of their entries; secret."""
        secret, tally = self.total(sum_entries, (frame, lattice, entries))
        self.report(tally, f"longer than {lattice.norm_bound:g} for {purpose}")
        return np.asarray(secret)


def _top(bound: float, frame: Frame, power: int) -> float:
    """Largest norm of rows whose Euclidean norm is within the bound."""
    return bound * (math.sqrt(frame.n_columns) if power == 1 else 1.0)


def deviation_of(lattice: VectorLattice) -> float:
    """Standard deviation of the noise of one entry."""
    return lattice.scale * (1.0 if isinstance(lattice, GaussianLattice) else math.sqrt(2.0))
