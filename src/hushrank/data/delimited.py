"""The one reader of CSV and TSV files: rows, ratings, catalogues and people's own ratings come through here.

One well-formed record (RFC 4180: quoted fields may hold commas, doubled quotes and line breaks) is one record whatever
its text holds, and what it becomes depends on nothing else. A record that cannot be read is one record without fields:
one with another number of fields than the header, one longer than 2^24 bytes, and a malformed one, of which
`delimited_kernels` says how far it reaches. An empty line is a record of one empty field.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hushrank.data.delimited_kernels import (
    COMMA,
    FIELD_START,
    MALFORMED,
    QUOTED,
    TAB,
    UNREADABLE,
    copy_fields,
    find_records,
    follow_record,
    measure_fields,
    read_short_numbers,
)
from hushrank.data.files import refuse_damaged
from hushrank.data.numbers import to_number
from hushrank.data.remote_files import Place, settled
from hushrank.data.text_files import delimiter_of, most_bytes, open_text
from hushrank.data.text_values import to_numbers
from hushrank.exceptions import InvalidParameter

# Bytes that are read at a time, and that a record may have: one record cannot fill the memory.
CHUNK_BYTES = 2**22
LONGEST_RECORD = 2**24
_HEADER_BYTES = 2**16  # that are read for a header, unless it is longer: there may be many files
MOST_SAMPLE_BYTES = 2**26  # of the first texts of a file, for a check
MOST_FIELDS = 2**20  # chosen fields that are handed over at a time

_LONE_RETURN = re.compile(rb"\r(?!\n|$)")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_NOT_NAMES = {"NA", "N/A", "NaN", "nan", "null", "NULL", "None"}
_NO_TEXTS = pa.array([], pa.large_binary())

Keep = Callable[[dict[str, pa.Array]], pa.Array]


@dataclass(frozen=True, slots=True, eq=False)
class Fields:
    """Chosen fields of some consecutive records, to be used before the next ones are read: the memory is used again.

    Attributes
    ----------
    data : ndarray of bytes
    spans : ndarray of shape (n_columns, 2, n_records)
        See `find_records`.
    """

    data: NDArray[np.uint8]
    spans: NDArray[np.int32]

    def __len__(self) -> int:
        return int(self.spans.shape[2])

    def column(self, j: int) -> pa.Array:
        """The texts of one column as large_binary, without white space around them; null if a record is unreadable."""
        return _to_texts(self.data, self.spans[j])

    def numbers(self, j: int) -> NDArray[np.float64]:
        """The numbers of one column, as `to_numbers` reads them; NaN if a record is unreadable."""
        spans = self.spans[j]
        numbers, left = np.empty(len(self)), np.empty(len(self), np.bool_)
        if _are_long(spans):
            return to_numbers(self.column(j))
        if read_short_numbers(self.data, spans, numbers, left):
            numbers[left] = to_numbers(_to_texts(self.data, np.ascontiguousarray(spans[:, left])))
        return numbers


def _are_long(spans: NDArray[np.int32]) -> bool:
    """Whether most fields, as far as a few of them tell, have more characters than a short number: a matter of time."""
    few = spans[:, :64]
    return bool(np.mean(few[1] - few[0] > 17) > 0.5)


def _to_texts(data: NDArray[np.uint8], spans: NDArray[np.int32]) -> pa.Array:
    n_records = spans.shape[1]
    n_bytes, n_unreadable = measure_fields(spans)
    offsets, texts = np.zeros(n_records + 1, np.int64), np.empty(n_bytes, np.uint8)
    copy_fields(data, spans, texts, offsets[1:])
    validity = pa.py_buffer(np.packbits(spans[1] >= 0, bitorder="little")) if n_unreadable else None
    buffers = [validity, pa.py_buffer(offsets), pa.py_buffer(texts)]
    return pa.LargeBinaryArray.from_buffers(pa.large_binary(), n_records, buffers)


class DelimitedText:
    """A file with a header, separated by commas or tabs, plain or compressed.

    Parameters
    ----------
    path : Path or RemotePath
        The file; its name tells the kind, see `hushrank.data.text_files`.
    owner : str
        Who asks, for error messages.

    Attributes
    ----------
    path : Path or RemotePath
    names : list of str
        The header; refused without showing it if a cell is a number or spells a missing value. Such a record may be
        a person's, in a file without a header: as names it would be published with the model.
    has_records : bool
        Whether anything follows the header.
    """

    def __init__(self, path: Place, owner: str) -> None:
        self.path, self._owner, self._delimiter = settled(path), owner, delimiter_of(path)
        with refuse_damaged(path, "CSV", owner), open_text(path) as file:
            self.names, self._start, self.has_records = self._read_header(file)

    def fields(self, positions: Sequence[int]) -> Iterator[Fields]:
        """The fields at these positions of all records, some records at a time and in their order."""
        wanted = np.full(len(self.names), -1, np.int64)
        wanted[list(positions)] = np.arange(len(positions))
        with refuse_damaged(self.path, "CSV", self._owner), open_text(self.path) as file:
            file.seek(self._start)
            size = min(LONGEST_RECORD + CHUNK_BYTES, most_bytes(file) + 1)
            buffer = bytearray(size)  # reused: new memory for each chunk takes longer to get
            # A text of line breaks has as many lines as bytes: memory is for records, some at a time.
            spans = np.empty((len(positions), 2, max(min(MOST_FIELDS // len(positions), size), 1)), np.int32)
            n_rest, n_read, open_until = 0, -1, 0
            while n_read:
                if n_rest == len(buffer):  # the file has grown
                    buffer = buffer + bytearray(CHUNK_BYTES)
                n_read = file.readinto(memoryview(buffer)[n_rest : n_rest + CHUNK_BYTES])
                data, n_records = np.frombuffer(buffer, np.uint8, n_rest + n_read), spans.shape[2]
                while n_records == spans.shape[2]:
                    n_records, n_used, open_until = find_records(
                        data, n_read == 0, open_until, wanted, LONGEST_RECORD, spans, self._delimiter
                    )
                    if n_records:
                        yield Fields(data, spans[:, :, :n_records])
                    data, open_until = data[n_used:], open_until - n_used
                n_rest = len(data)
                if n_rest > LONGEST_RECORD:
                    open_until = _pass_over(file, data.tobytes(), self._delimiter)
                    yield Fields(data, np.full((len(positions), 2, 1), UNREADABLE, np.int32))
                    n_rest = 0
                buffer[:n_rest] = data[:n_rest].tobytes()

    def first_cells(self, names: Sequence[str], most: int) -> dict[str, pa.Array]:
        """The texts of the first records by column, for a check; null where a record is unreadable.

        There are fewer than `most` records where their texts would take much memory.
        """
        parts: list[list[pa.Array]] = [[] for _ in names]
        places, n_left, n_bytes = {name: j for j, name in enumerate(self.names)}, most, 0
        for fields in self.fields([places[name] for name in names]) if names else ():
            for j, part in enumerate(parts):
                part.append(fields.column(j)[:n_left])
                n_bytes += part[-1].nbytes
            n_left -= min(len(fields), n_left)
            if not n_left or n_bytes > MOST_SAMPLE_BYTES:
                break
        return {name: pa.concat_arrays([_NO_TEXTS, *part]) for name, part in zip(names, parts, strict=True)}

    def read(self, names: Sequence[str], keep: Keep | None = None) -> dict[str, pa.Array]:
        """Whole columns by name, for small tables of which no record may be lost; empty lines are passed over.

        `keep` tells which of some records stay, from their columns by name.

        Raises
        ------
        InvalidParameter
            If a record cannot be read.
        """
        parts: list[list[pa.Array]] = [[] for _ in names]
        for fields in self.fields([self.names.index(name) for name in names]) if names else ():
            if (fields.spans[:, 1] == UNREADABLE).any():
                requirement = f"a CSV file whose records have {len(self.names)} fields, as its header"
                raise InvalidParameter(self._owner, "file", requirement, f"{self.path.name}: another record")
            columns = [fields.column(j).drop_null() for j in range(len(names))]
            kept = None if keep is None else keep(dict(zip(names, columns, strict=True)))
            for part, column in zip(parts, columns, strict=True):
                part.append(column if kept is None else column.filter(kept))
        return {name: pa.concat_arrays([_NO_TEXTS, *part]) for name, part in zip(names, parts, strict=True)}

    def _read_header(self, file: BinaryIO) -> tuple[list[str], int, bool]:
        """Names, where the first record starts, and whether anything is there."""
        start = file.read(min(_HEADER_BYTES, LONGEST_RECORD))
        while follow_header(start, self._delimiter)[2] < 0 and (more := file.read(LONGEST_RECORD - len(start))):
            start += more
        names, first = parse_header(start, self.path.name, self._owner, self._delimiter)
        return names, first, len(start) > first or bool(file.read(1))


def follow_header(start: bytes, delimiter: int = COMMA) -> tuple[int, int, int, int]:
    """Length of a byte order mark, and what `follow_record` says of the first line after it."""
    mark = len(_BYTE_ORDER_MARK) if start.startswith(_BYTE_ORDER_MARK) else 0
    return mark, *follow_record(np.frombuffer(start[mark:], np.uint8), FIELD_START, delimiter)


def parse_header(start: bytes, source: str, owner: str, delimiter: int = COMMA) -> tuple[list[str], int]:
    """Names of a header, and where the first record after them starts.

    Parameters
    ----------
    start : bytes
        The first `LONGEST_RECORD` bytes of the text, or as many as hold its first line.
    source, owner : str
        What the text is called and who asks, for error messages.
    delimiter : int
        COMMA or TAB.
    """
    mark, state, stop, n_delimiters = follow_header(start, delimiter)
    if state in (MALFORMED, QUOTED) or (stop < 0 and len(start) >= LONGEST_RECORD):
        raise InvalidParameter(owner, "X", "a CSV file with a header line", f"{source}: an open quote")
    line = start[mark:] if stop < 0 else start[mark : mark + stop]
    if _LONE_RETURN.search(line):
        got = f"{source}: a carriage return alone"
        raise InvalidParameter(owner, "X", "a CSV file whose lines end with LF or CRLF", got)
    spans = np.empty((n_delimiters + 1, 2, 1), np.int32)
    data = np.frombuffer(line, np.uint8)
    n_records, _, _ = find_records(data, True, 0, np.arange(n_delimiters + 1), LONGEST_RECORD, spans, delimiter)
    header = Fields(data, spans[:, :, :n_records])
    cells = [header.column(j)[0].as_py() for j in range(n_delimiters + 1)] if n_records else []
    _check_encoding(cells, line, source, owner)
    names = [cell.decode() for cell in cells]
    _check_header(names, line, source, owner)
    _check_delimiter(names, line, source, owner, delimiter)
    return names, len(start) if stop < 0 else mark + stop + 1


def _check_encoding(cells: list[bytes], line: bytes, source: str, owner: str) -> None:
    """Refuse names that are not UTF-8, as spreadsheets write them on Windows."""
    try:
        b"".join(cells).decode()
    except UnicodeDecodeError as error:
        encoding = "utf-16" if line.startswith((b"\xff\xfe", b"\xfe\xff")) else "cp1252"
        read = f'path, encoding="{encoding}"' + (', sep=";", decimal=","' if b";" in line else "")
        requirement = f"a CSV file in UTF-8 (pandas.read_csv({read}).to_csv(new_path, index=False) may convert it)"
        raise InvalidParameter(owner, "X", requirement, f"{source}: names in another encoding") from error


def _check_header(names: list[str], line: bytes, source: str, owner: str) -> None:
    if not any(names):
        raise InvalidParameter(owner, "X", "a CSV file with a header line", f"{source}: an empty first line")
    if any(name in _NOT_NAMES or to_number(name) == to_number(name) for name in names):
        got = f"{source}: a first line with numbers or missing values"
        raise InvalidParameter(owner, "X", "a CSV file with a header line of names", got)
    if len(set(names)) < len(names):
        raise InvalidParameter(owner, "X", "a CSV file whose column names differ", f"{source}: two columns of one name")


def _check_delimiter(names: list[str], line: bytes, source: str, owner: str, delimiter: int) -> None:
    """Refuse a header of one column that looks like several, separated otherwise.

    Semicolons are not accepted for commas: such files write 3,5 for 3.5, and all numbers would count as missing.
    """
    if len(names) > 1:
        return
    if delimiter == TAB and b"," in line:
        requirement = "a TSV file separated by tabs (a name that ends in .csv is for commas)"
        raise InvalidParameter(owner, "X", requirement, f"{source}: one column, with commas")
    if delimiter == COMMA and b"\t" in line:
        requirement = "a CSV file separated by commas (a name that ends in .tsv is for tabs)"
        raise InvalidParameter(owner, "X", requirement, f"{source}: one column, with tabs")
    if b";" in line:
        skip = ", skiprows=1" if line.lower().startswith(b"sep=") else ""  # a line that spreadsheets write and read
        requirement = (
            f"a {'TSV' if delimiter == TAB else 'CSV'} file separated by {'tabs' if delimiter == TAB else 'commas'} "
            f'(pandas.read_csv(path, sep=";", decimal=","{skip}).to_csv(new_path, index=False) converts semicolons; '
            'add thousands="." only if 1.234 means 1234)'
        )
        raise InvalidParameter(owner, "X", requirement, f"{source}: one column, with semicolons")


def _pass_over(file: BinaryIO, start: bytes, delimiter: int) -> int:
    """Put the file behind a record that begins with `start`, just read, without keeping what is read on the way.

    Returns how far beyond the new place the record was followed in vain, see `open_until` of `find_records`.
    """
    begin = before = file.tell() - len(start)
    piece, state, stop = start, FIELD_START, -1
    while piece and stop < 0:
        state, stop, _ = follow_record(np.frombuffer(piece, np.uint8), state, delimiter)
        before, piece = (before + len(piece), file.read(CHUNK_BYTES)) if stop < 0 else (before, piece)
    if state not in (MALFORMED, QUOTED):  # it ends here, or with the file
        file.seek(before + stop + 1 if stop >= 0 else before)
        return 0
    followed = before + max(stop, 0)
    file.seek(begin)
    while (line := file.readline(CHUNK_BYTES)) and not line.endswith(b"\n"):
        pass
    return followed - file.tell()
