"""Sums over users: kernels that map a block of records to lattice integers or counts, one for every release.

Each user's contribution is bounded and rounded alone, before the sum; totals are exact.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hushrank.data.records.blocks import UserRecordBlock
from hushrank.estimators.personalization import (
    altmin_kernels,
    gain_kernels,
    gradient_kernels,
    moment_kernels,
    prior_kernels,
)
from hushrank.estimators.personalization.altmin_kernels import Equations
from hushrank.estimators.personalization.gradient_kernels import Tangent
from hushrank.estimators.personalization.head_kernels import HeadModel, RecordArrays
from hushrank.estimators.personalization.moment_kernels import MomentBound
from hushrank.linalg.histogram import integer_histogram
from hushrank.linalg.integer_sums import check_integer_products, integer_gram, integer_sum
from hushrank.linalg.quantize import FloatArray
from hushrank.linalg.scatter import Bound, IntegerArray
from hushrank.privacy.mechanisms.symmetric import SymmetricLattice
from hushrank.privacy.mechanisms.vector import GaussianLattice


class Products(NamedTuple):
    """Which mean products y x of users are meant: of labels or of answers, in which coordinates."""

    is_logistic: bool
    whitening: FloatArray


def arrays_of(block: UserRecordBlock) -> RecordArrays:
    """The records of a block as compiled kernels take them."""
    return RecordArrays(block.indptr, block.X, block.y)


def count_moment_norms(block: UserRecordBlock, state: tuple[None, FloatArray]) -> IntegerArray:
    """Users in the cells of a grid of norms of their second moments."""
    _, grid = state
    return integer_histogram(moment_kernels.moment_norms(arrays_of(block)), grid)


def sum_moments(block: UserRecordBlock, lattice: SymmetricLattice) -> IntegerArray:
    """Sum of the users' second moments, whose Frobenius norm is at most the square of the lattice's row norm."""
    check_integer_products()
    integers = np.empty((len(block.y), block.X.shape[1]))
    n_rows = moment_kernels.quantize_moments(arrays_of(block), moment_bound(lattice), integers)
    return multiply_rows(integers[:n_rows])


def moment_bound(lattice: SymmetricLattice) -> MomentBound:
    """The bound of a sum of positive semidefinite matrices: of Frobenius norm at most the square of the row norm."""
    return MomentBound(lattice.row_norm * lattice.row_norm, float(lattice.squared_bound))


def multiply_rows(integers: FloatArray) -> IntegerArray:
    """Y^T Y of integer rows that belong to at most 2^13 users, exactly.

    Sums over any rows of one user are at most the bound, T <= 2^36, in size, so that no partial sum exceeds 2^49.
    """
    return (integers.T @ integers).astype(np.int64)


def count_product_norms(block: UserRecordBlock, state: tuple[Products, FloatArray]) -> IntegerArray:
    """Users in the cells of a grid of squared norms of their mean products."""
    products, grid = state
    rows = moment_kernels.mean_products(arrays_of(block), *products)
    return integer_histogram(moment_kernels.squared_norms(rows), grid)


def sum_products(block: UserRecordBlock, state: tuple[Products, SymmetricLattice]) -> IntegerArray:
    """Sum of s s^T over the users' mean products s."""
    products, lattice = state
    rows = moment_kernels.mean_products(arrays_of(block), *products)
    return integer_gram(rows, lattice.row_norm, lattice.squared_bound)


def count_mean_squares(block: UserRecordBlock, state: tuple[None, FloatArray]) -> IntegerArray:
    """Users in the cells of a grid of mean squared answers."""
    _, grid = state
    return integer_histogram(moment_kernels.mean_squares(arrays_of(block)), grid)


def count_noise_levels(block: UserRecordBlock, state: tuple[HeadModel, FloatArray]) -> IntegerArray:
    """Users in the cells of a grid of variances of what their heads leave."""
    model, grid = state
    return integer_histogram(gradient_kernels.noise_levels(arrays_of(block), model), grid)


@dataclass(frozen=True, slots=True, eq=False)
class SizeState:
    """State of `count_gradient_sizes`: grids for the norms of gradients and of normalizers."""

    model: HeadModel
    tangent: Tangent
    norm_grid: FloatArray
    size_grid: FloatArray


def count_gradient_sizes(block: UserRecordBlock, state: SizeState) -> tuple[IntegerArray, IntegerArray]:
    """Users in the cells of both grids."""
    norms, sizes = gradient_kernels.gradient_sizes(arrays_of(block), state.model, state.tangent)
    return integer_histogram(norms, state.norm_grid), integer_histogram(sizes, state.size_grid)


@dataclass(frozen=True, slots=True, eq=False)
class GradientState:
    """State of `sum_gradients`: lattices of gradients and of normalizers."""

    model: HeadModel
    tangent: Tangent
    lattice: GaussianLattice
    normalizer_lattice: SymmetricLattice


def sum_gradients(block: UserRecordBlock, state: GradientState) -> tuple[IntegerArray, IntegerArray]:
    """Sum of the users' gradients, of shape (k, d), and of their normalizers, of shape (k, k)."""
    k, d = state.model.subspace.shape
    total, normalizer = np.zeros((k, d), np.int64), np.zeros((k, k), np.int64)
    bound = Bound(state.lattice.norm_bound, float(state.lattice.squared_bound))
    rows = Bound(state.normalizer_lattice.row_norm, float(state.normalizer_lattice.squared_bound))
    gradient_kernels.add_gradients(arrays_of(block), state.model, state.tangent, bound, rows, total, normalizer)
    return total, normalizer


@dataclass(frozen=True, slots=True, eq=False)
class HeadState:
    """State of `sum_heads`: how heads are scaled and shortened, and the lattice of their moments."""

    model: HeadModel
    root: FloatArray
    norm: float
    lattice: SymmetricLattice


def sum_heads(block: UserRecordBlock, state: HeadState) -> IntegerArray:
    """Sum over users of (f, 1)(f, 1)^T and the posterior covariance of f, f = S^-1/2 v shortened to a norm."""
    check_integer_products()
    width, bound = len(state.root) + 1, moment_bound(state.lattice)
    integers = np.empty((len(block) * width, width))
    n_rows = prior_kernels.quantize_heads(arrays_of(block), state.model, state.root, state.norm, bound, integers)
    return multiply_rows(integers[:n_rows])


def sum_gains(block: UserRecordBlock, state: tuple[HeadModel, FloatArray, GaussianLattice]) -> IntegerArray:
    """Sum of the users' gains, one for every scale of the prior covariance."""
    model, scales, lattice = state
    return integer_sum(gain_kernels.leave_one_out_gains(arrays_of(block), model, scales), lattice)


@dataclass(frozen=True, slots=True, eq=False)
class EquationSizeState:
    """State of `count_equation_sizes`: grids for the norms of left and of right sides."""

    equations: Equations
    left_grid: FloatArray
    right_grid: FloatArray


def count_equation_sizes(block: UserRecordBlock, state: EquationSizeState) -> tuple[IntegerArray, IntegerArray]:
    """Users in the cells of both grids."""
    left, right = altmin_kernels.equation_sizes(arrays_of(block), state.equations)
    return integer_histogram(left, state.left_grid), integer_histogram(right, state.right_grid)


@dataclass(frozen=True, slots=True, eq=False)
class EquationState:
    """State of `sum_equations`: lattices of left and of right sides."""

    equations: Equations
    left_lattice: SymmetricLattice
    right_lattice: GaussianLattice


def sum_equations(block: UserRecordBlock, state: EquationState) -> tuple[IntegerArray, IntegerArray]:
    """Sum of the users' normal equations: left sides of shape (d k, d k), right sides of shape (d, k)."""
    check_integer_products()
    k, d = state.equations.model.subspace.shape
    n_most = int(np.minimum(np.diff(block.indptr), altmin_kernels.MOST_ROWS).sum())
    integers, right = np.empty((n_most, d * k)), np.zeros((d, k), np.int64)
    left_bound = moment_bound(state.left_lattice)
    right_bound = Bound(state.right_lattice.norm_bound, float(state.right_lattice.squared_bound))
    n_rows = altmin_kernels.add_equations(arrays_of(block), state.equations, left_bound, right_bound, integers, right)
    return multiply_rows(integers[:n_rows]), right
