"""Discrete privacy-loss distributions: how releases that are not Gaussian enter the accounting.

Statistic  the loss L = log dP/dQ under P of a pair (P, Q) that dominates all neighboring pairs of a release.
Builders   randomized response for pure releases, connecting the dots for tabulated profiles.
Privacy    docs/privacy/accounting.md, sections 4 (pure), 5 (profiles), 6 (coarsening). Whatever is
           approximate raises delta: splitting atoms, cutting tails, the allowance for rounded losses.
"""

import heapq
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hushrank.privacy.gdp import FloatArray, epsilon_of_mu, gaussian_delta, log_target, smallest_epsilon

MAX_ATOMS = 2**14
"""A distribution with more atoms is coarsened onto a uniform grid of this many points."""

MAX_COUNT = 2**22
"""Most pure releases of one epsilon whose binomial law is tabulated."""

_MAX_OUTER = 2**20
_TAIL = 1e-24
_ROUNDING = 2.0**-46


@dataclass(frozen=True, slots=True, eq=False)
class LossDistribution:
    """Law of the privacy loss under P.

    Parameters
    ----------
    losses : ndarray of shape (n_atoms,)
        Finite losses in increasing order.
    masses : ndarray of shape (n_atoms,)
        Their probabilities under P; under Q an atom weighs exp(-loss) times as much.
    infinity : float
        Probability under P of an infinite loss; the masses sum to 1 - infinity.
    """

    losses: FloatArray
    masses: FloatArray
    infinity: float = 0.0

    @property
    def largest(self) -> float:
        """The largest finite loss, or 0 if there is none."""
        return float(self.losses[-1]) if self.losses.size else 0.0

    @property
    def _span(self) -> float:
        return max(abs(float(self.losses[0])), abs(self.largest)) if self.losses.size else 0.0

    def delta(self, epsilon: float, mu: float = 0.0) -> float:
        """Hockey-stick divergence at epsilon of this pair together with a Gaussian release of parameter mu.

        E[delta(epsilon - L; mu)] + P(L = infinity). Losses carry rounding errors of some units in the last
        place, so epsilon is lowered by more than these can amount to.
        """
        lowered = epsilon - _ROUNDING * (abs(epsilon) + self._span)
        return min(1.0, float(self.masses @ gaussian_delta(lowered - self.losses, mu)) + self.infinity)

    def epsilon(self, delta: float, mu: float = 0.0) -> float:
        """Smallest epsilon >= 0 whose delta is at most `delta` > 0, rounded up."""
        target = log_target(delta)
        finite = math.exp(target) - self.infinity
        if finite <= 1e-12 * delta:
            return math.inf

        def log_curve(epsilon: float) -> float:
            value = self.delta(epsilon, mu)
            return math.log(value) if value > 0.0 else -math.inf

        # delta(epsilon) <= infinity + delta(epsilon - largest; mu), with room for the lowered epsilon.
        high = max(self.largest, 0.0) + epsilon_of_mu(mu, finite) + 1e-9 * self._span + 1e-12
        return smallest_epsilon(log_curve, target, high)


def randomized_response(epsilon: float, count: int) -> LossDistribution:
    """Dominating pair of `count` <= MAX_COUNT releases, each epsilon-private.

    The loss is (2 J - count) epsilon with J binomial of success probability e^epsilon/(1 + e^epsilon).
    """
    if epsilon > 700.0:  # failures weigh less than 1e-300: all mass is moved up to the largest loss
        largest = np.array([count * epsilon])
        is_finite = np.isfinite(largest)
        return LossDistribution(largest[is_finite], np.ones(1)[is_finite], float(not is_finite[0]))
    # Hoeffding: a tail beyond sqrt(350 count) weighs less than exp(-700); both are booked as infinite loss.
    center, reach = count / (1.0 + math.exp(-epsilon)), math.sqrt(350.0 * count) + 1.0
    low, high = max(0, math.floor(center - reach)), min(count, math.ceil(center + reach))
    infinity = 0.0 if (low, high) == (0, count) else 2.0 * math.exp(-700.0)
    successes = np.arange(low, high + 1, dtype=np.float64)
    masses = np.exp(_log_binomial(successes, count, epsilon))
    masses *= (1.0 - infinity) / masses.sum()
    return coarsen(LossDistribution((2.0 * successes - count) * epsilon, masses, infinity))


def _log_binomial(successes: FloatArray, count: int, epsilon: float) -> FloatArray:
    """Log-probabilities of the binomial law by deviances (Loader 2000): no cancellation at large counts."""
    expected = count / (1.0 + math.exp(-epsilon)), count / (1.0 + math.exp(epsilon))
    result = _stirling_rest(np.array([float(count)])) + np.zeros(successes.size)
    for number, mean in zip((successes, count - successes), expected, strict=True):
        away = np.where(number > 0.0, (number - mean) / mean, 0.0)
        result -= _stirling_rest(number) + number * np.log1p(away)
    return result


def _stirling_rest(n: FloatArray) -> FloatArray:
    """log n! - (n log n - n) for integers n >= 0."""
    table = np.array([0.0] + [math.lgamma(k + 1.0) - k * math.log(k) + k for k in range(1, 16)])
    large = np.maximum(n, 16.0)
    y = 1.0 / (large * large)
    series = (1 / 12 - y * (1 / 360 - y * (1 / 1260 - y * (1 / 1680 - y / 1188)))) / large
    small = table[np.minimum(n, 15.0).astype(np.intp)]
    return np.where(n < 16.0, small, 0.5 * np.log(2.0 * math.pi * large) + series)


def connect_the_dots(epsilons: Sequence[float], deltas: Sequence[float]) -> LossDistribution:
    """Dominating pair of a release whose profile, in both directions, is at most `deltas` at `epsilons`.

    In gamma = e^epsilon a profile is convex, non-increasing and 1 at gamma = 0, so it lies below the
    greatest convex minorant of the table; the kinks of that minorant are the atoms. Exchanging P and Q
    turns the bound at epsilon into one at -epsilon, which is added to the table.
    """
    eps, heights = np.asarray(epsilons, dtype=np.float64), np.asarray(deltas, dtype=np.float64)
    ahead = eps > 0.0
    mirrored = -np.expm1(-eps[ahead]) + np.exp(-eps[ahead]) * heights[ahead]
    # No pair has a profile below 1 - gamma; claims below that are raised to it.
    heights = np.maximum(heights, -np.expm1(np.minimum(eps, 0.0)))
    points, where = np.unique(np.concatenate([-eps[ahead], eps]), return_inverse=True)
    lowest = np.ones(points.size)
    np.minimum.at(lowest, where, np.concatenate([mirrored, heights]))
    kept = _convex_minorant(points.tolist(), lowest.tolist())
    losses, drops = points[kept], -np.diff(lowest[kept], prepend=1.0)
    # Mass at gamma_i = gamma_i (slope after - slope before), written such that e^epsilon cannot overflow.
    widths = -np.expm1(-np.diff(losses))
    masses = drops / np.concatenate([[1.0], widths])
    masses[:-1] -= drops[1:] * (1.0 - widths) / widths
    return LossDistribution(losses[masses > 0.0], masses[masses > 0.0], float(lowest[kept[-1]]))


def _convex_minorant(points: list[float], heights: list[float]) -> list[int]:
    """Vertices of the greatest convex minorant in gamma = e^point, which starts at gamma = 0, height 1."""
    kept: list[int] = []
    for i, (point, height) in enumerate(zip(points, heights, strict=True)):
        while kept:
            last = kept[-1]
            left, level = (points[kept[-2]], heights[kept[-2]]) if len(kept) > 1 else (-math.inf, 1.0)
            # Both slopes times the gamma of the last vertex; it stays if the curve bends upward there.
            before = (level - heights[last]) / -math.expm1(left - points[last])
            gap = points[last] - point
            after = (heights[last] - height) * math.exp(gap) / -math.expm1(gap)
            if before > after:
                break
            kept.pop()
        kept.append(i)
    return kept


def convolve(first: LossDistribution, second: LossDistribution) -> LossDistribution:
    """Pair of both releases together: losses add. At most MAX_ATOMS atoms, by coarsening where needed."""
    if first.losses.size * second.losses.size > _MAX_OUTER:
        first, second = _trim(first), _trim(second)
    infinity = first.infinity + second.infinity * (1.0 - first.infinity)
    if first.losses.size * second.losses.size > _MAX_OUTER:
        losses, masses = _convolve_on_grid(first, second)
        return LossDistribution(losses, masses, infinity)
    losses, where = np.unique(np.add.outer(first.losses, second.losses), return_inverse=True)
    masses = _totals(where.ravel(), np.multiply.outer(first.masses, second.masses).ravel(), losses.size)
    return coarsen(LossDistribution(losses, masses, infinity))


def _convolve_on_grid(first: LossDistribution, second: LossDistribution) -> tuple[FloatArray, FloatArray]:
    """Losses and masses of the sum after both laws are split onto grids of one step; exact sums, no FFT."""
    starts = [float(law.losses[0]) for law in (first, second)]
    spans = [first.largest - starts[0], second.largest - starts[1]]
    step = sum(spans) / (MAX_ATOMS - 4)
    sides = []
    for law, span in zip((first, second), spans, strict=True):
        sides.append(_split(law, step * np.arange(math.ceil(span / step) + 2, dtype=np.float64)))
    masses = np.convolve(sides[0], sides[1])
    return sum(starts) + step * np.arange(masses.size, dtype=np.float64), masses


def coarsen(law: LossDistribution, atoms: int = MAX_ATOMS) -> LossDistribution:
    """The law itself if it has at most `atoms` atoms, else a dominating one on a uniform grid of so many."""
    if law.losses.size <= atoms:
        return law
    law = _trim(law)
    if law.losses.size <= atoms:
        return law
    start = float(law.losses[0])
    grid = np.linspace(0.0, law.largest - start, atoms)
    return LossDistribution(start + grid, _split(law, grid), law.infinity)


def _split(law: LossDistribution, grid: FloatArray) -> FloatArray:
    """Masses on smallest loss + `grid`: each atom goes to its two neighbors, P mass and Q mass both kept."""
    above_start = law.losses - law.losses[0]
    lower = np.clip(np.searchsorted(grid, above_start, side="right") - 1, 0, grid.size - 2)
    share = np.expm1(grid[lower] - above_start) / np.expm1(grid[lower] - grid[lower + 1])
    share = np.clip(share, 0.0, 1.0)
    below = _totals(lower, law.masses * (1.0 - share), grid.size)
    return below + _totals(lower + 1, law.masses * share, grid.size)


def _totals(where: npt.NDArray[np.intp], weights: FloatArray, size: int) -> FloatArray:
    """Sum of the weights at each index below `size`."""
    return np.bincount(where, weights=weights, minlength=size).astype(np.float64)


def _trim(law: LossDistribution) -> LossDistribution:
    """Cut off tails lighter than 1e-24: the upper one becomes infinite loss, the lower one moves up."""
    upper = int(np.sum(np.cumsum(law.masses[::-1]) <= _TAIL))
    lower = int(np.sum(np.cumsum(law.masses) <= _TAIL))
    stop = max(law.losses.size - upper, lower + 1)
    masses = law.masses[lower:stop].copy()
    masses[0] += float(law.masses[:lower].sum())
    return LossDistribution(law.losses[lower:stop], masses, law.infinity + float(law.masses[stop:].sum()))


def power(law: LossDistribution, count: int) -> LossDistribution:
    """`count` >= 1 copies of a release, by repeated squaring from the leading bit."""
    result = law
    for bit in bin(count)[3:]:
        result = convolve(result, result)
        if bit == "1":
            result = convolve(result, law)
    return result


def compose(laws: Iterable[LossDistribution]) -> LossDistribution:
    """All of at least one releases together, smallest laws first, so that few atoms are coarsened twice."""
    heap = [(law.losses.size, i, law) for i, law in enumerate(laws)]
    heapq.heapify(heap)
    serial = len(heap)
    while len(heap) > 1:
        (_, _, first), (_, _, second) = heapq.heappop(heap), heapq.heappop(heap)
        joined, serial = convolve(first, second), serial + 1
        heapq.heappush(heap, (joined.losses.size, serial, joined))
    return heap[0][2]
