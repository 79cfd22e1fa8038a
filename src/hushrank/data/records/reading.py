"""One entry for records with answers: `Records`, one a person, or `UserRecords`, each of them one of a user's.

What may be refused (types, shapes, lengths, columns) is checked here, before the data are charged for. Values are
never refused: a number that is not finite stays what it is, for the kernel that bounds its person's contribution, and
a record whose id is missing is left out.
"""

from collections.abc import Hashable, Sequence
from os import PathLike
from typing import Any

from hushrank.data.frames import is_table
from hushrank.data.lazy_blocks import is_lazy_collection, lazy_records
from hushrank.data.records.in_memory import read_in_memory
from hushrank.data.records.origins import Origin
from hushrank.data.records.record_files import read_record_file
from hushrank.data.records.record_streams import StreamOrigin
from hushrank.data.records.sources import Records, UserRecords
from hushrank.data.source import Source
from hushrank.data.streams import is_stream
from hushrank.exceptions import InvalidParameter

__all__ = ["Records", "UserRecords", "read_records"]

_NEEDED = "the ids of the users, one for each record, or the name of their column"


def read_records(
    X: Any,
    y: Any = None,
    users: Any = None,
    *,
    owner: str,
    features: Sequence[Hashable] | None = None,
    needs_users: bool = False,
) -> Records | UserRecords:
    """Prepare records for reading in blocks; checks types, shapes, lengths and columns, and reads no values.

    Parameters
    ----------
    X : array-like, table, path, iterator, callable or source of records
        Real numbers of at most double precision, an array of shape (n_records, d) or (n_records, d1, d2) with a
        vector or a matrix for each record; an eager pandas, polars or pyarrow table; the path of a CSV file, a
        Parquet file or a folder of them, or its address elsewhere (s3://...);
        an iterator of blocks, which are tuples (X, y, users) or tables and
        of which the first is read here, or a function without arguments that returns such an iterator anew each time;
        a dask DataFrame, or dask arrays X, y and users.
        `Records` and `UserRecords` are returned as they are, without `y` and `users`.
    y : array-like of shape (n_records,), column of a table, or str
        Real numbers, an answer for each record. Of a table, file or stream of tables the name of a column, "target"
        if it is None.
    users : array, list or column of n_records ids, or str, optional
        Whose record it is: int64, uint64 or str, compared in their canonical form. A record whose id is missing
        (None, NaN, an empty text) is left out. Of a table, file or stream of tables the name of a column, "user" if
        it is None and there is one. Without users every record is a person of its own.
    owner : str
        Who asks, for error messages.
    features : sequence of column names, optional
        The columns X of a table or file, in this order; by default all but those of y and users, and but for
        "target" and "user" where these lie beside a table. A stored index of pandas is none.
    needs_users : bool, default False
        Whether records without users are refused.

    Returns
    -------
    records : Records or UserRecords
        `records.blocks(max_rows)` yields blocks of records (`RecordBlock`), or with users blocks of whole users
        (`UserRecordBlock`), whose number is then `records.n_users`. X of users is float32 where that holds all numbers
        of its types exactly, and float64 otherwise; of a stream it is float64.

    Raises
    ------
    InvalidParameter
        If the data are of another kind, type or shape. The message shows no values.

    Examples
    --------
    >>> records = read_records([[2, 0], [5, 1], [3, 0]], [0.5, 1.5, 2.5], ["ann", "bob", "ann"], owner="example")
    >>> [block] = records.blocks()
    >>> records.n_users, block.indptr.tolist(), block.y.tolist()
    (2, [0, 2, 3], [0.5, 2.5, 1.5])
    """
    if isinstance(X, Source):
        source = _check_source(X, {"y": y, "users": users, "features": features}, owner)
    else:
        if needs_users and users is None and not _may_name_users(X):
            raise InvalidParameter(owner, "users", _NEEDED, None)
        origin = _read_origin(X, y, users, features, owner)
        source = UserRecords(origin) if origin.has_users else Records(origin)
    if needs_users and not isinstance(source, UserRecords):
        raise InvalidParameter(owner, "users", _NEEDED, None)
    return source


def _read_origin(X: Any, y: Any, users: Any, features: Sequence[Hashable] | None, owner: str) -> Origin:
    if is_lazy_collection(X):
        X, y, users = lazy_records(X, y, users, owner)
    if isinstance(X, str | PathLike):
        return read_record_file(X, y, users, features, owner)
    if is_stream(X) and not is_table(X):
        return StreamOrigin(X, y, users, features, owner)
    return read_in_memory(X, y, users, features, owner)


def _may_name_users(X: Any) -> bool:
    """Whether users may come with X, as a column or as a part of blocks."""
    return isinstance(X, str | PathLike) or is_table(X) or is_stream(X)


def _check_source(source: Source, given: dict[str, Any], owner: str) -> Records | UserRecords:
    for name, value in given.items():
        if value is not None:
            raise InvalidParameter(owner, name, "None beside a source, which has it", type(value).__name__)
    if not isinstance(source, Records | UserRecords):
        requirement = "records: an array, a table, a path or blocks, with y"
        raise InvalidParameter(owner, "X", requirement, type(source).__name__)
    return source
