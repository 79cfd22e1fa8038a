"""Exact draws of any complex orbit law, one row of eigenvalues at a time.

Rows       x^(m), the nonzero eigenvalues of the leading m x m minor of H. From row d, which is `levels`, down to row 1
           they form a Markov chain. With y = x^(m+1), q = min(k, m), a = g_{m+1} and B_l(x) = exp_x[g_l, ..., g_m], the
           density of x = x^(m) is proportional to det[exp(-a x_j) B_l(x_j)]_{j,l<=q} on y_1 >= x_1 >= y_2 >= x_2 >= ...
           (what the formula of Harish-Chandra, Itzykson and Zuber leaves of all rows below).
One entry  Row j of the determinant depends on x_j only and the domain is a product of intervals: integrating x_j out
           integrates row j, by d/dx exp(-a x) exp_x[g_l, ..., g_{m+1}] = exp(-a x) B_l(x). With the rows before j drawn
           and those after it integrated, the density of x_j is c^T exp(-a x) B(x), where c is column j of the inverse
           of that matrix with row j integrated too. So its distribution function F is in closed form; it is inverted.
Ties       Of a level tied mu-fold, mu - 1 recur in the next row; their rows of the determinant become derivatives.
Exactness  Tilts and levels enter as they are, ties included. Ball arithmetic certifies |F(x) - u| < 2^-60 min(u, 1 - u)
           for every entry x and its 128-bit uniform u; where balls are too wide, the same u serves at 1.5 times the
           precision. How often depends on the tilts: for the data holder only.
"""

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from hushrank.exceptions import InvalidParameter, SamplingFailed
from hushrank.orbit.differences import (
    DifferenceSeries,
    PowerSeries,
    flint_is_available,
    series_terms,
    spread_of,
    working_bits,
)
from hushrank.orbit.law import Draw, OrbitLaw
from hushrank.orbit.pattern import Differences, factor_from_pattern
from hushrank.privacy.noise.keystream import Keystream

if TYPE_CHECKING:
    from flint import arb

_CERTIFIED_BITS = 60
_UNIFORM_BITS = 128
_MOST_SPREAD = 10_000  # the series have more terms than that; such concentrated laws have better samplers
_MOST_STEPS = 200  # of one inversion; bisection alone would need about 130


class _TooFewBits(Exception):
    """The balls are too wide at this precision."""


def draw(law: OrbitLaw, stream: Keystream, *, limit: int | None = 20_000) -> Draw:
    """Draw from a complex law, of any levels.

    Parameters
    ----------
    law : OrbitLaw
        Complex.
    stream : Keystream
        Source of random words.
    limit : int or None, default 20000
        Most bits of working precision; None sets none.

    Returns
    -------
    Draw
        `tries` counts the working precisions that were used.

    Raises
    ------
    SamplingFailed
        If `limit` bits do not suffice, if the tilts spread too far, or without python-flint.

    Examples
    --------
    >>> law = OrbitLaw([3.0, 1.0, 0.0], [1.0, 0.5], is_complex=True)
    >>> factor = draw(law, Keystream()).factor
    >>> np.linalg.eigvalsh(factor.conj().T @ factor).round(12)
    array([0.5, 1. ])
    """
    if not law.is_complex:
        raise InvalidParameter("rows.draw", "law", "complex: real rows have no determinant formula", law)
    if not flint_is_available():
        raise SamplingFailed("rows", "python-flint is not installed: pip install 'hushrank[orbit]', or use coupling")
    balls, tries, bits = draw_rows(law, stream, bits=first_bits(law), limit=limit)
    with working_bits(bits):
        differences: list[Differences | None] = [None]
        differences += [_row_differences(y, x) for x, y in pairwise(balls)]
        rows = [np.array([float(x) for x in row]) for row in balls]
    return Draw(factor_from_pattern(rows, stream, differences), tries)


def first_bits(law: OrbitLaw) -> int:
    """Precision to begin with: enough for nearly all draws unless levels are close to each other but not tied."""
    return 112 + 10 * law.rank


def draw_rows(law: OrbitLaw, stream: Keystream, *, bits: int, limit: int | None) -> "tuple[list[list[arb]], int, int]":
    """Rows 0..d as exact numbers, the number of precisions that were used, from `bits` on, and the last of them."""
    from flint import arb

    spread = spread_of(law)
    rows: list[list[arb]] = [[] for _ in range(law.dimension)] + [[arb(level) for level in law.levels]]
    m, tries = law.dimension - 1, 1
    words = stream.words(2 * law.rank * law.dimension).reshape(law.dimension, law.rank, 2)
    while m > 0:
        terms = _affordable_terms(spread, law.dimension, bits, limit)
        with working_bits(bits, terms):
            try:
                chain = _Chain(law, m + 1, rows[m + 1])
                while m > 0:
                    rows[m] = chain.next_row(m, rows[m + 1], [_uniform(*pair) for pair in words[m].tolist()])
                    m -= 1
            except _TooFewBits:  # again from this row on, with the same words
                bits, tries = bits + bits // 2, tries + 1
    return rows, tries, bits


def _affordable_terms(spread: float, dimension: int, bits: int, limit: int | None) -> int:
    """Length of the series, or SamplingFailed if it or the precision goes too far."""
    if limit is not None and bits > limit:
        raise SamplingFailed("rows", f"it needs {bits} bits of precision or more, the limit is {limit}: use coupling")
    if spread > _MOST_SPREAD:
        reason = (
            f"levels_1 (tilts_1 - tilts_d) = {spread:.3g} is more than {_MOST_SPREAD}: use ball, vertex or coupling"
        )
        raise SamplingFailed("rows", reason)
    return series_terms(spread, dimension, bits)


def _uniform(high: int, low: int) -> "arb":
    """Odd multiple of 2^-129, inside (0, 1)."""
    from flint import arb

    return arb(2 * (high << 64 | low) + 1) * arb(2) ** -(_UNIFORM_BITS + 1)


class _Chain:
    """The steps from row to row, at the precision that is set when it is made.

    Parameters
    ----------
    law : OrbitLaw
    m : int
        Index of the last row drawn.
    row : list of balls
        That row.
    """

    def __init__(self, law: OrbitLaw, m: int, row: "list[arb]") -> None:
        from flint import arb

        self._rank = law.rank
        self._tilts = [arb(tilt) - arb(law.tilts[-1]) for tilt in law.tilts]
        self._series = DifferenceSeries(self._tilts, law.rank, arb(law.levels[0]))
        self._functions = self._series.functions(m)  # of the last row
        self._values = [self._functions.at(x) for x in row]

    def next_row(self, m: int, y: "list[arb]", uniforms: "list[arb]") -> "list[arb]":
        """Draw row m, given that row m + 1 was y."""
        from flint import arb

        size, rate = min(self._rank, m), self._tilts[m]
        ends = [*y, arb(0)][: size + 1]
        functions, above = self._series.functions(m), self._functions
        primitives = [[(-rate * x).exp() * v for v in row[:size]] for x, row in zip(y, self._values, strict=True)]
        primitives.append([arb(0)] * size)  # at x = 0
        determinant, forced = [], 0
        for j in range(size):
            forced = forced + 1 if ends[j] == ends[j + 1] else 0
            if forced:  # the limit of short intervals, up to a factor
                determinant.append(functions.derivatives_at(ends[j], forced - 1))
            else:
                determinant.append([upper - lower for upper, lower in zip(*primitives[j : j + 2], strict=True)])
        x, values = ends[:size], []
        for j in range(size):
            if ends[j] != ends[j + 1]:
                weights = _inverse_column(determinant, j)
                both = PowerSeries(above.combined(weights) + functions.combined(weights), 2)
                start = sum((w * value for w, value in zip(weights, primitives[j + 1], strict=True)), arb(0))
                x[j] = _Curve(both, rate, start).invert(uniforms[j], ends[j + 1], ends[j])
                determinant[j] = functions.at(x[j])
                values.append(determinant[j])
            else:
                values.append(functions.at(x[j]))
        self._functions, self._values = functions, values
        return x


class _Curve:
    """Distribution function of one entry, given those before it.

    Parameters
    ----------
    series : PowerSeries
        A primitive of the density, and the density, both times exp(rate x).
    rate : ball
    start : ball
        The primitive at the lower end.
    """

    def __init__(self, series: PowerSeries, rate: "arb", start: "arb") -> None:
        self._series, self._rate, self._start = series, rate, start

    def invert(self, u: "arb", lower: "arb", upper: "arb") -> "arb":
        """The x in [lower, upper] with F(x) = u up to 2^-60 min(u, 1 - u).

        The density is log-concave (Prekopa), so F and 1 - F are too and Newton's method for log F, or log(1 - F), is
        stable; the bracket only guards against rounding.
        """
        tolerance = (u if u < 0.5 else 1 - u) * 2.0**-_CERTIFIED_BITS
        x = ((lower + upper) / 2).mid()
        for _ in range(_MOST_STEPS):
            mass, density = self._evaluate(x)
            error = mass - u
            if not (error.rad() < tolerance / 2 and density > 0):  # so written because both may be nan
                raise _TooFewBits
            if error.abs_upper() < tolerance:
                return x
            lower, upper = (lower, x) if error.mid() > 0 else (x, upper)
            x = _newton_point(x, u, u + error.mid(), density.mid())
            if not lower < x < upper:
                x = ((lower + upper) / 2).mid()
        raise _TooFewBits

    def _evaluate(self, x: "arb") -> "tuple[arb, arb]":
        """F and its density at x."""
        factor = (-self._rate * x).exp()
        primitive, density = self._series.at(x)
        return factor * primitive - self._start, factor * density


def _newton_point(x: "arb", u: "arb", mass: "arb", density: "arb") -> "arb":
    """Next point of Newton's method for log F or log(1 - F), given F and its density at x."""
    if mass < 0.5:
        return (x + (u / mass).log() * mass / density).mid()
    return (x - ((1 - u) / (1 - mass)).log() * (1 - mass) / density).mid()


def _inverse_column(rows: "list[list[arb]]", j: int) -> "list[arb]":
    """Column j of the inverse of a matrix; nan if it may be singular."""
    from flint import arb_mat

    unit = arb_mat(len(rows), 1, [int(i == j) for i in range(len(rows))])
    return list(arb_mat(rows).solve(unit, nonstop=True).entries())


def _row_differences(y: "list[arb]", x: "list[arb]") -> Differences:
    """y_i - x_j, with x padded by zeros, and y_i - y_j, each rounded once."""
    from flint import arb

    padded = [*x, *[arb(0)] * (len(y) - len(x))]
    return (
        np.array([[float(upper - lower) for lower in padded] for upper in y]),
        np.array([[float(one - other) for other in y] for one in y]),
    )
