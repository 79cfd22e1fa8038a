"""Files that are there whole or not at all: written under another name beside their place, synced, then put there.

Leftovers  a writer that fails removes its own unfinished file. One that is killed leaves `.name.hex` behind; nobody
           else removes it, because it might be that of a writer who is still at work.
"""

import os
import stat
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

_ORDINARY = "it is not an ordinary file"
_EVERYBODY = 0o666  # what the umask leaves of it, as of any new file
ONLY_OWNER = 0o600


def replace_file(target: Path, fill: Callable[[BinaryIO], None], mode: int = _EVERYBODY) -> None:
    """Let `fill` write a file and put it at `target`; a crash leaves the old file or the new one, never a part.

    The file has this mode, less the umask, before its first byte is written. If `fill` raises, nothing has changed.
    """
    with _written_beside(target, fill, mode) as temporary:
        temporary.replace(target)


def create_file(target: Path, data: bytes, mode: int = _EVERYBODY) -> None:
    """Put a new file at `target`; FileExistsError if there is one, and of several writers at once one succeeds."""

    def fill(file: BinaryIO) -> None:
        file.write(data)

    with _written_beside(target, fill, mode) as temporary:
        os.link(temporary, target)  # unlike a rename it replaces nothing
        temporary.unlink()


@contextmanager
def _written_beside(target: Path, fill: Callable[[BinaryIO], None], mode: int) -> Iterator[Path]:
    """A file that is complete on disk, to be moved to `target` by the body; what is left of it goes if that fails."""
    temporary = beside(target)
    try:
        with open(temporary, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            fill(file)
            file.flush()
            os.fsync(file.fileno())
        yield temporary
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def beside(target: Path) -> Path:
    """A new name in the same folder."""
    return target.parent / f".{target.name}.{uuid.uuid4().hex}"


def check_replaceable(target: Path) -> None:
    """Raise OSError if there is something else than an ordinary file."""
    if target.exists() and not target.is_file():
        raise OSError(0, _ORDINARY)


def open_ordinary(path: Path) -> BufferedReader:
    """Open an ordinary file for reading; OSError for anything else, without waiting for the writer of a pipe."""
    file = open(path, "rb", opener=lambda name, flags: os.open(name, flags | getattr(os, "O_NONBLOCK", 0)))
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):  # of what was opened: a name may change its meaning
        file.close()
        raise OSError(0, _ORDINARY)
    return file


def _sync_folder(folder: Path) -> None:
    """Make the new name durable where folders can be opened (not on Windows)."""
    if hasattr(os, "O_DIRECTORY"):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
