"""Rows of Parquet files, streamed: memory depends on the pages of a file, not on its row groups.

Columns, types and numbers of rows come from the footers, for all files before a value is read.
"""

from collections.abc import Hashable, Iterator, Sequence
from pathlib import Path

import pyarrow.parquet as pq

from hushrank.data.rows.arrays import MAX_BLOCK_ROWS, Block, Rows, refuse_damaged
from hushrank.data.rows.table_rows import choose_fields, to_block
from hushrank.exceptions import InvalidParameter

SUFFIXES = (".parquet", ".pq")

# Without a buffer size a whole column chunk of a row group is read at once; 64 kB was as fast as 1 MB and smaller.
_BUFFER_BYTES = 2**16


class ParquetRows(Rows):
    """Rows of one Parquet file or of several with the same columns."""

    def __init__(self, paths: Sequence[Path], owner: str, columns: Sequence[Hashable] | None) -> None:
        chosen: list[str] = []
        n_samples = 0
        for path in paths:
            with refuse_damaged(path, "Parquet", owner), pq.ParquetFile(path) as file:
                names = choose_fields(file.schema_arrow, owner, columns)
                n_samples += file.metadata.num_rows
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
                pq.ParquetFile(path, pre_buffer=False, buffer_size=_BUFFER_BYTES) as file,
            ):
                for batch in file.iter_batches(rows, columns=self._names):
                    # Batches keep the order of the file, which may differ between files.
                    yield to_block([batch.column(name) for name in self._names], batch.num_rows)


def parquet_files(folder: Path, owner: str) -> list[Path]:
    """Parquet files anywhere below a folder, sorted; names that start with a dot or an underscore are passed over."""
    found = [
        path
        for path in folder.rglob("*")
        if path.suffix.lower() in SUFFIXES
        and not any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)
        and path.is_file()
    ]
    if not found:
        raise InvalidParameter(owner, "X", "a folder with Parquet files", f"{folder.name}: none found")
    return sorted(found)
