"""Release of linear sketches of one matrix that is summed up in integers: all of its parts at once.

Statistic  integer arrays R_p(A), linear in a matrix A of lattice units; a change E of A, |E| <= `units`, moves part p
           by a norm whose square is `squared_gain` times the law of its `shifts`.
Release    R_p(A) + round(2^(exponent + coarser_p) Z), Z independent standard normals, or Laplace deviates where every
           part has a bounded sum of magnitudes (pure).
Privacy    docs/privacy/sketched.md; noise that is added several times to one sketch: `SketchLattice.total`.
"""

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushrank.exceptions import InvalidParameter
from hushrank.parameters import check_integer, check_real
from hushrank.privacy.calibration import event_for
from hushrank.privacy.events import Event, Gaussian, Mixture, Pure, Repeated
from hushrank.privacy.guarantee import Budget, Neighbors, parse_neighbors
from hushrank.privacy.mechanisms.scales import largest_bound, rows_changed
from hushrank.privacy.noise.deviates import MAX_EXPONENT, Integers, add_laplace, add_normals
from hushrank.privacy.noise.source import NoiseSource
from hushrank.privacy.rational import sqrt_at_least
from hushrank.privacy.sketched import Shift, calibrate_sketch, repeated_noise, sketched_event

FIXED = (Shift("fixed", 1.0),)
_OWNER = "sketch_lattice"


@dataclass(frozen=True, slots=True)
class SketchPart:
    """How far one array of a sketch moves, in public numbers.

    Attributes
    ----------
    squared_gain : int
        Squared norm by which a change of one lattice unit moves it, in expectation if that is random.
    l1_gain : int or None
        Largest sum of magnitudes of that; None where there is no bound.
    coarser : int
        Its noise is 2^coarser times that of the first part.
    shifts : tuple of Shift
        Law of the squared norm, relative to the gain.
    """

    squared_gain: int
    l1_gain: int | None = None
    coarser: int = 0
    shifts: tuple[Shift, ...] = FIXED


@dataclass(frozen=True, slots=True)
class SketchLattice:
    """Public numbers of a release of sketches: what the state and the mechanism must agree on.

    Attributes
    ----------
    event : Event
        What adding noise once costs.
    neighbors : Neighbors
    bound : float
        Norm of what one unit of privacy changes, in the units of the data.
    units : int
        The same in lattice units.
    exponent : int
        Of the noise of the first part.
    parts : tuple of SketchPart
    noise_multiplier : float
        Of a random sketch: standard deviation of the noise for a change of norm 1; 0 where nothing is random.
    epsilon : float
        Where the profile of a random sketch is tabulated exactly.
    """

    event: Event
    neighbors: Neighbors
    bound: float
    units: int
    exponent: int
    parts: tuple[SketchPart, ...]
    noise_multiplier: float = 0.0
    epsilon: float = 0.0

    def __post_init__(self) -> None:
        settled = {  # NumPy's integers would wrap around in the check
            "neighbors": parse_neighbors(self.neighbors, _OWNER),
            "bound": check_real(self.bound, "bound", _OWNER, above=0),
            "units": check_integer(self.units, "units", _OWNER, minimum=0),
            "exponent": check_integer(self.exponent, "exponent", _OWNER, minimum=0),
        }
        for name, value in settled.items():
            object.__setattr__(self, name, value)
        if self.units < 1 or self.exponent > MAX_EXPONENT - max(part.coarser for part in self.parts):
            requirement = "an event whose noise leaves at least one lattice unit to a change, and fits int64"
            raise InvalidParameter(_OWNER, "event", requirement, self.event)
        if not self._is_private():
            raise InvalidParameter(_OWNER, "event", "one that the noise of the lattice is large enough for", self.event)
        units = [self.unit(number) for number in range(len(self.parts))]
        if min(units) < sys.float_info.min or max(units) > sys.float_info.max / 2.0**64:
            raise InvalidParameter(_OWNER, "bound", "a bound whose lattice fits float64", self.bound)

    def _is_private(self) -> bool:
        change, noise = rows_changed(self.neighbors) * self.units, 2**self.exponent
        if isinstance(self.event, Gaussian):
            cost = change**2 * _squared_gain(self.parts) * Fraction(self.event.noise_multiplier) ** 2
            return _are_fixed(self.parts) and cost <= noise**2
        if isinstance(self.event, Pure):
            l1_gain = None if self.event.bounded_range else _l1_gain(self.parts)
            return l1_gain is not None and change * l1_gain <= Fraction(self.event.epsilon) * noise
        expected = sketched_event(_shifts(self.parts), self.noise_multiplier, self.epsilon)
        return self.event == expected and change * Fraction(self.noise_multiplier) <= noise

    @property
    def is_random(self) -> bool:
        """Whether the guarantee rests on the randomness of the sketch."""
        return isinstance(self.event, Mixture)

    def unit(self, number: int) -> float:
        """What one integer of a part stands for, in the units of the data, where columns of a sketch have norm 1."""
        return self.bound / self.units / math.sqrt(self.parts[number].squared_gain)

    def deviation(self, number: int) -> float:
        """Standard deviation of the noise of a part, in the same units."""
        of_law = math.sqrt(2.0) if isinstance(self.event, Pure) else 1.0
        return of_law * 2.0 ** (self.exponent + self.parts[number].coarser) * self.unit(number)

    def total(self, count: int) -> Event:
        """What adding noise `count` times to one sketch costs, all of it seen.

        A random sketch is the same each time, so its costs do not compose as if they were independent: given the
        sketch, all noise together is one Gaussian release (docs/privacy/sketched.md, Theorem 2).
        """
        if not self.is_random:
            return self.event if count == 1 else Repeated(self.event, count)
        if count == 1:
            return self.event
        together = repeated_noise([self.noise_multiplier] * count)
        return sketched_event(_shifts(self.parts), together, self.epsilon)


def sketch_lattice(
    bound: float,
    budget: Budget,
    parts: Sequence[SketchPart],
    *,
    most_units: int,
    most_bits: int = MAX_EXPONENT,
    looks: int = 1,
) -> SketchLattice:
    """Plan the release of a sketch; reads nothing private.

    Parameters
    ----------
    bound : float > 0
        Norm of what one unit of privacy changes: entrywise L1, or Frobenius, as the shifts of the parts take it.
    budget : Budget
        For `looks` additions of noise together; delta = 0 needs parts of bounded magnitude.
    parts : sequence of SketchPart
    most_units : int
        Lattice units of the bound, at most.
    most_bits : int
        Of a standard deviation of the noise, so that it fits the integers of the state.
    looks : int
        How many times noise is added for the budget.
    """
    kept, change = tuple(parts), rows_changed(budget.neighbors)
    finest = min(most_bits, MAX_EXPONENT) - max(part.coarser for part in kept)
    event, cost, multiplier = _cost(budget, kept, looks)

    def units_at(exponent: int) -> int:
        return math.floor(2**exponent / (cost * change)) if exponent <= finest else most_units + 1

    exponent, units = largest_bound(units_at, most_units)
    where = budget.epsilon if multiplier else 0.0
    return SketchLattice(event, budget.neighbors, float(bound), units, exponent, kept, multiplier, where)


def _cost(budget: Budget, parts: tuple[SketchPart, ...], looks: int) -> tuple[Event, Fraction, float]:
    """The event of one addition, the noise of the first part for a change of one unit, and the random multiplier."""
    if budget.is_pure:
        l1_gain = _l1_gain(parts)
        if l1_gain is None:
            requirement = "> 0, because the magnitudes of what one unit of privacy changes have no bound"
            raise InvalidParameter(_OWNER, "delta", requirement, budget.delta)
        pure = Pure(budget.epsilon / looks)
        return pure, l1_gain / Fraction(pure.epsilon), 0.0
    if _are_fixed(parts):
        whole = event_for(budget)
        assert isinstance(whole, Gaussian)
        one = whole if looks == 1 else Gaussian(sqrt_at_least(looks * Fraction(whole.noise_multiplier) ** 2))
        noise = Fraction(one.noise_multiplier) ** 2 * _squared_gain(parts)
        return one, Fraction(sqrt_at_least(noise)), 0.0
    multiplier = calibrate_sketch(budget, _shifts(parts))
    if looks > 1:
        multiplier = sqrt_at_least(looks * Fraction(multiplier) ** 2)
    return sketched_event(_shifts(parts), multiplier, budget.epsilon), Fraction(multiplier), multiplier


def _are_fixed(parts: tuple[SketchPart, ...]) -> bool:
    return all(shift.law == "fixed" for part in parts for shift in part.shifts)


def _shifts(parts: tuple[SketchPart, ...]) -> tuple[Shift, ...]:
    """Laws of all parts, in units of the noise of the first one."""
    return tuple(
        Shift(shift.law, shift.weight * float(Fraction(part.squared_gain, 4**part.coarser)), shift.sizes)
        for part in parts
        for shift in part.shifts
    )


def _squared_gain(parts: tuple[SketchPart, ...]) -> Fraction:
    """Squared shift by one unit, of parts that are fixed."""
    weights = (sum(Fraction(shift.weight) for shift in part.shifts) for part in parts)
    gains = (Fraction(part.squared_gain, 4**part.coarser) for part in parts)
    return sum((weight * gain for weight, gain in zip(weights, gains, strict=True)), Fraction(0))


def _l1_gain(parts: tuple[SketchPart, ...]) -> Fraction | None:
    gains = [(part.l1_gain, part.coarser) for part in parts]
    if any(gain is None for gain, _ in gains) or not _are_fixed(parts):
        return None
    return sum((Fraction(gain or 0, 2**coarser) for gain, coarser in gains), Fraction(0))


def release_sketch(totals: Sequence[NDArray[Any]], lattice: SketchLattice, noise: NoiseSource) -> list[NDArray[Any]]:
    """Release all parts (integers of any width) with the noise of `lattice`, in the units of the data."""
    secrets = _checked(totals, lattice, "release_sketch", (np.int32, np.int64))
    stream = noise.begin(lattice.event, lattice.neighbors)
    released = []
    for number, secret in enumerate(secrets):
        noisy = np.zeros(secret.shape, np.int64)
        _add_noise(noisy, lattice, number, stream)
        noisy += secret  # integers: the same as rounding secret + 2^k Z once
        # Sums of the state are known modulo 2^b, so all that is released is: a function of the unbounded release.
        released.append(noisy.astype(secret.dtype) * lattice.unit(number))
    return released


def blur_sketch(totals: Sequence[Integers], lattice: SketchLattice, noise: NoiseSource) -> None:
    """Add the noise of `lattice` to all parts in place, which then are themselves a release of what they hold."""
    secrets = _checked(totals, lattice, "blur_sketch", (np.int64,))
    stream = noise.begin(lattice.event, lattice.neighbors)
    for number, secret in enumerate(secrets):
        _add_noise(secret, lattice, number, stream)


def _add_noise(total: Integers, lattice: SketchLattice, number: int, stream: Any) -> None:
    add = add_laplace if isinstance(lattice.event, Pure) else add_normals
    add(total, lattice.exponent + lattice.parts[number].coarser, stream)


def _checked(
    totals: Sequence[NDArray[Any]], lattice: SketchLattice, owner: str, kinds: tuple[Any, ...]
) -> Sequence[NDArray[Any]]:
    """The arrays, if there is one of an integer type for every part; before anything is logged or drawn."""
    found = [getattr(total, "dtype", None) for total in totals]
    if len(totals) != len(lattice.parts) or any(kind not in kinds for kind in found):
        names = " or ".join(np.dtype(kind).name for kind in kinds)
        raise InvalidParameter(owner, "totals", f"{len(lattice.parts)} arrays of {names}", f"{found}")
    return totals
