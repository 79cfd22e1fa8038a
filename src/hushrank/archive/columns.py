"""Arrays and columns of text as the bytes of a model file, and back.

Arrays     the npy format, of a few dtypes, in the one spelling that NumPy writes. NumPy's own reader would evaluate a
           Python literal and believe the shape; here the shape must be that of the bytes.
Text       two arrays: all entries in UTF-8 one after another (name.text), and where each ends (name.ends).
Errors     ValueError, read after the name of a file and "is damaged:".
"""

import io
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

_DTYPES = {text: np.dtype(text) for text in ("<f8", "<c16", "<i8", "<u8", "|u1")}
_HEAD = re.compile(
    rb"\x93NUMPY\x01\x00(..)"
    rb"\{'descr': '([<|][a-z][0-9]{1,2})', 'fortran_order': False, 'shape': \(([0-9, ]{0,80})\), \} *\n",
    re.DOTALL,
)
_SHAPE = re.compile(rb"(?:[0-9]{1,18}, )*[0-9]{1,18},?|")
_TEXT, _ENDS = ".text", ".ends"


class Texts:
    """A column of text as a file holds it, decoded only when it is asked for: its length can be checked before."""

    def __init__(self, data: np.ndarray, ends: np.ndarray) -> None:
        if data.dtype != np.uint8 or ends.dtype != np.int64 or data.ndim != 1 or ends.ndim != 1:
            raise ValueError("a column of text is none")
        edges = np.concatenate([np.zeros(1, np.int64), ends])
        if (edges[1:] < edges[:-1]).any() or edges[-1] != len(data):
            raise ValueError("the entries of a column of text do not make up its bytes")
        self._data, self._edges = data, edges

    def __len__(self) -> int:
        return len(self._edges) - 1

    def tolist(self) -> list[str]:
        """The entries; UnicodeDecodeError, a ValueError, where one is not UTF-8."""
        data, edges = self._data.tobytes(), self._edges.tolist()
        return [data[start:stop].decode() for start, stop in pairwise(edges)]


Column = np.ndarray | Texts


def to_arrays(name: str, column: np.ndarray | Sequence[str]) -> Iterator[tuple[str, np.ndarray]]:
    """The arrays that stand for a column, by name."""
    if isinstance(column, np.ndarray) and column.dtype != object:
        yield name, column
        return
    if not all(isinstance(entry, str) for entry in column):
        raise TypeError(f"{name} holds objects that have no place in a model file")
    entries = [entry.encode() for entry in column]  # UnicodeEncodeError for half of a surrogate pair
    yield f"{name}{_TEXT}", np.frombuffer(b"".join(entries), np.uint8)
    yield f"{name}{_ENDS}", np.cumsum([len(entry) for entry in entries], dtype=np.int64)


def from_arrays(arrays: Mapping[str, np.ndarray]) -> dict[str, Column]:
    """Columns by name from the arrays that stand for them."""
    columns: dict[str, Column] = {}
    for name, array in arrays.items():
        if name.endswith(_TEXT):
            stem = name.removesuffix(_TEXT)
            if stem in arrays or stem + _ENDS not in arrays:
                raise ValueError(f"{stem!r:.40} is half of a column of text")
            columns[stem] = Texts(array, arrays[stem + _ENDS])
        elif not name.endswith(_ENDS):
            columns[name] = array
        elif name.removesuffix(_ENDS) + _TEXT not in arrays:
            raise ValueError(f"{name!r:.40} is half of a column of text")
    return columns


def to_npy(array: np.ndarray) -> bytes:
    """The bytes of an array of a dtype that is read back; TypeError for any other."""
    dtype = array.dtype.newbyteorder("<")
    if dtype.str not in _DTYPES:
        raise TypeError(f"arrays of {array.dtype} have no place in a model file")
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.ascontiguousarray(array, dtype), version=(1, 0), allow_pickle=False)
    return buffer.getvalue()


def from_npy(data: bytes) -> np.ndarray:
    """The array that `to_npy` wrote, writable and in this machine's byte order."""
    head = _HEAD.match(data)
    if head is None or int.from_bytes(head[1], "little") != head.end() - 10 or not _SHAPE.fullmatch(head[3]):
        raise ValueError("an array cannot be read")
    dtype = _DTYPES.get(head[2].decode())
    if dtype is None:
        raise ValueError(f"an array has the dtype {head[2].decode()!r}")
    shape = tuple(int(size) for size in head[3].replace(b",", b" ").split())
    if math.prod(shape) * dtype.itemsize != len(data) - head.end():
        raise ValueError(f"an array of shape {shape} has {len(data) - head.end()} bytes")
    numbers: np.ndarray[Any, Any] = np.frombuffer(data, dtype, offset=head.end()).reshape(shape)
    return numbers.astype(dtype.newbyteorder("="))
