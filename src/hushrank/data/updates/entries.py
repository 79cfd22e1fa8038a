"""Updates that lie in memory: three vectors, or the columns of a table, and a fourth with users where one is needed.

Types and lengths are checked here. Values are converted a chunk at a time; what is int64 or float64 is not copied.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hushrank.data.frames import COLLECTED, choose_columns, is_lazy, to_block
from hushrank.data.id_arrays import convert_integers, to_ids
from hushrank.data.records.user_ids import read_user_ids
from hushrank.data.updates.source import UpdateChunk
from hushrank.data.vectors import as_column, read_vector, to_array, to_float64
from hushrank.exceptions import InvalidParameter
from hushrank.parameters import did_you_mean

Vector = Any  # a NumPy array, or Arrow data in one chunk or several

_INDICES = "a vector of integers of at most 64 bits"
_DELTAS = "a vector of real numbers, one for each update"
_USERS = "ids, one for each update"
_LARGEST_INDEX = 2**63 - 1
# Arrow gives a column without any value the type null; whether it has one may depend on a single person.
_INDEX_TYPES = (pa.types.is_integer, pa.types.is_null)
_DELTA_TYPES = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_null)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Entries:
    """Updates as they are given: vectors of one length, not copied and not looked at before they are read.

    Attributes
    ----------
    rows, columns : ndarray or Arrow column of integers
    deltas : ndarray or Arrow column of real numbers
    users : Arrow array of ids, or None
    """

    rows: Vector
    columns: Vector
    deltas: Vector
    users: pa.Array | None = None

    def __post_init__(self) -> None:
        vectors = [vector for vector in (self.rows, self.columns, self.deltas, self.users) if vector is not None]
        shapes = {vector.shape if isinstance(vector, np.ndarray) else (len(vector),) for vector in vectors}
        if shapes != {(len(self.rows),)}:
            raise InvalidParameter("Updates", "entries", "vectors of one length", f"shapes {sorted(shapes)}")

    @property
    def n_updates(self) -> int:
        """How many there are."""
        return len(self.rows)

    @property
    def has_users(self) -> bool:
        """Whether they have users."""
        return self.users is not None

    @property
    def can_repeat(self) -> bool:
        """They lie in memory."""
        return True

    def chunks(self, most: int) -> Iterator[UpdateChunk]:
        """All updates in their order, `most` at a time."""
        for start in range(0, self.n_updates, most):
            rows, columns, deltas = (_part(own, start, most) for own in (self.rows, self.columns, self.deltas))
            users = None if self.users is None else self.users[start : start + most]
            yield UpdateChunk(to_indices(rows), to_indices(columns), to_deltas(deltas), users)


def to_indices(vector: Vector) -> NDArray[np.int64]:
    """Integers as int64, -1 where they are null or do not fit; the vector itself if it is so already."""
    if not isinstance(vector, np.ndarray):
        if pa.types.is_null(vector.type):
            return np.full(len(vector), -1)
        fitting = convert_integers(to_ids(vector), pa.int64())
        vector = (fitting.fill_null(-1) if fitting.null_count else fitting).to_numpy(zero_copy_only=False)
    indices = np.require(vector, np.int64, ("C", "A"))
    # Those that do not fit have wrapped around to negative ones.
    return np.maximum(indices, -1) if vector.dtype.kind == "u" else indices


def to_deltas(vector: Vector) -> NDArray[np.float64]:
    """Real numbers as float64, nulls as NaN; the vector itself if it is so already."""
    return to_float64(vector if isinstance(vector, np.ndarray) else to_block([vector], len(vector))[:, 0])


def _part(vector: Vector, start: int, most: int) -> Vector:
    return vector[start : start + most] if isinstance(vector, np.ndarray) else vector.slice(start, most)


# Vectors.


def read_vectors(
    rows: Any,
    columns: Any,
    deltas: Any,
    users: Any,
    needs_users: bool,
    owner: str,
    names: Sequence[str] = ("rows", "columns", "deltas"),
) -> Entries:
    """Updates of three vectors, or of four if users are needed; `names` are what they are called in error messages.

    Examples
    --------
    >>> entries = read_vectors([0, None], [1, 2], pa.array([0.5, None]), ["ann", ""], True, "example")
    >>> [chunk] = entries.chunks(10)
    >>> chunk.rows.tolist(), chunk.columns.tolist(), chunk.deltas.tolist(), chunk.users.to_pylist()
    ([0, -1], [1, 2], [0.5, nan], ['ann', ''])
    """
    vectors = (
        _read_indices(rows, names[0], owner),
        _read_indices(columns, names[1], owner),
        _read_deltas(deltas, names[2], owner),
    )
    n_updates = len(vectors[0])
    for name, vector in zip(names[1:3], vectors[1:], strict=True):
        if len(vector) != n_updates:
            requirement = f"a vector of {n_updates} numbers, as many as {names[0]}"
            raise InvalidParameter(owner, name, requirement, f"{len(vector)} numbers")
    check_users(users is not None, needs_users, owner)
    return Entries(*vectors, read_user_ids(users, n_updates, owner) if needs_users else None)


def check_users(are_given: bool, are_needed: bool, owner: str) -> None:
    """Refuse users that are missing, and users that would not be looked at: who gives them counts on them."""
    if are_needed and not are_given:
        raise InvalidParameter(owner, "users", _USERS, None)
    if are_given and not are_needed:
        raise InvalidParameter(owner, "users", "None where an update needs no user", "ids")


def _read_indices(data: Any, name: str, owner: str) -> Vector:
    """A vector of integers of whatever type it has."""
    if data is None:
        raise InvalidParameter(owner, name, _INDICES, None)
    column = as_column(data, name, owner, _INDICES)
    if column is not None:
        check_index_type(column.type, name, owner)
        return column
    vector = to_array(data, name, owner)
    if isinstance(data, list | tuple) and vector.ndim == 1 and all(map(_may_be_index, data)):
        return _list_indices(data, vector)
    if vector.dtype.kind not in "iu" or vector.ndim != 1:
        raise InvalidParameter(owner, name, _INDICES, f"{vector.dtype} of shape {vector.shape}")
    return vector


def _may_be_index(cell: Any) -> bool:
    return cell is None or (isinstance(cell, int | np.integer) and not isinstance(cell, bool))


def _list_indices(indices: Sequence[Any], vector: NDArray[Any]) -> NDArray[Any]:
    """Indices of a list; one that is None or huge would make all of them floats or objects, and is outside instead."""
    if vector.dtype.kind in "iu":
        return vector
    is_inside = (index is not None and 0 <= index <= _LARGEST_INDEX for index in indices)
    return np.array([index if inside else -1 for index, inside in zip(indices, is_inside, strict=True)], np.int64)


def _read_deltas(data: Any, name: str, owner: str) -> Vector:
    if data is None:
        raise InvalidParameter(owner, name, _DELTAS, None)
    column = as_column(data, name, owner)
    if column is None:
        return read_vector(data, name, owner)
    check_delta_type(column.type, name, owner)
    return column


def check_index_type(dtype: pa.DataType, name: str, owner: str) -> None:
    """Refuse a column that cannot hold indices."""
    if not any(accepts(dtype) for accepts in _INDEX_TYPES):
        raise InvalidParameter(owner, name, _INDICES, f"a column of type {str(dtype)[:30]}")


def check_delta_type(dtype: pa.DataType, name: str, owner: str) -> None:
    """Refuse a column that cannot hold deltas."""
    if not any(accepts(dtype) for accepts in _DELTA_TYPES):
        raise InvalidParameter(owner, name, _DELTAS, f"a column of type {str(dtype)[:30]}")


# Tables.


def name_columns(names: Sequence[Hashable], needs_users: bool, owner: str) -> list[str]:
    """What the columns row, column, delta and, if needed, user are called among the names of a table; others are left.

    Examples
    --------
    >>> name_columns(["delta", "note", "col", "row"], False, "example")
    ['row', 'col', 'delta']
    """
    if "column" in names and "col" in names:
        raise InvalidParameter(owner, "X", "a table with one of the columns 'column' and 'col'", "both")
    column = "col" if "col" in names else "column"
    chosen = ["row", column, "delta", "user"] if needs_users else ["row", column, "delta"]
    missing = [name for name in chosen if name not in names]
    if missing:
        requirement = f"a table with the columns {', '.join(chosen)}"
        raise InvalidParameter(
            owner, "updates", requirement, f"one without {', '.join(missing)}{did_you_mean(missing[0], names)}"
        )
    choose_columns(names, chosen, owner)  # refuses repeated ones
    return chosen


def parameter_names(names: Sequence[str]) -> list[str]:
    """What columns of a table are called in error messages."""
    return [f"column {name!r}" for name in names]


def read_table(table: Any, needs_users: bool, owner: str) -> Entries:
    """Updates of an eager table, see `name_columns`."""
    parts = table_columns(table, needs_users, owner)
    rows, columns, deltas, users = [*parts.values(), None][:4]
    return read_vectors(rows, columns, deltas, users, needs_users, owner, parameter_names(list(parts)))


def table_columns(table: Any, needs_users: bool, owner: str) -> dict[str, Any]:
    """The columns of a table that updates are made of, as the library has them that made it."""
    if isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    if is_lazy(table):
        raise InvalidParameter(owner, "X", COLLECTED, type(table).__name__)
    is_arrow = isinstance(table, pa.Table)
    names = name_columns(table.column_names if is_arrow else list(table.columns), needs_users, owner)
    if is_arrow:
        return {name: table.column(name) for name in names}
    frame = nw.from_native(table, eager_only=True)
    return {name: frame[name].to_native() for name in names}
