"""Own records, as people hand them over when they ask for predictions: of one person, or of many with their ids.

Nothing here is private learning: a user's own records meet the released model, and stay with that user. Users keep
the order of their first appearance, and none is left out: what fit would pass over is refused here.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hushrank.data.frames import is_table
from hushrank.data.id_arrays import as_text, to_array
from hushrank.data.identifiers import Codes, IdTable, code_everybody
from hushrank.data.records.blocks import UserRecordBlock
from hushrank.data.records.features import Features
from hushrank.data.records.grouping import group_records
from hushrank.data.records.in_memory import MemoryOrigin, read_in_memory
from hushrank.data.records.origins import Origin
from hushrank.data.records.record_files import CsvOrigin, read_record_file
from hushrank.data.records.user_ids import read_user_ids
from hushrank.data.source import Source
from hushrank.data.streams import is_stream
from hushrank.data.text_values import to_numbers
from hushrank.exceptions import InvalidParameter

BATCH_RECORDS = 2**16


@dataclass(frozen=True, slots=True, eq=False)
class Histories:
    """Records of one person or of several.

    Attributes
    ----------
    block : UserRecordBlock
        The records of each user in the canonical order, as a fit sees them.
    codes : ndarray of shape (n_records,)
        Whose record each of the given ones is: positions in `block`, in the order of the table.
    ids : ndarray of shape (n_users,) or None
        The ids of the users of the block, int64, uint64 or strings, as they were given; None for one person.
    known : Arrow array or None
        The same ids, for `find_users`.
    """

    block: UserRecordBlock
    codes: Codes
    ids: NDArray[Any] | None
    known: pa.Array | None

    @property
    def is_single(self) -> bool:
        """Whether they are of one person, who expects one answer and not a list of one."""
        return self.ids is None


def read_histories(
    X: Any, y: Any = None, users: Any = None, *, columns: Sequence[Hashable] | None = None, owner: str
) -> Histories:
    """Own records of many users, or without users of one person.

    Parameters
    ----------
    X : array-like, table or path
        As `hushrank.data.records.reading.read_records` takes it, but for blocks. A CSV file with a record that cannot
        be read is refused.
    y : array-like of shape (n_records,), column of a table, or str
        Answers, or the name of their column; "target" if it is None and X is a table or a path.
    users : array, list or column of n_records ids, or str, optional
        Whose record it is. Of a table or path the name of a column, "user" if it is None and there is one.
    columns : sequence of column names, optional
        The columns of a table or path that the model was learned from. An array must have them in this order.
    owner : str
        Who asks, for error messages.

    Raises
    ------
    InvalidParameter
        If the data are of another kind, type or shape, if a record has no user, and if a user has two spellings.

    Examples
    --------
    >>> histories = read_histories([[2.0], [5.0], [3.0]], [0.5, 1.5, 2.5], ["ann", "bob", "ann"], owner="example")
    >>> histories.ids.tolist(), histories.codes.tolist(), histories.block.y.tolist()
    (['ann', 'bob'], [0, 1, 0], [0.5, 2.5, 1.5])
    >>> find_users(histories, ["bob", "eve"]).tolist()
    [1, -1]
    """
    origin = _read_origin(X, y, users, columns, owner)
    if origin.ids is None:
        assert origin.n_records is not None
        codes, known = np.zeros(origin.n_records, np.int32), None
        n_users = 1
    else:
        codes, known = code_everybody(origin.ids, "records", "X", owner)
        n_users = len(known)
    numbers = ((batch.X, batch.y) for batch in origin.batches(BATCH_RECORDS, origin.dtype))
    block = group_records(codes, n_users, numbers, origin.shape, origin.dtype)
    return Histories(block, codes, None if known is None else to_array(known), known)


def find_users(histories: Histories, users: Any, owner: str = "find_users") -> Codes:
    """Position of each user in the block of histories, -1 for those who have none, and for missing ids.

    Parameters
    ----------
    histories : Histories
        Of many users.
    users : array, list or column of ids
        Compared in their canonical form, whatever their type: the text "7" and the integer 7 are one user.
    owner : str
        Who asks, for error messages.
    """
    if histories.known is None:
        raise InvalidParameter(owner, "users", "None beside the records of one person", type(users).__name__)
    ids, table = read_user_ids(users, None, owner), IdTable()
    is_same = pa.null() in (ids.type, histories.known.type) or ids.type == histories.known.type
    table.add(histories.known if is_same else as_text(histories.known))
    return table.find(ids if is_same else as_text(ids))


def _read_origin(X: Any, y: Any, users: Any, columns: Sequence[Hashable] | None, owner: str) -> MemoryOrigin:
    """All records in memory."""
    if isinstance(X, str | PathLike):
        origin = read_record_file(X, y, users, columns, owner, parameter="columns")
        return _read_csv(origin) if isinstance(origin, CsvOrigin) else _read_all(origin)
    if isinstance(X, Source) or (is_stream(X) and not is_table(X)):
        raise InvalidParameter(owner, "X", "an array, a table or a path", type(X).__name__)
    return read_in_memory(X, y, users, columns if is_table(X) else None, owner, parameter="columns")


def _read_all(origin: Origin) -> MemoryOrigin:
    """The records of a file."""
    X, y, ids = [np.empty((0, *origin.shape), origin.dtype)], [np.empty(0)], []
    for batch in origin.batches(BATCH_RECORDS, origin.dtype):
        X.append(batch.X)
        y.append(batch.y)
        ids.append(batch.ids)
    return MemoryOrigin(Features(np.concatenate(X)), np.concatenate(y), _join(ids) if origin.has_users else None)


def _join(ids: list[pa.Array]) -> pa.Array:
    """Ids of one type, or of none where a file has nulls only."""
    dtype = next((part.type for part in ids if not pa.types.is_null(part.type)), pa.null())
    return pa.concat_arrays([pa.nulls(0, dtype), *(part.cast(dtype) for part in ids)])


def _read_csv(origin: CsvOrigin) -> MemoryOrigin:
    """The records of a CSV file, of which none may be lost; empty lines are passed over."""
    roles = origin.roles
    names = [str(name) for name in (*roles.features, roles.y, roles.users) if name is not None]
    texts = origin.texts.read(names)
    X = np.column_stack([to_numbers(texts[str(name)]) for name in roles.features])
    ids = None if roles.users is None else texts[roles.users].view(pa.large_string())
    return MemoryOrigin(Features(X), to_numbers(texts[str(roles.y)]), ids)
