"""The covariance of measurements along the rows and along the columns of the matrix, learned from their sums.

Statistic  for each side, a sum over records of a bounded vector or of y y^T (`moments` says of what).
Release    the sum plus noise, one for each side; the bounds are quantiles, found by noisy searches.
Post       `whitening`: what the noise added is shrunk away.
Public     where only answers are private, the same sums without noise and without a cost (`PublicSums`).
Privacy    docs/privacy/trace.md, Lemmas 1 (searches) and 2 (sums).
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from hushrank.data.records.blocks import RecordBlock
from hushrank.estimator import called
from hushrank.estimators.searches import Window
from hushrank.estimators.trace import moments
from hushrank.estimators.trace.coordinates import Whitening
from hushrank.estimators.trace.designs import Design
from hushrank.estimators.trace.recipe import X_OCTAVES
from hushrank.estimators.trace.record_sums import count_finite
from hushrank.estimators.trace.sides import Side, VectorSide, sides_of
from hushrank.estimators.trace.sums import Find, Lattice, Sums
from hushrank.linalg.quantize import FloatArray
from hushrank.linalg.threads import one_blas_thread

_UNITS_SHARE = 0.2  # of the share of whitening
_CLEAR_COUNTS = 4.0  # deviations of a column's count, below which its octaves are those of all columns


@called("sizes of measurements")
def count_sizes(block: RecordBlock, state: tuple[Design, tuple[Side, Side], tuple[FloatArray, FloatArray]]) -> Any:
    """Records in the cells of the grids of both sides."""
    design, *pairs = state
    X = design.centered(block.X)
    return tuple(count_finite(side.norms(X), grid) for side, grid in zip(*pairs, strict=True))


@called("covariances")
def sum_moments(block: RecordBlock, state: tuple[Design, tuple[Side, Side], tuple[Lattice, Lattice]]) -> Any:
    """Sums of both sides."""
    design, *pairs = state
    X = design.centered(block.X)
    return tuple(side.total(X, lattice) for side, lattice in zip(*pairs, strict=True))


N_OCTAVES = 2 * X_OCTAVES + 1


@called("units of columns")
def sum_octaves(block: RecordBlock, state: tuple[tuple[VectorSide, ...], float, tuple[Lattice, ...]]) -> Any:
    """How often the numbers of both sides lie in each octave, in lattice units."""
    sides, x_scale, lattices = state
    totals = tuple(np.zeros((side.width, N_OCTAVES), np.int64) for side in sides)
    for side, lattice, total in zip(sides, lattices, totals, strict=True):
        moments.add_octaves(side.part(block.X), x_scale, _octave_count(side, lattice), total)
    return totals


def _octave_count(side: Side, lattice: Lattice) -> int:
    """The integer that a number adds to its octave: so many of them as there are numbers are within the bound."""
    return math.isqrt(lattice.squared_bound // side.width)


def learn_units(sums: Sums, sides: tuple[Any, Any], x_scale: float, share: float) -> tuple[VectorSide, VectorSide]:
    """Both sides with the sizes of their numbers: the median octave of each, for this share of the whole budget."""
    lattices = tuple(sums.vector_lattice(math.sqrt(side.width), share / 2, nonnegative=True) for side in sides)
    totals = sums.total(sum_octaves, (sides, x_scale, lattices))
    first, second = (
        replace(side, units=tuple(_median_sizes(sums.release(total, lattice), lattice.scale, x_scale)))
        for side, total, lattice in zip(sides, totals, lattices, strict=True)
    )
    return first, second


def _median_sizes(counts: FloatArray, noise: float, x_scale: float) -> list[float]:
    """Median size of the numbers of each column, from noisy counts of octaves; that of all where there are too few."""
    pooled = counts.sum(axis=0)
    is_clear = counts.sum(axis=1) > _CLEAR_COUNTS * noise * math.sqrt(N_OCTAVES)
    found = [_median_cell(row if clear else pooled) for row, clear in zip(counts, is_clear.tolist(), strict=True)]
    return [x_scale * 2.0 ** (cell - X_OCTAVES + 0.5) for cell in found]


def _median_cell(counts: FloatArray) -> int:
    at_most = np.cumsum(np.maximum(counts, 0.0))
    return min(int((at_most < 0.5 * at_most[-1]).sum()), len(counts) - 1)


def learn_whitening(
    sums: Sums, design: Design, x_scale: float, share: float, grid: Callable[[Window], FloatArray], find: Find
) -> Whitening:
    """Coordinates in which the measurements are isotropic, for this share of the whole budget and two searches."""
    sides, bounds = sides_of(design), [1.0, 1.0]
    if design.name == "rank_one":
        sides, share = learn_units(sums, sides, x_scale, _UNITS_SHARE * share), (1.0 - _UNITS_SHARE) * share
    windows = [side.window(x_scale) for side in sides]
    if windows[0] is not None and windows[1] is not None:
        grids = grid(windows[0]), grid(windows[1])
        found = [find(*pair) for pair in zip(sums.total(count_sizes, (design, sides, grids)), grids, strict=True)]
        bounds = [side.stretch * middle for side, middle in zip(sides, found, strict=True)]
    lattices = tuple(side.book(sums, bound, share / 2) for side, bound in zip(sides, bounds, strict=True))
    totals = sums.total(sum_moments, (design, sides, lattices))
    left, right = (side.root(sums, *pair) for side, *pair in zip(sides, totals, lattices, strict=True))
    if design.name != "dense":
        return Whitening(left, right)
    # Products of rows are A tr(B) / d2, those of columns B tr(A) / d1: the size of all is in both, and is taken out.
    size = math.sqrt(math.sqrt(_mean_variance(left) * _mean_variance(right)))
    return Whitening(left * math.sqrt(size), right * math.sqrt(size))


def _mean_variance(root: FloatArray) -> float:
    """Mean variance of a side, from the inverse root of its covariance."""
    with one_blas_thread():
        values = root[0] if len(root) == 1 else np.linalg.eigvalsh(root)
    return float(np.mean(1.0 / values**2))
