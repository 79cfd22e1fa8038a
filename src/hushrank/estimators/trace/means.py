"""The mean of one number a record, answers or residuals: what is predicted where nothing else is known.

Middles are found by searches and do not see how skewed numbers are: of answers 0 and 1, most of them 0, the middle is
0 and the mean is not. A mean is the constant of least squared error.

Reach      a high quantile of the sizes of the numbers, as high as the noise of a search allows.
Release    the sum of the numbers, each shortened to that.
Post       the mean less what its noise adds to it.
Privacy    docs/privacy/trace.md, Lemmas 1 (search) and 2 (sum).
"""

import math
from dataclasses import dataclass

import numpy as np

from hushrank.data.records.blocks import RecordBlock
from hushrank.estimator import called
from hushrank.estimators.trace.designs import Design
from hushrank.estimators.trace.recipe import BOUND_COMPARISONS, Y_OCTAVES
from hushrank.estimators.trace.record_sums import count_finite
from hushrank.linalg.histogram import geometric_grid
from hushrank.linalg.integer_sums import integer_sum
from hushrank.linalg.quantize import FloatArray
from hushrank.linalg.scatter import IntegerArray
from hushrank.privacy.adaptive import AdaptiveReleases
from hushrank.privacy.mechanisms.vector import GaussianLattice

_LEVELS = 0.5, 0.98  # of the quantile, lowest and highest
_LEAST_REACH = 2.0**-8  # of numbers that are not mostly equal, in units of y_scale
_CLEAR = 4.0  # deviations of a comparison that the level stays away from all
_PRIOR_MEAN = 0.2  # deviation of a mean that is expected, in units of its bound


@dataclass(frozen=True, slots=True, eq=False)
class Residuals:
    """Numbers of records: answers less an intercept and, where there are coefficients, less what these predict."""

    design: Design
    coef: FloatArray | None
    intercept: float

    def of(self, block: RecordBlock) -> FloatArray:
        """One number for each record; not finite where the record is not."""
        with np.errstate(all="ignore"):  # answers may be anything
            answers = block.y - self.intercept
            return answers if self.coef is None else answers - self.design.predictions(block.X, self.coef)


@called("sizes of residuals")
def count_reach(block: RecordBlock, state: tuple[Residuals, FloatArray]) -> IntegerArray:
    """Records in the cells of a grid of sizes of their numbers."""
    residuals, grid = state
    return count_finite(np.abs(residuals.of(block)), grid)


@called("intercept")
def sum_numbers(block: RecordBlock, state: tuple[Residuals, float, GaussianLattice]) -> IntegerArray:
    """Sum of the numbers in units of a bound, each shortened to 1."""
    residuals, bound, lattice = state
    with np.errstate(all="ignore"):
        numbers = residuals.of(block) / bound
    return integer_sum(np.where(np.isfinite(numbers), np.clip(numbers, -1.0, 1.0), np.nan)[:, np.newaxis], lattice)


def find_reach(releases: AdaptiveReleases, residuals: Residuals, y_scale: float, share: float) -> float:
    """How far the numbers reach, all but a few of them; for this share of the whole budget.

    Where that is next to nothing, so many are equal that a search does not see the others, and it is `y_scale`.
    """
    grid = geometric_grid(y_scale * 2.0**-Y_OCTAVES, y_scale * 2.0 ** (Y_OCTAVES + 1), 2**BOUND_COMPARISONS)
    level = reach_level(math.sqrt(BOUND_COMPARISONS / share) / (releases.n_people * releases.mu))
    found = releases.quantile(count_reach, residuals, grid, level, share)
    return found if found > y_scale * _LEAST_REACH else y_scale


def reach_level(deviation: float) -> float:
    """The level of a search whose comparisons have this deviation, so high that it does not run off its grid.

    Examples
    --------
    >>> reach_level(0.001), reach_level(0.025), reach_level(0.3)
    (0.98, 0.9, 0.5)
    """
    return min(max(1.0 - _CLEAR * deviation, _LEVELS[0]), _LEVELS[1])


def find_mean(releases: AdaptiveReleases, residuals: Residuals, reach: float, share: float) -> float:
    """The mean of the numbers, shortened to `reach`; for this share of the whole budget."""
    lattice = releases.vector_lattice(1.0, share)
    [total] = releases.release(releases.total(sum_numbers, (residuals, reach, lattice)), lattice).tolist()
    return reach * shrink_mean(total / releases.n_people, lattice.scale / releases.n_people)


def shrink_mean(mean: float, deviation: float) -> float:
    """A mean of numbers in [-1, 1] without what its noise adds; zero where that is all of it.

    What is left after James and Stein is weighed against a prior: numbers are counted from where most of them are.

    Examples
    --------
    >>> round(shrink_mean(0.5, 0.01), 3), shrink_mean(-0.05, 0.1), abs(shrink_mean(300.0, 100.0)) < 1e-5
    (0.499, 0.0, True)
    """
    if abs(mean) <= deviation:
        return 0.0
    kept = min(max(mean * (1.0 - (deviation / mean) ** 2), -1.0), 1.0)
    return kept / (1.0 + (deviation / _PRIOR_MEAN) ** 2)
