"""Lines of a CSV file of ratings, read so that no record can stop the reading or change another.

A record is a line, and quotes end with their line. Spaces around a field do not belong to it.
"""

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hushrank.engine.catalogue import Catalogue
from hushrank.engine.delimited import MISSING, read_header, split_quoted, whole_lines
from hushrank.engine.rows import refuse_damaged, to_number
from hushrank.linalg.quantize import compiled

Fields = tuple[pa.Array, ...]

_COMMA, _NEWLINE = ord(","), ord("\n")
_LARGEST_ID = 2**63 - 1


class RatingLines:
    """Fields of a comma-separated file with a header line.

    Parameters
    ----------
    path : Path
        The file.
    owner : str
        Who asks, for error messages.

    Attributes
    ----------
    names : list of str
        The header.
    """

    def __init__(self, path: Path, owner: str) -> None:
        with refuse_damaged(path, "CSV", owner, UnicodeDecodeError, csv.Error), path.open("rb") as file:
            self.names = read_header(file, path, owner)
        self._path, self._owner = path, owner

    def columns(self, names: Sequence[str]) -> Iterator[tuple[Fields, int]]:
        """Fields of the named columns as binary arrays, and the number of lines that could not be read with them.

        Lines without and with quotes come one after the other, which changes their order.
        """
        positions = np.array([self.names.index(name) for name in names], np.int64)
        with refuse_damaged(self._path, "CSV", self._owner), self._path.open("rb") as file:
            file.readline()
            for chunk, n_overlong in whole_lines(file):
                plain, quoted = split_quoted(chunk)
                fields, n_ragged = _split_plain(plain, positions, len(self.names))
                yield fields, n_ragged + n_overlong
                if quoted:
                    yield _split_quoted_lines(quoted, positions, len(self.names))


def to_users(fields: pa.Array) -> pa.Array:
    """Fields as ids, null where they are empty or spell a missing value."""
    is_missing = pc.is_in(fields, value_set=pa.array([name.encode() for name in MISSING], fields.type))
    return pc.if_else(is_missing, pa.scalar(None, fields.type), fields)


def to_positions(fields: pa.Array, catalogue: Catalogue) -> NDArray[np.int64]:
    """Positions of items, -1 where a field is no id of the catalogue."""
    coded = fields.dictionary_encode()
    read = _read_integer if catalogue.kind == "int" else _read_text
    ids = pa.array([read(field) for field in coded.dictionary.to_pylist()], catalogue.ids.type)
    positions: NDArray[np.int64] = catalogue.positions(ids)[coded.indices.to_numpy()]
    return positions


def to_ratings(fields: pa.Array) -> NDArray[np.float64]:
    """Numbers, NaN where a field is none."""
    coded = fields.dictionary_encode()
    numbers = np.array([to_number(field) for field in coded.dictionary.to_pylist()], np.float64)
    ratings: NDArray[np.float64] = numbers[coded.indices.to_numpy()]
    return ratings


def _read_integer(field: bytes) -> int | None:
    """A field as an int64, None if it is none."""
    digits = field[1:] if field[:1] in (b"+", b"-") else field
    if not digits.isdigit() or len(digits.lstrip(b"0")) > 19:
        return None
    number = int(digits.lstrip(b"0") or b"0") * (-1 if field[:1] == b"-" else 1)
    return number if -_LARGEST_ID <= number <= _LARGEST_ID else None


def _read_text(field: bytes) -> str | None:
    """A field as a string, None if it is not UTF-8."""
    try:
        return field.decode()
    except UnicodeDecodeError:
        return None


def _split_plain(lines: bytes, positions: NDArray[np.int64], width: int) -> tuple[Fields, int]:
    """Fields of lines without quotes, and how many lines have another number of fields."""
    data = np.frombuffer(lines, np.uint8)
    n_lines = lines.count(b"\n") + (0 if lines.endswith(b"\n") or not lines else 1)
    spans = np.empty((len(positions), 2, n_lines), np.int64)
    n_good = _find_fields(data, positions, width, spans)
    return tuple(_to_array(data, *span[:, :n_good]) for span in spans), n_lines - n_good


def _split_quoted_lines(lines: list[bytes], positions: NDArray[np.int64], width: int) -> tuple[Fields, int]:
    """Fields of lines with quotes, one line at a time, and how many lines have another number of fields."""
    rows = []
    for line in lines:
        try:
            fields = next(csv.reader([line.decode("utf-8", "surrogateescape")], skipinitialspace=True))
        except csv.Error:  # a carriage return, or a field beyond the limit of the module
            continue
        if len(fields) == width:
            rows.append([fields[j].encode("utf-8", "surrogateescape").strip() for j in positions])
    columns = zip(*rows, strict=True) if rows else [() for _ in positions]
    return tuple(pa.array(column, pa.large_binary()) for column in columns), len(lines) - len(rows)


def _to_array(data: NDArray[np.uint8], starts: NDArray[np.int64], stops: NDArray[np.int64]) -> pa.Array:
    """Some stretches of bytes as an Arrow array."""
    offsets = np.zeros(len(starts) + 1, np.int64)
    np.cumsum(stops - starts, out=offsets[1:])
    copied = np.empty(offsets[-1], np.uint8)
    _copy_fields(data, starts, stops, copied)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(copied)]
    return pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(starts), buffers)


@compiled
def _find_fields(data: NDArray[np.uint8], positions: NDArray[np.int64], width: int, spans: NDArray[np.int64]) -> int:
    """Where the fields at some positions start and end, for lines that have `width` fields; how many lines these are.

    `spans` has shape (n_positions, 2, n_lines).
    """
    n_good, line = 0, 0
    starts, stops = np.empty(width, np.int64), np.empty(width, np.int64)
    while line < len(data):
        n_fields, start, stop = 0, line, line
        is_last = False
        while not is_last:
            is_last = stop == len(data) or data[stop] == _NEWLINE
            if is_last or data[stop] == _COMMA:
                if n_fields < width:
                    starts[n_fields], stops[n_fields] = start, stop
                n_fields += 1
                start = stop + 1
            stop += 1
        if n_fields == width:
            for j in range(len(positions)):
                start, last = _strip(data, starts[positions[j]], stops[positions[j]])
                spans[j, 0, n_good], spans[j, 1, n_good] = start, last
            n_good += 1
        line = stop
    return n_good


@compiled
def _strip(data: NDArray[np.uint8], start: int, stop: int) -> tuple[int, int]:
    """A stretch of bytes without the white space around it."""
    while start < stop and (data[start] == 32 or 9 <= data[start] <= 13):
        start += 1
    while start < stop and (data[stop - 1] == 32 or 9 <= data[stop - 1] <= 13):
        stop -= 1
    return start, stop


@compiled
def _copy_fields(
    data: NDArray[np.uint8], starts: NDArray[np.int64], stops: NDArray[np.int64], out: NDArray[np.uint8]
) -> None:
    """Write stretches of bytes one after the other."""
    place = 0
    for i in range(len(starts)):
        for k in range(starts[i], stops[i]):
            out[place] = data[k]
            place += 1
