"""Rows of a CSV file, read so that no record can stop the reading or change the number of rows.

A record is a line, whatever it contains. A cell that is not a number is NaN, and a line with the wrong number of
fields is a row of NaN. Quotes end with their line, so that one record cannot swallow others. What a line becomes
depends on that line alone.
"""

import csv
from collections.abc import Hashable, Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv as arrow_csv

from hushrank.engine.rows import MAX_BLOCK_ROWS, Block, Rows, choose_columns, refuse_damaged, to_number
from hushrank.exceptions import InvalidParameter

CHUNK_BYTES = 2**22
LONGEST_LINE = 2**24  # a longer line is a row of NaN: one record cannot fill the memory

# No number contains these bytes, and Arrow treats them in ways of its own: it ends a line at a carriage return, passes
# over a byte order mark where its input starts, and cannot report a ragged line that is not UTF-8.
_HARMLESS = bytes.maketrans(b"\r\0" + bytes(range(128, 256)), b" ?" + b"?" * 128)
# Common spellings of a missing value. Any other text is NaN as well, but takes longer.
MISSING = ["", "NA", "N/A", "NaN", "nan", "null", "NULL", "None"]


class CsvRows(Rows):
    """Rows of a comma-separated file with a header line."""

    def __init__(self, path: Path, owner: str, columns: Sequence[Hashable] | None) -> None:
        with refuse_damaged(path, "CSV", owner, UnicodeDecodeError, csv.Error), path.open("rb") as file:
            names = read_header(file, path, owner)
        self._positions = choose_columns(names, columns, owner)
        if any(not names[j] for j in self._positions):
            raise InvalidParameter(owner, "X", "a CSV file with a name for every column", "a column without a name")
        super().__init__(len(self._positions), None, [names[j] for j in self._positions])
        self._path, self._owner, self._width = path, owner, len(names)

    def blocks(self, max_rows: int = MAX_BLOCK_ROWS) -> Iterator[Block]:
        """Float64 blocks; records that needed a slower path may come out of their order."""
        rows = self._block_rows(max_rows)
        dirty: set[int] = set()
        with refuse_damaged(self._path, "CSV", self._owner), self._path.open("rb") as file:
            file.readline()
            for chunk, n_overlong in whole_lines(file):
                plain, quoted = split_quoted(chunk.translate(_HARMLESS))
                cells, n_ragged = self._parse_plain(plain, dirty)
                blank = np.full((n_overlong + n_ragged, self.n_features), np.nan)
                for part in (cells, self._parse_quoted(quoted), blank):
                    yield from (part[start : start + rows] for start in range(0, len(part), rows))

    def _parse_plain(self, lines: bytes, dirty: set[int]) -> tuple[Block, int]:
        """Rows of lines without quotes, and how many lines had another number of fields.

        `dirty` collects the columns seen with cells that Arrow does not read as numbers.
        """
        if not lines:
            return np.empty((0, self.n_features)), 0
        try:
            table, n_ragged = self._read(lines, dirty)
        except pa.ArrowInvalid:
            table, n_ragged = self._read(lines, set(self._positions))
        block = np.empty((self.n_features, table.num_rows)).T
        for j, position in enumerate(self._positions):
            column = table.column(j)
            if pa.types.is_floating(column.type):
                block[:, j] = column.to_numpy()
            else:
                block[:, j], clean = _to_numbers(column)
                if not clean:
                    dirty.add(position)
        return block, n_ragged

    def _read(self, lines: bytes, as_text: set[int]) -> tuple[pa.Table, int]:
        """Chosen columns as floats, those of `as_text` as strings, and the number of lines left out."""
        ragged: list[int] = []

        def leave_out(row: arrow_csv.InvalidRow) -> str:
            ragged.append(row.actual_columns)
            return "skip"

        names = [str(position) for position in range(self._width)]
        table = arrow_csv.read_csv(
            BytesIO(lines),
            arrow_csv.ReadOptions(use_threads=False, block_size=len(lines) + 1, column_names=names),
            arrow_csv.ParseOptions(quote_char=False, ignore_empty_lines=False, invalid_row_handler=leave_out),
            arrow_csv.ConvertOptions(
                column_types={str(j): pa.string() if j in as_text else pa.float64() for j in self._positions},
                null_values=MISSING,
                strings_can_be_null=True,
                include_columns=[str(j) for j in self._positions],
            ),
        )
        return table, len(ragged)

    def _parse_quoted(self, lines: list[bytes]) -> Block:
        """Rows of lines with quotes, one line at a time."""
        block = np.full((len(lines), self.n_features), np.nan)
        for row, line in zip(block, lines, strict=True):
            try:
                fields = next(csv.reader([line.decode("ascii")], skipinitialspace=True))
            except csv.Error:  # a field beyond the limit of the module
                continue
            if len(fields) == self._width:
                row[:] = [to_number(fields[j]) for j in self._positions]
        return block


def read_header(file: BinaryIO, path: Path, owner: str) -> list[str]:
    """Column names from the first line, refused without quoting it if a cell is a number or missing.

    Such a line may be a person's record in a file without a header: as names it would be published with the model.
    """
    line = file.readline(LONGEST_LINE).decode("utf-8-sig").rstrip("\r\n")
    names = [name.strip() for name in next(csv.reader([line], skipinitialspace=True), [])]
    if not any(names):
        raise InvalidParameter(owner, "X", "a CSV file with a header line", f"{path.name}: an empty first line")
    if any(name in MISSING[1:] or to_number(name) == to_number(name) for name in names):
        got = f"{path.name}: a first line with numbers or missing values"
        raise InvalidParameter(owner, "X", "a CSV file with a header line of names", got)
    if len(set(names)) < len(names):
        got = f"{path.name}: two columns of one name"
        raise InvalidParameter(owner, "X", "a CSV file whose column names differ", got)
    if len(names) == 1 and (";" in line or "\t" in line):
        raise InvalidParameter(owner, "X", "a CSV file separated by commas", f"{path.name}: one column")
    return names


def whole_lines(file: BinaryIO) -> Iterator[tuple[bytes, int]]:
    """Chunks of whole lines, each with the number (0 or 1) of lines left out because they are too long."""
    while chunk := file.read(CHUNK_BYTES):
        cut = chunk.rfind(b"\n") + 1
        chunk, line, n_overlong = chunk[:cut], chunk[cut:], 0
        if line:
            line += file.readline(LONGEST_LINE + 1 - len(line))
        if len(line) > LONGEST_LINE:
            while line and not line.endswith(b"\n"):
                line = file.readline(CHUNK_BYTES)
            line, n_overlong = b"", 1
        chunk += line
        yield chunk.replace(b"\r\n", b"\n"), n_overlong


def split_quoted(chunk: bytes) -> tuple[bytes, list[bytes]]:
    """Lines without quotes, to be read together, and lines with quotes."""
    if b'"' not in chunk:
        return chunk, []
    lines = chunk.removesuffix(b"\n").split(b"\n")
    plain = b"".join(line + b"\n" for line in lines if b'"' not in line)
    return plain, [line for line in lines if b'"' in line]


def _to_numbers(column: pa.ChunkedArray) -> tuple[NDArray[np.float64], bool]:
    """Strings as floats, and whether Arrow could read them all."""
    try:
        return column.cast(pa.float64()).to_numpy(), True
    except pa.ArrowInvalid:
        return np.array([to_number(cell) for cell in column.to_pylist()]), False
