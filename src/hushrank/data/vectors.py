"""Vectors of real numbers out of arrays, sequences and columns of tables: their types are checked, values never."""

from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from narwhals.dependencies import is_into_series
from numpy.typing import NDArray

from hushrank.data.frames import to_block
from hushrank.data.numbers import convert, to_number
from hushrank.exceptions import InvalidParameter

_REAL = "real numbers of at most double precision"
# Arrow gives a column without any value the type null; whether it has one may depend on a single person.
_ACCEPTED = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_null)


def read_vector(data: Any, name: str, owner: str) -> NDArray[Any]:
    """A vector of real numbers of whatever dtype it has; a null of a column is NaN.

    Parameters
    ----------
    data : array-like or column of a pandas, polars or pyarrow table
        One number for each record.
    name, owner : str
        What it is called and who asks, for error messages.

    Examples
    --------
    >>> read_vector(pa.array([1, None, 3]), "y", "example")
    array([ 1., nan,  3.])
    """
    column = as_column(data, name, owner)
    vector = to_array(data, name, owner) if column is None else _column_numbers(column, name, owner)
    check_real(vector.dtype, name, owner)
    if vector.ndim != 1:
        raise InvalidParameter(owner, name, "a vector, one number for each record", f"shape {vector.shape}")
    return vector


def to_float64(block: NDArray[Any]) -> NDArray[np.float64]:
    """A block as float64 in C order, without warnings; the block itself if it is so already."""
    return to_dtype(block, np.float64)


def to_dtype(block: NDArray[Any], dtype: Any) -> NDArray[Any]:
    """A block in another precision in C order, without warnings; the block itself if it is so already.

    One that is read-only is copied: kernels would be compiled once more for it, which takes longer.
    """
    return np.require(convert(block, dtype), requirements=("C", "A", "W"))


def exact_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The narrower of float32 and float64 that holds all real numbers of a dtype, as far as float64 does."""
    is_single = dtype.itemsize <= (4 if dtype.kind == "f" else 2)
    return np.dtype(np.float32 if is_single else np.float64)


def to_array(data: Any, name: str, owner: str) -> NDArray[Any]:
    """An array or nested sequences as an array; masks are refused, which reading would drop.

    Lists have no type of their own, so that one person's number would decide it for everybody: an integer of more than
    64 bits and a None are numbers of a list (the nearest float64, or NaN), while an array of objects stays one.
    """
    if isinstance(data, np.ma.MaskedArray):
        requirement = f"an array without a mask ({name}.filled(numpy.nan))"
        raise InvalidParameter(owner, name, requirement, type(data).__name__)
    try:
        array = np.asarray(data)
    except (ValueError, TypeError) as error:  # nested sequences of different lengths
        requirement = "an array, or sequences of equal length"
        raise InvalidParameter(owner, name, requirement, type(data).__name__) from error
    if isinstance(data, list | tuple) and array.dtype == object and all(map(_may_be_number, array.flat)):
        array = np.array([to_number(cell) for cell in array.flat], np.float64).reshape(array.shape)
    return array


def check_real(dtype: np.dtype[Any], name: str, owner: str) -> None:
    """Refuse a dtype other than those of real numbers of at most 64 bits; scikit-learn's checks look for a phrase."""
    if dtype.kind == "c":
        raise InvalidParameter(owner, name, f"{_REAL} (Complex data not supported)", str(dtype))
    if dtype.kind not in "biuf" or dtype.itemsize > 8:
        raise InvalidParameter(owner, name, _REAL, str(dtype))


def as_column(data: Any, name: str, owner: str, requirement: str = _REAL) -> pa.Array | pa.ChunkedArray | None:
    """A column of a table as Arrow data, None if it is something else; a column of objects is not as required."""
    if isinstance(data, pa.Array | pa.ChunkedArray):
        return data
    if not is_into_series(data):
        return None
    column = nw.from_native(data, series_only=True)
    if column.dtype == nw.Object or str(getattr(data, "dtype", "")) == "object":
        raise InvalidParameter(owner, name, requirement, "a column of objects")
    try:
        return column.to_arrow()
    except (pa.ArrowException, UnicodeError) as error:  # Arrow has no such type, or no such text
        raise InvalidParameter(owner, name, requirement, f"a column of type {column.dtype}") from error


def _may_be_number(cell: Any) -> bool:
    return cell is None or isinstance(cell, int | float | np.integer | np.floating)


def _column_numbers(column: pa.Array | pa.ChunkedArray, name: str, owner: str) -> NDArray[np.float64]:
    if not any(accepts(column.type) for accepts in _ACCEPTED):
        raise InvalidParameter(owner, name, _REAL, f"a column of type {str(column.type)[:30]}")
    return np.ascontiguousarray(to_block([column], len(column))[:, 0])
