"""Sums over users: kernels that map a block of ratings to lattice integers, one for every release of a rating model.

Each user's contribution is bounded and rounded alone, before the sum; totals are exact.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hushrank.data.ratings.grouping import UserBlock
from hushrank.estimator import called
from hushrank.estimators.completion import rating_kernels as kernels
from hushrank.estimators.completion.leave_one_out import Variants, add_error_differences
from hushrank.estimators.completion.rating_kernels import RatingArrays, Regression, RowsOfItems, Shortening, Weights
from hushrank.estimators.completion.relevance_kernels import add_relevances
from hushrank.estimators.completion.variance_kernels import add_moments, add_noise_levels, add_slopes
from hushrank.linalg.histogram import integer_histogram
from hushrank.linalg.scatter import Bound, IntegerArray, IntegerRows, add_row_products
from hushrank.privacy.mechanisms.symmetric import SymmetricLattice
from hushrank.privacy.mechanisms.vector import GaussianLattice

FloatArray = NDArray[np.float64]

_STRIPES = 64  # of a matrix that all threads add to, each small enough for a cache


def arrays_of(block: UserBlock) -> RatingArrays:
    """The ratings of a block as compiled kernels take them."""
    return RatingArrays(block.indptr, block.items, block.values)


def vector_bound(lattice: GaussianLattice) -> Bound:
    """The bound of a sum of vectors."""
    return Bound(lattice.norm_bound, float(lattice.squared_bound), lattice.lowest)


def row_bound(lattice: SymmetricLattice) -> Bound:
    """The bound of rows whose products are summed."""
    return Bound(lattice.row_norm, float(lattice.squared_bound))


@called("numbers of ratings")
def count_ratings(block: UserBlock, state: tuple[None, FloatArray]) -> IntegerArray:
    """Users in the cells of a grid of numbers of ratings."""
    _, grid = state
    return integer_histogram(np.maximum(np.diff(block.indptr), 1), grid)


@called("norms of ratings")
def count_norms(block: UserBlock, state: tuple[None, FloatArray]) -> IntegerArray:
    """Users in the cells of a grid of norms of their ratings."""
    _, grid = state
    return integer_histogram(row_norms(block), grid)


def row_norms(block: UserBlock) -> FloatArray:
    """Euclidean norm of every user's ratings, added up in the order of the items."""
    return np.sqrt(kernels.squared_norms(arrays_of(block)))


@called("shares of rated items")
def sum_fractions(block: UserBlock, state: tuple[float, float, GaussianLattice]) -> IntegerArray:
    """Sum of n / n_items, less a center."""
    n_items, center, lattice = state
    return _sum_numbers(np.diff(block.indptr) / n_items, center, lattice)


@called("sizes of ratings")
def sum_squares(block: UserBlock, state: tuple[float, float, GaussianLattice]) -> IntegerArray:
    """Sum of min(1, |y|^2 / norm^2), less a center."""
    norm, center, lattice = state
    return _sum_numbers(np.minimum((row_norms(block) / norm) ** 2, 1.0), center, lattice)


def _sum_numbers(numbers: FloatArray, center: float, lattice: GaussianLattice) -> IntegerArray:
    total = np.zeros(1, np.int64)
    kernels.add_numbers(numbers, center, vector_bound(lattice), total)
    return total


@called("ratings of each item")
def sum_counts(block: UserBlock, state: tuple[int, GaussianLattice]) -> IntegerArray:
    """Weighted number of ratings of every item."""
    n_items, lattice = state
    total = np.zeros((n_items, 1), np.int64)
    kernels.add_counts(arrays_of(block), vector_bound(lattice), total)
    return total[:, 0]


@called("mean rating")
def sum_user_means(block: UserBlock, lattice: GaussianLattice) -> IntegerArray:
    """Sum of the users' mean ratings; the bound of the lattice is 1."""
    total = np.zeros(1, np.int64)
    kernels.add_user_means(arrays_of(block), vector_bound(lattice), total)
    return total


@dataclass(frozen=True, slots=True, eq=False)
class ItemSumState:
    """State of `sum_residuals` and `sum_gradients`, which give every item a sum.

    Attributes
    ----------
    regression : Regression
    weights : Weights
        Of the contributions.
    lattice : GaussianLattice
    shortening_lattice : GaussianLattice or None
        For the factors that shortened contributions; without it they add up to zero.
    shortening_center : float
        Subtracted from each factor.
    first_column : int
        Column of W from which on gradients are summed.
    has_base : bool
        Whether they are for the base as well.
    """

    regression: Regression
    weights: Weights
    lattice: GaussianLattice
    shortening_lattice: GaussianLattice | None
    shortening_center: float
    first_column: int = 0
    has_base: bool = True

    @property
    def shortening(self) -> Shortening:
        """How the factors are summed."""
        nothing = Bound(1.0, 0.0, 0.0)
        bound = nothing if self.shortening_lattice is None else vector_bound(self.shortening_lattice)
        return Shortening(bound, self.shortening_center)


@called("item means")
def sum_residuals(block: UserBlock, state: ItemSumState) -> tuple[IntegerArray, IntegerArray]:
    """Sum of the users' residuals by item, and of the factors that shortened them."""
    total, shortened = np.zeros((len(state.regression.base), 1), np.int64), np.zeros(1, np.int64)
    public = (state.regression, state.weights, vector_bound(state.lattice), state.shortening)
    kernels.add_residuals(arrays_of(block), *public, total, shortened)
    return total[:, 0], shortened


@called("item factors")
def sum_gradients(block: UserBlock, state: ItemSumState) -> tuple[IntegerArray, IntegerArray]:
    """Sum of the users' parts of an EM step by item, the base in the first column if asked for, and of the factors."""
    model, bound = state.regression, vector_bound(state.lattice)
    width = state.has_base + model.W.shape[1] - state.first_column
    total, shortened = np.zeros((len(model.base), width), np.int64), np.zeros(1, np.int64)
    public = (model, state.first_column, state.has_base, state.weights, bound, state.shortening)
    kernels.add_gradients(arrays_of(block), *public, total, shortened)
    return total, shortened


@called("variances")
def sum_moments(block: UserBlock, state: tuple[Regression, GaussianLattice]) -> IntegerArray:
    """Sum of the squares by which variances are estimated, then of what they should be."""
    model, lattice = state
    total = np.zeros((1, 2 * model.W.shape[1] + 2), np.int64)
    add_moments(arrays_of(block), model, vector_bound(lattice), total)
    return np.asarray(total[0])


@called("common slopes")
def sum_slopes(block: UserBlock, state: tuple[Regression, int, GaussianLattice]) -> IntegerArray:
    """Sum of the users' slopes from a first column on, then of how far ratings tell them."""
    model, first, lattice = state
    total = np.zeros((1, 2 * (model.W.shape[1] - first)), np.int64)
    add_slopes(arrays_of(block), model, first, vector_bound(lattice), total)
    return np.asarray(total[0])


def sum_noise_levels(block: UserBlock, state: tuple[Regression, float, GaussianLattice]) -> IntegerArray:
    """Sum of the two numbers whose ratio corrects the variance of the noise."""
    model, n_expected, lattice = state
    total = np.zeros((1, 2), np.int64)
    add_noise_levels(arrays_of(block), model, n_expected, vector_bound(lattice), total)
    return np.asarray(total[0])


@called("comparison of models")
def sum_error_differences(block: UserBlock, state: tuple[Regression, Variants, GaussianLattice]) -> IntegerArray:
    """Sum of the leave-one-out errors of all variants but the first, less that of the first."""
    model, variants, lattice = state
    total = np.zeros((1, len(variants.widths) - 1), np.int64)
    add_error_differences(arrays_of(block), model, variants, vector_bound(lattice), total)
    return np.asarray(total[0])


@called("relevance of features")
def sum_relevances(block: UserBlock, state: tuple[Regression, FloatArray, GaussianLattice]) -> IntegerArray:
    """Sum of how much more each feature explains of the users' residuals than chance would."""
    model, G, lattice = state
    total = np.zeros((1, G.shape[1]), np.int64)
    add_relevances(arrays_of(block), model, G, vector_bound(lattice), total)
    return np.asarray(total[0])


@dataclass(frozen=True, slots=True, eq=False)
class RowState:
    """State of `SecondMoment`: whose residuals, which rows of them, and their lattice.

    `offset` is 1 where products above the diagonal are summed, and 0 where those on it are summed as well.
    """

    regression: Regression
    rows: RowsOfItems
    lattice: SymmetricLattice
    offset: int = 1

    @property
    def size(self) -> int:
        """Rows of the matrix."""
        return int(self.rows.positions.max()) + 1


def most_counted(counts: FloatArray, n_items: int) -> NDArray[np.int64]:
    """The `n_items` items with the largest counts, in the order of the catalogue."""
    return np.sort(np.argsort(-counts, kind="stable")[:n_items])


def place_items(chosen: NDArray[np.int64], n_items: int) -> NDArray[np.int32]:
    """Rows of a second moment of the chosen items alone: a position for each of them, -1 for the others."""
    positions = np.full(n_items, -1, np.int32)
    positions[chosen] = np.arange(len(chosen), dtype=np.int32)
    return positions


@dataclass(frozen=True, slots=True)
class SecondMoment:
    """Sum of y y^T over the integer rows y of users, its upper triangle; one matrix for all threads, in stripes."""

    def new_totals(self, state: RowState) -> tuple[IntegerArray, ...]:
        """The matrix of zeros."""
        return (np.zeros((state.size, state.size), np.int64),)

    def n_parts(self, state: RowState) -> int:
        """The number of stripes."""
        return _n_stripes(state.size)

    def prepare(self, block: UserBlock, state: RowState) -> IntegerRows:
        """The rows of the users of a block, bounded and rounded."""
        return kernels.quantize_rows(arrays_of(block), state.regression, state.rows, row_bound(state.lattice))

    def add(self, prepared: IntegerRows, state: RowState, totals: tuple[IntegerArray, ...], part: int) -> None:
        """Add the products that fall into one stripe of rows of the matrix."""
        size = len(totals[0])
        first, stop = (size * edge // _n_stripes(size) for edge in (part, part + 1))
        add_row_products(prepared, first, stop, state.offset, totals[0])


def _n_stripes(size: int) -> int:
    return max(min(_STRIPES, size), 1)
