"""Updates that arrive as bytes while they are read, such as a pipe, and the place where reading may go on later."""

from collections.abc import Iterator
from typing import Any, BinaryIO

from hushrank.data.updates.byte_records import RecordStream
from hushrank.data.updates.entries import name_columns
from hushrank.data.updates.files import chunk_of_fields
from hushrank.data.updates.offsets import Offset
from hushrank.data.updates.reading import check_shape
from hushrank.data.updates.source import MOST_UPDATES, UpdateChunk
from hushrank.exceptions import InvalidParameter

__all__ = ["LiveUpdates", "Offset"]


class LiveUpdates:
    """Updates of comma-separated text that is read once, from a file of bytes that may still be written.

    Records are what they are in a CSV file, see `hushrank.data.delimited`, whatever pieces the bytes come in. The last
    one needs no line break, and is complete when the stream ends.

    Parameters
    ----------
    file : binary file
        Such as sys.stdin.buffer. The first line names the columns: row, column (or col), delta and, if it is needed,
        user; others are not looked at. Constructing waits for it.
    owner : str
        Who asks, for error messages.
    shape : pair of int
        Rows and columns of the matrix, public.
    needs_users : bool
        Whether every update needs a user.
    offset : Offset, optional
        Goes on after what was read before. The file must give all of that again, from its start: it is passed over
        and compared by its checksum.
    continues : bool
        The file gives only what comes after `offset`, as a queue does, beginning with a header of its own, whose
        columns may have another order. Nothing can be compared. Offsets go on as if the files were one: `bytes` and
        `checksum` count the new header as well, so that the files, one behind the other, may be replayed later.

    Raises
    ------
    InvalidParameter
        If it is no file of bytes, if the header is not as it must be, or if the file is not the one of the offset. A
        file that can be read no further raises when chunks are read.

    Examples
    --------
    >>> import io
    >>> live = LiveUpdates(io.BytesIO(b"row,column,delta\\n0,1,0.5\\n2,x,1\\n"), owner="example", shape=(3, 4))
    >>> for chunk, offset in live.chunks(most=1):
    ...     print(chunk.rows, chunk.columns, chunk.deltas, offset.bytes, offset.records)
    [0] [1] [0.5] 25 1
    [2] [-1] [1.] 31 2
    """

    def __init__(
        self,
        file: BinaryIO,
        *,
        owner: str,
        shape: Any,
        needs_users: bool = False,
        offset: Offset | None = None,
        continues: bool = False,
    ) -> None:
        self.shape, self.has_users = check_shape(shape, owner), needs_users
        if offset is not None and not isinstance(offset, Offset):
            raise InvalidParameter(owner, "offset", "an Offset or None", type(offset).__name__)
        self._records = RecordStream(file, owner, Offset() if offset is None else offset, continues)
        names = name_columns(self._records.names, needs_users, owner)
        self._positions = [self._records.names.index(name) for name in names]

    @property
    def offset(self) -> Offset:
        """After all updates that were handed over."""
        return self._records.offset

    def chunks(self, most: int = MOST_UPDATES) -> Iterator[tuple[UpdateChunk, Offset]]:
        """Updates as soon as they come, valid or not, and what has been read when they are applied.

        A chunk has as many updates as are at hand, at most `most`. Reading may be stopped after any chunk, and be gone
        on with by another call.
        """
        for fields in self._records.fields(self._positions, most):
            yield chunk_of_fields(fields), self._records.offset
