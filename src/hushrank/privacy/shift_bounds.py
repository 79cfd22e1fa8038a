"""Upper bounds of the mean of the Gaussian curve at a random squared shift.

Curve      d(epsilon, sqrt(x)): delta of a Gaussian release whose statistic moves by sqrt(x) standard deviations.
Bounds     E d(epsilon, sqrt(X)) by a tangent line, by an exponential that touches the curve, by a convex function that
           is the curve below its inflection and a tangent above.
Laws       X as a law on a grid that is larger in convex order: cells and points give their mass to their two neighbors
           such that means are kept, and what is cut off above is paid at the steepest slope.
Privacy    docs/privacy/sketched.md, sections 2 (curve), 3 (bounds) and 5 (numbers).
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import erfcx, gammainc, gammaincc, ndtr

from hushrank.privacy.gdp import FloatArray

LARGEST_SIZE = 2**20
"""Larger sizes count as this one: a mean of fewer squares is larger in convex order."""

ROOM = 1e-9
"""Relative room for rounding errors, in shifts, probabilities and results."""

_TAIL = 80.0  # tails of probability exp(-80) are cut
_NODES = 1024
_ULPS = 2.0**-48  # more than the relative error of a Mills ratio


class ShiftLaw(NamedTuple):
    """Law of a squared shift on increasing points; `excess` of its mean lies beyond the last one."""

    points: FloatArray
    masses: FloatArray
    excess: float

    def scaled(self, factor: float) -> "ShiftLaw":
        """The law of `factor` > 0 times the shift."""
        return ShiftLaw(factor * self.points, self.masses, factor * self.excess)


def curve(eps: npt.ArrayLike, squares: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Logarithm of d(eps, sqrt(x)) for eps >= 0, elementwise and rounded up, and the derivative of it in x.

    With a, b = eps/mu -+ mu/2 and the Mills ratio M: d = phi(a) (M(a) - M(b)), and its derivative phi(a)/(2 mu).
    """
    eps, mu = np.asarray(eps, np.float64), np.sqrt(np.maximum(squares, 1e-200))
    with np.errstate(all="ignore"):
        a, b = eps / mu - mu / 2.0, eps / mu + mu / 2.0
        log_phi = -a * a / 2.0 - 0.5 * math.log(2.0 * math.pi)
        gap = (1.0 + _ULPS) * _mills(np.maximum(a, 0.0)) - _mills(b)
        left = ndtr(-a) - np.exp(log_phi) * _mills(b) + _ULPS  # the curve where a <= 0
        log_value = np.where(a > 0.0, log_phi + np.log(gap), np.log(left))
        return log_value, np.where(a > 0.0, 1.0 / gap, np.exp(log_phi) / left) / (2.0 * mu)


def _mills(x: FloatArray) -> FloatArray:
    return np.asarray(math.sqrt(math.pi / 2.0) * erfcx(x / math.sqrt(2.0)))


def inflection(eps: npt.ArrayLike) -> FloatArray:
    """Where x -> d(eps, sqrt(x)) turns from convex to concave: 2 sqrt(1 + eps^2) - 2, without cancellation."""
    square = np.square(np.asarray(eps, np.float64))
    return np.asarray(2.0 * square / (np.sqrt(1.0 + square) + 1.0))


def line_bound(mean: float, eps: FloatArray) -> FloatArray:
    """Bound for every X of at most this mean: the curve there if the tangent lies above all of it, else 1."""
    log_value, log_slope = curve(eps, mean)
    return np.where((mean >= inflection(eps)) & (mean * log_slope <= 1.0), np.exp(log_value), 1.0)


def exponential_bound(weights: FloatArray, sizes: FloatArray, eps: FloatArray) -> FloatArray:
    """Bound for X = sum of independent w X', E exp(l X') <= (1 - 2 l/s)^(-s/2), or X' <= 1 where s is infinite.

    log d is concave in x, so the exponential that touches d anywhere lies above it. The best one touches at the mean
    of the exponentially tilted law.
    """
    weights, sizes = weights[:, None], sizes[:, None]

    def used(rate: FloatArray) -> FloatArray:
        """Part of the largest rate with finite moments."""
        return np.minimum(2.0 * rate * weights / sizes, 1.0)

    low, high = np.full(eps.size, weights.sum()), np.maximum(2.0 * weights.sum(), 4.0 * eps + 100.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        for _ in range(60):
            middle = np.sqrt(low * high)
            tilted = (weights / (1.0 - used(curve(eps, middle)[1]))).sum(axis=0)
            low, high = np.where(tilted > middle, middle, low), np.where(tilted > middle, high, middle)
        log_value, rate = curve(eps, high)
        moments = np.where(np.isinf(sizes), rate * weights, -sizes / 2.0 * np.log1p(-used(rate)))
    return np.asarray(np.exp(np.minimum(log_value - rate * high + moments.sum(axis=0), 0.0)))


def convex_bound(law: ShiftLaw, mean: float, eps: float) -> float:
    """Bound for every X that is smaller than `law` in convex order: the better of two tangents.

    One touches at the inflection, the other at the mean, if that is larger. Below the inflection the larger of curve
    and tangent is taken, above it the tangent.
    """
    turn = float(inflection(eps))
    points = law.points * (1.0 + ROOM)
    convex = int(np.searchsorted(points, turn, side="right"))
    below = np.exp(curve(eps, points[:convex])[0])
    best = 1.0
    for touch in {turn, max(turn, mean)} - {0.0}:
        log_value, log_slope = curve(eps, touch)
        height = math.exp(log_value)
        slope = height * float(log_slope)
        heights = height + slope * (points - touch)
        heights[:convex] = np.maximum(heights[:convex], below)
        best = min(best, (1.0 + ROOM) * (float(law.masses @ heights) + slope * law.excess))
    return best


def reach(size: int) -> tuple[float, float]:
    """Limits that chi^2_size/size leaves with probability at most exp(-80) each (Laurent and Massart 2000)."""
    away = 2.0 * math.sqrt(_TAIL / size)
    return max(0.0, 1.0 - away), 1.0 + away + 2.0 * _TAIL / size


def fixed_law(value: float) -> ShiftLaw:
    """The law of a number that is not random."""
    return ShiftLaw(np.array([value]), np.ones(1), 0.0)


def chi_square_law(size: int) -> ShiftLaw:
    """Law of chi^2_size/size on a grid: every cell gives its mass to its two ends."""
    size = min(size, LARGEST_SIZE)
    shape, points = size / 2.0, _grid(*reach(size))
    # E[chi^2_t/t; cell] is the probability that chi^2_(t+2)/t is in the cell.
    cells, means = _between(shape, shape * points), _between(shape + 1.0, shape * points)
    upper = np.clip((means - points[:-1] * cells) / np.diff(points), 0.0, cells)
    masses = np.append(cells - upper, gammaincc(shape, shape * points[-1]))
    masses[1:] += upper
    return ShiftLaw(points, masses, float(gammaincc(shape + 1.0, shape * points[-1])))


def _between(shape: float, x: FloatArray) -> FloatArray:
    """Probabilities of a Gamma law between the points x, by the smaller of its two tails."""
    return np.asarray(np.where(x[1:] > shape, -np.diff(gammaincc(shape, x)), np.diff(gammainc(shape, x))))


def _grid(low: float, high: float) -> FloatArray:
    """Zero, and points from `low` to `high` whose roots are equally spaced."""
    points = np.linspace(math.sqrt(low), math.sqrt(high), _NODES) ** 2
    points[-1] = high
    return points if low == 0.0 else np.append(0.0, points)


def combine(first: ShiftLaw, second: ShiftLaw, operation: np.ufunc) -> ShiftLaw:
    """Law of the sum of independent numbers (np.add), or of the product (np.multiply) if both have mean 1."""
    points = operation.outer(first.points, second.points).ravel()
    masses = np.multiply.outer(first.masses, second.masses).ravel()
    excess = first.excess + second.excess  # of a product: that of one factor times the mean of the other
    return ShiftLaw(points, masses, excess) if first.points.size == 1 else _spread(points, masses, excess)


def _spread(points: FloatArray, masses: FloatArray, excess: float) -> ShiftLaw:
    """The law on a grid between its tails: every point gives its mass to its two neighbors."""
    roots = np.sqrt(points)
    step = float(roots.max()) / (4 * _NODES)
    cells = (roots / step).astype(np.intp)
    lower = np.cumsum(np.bincount(cells, masses))
    upper = np.cumsum(np.bincount(cells, masses * points)[::-1])
    first = int(np.searchsorted(lower, math.exp(-_TAIL)))
    last = upper.size - int(np.searchsorted(upper, math.exp(-_TAIL) * upper[-1]))
    grid = _grid((first * step) ** 2, (last * step) ** 2)
    where = np.clip(np.searchsorted(grid, points, side="right") - 1, 0, grid.size - 2)
    shares = masses * np.clip((points - grid[where]) / np.diff(grid)[where], 0.0, 1.0)
    spread = np.zeros(grid.size)
    for cell, share in ((where, masses - shares), (where + 1, shares)):
        spread += np.bincount(cell, share, grid.size)
    return ShiftLaw(grid, spread, excess + float(masses @ np.maximum(points - grid[-1], 0.0)))
