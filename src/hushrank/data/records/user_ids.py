"""Whose record it is: ids of users as an Arrow array, one for each record, null where there is none.

The type of an array or column decides whether it is refused, never an id. A list has no type of its own, so that one
odd id would decide it for everybody; its ids become texts where Arrow finds no common type. An integer and the text
that writes it are one id in any case.
"""

from collections.abc import Iterable
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from narwhals.dependencies import is_into_series

from hushrank.data.id_arrays import bytes_as_text, to_ids
from hushrank.exceptions import InvalidParameter

_COLUMNS = (np.ndarray, pa.Array, pa.ChunkedArray)
_IDS = "int64, uint64 or str ids, None where a record has no user"
_NO_VALUE = ("NAType", "NaTType")  # what pandas writes for a missing value; it need not be installed


def read_user_ids(users: Any, n_records: int | None, owner: str) -> pa.Array:
    """Ids as an int64, uint64 or large_string array.

    Parameters
    ----------
    users : array of integers or texts, list or tuple of them, or column of a table
        One id for each record. In a list, None and NaN are no id, and neither is an integer of more than 64 bits.
    n_records : int or None
        How many there must be; None for any number.
    owner : str
        Who asks, for error messages.

    Examples
    --------
    >>> read_user_ids([7, None, "ann"], 3, "example").to_pylist()
    ['7', None, 'ann']
    """
    if isinstance(users, np.ma.MaskedArray):
        raise InvalidParameter(owner, "users", "ids without a mask", type(users).__name__)
    if hasattr(users, "tolist") and not isinstance(users, _COLUMNS) and not is_into_series(users):
        users = users.tolist()  # what pandas makes of an index or of unique()
    ids = _typed_ids(users, owner)
    if n_records is not None and len(ids) != n_records:
        raise InvalidParameter(owner, "users", f"{n_records} ids, one for each record", f"{len(ids)} ids")
    return ids


def _typed_ids(users: Any, owner: str) -> pa.Array:
    try:
        return to_ids(users)
    except UnicodeError:  # a column with a text that is not Unicode, such as half of a surrogate pair
        return _ids_of_cells(nw.from_native(users, series_only=True).to_list(), owner)
    except pa.ArrowException as error:  # a column of a type that Arrow does not know
        raise InvalidParameter(owner, "users", _IDS, f"{type(users).__name__} of another type") from error
    except InvalidParameter as error:
        if isinstance(users, list | tuple):
            return _ids_of_cells(users, owner)
        if isinstance(users, np.ndarray) and users.ndim == 1 and users.dtype.kind in "UT":
            return _ids_of_cells(users.tolist(), owner)
        raise InvalidParameter(owner, "users", error.requirement, error.got) from error


def _ids_of_cells(cells: Iterable[Any], owner: str) -> pa.Array:
    """Ids as texts, one by one; only a cell of another type than integers and texts is refused."""
    return bytes_as_text([to_text(cell, owner) for cell in cells])


def to_text(cell: Any, owner: str) -> bytes | None:
    """An id as the bytes of a text, None for a missing one; a cell of another type is refused."""
    if isinstance(cell, str):
        return cell.encode("utf-8", "surrogatepass")
    if isinstance(cell, int | np.integer) and not isinstance(cell, bool):
        return str(int(cell)).encode() if -(2**63) <= cell < 2**64 else None
    is_nan = isinstance(cell, float | np.floating) and cell != cell
    if cell is None or is_nan or type(cell).__name__ in _NO_VALUE:
        return None
    raise InvalidParameter(owner, "users", _IDS, f"a {type(cell).__name__} among them")
