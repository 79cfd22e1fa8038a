"""Public item ids and their positions: the place where ids become indices.

A catalogue is public, so its ids may be kept and saved with a model. Ids of users never enter one.
"""

from typing import Any

import numpy as np
import pyarrow as pa
from narwhals.dependencies import is_into_series
from numpy.typing import NDArray

from hushrank.data.id_arrays import convert_integers, to_ids
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
        elif hasattr(ids, "tolist") and (_is_of_objects(ids) or not (isinstance(ids, _COLUMNS) or is_into_series(ids))):
            ids = ids.tolist()  # what pandas makes of an index or of unique(), or keeps texts in
        array = to_ids(ids)
        if pa.types.is_null(array.type) or len(array) == 0:
            raise InvalidParameter("Catalogue", "ids", "at least one id", f"{len(array)} ids, none of them set")
        if pa.types.is_uint64(array.type) and convert_integers(array, pa.int64()).null_count == array.null_count:
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
            array = convert_integers(array, self._ids.type)
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
        return self is other or (isinstance(other, Catalogue) and self._ids.equals(other._ids))

    def __repr__(self) -> str:
        return f"Catalogue({len(self)} {self.kind} ids)"


def _is_of_objects(ids: Any) -> bool:
    return str(getattr(ids, "dtype", "")) == "object"


def _is_integer(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
