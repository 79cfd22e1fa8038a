"""The center of dense measurements, so that their covariance is that about it.

Statistic  a sum over records of the measurement, shortened.
Release    the sum plus noise; the bound is a multiple of the median norm, found by a noisy search.
Post       the mean where it stands above its noise, else none. Any matrix would do: what is subtracted from the
           measurements is made up for by the intercept.
Privacy    docs/privacy/trace.md, Lemmas 1 (search) and 2 (sum).
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushrank.data.records.blocks import RecordBlock
from hushrank.estimator import called
from hushrank.estimators.searches import Window, octaves
from hushrank.estimators.trace import moments
from hushrank.estimators.trace.recipe import X_OCTAVES
from hushrank.estimators.trace.record_sums import count_finite
from hushrank.estimators.trace.sums import Find, Sums
from hushrank.linalg.integer_sums import integer_sum
from hushrank.linalg.quantize import FloatArray
from hushrank.linalg.scatter import IntegerArray
from hushrank.privacy.mechanisms.vector import GaussianLattice

_STRETCH = 1.4  # bound of a record as a multiple of the median norm
_CLEAR = 2.0  # times what noise and sample would give: a mean of that energy is one


def count_norms(block: RecordBlock, grid: FloatArray) -> IntegerArray:
    """Records in the cells of a grid of norms of their measurements."""
    return count_finite(moments.norms(_rows(block)), grid)


@called("mean measurement")
def sum_measurements(block: RecordBlock, lattice: GaussianLattice) -> IntegerArray:
    """Sum of the measurements, as a vector."""
    return integer_sum(_rows(block), lattice)


def _rows(block: RecordBlock) -> NDArray[Any]:
    """Measurements as rows; a width of -1 would not do where there are none."""
    return block.X.reshape(len(block), math.prod(block.X.shape[1:]))


def learn_center(
    sums: Sums, shape: tuple[int, int], x_scale: float, share: float, grid: Callable[[Window], FloatArray], find: Find
) -> FloatArray | None:
    """The mean measurement, or None where none stands out; for this share of the whole budget and a search."""
    points = grid(octaves(x_scale * math.sqrt(shape[0] * shape[1]), X_OCTAVES, X_OCTAVES))
    bound = _STRETCH * find(sums.total(count_norms, points), points)
    lattice = sums.vector_lattice(bound, share)
    mean = sums.release(sums.total(sum_measurements, lattice), lattice) / sums.n_people
    chance = mean.size * (lattice.scale / sums.n_people) ** 2 + bound * bound / sums.n_people
    return mean.reshape(shape) if float(np.sum(mean * mean)) > _CLEAR * chance else None
