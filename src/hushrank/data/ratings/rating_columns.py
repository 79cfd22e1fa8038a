"""The columns user, item and rating of tables, Parquet files and CSV files.

Columns and types are checked when a source is made. Users become codes as they are read, and their ids are let go of
with the last row.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from narwhals.dependencies import is_into_dataframe
from numpy.typing import NDArray

from hushrank.data.delimited_texts import DelimitedTexts, open_texts
from hushrank.data.found_files import are_texts, find_files
from hushrank.data.frames import to_block
from hushrank.data.id_arrays import bytes_as_text, id_kind, to_ids
from hushrank.data.identifiers import IdTable
from hushrank.data.object_cells import is_of_objects, object_ids, object_numbers
from hushrank.data.parquet_parts import ParquetPart, cut_parts, read_footer
from hushrank.data.pieces import hold
from hushrank.data.ratings.catalogue import Catalogue
from hushrank.data.ratings.column_names import check_names, needed_columns
from hushrank.data.ratings.grouping import Tally, UserBlock, scale_ratings
from hushrank.data.ratings.out_of_core import Grouper
from hushrank.data.ratings.rating_range import Range
from hushrank.data.remote_files import Given, Place
from hushrank.data.source import PIECE_ROWS, Piece
from hushrank.data.text_values import to_integers
from hushrank.exceptions import InvalidParameter

BATCH_ROWS = 2**16

# Ids of users as an Arrow array, positions of items, ratings; all of one length.
Batch = tuple[pa.Array, NDArray[np.int64], NDArray[np.float64]]

_NUMBERS = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_null)


class RatingColumns(ABC):
    """Rows of a user, an item and a rating, in any order.

    Parameters
    ----------
    catalogue : Catalogue
        The public items.
    rating_range : pair of floats or None
        Lowest and highest rating; None for implicit feedback, where the column rating is not read.
    owner : str
        Who asks, for error messages.
    columns : dict, optional
        What user, item and rating are called where they have other names.
    """

    n_users: int | None = None

    def __init__(self, catalogue: Catalogue, rating_range: Range | None, owner: str, columns: Any = None) -> None:
        self._catalogue, self._range, self._owner = catalogue, rating_range, owner
        self._columns = needed_columns(columns, rating_range is None, owner)
        self._names = tuple(self._columns.values())

    @abstractmethod
    def batches(self) -> Iterator[Batch]:
        """The rows, some at a time."""

    def pieces(self, enough: int = PIECE_ROWS) -> list[Piece] | None:
        """Parts of the rows, `RatingColumns` as well, that others can read for themselves; None if only we can."""
        return None

    def read(self, tally: Tally) -> UserBlock:
        """All users in one block; every id counts as a user, with or without usable ratings."""
        users = IdTable()
        with Grouper(len(self._catalogue), tally) as grouper:
            for ids, items, ratings in self.batches():
                grouper.add(scale_ratings(users.add(ids), items, ratings, self._range, tally))
            n_users = len(users)
            del users
            return grouper.finish(n_users)

    def _to_batch(self, columns: Sequence[pa.Array | pa.ChunkedArray], n_rows: int) -> Batch:
        """Typed columns as a batch."""
        ratings = np.ones(n_rows) if self._range is None else to_block(columns[2:], n_rows)[:, 0]
        return to_ids(columns[0]), self._catalogue.positions(columns[1]), ratings


class RatingTable(RatingColumns):
    """Ratings of an eager frame that narwhals knows."""

    def __init__(
        self, data: Any, catalogue: Catalogue, rating_range: Range | None, owner: str, columns: Any = None
    ) -> None:
        super().__init__(catalogue, rating_range, owner, columns)
        if isinstance(data, pa.RecordBatch):
            data = pa.Table.from_batches([data])
        if not is_into_dataframe(data):
            requirement = "data that can be read: collect() the lazy frame, or pass the path of its Parquet file"
            raise InvalidParameter(owner, "X", requirement, type(data).__name__)
        # Before narwhals sees them: it refuses repeated names in words of its own.
        check_names(data.column_names if isinstance(data, pa.Table) else list(data.columns), self._columns, owner)
        self._frame = nw.from_native(data, eager_only=True).select(list(self._names))
        self.n_users = None if len(self._frame) else 0
        self._of_objects = {role for role, name in self._columns.items() if is_of_objects(self._frame[:0][name])}
        check_types({role: self._type(role) for role in self._columns}, catalogue, owner, self._columns)

    def _type(self, role: str) -> pa.DataType:
        """Arrow type of a column, from the type that the frame states: no value is looked at.

        Objects get the type that suits: what each of them is, is decided cell by cell.
        """
        name = self._columns[role]
        column = self._frame[:0][name]
        if role in self._of_objects:
            is_number = role == "rating" or (role == "item" and self._catalogue.kind == "int")
            return pa.int64() if is_number else pa.large_string()
        try:
            return column.to_arrow().type
        except (pa.ArrowException, UnicodeError) as error:  # Arrow has no such type, or no such category
            requirement = "a table of ids and real numbers"
            raise InvalidParameter(self._owner, "X", requirement, f"column {name!r} of type {column.dtype}") from error

    def batches(self) -> Iterator[Batch]:
        """Consecutive rows."""
        for start in range(0, len(self._frame), BATCH_ROWS):
            part = self._frame[start : start + BATCH_ROWS]
            yield self._to_batch([self._to_column(role, part[name]) for role, name in self._columns.items()], len(part))

    def _to_column(self, role: str, column: nw.Series[Any]) -> pa.Array | pa.ChunkedArray:
        if role not in self._of_objects:
            return to_arrow(column)
        if role == "rating":
            return pa.array(object_numbers(column.to_list()))
        texts = object_ids(column.to_list())
        return to_integers(texts, self._catalogue.ids.type) if self._type(role) == pa.int64() else texts


class RatingParquet(RatingColumns):
    """Ratings of one Parquet file or of several; columns and types come from the footers of all of them."""

    def __init__(
        self, paths: Sequence[Place], catalogue: Catalogue, rating_range: Range | None, owner: str, columns: Any = None
    ) -> None:
        super().__init__(catalogue, rating_range, owner, columns)
        footers, kinds = [read_footer(path, owner) for path in paths], set()
        for footer in footers:
            check_names(footer.schema.names, self._columns, owner)
            types = {role: footer.schema.field(name).type for role, name in self._columns.items()}
            kinds.add(check_types(types, catalogue, owner, self._columns))
        if len(kinds - {"null"}) > 1:  # the id 1 of one file and the id "1" of another may be one user
            raise InvalidParameter(owner, "X", "Parquet files with users of one type", " and ".join(sorted(kinds)))
        self._parts = tuple(footer.part for footer in footers)
        self.n_users = None if any(part.n_rows for part in self._parts) else 0

    def batches(self) -> Iterator[Batch]:
        """Rows of one file after the other."""
        for part in self._parts:
            yield from part.batches(self._names, BATCH_ROWS, self._columns_to_batch, self._owner)

    def _columns_to_batch(self, batch: pa.RecordBatch) -> Batch:
        return self._to_batch(batch.columns, batch.num_rows)

    def pieces(self, enough: int = PIECE_ROWS) -> list[Piece]:
        """Row groups of one file."""
        return [hold(self._narrowed(part), part.n_rows, part.path) for part in cut_parts(self._parts, enough)]

    def _narrowed(self, part: ParquetPart) -> "RatingParquet":
        piece = copy(self)
        piece._parts, piece.n_users = (part,), None
        return piece


class RatingCsv(RatingColumns):
    """Ratings of one CSV file or of several; a record that cannot be read is a row without a user."""

    def __init__(
        self, paths: Sequence[Place], catalogue: Catalogue, rating_range: Range | None, owner: str, columns: Any = None
    ) -> None:
        super().__init__(catalogue, rating_range, owner, columns)
        self._texts = open_texts(paths, owner)
        for text in self._texts.texts:
            check_names(text.names, self._columns, owner)
        self.n_users = None if self._texts.has_records else 0

    def batches(self) -> Iterator[Batch]:
        """Consecutive records."""
        for fields in self._texts.fields(self._names):
            ratings = np.ones(len(fields)) if self._range is None else fields.numbers(2)
            yield fields.column(0), self._catalogue.positions_of_texts(fields.column(1)), ratings

    def pieces(self, enough: int = PIECE_ROWS) -> list[Piece]:
        """Whole files."""
        return [hold(self._narrowed(texts), path=texts.texts[0].path) for texts in self._texts.apart()]

    def _narrowed(self, texts: DelimitedTexts) -> "RatingCsv":
        piece = copy(self)
        piece._texts = texts
        return piece

    def first_ratings(self, most: int) -> dict[str, pa.Array]:
        """Texts of the first ratings by the name of their column, for a check; nothing where they are not read."""
        return {} if self._range is None else self._texts.first_cells([self._columns["rating"]], most)


def read_rating_file(
    path: Given, catalogue: Catalogue, rating_range: Range | None, owner: str, columns: Any = None
) -> RatingColumns:
    """The source for a Parquet, CSV or TSV file, told by its suffix, or for a folder of them."""
    paths = find_files(path, owner)
    return (RatingCsv if are_texts(paths) else RatingParquet)(paths, catalogue, rating_range, owner, columns)


def check_types(types: Mapping[str, pa.DataType], catalogue: Catalogue, owner: str, columns: Mapping[str, str]) -> str:
    """Refuse columns of unsuitable types, by role; returns "int", "uint64", "str" or "null", the type of the users."""
    kinds = {role: id_kind(types[role]) for role in ("user", "item")}
    for role, kind in kinds.items():
        if kind is None:
            got = f"column {columns[role]!r} of type {str(types[role])[:30]}"
            raise InvalidParameter(owner, "X", "a table with int or str ids in the columns user and item", got)
    if kinds["item"] != "null" and (kinds["item"] == "str") != (catalogue.kind == "str"):
        stored = "str" if kinds["item"] == "str" else "int"
        raise InvalidParameter(owner, "items", f"{stored} ids as in the column item", f"{catalogue.kind} ids")
    rating = types.get("rating", pa.null())
    if not any(accepts(rating) for accepts in _NUMBERS):
        got = f"column {columns['rating']!r} of type {str(rating)[:30]}"
        raise InvalidParameter(owner, "X", "a table with real numbers in the column rating", got)
    return str(kinds["user"])


def to_arrow(column: nw.Series[Any]) -> pa.Array | pa.ChunkedArray:
    """A column as Arrow data; text that is not Unicode, such as half of a surrogate pair, keeps bytes of its own."""
    native = column.to_native()
    if isinstance(native, pa.ChunkedArray):  # narwhals would join its dictionaries, which Arrow cannot always do
        return native
    try:
        return column.to_arrow()
    except UnicodeEncodeError:
        cells = (cell.encode("utf-8", "surrogatepass") if isinstance(cell, str) else None for cell in column.to_list())
        return bytes_as_text(list(cells))
