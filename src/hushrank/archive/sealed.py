"""Sealed files: a state that holds secrets, in a file that is believed only if a holder of the key wrote it.

Why        whoever hands us a state could choose its seed, take back releases that it counts, or give compiled code
           arrays of wrong sizes. So nothing in a file is looked at before its seal is found to be right.
Layout     a line that says what the file is; 8 bytes, the length of the header; the header, JSON of version, content
           and name, dtype and shape of every array; the arrays one after another, little-endian in C order; the seal.
           The same state gives the same bytes.
Seal       the last 32 bytes: HMAC-SHA256 of all bytes before them, under a key derived from the holder's.
Not        encrypted, and not protected from being replaced by an older one: docs/privacy/formats.md.
"""

import hashlib
import hmac
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BufferedReader
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from hushrank.archive.atomic import ONLY_OWNER, check_replaceable, open_ordinary, replace_file
from hushrank.archive.seal_keys import KEY_BYTES
from hushrank.exceptions import CheckpointError, InvalidParameter

VERSION = 1
MAX_HEADER = 2**20  # bytes
_FIRST_LINE = b"hushrank checkpoint: SECRET, do not publish\n"
_PURPOSE = b"hushrank checkpoint"
_LEAD = len(_FIRST_LINE) + 8
_SEAL_BYTES = hashlib.sha256().digest_size
_CHUNK = 2**20  # bytes that are authenticated at once: all that a file without a right seal takes in memory
_DTYPES = {text: np.dtype(text) for text in ("<i4", "<i8", "|u1", "<u8", "<f8")}
_KEYS = {"version", "content", "arrays"}
_CHANGED = "changed while it was read"


class _Refused(Exception):
    """Why a file is none; read after its name."""


@dataclass(frozen=True, slots=True)
class _Line:
    """What a header says of one array."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]


def write_sealed(
    path: str | os.PathLike[str], content: Mapping[str, Any], arrays: Mapping[str, np.ndarray], key: bytes
) -> None:
    """Write JSON-safe `content` and `arrays`, readable by the owner only: a crash leaves the old file or the new one.

    Arrays are of int32, int64, uint8, uint64 or float64, and are written without a second copy in memory. Tuples in
    `content` come back as lists.

    Raises
    ------
    CheckpointError
        If the folder is missing or not writable, the path is that of something else than an ordinary file, or what
        was given does not fit the format; the old file is as it was.
    """
    mac = hmac.new(_derive(key, "write_sealed"), digestmod=hashlib.sha256)
    target = Path(path)
    try:
        lines = _describe(arrays)
        lead = _lead(_to_header(content, lines))
    except (TypeError, ValueError, RecursionError) as error:
        raise CheckpointError(f"cannot write {target}: {error}.") from error

    def fill(file: BinaryIO) -> None:
        for data in chain([lead], *(_chunks(arrays[line.name], line.dtype) for line in lines)):
            mac.update(data)
            file.write(data)
        file.write(mac.digest())

    try:
        check_replaceable(target)
        replace_file(target, fill, ONLY_OWNER)
    except (OSError, ValueError) as error:  # ValueError for a zero in a path
        raise CheckpointError(f"cannot write {target}: {getattr(error, 'strerror', None) or error}.") from error


def read_sealed(path: str | os.PathLike[str], key: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Content and arrays of a file that `write_sealed` wrote with this key; CheckpointError for any other.

    Until the seal is found to be right, memory is taken for two chunks of 1 MB, whatever the size of the file.
    """
    secret = _derive(key, "read_sealed")
    target = Path(path)
    try:
        with open_ordinary(target) as file:
            return _read(file, secret)
    except _Refused as refusal:
        raise CheckpointError(f"{target} {refusal}.") from None
    except (OSError, ValueError) as error:  # ValueError for a zero in a path
        raise CheckpointError(f"cannot read {target}: {getattr(error, 'strerror', None) or error}.") from error


def _derive(key: bytes, owner: str) -> bytes:
    """The key of seals: other uses of the holder's key say nothing about it."""
    if not isinstance(key, bytes) or len(key) != KEY_BYTES:
        got = len(key) if isinstance(key, bytes) else type(key)  # never the key
        raise InvalidParameter(owner, "key", f"{KEY_BYTES} bytes, as load_key returns", got)
    return hmac.digest(key, _PURPOSE, hashlib.sha256)


# Writing


def _describe(arrays: Mapping[str, np.ndarray]) -> list[_Line]:
    _check_mapping(arrays, "what was given as arrays")
    for name, array in arrays.items():
        if not isinstance(name, str):
            raise TypeError(f"the name of an array is a {type(name).__name__}")
        if not isinstance(array, np.ndarray):
            raise TypeError(f"{name} is a {type(array).__name__}, not an array")
        if array.dtype.newbyteorder("<").str not in _DTYPES:
            raise TypeError(f"arrays of {array.dtype} have no place in a checkpoint")
    return [_Line(name, array.dtype.newbyteorder("<"), array.shape) for name, array in sorted(arrays.items())]


def _to_header(content: Mapping[str, Any], lines: Sequence[_Line]) -> bytes:
    _check_mapping(content, "its content")
    _check_names(content)
    arrays = [[line.name, line.dtype.str, line.shape] for line in lines]
    description = {"version": VERSION, "content": dict(content), "arrays": arrays}
    header = json.dumps(description, sort_keys=True, allow_nan=False).encode()
    if len(header) > MAX_HEADER:
        raise ValueError(f"its header has {len(header)} bytes, more than {MAX_HEADER}")
    return header


def _check_mapping(value: Any, what: str) -> None:
    if not isinstance(value, Mapping):
        raise TypeError(f"{what} is a {type(value).__name__}, not a mapping")


def _check_names(value: Any) -> None:
    """Refuse names that JSON would make strings of: they would not be found again."""
    if isinstance(value, Mapping):
        if not all(isinstance(name, str) for name in value):
            raise TypeError("names in its content are not all strings")
        value = list(value.values())
    if isinstance(value, list | tuple):
        for part in value:
            _check_names(part)


def _lead(header: bytes) -> bytes:
    return _FIRST_LINE + len(header).to_bytes(8, "little") + header


def _chunks(array: np.ndarray, dtype: np.dtype[Any]) -> Iterator[bytes]:
    """The numbers in C order, in pieces.

    Each piece is a copy that nobody else can change: should somebody write to the array meanwhile, what is sealed is
    still what is written.
    """
    size = _CHUNK // dtype.itemsize
    pieces = np.nditer(array, ("external_loop", "buffered", "zerosize_ok"), op_dtypes=dtype, order="C", buffersize=size)
    for piece in pieces:
        yield np.asarray(piece).tobytes()


# Reading


def _read(file: BufferedReader, secret: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    end = os.fstat(file.fileno()).st_size - _SEAL_BYTES
    head, seal = _authenticate(file, secret, end)
    header = _header_of(head)
    content, lines = _parse(header, end - _LEAD - len(header))
    # The file may be another by now: what is handed out has the seal that was right.
    file.seek(_LEAD + len(header))
    mac = hmac.new(secret, _lead(header), hashlib.sha256)
    arrays = {line.name: _read_array(file, line, mac) for line in lines}
    if not hmac.compare_digest(mac.digest(), seal):
        raise _Refused(_CHANGED)
    return content, arrays


def _authenticate(file: BufferedReader, secret: bytes, end: int) -> tuple[bytes, bytes]:
    """The beginning of a file, with all of its header, and its seal, which is that of all bytes up to `end`."""
    head = file.read(max(min(end, _LEAD + MAX_HEADER), 0))
    if len(head) < _LEAD or not head.startswith(_FIRST_LINE):
        raise _Refused("is not a hushrank checkpoint")
    mac = hmac.new(secret, head, hashlib.sha256)
    buffer = memoryview(bytearray(_CHUNK))
    for start in range(len(head), end, _CHUNK):
        _fill(file, buffer[: end - start], mac)
    seal = file.read(_SEAL_BYTES)
    if not hmac.compare_digest(mac.digest(), seal):
        raise _Refused("was not sealed with this key, or it is damaged")
    return head, seal


def _fill(file: BufferedReader, part: memoryview, mac: hmac.HMAC) -> None:
    if file.readinto(part) != len(part):
        raise _Refused(_CHANGED)
    mac.update(part)


def _header_of(head: bytes) -> bytes:
    length = int.from_bytes(head[len(_FIRST_LINE) : _LEAD], "little")
    if length > len(head) - _LEAD:
        raise _Refused(f"has a header of {length} bytes, which this version of hushrank never writes")
    return head[_LEAD : _LEAD + length]


def _parse(header: bytes, n_bytes: int) -> tuple[dict[str, Any], list[_Line]]:
    """Content and list of arrays, of `n_bytes` in all; a holder of the key wrote them, perhaps in a newer version."""
    try:
        description = json.loads(header)
        version = description["version"]
        if version > VERSION:
            raise _Refused(f"was made by a newer version of hushrank: format {version}; this one reads up to {VERSION}")
        content, lines = description["content"], [_to_line(*fields) for fields in description["arrays"]]
        is_ours = version == VERSION and description.keys() == _KEYS and isinstance(content, dict)
        is_ours = is_ours and sum(map(_n_bytes, lines)) == n_bytes
    except (ValueError, TypeError, LookupError, RecursionError):
        is_ours = False
    if not is_ours:
        raise _Refused("was sealed with this key, but not by hushrank")
    return content, lines


def _to_line(name: Any, dtype: Any, shape: Any) -> _Line:
    if not isinstance(name, str) or not all(type(size) is int and size >= 0 for size in shape):
        raise TypeError
    return _Line(name, _DTYPES[dtype], tuple(shape))


def _n_bytes(line: _Line) -> int:
    return math.prod(line.shape) * line.dtype.itemsize


def _read_array(file: BufferedReader, line: _Line, mac: hmac.HMAC) -> np.ndarray:
    array: np.ndarray[Any, Any] = np.empty(line.shape, line.dtype)
    data = array.reshape(-1).view(np.uint8).data
    for start in range(0, len(data), _CHUNK):
        _fill(file, data[start : start + _CHUNK], mac)
    return array.astype(line.dtype.newbyteorder("="), copy=False)
