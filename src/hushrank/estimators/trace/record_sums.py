"""Sums over records: kernels that map a block to lattice integers or counts, one for every release.

Each record is bounded and rounded alone, before the sum; totals are exact. A record that is not finite, or no entry of
the matrix, counts as nothing, in counts as in sums.
"""

from dataclasses import dataclass

import numpy as np

from hushrank.data.records.blocks import RecordBlock
from hushrank.estimator import called
from hushrank.estimators.trace.coordinates import Tangent, Whitening
from hushrank.estimators.trace.designs import Design
from hushrank.linalg.histogram import integer_histogram
from hushrank.linalg.integer_sums import integer_sum
from hushrank.linalg.quantize import FloatArray
from hushrank.linalg.scatter import Bound, IntegerArray
from hushrank.privacy.mechanisms.vector import GaussianLattice


def count_finite(numbers: FloatArray, grid: FloatArray) -> IntegerArray:
    """Numbers in the cells of a grid, without those that are not finite."""
    return integer_histogram(numbers[np.isfinite(numbers)], grid)


def count_records(block: RecordBlock, state: None) -> IntegerArray:
    """Number of records, where it is public."""
    return np.array([len(block)], np.int64)


@called("sizes of answers")
def count_answers(block: RecordBlock, grid: FloatArray) -> IntegerArray:
    """Answers in the cells of a grid."""
    return count_finite(block.y, grid)


@dataclass(frozen=True, slots=True, eq=False)
class StartState:
    """State of `count_start_norms` and `sum_start`."""

    design: Design
    whitening: Whitening
    intercept: float


def count_start_norms(block: RecordBlock, state: tuple[StartState, FloatArray]) -> IntegerArray:
    """Records in the cells of a grid of norms of measurement times answer."""
    start, grid = state
    return count_finite(start.design.start_norms(block, start.whitening, start.intercept), grid)


@called("first estimate")
def sum_start(block: RecordBlock, state: tuple[StartState, GaussianLattice]) -> IntegerArray:
    """Sum of measurements times answers, of shape (d1, d2)."""
    start, lattice = state
    return start.design.start(block, start.whitening, start.intercept, bound_of(lattice))


@dataclass(frozen=True, slots=True, eq=False)
class LookState:
    """State of `count_look`: where gradients are taken, and grids for their norms and for residuals."""

    design: Design
    tangent: Tangent
    norm_grid: FloatArray
    residual_grid: FloatArray


@called("sizes of gradients")
def count_look(block: RecordBlock, state: LookState) -> tuple[IntegerArray, IntegerArray]:
    """Records in the cells of grids of norms of their gradients, and of answers less predictions."""
    norms, residuals = state.design.gradient_norms(block, state.tangent)
    return count_finite(norms, state.norm_grid), count_finite(-residuals, state.residual_grid)


def sum_gradients(block: RecordBlock, state: tuple[Design, Tangent, GaussianLattice]) -> IntegerArray:
    """Sum of gradients in a tangent space, in the layout of the design."""
    design, tangent, lattice = state
    return design.gradients(block, tangent, bound_of(lattice))


def bound_of(lattice: GaussianLattice) -> Bound:
    """The bound of a sum of vectors, as kernels take it."""
    return Bound(lattice.norm_bound, float(lattice.squared_bound), lattice.lowest)


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Answers to choose between: an intercept alone, and coefficients, whole or halved, with an intercept.

    Attributes
    ----------
    design : Design
    coef : ndarray of shape (d1, d2)
    intercept : float
        Beside the coefficients.
    alone : float
        The intercept without coefficients.
    """

    design: Design
    coef: FloatArray
    intercept: float
    alone: float


def residuals_of_all(block: RecordBlock, found: Candidates) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Residuals of the intercept alone, of the coefficients halved, and of the coefficients."""
    with np.errstate(all="ignore"):  # answers may be anything
        alone, answers = block.y - found.alone, block.y - found.intercept
        predicted = found.design.predictions(block.X, found.coef)
        return alone, answers - 0.5 * predicted, answers - predicted


def count_residuals(block: RecordBlock, state: tuple[Candidates, FloatArray]) -> tuple[IntegerArray, ...]:
    """Records in the cells of a grid of sizes of residuals: of the intercept alone, of half and of all coefficients."""
    found, grid = state
    return tuple(count_finite(np.abs(residuals), grid) for residuals in residuals_of_all(block, found))


N_CHECKED = 5
"""Numbers of `sum_check`, each of them in [-1, 1]."""


@called("check of the result")
def sum_check(block: RecordBlock, state: tuple[Candidates, float, GaussianLattice]) -> IntegerArray:
    """Sum of three votes and of two shortened gains of squares.

    A record votes 1 for what predicts its answer better, and -1 for what predicts it worse: the coefficients against
    the intercept alone, the halved ones against the intercept alone, the coefficients against the halved ones. Gains of
    squares are those of all and of half of the coefficients against the intercept alone, in units of a squared bound:
    they see a few large errors, and answers of which most are equal.
    """
    found, bound, lattice = state
    alone, half, whole = residuals_of_all(block, found)
    pairs = (alone, whole), (alone, half), (half, whole)
    with np.errstate(all="ignore"):
        votes = [np.sign(np.abs(worse) - np.abs(better)) for worse, better in pairs]
        gains = [np.clip((alone**2 - other**2) / bound**2, -1.0, 1.0) for other in (whole, half)]
    return integer_sum(np.column_stack([*votes, *gains]), lattice)
