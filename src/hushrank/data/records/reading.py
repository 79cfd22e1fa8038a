"""One entry for records with answers: `Records`, one a person, or `UserRecords`, each of them one of a user's.

What may be refused (types, shapes, lengths) is checked here, before the data are charged for. Values are never
refused: a number that is not finite stays what it is, for the kernel that bounds its person's contribution, and a
record whose id is missing is left out.
"""

from typing import Any

from hushrank.data.records.features import read_features
from hushrank.data.records.sources import Records, UserRecords
from hushrank.data.records.user_ids import read_user_ids
from hushrank.data.source import Source
from hushrank.data.vectors import read_vector
from hushrank.exceptions import InvalidParameter

__all__ = ["Records", "UserRecords", "read_records"]


def read_records(X: Any, y: Any = None, users: Any = None, *, owner: str) -> Records | UserRecords:
    """Prepare records for reading in blocks; checks types, shapes and lengths, and reads no values.

    Parameters
    ----------
    X : array-like of shape (n_records, d) or (n_records, d1, d2), table, or source of records
        Real numbers of at most double precision, a vector or a matrix for each record; or an eager pandas, polars or
        pyarrow table of them. `Records` and `UserRecords` are returned as they are, without `y` and `users`.
    y : array-like of shape (n_records,), or column of a table
        Real numbers, an answer for each record.
    users : array, list or column of n_records ids, optional
        Whose record it is: int64, uint64 or str, compared in their canonical form. A record whose id is missing
        (None, NaN, an empty text) is left out. By default every record is a person of its own.
    owner : str
        Who asks, for error messages.

    Returns
    -------
    records : Records or UserRecords
        `records.blocks(max_rows)` yields blocks of records (`RecordBlock`), or with users blocks of whole users
        (`UserRecordBlock`), whose number is then `records.n_users`.

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
        for name, given in (("y", y), ("users", users)):
            if given is not None:
                raise InvalidParameter(owner, name, "None beside a source, which has it", type(given).__name__)
        if not isinstance(X, Records | UserRecords):
            raise InvalidParameter(owner, "X", "records: an array or a table, with y", type(X).__name__)
        return X
    features = read_features(X, owner)
    if y is None:
        raise InvalidParameter(owner, "y", "a vector, one number for each record", None)
    answers = read_vector(y, "y", owner)
    if len(answers) != len(features):
        requirement = f"a vector of {len(features)} numbers, one for each record"
        raise InvalidParameter(owner, "y", requirement, f"{len(answers)} numbers")
    if users is None:
        return Records(features, answers)
    return UserRecords(features, answers, read_user_ids(users, len(features), owner))
