"""Ids as Arrow arrays: int64, uint64 or large_string, from whatever holds ids of one type, and back to NumPy."""

from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from narwhals.dependencies import is_into_series
from numpy.typing import NDArray

from hushrank.exceptions import InvalidParameter

_COLUMNS = (np.ndarray, pa.Array, pa.ChunkedArray)


def to_ids(ids: Any) -> pa.Array:
    """Ids as an int64, uint64 or large_string array; only the type of the column decides whether it is refused."""
    array = _as_array(ids)
    if not isinstance(array, pa.ChunkedArray):
        return _typed(array)
    # Chunk by chunk: Arrow cannot join dictionaries whose indices overflow, or that hold nulls.
    parts = [_typed(chunk) for chunk in array.chunks]
    return pa.concat_arrays(parts) if parts else _typed(pa.nulls(0, _value_type(array.type)))


def _typed(array: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(array.type):
        return _typed(array.dictionary).take(array.indices)
    if pa.types.is_null(array.type):
        return array
    if pa.types.is_integer(array.type):
        return array if pa.types.is_uint64(array.type) else array.cast(pa.int64())
    if array.type == pa.string_view():  # not every supported Arrow can cast it
        return bytes_as_text([cell.as_buffer().to_pybytes() if cell.is_valid else None for cell in array])
    if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
        return array.cast(pa.large_string())
    raise InvalidParameter("Catalogue", "ids", "int64 or str ids", str(array.type))


def _value_type(dtype: pa.DataType) -> pa.DataType:
    return dtype.value_type if pa.types.is_dictionary(dtype) else dtype


def convert_integers(array: pa.Array, dtype: pa.DataType) -> pa.Array:
    """Integers as int64 or uint64, null where they do not fit."""
    if array.type == dtype:
        return array
    largest = pa.scalar(2**63 - 1, array.type)
    fits = pc.less_equal(array, largest) if dtype == pa.int64() else pc.greater_equal(array, pa.scalar(0, array.type))
    return pc.if_else(fits, array, pa.scalar(None, array.type)).cast(dtype)


def bytes_as_text(cells: list[bytes | None]) -> pa.Array:
    """A column of text with these bytes, whatever they encode: ids are compared byte by byte."""
    return pa.array(cells, pa.large_binary()).view(pa.large_string())


def _as_array(ids: Any) -> pa.Array | pa.ChunkedArray:
    """Ids as Arrow data of whatever type they have."""
    if isinstance(ids, pa.Array | pa.ChunkedArray):
        return ids
    if is_into_series(ids):
        column = nw.from_native(ids, series_only=True)
        if column.dtype == nw.Object or str(getattr(ids, "dtype", "")) == "object":
            raise InvalidParameter("Catalogue", "ids", 'int64 or str ids (astype("string"))', "object")
        return column.to_arrow()
    if isinstance(ids, np.ndarray) and (ids.ndim != 1 or ids.dtype.kind not in "iuUT"):
        raise InvalidParameter("Catalogue", "ids", "a vector of int64 or str ids", f"{ids.dtype} {ids.shape}")
    if not isinstance(ids, np.ndarray | list | tuple | range):
        raise InvalidParameter("Catalogue", "ids", "int64 or str ids in a list, array or column", type(ids).__name__)
    if isinstance(ids, np.ndarray):  # Arrow knows neither NumPy's own strings nor foreign byte orders
        ids = ids.tolist() if ids.dtype.kind == "T" else ids.astype(ids.dtype.newbyteorder("="), copy=False)
    try:
        return array_of(ids)
    except (pa.ArrowException, TypeError, OverflowError, UnicodeError) as error:
        raise InvalidParameter("Catalogue", "ids", "int64 or str ids, not both", type(ids).__name__) from error


def array_of(ids: Any) -> pa.Array:
    """A sequence of Python or NumPy values as an Arrow array."""
    if isinstance(ids, list | tuple) and any(isinstance(value, np.floating) for value in ids):
        ids = [float(value) if isinstance(value, np.floating) else value for value in ids]  # Arrow cuts off digits
    try:
        return pa.array(ids)
    except OverflowError:  # integers beyond int64 may fit without a sign
        return pa.array(ids, pa.uint64())


def to_array(ids: pa.Array) -> NDArray[Any]:
    """Ids as an array of int64 or uint64, or of Python strings: NumPy's own end at a zero and are all of one length."""
    if not pa.types.is_large_string(ids.type):
        return np.asarray(ids.to_numpy(zero_copy_only=False))
    cells = [cell.as_buffer().to_pybytes() for cell in ids]
    try:
        texts = [cell.decode("utf-8", "surrogatepass") for cell in cells]  # as they came
    except UnicodeDecodeError:
        # Some never were text. All are shown as Python shows file names: mixed ways could give two ids one name.
        texts = [cell.decode("utf-8", "surrogateescape") for cell in cells]
    return np.array([*texts, None], object)[:-1]  # an array of objects whatever the texts are


def as_text(ids: pa.Array) -> pa.Array:
    """Ids of any type as a large_string array: an integer becomes the text that writes it, which is the same id."""
    return ids if pa.types.is_large_string(ids.type) else ids.cast(pa.large_string())


def id_kind(dtype: pa.DataType) -> str | None:
    """What ids a column of this type holds, "int", "uint64", "str" or "null"; None if it can hold none."""
    if pa.types.is_dictionary(dtype):
        dtype = dtype.value_type
    if pa.types.is_null(dtype):  # whether a column has any value may depend on a single person
        return "null"
    if pa.types.is_integer(dtype):
        return "uint64" if pa.types.is_uint64(dtype) else "int"
    is_text = pa.types.is_string(dtype) or pa.types.is_large_string(dtype) or dtype == pa.string_view()
    return "str" if is_text else None
