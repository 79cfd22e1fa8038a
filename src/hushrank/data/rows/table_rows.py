"""Rows of tables in memory: pandas, polars, pyarrow and every other eager frame that narwhals knows.

Real and boolean columns become float64 a block at a time, nulls NaN. The index of a pandas table is no column: row ids
are neither read nor kept.
"""

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from narwhals.dependencies import is_into_dataframe
from numpy.typing import NDArray

from hushrank.data.rows.arrays import MAX_BLOCK_ROWS, Block, Rows, choose_columns
from hushrank.exceptions import InvalidParameter

_WIDTHS = (8, 16, 32, 64)
_NUMBERS = {"Boolean", "Float16", "Float32", "Float64"} | {f"{sign}{w}" for sign in ("Int", "UInt") for w in _WIDTHS}
_REQUIREMENT = "a table of real numbers and booleans"
_REAL_OR_ARRAY = f"{_REQUIREMENT} (complex data: an array, npy or npz file)"
_COLLECTED = "data that can be read: collect() the lazy frame, or pass the path of its Parquet file"
# Arrow gives a column without any value the type null; whether it has one may depend on a single person.
_ACCEPTED = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_null)


class FrameRows(Rows):
    """Rows of an eager narwhals frame."""

    def __init__(self, frame: nw.DataFrame[Any], owner: str, columns: Sequence[Hashable] | None) -> None:
        names: list[Hashable] = list(frame.columns)
        self._frame, self._positions = frame, choose_columns(names, columns, owner)
        types = list(frame.schema.values())
        for j in self._positions:
            if str(types[j]) not in _NUMBERS and not self._is_empty(j):
                if self._is_complex_column(j):
                    raise InvalidParameter(owner, "X", _REAL_OR_ARRAY, f"column {names[j]!r} of complex numbers")
                raise InvalidParameter(owner, "X", _REQUIREMENT, f"column {names[j]!r} of type {types[j]}")
        super().__init__(len(self._positions), len(frame), [names[j] for j in self._positions])

    def _is_empty(self, position: int) -> bool:
        """Whether the type of a column says that it holds nulls only, as the column of a partition may."""
        if str(self._frame.schema.dtypes()[position]) != "Unknown":
            return False
        try:
            return bool(pa.types.is_null(self._frame[:0, position].to_arrow().type))
        except pa.ArrowException:  # Arrow has no such type: complex numbers, extended precision, sparse columns
            return False

    def _is_complex_column(self, position: int) -> bool:
        """Whether a column has a complex NumPy type, which narwhals does not know."""
        return getattr(self._frame[:0, position].to_native().dtype, "kind", None) == "c"

    def blocks(self, max_rows: int = MAX_BLOCK_ROWS) -> Iterator[Block]:
        """Float64 blocks of consecutive rows."""
        rows, n_samples = self._block_rows(max_rows), len(self._frame)
        for start in range(0, n_samples, rows):
            part = self._frame[start : start + rows]
            yield to_block([part[:, j].to_arrow() for j in self._positions], len(part))


class ArrowRows(Rows):
    """Rows of a pyarrow table."""

    def __init__(self, table: pa.Table, owner: str, columns: Sequence[Hashable] | None) -> None:
        chosen = choose_fields(table.schema, owner, columns)
        self._table = table.select(chosen)
        super().__init__(len(chosen), table.num_rows, chosen)

    def blocks(self, max_rows: int = MAX_BLOCK_ROWS) -> Iterator[Block]:
        """Float64 blocks of consecutive rows."""
        rows = self._block_rows(max_rows)
        for start in range(0, self._table.num_rows, rows):
            part = self._table.slice(start, rows)
            yield to_block(part.columns, part.num_rows)


def is_table(data: Any) -> bool:
    """Whether `data` is a frame, eager or lazy."""
    return is_into_dataframe(data) or isinstance(data, pa.RecordBatch) or _is_lazy(data)


def read_table(data: Any, owner: str, columns: Sequence[Hashable] | None = None) -> Rows:
    """Rows of a frame; lazy ones are refused."""
    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    if isinstance(data, pa.Table):
        return ArrowRows(data, owner, columns)
    if _is_lazy(data):
        raise InvalidParameter(owner, "X", _COLLECTED, type(data).__name__)
    choose_columns(list(data.columns), columns, owner)  # narwhals refuses repeated names in words of its own
    return FrameRows(nw.from_native(data, eager_only=True), owner, columns)


def table_cells(data: Any, owner: str, columns: Sequence[Hashable] | None) -> NDArray[Any]:
    """Cells of the chosen columns of a frame as objects."""
    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    if _is_lazy(data):
        raise InvalidParameter(owner, "X", _COLLECTED, type(data).__name__)
    frame = nw.from_native(data, eager_only=True)
    positions = choose_columns(list(frame.columns), columns, owner)
    cells = np.empty((len(frame), len(positions)), object)
    for j, position in enumerate(positions):
        cells[:, j] = frame[:, position].to_list()
    return cells


def _is_lazy(data: Any) -> bool:
    return not is_into_dataframe(data) and isinstance(nw.from_native(data, pass_through=True), nw.LazyFrame)


def choose_fields(schema: pa.Schema, owner: str, columns: Sequence[Hashable] | None) -> list[str]:
    """Names of the chosen columns of an Arrow schema, all of them numeric; None leaves out a stored pandas index."""
    names = [schema.names[j] for j in choose_columns(schema.names, columns, owner)]
    if columns is None:
        index = (schema.pandas_metadata or {}).get("index_columns", [])
        names = [name for name in names if name not in index]
        choose_columns(names, None, owner)
    for name in names:
        dtype = schema.field(name).type
        if not any(accepts(dtype) for accepts in _ACCEPTED):
            raise InvalidParameter(owner, "X", _REQUIREMENT, f"column {name!r} of type {str(dtype)[:30]}")
    return names


def to_block(columns: Sequence[pa.Array | pa.ChunkedArray], n_rows: int) -> Block:
    """Arrow columns as one float64 block, nulls as NaN; never raises for a value."""
    # Columns are contiguous: they are copied fast here, on the thread that reads, and turned into rows by the kernel.
    block = np.empty((len(columns), n_rows)).T
    with np.errstate(all="ignore"):  # signaling NaNs
        for j, column in enumerate(columns):
            start = 0
            for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
                block[start : start + len(chunk), j] = _numbers(chunk)
                start += len(chunk)
    return block


def _numbers(array: pa.Array) -> Block:
    """An Arrow array as numbers; integers with nulls become float64, and booleans never become objects."""
    if pa.types.is_null(array.type):
        return np.full(len(array), np.nan)
    if pa.types.is_boolean(array.type):
        array = array.cast(pa.uint8())
    numbers: Block = array.to_numpy(zero_copy_only=False)
    return numbers
