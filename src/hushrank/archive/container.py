"""Model files: one zip of arrays and a JSON header, written whole or not at all, and never unpickled.

Layout     header.json (format, version, checksums of the arrays, content), header.sha256, and one .npy per array.
           Times in the zip are constant, so the same model gives the same bytes.
Refused    files that are not such an archive, are damaged, or have a newer version. No claim of a file is believed
           before it is compared with the size of the file, so that reading it takes a small multiple of that.
Versions   1 held all text in the header, 2 has columns of text, 3 holds repeated lists once: docs/privacy/formats.md.
"""

import errno
import hashlib
import json
import os
import re
import stat
import zipfile
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from hushrank.archive.atomic import beside, check_replaceable, replace_file
from hushrank.archive.columns import Column, from_arrays, from_npy, to_arrays, to_npy
from hushrank.exceptions import ModelFileError

FORMAT, VERSION = "hushrank model", 3
MAX_HEADER, MAX_FIRST_HEADER = 2**18, 2**26  # bytes; the first version held the ids of a catalogue in it
_MAX_DIRECTORY, _MAX_BRACKETS = 2**16, 2**12
_HEADER, _CHECKSUM = "header.json", "header.sha256"
_KEYS = {"format", "version", "arrays", "content"}
_STRING_OR_BRACKET = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[\[{]', re.DOTALL)
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time a zip can hold
_FOREIGN = "is not a hushrank model, or it is damaged"


class _Refused(Exception):
    """Why a file is none; read after its name."""


def write_archive(
    path: str | os.PathLike[str], content: Mapping[str, Any], arrays: Mapping[str, np.ndarray | Sequence[str]]
) -> None:
    """Write JSON-safe `content`, `arrays` and columns of text: a crash leaves the old file or the new, never a part.

    Raises
    ------
    ModelFileError
        If the folder is missing or not writable, the path is that of something else than an ordinary file, or what
        was given does not fit the format.
    """
    try:
        parts = dict(part for name, column in arrays.items() for part in to_arrays(name, column))
        members = {f"{name}.npy": to_npy(array) for name, array in parts.items()}
        checksums = {name: _digest(data) for name, data in members.items()}
        header = _to_json({"format": FORMAT, "version": VERSION, "arrays": checksums, "content": dict(content)})
    except (TypeError, ValueError) as error:
        raise ModelFileError(f"cannot write {path}: {error}.") from error
    if len(header) > MAX_HEADER:
        raise ModelFileError(f"cannot write {path}: its header has {len(header)} bytes, more than {MAX_HEADER}.")
    members |= {_HEADER: header, _CHECKSUM: _digest(header).encode()}
    check_writable(path)

    def fill(file: BinaryIO) -> None:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            for name, data in members.items():
                archive.writestr(zipfile.ZipInfo(name, _EPOCH), data)

    try:
        replace_file(Path(path), fill)
    except OSError as error:
        raise ModelFileError(f"cannot write {path}: {error.strerror or error}.") from error


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise ModelFileError unless a file can be made in the folder of `path`, and `path` is new or an ordinary file."""
    target = Path(path)
    trial = beside(target)
    try:
        check_replaceable(target)
        trial.touch(exist_ok=False)
        trial.unlink()
    except (OSError, ValueError) as error:
        raise ModelFileError(f"cannot write {target}: {getattr(error, 'strerror', None) or error}.") from error


def read_archive(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Column]]:
    """Content and columns of a file that `write_archive` made; ModelFileError for any other or a damaged one."""
    target = Path(path)
    try:
        if not stat.S_ISREG(os.stat(target).st_mode):  # before it is opened: a pipe would wait for a writer
            raise OSError(0, "it is not an ordinary file")
        with target.open("rb") as file:
            return _read(file)
    except _Refused as refusal:
        raise ModelFileError(f"{target} {refusal}.") from None
    except Exception as error:  # whatever a stranger's bytes make zipfile, zlib, struct or json raise
        if isinstance(error, OSError) and error.errno != errno.EINVAL:  # that is a place before the start of the file
            raise ModelFileError(f"cannot read {target}: {error.strerror or error}.") from error
        raise ModelFileError(f"{target} {_FOREIGN}.") from error


def _read(file: BinaryIO) -> tuple[dict[str, Any], dict[str, Column]]:
    size = os.fstat(file.fileno()).st_size
    _check_directory(file, size)
    with zipfile.ZipFile(file) as archive:
        members = _list_members(archive, size)
        header, checksum = archive.read(members.pop(_HEADER)), archive.read(members.pop(_CHECKSUM))
        if _digest(header).encode() != checksum:
            raise _Refused("is damaged: its header does not have the checksum it was written with")
        description = _parse_header(header)
        content, checksums = description["content"], description["arrays"]
        if members.keys() != checksums.keys() or not all(name.endswith(".npy") for name in members):
            raise _Refused("is damaged: its arrays are not those of its header")
        arrays = {name.removesuffix(".npy"): _read_array(archive, members[name], checksums[name]) for name in members}
    try:
        return content, from_arrays(arrays)
    except ValueError as error:
        raise _Refused(f"is damaged: {error}") from error


def _check_directory(file: BinaryIO, size: int) -> None:
    """Refuse a zip whose list of members is long or not where we write it, before zipfile makes objects of it."""
    file.seek(max(size - 98, 0))
    tail = file.read(98)  # 56 and 20 bytes of zip64, where the file is that large, and 22 of every zip
    end, locator, large = tail[-22:], tail[-42:-22], tail[:-42]
    if len(end) < 22 or end[:4] != b"PK\5\6" or end[-2:] != b"\0\0":
        raise _Refused(_FOREIGN)
    length = int.from_bytes(end[12:16], "little")
    if locator[:4] == b"PK\6\7":
        if large[:4] != b"PK\6\6" or int.from_bytes(locator[8:16], "little") != size - 98:
            raise _Refused(_FOREIGN)
        length = max(length, int.from_bytes(large[40:48], "little"))
    if length > _MAX_DIRECTORY:
        raise _Refused(_FOREIGN)


def _list_members(archive: zipfile.ZipFile, size: int) -> dict[str, zipfile.ZipInfo]:
    """Members by name; stored as they are, all different, and together no longer than the file."""
    listed = archive.infolist()
    members = {member.filename: member for member in listed}
    if not {_HEADER, _CHECKSUM} <= members.keys():
        raise _Refused("is not a hushrank model")
    if len(members) < len(listed):
        raise _Refused("is damaged: it has two members of one name")
    if any(one.compress_type != zipfile.ZIP_STORED or one.compress_size != one.file_size for one in listed):
        raise _Refused("is damaged: it has compressed members, which are never written")
    if any(one.flag_bits for one in listed):
        raise _Refused("is damaged: it has encrypted or otherwise marked members, which are never written")
    if sum(one.file_size for one in listed) > size or members[_CHECKSUM].file_size != 64:
        raise _Refused("is damaged: its members are not of the size they claim")
    if members[_HEADER].file_size > MAX_FIRST_HEADER:
        raise _Refused(f"is damaged: its header has more than {MAX_FIRST_HEADER} bytes")
    return members


def _parse_header(header: bytes) -> dict[str, Any]:
    """The header, if it is one of ours: of bounded size and nesting, of a known version, in the one spelling."""
    is_first = header.endswith(b'"version": 1}')  # keys are sorted
    if len(header) > (MAX_FIRST_HEADER if is_first else MAX_HEADER):
        raise _Refused(f"is damaged: its header has more than {MAX_HEADER} bytes")
    if _has_many_brackets(header):
        raise _Refused("is damaged: its header has too many lists")
    try:
        description = json.loads(header)
    except ValueError:
        raise _Refused("is not a hushrank model") from None
    if not isinstance(description, dict) or description.get("format") != FORMAT:
        raise _Refused("is not a hushrank model")
    version = description.get("version")
    if type(version) is not int or version < 1:
        raise _Refused("is not a hushrank model")
    if version > VERSION:
        raise _Refused(f"was made by a newer version of hushrank: format {version}; this one reads up to {VERSION}")
    if description.keys() != _KEYS or _to_json(description) != header:
        raise _Refused("is damaged: its header is not as it was written")
    if not all(isinstance(description[name], dict) for name in ("content", "arrays")):
        raise _Refused("is damaged: it has no content")
    return description


def _has_many_brackets(header: bytes) -> bool:
    """Whether JSON has more lists and objects than ours: empty ones take twenty times their text in memory."""
    if header.count(b"[") + header.count(b"{") <= _MAX_BRACKETS:
        return False
    outside = (match for match in _STRING_OR_BRACKET.finditer(header) if header[match.start()] != ord('"'))
    return next(islice(outside, _MAX_BRACKETS, None), None) is not None


def _read_array(archive: zipfile.ZipFile, member: zipfile.ZipInfo, checksum: Any) -> np.ndarray:
    data = archive.read(member)
    if _digest(data) != checksum:
        raise _Refused("is damaged: its arrays do not have the checksums they were written with")
    try:
        return from_npy(data)
    except ValueError as error:
        raise _Refused(f"is damaged: {error}") from error


def _to_json(value: Any) -> bytes:
    """The one spelling of a header."""
    return json.dumps(value, sort_keys=True, allow_nan=False).encode()


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
