"""The three designs: what a record of each contributes, as functions of a block and of public numbers.

`dense` measurements are matrices, `rank_one` ones are x z^T, and an `entry` is one entry of the matrix. A design is a
frozen record with its shape and, where the covariance of the measurements is no product of one of rows and one of
columns, the `precision` that turns a measurement X into Lambda^-1 X, one record at a time.
"""

import math
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hushrank.data.records.blocks import RecordBlock
from hushrank.data.vectors import to_float64
from hushrank.estimators.trace import dense_kernels, entry_kernels, rank_one_kernels
from hushrank.estimators.trace.coordinates import Tangent, Whitening
from hushrank.linalg.quantize import FloatArray
from hushrank.linalg.scatter import Bound, IntegerArray

Precision = FloatArray | Callable[..., Any] | None

_CALLS = threading.Lock()


@dataclass(frozen=True, slots=True, eq=False)
class Design(ABC):
    """What kernels of all designs have in common.

    Attributes
    ----------
    shape : tuple of int
        (d1, d2) of the matrix.
    precision : array of shape (d1, d2), callable or None
        What entries of a measurement are multiplied with, or a function of one measurement; None where nothing is.
    center : array of shape (d1, d2) or None
        Subtracted from dense measurements; the intercept makes up for it.
    """

    shape: tuple[int, int]
    precision: Precision = None
    center: FloatArray | None = None

    name: ClassVar[str]
    unit: ClassVar[float] = 1.0

    def centered(self, X: NDArray[Any]) -> NDArray[Any]:
        """Measurements without their center; the very same array where there is none."""
        if self.center is None:
            return X
        with np.errstate(all="ignore"):  # numbers may be anything
            return X - self.center

    def total_shape(self, rank: int) -> tuple[int, int]:
        """Of the sum of gradients."""
        return rank, sum(self.shape)

    def parts(self, total: FloatArray) -> tuple[FloatArray, FloatArray]:
        """P of shape (r, d2) and Q of shape (d1, r) of a released sum of gradients."""
        return total[:, : self.shape[1]], total[:, self.shape[1] :].T

    def _both(self, X: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Measurements as they are and as they are weighted, of one type: kernels are compiled for no mixed ones."""
        W = self._weighted(X)
        return (X if W is X else to_float64(X)), W

    def _weighted(self, X: NDArray[Any]) -> NDArray[Any]:
        """Measurements that meet the tangent space, in float64; the very same array where they are not weighted."""
        return X

    @abstractmethod
    def predictions(self, X: NDArray[Any], coef: FloatArray) -> FloatArray:
        """Expected answers."""

    @abstractmethod
    def gradient_norms(self, block: RecordBlock, tangent: Tangent) -> tuple[FloatArray, FloatArray]:
        """Norm of the gradient of each record in a tangent space, and its residual; not finite where it is not."""

    @abstractmethod
    def gradients(self, block: RecordBlock, tangent: Tangent, bound: Bound) -> IntegerArray:
        """Sum of the gradients, each within the bound."""

    @abstractmethod
    def start_norms(self, block: RecordBlock, whitening: Whitening, intercept: float) -> FloatArray:
        """Norm of each record's whitened measurement times its answer; not finite where the record is not."""

    @abstractmethod
    def start(self, block: RecordBlock, whitening: Whitening, intercept: float, bound: Bound) -> IntegerArray:
        """Sum of the measurements times their answers, each within the bound."""


class DenseDesign(Design):
    """Measurements that are matrices."""

    __slots__ = ()
    name = "dense"

    def predictions(self, X: NDArray[Any], coef: FloatArray) -> FloatArray:
        found = dense_kernels.predictions(X, coef)
        return found if self.center is None else found - float(np.sum(self.center * coef))

    def gradient_norms(self, block: RecordBlock, tangent: Tangent) -> tuple[FloatArray, FloatArray]:
        X, W = self._both(self.centered(block.X))
        return dense_kernels.gradient_norms(X, W, block.y, tangent, W is X)

    def gradients(self, block: RecordBlock, tangent: Tangent, bound: Bound) -> IntegerArray:
        total, (X, W) = np.zeros(self.total_shape(len(tangent.s)), np.int64), self._both(self.centered(block.X))
        dense_kernels.add_gradients(X, W, block.y, tangent, W is X, bound, total)
        return total

    def start_norms(self, block: RecordBlock, whitening: Whitening, intercept: float) -> FloatArray:
        return dense_kernels.start_norms(self._weighted(self.centered(block.X)), block.y, whitening, intercept)

    def start(self, block: RecordBlock, whitening: Whitening, intercept: float, bound: Bound) -> IntegerArray:
        total = np.zeros(self.shape, np.int64)
        W = self._weighted(self.centered(block.X))
        dense_kernels.add_start(W, block.y, whitening, intercept, bound, total)
        return total

    def _weighted(self, X: NDArray[Any]) -> NDArray[Any]:
        if self.precision is None:
            return X
        if not callable(self.precision):
            with np.errstate(all="ignore"):
                return X * self.precision
        return np.stack([np.empty(self.shape), *(_apply(self.precision, self.shape, one) for one in X)])[1:]


class RankOneDesign(Design):
    """Measurements x z^T."""

    __slots__ = ()
    name = "rank_one"

    def predictions(self, X: NDArray[Any], coef: FloatArray) -> FloatArray:
        return rank_one_kernels.predictions(X, coef)

    def gradient_norms(self, block: RecordBlock, tangent: Tangent) -> tuple[FloatArray, FloatArray]:
        return rank_one_kernels.gradient_norms(*self._both(block.X), block.y, tangent)

    def gradients(self, block: RecordBlock, tangent: Tangent, bound: Bound) -> IntegerArray:
        total = np.zeros(self.total_shape(len(tangent.s)), np.int64)
        rank_one_kernels.add_gradients(*self._both(block.X), block.y, tangent, bound, total)
        return total

    def start_norms(self, block: RecordBlock, whitening: Whitening, intercept: float) -> FloatArray:
        return rank_one_kernels.start_norms(self._weighted(block.X), block.y, whitening, intercept)

    def start(self, block: RecordBlock, whitening: Whitening, intercept: float, bound: Bound) -> IntegerArray:
        total = np.zeros(self.shape, np.int64)
        rank_one_kernels.add_start(self._weighted(block.X), block.y, whitening, intercept, bound, total)
        return total

    def _weighted(self, X: NDArray[Any]) -> NDArray[Any]:
        if self.precision is None:
            return X
        assert callable(self.precision)
        d1, width = self.shape[0], sum(self.shape)
        rows = (_apply(self.precision, (width,), one[:d1], one[d1:]) for one in X)
        return np.stack([np.empty(width), *rows])[1:]


class EntryDesign(Design):
    """Entries of the matrix."""

    __slots__ = ()
    name = "entry"

    @property
    def unit(self) -> float:  # type: ignore[override]  # it depends on the shape
        """What an entry is multiplied with: measurements of one entry are then isotropic if all are seen as often."""
        return math.sqrt(self.shape[0] * self.shape[1])

    def total_shape(self, rank: int) -> tuple[int, int]:
        return sum(self.shape), rank

    def parts(self, total: FloatArray) -> tuple[FloatArray, FloatArray]:
        return total[: self.shape[1]].T, total[self.shape[1] :]

    def predictions(self, X: NDArray[Any], coef: FloatArray) -> FloatArray:
        return entry_kernels.predictions(X, coef)

    def gradient_norms(self, block: RecordBlock, tangent: Tangent) -> tuple[FloatArray, FloatArray]:
        return entry_kernels.gradient_norms(block.X, self._weights(block.X), block.y, tangent, self.unit)

    def gradients(self, block: RecordBlock, tangent: Tangent, bound: Bound) -> IntegerArray:
        total = np.zeros(self.total_shape(len(tangent.s)), np.int64)
        entry_kernels.add_gradients(block.X, self._weights(block.X), block.y, tangent, self.unit, bound, total)
        return total

    def start_norms(self, block: RecordBlock, whitening: Whitening, intercept: float) -> FloatArray:
        return entry_kernels.start_norms(block.X, self._weights(block.X), block.y, whitening, self.unit, intercept)

    def start(self, block: RecordBlock, whitening: Whitening, intercept: float, bound: Bound) -> IntegerArray:
        total, weights = np.zeros(self.shape, np.int64), self._weights(block.X)
        entry_kernels.add_start(block.X, weights, block.y, whitening, self.unit, intercept, bound, total)
        return total

    def _weights(self, X: NDArray[Any]) -> FloatArray:
        if self.precision is None:
            return np.ones(len(X))
        assert not callable(self.precision)
        return np.nan_to_num(entry_kernels.predictions(X, self.precision))


def _apply(precision: Callable[..., Any], shape: tuple[int, ...], *parts: NDArray[Any]) -> FloatArray:
    """What somebody's function makes of one measurement, and NaN where it fails: one record's values never raise.

    The result is copied: a function that fills one array again and again would give all records of a block the last.
    Only one thread calls functions at a time, for the same reason.
    """
    try:
        with _CALLS, np.errstate(all="ignore"):  # a warning would tell of a value, and complex numbers would make one
            made = precision(*(np.array(part, np.float64) for part in parts))
            found = [np.asarray(part) for part in (made if len(parts) > 1 else (made,))]
            is_right = [part.shape for part in found] == [part.shape for part in parts]
            if is_right and all(part.dtype.kind in "biuf" for part in found):
                return np.concatenate([part.astype(np.float64) for part in found])
    except Exception:  # a function of somebody else's making may raise anything
        return np.full(shape, np.nan)
    return np.full(shape, np.nan)


DESIGNS: dict[str, type[Design]] = {kind.name: kind for kind in (DenseDesign, RankOneDesign, EntryDesign)}
