"""Rows of Parquet files, streamed: memory depends on the pages of a file, not on its row groups.

Columns, types and numbers of rows come from the footers, for all files before a value is read.
"""

from collections.abc import Hashable, Iterator, Sequence
from copy import copy

import pyarrow as pa

from hushrank.data.cell_forms import typed_column
from hushrank.data.files import check_same
from hushrank.data.frames import choose_fields, to_block
from hushrank.data.parquet_parts import ParquetPart, cut_parts, open_parquet, read_footer
from hushrank.data.pieces import hold
from hushrank.data.remote_files import Place
from hushrank.data.rows.arrays import Rows
from hushrank.data.source import MAX_BLOCK_ROWS, PIECE_ROWS, Block, Piece


class ParquetRows(Rows):
    """Rows of one Parquet file or of several with the same columns."""

    def __init__(self, paths: Sequence[Place], owner: str, columns: Sequence[Hashable] | None) -> None:
        footers = [read_footer(path, owner) for path in paths]
        chosen = [choose_fields(footer.schema, owner, columns) for footer in footers]
        check_same([(path, set(names)) for path, names in zip(paths, chosen, strict=True)], "Parquet", owner)
        self._parts = tuple(footer.part for footer in footers)
        super().__init__(len(chosen[0]), sum(part.n_rows for part in self._parts), chosen[0])
        self._names, self._owner, self._header = chosen[0], owner, tuple(footers[0].schema.names)

    def blocks(self, max_rows: int = MAX_BLOCK_ROWS) -> Iterator[Block]:
        """Float64 blocks, file after file."""
        rows = self._block_rows(max_rows)
        for part in self._parts:
            yield from part.batches(self._names, rows, _to_rows, self._owner)

    def pieces(self, enough: int = PIECE_ROWS) -> list[Piece]:
        """Row groups of one file, with the columns that were chosen for all of them."""
        return [hold(self._narrowed(part), part.n_rows, part.path) for part in cut_parts(self._parts, enough)]

    def _narrowed(self, part: ParquetPart) -> "ParquetRows":
        piece = copy(self)
        piece._parts, piece.n_samples = (part,), part.n_rows
        return piece

    @property
    def header(self) -> tuple[str, ...]:
        """Names of all columns of the first file."""
        return self._header

    def first_cells(self, names: Sequence[str], most: int) -> dict[str, pa.Array]:
        """Cells of the first rows of the first file that has any."""
        first = next((part for part in self._parts if part.n_rows), self._parts[0])
        return first_cells(first.path, names, most, self._owner)


def _to_rows(batch: pa.RecordBatch) -> Block:
    return to_block(batch.columns, batch.num_rows)


def first_with_rows(paths: Sequence[Place], owner: str) -> Place:
    """The first of some files that has rows, or else the first: what writes in parts may write empty ones."""
    return next((path for path in paths if read_footer(path, owner).part.n_rows), paths[0])


def first_cells(path: Place, names: Sequence[str], most: int, owner: str) -> dict[str, pa.Array]:
    """Cells of the first rows of a file by column, for a check alone; nothing of a file without rows.

    Files of a folder share the columns that a fit uses. Others, which only a check asks for, may be missing in one.
    """
    with open_parquet(path, owner, pre_buffer=False) as file:
        known = [name for name in names if name in file.schema_arrow.names]
        for batch in file.iter_batches(most, columns=known) if known else ():
            return {name: typed_column(batch.column(name)) for name in known}
    return {}
