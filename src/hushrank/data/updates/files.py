"""Updates in files with named columns: CSV files, Parquet files and folders of them.

Columns and types are checked when an origin is made, for all files before a value is read. Values are streamed.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from copy import copy

import numpy as np
import pyarrow as pa

from hushrank.data.delimited import DelimitedText, Fields
from hushrank.data.delimited_texts import fields_of
from hushrank.data.found_files import are_texts, find_files
from hushrank.data.id_arrays import id_kind, to_ids
from hushrank.data.parquet_parts import ParquetPart, read_footer
from hushrank.data.pieces import hold
from hushrank.data.remote_files import Given, Place
from hushrank.data.source import PIECE_ROWS, Piece
from hushrank.data.updates.entries import (
    check_delta_type,
    check_index_type,
    name_columns,
    parameter_names,
    to_deltas,
    to_indices,
)
from hushrank.data.updates.index_kernels import read_indices
from hushrank.data.updates.source import UpdateChunk
from hushrank.exceptions import InvalidParameter

_BATCH_ROWS = 2**18


class FileOrigin(ABC):
    """Updates of files, read anew each time."""

    can_repeat = True

    def __init__(self, n_updates: int | None, has_users: bool, owner: str) -> None:
        self.n_updates, self.has_users, self._owner = n_updates, has_users, owner

    @abstractmethod
    def chunks(self, most: int) -> Iterator[UpdateChunk]:
        """All updates in their order, at most so many at a time."""

    @abstractmethod
    def pieces(self, enough: int = PIECE_ROWS) -> list[Piece]:
        """Parts of the updates, origins as well, that others can read for themselves, in their order."""


class ParquetUpdates(FileOrigin):
    """Updates of one Parquet file or of several; columns and types come from the footers of all of them."""

    def __init__(self, paths: Sequence[Place], needs_users: bool, owner: str) -> None:
        self._files: list[tuple[ParquetPart, list[str]]] = []
        kinds = set()
        for path in paths:
            footer = read_footer(path, owner)
            names = name_columns(footer.schema.names, needs_users, owner)
            kinds.add(_check_types(footer.schema, names, owner))
            self._files.append((footer.part, names))
        if len(kinds - {"null"}) > 1:  # the id 1 of one file and the id "1" of another may be one user
            requirement = "ids of one type in all Parquet files"
            raise InvalidParameter(owner, "users", requirement, " and ".join(sorted(kinds)))
        super().__init__(sum(part.n_rows for part, _ in self._files), needs_users, owner)

    def chunks(self, most: int) -> Iterator[UpdateChunk]:
        """Rows of one file after the other."""
        for part, names in self._files:
            yield from part.batches(names, min(most, _BATCH_ROWS), _to_chunk, self._owner)

    def pieces(self, enough: int = PIECE_ROWS) -> list[Piece]:
        """Row groups of one file."""
        cut = [(part, names) for whole, names in self._files for part in whole.cut(enough)]
        return [hold(self._narrowed(part, names), part.n_rows, part.path) for part, names in cut]

    def _narrowed(self, part: ParquetPart, names: list[str]) -> "ParquetUpdates":
        piece = copy(self)
        piece._files, piece.n_updates = [(part, names)], part.n_rows
        return piece


def _to_chunk(batch: pa.RecordBatch) -> UpdateChunk:
    rows, columns, deltas, *users = batch.columns
    ids = to_ids(users[0]) if users else None
    return UpdateChunk(to_indices(rows), to_indices(columns), to_deltas(deltas), ids)


class CsvUpdates(FileOrigin):
    """Updates of CSV files; a record that cannot be read is an update outside the matrix, of NaN and by nobody."""

    def __init__(self, paths: Sequence[Place], needs_users: bool, owner: str) -> None:
        self._files: list[tuple[DelimitedText, list[str]]] = []
        for path in paths:
            text = DelimitedText(path, owner)
            self._files.append((text, name_columns(text.names, needs_users, owner)))
        has_records = any(text.has_records for text, _ in self._files)
        super().__init__(None if has_records else 0, needs_users, owner)

    def chunks(self, most: int) -> Iterator[UpdateChunk]:
        """Consecutive records."""
        for text, names in self._files:
            for fields in fields_of(text, names):
                yield from chunk_of_fields(fields).split(most)

    def pieces(self, enough: int = PIECE_ROWS) -> list[Piece]:
        """Whole files."""
        files = [(text, names) for text, names in self._files if text.has_records]
        return [hold(self._narrowed(text, names), path=text.path) for text, names in files]

    def _narrowed(self, text: DelimitedText, names: list[str]) -> "CsvUpdates":
        piece = copy(self)
        piece._files = [(text, names)]
        return piece


def chunk_of_fields(fields: Fields) -> UpdateChunk:
    """Records as updates: the fields row, column, delta and maybe user, in this order."""
    indices = np.empty((2, len(fields)), np.int64)
    for j in range(2):
        read_indices(fields.data, fields.spans[j], indices[j])
    # As text whatever the bytes are: ids are compared byte by byte.
    users = fields.column(3).view(pa.large_string()) if len(fields.spans) > 3 else None
    return UpdateChunk(indices[0], indices[1], fields.numbers(2), users)


def read_update_file(path: Given, needs_users: bool, owner: str) -> FileOrigin:
    """Updates of a Parquet or CSV file, told by its suffix, or of a folder of them."""
    paths = find_files(path, owner)
    return (CsvUpdates if are_texts(paths) else ParquetUpdates)(paths, needs_users, owner)


def _check_types(schema: pa.Schema, names: Sequence[str], owner: str) -> str:
    """Refuse columns of unsuitable types; the kind of the users' ids."""
    called = parameter_names(names)
    types = [schema.field(name).type for name in names]
    for dtype, name in zip(types[:2], called[:2], strict=True):
        check_index_type(dtype, name, owner)
    check_delta_type(types[2], called[2], owner)
    kind = id_kind(types[3] if len(types) > 3 else pa.null())
    if kind is None:
        raise InvalidParameter(owner, called[3], "int or str ids", f"a column of type {str(types[3])[:30]}")
    return kind
