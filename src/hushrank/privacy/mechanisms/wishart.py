"""Pure differential privacy for a second-moment matrix: the two-sided Wishart mechanism, real and complex.

Statistic  S = sum over people of y y^*, integer rows y with |y|^2 <= 4^b.
Release    S + C (W1 - W2) in lattice units, W1 and W2 independent Wishart with d + 1 (complex: d) degrees of freedom.
           W1 - W2 has the law of A B^T + B A^T with A, B independent normal d x (d + 1) matrices, so every entry is one
           bilinear form and is rounded exactly together with the data.
Privacy    docs/privacy/wishart.md, Theorem 1: pure epsilon with C = row_norm^2 / epsilon (replace).
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hushrank.exceptions import InvalidParameter
from hushrank.parameters import DEFAULT_N_MAX, check_real
from hushrank.privacy.events import Event, Pure
from hushrank.privacy.guarantee import Neighbors, parse_neighbors
from hushrank.privacy.mechanisms.fields import Field, check_hermitian_total, parse_field
from hushrank.privacy.mechanisms.scales import (
    check_lattice,
    check_lattice_kind,
    lattice_bits,
    rows_changed,
    settle_fields,
)
from hushrank.privacy.mechanisms.totals import check_square_total
from hushrank.privacy.noise.bilinear import MAX_MULTIPLIER, MAX_SHIFT, round_bilinear
from hushrank.privacy.noise.deviates import Integers
from hushrank.privacy.noise.extensible import ExtensibleDeviates, Stack
from hushrank.privacy.noise.keystream import Keystream
from hushrank.privacy.noise.laws import normal_law
from hushrank.privacy.noise.source import NoiseSource
from hushrank.privacy.rational import floor_log2

_ROW_BITS = 18
_SCALE_BITS = 42  # noise scale on the data's lattice: 2^20 times smaller than the largest total
_MULTIPLIER_BITS = 20  # output lattice C / 2^20: far below the noise, and few entries need exact rounding


def second_moment_nuclear_sensitivity(row_norm: float, neighbors: Neighbors) -> float:
    """Largest nuclear-norm change of sum x x^* over rows of norm <= row_norm (wishart.md, Lemma 1)."""
    return rows_changed(neighbors) * row_norm**2


@dataclass(frozen=True, slots=True)
class WishartLattice:
    """Public numbers of one two-sided Wishart release.

    Attributes
    ----------
    event, neighbors, field : the event that will be executed, its neighboring relation, real or complex rows
    row_norm : float
        Bound on the L2 norm of one person's row.
    squared_bound : int
        Bound 4^b on the squared norm of an integer row; the quantizer checks it in integers.
    shift : int
        The output lattice is 2^shift times coarser than that of the data.
    multiplier : int
        Noise scale C in output lattice units, rounded up.
    """

    event: Pure
    neighbors: Neighbors
    field: Field
    row_norm: float
    squared_bound: int
    shift: int
    multiplier: int

    def __post_init__(self) -> None:
        largest = {"squared_bound": 4**_ROW_BITS, "shift": MAX_SHIFT, "multiplier": MAX_MULTIPLIER}
        settle_fields(self, "wishart_lattice", Pure, "row_norm", **largest)
        object.__setattr__(self, "field", parse_field(self.field, "wishart_lattice"))
        needed = minimal_scale(self.squared_bound, self.event.epsilon, self.neighbors, self.field)
        is_private = needed <= self.multiplier * 2**self.shift
        norm = ("row_norm", self.row_norm)
        check_lattice(self.unit, self.squared_bound, is_private, "wishart_lattice", self.event, norm)

    @property
    def unit(self) -> float:
        """Size of one output lattice unit in the squared units of the data."""
        return 2.0**self.shift * (self.row_norm * self.row_norm / max(self.squared_bound, 1))

    @property
    def scale(self) -> float:
        """The Wishart scale C in the squared units of the data."""
        return self.multiplier * self.unit

    def entry_deviation(self, n_features: int) -> float:
        """Standard deviation of an entry off the diagonal (complex: of its real part); on it, sqrt(2) times larger."""
        variance = 2 * (n_features + 1) if self.field is Field.REAL else n_features
        return self.scale * math.sqrt(variance)


def wishart_lattice(
    row_norm: float,
    event: Event,
    neighbors: Neighbors | str = Neighbors.REPLACE,
    *,
    field: Field | str = Field.REAL,
    n_max: int = DEFAULT_N_MAX,
) -> WishartLattice:
    """Plan a pure release of sum x x^*; reads nothing private."""
    owner = "wishart_lattice"
    bound = check_real(row_norm, "row_norm", owner, above=0)
    relation = parse_neighbors(neighbors, owner)
    if not isinstance(event, Pure) or event.bounded_range:
        raise InvalidParameter(owner, "event", "Pure(epsilon)", event)
    numbers = parse_field(field, owner)
    bits = lattice_bits(n_max, owner, most=_ROW_BITS, powers=2)
    # Small epsilons take a coarser lattice, so that the noise does not reach the end of int64.
    room = _SCALE_BITS - 1 - floor_log2(minimal_scale(1, event.epsilon, relation, numbers))
    if room < 0:
        raise InvalidParameter(owner, "event", "a pure event with epsilon above 1e-12", event)
    squared_bound = 4 ** min(bits, room // 2)
    scale = minimal_scale(squared_bound, event.epsilon, relation, numbers)
    shift = max(0, floor_log2(scale) + 1 - _MULTIPLIER_BITS)
    return WishartLattice(event, relation, numbers, bound, squared_bound, shift, math.ceil(scale / 2**shift))


def minimal_scale(squared_bound: int, epsilon: float, neighbors: Neighbors, field: Field) -> Fraction:
    """Smallest C that is epsilon-private: the density changes by at most |D|_* / 2C (real) or |D|_* / C (complex)."""
    nuclear = squared_bound * rows_changed(neighbors)
    return nuclear / Fraction(epsilon) / (2 if field is Field.REAL else 1)


def release_wishart(
    total: Integers | tuple[Integers, Integers], lattice: WishartLattice, noise: NoiseSource
) -> NDArray[np.float64] | NDArray[np.complex128]:
    """Release the integer second moment `total` in the squared units of the data.

    `total` is a symmetric matrix (field "real"; its upper triangle is read) or a pair of a symmetric real part and an
    antisymmetric imaginary part (field "complex").
    """
    check_lattice_kind(lattice, WishartLattice, "release_wishart")
    if lattice.field is Field.REAL:
        return _release_real(check_square_total(total, "release_wishart"), lattice, noise)
    return _release_complex(*check_hermitian_total(total, "release_wishart"), lattice, noise)


def _release_real(secret: Integers, lattice: WishartLattice, noise: NoiseSource) -> NDArray[np.float64]:
    d, stream = len(secret), noise.begin(lattice.event, lattice.neighbors)
    A, B = (Stack((1, part)) for part in _normals(2, d, d + 1, stream))
    rounded = round_bilinear(A, B, secret, sign=1, multiplier=lattice.multiplier, shift=lattice.shift)
    return rounded.astype(np.float64) * lattice.unit


def _release_complex(
    real: Integers, imaginary: Integers, lattice: WishartLattice, noise: NoiseSource
) -> NDArray[np.complex128]:
    # (1/2) {[a_i.b_j + a_j.b_i] + i [a_i.b'_j - a_j.b'_i]}, a = (Re, Im) of A, b = (Re, Im) and b' = (Im, -Re) of B.
    d, stream = len(real), noise.begin(lattice.event, lattice.neighbors)
    a_real, a_imaginary, b_real, b_imaginary = _normals(4, d, d, stream)
    A = Stack((1, a_real), (1, a_imaginary))
    B, turned = Stack((1, b_real), (1, b_imaginary)), Stack((1, b_imaginary), (-1, b_real))
    multiplier, shift = lattice.multiplier, lattice.shift
    R = round_bilinear(A, B, real, sign=1, multiplier=multiplier, halvings=1, shift=shift)
    Q = round_bilinear(A, turned, imaginary, sign=-1, multiplier=multiplier, halvings=1, shift=shift)
    return R * lattice.unit + 1j * (Q * lattice.unit)


def _normals(count: int, rows: int, columns: int, stream: Keystream) -> list[ExtensibleDeviates]:
    return [ExtensibleDeviates(normal_law(), rows, columns, stream) for _ in range(count)]
