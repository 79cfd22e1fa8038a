"""Privacy of a random linear sketch plus Gaussian noise: profile, event and least noise.

Statistic  R(A) for a linear sketch R that is drawn without the data and may be published.
Release    R(A) + noise_multiplier times standard normals. A change E moves it by |R(E)|, a random number, so that
           delta(epsilon) = E d(epsilon, |R(E)|/noise_multiplier) with the Gaussian curve d.
Privacy    docs/privacy/sketched.md. Changes are fixed before R is drawn; where all parts of the shift are fixed,
           they need not be.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import overload

import numpy as np
import numpy.typing as npt

from hushrank.exceptions import InvalidParameter
from hushrank.parameters import check_integer, check_real
from hushrank.privacy import accountant, gdp, shift_bounds
from hushrank.privacy.calibration import calibrate
from hushrank.privacy.events import Event, Gaussian, Mixture, NonPrivate
from hushrank.privacy.gdp import FloatArray
from hushrank.privacy.guarantee import Budget
from hushrank.privacy.rational import sqrt_at_least

LAWS = {"fixed": 0, "chi_square": 1, "signs": 1, "product": 2}
"""Laws of a part of the squared shift, and how many sizes each has."""

MOST_NOISE = 2.0**20
"""More noise than this, relative to the root of the mean squared shift, earns no smaller delta."""

LEAST_NOISE = 2.0**-10
"""Less noise than this, relative to the root of the mean squared shift, is counted as none: delta = 1."""

_LARGEST_EPSILON = 1e7  # larger ones are answered at this one, as floats do not resolve the curve there
_TINY = 1e-300


@dataclass(frozen=True, slots=True)
class Shift:
    """One part of the squared shift |R(E)|^2 of a release, for every change E of norm 1.

    Parts of one release are independent: they come from sketches that are drawn independently.

    Parameters
    ----------
    law : {"fixed", "chi_square", "signs", "product"}
        The part is weight * X. fixed: X <= 1. chi_square: X = sum_i s_i^2 chi^2_t/t with independent chi-squares and
        the singular values s of E, as for a dense Gaussian sketch of size t. signs: X >= 0 is any variable with
        E exp(l X) <= (1 - 2 l/s)^(-s/2) for 0 <= l < s/2, as for s random signs a column. product: both sides of E
        are sketched by independent Gaussian sketches of sizes v and w; chi^2_v chi^2_w/(v w) if E has rank one.
    weight : float > 0
    sizes : tuple of int >= 1
        (), (t,), (s,) or (v, w).
    """

    law: str
    weight: float
    sizes: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.law, str) or self.law not in LAWS:
            raise InvalidParameter("Shift", "law", f"one of {', '.join(map(repr, LAWS))}", self.law)
        object.__setattr__(self, "weight", check_real(self.weight, "weight", "Shift", above=0))
        if not isinstance(self.sizes, tuple) or len(self.sizes) != LAWS[self.law]:
            raise InvalidParameter("Shift", "sizes", f"a tuple of {LAWS[self.law]} integers", self.sizes)
        sizes = tuple(check_integer(size, "sizes", "Shift", minimum=1) for size in self.sizes)
        object.__setattr__(self, "sizes", sizes)


Shifts = Iterable[Shift]
_Parts = tuple[Shift, ...]


@overload
def sketched_delta(shifts: Shifts, noise_multiplier: float, epsilon: float) -> float: ...
@overload
def sketched_delta(shifts: Shifts, noise_multiplier: float, epsilon: FloatArray) -> FloatArray: ...
def sketched_delta(shifts: Shifts, noise_multiplier: float, epsilon: npt.ArrayLike) -> float | FloatArray:
    """A delta that the release meets at epsilon, in both directions, for every change of norm at most 1.

    Parameters
    ----------
    shifts : iterable of Shift
    noise_multiplier : float > 0
        Standard deviation of the noise, in units in which a change has norm at most 1.
    epsilon : float or ndarray of shape (n,)
        Any finite numbers.

    Examples
    --------
    >>> sketched_delta([Shift("fixed", 1.0)], 5.0, 1.0)
    1.75...e-08
    >>> sketched_delta([Shift("chi_square", 1.0, (32,))], 5.0, 1.0)
    3...e-07
    """
    parts = _check_parts(shifts, "sketched_delta")
    noise = check_real(noise_multiplier, "noise_multiplier", "sketched_delta", above=0)
    eps = np.asarray(epsilon, dtype=np.float64)
    if eps.ndim > 1 or not np.all(np.isfinite(eps)):
        raise InvalidParameter("sketched_delta", "epsilon", "a finite float or a vector of them", epsilon)
    size = np.abs(np.atleast_1d(eps))
    upper = _profile(parts, noise, np.minimum(size, _LARGEST_EPSILON)) * (1.0 + shift_bounds.ROOM)
    upper = np.clip(upper, _TINY, 1.0)
    # Exchanging the neighbors: delta(-e) = 1 - exp(-e) + exp(-e) delta(e).
    deltas = np.where(np.atleast_1d(eps) >= 0.0, upper, -np.expm1(-size) + np.exp(-size) * upper)
    return deltas if eps.ndim else float(deltas[0])


def sketched_event(shifts: Shifts, noise_multiplier: float, epsilon: float) -> Event:
    """The event of the release, for which the accountant finds at most `sketched_delta` at `epsilon`.

    Gaussian if all parts are fixed, else a Mixture, tabulated at `epsilon` and at points that the arguments determine.
    Releases through the same sketch must not be composed of such events: see `repeated_noise`.
    """
    parts = _check_parts(shifts, "sketched_event")
    noise = check_real(noise_multiplier, "noise_multiplier", "sketched_event", above=0)
    asked = check_real(epsilon, "epsilon", "sketched_event", minimum=0)
    if _all_fixed(parts):
        return Gaussian(_noise_at_most(sum(Fraction(part.weight) for part in parts) / Fraction(noise) ** 2))
    if noise < LEAST_NOISE * math.sqrt(_mean(parts)):
        return NonPrivate()
    return _table(parts, _counted_noise(parts, noise), asked)


@lru_cache(maxsize=64)
def _table(parts: _Parts, noise: float, asked: float) -> Mixture:
    """Densely around the mean shift, then sparsely to where the largest shifts lead."""
    mean = _mean(parts) / noise / noise
    largest = sum(part.weight * math.prod(shift_bounds.reach(size)[1] for size in part.sizes) for part in parts)
    near = mean / 2.0 + 12.0 * math.sqrt(mean)
    far = max(near, largest / noise / noise / 2.0 + 14.0 * math.sqrt(largest) / noise)
    points = np.unique(np.concatenate([[0.0, asked], near * np.arange(1, 131) / 130.0, np.geomspace(near, far, 61)]))
    # A profile never increases: what a smaller epsilon meets, a larger one does.
    return Mixture(tuple(points), tuple(np.minimum.accumulate(sketched_delta(parts, noise, points))))


def repeated_noise(noise_multipliers: Iterable[float]) -> float:
    """Noise multiplier of one release that costs as much as several through the SAME sketch, with fresh noise each.

    Given the sketch they are Gaussian releases, whose 1/x^2 add up. Composing their events would count the sketch as
    if it were drawn anew each time, which is less. Rounded down.

    Examples
    --------
    >>> repeated_noise([10.0] * 4)
    5.0
    """
    noises = [check_real(noise, "noise_multipliers", "repeated_noise", above=0) for noise in noise_multipliers]
    if not noises:
        raise InvalidParameter("repeated_noise", "noise_multipliers", "not empty", noises)
    return _noise_at_most(sum((1 / Fraction(noise) ** 2 for noise in noises), Fraction(0)))


def calibrate_sketch(budget: Budget, shifts: Shifts) -> float:
    """Smallest noise multiplier, to nine digits and rounded up, whose `sketched_event` meets the budget.

    Examples
    --------
    >>> calibrate_sketch(Budget(1.0, 1e-6), [Shift("chi_square", 1.0, (32,)), Shift("chi_square", 1.0, (64,))])
    6.249...
    """
    return _calibrated(budget.epsilon, budget.delta, _check_parts(shifts, "calibrate_sketch"))


@lru_cache(maxsize=256)
def _calibrated(epsilon: float, delta: float, parts: _Parts) -> float:
    """Kept, because plan, release and file ask for the same one."""
    budget, scale = Budget(epsilon, delta), math.sqrt(_mean(parts))
    if budget.is_pure:
        requirement = "> 0, because only pure releases meet delta = 0"
        raise InvalidParameter("calibrate_sketch", "delta", requirement, delta)
    noise = calibrate(budget).noise_multiplier * scale
    if not _all_fixed(parts):
        target = gdp.log_target(delta, margins=2)

        def by_profile(x: float) -> float:
            return math.log(sketched_delta(parts, x, epsilon)) - target

        def by_event(x: float) -> float:
            return math.log(accountant.delta(sketched_event(parts, x, epsilon), epsilon)) - target

        while by_profile(noise) > 0.0:
            if noise > MOST_NOISE * scale:
                requirement = "so large that some amount of noise meets the budget"
                raise InvalidParameter("calibrate_sketch", "epsilon", requirement, epsilon)
            noise *= 2.0
        noise = _smallest(by_profile, noise)
        if by_event(noise) < -1e-8:  # a profile is convex in e^epsilon: other points of the table lower this one
            noise = _smallest(by_event, noise)
    step = 2.0**-50
    while not _is_met(budget, sketched_event(parts, noise, epsilon)):
        noise, step = noise * (1.0 + step), 2.0 * step
    return noise


def _smallest(excess: Callable[[float], float], passing: float) -> float:
    """The smallest noise that passes, below one that does."""
    failing = passing / 2.0
    while excess(failing) <= 0.0:
        failing, passing = failing / 2.0, failing
    return gdp.crossing(excess, failing, passing)


def _is_met(budget: Budget, event: Event) -> bool:
    """Whether the accountant confirms the budget, both ways of asking."""
    if accountant.epsilon(event, budget.delta) > budget.epsilon:
        return False
    return accountant.delta(event, budget.epsilon) <= budget.delta


def _profile(parts: _Parts, noise: float, eps: FloatArray) -> FloatArray:
    """The bound at epsilons >= 0."""
    mean = _mean(parts)
    if _all_fixed(parts):
        return gdp.gaussian_delta(eps, math.sqrt(mean) / noise)
    if noise < LEAST_NOISE * math.sqrt(mean):
        return np.ones(eps.size)
    variance = _counted_noise(parts, noise) ** 2
    if any(part.law == "signs" for part in parts):
        weights = np.array([part.weight / variance for part in parts])
        sizes = np.array([float(part.sizes[0]) if part.sizes else math.inf for part in parts])
        by_line = shift_bounds.line_bound(mean / variance, eps)
        return np.minimum(by_line, shift_bounds.exponential_bound(weights, sizes, eps))
    law = _law_of(parts).scaled(1.0 / variance)
    return np.array([shift_bounds.convex_bound(law, mean / variance, e) for e in eps.tolist()])


@lru_cache(maxsize=64)
def _law_of(parts: _Parts) -> shift_bounds.ShiftLaw:
    """Law of the squared shift by a change of rank one, which is the largest in convex order."""
    total = shift_bounds.fixed_law(sum(part.weight for part in parts if part.law == "fixed"))
    for part in parts:
        if part.law != "fixed":
            law = shift_bounds.chi_square_law(part.sizes[0])
            for size in part.sizes[1:]:
                law = shift_bounds.combine(law, shift_bounds.chi_square_law(size), np.multiply)
            total = shift_bounds.combine(total, law.scaled(part.weight), np.add)
    return total


def _check_parts(shifts: Shifts, owner: str) -> _Parts:
    parts = tuple(shifts) if isinstance(shifts, Iterable) else ()
    if not parts or not all(isinstance(part, Shift) for part in parts):
        raise InvalidParameter(owner, "shifts", "one Shift or more", shifts)
    if {"signs", "product"} <= {part.law for part in parts}:
        requirement = "without 'product' beside 'signs': a product has no exponential moments"
        raise InvalidParameter(owner, "shifts", requirement, parts)
    return parts


def _all_fixed(parts: _Parts) -> bool:
    return all(part.law == "fixed" for part in parts)


def _mean(parts: _Parts) -> float:
    """Mean of the squared shift, rounding aside."""
    return math.fsum(part.weight for part in parts)


def _counted_noise(parts: _Parts, noise: float) -> float:
    return min(noise, MOST_NOISE * math.sqrt(_mean(parts)))


def _noise_at_most(squared_mu: Fraction) -> float:
    """Largest float whose exact square is not above 1/squared_mu."""
    noise = sqrt_at_least(1 / squared_mu)
    return noise if Fraction(noise) ** 2 * squared_mu == 1 else math.nextafter(noise, 0.0)
