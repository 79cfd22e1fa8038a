"""Files that lie elsewhere, at addresses such as s3://bucket/folder, read through the optional package fsspec.

What fsspec knows of keys and passwords stays with it: an address is shown without them.
"""

import io
import re
from dataclasses import dataclass
from importlib import import_module
from os import PathLike, fspath
from pathlib import Path, PurePosixPath
from typing import Any

from hushrank.exceptions import InvalidParameter

_LOCAL = "file://"
_BUFFER_BYTES = 2**16
# Who asks, and what lies behind a question mark, which may be a key.
_SECRETS = re.compile(r"(?<=://)(?:[^/]*:(?!\d*(?:/|$)).*@|[^/]*@)|\?.*")


@dataclass(frozen=True, slots=True, repr=False)
class RemotePath:
    """A file or folder at an address, with as much of `pathlib.Path` as readers use; it is pickled by its address.

    Attributes
    ----------
    address : str
        As it was given, with whatever secrets are in it.
    below : tuple of str
        The parts of its name below that address.
    """

    address: str
    below: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The last part of the address."""
        own = next(part for part in self.address.split("::") if "://" in part)  # before what it is packed in
        return self.below[-1] if self.below else hide_secrets(own).rstrip("/").rpartition("/")[2]

    @property
    def suffix(self) -> str:
        """The ending of the name, with its dot."""
        return PurePosixPath(self.name).suffix

    def is_dir(self) -> bool:
        """Whether it is a folder."""
        return self._kind() == "directory"

    def is_file(self) -> bool:
        """Whether it is a file."""
        return self._kind() == "file"

    def exists(self) -> bool:
        """Whether there is anything."""
        return self._kind() is not None

    def files(self) -> list["RemotePath"]:
        """All files at any depth below it."""
        storage, place = self.storage()
        storage.invalidate_cache()  # a folder may have other files by now
        start = len(place.rstrip("/")) + 1
        return [RemotePath(self.address, (*self.below, *one[start:].split("/"))) for one in storage.find(place)]

    def open(self, mode: str = "rb", **options: Any) -> io.BufferedReader:
        """The bytes of the file; `options` are those of fsspec."""
        storage, place = self.storage()
        file = storage.open(place, mode, **options)
        if isinstance(file, io.BytesIO):  # of storage in memory, which hands the same file to all its readers
            file = io.BytesIO(file.getvalue())
        return io.BufferedReader(file, _BUFFER_BYTES)

    def storage(self) -> tuple[Any, str]:
        """The file system of fsspec, which keeps one for each kind of storage, and the place in it."""
        storage, place = import_module("fsspec.core").url_to_fs(self.address)
        return storage, "/".join([place.rstrip("/") if self.below else place, *self.below])

    def _kind(self) -> str | None:
        storage, place = self.storage()
        try:
            return str(storage.info(place)["type"])
        except (FileNotFoundError, NotADirectoryError):
            return None

    def __str__(self) -> str:
        shown = hide_secrets(self.address)
        return "/".join([shown.rstrip("/"), *self.below]) if self.below else shown

    def __repr__(self) -> str:
        return f"RemotePath({str(self)!r})"


Place = Path | RemotePath
Given = str | PathLike[str] | RemotePath  # what a reader may be given


def is_address(data: object) -> bool:
    """Whether something is the address of other storage and no path."""
    return isinstance(data, RemotePath) or (isinstance(data, str) and "://" in data and not data.startswith(_LOCAL))


def local_path(data: str | PathLike[str]) -> Path | None:
    """The path of a file on this machine, None for what lies elsewhere.

    Examples
    --------
    >>> [str(local_path(data)) for data in ("x.csv", "file:///data/x.csv", "s3://data/x.csv")]
    ['x.csv', '/data/x.csv', 'None']
    """
    return None if is_address(data) else Path(fspath(data).removeprefix(_LOCAL))


def to_path(data: Given, owner: str, name: str = "X") -> Place:
    """A path, or where an address leads; refused if nothing that is installed can read from there."""
    if isinstance(data, RemotePath):
        return data
    path = local_path(data)
    if path is not None:
        return path
    remote = RemotePath(fspath(data))
    try:
        import_module("fsspec")
    except ImportError:
        requirement = "a path; addresses need the package fsspec (pip install 'hushrank[dask]')"
        raise InvalidParameter(owner, name, requirement, str(remote)) from None
    try:
        remote.storage()
    except ImportError as error:  # fsspec says which package is missing
        raise InvalidParameter(owner, name, f"an address that can be read here ({error})", str(remote)) from None
    except Exception as error:
        requirement = f"an address of storage that fsspec knows and reaches ({type(error).__name__})"
        raise InvalidParameter(owner, name, requirement, str(remote)) from None
    return remote


def settled(path: Place) -> Place:
    """The same file from wherever it is asked for: whoever reads it may be another process, in another folder."""
    return path.absolute() if isinstance(path, Path) else path


def check_local(path: Place, kind: str, owner: str, name: str = "X") -> Path:
    """A path as it is; the address of a file of a kind that is read on this machine only is refused."""
    if isinstance(path, Path):
        return path
    requirement = f"the path of an {kind} file on this machine, or the address of Parquet or CSV files"
    raise InvalidParameter(owner, name, requirement, str(path))


def hide_secrets(address: str) -> str:
    """An address without users, passwords and what follows a question mark; a path as it is.

    Examples
    --------
    >>> hide_secrets("ftp://ann:secret@host/x.csv"), hide_secrets("https://host/x.csv?key=secret"), hide_secrets("a@b?")
    ('ftp://host/x.csv', 'https://host/x.csv', 'a@b?')
    """
    return "::".join(_SECRETS.sub("", part) for part in address.split("::")) if "://" in address else address
