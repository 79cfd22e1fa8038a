"""Rows of Parquet files, streamed: memory depends on the pages of a file, not on its row groups.

Columns, types and numbers of rows come from the footers, for all files before a value is read.
"""

from collections.abc import Hashable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from hushrank.data.cell_forms import typed_column
from hushrank.data.files import PARQUET_BUFFER_BYTES, refuse_damaged
from hushrank.data.frames import choose_fields, to_block
from hushrank.data.rows.arrays import Rows
from hushrank.data.source import MAX_BLOCK_ROWS, Block
from hushrank.exceptions import InvalidParameter


class ParquetRows(Rows):
    """Rows of one Parquet file or of several with the same columns."""

    def __init__(self, paths: Sequence[Path], owner: str, columns: Sequence[Hashable] | None) -> None:
        chosen: list[str] = []
        self._header: tuple[str, ...] = ()
        n_samples = 0
        for path in paths:
            with refuse_damaged(path, "Parquet", owner), pq.ParquetFile(path) as file:
                names = choose_fields(file.schema_arrow, owner, columns)
                n_samples += file.metadata.num_rows
                self._header = self._header or tuple(file.schema_arrow.names)
            chosen = chosen or names
            if set(names) != set(chosen):
                odd = sorted(set(names) ^ set(chosen))[0]
                requirement = "a folder of Parquet files with the same columns"
                raise InvalidParameter(owner, "X", requirement, f"column {odd!r} not in all, see {path.name}")
        super().__init__(len(chosen), n_samples, chosen)
        self._paths, self._names, self._owner = tuple(paths), chosen, owner

    def blocks(self, max_rows: int = MAX_BLOCK_ROWS) -> Iterator[Block]:
        """Float64 blocks, file after file."""
        rows = self._block_rows(max_rows)
        for path in self._paths:
            with (
                refuse_damaged(path, "Parquet", self._owner),
                pq.ParquetFile(path, pre_buffer=False, buffer_size=PARQUET_BUFFER_BYTES) as file,
            ):
                for batch in file.iter_batches(rows, columns=self._names):
                    # Batches keep the order of the file, which may differ between files.
                    yield to_block([batch.column(name) for name in self._names], batch.num_rows)

    @property
    def header(self) -> tuple[str, ...]:
        """Names of all columns of the first file."""
        return self._header

    def first_cells(self, names: Sequence[str], most: int) -> dict[str, pa.Array]:
        """Cells of the first rows of the first file that has any."""
        return first_cells(first_with_rows(self._paths, self._owner), names, most, self._owner)


def first_with_rows(paths: Sequence[Path], owner: str) -> Path:
    """The first of some files that has rows, or else the first: what writes in parts may write empty ones."""
    for path in paths:
        with refuse_damaged(path, "Parquet", owner), pq.ParquetFile(path) as file:
            if file.metadata.num_rows:
                return path
    return paths[0]


def first_cells(path: Path, names: Sequence[str], most: int, owner: str) -> dict[str, pa.Array]:
    """Cells of the first rows of a file by column, for a check alone; nothing of a file without rows.

    Files of a folder share the columns that a fit uses. Others, which only a check asks for, may be missing in one.
    """
    with refuse_damaged(path, "Parquet", owner), pq.ParquetFile(path, pre_buffer=False) as file:
        known = [name for name in names if name in file.schema_arrow.names]
        for batch in file.iter_batches(most, columns=known) if known else ():
            return {name: typed_column(batch.column(name)) for name in known}
    return {}
