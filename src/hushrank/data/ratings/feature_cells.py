"""Columns of Python objects, in which pandas keeps texts, lists and numbers with gaps: as Arrow data of one type.

Types are told apart here. Arrow's own guess may depend on the order of the rows, and some mixtures of objects crash it.
"""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from hushrank.data.id_arrays import array_of

_INTEGERS = (int, np.integer)
_NUMBERS = (*_INTEGERS, float, np.floating, np.bool_, Decimal)
_LISTS = (list, tuple, set, frozenset, np.ndarray)


def cells_to_arrow(cells: Sequence[Any]) -> pa.Array:
    """Texts, numbers or lists of texts as an Arrow array, None as null; integers stay such if all of them are.

    Raises
    ------
    TypeError
        If cells are something else, or of several types.
    OverflowError
        If an integer is too large for a float.

    Examples
    --------
    >>> cells_to_arrow([1, None, 2.5]).to_pylist(), cells_to_arrow([("a", "b"), None]).to_pylist()
    ([1.0, None, 2.5], [['a', 'b'], None])
    """
    found = [cell for cell in cells if cell is not None]
    if not found:
        return pa.nulls(len(cells))
    if all(isinstance(cell, str) for cell in found):
        return pa.array(cells, pa.large_string())
    if all(isinstance(cell, _LISTS) for cell in found):
        return pa.array([None if cell is None else _to_texts(cell) for cell in cells], pa.large_list(pa.large_string()))
    if not all(isinstance(cell, _NUMBERS) for cell in found):
        raise TypeError("cells must be texts, numbers or lists of texts.")
    if all(isinstance(cell, _INTEGERS) and not isinstance(cell, bool) for cell in found):
        try:
            return array_of([None if cell is None else int(cell) for cell in cells])
        except OverflowError:  # 64 bits are not enough: an id cannot be so large, a number can
            pass
    return pa.array([None if cell is None else float(cell) for cell in cells], pa.float64())


def _to_texts(cell: Any) -> list[str | None]:
    """The texts of a list; nothing else may be in it."""
    texts = list(cell)  # of rows, which are no texts, if an array has several dimensions
    if not all(text is None or isinstance(text, str) for text in texts):
        raise TypeError("lists must be of texts.")
    return texts
