"""The numbers X of records, in an array or a table: checked at once, read as float64 some records at a time."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from hushrank.data.frames import is_table
from hushrank.data.rows.arrays import Rows
from hushrank.data.rows.table_rows import read_table
from hushrank.data.source import MAX_BLOCK_BYTES, MAX_BLOCK_ROWS
from hushrank.data.vectors import check_real, to_array, to_float64
from hushrank.exceptions import InvalidParameter


class Features:
    """A vector or a matrix of numbers for each record.

    Parameters
    ----------
    data : ndarray of shape (n_records, d) or (n_records, d1, d2), or Rows with a known number of rows
        Not copied, and not looked at before it is read.

    Attributes
    ----------
    shape : tuple of int
        Of one record, (d,) or (d1, d2).
    columns : tuple of str or None
        Names of the columns of a table.
    """

    def __init__(self, data: NDArray[Any] | Rows) -> None:
        self._data = data
        self.shape: tuple[int, ...]
        self.columns: tuple[str, ...] | None = None
        if isinstance(data, Rows):
            assert data.n_samples is not None
            self.shape, self.columns, self._n_records = (data.n_features,), data.columns, data.n_samples
        else:
            self.shape, self._n_records = data.shape[1:], len(data)

    def __len__(self) -> int:
        """Number of records."""
        return self._n_records

    @property
    def width(self) -> int:
        """Numbers of one record."""
        return int(np.prod(self.shape))

    @property
    def sizes(self) -> Mapping[str, int]:
        """The lengths of the axes of one record by name."""
        names = ("n_features",) if len(self.shape) == 1 else ("n_rows", "n_columns")
        return dict(zip(names, self.shape, strict=True))

    def blocks(self, max_rows: int = MAX_BLOCK_ROWS) -> Iterator[NDArray[np.float64]]:
        """Arrays of shape (at most `max_rows` and 8192, *shape) in C order; views where X is so already."""
        rows = min(max_rows, MAX_BLOCK_ROWS, max(1, MAX_BLOCK_BYTES // (8 * self.width)))
        if isinstance(self._data, Rows):
            return (to_float64(block) for block in self._data.blocks(rows))
        return (to_float64(self._data[start : start + rows]) for start in range(0, len(self), rows))


def read_features(X: Any, owner: str) -> Features:
    """The numbers of an array of two or three dimensions, of nested sequences or of a table.

    Examples
    --------
    >>> features = read_features([[1, 2], [3, 4], [5, 6]], "example")
    >>> len(features), features.sizes, [block.shape for block in features.blocks(2)]
    (3, {'n_features': 2}, [(2, 2), (1, 2)])
    """
    if scipy.sparse.issparse(X):
        raise InvalidParameter(owner, "X", "an array or a table (toarray() makes one)", type(X).__name__)
    if is_table(X):
        return Features(read_table(X, owner))
    array = to_array(X, "X", owner)
    check_real(array.dtype, "X", owner)
    # Two phrases are those that the estimator checks of scikit-learn look for.
    if array.ndim not in (2, 3):
        requirement = "of shape (n, d) or (n, d1, d2), a vector or matrix for each record (Reshape your data)"
        raise InvalidParameter(owner, "X", requirement, f"shape {array.shape}")
    if 0 in array.shape[1:]:
        got = f"0 feature(s) (shape={array.shape}) while a minimum of 1 is required"
        raise InvalidParameter(owner, "X", "an array with a number for each record", got)
    return Features(array)
