"""Cells of a later block of a stream, whose types a single cell may have changed: none of them is refused.

A cell that is not a number is NaN, and one that is no id is nobody's. What is refused has another form: no array, list
or column at all.
"""

from collections.abc import Hashable, Sequence
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from narwhals.dependencies import is_into_series
from numpy.typing import NDArray

from hushrank.data.frames import choose_columns, is_table
from hushrank.data.id_arrays import bytes_as_text
from hushrank.data.numbers import to_number
from hushrank.data.records.user_ids import to_text
from hushrank.exceptions import InvalidParameter

_LARGEST_ID = 2**53  # of a column of floats, which keep no more digits
_TEXTS = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
_PLAIN = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_null)


def loose_numbers(data: Any, name: str, owner: str, columns: Sequence[Hashable] | None = None) -> NDArray[np.float64]:
    """Numbers of an array, of nested sequences, of a column, or of the chosen columns of a table.

    Examples
    --------
    >>> loose_numbers([0.5, "1.5", "none", None], "y", "example").tolist()
    [0.5, 1.5, nan, nan]
    """
    cells = _cells(data, name, owner, columns)
    with np.errstate(all="ignore"):  # a number may be beyond float64
        return np.asarray(np.vectorize(to_number, otypes=[np.float64])(cells))


def loose_ids(users: Any, owner: str) -> pa.Array:
    """Ids as texts; a float that is an integer is the id that writes it, as where a missing id made floats of all.

    Examples
    --------
    >>> loose_ids(np.array([7.0, np.nan, 8.5]), "example").to_pylist()
    ['7', None, None]
    """
    cells = _cells(users, "users", owner)
    if cells.ndim != 1:
        raise InvalidParameter(owner, "users", "a vector of ids in every block", f"shape {cells.shape}")
    return bytes_as_text([_id_text(cell) for cell in cells])


def column_cells(table: Any, name: str, owner: str) -> NDArray[Any]:
    """Cells of a column of a table."""
    return np.asarray(_table_cells(table, [name], owner)[:, 0])


def _id_text(cell: Any) -> bytes | None:
    if isinstance(cell, float | np.floating) and float(cell).is_integer() and abs(float(cell)) < _LARGEST_ID:
        cell = int(cell)
    try:
        return cell if isinstance(cell, bytes) else to_text(cell, "")
    except InvalidParameter:
        return None


def _cells(data: Any, name: str, owner: str, columns: Sequence[Hashable] | None = None) -> NDArray[Any]:
    """Whatever it is as an array of objects."""
    if is_table(data):
        return _table_cells(data, columns, owner)
    if isinstance(data, pa.Array | pa.ChunkedArray):
        return _to_vector(_arrow_cells(data))
    if is_into_series(data):
        return _to_vector(nw.from_native(data, series_only=True).to_list())
    if isinstance(data, np.ma.MaskedArray):  # some readers make one of a block in which somebody's number is missing
        return np.asarray(np.ma.filled(data.astype(object), np.nan))
    if not isinstance(data, np.ndarray | list | tuple):
        raise InvalidParameter(owner, name, "an array, a list or a column in every block", type(data).__name__)
    try:
        return np.array(data, object)
    except ValueError as error:  # nested sequences of different lengths
        raise InvalidParameter(owner, name, "sequences of equal length in every block", type(data).__name__) from error


def _table_cells(table: Any, columns: Sequence[Hashable] | None, owner: str) -> NDArray[Any]:
    if isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    names: list[Hashable] = table.column_names if isinstance(table, pa.Table) else list(table.columns)
    positions = choose_columns(names, columns, owner)
    if isinstance(table, pa.Table):
        parts = [_arrow_cells(table.column(j)) for j in positions]
    else:
        frame = nw.from_native(table, eager_only=True)
        parts = [frame[:, j].to_list() for j in positions]
    cells = np.empty((len(parts[0]), len(parts)), object)
    for j, part in enumerate(parts):
        cells[:, j] = _to_vector(part)
    return cells


def _arrow_cells(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """Cells of Arrow data, texts as bytes, which need not be Unicode; None for types that are neither."""
    if isinstance(column, pa.ChunkedArray):
        return [cell for chunk in column.chunks for cell in _arrow_cells(chunk)]
    if pa.types.is_dictionary(column.type):
        values = [*_arrow_cells(column.dictionary), None]
        return [values[j] for j in column.indices.fill_null(len(values) - 1).to_pylist()]
    if column.type == pa.string_view():  # not every supported Arrow can cast it
        return [cell.as_buffer().to_pybytes() if cell.is_valid else None for cell in column]
    if any(accepts(column.type) for accepts in _TEXTS):
        return list(column.cast(pa.large_binary()).to_pylist())
    return list(column.to_pylist()) if any(accepts(column.type) for accepts in _PLAIN) else [None] * len(column)


def _to_vector(cells: list[Any]) -> NDArray[Any]:
    """A vector of objects, also where they are sequences."""
    vector = np.empty(len(cells), object)
    for i, cell in enumerate(cells):
        vector[i] = cell
    return vector
