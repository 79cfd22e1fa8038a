"""One run at a time on one file: two that go on with the same checkpoint would not know of each other's releases."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hushrank.archive.atomic import ONLY_OWNER
from hushrank.exceptions import CheckpointError

try:
    import fcntl
except ImportError:  # pragma: no cover  # not on Windows
    fcntl = None  # type: ignore[assignment]


def lock_beside(path: Path) -> Path:
    """The empty file whose lock stands for `path`, which is itself replaced by every write. It stays."""
    return path.parent / f".{path.name}.lock"


@contextmanager
def sole_run(path: Path | None) -> Iterator[None]:
    """Hold the lock of a file, or raise CheckpointError if another process has it; the end of a process frees it."""
    if path is None or fcntl is None:
        yield
        return
    try:
        descriptor = os.open(lock_beside(path), os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), ONLY_OWNER)
    except OSError as error:
        raise CheckpointError(f"cannot lock {path}: {error.strerror or error}.") from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise CheckpointError(f"{path} is in use by another run: wait for its end.") from error
        yield
    finally:
        os.close(descriptor)
