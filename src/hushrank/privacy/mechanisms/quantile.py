"""Release of a quantile on a public grid by noisy binary search.

Statistic  at each step, sum over people of (1[value <= grid point] - probability), at the grid point in the middle.
Release    the sign of that sum plus noise decides which half goes on: ceil(log2 m) steps for m grid points.
Privacy    docs/privacy/quantile.md, Theorem 1. The number of people is never used, so both relations are covered.
"""

import itertools
import sys
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hushrank.exceptions import InvalidParameter
from hushrank.parameters import check_integer, check_real
from hushrank.privacy.events import Event, Gaussian, Pure, Repeated
from hushrank.privacy.guarantee import Neighbors, parse_neighbors
from hushrank.privacy.mechanisms.scales import check_gaussian_or_pure, noise_law, scale_for
from hushrank.privacy.mechanisms.totals import check_total
from hushrank.privacy.noise.deviates import Integers
from hushrank.privacy.noise.extensible import ExtensibleDeviates
from hushrank.privacy.noise.linear import exact_entry
from hushrank.privacy.noise.source import NoiseSource
from hushrank.privacy.rational import float_at_most, sqrt_at_least

_PARTS = 1 << 20  # the probability is rounded to a multiple of 2^-20, so that contributions are integers


def quantile_event(event: Event, n_grid: int) -> Repeated:
    """Split a Gaussian or pure event evenly over the steps of a search on `n_grid` points, to the private side."""
    owner = "quantile_event"
    steps = search_steps(check_integer(n_grid, "n_grid", owner, minimum=2))
    whole = check_gaussian_or_pure(event, owner)
    if isinstance(whole, Gaussian):
        square = steps * Fraction(whole.noise_multiplier) ** 2
        if square > Fraction(sys.float_info.max):
            raise InvalidParameter(owner, "event", "an event with less noise", event)
        return Repeated(Gaussian(sqrt_at_least(square)), steps)
    return Repeated(Pure(float_at_most(Fraction(whole.epsilon) / steps)), steps)


def search_steps(n_grid: int) -> int:
    """Comparisons that a binary search among `n_grid` points needs: ceil(log2 n_grid)."""
    return (n_grid - 1).bit_length()


def rank_sensitivity(parts: int, neighbors: Neighbors) -> int:
    """Largest change of the sum of (2^20 1[value <= g] - parts), parts = 2^20 probability (quantile.md, Lemma 1)."""
    return max(parts, _PARTS - parts) if neighbors == Neighbors.ADD_REMOVE else _PARTS


def rank_scale(probability: float, event: Event, neighbors: Neighbors | str = Neighbors.REPLACE) -> float:
    """Noise scale of one step of `release_quantile`, in people; reads nothing private."""
    return _scale_in_parts(_check_parts(probability, "rank_scale"), event, neighbors, "rank_scale") / _PARTS


def _check_parts(probability: float, owner: str) -> int:
    parts = round(check_real(probability, "probability", owner, above=0, below=1) * _PARTS)
    return min(max(parts, 1), _PARTS - 1)


def _scale_in_parts(parts: int, event: Event, neighbors: Neighbors | str, owner: str) -> float:
    if not isinstance(event, Repeated):
        raise InvalidParameter(owner, "event", "made by quantile_event", event)
    sensitivity = rank_sensitivity(parts, parse_neighbors(neighbors, owner))
    return scale_for(sensitivity**2, sensitivity, event.event, owner)


def release_quantile(
    histogram: Integers,
    grid: NDArray[np.float64],
    probability: float,
    event: Event,
    noise: NoiseSource,
    neighbors: Neighbors | str = Neighbors.REPLACE,
) -> float:
    """Release a grid point near the quantile of everybody's values.

    Parameters
    ----------
    histogram : int64 array of length len(grid) + 1
        Number of people per cell: cell j holds values in (grid[j-1], grid[j]], the last one those above the grid.
    grid : strictly increasing public array
    probability : float in (0, 1)
    event : Repeated
        As planned by `quantile_event`.
    noise : NoiseSource
    neighbors : "replace" or "add_remove"
    """
    owner = "release_quantile"
    points = check_grid(grid, owner)
    secret = check_histogram(histogram, points, owner)
    parts = _check_parts(probability, owner)
    if not isinstance(event, Repeated) or event.count != search_steps(points.size):
        raise InvalidParameter(owner, "event", f"quantile_event(event, {points.size})", event)
    scale = _scale_in_parts(parts, event, neighbors, owner)
    law = noise_law(check_gaussian_or_pure(event.event, owner))
    deviates = ExtensibleDeviates(law, event.count, 1, noise.begin(event, neighbors))
    # Python integers from here on: the sign of a sum must not wrap.
    noises = [exact_entry([scale], deviates, step) for step in range(event.count)]
    people = secret.tolist()
    n_people = sum(people)
    rank_sums = [_PARTS * at_most - parts * n_people for at_most in itertools.accumulate(people[:-1])]
    return float(points[_search(rank_sums, noises)])


def _search(rank_sums: list[int], noises: list[int]) -> int:
    """Smallest index whose noisy rank sum is not negative, by bisection; one noise per step."""
    low, high = 0, len(rank_sums) - 1
    for noise in noises:
        middle = (low + high) // 2
        if rank_sums[middle] + noise >= 0:
            high = middle
        else:
            low = min(middle + 1, high)
    return high


def check_grid(grid: NDArray[np.float64], owner: str) -> NDArray[np.float64]:
    """Return a public grid as float64; refuse one that does not rise strictly or has fewer than two points."""
    points = np.asarray(grid, np.float64)
    if points.ndim != 1 or points.size < 2 or not np.isfinite(points).all() or not (np.diff(points) > 0).all():
        raise InvalidParameter(owner, "grid", "a strictly increasing array of at least two finite numbers", grid)
    return points


def check_histogram(histogram: Integers, points: NDArray[np.float64], owner: str) -> Integers:
    """Return the secret counts of people in the cells of a checked grid; their values are never looked at."""
    secret = check_total(histogram, owner, ndim=1, name="histogram")
    if secret.size != points.size + 1:
        raise InvalidParameter(owner, "histogram", f"of length {points.size + 1}", f"length {secret.size}")
    return secret
