"""Rows and columns of the measurements of each design: what a record adds to the sum that tells how they vary."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hushrank.estimators.searches import Window, octaves
from hushrank.estimators.trace import entry_kernels, moments
from hushrank.estimators.trace.designs import Design
from hushrank.estimators.trace.recipe import X_OCTAVES
from hushrank.estimators.trace.sums import Lattice, Sums
from hushrank.estimators.trace.whitening import shrink_covariance, shrink_variances
from hushrank.linalg.integer_sums import integer_gram, integer_sum
from hushrank.linalg.quantize import FloatArray
from hushrank.linalg.scatter import IntegerArray


@dataclass(frozen=True, slots=True)
class Side(ABC):
    """Rows or columns of the measurements of a design.

    Attributes
    ----------
    shape : tuple of int
    columns : bool
    """

    shape: tuple[int, int]
    columns: bool

    stretch: ClassVar[float] = 2.0
    """Bound of a record as a multiple of the median: a search for a high quantile may run off."""

    @property
    def width(self) -> int:
        """d1 or d2."""
        return self.shape[1] if self.columns else self.shape[0]

    def window(self, x_scale: float) -> Window | None:
        """Where the norm of one record's statistic is searched for; None where it is known."""
        return octaves(x_scale * x_scale * math.sqrt(self.width), 2 * X_OCTAVES, 2 * X_OCTAVES)

    @abstractmethod
    def norms(self, X: NDArray[Any]) -> FloatArray:
        """Norm of the statistic of each record."""

    def book(self, sums: Sums, bound: float, share: float) -> Lattice:
        """The lattice of the sum."""
        return sums.vector_lattice(bound, share)

    @abstractmethod
    def total(self, X: NDArray[Any], lattice: Lattice) -> IntegerArray:
        """Sum of the statistics, each within the bound of the lattice."""

    @abstractmethod
    def root(self, sums: Sums, total: IntegerArray, lattice: Lattice) -> FloatArray:
        """The inverse root of the covariance of this side, a matrix or a diagonal, from the sum."""


class DenseSide(Side):
    """Products of rows of a matrix, or of columns."""

    __slots__ = ()

    def norms(self, X: NDArray[Any]) -> FloatArray:
        return moments.norms(moments.row_products(X, self.columns))

    def total(self, X: NDArray[Any], lattice: Lattice) -> IntegerArray:
        return integer_sum(moments.row_products(X, self.columns), lattice)

    def root(self, sums: Sums, total: IntegerArray, lattice: Lattice) -> FloatArray:
        A = moments.from_triangle(sums.release(total, lattice) / sums.n_people, self.width)
        return shrink_covariance(A, lattice.scale / (math.sqrt(2.0) * sums.n_people), sums.n_people)


class DiagonalSide(Side):
    """Mean squares of rows of a matrix, or of columns."""

    __slots__ = ()

    def norms(self, X: NDArray[Any]) -> FloatArray:
        return moments.norms(moments.mean_squares(X, self.columns))

    def book(self, sums: Sums, bound: float, share: float) -> Lattice:
        return sums.vector_lattice(bound, share, nonnegative=True)

    def total(self, X: NDArray[Any], lattice: Lattice) -> IntegerArray:
        return integer_sum(moments.mean_squares(X, self.columns), lattice)

    def root(self, sums: Sums, total: IntegerArray, lattice: Lattice) -> FloatArray:
        return _diagonal_root(sums.release(total, lattice) / sums.n_people, lattice.scale / sums.n_people)


@dataclass(frozen=True, slots=True)
class VectorSide(Side):
    """x x^T, or z z^T.

    Attributes
    ----------
    units : tuple of floats
        About the size of each number, so that one of large numbers does not hide the others.
    """

    units: tuple[float, ...] = ()

    stretch = 1.4

    def window(self, x_scale: float) -> Window | None:
        return octaves(math.sqrt(self.width), X_OCTAVES, X_OCTAVES)

    def norms(self, X: NDArray[Any]) -> FloatArray:
        return moments.norms(self._part(X))

    def book(self, sums: Sums, bound: float, share: float) -> Lattice:
        return sums.gram_lattice(bound, share)

    def total(self, X: NDArray[Any], lattice: Lattice) -> IntegerArray:
        return integer_gram(self._part(X), lattice.row_norm, lattice.squared_bound)

    def root(self, sums: Sums, total: IntegerArray, lattice: Lattice) -> FloatArray:
        A = sums.release_symmetric(total, lattice) / sums.n_people
        return shrink_covariance(A, lattice.scale / sums.n_people, sums.n_people, np.array(self.units))

    def part(self, X: NDArray[Any]) -> NDArray[Any]:
        """x, or z, of every record."""
        return X[:, self.shape[0] :] if self.columns else X[:, : self.shape[0]]

    def _part(self, X: NDArray[Any]) -> FloatArray:
        with np.errstate(all="ignore"):  # numbers may be anything
            return np.ascontiguousarray(self.part(X) / np.array(self.units))


class CountSide(Side):
    """How often a row is seen, or a column, in units of the mean of all."""

    __slots__ = ()

    def window(self, x_scale: float) -> Window | None:
        return None

    def norms(self, X: NDArray[Any]) -> FloatArray:
        return np.ones(len(X))

    def book(self, sums: Sums, bound: float, share: float) -> Lattice:
        return sums.vector_lattice(1.0, share, nonnegative=True)

    def total(self, X: NDArray[Any], lattice: Lattice) -> IntegerArray:
        total = np.zeros(self.width, np.int64)
        entry_kernels.add_counts(X, self.columns, self.shape, math.isqrt(lattice.squared_bound), total)
        return total

    def root(self, sums: Sums, total: IntegerArray, lattice: Lattice) -> FloatArray:
        # One record is the largest integer within the bound, which is a little less than the bound itself.
        record = math.isqrt(lattice.squared_bound) * lattice.unit * sums.n_people / self.width
        return _diagonal_root(sums.release(total, lattice) / record, lattice.scale / record)


def _diagonal_root(variances: FloatArray, noise: float) -> FloatArray:
    return np.array([[1.0 / math.sqrt(variance) for variance in shrink_variances(variances, noise).tolist()]])


def sides_of(design: Design) -> tuple[Side, Side]:
    """Rows and columns of a design."""
    (d1, d2), kinds = design.shape, {"rank_one": VectorSide, "entry": CountSide}
    is_small = d1 * d2 * (d1 + d2) <= moments.MOST_PRODUCTS
    kind: Any = kinds.get(design.name, DenseSide if is_small else DiagonalSide)
    return kind(design.shape, False), kind(design.shape, True)
