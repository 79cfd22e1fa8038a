"""Forms of measurements: how many numbers a record has in each design, and the size of the matrix that is measured.

dense      A matrix of the shape (d1, d2), in data with named columns its d1 d2 entries row after row.
rank_one   Two vectors x and z, of d1 and d2 numbers, for the measurement x z^T.
entry      A row and a column index, for the measurement of one entry.

The size of the matrix is public. It comes with the data where these have such a form, and is never read off a value.
"""

import math
from collections.abc import Sequence
from numbers import Integral
from typing import Any

from hushrank.exceptions import InvalidParameter

DESIGNS = ("dense", "rank_one", "entry")
MOST_ENTRIES = 2**24  # of the matrix that is measured

Shape = tuple[int, int]

# Axes of the parts of a tuple X, for designs whose measurements have two parts.
PART_AXES = {"rank_one": 2, "entry": 1}

_KINDS = {
    "dense": "the n_rows * n_columns entries of a matrix",
    "rank_one": "the n_rows + n_columns numbers of x and z",
    "entry": "the row and the column of an entry",
}
_NEEDED = "(n_rows, n_columns), the size of the matrix, which these data do not tell"


def check_design(design: Any, owner: str) -> None:
    """Refuse what is not the name of a design."""
    if not isinstance(design, str) or design not in DESIGNS:
        raise InvalidParameter(owner, "design", f"one of {', '.join(map(repr, DESIGNS))}", design)


def check_shape(shape: Any, design: str, owner: str) -> Shape | None:
    """A size as two integers; None stays None, unless no data of the design could tell it."""
    if shape is None:
        if design == "entry":
            raise InvalidParameter(owner, "shape", _NEEDED, None)
        return None
    requirement = f"two integers (n_rows, n_columns) from 1 on, of a matrix of at most {MOST_ENTRIES} entries"
    sizes = list(shape) if isinstance(shape, Sequence) and not isinstance(shape, str | bytes) else []
    if len(sizes) != 2 or not all(isinstance(size, Integral) and not isinstance(size, bool) for size in sizes):
        raise InvalidParameter(owner, "shape", requirement, shape)
    n_rows, n_columns = map(int, sizes)
    if min(n_rows, n_columns) < 1 or n_rows * n_columns > MOST_ENTRIES:
        raise InvalidParameter(owner, "shape", requirement, shape)
    return n_rows, n_columns


def record_shape(design: str, shape: Shape) -> tuple[int, ...]:
    """The shape of X of one record.

    Examples
    --------
    >>> [record_shape(design, (3, 4)) for design in DESIGNS]
    [(3, 4), (7,), (2,)]
    """
    return {"dense": shape, "rank_one": (sum(shape),), "entry": (2,)}[design]


def settle_shape(
    design: str, shape: Shape | None, found: tuple[int, ...], parts: tuple[int, int] | None, owner: str
) -> Shape:
    """The size of the matrix; refuses data of another form than that of the design.

    Parameters
    ----------
    design : str
        One of `DESIGNS`.
    shape : pair of int or None
        The size that was asked for.
    found : tuple of int
        Shape of one record of the data.
    parts : pair of int or None
        Lengths of the two vectors of a record, where the data are a pair.
    owner : str
        Who asks, for error messages.
    """
    told = found if design == "dense" and len(found) == 2 else parts if design == "rank_one" else None
    if told is not None:
        size = told[0], told[1]
        if shape is not None and size != shape:
            raise InvalidParameter(owner, "X", f"measurements of the shape {shape}", f"those of {size}")
        if math.prod(size) > MOST_ENTRIES:
            requirement = f"measurements of a matrix of at most {MOST_ENTRIES} entries"
            raise InvalidParameter(owner, "X", requirement, f"those of {size}")
        return size
    if len(found) > 1:
        raise InvalidParameter(owner, "X", f"{_KINDS[design]} for each record", f"matrices of {found}")
    if shape is None:
        raise InvalidParameter(owner, "shape", _NEEDED, None)
    n_numbers = math.prod(record_shape(design, shape))
    if found != (n_numbers,):
        requirement = f"{_KINDS[design]}, {n_numbers} numbers, for each record and the shape {shape}"
        raise InvalidParameter(owner, "X", requirement, f"{found[0]} numbers")
    return shape
