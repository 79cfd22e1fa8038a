"""Records of comma-separated text that arrives piece by piece: what is at hand is read, what is not complete waits.

Records are those of `hushrank.data.delimited`, however the bytes are cut into pieces. Whether a quoted field ends as it
must may take more bytes to tell, all that follow in the worst case: a quote that nobody closes holds back what comes
after it until the next quote or the end of the stream. Such bytes wait in memory, and where they are more than a record
may have, in a temporary file without a name.
"""

import io
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from hushrank.data import delimited
from hushrank.data.delimited import Fields, follow_header, parse_header
from hushrank.data.delimited_kernels import (
    COMMA,
    FIELD_START,
    MALFORMED,
    QUOTED,
    UNREADABLE,
    find_records,
    follow_record,
)
from hushrank.data.files import refuse_damaged
from hushrank.data.updates.offsets import Offset
from hushrank.exceptions import InvalidParameter

Bytes = NDArray[np.uint8]

_STREAM = Path("stream")  # what it is called in error messages
_NEWLINE = 10


class ByteSource:
    """Pieces of a stream as they come, and before them whatever was put back.

    Parameters
    ----------
    file : binary file
        `read1` is called, or `read` where there is none: it waits for some bytes, and gives none at the end.
    owner : str
        Who asks, for error messages.
    """

    def __init__(self, file: Any, owner: str) -> None:
        read = getattr(file, "read1", None) or getattr(file, "read", None)
        if isinstance(file, io.TextIOBase) or not callable(read):
            requirement = "a file of bytes, such as sys.stdin.buffer"
            raise InvalidParameter(owner, "file", requirement, type(file).__name__)
        self._read: Callable[[int], Any] = read
        self._owner, self._is_end = owner, False
        self._put_back: list[IO[bytes]] = []
        weakref.finalize(self, _close_all, self._put_back)

    def read(self) -> bytes:
        """Some bytes; none at the end."""
        while self._put_back:
            if piece := self._put_back[-1].read(delimited.CHUNK_BYTES):
                return piece
            self._put_back.pop().close()
        if self._is_end:
            return b""
        piece = self._read(delimited.CHUNK_BYTES)
        if not isinstance(piece, bytes):  # a file that does not wait gives None
            requirement = "a file of bytes that waits for them"
            raise InvalidParameter(self._owner, "file", requirement, type(piece).__name__)
        self._is_end = not piece
        return piece

    def put_back(self, file: IO[bytes]) -> None:
        """Give the bytes of this file first, and close it."""
        file.seek(0)
        self._put_back.append(file)


def _close_all(files: list[IO[bytes]]) -> None:
    for file in files:
        file.close()


class RecordStream:
    """Records of a stream with a header; constructing it waits for the header.

    Parameters
    ----------
    file : binary file
        See `ByteSource`.
    owner : str
        Who asks, for error messages.
    offset : Offset
        Where reading goes on, see `LiveUpdates`.
    continues : bool
        Whether the file starts there, with a header of its own.

    Attributes
    ----------
    names : list of str
        The header.
    offset : Offset
        After the records that were handed over.
    """

    def __init__(self, file: Any, owner: str, offset: Offset, continues: bool) -> None:
        self._source, self._owner = ByteSource(file, owner), owner
        self._is_end, self._open_until = False, 0
        self._data: Bytes = np.empty(0, np.uint8)  # what was read but not handed over; starts with a record
        with refuse_damaged(_STREAM, "CSV", owner):
            self.names, header = self._read_header()
            if continues or offset.bytes == 0:
                self.offset = offset.after(header, 0)
            else:
                self.offset = self._replay(header, offset)

    def fields(self, positions: Sequence[int], most: int) -> Iterator[Fields]:
        """The fields at these positions of all further records, at most so many at a time and as soon as they come."""
        wanted = np.full(len(self.names), -1, np.int64)
        wanted[list(positions)] = np.arange(len(positions))
        n_most = max(min(most, delimited.MOST_FIELDS // len(positions)), 1)
        spans = np.empty((len(positions), 2, n_most), np.int32)
        with refuse_damaged(_STREAM, "CSV", self._owner):
            while True:
                n_records, n_used, self._open_until = find_records(
                    self._data, self._is_end, self._open_until, wanted, delimited.LONGEST_RECORD, spans, COMMA
                )
                if n_records:
                    data, self._data = np.split(self._data, [n_used])
                    self.offset, self._open_until = self.offset.after(data, n_records), self._open_until - n_used
                    yield Fields(data, spans[:, :, :n_records])
                elif self._is_end:
                    return
                elif not self._read_on():
                    yield Fields(self._data, np.full((len(positions), 2, 1), UNREADABLE, np.int32))

    def _read_on(self) -> bool:
        """Read until the record at the start of the data may be complete; False if it was too long and is passed over.

        Only new bytes are looked at: a long record that comes in small pieces does not take the square of its length.
        """
        pieces, size = [self._data.tobytes()], len(self._data)
        state, _, _ = follow_record(self._data, FIELD_START, COMMA)
        while True:
            piece = self._source.read()
            # Malformed by itself, or because of what is known of the bytes to come: then it ends with its line.
            may_be_complete = (state == MALFORMED or self._open_until > size) and b"\n" in piece
            if state != MALFORMED:
                state, stop, _ = follow_record(_as_array(piece), state, COMMA)
                may_be_complete = may_be_complete or stop >= 0
            pieces.append(piece)
            size += len(piece)
            self._is_end = not piece
            if may_be_complete or self._is_end:
                self._data = _as_array(b"".join(pieces))
                return True
            if size > delimited.LONGEST_RECORD:
                self._pass_over(b"".join(pieces))
                return False

    # Records that are too long.

    def _pass_over(self, start: bytes) -> None:
        """Go behind a record that begins with `start`, or, if it is malformed, behind its first line."""
        offset, state, piece, stop = self.offset, FIELD_START, start, 0
        while piece and not stop:
            stop = piece.find(b"\n") + 1
            line = _as_array(piece[:stop] if stop else piece)
            state = state if state == MALFORMED else follow_record(line, state, COMMA)[0]
            offset = offset.after(line, 0)
            piece = piece if stop else self._source.read()
        self._data, self._open_until, self._is_end = _as_array(piece[stop:]), 0, not piece
        if state == QUOTED and piece:
            offset = self._follow_quoted(piece[stop:], offset)
        # Not before: whoever is interrupted on the way must not go on in the middle of a record.
        self.offset = offset.after(_as_array(b""), 1)

    def _follow_quoted(self, piece: bytes, start: Offset) -> Offset:
        """Go behind a record that is within a quoted field after its first line, or stay if it is malformed; where."""
        offset, state = start, QUOTED
        with ExitStack() as stack:
            kept = stack.enter_context(TemporaryFile())
            while True:
                state, stop, _ = follow_record(_as_array(piece), state, COMMA)
                if stop >= 0 and state != MALFORMED:
                    self._data = _as_array(piece[stop + 1 :])
                    return offset.after(_as_array(piece[: stop + 1]), 0)
                n_followed = kept.tell() + max(stop, 0)
                kept.write(piece)
                offset = offset.after(_as_array(piece), 0)
                piece = b"" if state == MALFORMED else self._source.read()
                if not piece:
                    break
            self._data, self._is_end = _as_array(b""), state not in (QUOTED, MALFORMED)
            if self._is_end:  # the record ends with the stream
                return offset
            self._open_until = n_followed if state == MALFORMED else kept.tell()
            self._source.put_back(kept)
            stack.pop_all()
            return start

    # Header and replay.

    def _read_header(self) -> tuple[list[str], Bytes]:
        """Names, and the bytes that hold them."""
        start, is_whole = b"", False
        while not is_whole and len(start) < delimited.LONGEST_RECORD:
            piece = self._source.read()
            start += piece
            self._is_end = not piece
            is_whole = self._is_end or (b"\n" in piece and follow_header(start)[2] >= 0)
        names, n_bytes = parse_header(start[: delimited.LONGEST_RECORD], _STREAM.name, self._owner)
        data = _as_array(start)
        self._data = data[n_bytes:]
        return names, data[:n_bytes]

    def _replay(self, header: Bytes, offset: Offset) -> Offset:
        """Pass over what was read before, and over the end of its last line; where reading goes on."""
        self._data = np.concatenate([header, self._data])
        seen, last = Offset(), _NEWLINE
        while seen.bytes < offset.bytes:
            if not len(self._data) and not self._read_any():
                raise self._another_input("a shorter one")
            part, self._data = np.split(self._data, [offset.bytes - seen.bytes])
            seen, last = seen.after(part, 0), part[-1]
        if seen.checksum != offset.checksum:
            raise self._another_input("another one")
        # The stream ended there without a line break, and has been written on since.
        seen = offset
        while last != _NEWLINE and (len(self._data) or self._read_any()):
            line = self._data.tobytes().partition(b"\n")
            part = self._data[: len(line[0]) + len(line[1])]
            if line[0].strip():
                raise self._another_input("one whose last record goes on")
            seen, last, self._data = seen.after(part, 0), part[-1], self._data[len(part) :]
        return seen

    def _read_any(self) -> bool:
        """Read a piece where there are no data; whether there was one."""
        self._data = _as_array(self._source.read())
        self._is_end = not len(self._data)
        return not self._is_end

    def _another_input(self, got: str) -> InvalidParameter:
        return InvalidParameter(self._owner, "offset", "of the input that was read before", got)


def _as_array(piece: bytes) -> Bytes:
    return np.frombuffer(piece, np.uint8)
