"""A ledger in one SQLite file.

Journal    the default one, DELETE: a single file at rest, good on every file system that can lock and sync. A charge
           takes about as long with any journal; synchronous=EXTRA also syncs the directory, without which a
           commit could be undone by a loss of power.
Order      BEGIN IMMEDIATE takes the write lock before anything is read; a deferred one would read a total that is
           stale by the time it writes. SQLite's locks are those of POSIX, which a process loses when it closes any
           other handle of the file, as a copy in another thread does; a lock on the folder (flock) has no such gap.
"""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import ModuleType

from sqlalchemy import Connection, Engine, NullPool, create_engine, inspect
from sqlalchemy.exc import DBAPIError

from hushrank.exceptions import LedgerError
from hushrank.privacy.ledger.store import PATIENCE, Store

try:
    import fcntl as _fcntl

    fcntl: ModuleType | None = _fcntl
except ModuleNotFoundError:  # Windows, whose own file locks have no such gap
    fcntl = None

# By the name of SQLite's result code; read after the name of the ledger.
_EXPLANATIONS = {
    "SQLITE_NOTADB": "is not a hushrank ledger: the file is not a SQLite database",
    "SQLITE_ERROR": "is not a hushrank ledger: its tables are missing or different",
    "SQLITE_BUSY": f"is busy: gave up after {PATIENCE} seconds",
    "SQLITE_READONLY": "cannot be written",
    "SQLITE_CORRUPT": "is damaged: SQLite cannot read it",
}


class SqliteStore(Store):
    """The file at `path`, which need not exist."""

    def __init__(self, path: str) -> None:
        self._path = os.path.join(os.getcwd(), path)
        super().__init__(self._path, repr(path))
        self._engines = {create: _make_engine(self._path, create) for create in (False, True)}

    def _engine(self, create: bool) -> Engine:
        return self._engines[create]

    def _begin_read(self, connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN")

    @contextmanager
    def _turn(self, create: bool) -> Iterator[None]:
        folder = _open_folder(self._path)
        if fcntl is None or folder is None:
            yield
            return
        try:
            self._lock(folder)
            yield
        finally:
            fcntl.flock(folder, fcntl.LOCK_UN)  # by name: a forked child may still hold the handle
            os.close(folder)

    def _lock(self, folder: int) -> None:
        assert fcntl is not None
        deadline, pause = time.monotonic() + PATIENCE, 0.0005
        while True:
            try:
                fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise LedgerError(f"ledger {self.shown} {_EXPLANATIONS['SQLITE_BUSY']}") from None
                time.sleep(pause)
                pause = min(2 * pause, 0.01)
            except OSError:
                return  # a file system without such locks: those of SQLite remain

    def _begin_write(self, connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")  # one lock for the whole file

    def _check_vacant(self, connection: Connection) -> None:
        if inspect(connection).get_table_names():
            raise LedgerError(f"ledger {self.shown} is not a hushrank ledger: the file holds other tables")

    def _is_conflict(self, error: DBAPIError) -> bool:
        return False  # SQLite waits by itself, up to the timeout of the connection

    def _was_refused(self, error: DBAPIError) -> bool:
        return _code(error) == "SQLITE_BUSY"  # a reader held on too long

    def _explain(self, error: DBAPIError) -> str | None:
        code = _code(error)
        if code == "SQLITE_CANTOPEN":
            folder = os.path.dirname(os.path.realpath(self._path))
            if not os.path.isdir(folder):
                return f"cannot be opened or made: the folder {folder!r} does not exist"
            return "cannot be opened" if os.path.lexists(self._path) else "does not exist"
        return _EXPLANATIONS.get("_".join(code.split("_")[:2]))


def _open_folder(path: str) -> int | None:
    """Handle of the folder of a file; None where opening the file will say better what is wrong."""
    try:
        return os.open(os.path.dirname(os.path.realpath(path)), os.O_RDONLY)
    except (OSError, ValueError):
        return None


def _make_engine(path: str, create: bool) -> Engine:
    # No pool: a connection carried over a fork would corrupt locks. The URL names the dialect only.
    return create_engine("sqlite://", creator=partial(_open, path, create), poolclass=NullPool)


def _open(path: str, create: bool) -> sqlite3.Connection:
    if os.path.isfile(path) and os.stat(path).st_nlink > 1:
        # The journal of a crash is found under the name that was in use; under another one it would be missed.
        raise LedgerError(f"ledger {path!r} has more than one name (hard links)")
    address = f"{Path(path).as_uri()}?mode={'rwc' if create else 'rw'}"  # rw never makes a file
    # No isolation level: Python begins no transactions of its own.
    connection = sqlite3.connect(address, uri=True, timeout=PATIENCE, isolation_level=None)
    connection.execute("PRAGMA synchronous = EXTRA")
    connection.execute("PRAGMA fullfsync = ON")  # macOS: through the cache of the drive as well
    return connection


def _code(error: DBAPIError) -> str:
    return getattr(error.orig, "sqlite_errorname", "")
