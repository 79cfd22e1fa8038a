"""Records that lie in memory: arrays, and eager tables whose columns have names."""

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hushrank.data.frames import COLLECTED, is_lazy, is_table
from hushrank.data.records.columns import ONE_A_PERSON, Roles, assign_roles
from hushrank.data.records.features import Features, PairFeatures, Slices, read_features
from hushrank.data.records.origins import Batch, Origin
from hushrank.data.records.user_ids import read_user_ids
from hushrank.data.vectors import read_vector, to_float64
from hushrank.exceptions import InvalidParameter


class MemoryOrigin(Origin):
    """Records of an array or a table; X is neither copied nor looked at before it is read.

    Parameters
    ----------
    features : Features or PairFeatures
        The numbers X.
    y : array or stored array of shape (n_records,)
        The answers, of any real dtype.
    ids : Arrow array of n_records ids, optional
        Whose record it is.
    roles : Roles, optional
        What the columns of the table are.
    """

    def __init__(
        self,
        features: Features | PairFeatures,
        y: Slices,
        ids: pa.Array | None = None,
        roles: Roles | None = None,
    ) -> None:
        super().__init__(features.shape, features.dtype, ids is not None, len(features), features.columns)
        self.parts = features.parts
        self._features, self._y, self.ids, self.roles = features, y, ids, roles

    def batches(self, max_rows: int, dtype: np.dtype[Any]) -> Iterator[Batch]:
        """Consecutive records; X and y are views where they are so already."""
        start = 0
        for X in self._features.blocks(max_rows, dtype):
            part = slice(start, start + len(X))
            yield Batch(X, to_float64(self._y[part]), None if self.ids is None else self.ids[part])
            start = part.stop


def read_in_memory(
    X: Any,
    y: Any,
    users: Any,
    features: Sequence[Hashable] | None,
    owner: str,
    *,
    parameter: str = "features",
) -> MemoryOrigin:
    """Records of arrays, or of a table with the columns `features` and, where they are names, `y` and `users`.

    Examples
    --------
    >>> table = pa.table({"user": ["ann", "bob"], "age": [31, 47], "target": [0.5, 1.5]})
    >>> origin = read_in_memory(table, None, None, None, "example")
    >>> origin.columns, origin.has_users, origin.n_records
    (('age',), True, 2)
    """
    roles = None
    if is_table(X):
        X, roles = table_roles(X, y, users, features, owner, parameter)
        chosen = read_features(X, owner, list(roles.features))
        y = y if roles.y is None else _column(X, roles.y)
        users = users if roles.users is None else _column(X, roles.users)
    else:
        if features is not None:
            raise InvalidParameter(owner, parameter, "None for data whose columns have no names", features)
        chosen = read_features(X, owner)
    answers = read_answers(y, len(chosen), owner)
    ids = None if users is None or users is ONE_A_PERSON else read_user_ids(users, len(chosen), owner)
    return MemoryOrigin(chosen, answers, ids, roles)


def read_answers(y: Any, n_records: int, owner: str) -> NDArray[Any]:
    """A vector with an answer for each record."""
    if y is None:
        raise InvalidParameter(owner, "y", "a vector, one number for each record", None)
    answers = read_vector(y, "y", owner)
    check_count(len(answers), n_records, owner)
    return answers


def check_count(n_answers: int, n_records: int, owner: str) -> None:
    """Refuse answers that are not one for each record."""
    if n_answers != n_records:
        requirement = f"a vector of {n_records} numbers, one for each record"
        raise InvalidParameter(owner, "y", requirement, f"{n_answers} numbers")


def table_roles(
    table: Any, y: Any, users: Any, features: Sequence[Hashable] | None, owner: str, parameter: str = "features"
) -> tuple[Any, Roles]:
    """A table that is no record batch, and what its columns are; a lazy one is refused."""
    if isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    if is_lazy(table):
        raise InvalidParameter(owner, "X", COLLECTED, type(table).__name__)
    names: list[Hashable] = table.column_names if isinstance(table, pa.Table) else list(table.columns)
    return table, assign_roles(names, y, users, features, owner, index=_index_of(table), parameter=parameter)


def _index_of(table: Any) -> Sequence[Any]:
    """Columns of an Arrow table that were the index of a pandas table."""
    metadata = table.schema.pandas_metadata if isinstance(table, pa.Table) else None
    return list((metadata or {}).get("index_columns", []))


def _column(table: Any, name: str) -> Any:
    if isinstance(table, pa.Table):
        return table.column(name)
    return nw.from_native(table, eager_only=True)[name].to_native()
