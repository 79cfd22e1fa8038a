"""Rows of numbers in blocks: what every source of rows offers, and the two sources that lie in memory."""

import warnings
from abc import abstractmethod
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hushrank.data.frames import check_no_columns
from hushrank.data.numbers import check_matrix, convert
from hushrank.data.source import MAX_BLOCK_BYTES, MAX_BLOCK_ROWS, Block, Source
from hushrank.data.sparse import check_indices
from hushrank.exceptions import InvalidParameter


class Rows(Source):
    """Rows of numbers, one a person.

    Attributes
    ----------
    n_features : int
        Columns of every block.
    n_samples, columns, can_repeat : as of every `Source`
    is_complex : bool
        Whether the blocks are complex.
    """

    is_complex = False

    def __init__(self, n_features: int, n_samples: int | None, columns: Sequence[Hashable] | None = None) -> None:
        super().__init__(n_samples, columns)
        self.n_features = n_features

    @property
    def sizes(self) -> Mapping[str, int]:
        """The number of columns."""
        return {"n_features": self.n_features}

    @abstractmethod
    def blocks(self, max_rows: int = MAX_BLOCK_ROWS) -> Iterator[Block]:
        """Real or complex arrays of shape (at most `max_rows` and 8192, n_features); they must not be written to."""

    def empty_block(self) -> Any:
        """A block without rows."""
        return np.empty((0, self.n_features))

    @property
    def header(self) -> tuple[str, ...]:
        """Names of all columns of a table whose cells can be looked at again, also of those that are not read."""
        return ()

    def first_cells(self, names: Sequence[str], most: int) -> dict[str, pa.Array]:
        """Cells of the first rows by column of the header, for a check alone, see `hushrank.data.cell_forms`."""
        return {}

    def _block_rows(self, max_rows: int) -> int:
        """Rows of a converted float64 or complex128 block."""
        row_bytes = (16 if self.is_complex else 8) * self.n_features
        return min(max_rows, MAX_BLOCK_ROWS, max(1, MAX_BLOCK_BYTES // row_bytes))


class ArrayRows(Rows):
    """Rows of an array of any real or complex dtype and memory layout; its blocks are views."""

    def __init__(self, X: NDArray[Any], owner: str) -> None:
        check_matrix(X.dtype, X.shape, owner)
        super().__init__(X.shape[1], X.shape[0])
        self._X, self.is_complex = X, X.dtype.kind == "c"

    def blocks(self, max_rows: int = MAX_BLOCK_ROWS) -> Iterator[Block]:
        """Views of consecutive rows."""
        rows = min(max_rows, MAX_BLOCK_ROWS)
        return (self._X[start : start + rows] for start in range(0, len(self._X), rows))


class SparseRows(Rows):
    """Rows of a SciPy sparse matrix or array, kept as CSR and made dense a block at a time."""

    def __init__(self, X: Any, owner: str) -> None:
        check_matrix(X.dtype, X.shape, owner)
        check_indices(X, owner)
        super().__init__(X.shape[1], X.shape[0])
        self._X, self.is_complex = X.tocsr(), X.dtype.kind == "c"

    def blocks(self, max_rows: int = MAX_BLOCK_ROWS) -> Iterator[Block]:
        """Dense float64 or complex128 blocks of consecutive rows."""
        rows, dtype = self._block_rows(max_rows), np.complex128 if self.is_complex else np.float64
        starts = range(0, self._X.shape[0], rows)
        return (convert(self._X[start : start + rows].toarray(), dtype) for start in starts)


def read_array(data: Any, owner: str, columns: Sequence[Hashable] | None = None) -> ArrayRows:
    """Rows of an array or of nested sequences of numbers."""
    check_no_columns(columns, owner)
    if isinstance(data, np.ma.MaskedArray):
        raise InvalidParameter(owner, "X", "an array without a mask (X.filled(numpy.nan))", type(data).__name__)
    try:
        with warnings.catch_warnings():  # a masked cell becomes NaN, which is not said to whoever looks on
            warnings.filterwarnings("ignore", "Warning: converting a masked element to nan")
            return ArrayRows(np.asarray(data), owner)
    except InvalidParameter:
        raise
    except ValueError as error:  # nested sequences of different lengths
        raise InvalidParameter(owner, "X", "an array, or rows of equal length", type(data).__name__) from error


def read_sparse(data: Any, owner: str, columns: Sequence[Hashable] | None = None) -> SparseRows:
    """Rows of a SciPy sparse matrix or array of any format."""
    check_no_columns(columns, owner)
    return SparseRows(data, owner)


def check_real_rows(rows: Rows, owner: str) -> None:
    """Refuse complex rows, in a phrase that the estimator checks of scikit-learn look for."""
    if rows.is_complex:
        requirement = "real numbers, or field='complex' (Complex data not supported)"
        raise InvalidParameter(owner, "X", requirement, "complex numbers")
