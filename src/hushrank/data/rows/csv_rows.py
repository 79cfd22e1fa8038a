"""Rows of a CSV file: one record is one row, a cell that is not a number is NaN, an unreadable record a row of NaN."""

from collections.abc import Hashable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from hushrank.data.delimited import DelimitedText
from hushrank.data.frames import choose_columns
from hushrank.data.rows.arrays import Rows
from hushrank.data.source import MAX_BLOCK_ROWS, Block
from hushrank.exceptions import InvalidParameter


class CsvRows(Rows):
    """Rows of a comma-separated file with a header."""

    def __init__(self, path: Path, owner: str, columns: Sequence[Hashable] | None) -> None:
        self._text = DelimitedText(path, owner)
        names = self._text.names
        self._positions = choose_columns(names, columns, owner)
        if any(not names[j] for j in self._positions):
            raise InvalidParameter(owner, "X", "a CSV file with a name for every column", "a column without a name")
        n_samples = None if self._text.has_records else 0
        super().__init__(len(self._positions), n_samples, [names[j] for j in self._positions])

    def blocks(self, max_rows: int = MAX_BLOCK_ROWS) -> Iterator[Block]:
        """Float64 blocks of consecutive records."""
        rows = self._block_rows(max_rows)
        for fields in self._text.fields(self._positions):
            block = np.empty((self.n_features, len(fields))).T  # columns are contiguous, see `to_block`
            for j in range(self.n_features):
                block[:, j] = fields.numbers(j)
            yield from (block[start : start + rows] for start in range(0, len(block), rows))

    @property
    def header(self) -> tuple[str, ...]:
        """Names of all columns of the file."""
        return tuple(self._text.names)

    def first_cells(self, names: Sequence[str], most: int) -> dict[str, pa.Array]:
        """Texts of the first records."""
        return self._text.first_cells(names, most)
