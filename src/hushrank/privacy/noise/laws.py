"""Tables of the two half-line laws: normal, sqrt(2/pi) exp(-x^2/2), and exponential, exp(-x), on x >= 0.

The density f is cut into cells [j h, (j+1) h), h = 2^-cell_bits, j < n_cells, and a tail beyond `tail_start`.

- Part c_j = slots[j] 2^-table_bits / h <= f on cell j is served by one look-up: slots[j] of the 2^table_bits table
  entries name cell j, the remaining bits of the same word are sign and fraction.
- The residual f - c, one or two percent, is served by rejection: cell j is proposed with probability proportional to
  (f(jh) - c_j) h, the tail with its majorant's mass, and x = (j + u) h is accepted if
  gamma_j + U (1 - gamma_j) < exp(-t_j(u)), gamma_j = c_j / f(jh), exp(-t_j(u)) = f(x) / f(jh).

Proof that the sum of both parts is f: docs/privacy/exact_noise.md, Theorem 1. All constants below come from integer
intervals; the float64 copies serve the fast kernel, which leaves everything within 2^-44 of a boundary to `reference`.
"""

import functools
from abc import ABC, abstractmethod
from fractions import Fraction

import numpy as np

from hushrank.privacy.noise.intervals import Interval, exp_neg, root_two_over_pi

TABLE_BITS = 14
FRACTION_BITS = 63 - TABLE_BITS  # what a word has left for the fraction: one bit is the sign
RESIDUAL = 255  # table entry of the slots that belong to no cell


class Law(ABC):
    """A half-line law with its tables; deviates are integers in units of 2^-bits, bits = cell_bits + FRACTION_BITS."""

    def __init__(self, cell_bits: int, tail_start: int) -> None:
        self.cell_bits, self.tail_start = cell_bits, tail_start
        self.n_cells = tail_start << cell_bits
        self.bits = cell_bits + FRACTION_BITS
        self.slots = self._count_slots()
        self.residual_mass = Fraction((1 << TABLE_BITS) - sum(self.slots), 1 << TABLE_BITS)
        self.table = np.full(1 << TABLE_BITS, RESIDUAL, np.uint8)
        self.table[: sum(self.slots)] = np.repeat(np.arange(RESIDUAL, dtype=np.uint8), self.slots[:RESIDUAL])
        self.gamma = np.array([sum(self.gamma_bounds(j, 64)) / 2.0**65 for j in range(self.n_cells)])
        self.thresholds = self._thresholds()
        # First guess of the proposal from the top byte of a word: the last threshold not above it.
        leading = np.arange(256, dtype=np.uint64) << np.uint64(56)
        self.guide = np.searchsorted(self.thresholds, leading, side="right").astype(np.int64) - 1

    @property
    @abstractmethod
    def is_normal(self) -> bool:
        """True for the normal law, False for the exponential one."""

    @abstractmethod
    def density(self, j: int, precision: int) -> Interval:
        """Enclose 2^precision f(j h)."""

    @abstractmethod
    def tail_weight(self, precision: int) -> Interval:
        """Enclose 2^precision times the mass of the majorant of the tail."""

    @abstractmethod
    def exponent(self, j: int, u: Fraction) -> Fraction:
        """The t with f((j + u) h) = f(j h) exp(-t)."""

    def _count_slots(self) -> list[int]:
        # floor(2^table_bits h f((j+1)h)) from the lower bound of f: c_j <= f on the cell whatever the rounding.
        lows = [self.density(j + 1, 256)[0] for j in range(RESIDUAL)]
        slots = [(low << TABLE_BITS) >> (256 + self.cell_bits) for low in lows]
        return slots + [0] * (self.n_cells - RESIDUAL)

    def _thresholds(self) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
        floors = [self.threshold(j, 64) for j in range(self.n_cells + 1)]
        if any(low != high for low, high in floors):
            raise AssertionError("a 64-bit threshold is not determined by the enclosure")
        return np.array([low for low, _ in floors], np.uint64)

    @functools.lru_cache(maxsize=4)  # noqa: B019 - the two laws live as long as the process
    def _cumulative_weights(self, precision: int) -> list[Interval]:
        """Enclose 2^precision times the proposal masses before cell 0, 1, ..., the tail, and in all."""
        sums = [(0, 0)]
        for j in range(self.n_cells):
            low, high = self.density(j, precision)
            served = self.slots[j] << (precision - TABLE_BITS)
            sums.append(
                (
                    sums[-1][0] + (low >> self.cell_bits) - served,
                    sums[-1][1] + (high >> self.cell_bits) + 1 - served,
                )
            )
        low, high = self.tail_weight(precision)
        sums.append((sums[-1][0] + low, sums[-1][1] + high))
        return sums

    def threshold(self, j: int, precision: int) -> Interval:
        """Floors of a lower and an upper bound of 2^precision P(a residual proposal falls before cell j)."""
        sums = self._cumulative_weights(max(256, precision + 128))
        return (sums[j][0] << precision) // sums[-1][1], (sums[j][1] << precision) // sums[-1][0]

    def gamma_bounds(self, j: int, precision: int) -> Interval:
        """Enclose 2^precision gamma_j."""
        low, high = self.density(j, precision + 64)
        served = self.slots[j] << (self.cell_bits + 2 * precision + 64 - TABLE_BITS)
        return served // high, served // low + 1


class NormalLaw(Law):
    """The half normal; tail beyond 8 under the majorant f(8) exp(-8 (x - 8))."""

    is_normal = True

    def __init__(self) -> None:
        super().__init__(cell_bits=6, tail_start=8)

    def density(self, j: int, precision: int) -> Interval:
        root_low, root_high = _root(precision + 8)
        low, high = exp_neg(Fraction(j * j, 2 << 2 * self.cell_bits), precision + 8)
        return root_low * low >> (precision + 16), (root_high * high >> (precision + 16)) + 1

    def tail_weight(self, precision: int) -> Interval:
        low, high = self.density(self.n_cells, precision)
        return low // self.tail_start, high // self.tail_start + 1

    def exponent(self, j: int, u: Fraction) -> Fraction:
        return (2 * j * u + u * u) / (2 << 2 * self.cell_bits)


class ExponentialLaw(Law):
    """The exponential; its tail beyond 32 is an exponential again. With a sign it is the Laplace law."""

    is_normal = False

    def __init__(self) -> None:
        super().__init__(cell_bits=5, tail_start=32)

    def density(self, j: int, precision: int) -> Interval:
        return exp_neg(Fraction(j, 1 << self.cell_bits), precision)

    def tail_weight(self, precision: int) -> Interval:
        return self.density(self.n_cells, precision)

    def exponent(self, j: int, u: Fraction) -> Fraction:
        return u / (1 << self.cell_bits)


@functools.lru_cache(maxsize=8)
def _root(precision: int) -> Interval:
    return root_two_over_pi(precision)


@functools.cache
def normal_law() -> NormalLaw:
    """The tables of the normal law, built on first use."""
    return NormalLaw()


@functools.cache
def exponential_law() -> ExponentialLaw:
    """The tables of the exponential law, built on first use."""
    return ExponentialLaw()
