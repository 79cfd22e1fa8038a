"""The numbers X of records, in an array or a table: checked at once, read as floats some records at a time."""

from collections.abc import Hashable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from hushrank.data.frames import FloatType, is_table
from hushrank.data.rows.table_rows import TableRows, read_table
from hushrank.data.source import MAX_BLOCK_BYTES, MAX_BLOCK_ROWS
from hushrank.data.vectors import check_real, exact_dtype, to_array, to_dtype
from hushrank.exceptions import InvalidParameter


class Slices(Protocol):
    """Real numbers that are read some records at a time: an array, or one that is stored elsewhere."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def dtype(self) -> np.dtype[Any]: ...

    def __len__(self) -> int: ...

    def __getitem__(self, part: slice, /) -> NDArray[Any]: ...


class Features:
    """A vector or a matrix of numbers for each record.

    Parameters
    ----------
    data : array or stored array of shape (n_records, d) or (n_records, d1, d2), or TableRows
        Not copied, and not looked at before it is read.
    dtype : dtype, optional
        Float64 for numbers that had no type of their own.

    Attributes
    ----------
    shape : tuple of int
        Of one record, (d,) or (d1, d2).
    dtype : dtype
        The narrower of float32 and float64 that holds all numbers, as far as float64 does.
    columns : tuple of str or None
        Names of the columns of a table.
    parts : None
        Lengths of two vectors, see `PairFeatures`.
    """

    parts: tuple[int, int] | None = None

    def __init__(self, data: Slices | TableRows, dtype: np.dtype[Any] | None = None) -> None:
        self._data = data
        self.shape: tuple[int, ...]
        self.columns: tuple[str, ...] | None = None
        if isinstance(data, TableRows):
            assert data.n_samples is not None
            self.shape, self.columns, self._n_records = (data.n_features,), data.columns, data.n_samples
            self.dtype = data.exact_dtype
        else:
            self.shape, self._n_records = data.shape[1:], len(data)
            self.dtype = exact_dtype(data.dtype) if dtype is None else dtype

    def __len__(self) -> int:
        """Number of records."""
        return self._n_records

    @property
    def width(self) -> int:
        """Numbers of one record."""
        return int(np.prod(self.shape))

    def blocks(self, max_rows: int = MAX_BLOCK_ROWS, dtype: FloatType = np.float64) -> Iterator[NDArray[Any]]:
        """Arrays of shape (at most `max_rows` and 8192, *shape) in C order; views where X is so already."""
        rows = min(max_rows, MAX_BLOCK_ROWS, max(1, MAX_BLOCK_BYTES // (8 * self.width)))
        if isinstance(self._data, TableRows):
            return (to_dtype(block, dtype) for block in self._data.blocks(rows, dtype))
        return (to_dtype(self._data[start : start + rows], dtype) for start in range(0, len(self), rows))


class PairFeatures:
    """Two vectors of numbers for each record, one after the other in one; joined some records at a time.

    Parameters
    ----------
    first, second : Features
        Of the same number of records, both of shape (d,).

    Attributes
    ----------
    shape : tuple of int
        Of one record, (d1 + d2,).
    parts : tuple of int
        The lengths of the two vectors.
    dtype, columns : as of `Features`
        The wider one, and the names of both.
    """

    def __init__(self, first: Features, second: Features) -> None:
        self._both = first, second
        self.parts = first.width, second.width
        self.shape = (sum(self.parts),)
        self.dtype: np.dtype[Any] = np.promote_types(first.dtype, second.dtype)
        has_names = first.columns is not None and second.columns is not None
        self.columns = (*(first.columns or ()), *(second.columns or ())) if has_names else None

    def __len__(self) -> int:
        """Number of records."""
        return len(self._both[0])

    def blocks(self, max_rows: int = MAX_BLOCK_ROWS, dtype: FloatType = np.float64) -> Iterator[NDArray[Any]]:
        """Arrays of shape (at most `max_rows` and 8192, d1 + d2) in C order."""
        # So few that neither of the two makes smaller blocks.
        rows = min(max_rows, MAX_BLOCK_ROWS, max(1, MAX_BLOCK_BYTES // (8 * sum(self.parts))))
        for first, second in zip(*(features.blocks(rows, dtype) for features in self._both), strict=True):
            joined = np.empty((len(first), *self.shape), dtype)
            joined[:, : self.parts[0]], joined[:, self.parts[0] :] = first, second
            yield joined


def read_features(X: Any, owner: str, columns: Sequence[Hashable] | None = None) -> Features:
    """The numbers of an array of two or three dimensions, of nested sequences or of the chosen columns of a table.

    Lists have no type of their own, so that one person's number would decide it for everybody: theirs is float64.

    Examples
    --------
    >>> features = read_features([[1, 2], [3, 4], [5, 6]], "example")
    >>> len(features), features.dtype, [block.shape for block in features.blocks(2)]
    (3, dtype('float64'), [(2, 2), (1, 2)])
    """
    if scipy.sparse.issparse(X):
        raise InvalidParameter(owner, "X", "an array or a table (toarray() makes one)", type(X).__name__)
    if is_table(X):
        return Features(read_table(X, owner, columns))
    array = to_array(X, "X", owner)
    check_real(array.dtype, "X", owner)
    check_form(array.shape, owner)
    return Features(array, np.dtype(np.float64) if isinstance(X, list | tuple) else None)


def check_form(shape: tuple[int, ...], owner: str) -> None:
    """Refuse an array without a vector or matrix for each record.

    Two phrases are those that the estimator checks of scikit-learn look for.
    """
    if len(shape) not in (2, 3):
        requirement = "of shape (n, d) or (n, d1, d2), a vector or matrix for each record (Reshape your data)"
        raise InvalidParameter(owner, "X", requirement, f"shape {shape}")
    if 0 in shape[1:]:
        got = f"0 feature(s) (shape={shape}) while a minimum of 1 is required"
        raise InvalidParameter(owner, "X", "an array with a number for each record", got)
