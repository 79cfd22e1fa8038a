"""The release of sum x x^* that fits an event: GOE- or GUE-shaped Gaussian noise, or two-sided Wishart noise."""

from typing import overload

import numpy as np
from numpy.typing import NDArray

from hushrank.parameters import DEFAULT_N_MAX
from hushrank.privacy.events import Event, Gaussian
from hushrank.privacy.guarantee import Neighbors
from hushrank.privacy.mechanisms.fields import Field, check_hermitian_total, parse_field
from hushrank.privacy.mechanisms.scales import check_gaussian_or_pure, check_lattice_kind
from hushrank.privacy.mechanisms.symmetric import (
    SymmetricLattice,
    release_hermitian,
    release_symmetric,
    symmetric_lattice,
)
from hushrank.privacy.mechanisms.totals import check_square_total
from hushrank.privacy.mechanisms.wishart import WishartLattice, release_wishart, wishart_lattice
from hushrank.privacy.noise.deviates import Integers
from hushrank.privacy.noise.source import NoiseSource

GramLattice = SymmetricLattice | WishartLattice


def gram_lattice(
    row_norm: float,
    event: Event,
    neighbors: Neighbors | str = Neighbors.REPLACE,
    *,
    field: Field | str = Field.REAL,
    n_max: int = DEFAULT_N_MAX,
) -> GramLattice:
    """Plan the release of sum x x^* over real or complex rows; reads nothing private."""
    executable, numbers = check_gaussian_or_pure(event, "gram_lattice"), parse_field(field, "gram_lattice")
    if isinstance(executable, Gaussian):
        return symmetric_lattice(row_norm, executable, neighbors, field=numbers, n_max=n_max)
    return wishart_lattice(row_norm, executable, neighbors, field=numbers, n_max=n_max)


@overload
def release_gram(total: Integers, lattice: GramLattice, noise: NoiseSource) -> NDArray[np.float64]: ...


@overload
def release_gram(
    total: tuple[Integers, Integers], lattice: GramLattice, noise: NoiseSource
) -> NDArray[np.complex128]: ...


def release_gram(
    total: Integers | tuple[Integers, Integers], lattice: GramLattice, noise: NoiseSource
) -> NDArray[np.float64] | NDArray[np.complex128]:
    """Release the integer matrix sum y y^* by the mechanism of its lattice.

    `total` is a symmetric matrix (field "real") or a pair of a symmetric real part and an antisymmetric imaginary part
    (field "complex").
    """
    check_lattice_kind(lattice, (SymmetricLattice, WishartLattice), "release_gram")
    if lattice.field is Field.REAL:
        secret = check_square_total(total, "release_gram")
        if isinstance(lattice, SymmetricLattice):
            return release_symmetric(secret, lattice, noise)
        return release_wishart(secret, lattice, noise)
    pair = check_hermitian_total(total, "release_gram")
    if isinstance(lattice, SymmetricLattice):
        return release_hermitian(pair, lattice, noise)
    return release_wishart(pair, lattice, noise)
