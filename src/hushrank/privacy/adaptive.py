"""Adaptive Gaussian releases of sums over people, out of one budget.

Statistic  integer sums over people of contributions that a kernel has bounded and rounded, one person at a time.
Release    the sum plus exact noise; the share of the budget for each release may depend on what was released before.
Privacy    docs/privacy/completion.md, Theorem 1: shares come from one GDP filter, so all releases together are as
           private as one Gaussian release of the whole budget.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushrank.privacy.events import Event, Gaussian
from hushrank.privacy.filters import GdpFilter
from hushrank.privacy.guarantee import Neighbors, parse_neighbors
from hushrank.privacy.mechanisms.counts import release_counts
from hushrank.privacy.mechanisms.hollow import release_hollow
from hushrank.privacy.mechanisms.quantile import quantile_event, release_quantile
from hushrank.privacy.mechanisms.symmetric import SymmetricLattice, release_symmetric, symmetric_lattice
from hushrank.privacy.mechanisms.symmetric_stack import release_symmetric_stack
from hushrank.privacy.mechanisms.vector import GaussianLattice, release_vector, vector_lattice
from hushrank.privacy.noise.source import NoiseSource

FloatArray = NDArray[np.float64]

COUNT_SHARE = 0.02  # of a noisy number of people, where it is secret
_ROUNDING = 1e-9


class AdaptiveReleases:
    """Releases of one fit, and what is left of its budget; nothing is released around it.

    A lattice is made first, which takes a share of the budget; a kernel bounds and rounds contributions for it, and the
    sum goes back to a release with that lattice. Shares are fractions of mu^2 of the whole.

    Parameters
    ----------
    event : Gaussian
        The whole budget as one release.
    neighbors : Neighbors
    n_max : int
        Public bound on the number of people.
    noise : NoiseSource
    total : callable
        total(kernel, state): the exact sum of an integer kernel over all blocks of people.
    n_people : int or None
        None where the number of people is secret: a noisy one is bought first.

    Attributes
    ----------
    n_people : float
        Public, or released; at least 1.
    """

    def __init__(
        self,
        event: Gaussian,
        neighbors: Neighbors,
        n_max: int,
        noise: NoiseSource,
        total: Callable[..., Any],
        *,
        n_people: int | None,
    ) -> None:
        self.neighbors, self.total = parse_neighbors(neighbors, type(self).__name__), total
        self._n_max, self._noise = n_max, noise
        self._filter = GdpFilter.from_event(event)
        self.mu = 1.0 / event.noise_multiplier
        if n_people is None:
            secret = total(_count_people, None)
            n_people = int(release_counts(secret, self._take(COUNT_SHARE), noise, neighbors)[0])
        self.n_people = max(float(n_people), 1.0)

    @property
    def left(self) -> float:
        """Share of the whole that is left."""
        return float(self._filter.left / self._filter.total)

    @property
    def executed(self) -> tuple[Event, ...]:
        """Events of all releases so far."""
        return self._noise.executed

    def spendable(self, share: float | None) -> float:
        """A share, by default all that is left, less so much that the roundings of its parts never add up to more."""
        return (self.left if share is None else share) * (1.0 - 2.0**-40)

    def vector_lattice(self, norm: float, share: float | None = None, *, nonnegative: bool = False) -> GaussianLattice:
        """Book a share, by default all that is left, for a sum of contributions of Euclidean norm at most `norm`."""
        lattice = vector_lattice(norm, self._take(share), self.neighbors, nonnegative=nonnegative, n_max=self._n_max)
        assert isinstance(lattice, GaussianLattice)
        return lattice

    def interval_lattice(self, share: float) -> GaussianLattice:
        """Book a share for a sum of numbers in [0, 1], of which the kernel subtracts `interval_center` first.

        A number in [0, 1] changes by at most 1; centered at 1/2 it has norm at most 1/2, which a replacement doubles.
        """
        if self.neighbors is Neighbors.REPLACE:
            return self.vector_lattice(0.5, share)
        return self.vector_lattice(1.0, share, nonnegative=True)

    @property
    def interval_center(self) -> float:
        """What is subtracted from a number in [0, 1] before it is rounded."""
        return 0.5 if self.neighbors is Neighbors.REPLACE else 0.0

    def gram_lattice(self, row_norm: float, share: float | None = None) -> SymmetricLattice:
        """Book a share for a sum of products y y^T, rows of norm at most `row_norm`, or for a stack of such sums."""
        return symmetric_lattice(row_norm, self._take(share), self.neighbors, n_max=self._n_max)

    def release(self, total: Any, lattice: GaussianLattice) -> FloatArray:
        """The sum with noise, in the units of the data."""
        return release_vector(total, lattice, self._noise)

    def release_interval(self, total: Any, lattice: GaussianLattice) -> float:
        """A sum of centered numbers in [0, 1], with noise, as a sum of the numbers themselves."""
        return float(self.release(total, lattice)[0]) + self.interval_center * self.n_people

    def release_symmetric(self, total: Any, lattice: SymmetricLattice) -> FloatArray:
        """A second moment with noise, of which the upper triangle of `total` is read."""
        return release_symmetric(total, lattice, self._noise)

    def release_symmetric_stack(self, total: Any, lattice: SymmetricLattice) -> FloatArray:
        """Many second moments with noise, lower triangles row after row, as one release."""
        return release_symmetric_stack(total, lattice, self._noise)

    def release_hollow(self, total: Any, lattice: SymmetricLattice) -> FloatArray:
        """A second moment with noise, without its diagonal; uses up `total`, of which it reads the upper triangle."""
        return release_hollow(total, lattice, self._noise)

    def quantile(
        self, kernel: Callable[..., Any], state: Any, grid: FloatArray, probability: float, share: float
    ) -> float:
        """A quantile of one number a person; kernel(block, (state, grid)) counts people in the cells of the grid."""
        return self.quantile_of(self.total(kernel, (state, grid)), grid, probability, share)

    def quantile_of(self, histogram: NDArray[np.int64], grid: FloatArray, probability: float, share: float) -> float:
        """A quantile of one number a person, of which `histogram` counts people in the cells of the grid."""
        event = quantile_event(self._take(share), len(grid))
        return release_quantile(histogram, grid, probability, event, self._noise, self.neighbors)

    def _take(self, share: float | None) -> Gaussian:
        # Sums of float shares miss the whole by rounding: what is all but the rest is the rest.
        is_rest = share is None or abs(share - self.left) < _ROUNDING * self.left
        return self._filter.rest() if share is None or is_rest else self._filter.share(share)


def _count_people(block: Any, state: None) -> NDArray[np.int64]:
    return np.array([len(block)], np.int64)
