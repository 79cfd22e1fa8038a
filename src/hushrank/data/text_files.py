"""Text files as people have them: separated by commas or tabs, plain or compressed; their names tell which.

A compressed file is decompressed as it is read, some bytes at a time: one that swells takes time, not memory. Going
back in it means to start again, which only a record longer than any that can be read asks for.
"""

import io
import os
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa

from hushrank.data.delimited_kernels import COMMA, TAB
from hushrank.data.files import PARQUET_SUFFIXES
from hushrank.data.remote_files import Place

_DELIMITERS = {".csv": COMMA, ".tsv": TAB}
_CODECS = {"": None, ".gz": "gzip", ".zst": "zstd"}
_KINDS = {
    kind + packing: (delimiter, codec) for packing, codec in _CODECS.items() for kind, delimiter in _DELIMITERS.items()
}

TEXT_SUFFIXES = tuple(_KINDS)
DATA_SUFFIXES = (*PARQUET_SUFFIXES, *TEXT_SUFFIXES)

_PIECE_BYTES = 2**16  # that are decompressed at a time on the way to a place, or for a reader of lines


def text_suffix(path: Place) -> str | None:
    """Which of `TEXT_SUFFIXES` the name of a file ends in; None for other files.

    Examples
    --------
    >>> text_suffix(Path("Ratings.CSV.gz")), text_suffix(Path("ratings.gz"))
    ('.csv.gz', None)
    """
    return next((suffix for suffix in TEXT_SUFFIXES if path.name.lower().endswith(suffix)), None)


def delimiter_of(path: Place) -> int:
    """The byte that separates the fields of a file; a comma unless its name says otherwise."""
    return _KINDS[text_suffix(path) or ".csv"][0]


def open_text(path: Place) -> io.BufferedReader:
    """The bytes of a text file, decompressed if it is compressed."""
    codec = _KINDS[text_suffix(path) or ".csv"][1]
    if codec is None:
        return path.open("rb")
    return io.BufferedReader(_Decompressed(path, codec), _PIECE_BYTES)


def most_bytes(file: io.BufferedReader) -> int:
    """How many bytes an open text file has; of one that is compressed or elsewhere any number is possible."""
    return os.fstat(file.fileno()).st_size if isinstance(file.raw, io.FileIO) else sys.maxsize - 1


class _Decompressed(io.RawIOBase):
    """What a compressed file holds."""

    def __init__(self, path: Place, codec: str) -> None:
        self._path, self._codec = path, codec
        self._start()

    def _start(self) -> None:
        path = self._path
        self._file = pa.OSFile(os.fspath(path)) if isinstance(path, Path) else path.open()
        self._stream, self._place = pa.CompressedInputStream(self._file, self._codec), 0

    def _stop(self) -> None:
        self._stream.close()
        self._file.close()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def readinto(self, buffer: Any) -> int:
        n_read = int(self._stream.readinto(buffer))
        self._place += n_read
        return n_read

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place counted from the start, or to the end of the file if that comes first."""
        assert whence == io.SEEK_SET
        if offset < self._place:
            self._stop()
            self._start()
        while self._place < offset and (piece := self._stream.read(min(_PIECE_BYTES, offset - self._place))):
            self._place += len(piece)
        return self._place

    def close(self) -> None:
        if not self.closed:
            self._stop()
        super().close()
