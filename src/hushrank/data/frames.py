"""Tables in memory: pandas, polars, pyarrow and every other eager frame that narwhals knows; their columns as numbers.

Real and boolean columns become float64 a block at a time, nulls NaN.
"""

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from narwhals.dependencies import is_into_dataframe
from numpy.typing import NDArray

from hushrank.data.findings import name_some
from hushrank.data.numbers import check_matrix
from hushrank.data.source import Block
from hushrank.exceptions import InvalidParameter
from hushrank.parameters import did_you_mean

FloatType = np.dtype[Any] | type[np.float64]

NUMERIC = "a table of real numbers and booleans"
COLLECTED = "data that can be read: collect() the lazy frame, or pass the path of its Parquet file"
# Arrow gives a column without any value the type null; whether it has one may depend on a single person.
_ACCEPTED = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_null)
_MOST_LISTED = 110  # signs of a list of names: longer messages are cut
_SINGLE = (pa.bool_(), pa.int8(), pa.int16(), pa.uint8(), pa.uint16(), pa.float16(), pa.float32())


def is_table(data: Any) -> bool:
    """Whether `data` is a frame, eager or lazy."""
    return is_into_dataframe(data) or isinstance(data, pa.RecordBatch) or is_lazy(data)


def is_lazy(data: Any) -> bool:
    """Whether `data` is a frame that has not been computed yet."""
    return not is_into_dataframe(data) and isinstance(nw.from_native(data, pass_through=True), nw.LazyFrame)


def check_no_columns(columns: Sequence[Hashable] | None, owner: str) -> None:
    """Refuse a choice of columns for data without names."""
    if columns is not None:
        raise InvalidParameter(owner, "columns", "None for data whose columns have no names", columns)


def choose_columns(names: Sequence[Hashable], columns: Sequence[Hashable] | None, owner: str) -> list[int]:
    """Positions of the chosen `columns` among the `names` of a table; None chooses all of them."""
    positions = {name: position for position, name in enumerate(names)}
    if len(positions) < len(names):
        twice = next(name for position, name in enumerate(names) if positions[name] != position)
        raise InvalidParameter(owner, "X", "a table whose column names differ", f"two columns {twice!r}")
    if columns is None:
        chosen = list(names)
    else:
        chosen = [columns] if isinstance(columns, str) else list(columns)
        if isinstance(columns, str) or not chosen or len(set(chosen)) < len(chosen):
            raise InvalidParameter(owner, "columns", "a list of different column names", columns)
    missing = [name for name in chosen if name not in positions]
    if missing:
        raise InvalidParameter(owner, "X", f"a table with the column {missing[0]!r}", say_missing(missing[0], names))
    if not chosen:
        check_matrix(np.dtype(np.float64), (0, 0), owner)
    return [positions[name] for name in chosen]


def say_missing(name: Hashable, names: Sequence[Hashable]) -> str:
    """That a table has no such column, and which one may be meant, or a few that there are.

    Examples
    --------
    >>> say_missing("ages", ["age", "height"]), say_missing("weight", ["a", "b"])
    ("no column 'ages'; did you mean 'age'?", "no column 'weight', but 'a', 'b'")
    """
    guess = did_you_mean(name, names)
    listed = f", but {name_some(names)}"
    if not guess and (not names or len(listed) > _MOST_LISTED):
        listed = f", but {len(names)} other{'s' * (len(names) != 1)}"
    return f"no column {name!r}{guess or listed}"


def table_cells(data: Any, owner: str, columns: Sequence[Hashable] | None) -> NDArray[Any]:
    """Cells of the chosen columns of a frame as objects."""
    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    if is_lazy(data):
        raise InvalidParameter(owner, "X", COLLECTED, type(data).__name__)
    frame = nw.from_native(data, eager_only=True)
    positions = choose_columns(list(frame.columns), columns, owner)
    cells = np.empty((len(frame), len(positions)), object)
    for j, position in enumerate(positions):
        column = frame[:, position]
        try:
            cells[:, j] = column.to_list()
        except Exception:  # a cell that Python cannot hold: text that is none, a time beyond its calendar
            for i in range(len(column)):
                cells[i, j] = _cell_of(column, i)
    return cells


def _cell_of(column: Any, i: int) -> Any:
    """One cell of a column; None where it cannot be read."""
    try:
        return column.item(i)
    except Exception:
        return None


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
            raise InvalidParameter(owner, "X", NUMERIC, f"column {name!r} of type {str(dtype)[:30]}")
    return names


def exact_dtype(types: Iterable[pa.DataType]) -> np.dtype[Any]:
    """The narrower of float32 and float64 that holds all numbers of these Arrow types, as far as float64 does.

    A column without any value is as good as one of float64: a value, of a single person, may make it one.
    """
    return np.dtype(np.float32 if all(dtype in _SINGLE for dtype in types) else np.float64)


def to_block(columns: Sequence[pa.Array | pa.ChunkedArray], n_rows: int, dtype: FloatType = np.float64) -> Block:
    """Arrow columns as one block of floats, nulls as NaN; never raises for a value."""
    # Columns are contiguous: they are copied fast here, on the thread that reads, and turned into rows by the kernel.
    block = np.empty((len(columns), n_rows), dtype).T
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
