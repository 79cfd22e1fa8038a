"""Release of the first point of a public grid up to which many people lie: a sparse vector from below.

Statistic  c_j, the number of people with a value at or below grid point j; it rises with j.
Release    the first grid point with c_j + noise_j >= threshold + noise, noise independent Laplace, rounded.
Privacy    docs/privacy/sparse_vector.md, Theorem 2. One event for any number of grid points: one person moves all
           counts in one direction, by at most one.
"""

import itertools
import math

import numpy as np
from numpy.typing import NDArray

from hushrank.exceptions import InvalidParameter
from hushrank.parameters import check_integer, check_real
from hushrank.privacy.events import Event, Pure
from hushrank.privacy.guarantee import Neighbors
from hushrank.privacy.mechanisms.quantile import check_grid, check_histogram
from hushrank.privacy.mechanisms.scales import noise_law, scale_for
from hushrank.privacy.noise.deviates import Integers
from hushrank.privacy.noise.extensible import ExtensibleDeviates
from hushrank.privacy.noise.linear import exact_entry
from hushrank.privacy.noise.source import NoiseSource

_SHIFTS = 2  # the threshold and one count, each by one person: each pays half of epsilon
_LOWEST = -(2**63)


def first_above_scale(event: Event) -> float:
    """Laplace scale of the threshold and of every count, in people, rounded up; reads nothing private."""
    return _scale(event, "first_above_scale")


def first_above_margin(event: Event, n_grid: int, failure: float = 0.05) -> float:
    """How far below the threshold a count may lie and yet be taken for one above it, in people.

    It is 2/epsilon (log n_grid + log 1/failure): a public number to choose thresholds by. The release is a point whose
    count is below threshold - margin with a probability of about `failure` (docs/privacy/sparse_vector.md, Lemma 4).

    Examples
    --------
    >>> round(first_above_margin(Pure(0.5), 64), 1)
    28.6
    """
    owner = "first_above_margin"
    points = check_integer(n_grid, "n_grid", owner, minimum=2)
    chance = check_real(failure, "failure", owner, above=0, below=1)
    return _scale(event, owner) * (math.log(points) - math.log(chance))


def release_first_above(
    histogram: Integers,
    grid: NDArray[np.float64],
    threshold: int,
    event: Event,
    noise: NoiseSource,
    neighbors: Neighbors | str = Neighbors.REPLACE,
) -> float:
    """Release the first grid point at or below which there seem to be `threshold` people, or the last one if none has.

    Parameters
    ----------
    histogram : int64 array of length len(grid) + 1
        Number of people per cell: cell j holds values in (grid[j-1], grid[j]], the last one those above the grid.
    grid : strictly increasing public array
    threshold : int
        Public, or computed from what was released before. Under "add_remove" the number of people is secret: a share
        of it must come from a released count.
    event : Pure
        Without bounded range; its whole epsilon is for this one release, whatever the length of the grid.
    noise : NoiseSource
    neighbors : "replace" or "add_remove"
    """
    owner = "release_first_above"
    points = check_grid(grid, owner)
    people = check_histogram(histogram, points, owner)
    wanted = check_integer(threshold, "threshold", owner, minimum=_LOWEST)
    scale, law = _scale(event, owner), noise_law(_check_event(event, owner))
    deviates = ExtensibleDeviates(law, points.size + 1, 1, noise.begin(event, neighbors))
    # All noises are drawn, whatever the counts. Python integers from here on: a comparison must not wrap.
    of_threshold, *of_counts = (exact_entry([scale], deviates, j) for j in range(points.size + 1))
    counts = list(itertools.accumulate(people.tolist()[:-1]))
    return float(points[_first_above(counts, wanted, of_threshold, of_counts)])


def _first_above(counts: list[int], threshold: int, of_threshold: int, of_counts: list[int]) -> int:
    """Index of the first noisy count that reaches the noisy threshold, or of the last count if none does."""
    noisy = zip(counts, of_counts, strict=True)
    reached = (j for j, (count, noise) in enumerate(noisy) if count + noise >= threshold + of_threshold)
    return next(reached, len(counts) - 1)


def _check_event(event: Event, owner: str) -> Pure:
    if not isinstance(event, Pure) or event.bounded_range:
        raise InvalidParameter(owner, "event", "Pure(epsilon)", event)
    return event


def _scale(event: Event, owner: str) -> float:
    return scale_for(_SHIFTS**2, _SHIFTS, _check_event(event, owner), owner)
