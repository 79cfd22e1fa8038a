"""Sums over users: kernels that map a block of ratings to lattice integers, one for every release of a rating model.

Each user's contribution is bounded and rounded alone, before the sum; totals are exact.
"""

import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushrank.data.ratings.reading import UserBlock
from hushrank.estimators.completion import rating_kernels as kernels
from hushrank.estimators.completion.leave_one_out import add_error_differences
from hushrank.linalg.histogram import integer_histogram
from hushrank.linalg.scatter import IntegerArray, add_products_of_users
from hushrank.privacy.mechanisms.symmetric import SymmetricLattice
from hushrank.privacy.mechanisms.vector import GaussianLattice

FloatArray = NDArray[np.float64]

_STRIPES = 64  # of a matrix that all threads add to, each with its own lock, and small enough for a cache


@dataclass(frozen=True, slots=True)
class Regression:
    """What every user regresses the own ratings on; public.

    Attributes
    ----------
    base : ndarray of shape (n_items,)
        Prediction without ratings.
    W : ndarray of shape (n_items, k)
        Columns, scaled so that their coefficients have variance 1.
    ridge : float
        Variance of the noise.
    """

    base: FloatArray
    W: FloatArray
    ridge: float


@dataclass(frozen=True, slots=True)
class Shaping:
    """Public weights of contributions: items by `shape`, users by their number of ratings over `count_norm`^2."""

    shape: FloatArray
    count_norm: float


def count_ratings(block: UserBlock, state: tuple[None, FloatArray]) -> IntegerArray:
    """Users in the cells of a grid of numbers of ratings."""
    return integer_histogram(np.maximum(np.diff(block.indptr), 1), state[1])


def count_norms(block: UserBlock, state: tuple[None, FloatArray]) -> IntegerArray:
    """Users in the cells of a grid of norms of their ratings."""
    return integer_histogram(row_norms(block), state[1])


def row_norms(block: UserBlock) -> FloatArray:
    """Euclidean norm of every user's ratings, added up in the order of the items."""
    return np.sqrt(kernels.squared_norms(block.indptr, block.values))


def sum_fractions(block: UserBlock, state: tuple[float, float, GaussianLattice]) -> IntegerArray:
    """Sum of n / n_items, less a center."""
    n_items, center, lattice = state
    return _sum_numbers(np.diff(block.indptr) / n_items, center, lattice)


def sum_squares(block: UserBlock, state: tuple[float, float, GaussianLattice]) -> IntegerArray:
    """Sum of min(1, |y|^2 / norm^2), less a center."""
    norm, center, lattice = state
    return _sum_numbers(np.minimum((row_norms(block) / norm) ** 2, 1.0), center, lattice)


def _sum_numbers(numbers: FloatArray, center: float, lattice: GaussianLattice) -> IntegerArray:
    total = np.zeros(1, np.int64)
    kernels.add_numbers(numbers, center, *_bound(lattice), total)
    return total


def sum_counts(block: UserBlock, state: tuple[int, GaussianLattice]) -> IntegerArray:
    """Weighted number of ratings of every item."""
    n_items, lattice = state
    total = np.zeros((n_items, 1), np.int64)
    kernels.add_counts(block.indptr, block.items, lattice.norm_bound, float(lattice.squared_bound), total)
    return total[:, 0]


def sum_user_means(block: UserBlock, lattice: GaussianLattice) -> IntegerArray:
    """Sum of the users' mean ratings."""
    total = np.zeros(1, np.int64)
    kernels.add_user_means(block.indptr, block.values, float(lattice.squared_bound), lattice.lowest, total)
    return total


@dataclass(frozen=True, slots=True)
class StepState:
    """State of `sum_residuals` and `sum_gradients`."""

    regression: Regression
    shaping: Shaping
    lattice: GaussianLattice
    clip_lattice: GaussianLattice | None
    clip_center: float
    n_fixed: int = 0
    has_base: bool = True

    @property
    def bounds(self) -> FloatArray:
        """Numbers in the order that the compiled kernels read them; without a lattice the factors add up to zero."""
        clip = (1.0, 0.0, 0.0) if self.clip_lattice is None else _bound(self.clip_lattice)
        return np.array([*_bound(self.lattice), *clip, self.clip_center])


def sum_residuals(block: UserBlock, state: StepState) -> tuple[IntegerArray, IntegerArray]:
    """Sum of the users' residuals by item, and of the factors that shortened them."""
    model, shaping = state.regression, state.shaping
    total, clipped = np.zeros((len(model.base), 1), np.int64), np.zeros(1, np.int64)
    kernels.add_residuals(
        *_ratings(block), model.base, model.W, model.ridge, shaping.shape, shaping.count_norm, state.bounds,
        total, clipped,
    )  # fmt: skip
    return total[:, 0], clipped


def sum_gradients(block: UserBlock, state: StepState) -> tuple[IntegerArray, IntegerArray]:
    """Sum of the users' EM steps by item, the base in the first column if asked for, and of the shortening factors."""
    model, shaping = state.regression, state.shaping
    width = state.has_base + model.W.shape[1] - state.n_fixed
    total, clipped = np.zeros((len(model.base), width), np.int64), np.zeros(1, np.int64)
    kernels.add_gradients(
        *_ratings(block), model.base, model.W, state.n_fixed, state.has_base, model.ridge, shaping.shape,
        shaping.count_norm, state.bounds, total, clipped,
    )  # fmt: skip
    return total, clipped


def sum_moments(block: UserBlock, state: tuple[Regression, GaussianLattice]) -> IntegerArray:
    """Sum of the squares by which variances are estimated, then of what they should be."""
    model, lattice = state
    total = np.zeros((1, 2 * model.W.shape[1] + 2), np.int64)
    kernels.add_moments(*_ratings(block), model.base, model.W, model.ridge, *_bound(lattice), total)
    return np.asarray(total[0])


def sum_noise_levels(block: UserBlock, state: tuple[Regression, float, GaussianLattice]) -> IntegerArray:
    """Sum of the two numbers whose ratio corrects the variance of the noise."""
    model, n_expected, lattice = state
    total = np.zeros((1, 2), np.int64)
    kernels.add_noise_levels(*_ratings(block), model.base, model.W, model.ridge, n_expected, *_bound(lattice), total)
    return np.asarray(total[0])


@dataclass(frozen=True, slots=True)
class Variants:
    """Variants of a regression: the columns W[:, : widths[v]] times scales[v], with the ridge ridges[v]."""

    widths: IntegerArray
    scales: FloatArray
    ridges: FloatArray


def sum_error_differences(block: UserBlock, state: tuple[Regression, Variants, GaussianLattice]) -> IntegerArray:
    """Sum of the leave-one-out errors of all variants but the first, less that of the first."""
    model, variants, lattice = state
    total = np.zeros((1, len(variants.widths) - 1), np.int64)
    add_error_differences(
        *_ratings(block), model.base, model.W, variants.widths, variants.scales, variants.ridges, *_bound(lattice),
        total,
    )  # fmt: skip
    return np.asarray(total[0])


@dataclass(frozen=True, slots=True)
class RowState:
    """State of `SecondMomentOfUsers`: rows x_j = (e_j + shift) shape_j of the items with a position.

    Attributes
    ----------
    positions : ndarray of shape (n_items,)
        Row of the matrix for each item, rising, or -1.
    is_stretched : bool
        Whether every row is scaled to the norm bound, or only longer ones are shortened.
    """

    regression: Regression
    shift: float
    shape: FloatArray
    positions: NDArray[np.int32]
    lattice: SymmetricLattice
    is_stretched: bool

    @property
    def size(self) -> int:
        """Rows of the matrix."""
        return int(self.positions.max()) + 1


def most_counted(counts: FloatArray, n_items: int) -> NDArray[np.int64]:
    """The `n_items` items with the largest counts, in the order of the catalogue."""
    return np.sort(np.argsort(-counts, kind="stable")[:n_items])


def place_items(chosen: NDArray[np.int64], n_items: int) -> NDArray[np.int32]:
    """Rows of a second moment of the chosen items alone: a position for each of them, -1 for the others."""
    positions = np.full(n_items, -1, np.int32)
    positions[chosen] = np.arange(len(chosen), dtype=np.int32)
    return positions


class SecondMomentOfUsers:
    """Sum of y y^T above the diagonal over integer rows y; one matrix for all threads."""

    def __init__(self) -> None:
        self._locks = [threading.Lock() for _ in range(_STRIPES)]

    def new_totals(self, state: RowState) -> tuple[IntegerArray, ...]:
        """The matrix of zeros."""
        return (np.zeros((state.size, state.size), np.int64),)

    def add(self, block: UserBlock, state: RowState, totals: tuple[IntegerArray, ...]) -> None:
        """Round the rows of a block, then add their products stripe by stripe."""
        n_ratings, model, size = len(block.items), state.regression, state.size
        starts = np.zeros(len(block) + 1, np.int64)
        columns, integers = np.empty(n_ratings, np.int32), np.empty(n_ratings, np.int64)
        bounds = np.array([state.lattice.row_norm, state.lattice.squared_bound, state.is_stretched], np.float64)
        kernels.quantize_rows_of_users(
            *_ratings(block), model.base, model.W, model.ridge, state.shift, state.shape, state.positions, bounds,
            starts, columns, integers,
        )  # fmt: skip
        edges = np.linspace(0, size, _STRIPES + 1).astype(np.int64)
        first = threading.get_ident() % _STRIPES  # threads begin at different stripes
        for stripe in (*range(first, _STRIPES), *range(first)):
            with self._locks[stripe]:
                add_products_of_users(starts, columns, integers, edges[stripe], edges[stripe + 1], totals[0])


def _ratings(block: UserBlock) -> tuple[Any, Any, Any]:
    return block.indptr, block.items, block.values


def _bound(lattice: GaussianLattice) -> tuple[float, float, float]:
    return lattice.norm_bound, float(lattice.squared_bound), lattice.lowest
