"""Ratings of a dask DataFrame, a partition at a time.

Types are those that Dask states for all partitions, and are checked before the data are charged for. Where a partition
has others, because one cell changed the type of a column, it is read cell by cell: values never raise.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

from hushrank.data.frames import is_table
from hushrank.data.id_arrays import as_text
from hushrank.data.ratings.catalogue import Catalogue
from hushrank.data.ratings.rating_columns import Batch, RatingColumns, RatingTable
from hushrank.data.ratings.rating_range import Range
from hushrank.data.source import PIECE_ROWS, Piece
from hushrank.data.streams import BlockStream
from hushrank.exceptions import InvalidParameter


class RatingBlocks(RatingColumns):
    """Ratings of tables that come one after the other; ids of users are texts, whatever they are in a table.

    Parameters
    ----------
    source : callable
        Returns the tables anew each time; the first has no rows and the types of all.
    catalogue, rating_range, owner, columns : as of `RatingColumns`
    """

    def __init__(
        self, source: Any, catalogue: Catalogue, rating_range: Range | None, owner: str, columns: Any = None
    ) -> None:
        super().__init__(catalogue, rating_range, owner, columns)
        self._stream, self._given = BlockStream(source, owner), columns
        head = self._stream.peek()
        if not is_table(head):
            requirement = "a dask DataFrame with the columns user, item and rating"
            raise InvalidParameter(owner, "X", requirement, "a dask array")
        RatingTable(head, catalogue, rating_range, owner, columns)

    def batches(self) -> Iterator[Batch]:
        """Rows of one table after the other."""
        for table in self._stream.blocks():
            for ids, items, ratings in self._read(table).batches():
                yield as_text(ids), items, ratings

    def pieces(self, enough: int = PIECE_ROWS) -> list[Piece] | None:
        """The partitions."""
        terms = self._catalogue, self._range, self._owner, self._given
        return self._stream.pieces(partial(_read_again, terms))

    def _read(self, table: Any) -> RatingTable:
        terms = self._catalogue, self._range, self._owner, self._given
        try:
            return RatingTable(table, *terms)
        except InvalidParameter:
            return RatingTable(table.astype(object), *terms)


def _read_again(terms: tuple[Any, ...], source: Any) -> RatingBlocks:
    return RatingBlocks(source, *terms)
