"""Release of a sum of per-person vectors, under a Gaussian event (L2 bound) or a pure one (L1 bound).

Statistic  S = sum over people of integer vectors y with |y|_2^2 <= T (Gaussian) or |y|_1 <= T (Pure).
Release    S + round(2^k Z), Z independent standard normals or Laplace deviates of scale 1.
Privacy    docs/privacy/gaussian.md, Theorem 1; docs/privacy/laplace.md, Theorem 1.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hushrank.exceptions import InvalidParameter
from hushrank.parameters import DEFAULT_N_MAX, check_integer, check_real
from hushrank.privacy.events import Event, Gaussian, Pure
from hushrank.privacy.guarantee import Neighbors, parse_neighbors
from hushrank.privacy.mechanisms.scales import (
    check_gaussian_or_pure,
    check_lattice,
    check_lattice_kind,
    largest_bound,
    lattice_bits,
    settle_fields,
)
from hushrank.privacy.mechanisms.totals import check_total
from hushrank.privacy.noise.deviates import MAX_EXPONENT, Integers, add_laplace, add_normals
from hushrank.privacy.noise.source import NoiseSource

_L2_BITS = 24  # squared norms up to 2^48 are exact in float64
_L1_BITS = 36
_LARGEST_BOUND = 1 << 48  # that quantizers check exactly


def vector_l2_sensitivity(norm_bound: float, neighbors: Neighbors, *, nonnegative: bool = False) -> float:
    """Largest L2 change of a sum of vectors of L2 norm <= norm_bound (gaussian.md, Lemma 1)."""
    return math.sqrt(_squared_l2_factor(neighbors, nonnegative)) * norm_bound


def vector_l1_sensitivity(norm_bound: float, neighbors: Neighbors) -> float:
    """Largest L1 change of a sum of vectors of L1 norm <= norm_bound (laplace.md, Lemma 1)."""
    return _l1_factor(neighbors) * norm_bound


def _squared_l2_factor(neighbors: Neighbors, nonnegative: bool) -> int:
    # |y - y'|^2 = |y|^2 + |y'|^2 - 2 y.y' <= 4 |.|^2, and <= 2 |.|^2 if y.y' >= 0.
    if neighbors == Neighbors.ADD_REMOVE:
        return 1
    return 2 if nonnegative else 4


def _l1_factor(neighbors: Neighbors) -> int:
    return 1 if neighbors == Neighbors.ADD_REMOVE else 2


@dataclass(frozen=True, slots=True)
class GaussianLattice:
    """Public numbers of a Gaussian release: what the quantizer and the mechanism must agree on.

    Attributes
    ----------
    event, neighbors : the event that will be executed, and its neighboring relation
    norm_bound : float
        Bound on the L2 norm of one person's vector.
    squared_bound : int
        Bound T on the squared norm in lattice units; `integer_sum` checks it in integers.
    exponent : int
        The noise is 2^exponent lattice units times a standard normal.
    nonnegative : bool
        Whether negative entries are clipped to zero; the sum, which is given the lattice, does so.
    """

    event: Gaussian
    neighbors: Neighbors
    norm_bound: float
    squared_bound: int
    exponent: int
    nonnegative: bool

    def __post_init__(self) -> None:
        largest = {"squared_bound": _LARGEST_BOUND, "exponent": MAX_EXPONENT}
        settle_fields(self, "vector_lattice", Gaussian, "norm_bound", **largest)
        _check_flag(self.nonnegative, "nonnegative")
        cost = _squared_l2_factor(self.neighbors, self.nonnegative) * Fraction(self.event.noise_multiplier) ** 2
        is_private = cost * self.squared_bound <= 4**self.exponent
        norm = ("norm_bound", self.norm_bound)
        check_lattice(self.unit, self.squared_bound, is_private, "vector_lattice", self.event, norm)

    @property
    def lowest(self) -> float:
        """Smallest integer that a contribution may have: 0 for nonnegative vectors, else minus infinity."""
        return 0.0 if self.nonnegative else -math.inf

    @property
    def unit(self) -> float:
        """Size of one lattice unit in the units of the data."""
        return self.norm_bound / math.sqrt(max(self.squared_bound, 1))

    @property
    def scale(self) -> float:
        """Standard deviation of the noise in the units of the data."""
        return 2.0**self.exponent * self.unit


@dataclass(frozen=True, slots=True)
class LaplaceLattice:
    """Public numbers of a Laplace release: what the quantizer and the mechanism must agree on.

    Attributes
    ----------
    event, neighbors : the event that will be executed, and its neighboring relation
    norm_bound : float
        Bound on the L1 norm of one person's vector.
    l1_bound : int
        The same bound T in lattice units; `quantize_rows_l1` checks it in integers.
    exponent : int
        The noise is 2^exponent lattice units times a Laplace deviate of scale 1.
    """

    event: Pure
    neighbors: Neighbors
    norm_bound: float
    l1_bound: int
    exponent: int

    def __post_init__(self) -> None:
        settle_fields(self, "vector_lattice", Pure, "norm_bound", l1_bound=_LARGEST_BOUND, exponent=MAX_EXPONENT)
        is_private = _l1_factor(self.neighbors) * self.l1_bound <= Fraction(self.event.epsilon) * 2**self.exponent
        norm = ("norm_bound", self.norm_bound)
        check_lattice(self.unit, self.l1_bound, is_private, "vector_lattice", self.event, norm)

    @property
    def unit(self) -> float:
        """Size of one lattice unit in the units of the data."""
        return self.norm_bound / max(self.l1_bound, 1)

    @property
    def scale(self) -> float:
        """Scale of the Laplace noise in the units of the data."""
        return 2.0**self.exponent * self.unit


VectorLattice = GaussianLattice | LaplaceLattice


def vector_lattice(
    norm_bound: float,
    event: Event,
    neighbors: Neighbors | str = Neighbors.REPLACE,
    *,
    nonnegative: bool = False,
    n_max: int = DEFAULT_N_MAX,
    bits: int | None = None,
) -> VectorLattice:
    """Plan the release of a sum of vectors; reads nothing private.

    Parameters
    ----------
    norm_bound : float > 0
        L2 bound (Gaussian event) or L1 bound (pure event) of one person's vector.
    event : Gaussian or Pure
    neighbors : "replace" or "add_remove"
    nonnegative : bool, default False
        Clip negative entries to zero; a Gaussian release under replace then needs sqrt(2) less noise. Gaussian only.
    n_max : int, default 2**26
        Public bound on the number of people; it sets how fine the lattice can be.
    bits : int, optional
        Of a norm in lattice units at most, where that is less: for totals that must not wrap around. Gaussian only.
    """
    owner = "vector_lattice"
    bound = check_real(norm_bound, "norm_bound", owner, above=0)
    relation = parse_neighbors(neighbors, owner)
    executable = check_gaussian_or_pure(event, owner)
    _check_flag(nonnegative, "nonnegative")
    if isinstance(executable, Gaussian):
        # sensitivity / scale = sqrt(factor T) / 2^k <= 1 / noise_multiplier
        cost = _squared_l2_factor(relation, nonnegative) * Fraction(executable.noise_multiplier) ** 2
        finest = _L2_BITS if bits is None else check_integer(bits, "bits", owner, minimum=1, maximum=_L2_BITS)
        most = 4 ** lattice_bits(n_max, owner, most=finest, powers=1)
        exponent, squared_bound = largest_bound(lambda k: (cost.denominator << 2 * k) // cost.numerator, most)
        return GaussianLattice(executable, relation, bound, squared_bound, exponent, nonnegative)
    if nonnegative:
        raise InvalidParameter(owner, "nonnegative", "False for a pure event (its L1 bound gains nothing)", True)
    if bits is not None:
        raise InvalidParameter(owner, "bits", "None for a pure event", bits)
    rate = Fraction(executable.epsilon) / _l1_factor(relation)  # factor T / 2^k <= epsilon
    most = 2 ** lattice_bits(n_max, owner, most=_L1_BITS, powers=1)
    exponent, l1_bound = largest_bound(lambda k: (rate.numerator << k) // rate.denominator, most)
    return LaplaceLattice(executable, relation, bound, l1_bound, exponent)


def _check_flag(value: bool, name: str) -> None:
    if not isinstance(value, bool):
        raise InvalidParameter("vector_lattice", name, "True or False", value)


def release_vector(total: Integers, lattice: VectorLattice, noise: NoiseSource) -> NDArray[np.float64]:
    """Release `total` (lattice integers, any shape) with the noise of `lattice`, in the units of the data."""
    check_lattice_kind(lattice, (GaussianLattice, LaplaceLattice), "release_vector")
    secret = check_total(total, "release_vector")
    stream = noise.begin(lattice.event, lattice.neighbors)
    released = np.zeros(secret.shape, np.int64)
    add = add_normals if isinstance(lattice, GaussianLattice) else add_laplace
    add(released, lattice.exponent, stream)
    released += secret  # integers: the same as rounding secret + 2^k Z once
    return released.astype(np.float64) * lattice.unit
