"""Updates in files with named columns: CSV files, Parquet files and folders of them.

Columns and types are checked when an origin is made, for all files before a value is read. Values are streamed.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from os import PathLike, fspath
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from hushrank.data.delimited import DelimitedText, Fields
from hushrank.data.files import (
    PARQUET_BUFFER_BYTES,
    PARQUET_SUFFIXES,
    guess_file,
    parquet_files,
    refuse_damaged,
    say_path,
)
from hushrank.data.id_arrays import id_kind, to_ids
from hushrank.data.text_files import DATA_SUFFIXES, text_suffix
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


class ParquetUpdates(FileOrigin):
    """Updates of one Parquet file or of several; columns and types come from the footers of all of them."""

    def __init__(self, paths: Sequence[Path], needs_users: bool, owner: str) -> None:
        self._files: list[tuple[Path, list[str]]] = []
        kinds, n_updates = set(), 0
        for path in paths:
            with refuse_damaged(path, "Parquet", owner), pq.ParquetFile(path) as file:
                schema, n_rows = file.schema_arrow, file.metadata.num_rows
            names = name_columns(schema.names, needs_users, owner)
            kinds.add(_check_types(schema, names, owner))
            self._files.append((path, names))
            n_updates += n_rows
        if len(kinds - {"null"}) > 1:  # the id 1 of one file and the id "1" of another may be one user
            requirement = "ids of one type in all Parquet files"
            raise InvalidParameter(owner, "users", requirement, " and ".join(sorted(kinds)))
        super().__init__(n_updates, needs_users, owner)

    def chunks(self, most: int) -> Iterator[UpdateChunk]:
        """Rows of one file after the other."""
        for path, names in self._files:
            with (
                refuse_damaged(path, "Parquet", self._owner),
                pq.ParquetFile(path, pre_buffer=False, buffer_size=PARQUET_BUFFER_BYTES) as file,
            ):
                for batch in file.iter_batches(min(most, _BATCH_ROWS), columns=names):
                    rows, columns, deltas, *users = (batch.column(name) for name in names)
                    ids = to_ids(users[0]) if users else None
                    yield from UpdateChunk(to_indices(rows), to_indices(columns), to_deltas(deltas), ids).split(most)


class CsvUpdates(FileOrigin):
    """Updates of a CSV file; a record that cannot be read is an update outside the matrix, of NaN and by nobody."""

    def __init__(self, path: Path, needs_users: bool, owner: str) -> None:
        super().__init__(None, needs_users, owner)
        self._text = DelimitedText(path, owner)
        names = name_columns(self._text.names, needs_users, owner)
        self._positions = [self._text.names.index(name) for name in names]

    def chunks(self, most: int) -> Iterator[UpdateChunk]:
        """Consecutive records."""
        for fields in self._text.fields(self._positions):
            yield from chunk_of_fields(fields).split(most)


def chunk_of_fields(fields: Fields) -> UpdateChunk:
    """Records as updates: the fields row, column, delta and maybe user, in this order."""
    indices = np.empty((2, len(fields)), np.int64)
    for j in range(2):
        read_indices(fields.data, fields.spans[j], indices[j])
    # As text whatever the bytes are: ids are compared byte by byte.
    users = fields.column(3).view(pa.large_string()) if len(fields.spans) > 3 else None
    return UpdateChunk(indices[0], indices[1], fields.numbers(2), users)


def read_update_file(path: str | PathLike[str], needs_users: bool, owner: str) -> FileOrigin:
    """Updates of a Parquet or CSV file, told by its suffix, or of a folder of Parquet files."""
    path = Path(fspath(path))
    if path.is_dir():
        return ParquetUpdates(parquet_files(path, owner), needs_users, owner)
    is_text = text_suffix(path) is not None
    if not is_text and path.suffix.lower() not in PARQUET_SUFFIXES:
        requirement = f"a folder of Parquet files or a file ending in {', '.join(DATA_SUFFIXES)}"
        raise InvalidParameter(owner, "X", requirement, f"{path.name}{guess_file(path)}")
    if not path.is_file():
        raise InvalidParameter(owner, "X", "an existing file", say_path(path))
    return (CsvUpdates if is_text else _one_parquet)(path, needs_users, owner)


def _one_parquet(path: Path, needs_users: bool, owner: str) -> ParquetUpdates:
    return ParquetUpdates([path], needs_users, owner)


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
