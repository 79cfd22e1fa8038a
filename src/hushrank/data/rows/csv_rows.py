"""Rows of CSV files: one record is one row, a cell that is not a number is NaN, an unreadable record a row of NaN."""

from collections.abc import Hashable, Iterator, Sequence
from copy import copy

import numpy as np
import pyarrow as pa

from hushrank.data.delimited_texts import DelimitedTexts, open_texts
from hushrank.data.files import check_same
from hushrank.data.frames import choose_columns
from hushrank.data.pieces import hold
from hushrank.data.remote_files import Place
from hushrank.data.rows.arrays import Rows
from hushrank.data.source import MAX_BLOCK_ROWS, PIECE_ROWS, Block, Piece
from hushrank.exceptions import InvalidParameter


class CsvRows(Rows):
    """Rows of one comma-separated file with a header, or of several with the same columns."""

    def __init__(self, paths: Sequence[Place], owner: str, columns: Sequence[Hashable] | None) -> None:
        self._texts = open_texts(paths, owner)
        chosen = [[text.names[j] for j in choose_columns(text.names, columns, owner)] for text in self._texts.texts]
        check_same([(path, set(names)) for path, names in zip(paths, chosen, strict=True)], "CSV", owner)
        self._names = chosen[0]
        if not all(self._names):
            raise InvalidParameter(owner, "X", "a CSV file with a name for every column", "a column without a name")
        super().__init__(len(self._names), None if self._texts.has_records else 0, self._names)

    def blocks(self, max_rows: int = MAX_BLOCK_ROWS) -> Iterator[Block]:
        """Float64 blocks of consecutive records."""
        rows = self._block_rows(max_rows)
        for fields in self._texts.fields(self._names):
            block = np.empty((self.n_features, len(fields))).T  # columns are contiguous, see `to_block`
            for j in range(self.n_features):
                block[:, j] = fields.numbers(j)
            yield from (block[start : start + rows] for start in range(0, len(block), rows))

    def pieces(self, enough: int = PIECE_ROWS) -> list[Piece]:
        """Whole files: where a record starts cannot be told from the middle of one."""
        return [hold(self._narrowed(texts), path=texts.texts[0].path) for texts in self._texts.apart()]

    def _narrowed(self, texts: DelimitedTexts) -> "CsvRows":
        piece = copy(self)
        piece._texts = texts
        return piece

    @property
    def header(self) -> tuple[str, ...]:
        """Names of all columns of the first file that has records."""
        return tuple(self._texts.names)

    def first_cells(self, names: Sequence[str], most: int) -> dict[str, pa.Array]:
        """Texts of the first records."""
        return self._texts.first_cells(names, most)
