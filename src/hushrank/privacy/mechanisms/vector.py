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
from hushrank.privacy.events import Event, Gaussian, Pure
from hushrank.privacy.guarantee import Neighbors, parse_neighbors
from hushrank.privacy.mechanisms.totals import DEFAULT_N_MAX, check_gaussian_or_pure, check_total, lattice_bits
from hushrank.privacy.noise.deviates import MAX_EXPONENT, Integers, add_laplace, add_normals
from hushrank.privacy.noise.source import NoiseSource
from hushrank.privacy.parameters import check_real

_L2_BITS = 24  # squared norms up to 2^48 are exact in float64
_L1_BITS = 36


def vector_l2_sensitivity(norm_bound: float, neighbors: Neighbors, *, nonnegative: bool = False) -> float:
    """Largest L2 change of a sum of vectors of L2 norm <= norm_bound (gaussian.md, Lemma 1)."""
    return math.sqrt(_squared_l2_factor(neighbors, nonnegative)) * norm_bound


def vector_l1_sensitivity(norm_bound: float, neighbors: Neighbors) -> float:
    """Largest L1 change of a sum of vectors of L1 norm <= norm_bound (laplace.md, Lemma 1)."""
    return _l1_factor(neighbors) * norm_bound


def _squared_l2_factor(neighbors: Neighbors, nonnegative: bool) -> int:
    # |y - y'|^2 = |y|^2 + |y'|^2 - 2 y.y' <= 4 |.|^2, and <= 2 |.|^2 if y.y' >= 0.
    if neighbors is Neighbors.ADD_REMOVE:
        return 1
    return 2 if nonnegative else 4


def _l1_factor(neighbors: Neighbors) -> int:
    return 1 if neighbors is Neighbors.ADD_REMOVE else 2


@dataclass(frozen=True, slots=True)
class VectorLattice:
    """Public numbers of one release: everything the quantizer and the mechanism must agree on.

    Attributes
    ----------
    event, neighbors : the event that will be executed, and its neighboring relation
    norm_bound : float
        Bound on one person's vector: L2 norm for a Gaussian event, L1 norm for a pure one.
    integer_bound : int
        The same bound in lattice units, squared for a Gaussian event; the quantizer checks it in integers.
    exponent : int
        The noise is 2^exponent lattice units times a standard deviate.
    nonnegative : bool
        Whether contributions have no negative entries (which the caller enforces by clipping).
    """

    event: Gaussian | Pure
    neighbors: Neighbors
    norm_bound: float
    integer_bound: int
    exponent: int
    nonnegative: bool

    @property
    def step(self) -> float:
        """Size of one lattice unit in the units of the data."""
        root = math.sqrt(self.integer_bound) if isinstance(self.event, Gaussian) else self.integer_bound
        return self.norm_bound / root

    @property
    def scale(self) -> float:
        """Noise scale in the units of the data: standard deviation (Gaussian) or Laplace scale (Pure)."""
        return 2.0**self.exponent * self.step


def vector_lattice(
    norm_bound: float,
    event: Event,
    neighbors: Neighbors | str = Neighbors.REPLACE,
    *,
    nonnegative: bool = False,
    n_max: int = DEFAULT_N_MAX,
) -> VectorLattice:
    """Plan the release of a sum of vectors; reads nothing private.

    Parameters
    ----------
    norm_bound : float > 0
        L2 bound (Gaussian event) or L1 bound (pure event) of one person's vector.
    event : Gaussian or Pure
    neighbors : "replace" or "add_remove"
    nonnegative : bool, default False
        Promise that contributions have no negative entries: a Gaussian release under replace then needs sqrt(2) less.
    n_max : int, default 2**26
        Public bound on the number of people; it sets how fine the lattice can be.
    """
    owner = "vector_lattice"
    bound = check_real(norm_bound, "norm_bound", owner, above=0)
    relation = parse_neighbors(neighbors, owner)
    executable = check_gaussian_or_pure(event, owner)
    if isinstance(executable, Gaussian):
        # sensitivity / scale = sqrt(factor T) / 2^k <= 1 / noise_multiplier
        rate = 1 / (_squared_l2_factor(relation, nonnegative) * Fraction(executable.noise_multiplier) ** 2)
        most, base = 4 ** lattice_bits(n_max, owner, most=_L2_BITS, powers=1), 4
    else:
        rate = Fraction(executable.epsilon) / _l1_factor(relation)  # factor T / 2^k <= epsilon
        most, base = 2 ** lattice_bits(n_max, owner, most=_L1_BITS, powers=1), 2
    exponent, integer_bound = largest_bound(rate, base, most)
    if integer_bound < 1:
        raise InvalidParameter(owner, "event", "an event whose noise leaves at least one lattice unit a person", event)
    return VectorLattice(executable, relation, bound, integer_bound, exponent, nonnegative)


def largest_bound(rate: Fraction, base: int, most: int) -> tuple[int, int]:
    """Largest exponent k <= MAX_EXPONENT with T = floor(rate base^k) <= most, and that T (cut at `most` for k = 0)."""
    for exponent in range(MAX_EXPONENT, -1, -1):
        integer_bound = math.floor(rate * base**exponent)
        if integer_bound <= most:
            return exponent, integer_bound
    return 0, most


def release_vector(total: Integers, lattice: VectorLattice, noise: NoiseSource) -> NDArray[np.float64]:
    """Release `total` (lattice integers, any shape) with the noise of `lattice`, in the units of the data."""
    secret = check_total(total, "release_vector")
    stream = noise.begin(lattice.event)
    released = np.zeros(secret.shape, np.int64)
    add = add_normals if isinstance(lattice.event, Gaussian) else add_laplace
    add(released, lattice.exponent, stream)
    released += secret  # integers: the same as rounding secret + 2^k Z once
    return released.astype(np.float64) * lattice.step
