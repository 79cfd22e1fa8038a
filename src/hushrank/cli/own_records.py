"""People's own records, and new ones to predict: files that `hushrank predict` reads whole.

They are CSV files with a header or Parquet files, told by their suffix. Columns are found by their names, in any order.
Whose record it is may be written in any format: ids are compared in their canonical form, and come back as they were.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from hushrank.data.delimited import DelimitedText
from hushrank.data.files import PARQUET_SUFFIXES, refuse_damaged, say_path
from hushrank.data.frames import choose_columns, choose_fields, to_block
from hushrank.data.id_arrays import id_kind, to_ids
from hushrank.data.identifiers import IdTable
from hushrank.data.records.columns import DEFAULT_USER
from hushrank.data.records.histories import Histories, find_users, read_histories
from hushrank.data.records.record_files import read_record_file
from hushrank.data.text_files import DATA_SUFFIXES, text_suffix
from hushrank.data.text_values import to_numbers
from hushrank.exceptions import InvalidParameter

OWN, NEW = "own records", "new records"


@dataclass(frozen=True, slots=True, eq=False)
class NewRecords:
    """Records to predict, in the order of their file.

    Attributes
    ----------
    X : ndarray of shape (n_records, n_features)
        NaN where a number is missing.
    ids : Arrow array of n_records ids, or None
        As the file has them; None where it does not say whose they are.
    codes : ndarray of shape (n_records,)
        Whose each is: positions among the people with own records, -1 for somebody else.
    """

    X: NDArray[np.float64]
    ids: pa.Array | None
    codes: NDArray[np.integer]


def read_own(model: Any, path: Path, target: str, user: str | None) -> tuple[Histories, list[str]]:
    """Own records of one person or of several, and the names of the features, in the order of the model.

    `user` is the name of a column; None is the column "user", if there is one. A model that was learned from columns
    without names takes all but the target and the user, in the order of the file.
    """
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        names = read_record_file(path, target, user, None, OWN).columns or ()
    if len(names) != model.n_features_in_:
        raise InvalidParameter(OWN, "X", f"records of {model.n_features_in_} features", f"{len(names)} features")
    features = [str(name) for name in names]
    return read_histories(path, target, user, columns=features, owner=OWN), features


def unused_columns(path: Path, target: str, user: str | None, features: Sequence[str]) -> list[str]:
    """Columns of own records that are neither the target, the user nor a feature: one may say whose a record is."""
    columns = read_record_file(path, target, user, None, OWN).columns or ()
    return [str(name) for name in columns if name not in features]


def read_new(path: Path, features: Sequence[str], user: str | None, people: Histories) -> NewRecords:
    """Records of the people whose own records were read; where these are one person, all are of this person.

    Refused are users of new records where own records name nobody, several people who are not told apart, and records
    without a user among those that have one.
    """
    column = DEFAULT_USER if user is None else user
    X, ids = _read_columns(path, features, column)
    if ids is None:
        if len(people.block) != 1:
            requirement = f"a table with the column {column!r}, as the own records"
            raise InvalidParameter(NEW, "file", requirement, f"{path.name}: no users")
        return NewRecords(X, None, np.zeros(len(X), np.int32))
    if people.is_single:
        raise InvalidParameter(NEW, "file", "a table without users, as the own records", f"{path.name}: users")
    if (IdTable().add(ids) < 0).any():
        raise InvalidParameter(NEW, "file", "records with a user in every row", "a row without one")
    return NewRecords(X, ids, find_users(people, ids, NEW))


def _read_columns(path: Path, features: Sequence[str], user: str) -> tuple[NDArray[np.float64], pa.Array | None]:
    """The numbers of all records, and their users where there is such a column."""
    is_text = text_suffix(path) is not None
    if not (is_text or path.suffix.lower() in PARQUET_SUFFIXES) or not path.is_file():
        requirement = f"an existing file ending in {', '.join(DATA_SUFFIXES)}"
        raise InvalidParameter(NEW, "file", requirement, say_path(path))
    X, ids = _read_csv(path, features, user) if is_text else _read_parquet(path, features, user)
    X = np.ascontiguousarray(X)  # products have the same last bits whatever the file
    X[~np.isfinite(X)] = np.nan
    return X, ids


def _read_csv(path: Path, features: Sequence[str], user: str) -> tuple[NDArray[np.float64], pa.Array | None]:
    text = DelimitedText(path, NEW)
    choose_columns(text.names, features, NEW)
    has_users = user in text.names
    columns = text.read([*features, user] if has_users else features)
    X = np.column_stack([to_numbers(columns[name]) for name in features])
    return X, columns[user].view(pa.large_string()) if has_users else None


def _read_parquet(path: Path, features: Sequence[str], user: str) -> tuple[NDArray[np.float64], pa.Array | None]:
    with refuse_damaged(path, "Parquet", NEW), pq.ParquetFile(path) as file:
        schema = file.schema_arrow
        choose_fields(schema, NEW, features)
        has_users = user in schema.names
        if has_users and id_kind(schema.field(user).type) is None:
            got = f"column {user!r} of type {str(schema.field(user).type)[:30]}"
            raise InvalidParameter(NEW, "users", "a column of int or str ids", got)
        table = file.read([*features, user] if has_users else list(features))
    X = to_block([table.column(name) for name in features], len(table))
    return X, to_ids(table.column(user)) if has_users else None
