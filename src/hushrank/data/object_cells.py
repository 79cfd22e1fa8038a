"""Columns of Python objects, in which older versions of pandas keep texts: what each cell means, cell by cell.

A cell is decided by itself, so that one person's odd cell changes nothing for others, and none of them raises. An id
is a text, or an integer (also one written as a float): 7, 7.0, "7" and "07" are one id. Anything else, such as 7.5, a
date or True, is no id. A rating is a number or a text that writes one, as in a CSV file; anything else is none.
"""

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hushrank.data.records.loose_cells import loose_ids, loose_numbers

_TEXTS = {str, type(None)}


def is_of_objects(column: nw.Series[Any]) -> bool:
    """Whether a column holds Python objects, by its type: no cell is looked at."""
    return column.dtype == nw.Object or str(getattr(column.to_native(), "dtype", "")) == "object"


def object_ids(cells: Sequence[Any]) -> pa.Array:
    """Ids as a large_string array, null where a cell is none.

    Examples
    --------
    >>> object_ids(["ann", 7, 7.0, 7.5, True, None]).to_pylist()
    ['ann', '7', '7', None, None, None]
    """
    if set(map(type, cells)) <= _TEXTS:
        try:
            return pa.array(cells, pa.large_string())
        except UnicodeEncodeError:  # half of a surrogate pair, which keeps bytes of its own
            pass
    return loose_ids(_to_vector(cells), "ids")


def object_numbers(cells: Sequence[Any]) -> NDArray[np.float64]:
    """Numbers, NaN where a cell is none.

    Examples
    --------
    >>> object_numbers([3, "4.5", "good", None]).tolist()
    [3.0, 4.5, nan, nan]
    """
    return loose_numbers(_to_vector(cells), "ratings", "ratings")


def _to_vector(cells: Sequence[Any]) -> NDArray[Any]:
    """An array of objects, also where they are sequences."""
    vector = np.empty(len(cells), object)
    for i, cell in enumerate(cells):
        vector[i] = cell
    return vector
