"""Model files: one zip of arrays and a JSON header, written whole or not at all, and never unpickled.

Layout     header.json (format, version, checksums of the arrays, content), header.sha256, and one .npy per array.
           Times in the zip are constant, so the same model gives the same bytes.
Refused    files that are not such an archive, are damaged, or have a newer version.
"""

import hashlib
import io
import json
import os
import uuid
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from hushrank.exceptions import ModelFileError

FORMAT, VERSION = "hushrank model", 1
_HEADER, _CHECKSUM = "header.json", "header.sha256"
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time a zip can hold


def write_archive(path: str | os.PathLike[str], content: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Write JSON-safe `content` and `arrays` to `path`: a crash leaves the old file or the new one, never a part.

    Raises
    ------
    ModelFileError
        If the folder is missing or not writable, or the path is that of something else than an ordinary file.
    """
    members = {f"{name}.npy": _to_npy(array) for name, array in arrays.items()}
    checksums = {name: _digest(data) for name, data in members.items()}
    header = {"format": FORMAT, "version": VERSION, "arrays": checksums, "content": dict(content)}
    text = json.dumps(header, sort_keys=True, allow_nan=False).encode()
    members |= {_HEADER: text, _CHECKSUM: _digest(text).encode()}
    check_writable(path)
    try:
        _write_atomically(Path(path), members)
    except OSError as error:
        raise ModelFileError(f"cannot write {path}: {error.strerror or error}.") from error


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise ModelFileError unless a file can be made in the folder of `path`, and `path` is new or an ordinary file."""
    target, trial = Path(path), _beside(path)
    if target.exists() and not target.is_file():
        raise ModelFileError(f"cannot write {target}: it is not an ordinary file.")
    try:
        trial.touch(exist_ok=False)
        trial.unlink()
    except (OSError, ValueError) as error:
        raise ModelFileError(f"cannot write {target}: {getattr(error, 'strerror', None) or error}.") from error


def read_archive(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Content and arrays of a file that `write_archive` made; ModelFileError for any other or a damaged one."""
    target = Path(path)
    try:
        with zipfile.ZipFile(target) as archive:
            names = archive.namelist()
            members = {name: archive.read(name) for name in names}
    except OSError as error:
        raise ModelFileError(f"cannot read {target}: {error.strerror or error}.") from error
    except Exception as error:  # a damaged zip raises errors of zipfile, zlib, struct and more
        raise ModelFileError(f"{target} is not a hushrank model, or it is damaged.") from error
    return _parse(target, members, duplicated=len(names) != len(members))


def _parse(path: Path, members: dict[str, bytes], *, duplicated: bool) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    def refuse(reason: str) -> NoReturn:
        raise ModelFileError(f"{path} {reason}.")

    header = members.pop(_HEADER, None)
    checksum = members.pop(_CHECKSUM, None)
    if header is None or checksum is None:
        refuse("is not a hushrank model")
    if duplicated or _digest(header) != checksum.decode("ascii", "replace"):
        refuse("is damaged: its header does not have the checksum it was written with")
    try:
        description = json.loads(header)
    except ValueError:
        refuse("is not a hushrank model")
    if not isinstance(description, dict) or description.get("format") != FORMAT:
        refuse("is not a hushrank model")
    if description.get("version") != VERSION:
        refuse(f"has format version {description.get('version')}; this hushrank reads version {VERSION}")
    if {name: _digest(data) for name, data in members.items()} != description.get("arrays"):
        refuse("is damaged: its arrays do not have the checksums they were written with")
    try:
        arrays = {name.removesuffix(".npy"): _from_npy(data) for name, data in members.items()}
    except (ValueError, EOFError):
        refuse("is damaged: an array cannot be read")
    if not isinstance(description.get("content"), dict):
        refuse("is damaged: it has no content")
    return description["content"], arrays


def _write_atomically(target: Path, members: Mapping[str, bytes]) -> None:
    temporary = _beside(target)
    try:
        with temporary.open("xb") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
                for name, data in members.items():
                    archive.writestr(zipfile.ZipInfo(name, _EPOCH), data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def _beside(path: str | os.PathLike[str]) -> Path:
    """A new name in the same folder."""
    target = Path(path)
    return target.parent / f".{target.name}.{uuid.uuid4().hex}"


def _sync_folder(folder: Path) -> None:
    """Make the new name durable where folders can be opened (not on Windows)."""
    if hasattr(os, "O_DIRECTORY"):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _to_npy(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.ascontiguousarray(array), allow_pickle=False)
    return buffer.getvalue()


def _from_npy(data: bytes) -> np.ndarray:
    return np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
