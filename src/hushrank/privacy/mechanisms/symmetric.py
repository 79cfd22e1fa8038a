"""Release of a second-moment matrix sum x x^* with GOE-shaped (complex rows: GUE-shaped) Gaussian noise.

Statistic  S = sum over people of y y^*, integer rows y with |y|_2^2 <= T.
Release    S + noise, independent on and above the diagonal: round(2^k N) off it, for complex rows in the real and in
           the imaginary part; round(2^k (N1 + N2)) on it.
Privacy    docs/privacy/gaussian.md, Lemma 3 (sensitivity) and Theorem 4, for complex rows Lemma 6 and Theorem 7: the
           noise is isotropic in the Frobenius inner product, which needs sqrt(2) less off the diagonal than
           independent noise on the upper triangle.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hushrank.exceptions import InvalidParameter
from hushrank.parameters import DEFAULT_N_MAX, check_real
from hushrank.privacy.events import Event, Gaussian
from hushrank.privacy.guarantee import Neighbors, parse_neighbors
from hushrank.privacy.mechanisms.fields import Field, check_hermitian_total, parse_field
from hushrank.privacy.mechanisms.scales import (
    check_lattice,
    check_lattice_kind,
    largest_bound,
    lattice_bits,
    settle_fields,
)
from hushrank.privacy.mechanisms.totals import check_square_total
from hushrank.privacy.noise.deviates import MAX_EXPONENT, Integers, add_normals
from hushrank.privacy.noise.extensible import ExtensibleDeviates
from hushrank.privacy.noise.laws import normal_law
from hushrank.privacy.noise.linear import round_linear
from hushrank.privacy.noise.source import NoiseSource

_ROW_BITS = 18


def second_moment_frobenius_sensitivity(row_norm: float, neighbors: Neighbors) -> float:
    """Largest Frobenius change of sum x x^* over rows of norm <= row_norm (gaussian.md, Lemmas 3 and 6)."""
    return math.sqrt(_squared_frobenius_factor(neighbors)) * row_norm**2


def _squared_frobenius_factor(neighbors: Neighbors) -> int:
    return 1 if neighbors == Neighbors.ADD_REMOVE else 2


@dataclass(frozen=True, slots=True)
class SymmetricLattice:
    """Public numbers of one Gaussian second-moment release.

    Attributes
    ----------
    event, neighbors, field : the event that will be executed, its neighboring relation, real or complex rows
    row_norm : float
        Bound on the L2 norm of one person's row.
    squared_bound : int
        Bound T on the squared norm of an integer row; the quantizer checks it in integers.
    exponent : int
        Off-diagonal noise (complex: each of its parts) has standard deviation 2^exponent lattice units.
    """

    event: Gaussian
    neighbors: Neighbors
    field: Field
    row_norm: float
    squared_bound: int
    exponent: int

    def __post_init__(self) -> None:
        largest = {"squared_bound": 4**_ROW_BITS, "exponent": MAX_EXPONENT}
        settle_fields(self, "symmetric_lattice", Gaussian, "row_norm", **largest)
        object.__setattr__(self, "field", parse_field(self.field, "symmetric_lattice"))
        # Squared sensitivity, factor T^2, over squared noise scale, 2 4^k, is at most mu^2.
        cost = _squared_frobenius_factor(self.neighbors) * Fraction(self.event.noise_multiplier) ** 2
        is_private = cost * self.squared_bound**2 <= 2 * 4**self.exponent
        norm = ("row_norm", self.row_norm)
        check_lattice(self.unit, self.squared_bound, is_private, "symmetric_lattice", self.event, norm)

    @property
    def unit(self) -> float:
        """Size of one lattice unit of the matrix in the squared units of the data."""
        return self.row_norm * self.row_norm / max(self.squared_bound, 1)

    @property
    def scale(self) -> float:
        """Standard deviation off the diagonal (complex: of real and imaginary part); on it, sqrt(2) times larger."""
        return 2.0**self.exponent * self.unit


def symmetric_lattice(
    row_norm: float,
    event: Event,
    neighbors: Neighbors | str = Neighbors.REPLACE,
    *,
    field: Field | str = Field.REAL,
    n_max: int = DEFAULT_N_MAX,
) -> SymmetricLattice:
    """Plan a Gaussian release of sum x x^*; reads nothing private."""
    owner = "symmetric_lattice"
    bound = check_real(row_norm, "row_norm", owner, above=0)
    relation = parse_neighbors(neighbors, owner)
    if not isinstance(event, Gaussian):
        raise InvalidParameter(owner, "event", "Gaussian(noise_multiplier)", event)
    numbers = parse_field(field, owner)
    most = 4 ** lattice_bits(n_max, owner, most=_ROW_BITS, powers=2)
    cost = _squared_frobenius_factor(relation) * Fraction(event.noise_multiplier) ** 2
    exponent, squared_bound = largest_bound(
        lambda k: math.isqrt((cost.denominator << 2 * k + 1) // cost.numerator), most
    )
    return SymmetricLattice(event, relation, numbers, bound, squared_bound, exponent)


def release_symmetric(total: Integers, lattice: SymmetricLattice, noise: NoiseSource) -> NDArray[np.float64]:
    """Release the symmetric integer matrix `total` (its upper triangle is read) in the squared units of the data."""
    check_symmetric_lattice(lattice, Field.REAL, "release_symmetric")
    secret = check_square_total(total, "release_symmetric")
    drawn = _draw_noise(len(secret), lattice, noise)
    return mirror_upper(drawn + secret).astype(np.float64) * lattice.unit


def release_hermitian(
    total: tuple[Integers, Integers], lattice: SymmetricLattice, noise: NoiseSource
) -> NDArray[np.complex128]:
    """Release a Hermitian integer matrix in the squared units of the data.

    `total` is a pair of a symmetric real part and an antisymmetric imaginary part: the real part is read on and above
    the diagonal, the imaginary part above it.
    """
    check_symmetric_lattice(lattice, Field.COMPLEX, "release_hermitian")
    real, imaginary = check_hermitian_total(total, "release_hermitian")
    drawn = _draw_noise(len(real), lattice, noise)
    released = np.empty(real.shape, np.complex128)
    released.real = mirror_upper(drawn + real).astype(np.float64) * lattice.unit
    # The normals below the diagonal, which the real part leaves unused, are the noise of the imaginary part.
    upper = np.triu(drawn.T + imaginary, 1).astype(np.float64) * lattice.unit
    released.imag = upper - upper.T
    return released


def check_symmetric_lattice(lattice: SymmetricLattice, field: Field, owner: str) -> None:
    """Refuse the lattice of another mechanism, or of rows from another field."""
    check_lattice_kind(lattice, SymmetricLattice, owner)
    if lattice.field is not field:
        raise InvalidParameter(owner, "lattice", f"made for {field} rows", f"one for {lattice.field} rows")


def _draw_noise(d: int, lattice: SymmetricLattice, noise: NoiseSource) -> Integers:
    """Independent integers: round(2^k N) off the diagonal, round(2^k (N1 + N2)) on it. Logs the event."""
    stream = noise.begin(lattice.event, lattice.neighbors)
    drawn = np.zeros((d, d), np.int64)
    add_normals(drawn, lattice.exponent, stream)
    pairs = ExtensibleDeviates(normal_law(), d, 2, stream)
    diagonal = round_linear(np.full((1, 2), 2.0**lattice.exponent), pairs, np.zeros((1, d), np.int64))[0]
    np.fill_diagonal(drawn, diagonal)
    return drawn


def mirror_upper(matrix: Integers) -> Integers:
    """The symmetric matrix with the upper triangle of `matrix`."""
    upper = np.triu(matrix)
    return upper + np.triu(matrix, 1).T
