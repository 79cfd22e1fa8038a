"""The release of sum x x^T that fits an event: GOE-shaped Gaussian noise, or two-sided Wishart for a pure one."""

import numpy as np
from numpy.typing import NDArray

from hushrank.exceptions import InvalidParameter
from hushrank.privacy.events import Event, Gaussian
from hushrank.privacy.guarantee import Neighbors
from hushrank.privacy.mechanisms.scales import check_gaussian_or_pure
from hushrank.privacy.mechanisms.symmetric import SymmetricLattice, release_symmetric, symmetric_lattice
from hushrank.privacy.mechanisms.wishart import Field, WishartLattice, release_wishart, wishart_lattice
from hushrank.privacy.noise.deviates import Integers
from hushrank.privacy.noise.source import NoiseSource
from hushrank.privacy.parameters import DEFAULT_N_MAX

GramLattice = SymmetricLattice | WishartLattice


def gram_lattice(
    row_norm: float,
    event: Event,
    neighbors: Neighbors | str = Neighbors.REPLACE,
    *,
    n_max: int = DEFAULT_N_MAX,
) -> GramLattice:
    """Plan the release of sum x x^T over real rows; reads nothing private."""
    executable = check_gaussian_or_pure(event, "gram_lattice")
    if isinstance(executable, Gaussian):
        return symmetric_lattice(row_norm, executable, neighbors, n_max=n_max)
    return wishart_lattice(row_norm, executable, neighbors, n_max=n_max)


def release_gram(total: Integers, lattice: GramLattice, noise: NoiseSource) -> NDArray[np.float64]:
    """Release the integer matrix sum y y^T over real rows by the mechanism of its lattice."""
    if isinstance(lattice, SymmetricLattice):
        return release_symmetric(total, lattice, noise)
    if lattice.field is not Field.REAL:
        raise InvalidParameter("release_gram", "lattice", "made for real rows", lattice.field)
    return release_wishart(total, lattice, noise).real
