"""One entry for updates: three vectors, or a sparse matrix whose stored entries they are, become `Updates`.

What may be refused (types, shapes, lengths) is checked here, before the data are charged for. Values are never
refused, see `hushrank.data.updates.source`.
"""

import itertools
from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse
from numpy.typing import NDArray

from hushrank.data.id_arrays import to_ids
from hushrank.data.numbers import to_number
from hushrank.data.source import Source
from hushrank.data.sparse import check_indices
from hushrank.data.updates.source import Entries, Updates
from hushrank.data.vectors import as_column, check_real, read_vector, to_array
from hushrank.exceptions import InvalidParameter

__all__ = ["Updates", "read_updates"]

_LARGEST_SIZE = 2**63 - 1
_INDICES = "a vector of integers of at most 64 bits"
# Formats that store entries one by one.
_FORMATS = ("csr", "csc", "coo", "lil", "dok")


def read_updates(rows: Any, columns: Any = None, deltas: Any = None, *, shape: Any, owner: str) -> Updates:
    """Prepare updates for reading in blocks; checks types, shapes and lengths, and reads no values.

    Parameters
    ----------
    rows, columns : array-like of shape (n_updates,), or column of a table
        Integers, which entry of the matrix is updated; counted from 0. Updates outside the matrix are left out.
        A SciPy sparse matrix of the public shape in place of `rows` stands for all three: each of its stored entries
        is one update, repeated ones as well. `Updates` of this shape are returned as they are.
    deltas : array-like of shape (n_updates,), or column of a table
        Real numbers, what is added to the entry. Those that are not finite are left out.
    shape : pair of int
        Rows and columns of the matrix, public.
    owner : str
        Who asks, for error messages.

    Returns
    -------
    updates : Updates
        `updates.blocks(max_rows)` yields them as blocks (`UpdateBlock`).

    Raises
    ------
    InvalidParameter
        If data or shape are of another kind, type or length. The message shows no values.

    Examples
    --------
    >>> updates = read_updates([0, 2, 0], [1, 9, 0], [0.5, 1.0, -2.0], shape=(3, 4), owner="example")
    >>> [block] = updates.blocks()
    >>> block.rows.tolist(), block.columns.tolist(), block.deltas.tolist()
    ([0, 0], [1, 0], [0.5, -2.0])
    """
    sizes = _check_shape(shape, owner)
    if isinstance(rows, Source) or scipy.sparse.issparse(rows):
        for name, given in (("columns", columns), ("deltas", deltas)):
            if given is not None:
                raise InvalidParameter(owner, name, "None beside a matrix or source", type(given).__name__)
        return _read_source(rows, sizes, owner) if isinstance(rows, Source) else _read_matrix(rows, sizes, owner)
    entries = Entries(
        _read_indices(rows, "rows", owner), _read_indices(columns, "columns", owner), _read_deltas(deltas, owner)
    )
    n_updates = len(entries.rows)
    for name, vector in (("columns", entries.columns), ("deltas", entries.deltas)):
        if len(vector) != n_updates:
            requirement = f"a vector of {n_updates} numbers, as many as rows"
            raise InvalidParameter(owner, name, requirement, f"{len(vector)} numbers")
    return Updates(entries, sizes)


def _check_shape(shape: Any, owner: str) -> tuple[int, int]:
    is_pair = isinstance(shape, tuple | list) and len(shape) == 2
    if not is_pair or not all(_is_size(size) for size in shape):
        raise InvalidParameter(owner, "shape", "a pair of integers >= 1, rows and columns", shape)
    return int(shape[0]), int(shape[1])


def _is_size(size: Any) -> bool:
    return isinstance(size, Integral) and not isinstance(size, bool) and 1 <= int(size) <= _LARGEST_SIZE


def _read_source(source: Source, shape: tuple[int, int], owner: str) -> Updates:
    if not isinstance(source, Updates):
        requirement = "updates: rows, columns and deltas, or a sparse matrix"
        raise InvalidParameter(owner, "rows", requirement, type(source).__name__)
    if source.shape != shape:
        raise InvalidParameter(owner, "rows", f"updates of a matrix of shape {shape}", f"shape {source.shape}")
    return source


def _read_matrix(X: Any, shape: tuple[int, int], owner: str) -> Updates:
    """The stored entries of a sparse matrix, one update each; SciPy's own conversions would add some of them up."""
    check_real(X.dtype, "rows", owner)
    if tuple(X.shape) != shape:
        raise InvalidParameter(owner, "rows", f"a matrix of shape {shape}", f"shape {tuple(X.shape)}")
    if X.format not in _FORMATS:
        requirement = f"a sparse matrix that stores single entries ({', '.join(_FORMATS)})"
        raise InvalidParameter(owner, "rows", requirement, X.format)
    check_indices(X, owner)
    return Updates(_stored_entries(X), shape)


def _stored_entries(X: Any) -> Entries:
    if X.format == "coo":
        return Entries(X.row, X.col, X.data)
    if X.format in ("csr", "csc"):
        n_stored = int(X.indptr[-1])  # the arrays may be longer
        lines = np.repeat(np.arange(len(X.indptr) - 1), np.diff(X.indptr))
        rows, columns = (lines, X.indices) if X.format == "csr" else (X.indices, lines)
        return Entries(rows[:n_stored], columns[:n_stored], X.data[:n_stored])
    if X.format == "lil":
        places = [(i, j) for i, own in enumerate(X.rows) for j in own]
        values = itertools.chain.from_iterable(X.data)
    else:
        places, values = list(X.keys()), X.values()
    indices = np.array(places, np.int64).reshape(-1, 2)
    return Entries(indices[:, 0], indices[:, 1], np.array([to_number(value) for value in values], np.float64))


def _read_indices(data: Any, name: str, owner: str) -> NDArray[Any]:
    """A vector of integers of whatever dtype it has; a null of a column is an index outside every matrix."""
    if data is None:
        raise InvalidParameter(owner, name, _INDICES, None)
    column = as_column(data, name, owner, _INDICES)
    if column is not None:
        return _column_indices(column, name, owner)
    vector = to_array(data, name, owner)
    if isinstance(data, list | tuple) and vector.ndim == 1 and all(map(_may_be_index, data)):
        return _list_indices(data, vector)
    if vector.dtype.kind not in "iu" or vector.ndim != 1:
        raise InvalidParameter(owner, name, _INDICES, f"{vector.dtype} of shape {vector.shape}")
    return vector


def _may_be_index(cell: Any) -> bool:
    return cell is None or (isinstance(cell, int | np.integer) and not isinstance(cell, bool))


def _list_indices(indices: Sequence[Any], vector: NDArray[Any]) -> NDArray[Any]:
    """Indices of a list; one that is None or huge would make all of them floats or objects, and is outside instead."""
    if vector.dtype.kind in "iu":
        return vector
    is_inside = (index is not None and 0 <= index <= _LARGEST_SIZE for index in indices)
    return np.array([index if inside else -1 for index, inside in zip(indices, is_inside, strict=True)], np.int64)


def _column_indices(column: pa.Array | pa.ChunkedArray, name: str, owner: str) -> NDArray[Any]:
    if pa.types.is_null(column.type):  # whether a column has any value may depend on a single person
        return np.full(len(column), -1)
    if not pa.types.is_integer(column.type):
        raise InvalidParameter(owner, name, _INDICES, f"a column of type {str(column.type)[:30]}")
    wide = to_ids(column)
    outside = 2**64 - 1 if pa.types.is_uint64(wide.type) else -1
    return np.asarray(wide.fill_null(outside).to_numpy(zero_copy_only=False))


def _read_deltas(data: Any, owner: str) -> NDArray[Any]:
    if data is None:
        raise InvalidParameter(owner, "deltas", "a vector, one number for each update", None)
    return read_vector(data, "deltas", owner)
