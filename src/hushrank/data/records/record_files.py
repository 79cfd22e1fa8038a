"""Records in files with named columns: CSV files, Parquet files and folders of them, rows in any order.

Columns and types are checked when an origin is made, for all files before a value is read. Values are streamed.
"""

from collections.abc import Hashable, Iterator, Sequence
from copy import copy
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from hushrank.data.delimited import Fields
from hushrank.data.delimited_texts import DelimitedTexts, open_texts
from hushrank.data.files import check_same
from hushrank.data.found_files import are_texts, find_files
from hushrank.data.frames import choose_fields, exact_dtype, to_block
from hushrank.data.id_arrays import id_kind, to_ids
from hushrank.data.parquet_parts import ParquetPart, cut_parts, read_footer
from hushrank.data.pieces import hold
from hushrank.data.records.columns import ONE_A_PERSON, Roles, assign_roles
from hushrank.data.records.origins import Batch, Origin, batch_rows
from hushrank.data.remote_files import Given, Place
from hushrank.data.source import PIECE_ROWS, Piece
from hushrank.exceptions import InvalidParameter

_NUMBERS = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_null)


class ParquetOrigin(Origin):
    """Records of one Parquet file or of several; columns and types come from the footers of all of them."""

    def __init__(self, paths: Sequence[Place], y: Any, users: Any, features: Any, owner: str, parameter: str) -> None:
        footers, all_roles, types, kinds = [read_footer(path, owner) for path in paths], [], [], set()
        for footer in footers:
            schema, index = footer.schema, footer.index
            roles = assign_roles(schema.names, y, users, features, owner, index=index, parameter=parameter)
            names = choose_fields(schema, owner, roles.features)
            kinds.add(_check_types(schema, roles, owner))
            types += [schema.field(name).type for name in names]
            all_roles.append(roles)
        self._roles, self._owner = _check_same(paths, all_roles, "Parquet", owner), owner
        if len(kinds - {"null"}) > 1:  # the id 1 of one file and the id "1" of another may be one user
            requirement = "ids of one type in all Parquet files"
            raise InvalidParameter(owner, "users", requirement, " and ".join(sorted(kinds)))
        self._parts = tuple(footer.part for footer in footers)
        columns, has_users = self._roles.features, self._roles.users is not None
        n_records = sum(part.n_rows for part in self._parts)
        super().__init__((len(columns),), exact_dtype(types), has_users, n_records, columns)

    def batches(self, max_rows: int, dtype: np.dtype[Any]) -> Iterator[Batch]:
        """Rows of one file after the other."""
        names, rows = _named(self._roles), batch_rows(max_rows, len(self._roles.features))
        for part in self._parts:
            yield from part.batches(names, rows, partial(self._to_batch, dtype), self._owner)

    def _to_batch(self, dtype: np.dtype[Any], batch: pa.RecordBatch) -> Batch:
        y, *columns = batch.columns
        ids = to_ids(columns.pop()) if self.has_users else None
        return Batch(to_block(columns, len(batch), dtype), to_block([y], len(batch))[:, 0], ids)

    def pieces(self, enough: int = PIECE_ROWS) -> list[Piece]:
        """Row groups of one file; numbers are kept as those of all files."""
        return [hold(self._narrowed(part), part.n_rows, part.path) for part in cut_parts(self._parts, enough)]

    def _narrowed(self, part: ParquetPart) -> "ParquetOrigin":
        piece = copy(self)
        piece._parts, piece.n_records = (part,), part.n_rows
        return piece


class CsvOrigin(Origin):
    """Records of CSV files; one that cannot be read is a record without a user, or of numbers that are NaN."""

    fields_stand_alone = False

    def __init__(self, paths: Sequence[Place], y: Any, users: Any, features: Any, owner: str, parameter: str) -> None:
        self.texts = open_texts(paths, owner)
        roles = [assign_roles(text.names, y, users, features, owner, parameter=parameter) for text in self.texts.texts]
        self.roles = _check_same(paths, roles, "CSV", owner)
        check_named(self.roles.features, owner)
        columns, has_users = self.roles.features, self.roles.users is not None
        n_records = None if self.texts.has_records else 0
        super().__init__((len(columns),), np.dtype(np.float64), has_users, n_records, columns)

    def batches(self, max_rows: int, dtype: np.dtype[Any]) -> Iterator[Batch]:
        """Consecutive records."""
        for fields in self.texts.fields(_named(self.roles)):
            yield from self._to_batch(fields).split(batch_rows(max_rows, len(self.roles.features)))

    def pieces(self, enough: int = PIECE_ROWS) -> list[Piece]:
        """Whole files."""
        return [hold(self._narrowed(texts), path=texts.texts[0].path) for texts in self.texts.apart()]

    def _narrowed(self, texts: DelimitedTexts) -> "CsvOrigin":
        piece = copy(self)
        piece.texts = texts
        return piece

    def _to_batch(self, fields: Fields) -> Batch:
        width = len(self.roles.features)
        X = np.empty((width, len(fields))).T  # columns are contiguous, see `to_block`
        for j in range(width):
            X[:, j] = fields.numbers(1 + j)
        return Batch(X, fields.numbers(0), fields.column(1 + width) if self.has_users else None)


def read_record_file(
    path: Given,
    y: Any,
    users: Any,
    features: Sequence[Hashable] | None,
    owner: str,
    *,
    parameter: str = "features",
) -> ParquetOrigin | CsvOrigin:
    """Records of a Parquet or CSV file, told by its suffix, or of a folder of them."""
    for name, given in (("y", y), ("users", users)):
        if given is not None and given is not ONE_A_PERSON and not isinstance(given, str):
            raise InvalidParameter(owner, name, "the name of a column beside a path, or None", type(given).__name__)
    paths = find_files(path, owner)
    return (CsvOrigin if are_texts(paths) else ParquetOrigin)(paths, y, users, features, owner, parameter)


def check_named(features: Sequence[Hashable], owner: str) -> None:
    """Refuse columns of a CSV file without a name, such as an index that pandas wrote."""
    if not all(features):
        raise InvalidParameter(owner, "X", "a CSV file with a name for every column", "a column without a name")


def _check_types(schema: pa.Schema, roles: Roles, owner: str) -> str:
    """Refuse answers and ids of unsuitable types; the kind of the ids."""
    answer = schema.field(roles.y).type
    if not any(accepts(answer) for accepts in _NUMBERS):
        got = f"column {roles.y!r} of type {str(answer)[:30]}"
        raise InvalidParameter(owner, "y", "a column of real numbers", got)
    dtype = pa.null() if roles.users is None else schema.field(roles.users).type
    kind = id_kind(dtype)
    if kind is None:
        got = f"column {roles.users!r} of type {str(dtype)[:30]}"
        raise InvalidParameter(owner, "users", "a column of int or str ids", got)
    return kind


def _check_same(paths: Sequence[Place], all_roles: Sequence[Roles], kind: str, owner: str) -> Roles:
    """The roles of the columns of all files; refuses files whose columns differ."""
    check_same([(path, set(_named(roles))) for path, roles in zip(paths, all_roles, strict=True)], kind, owner)
    return all_roles[0]


def _named(roles: Roles) -> list[str]:
    """The columns that are read: the answer, the features and, where there are any, the users."""
    return [str(name) for name in (roles.y, *roles.features, roles.users) if name is not None]
