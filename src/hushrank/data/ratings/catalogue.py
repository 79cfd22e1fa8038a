"""Public item ids and their positions: the place where ids become indices.

A catalogue is public, so its ids may be kept and saved with a model. Ids of users never enter one.
"""

from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from narwhals.dependencies import is_into_series
from numpy.typing import NDArray

from hushrank.data.identifiers import IdTable
from hushrank.data.text_values import to_integers
from hushrank.exceptions import InvalidParameter

IntegerArray = NDArray[np.int64]

_MOST_IDS = 2**31 - 1
_COLUMNS = (np.ndarray, pa.Array, pa.ChunkedArray)


class Catalogue:
    """Public ids, int64, uint64 or str, each with its position.

    Parameters
    ----------
    ids : int or sequence of ids
        A count, which stands for the ids 0 to count - 1, or different ids as a list, an array or a column of a table.
        Different means in their canonical form, by which they are looked up: "7" and "07" are one id.

    Examples
    --------
    >>> Catalogue(["tea", "jam", "rye"]).positions(["rye", "tea", "oil"])
    array([ 2,  0, -1])
    >>> Catalogue(3)
    Catalogue(3 int ids)
    """

    __slots__ = ("_ids", "_table")

    def __init__(self, ids: Any) -> None:
        if _is_integer(ids):
            if not 1 <= ids <= _MOST_IDS:
                requirement = f"a count >= 1 and <= {_MOST_IDS} or a sequence of ids"
                raise InvalidParameter("Catalogue", "ids", requirement, ids)
            ids = np.arange(ids)
        elif hasattr(ids, "tolist") and not isinstance(ids, _COLUMNS) and not is_into_series(ids):
            ids = ids.tolist()  # what pandas makes of an index or of unique()
        array = to_ids(ids)
        if pa.types.is_null(array.type) or len(array) == 0:
            raise InvalidParameter("Catalogue", "ids", "at least one id", f"{len(array)} ids, none of them set")
        if pa.types.is_uint64(array.type) and _to_integers(array, pa.int64()).null_count == array.null_count:
            array = array.cast(pa.int64())
        self._ids = array
        self._table = IdTable()  # made once: Arrow would make its own anew for every block looked up
        n_unset = int((self._table.add(array) < 0).sum())
        if n_unset:
            raise InvalidParameter("Catalogue", "ids", "ids that are set and not empty", f"{n_unset} others")
        if len(self._table) < len(array):
            got = f"{len(array) - len(self._table)} repeated"
            raise InvalidParameter("Catalogue", "ids", "different ids (7, 07 and 7.0 are one)", got)

    @property
    def ids(self) -> pa.Array:
        """The ids in the order of their positions."""
        return self._ids

    def positions(self, ids: Any) -> IntegerArray:
        """Position of each id, -1 where it is null or not in the catalogue.

        Parameters
        ----------
        ids : sequence of ids
            A list, an array or a column of a table; of the type of the catalogue's own ids.

        Returns
        -------
        positions : ndarray of shape (n_ids,)
            Between -1 and the length of the catalogue, exclusive.
        """
        array = to_ids(ids)
        if pa.types.is_null(array.type):
            return np.full(len(array), -1)
        if pa.types.is_integer(array.type) != (self.kind == "int"):
            raise InvalidParameter("Catalogue", "ids", f"{self.kind} ids as in the catalogue", str(array.type))
        if self.kind == "int":
            array = _to_integers(array, self._ids.type)
        return self._table.find(array).astype(np.int64)

    def positions_of_texts(self, texts: pa.Array) -> IntegerArray:
        """Position of each id written in a large_binary array, -1 where it writes none of the catalogue."""
        ids = to_integers(texts, self._ids.type) if self.kind == "int" else texts
        return self._table.find(ids).astype(np.int64)

    @property
    def kind(self) -> str:
        """Type of the ids, "int" or "str"."""
        return "int" if pa.types.is_integer(self._ids.type) else "str"

    def __len__(self) -> int:
        return len(self._ids)

    def __reduce__(self) -> tuple[Any, ...]:
        return Catalogue, (self._ids,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Catalogue) and self._ids.equals(other._ids)

    def __repr__(self) -> str:
        return f"Catalogue({len(self)} {self.kind} ids)"


def _is_integer(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


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


def _to_integers(array: pa.Array, dtype: pa.DataType) -> pa.Array:
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
    try:
        return pa.array(ids)
    except OverflowError:  # integers beyond int64 may fit without a sign
        return pa.array(ids, pa.uint64())
