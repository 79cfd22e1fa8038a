"""Rows of tables in memory: pandas, polars, pyarrow and every other eager frame that narwhals knows.

Real and boolean columns become float64 a block at a time, nulls NaN. The index of a pandas table is no column: row ids
are neither read nor kept.
"""

from abc import abstractmethod
from collections.abc import Hashable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from hushrank.data.cell_forms import typed_column
from hushrank.data.frames import (
    COLLECTED,
    NUMERIC,
    FloatType,
    choose_columns,
    choose_fields,
    exact_dtype,
    is_lazy,
    to_block,
)
from hushrank.data.object_cells import is_of_objects, object_ids
from hushrank.data.rows.arrays import Rows
from hushrank.data.source import MAX_BLOCK_ROWS, Block
from hushrank.exceptions import InvalidParameter

_WIDTHS = (8, 16, 32, 64)
_NUMBERS = {"Boolean", "Float16", "Float32", "Float64"} | {f"{sign}{w}" for sign in ("Int", "UInt") for w in _WIDTHS}
_SINGLE = {"Boolean", "Int8", "Int16", "UInt8", "UInt16", "Float16", "Float32"}
_REAL_OR_ARRAY = f"{NUMERIC} (complex data: an array, npy or npz file)"


class TableRows(Rows):
    """Rows of a table.

    Attributes
    ----------
    exact_dtype : dtype
        The narrower of float32 and float64 that holds all numbers, as far as float64 does.
    """

    exact_dtype: np.dtype[Any]

    @abstractmethod
    def blocks(self, max_rows: int = MAX_BLOCK_ROWS, dtype: FloatType = np.float64) -> Iterator[Block]:
        """Blocks of consecutive rows, of float64 or `exact_dtype`."""


class FrameRows(TableRows):
    """Rows of an eager narwhals frame."""

    def __init__(self, frame: nw.DataFrame[Any], owner: str, columns: Sequence[Hashable] | None) -> None:
        names: list[Hashable] = list(frame.columns)
        self._frame, self._positions = frame, choose_columns(names, columns, owner)
        types = list(frame.schema.values())
        for j in self._positions:
            if str(types[j]) not in _NUMBERS and not self._is_empty(j):
                if self._is_complex_column(j):
                    raise InvalidParameter(owner, "X", _REAL_OR_ARRAY, f"column {names[j]!r} of complex numbers")
                raise InvalidParameter(owner, "X", NUMERIC, f"column {names[j]!r} of type {types[j]}")
        super().__init__(len(self._positions), len(frame), [names[j] for j in self._positions])
        is_single = all(str(types[j]) in _SINGLE for j in self._positions)
        self.exact_dtype = np.dtype(np.float32 if is_single else np.float64)

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

    def blocks(self, max_rows: int = MAX_BLOCK_ROWS, dtype: FloatType = np.float64) -> Iterator[Block]:
        """Blocks of consecutive rows, of float64 or `exact_dtype`."""
        rows, n_samples = self._block_rows(max_rows), len(self._frame)
        for start in range(0, n_samples, rows):
            part = self._frame[start : start + rows]
            yield to_block([part[:, j].to_arrow() for j in self._positions], len(part), dtype)

    @property
    def header(self) -> tuple[str, ...]:
        """Names of all columns of the table."""
        return tuple(name for name in self._frame.columns if isinstance(name, str))

    def first_cells(self, names: Sequence[str], most: int) -> dict[str, pa.Array]:
        """Cells of the first rows; of a column of objects those that are ids."""
        cells = {}
        for name in names:
            column = self._frame[:most][name]
            # What Arrow cannot hold, such as half of a surrogate pair, is not looked at.
            with suppress(pa.ArrowException, UnicodeError):
                cells[name] = object_ids(column.to_list()) if is_of_objects(column) else typed_column(column.to_arrow())
        return cells


class ArrowRows(TableRows):
    """Rows of a pyarrow table."""

    def __init__(self, table: pa.Table, owner: str, columns: Sequence[Hashable] | None) -> None:
        chosen = choose_fields(table.schema, owner, columns)
        self._table, self._whole = table.select(chosen), table
        super().__init__(len(chosen), table.num_rows, chosen)
        self.exact_dtype = exact_dtype(self._table.schema.types)

    def blocks(self, max_rows: int = MAX_BLOCK_ROWS, dtype: FloatType = np.float64) -> Iterator[Block]:
        """Blocks of consecutive rows, of float64 or `exact_dtype`."""
        rows = self._block_rows(max_rows)
        for start in range(0, self._table.num_rows, rows):
            part = self._table.slice(start, rows)
            yield to_block(part.columns, part.num_rows, dtype)

    @property
    def header(self) -> tuple[str, ...]:
        """Names of all columns of the table."""
        return tuple(self._whole.column_names)

    def first_cells(self, names: Sequence[str], most: int) -> dict[str, pa.Array]:
        """Cells of the first rows."""
        return {name: typed_column(self._whole.column(name).slice(0, most)) for name in names}


def read_table(data: Any, owner: str, columns: Sequence[Hashable] | None = None) -> TableRows:
    """Rows of a frame; lazy ones are refused."""
    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    if isinstance(data, pa.Table):
        return ArrowRows(data, owner, columns)
    if is_lazy(data):
        raise InvalidParameter(owner, "X", COLLECTED, type(data).__name__)
    choose_columns(list(data.columns), columns, owner)  # narwhals refuses repeated names in words of its own
    return FrameRows(nw.from_native(data, eager_only=True), owner, columns)
