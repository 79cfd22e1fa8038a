"""Sums over measurements as the plan of a fit asks for them: with noise, or exact where measurements are public."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from hushrank.linalg.quantize import FloatArray
from hushrank.linalg.scatter import IntegerArray
from hushrank.privacy.events import Gaussian
from hushrank.privacy.guarantee import Neighbors
from hushrank.privacy.mechanisms.symmetric import SymmetricLattice, symmetric_lattice
from hushrank.privacy.mechanisms.vector import GaussianLattice, vector_lattice

Lattice = Any  # GaussianLattice or SymmetricLattice
Find = Callable[[IntegerArray, FloatArray], float]  # a quantile of sizes that were counted in the cells of a grid


class Sums(Protocol):
    """What learning about measurements takes of `AdaptiveReleases`, and `PublicSums` has too."""

    total: Callable[..., Any]
    n_people: float

    def vector_lattice(self, norm: float, share: float | None = None, *, nonnegative: bool = False) -> GaussianLattice:
        """Public numbers of a sum of vectors."""

    def gram_lattice(self, row_norm: float, share: float | None = None) -> SymmetricLattice:
        """Public numbers of a sum of products."""

    def release(self, total: Any, lattice: GaussianLattice) -> FloatArray:
        """A sum of vectors in the units of the data."""

    def release_symmetric(self, total: Any, lattice: SymmetricLattice) -> FloatArray:
        """A sum of products in the units of the data."""


class PublicSums:
    """Sums over measurements that are public: exact but for the rounding of records, and free.

    Parameters
    ----------
    total : callable
        total(kernel, state): the exact sum of an integer kernel over all blocks.
    n_people : float
    """

    # Of a lattice that is as fine as can be; nothing is drawn.
    _EVENT = Gaussian(1e-6)

    def __init__(self, total: Callable[..., Any], n_people: float) -> None:
        self.total, self.n_people = total, n_people

    def vector_lattice(self, norm: float, share: float | None = None, *, nonnegative: bool = False) -> GaussianLattice:
        """A lattice; no share is taken."""
        lattice = vector_lattice(norm, self._EVENT, Neighbors.REPLACE, nonnegative=nonnegative)
        assert isinstance(lattice, GaussianLattice)
        return lattice

    def gram_lattice(self, row_norm: float, share: float | None = None) -> SymmetricLattice:
        """A lattice; no share is taken."""
        return symmetric_lattice(row_norm, self._EVENT, Neighbors.REPLACE)

    def release(self, total: Any, lattice: GaussianLattice) -> FloatArray:
        """The sum itself."""
        return np.asarray(total, np.float64) * lattice.unit

    def release_symmetric(self, total: Any, lattice: SymmetricLattice) -> FloatArray:
        """The sum itself."""
        return np.asarray(total, np.float64) * lattice.unit
