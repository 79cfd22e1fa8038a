"""Transactions on a ledger, whatever database holds it: all or nothing, one after another, on disk when they end.

Every call opens a connection of its own and closes it, so nothing is shared between threads or over a fork.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from hushrank.exceptions import LedgerError
from hushrank.privacy.ledger import schema

Result = TypeVar("Result")

PATIENCE = 60
"""Seconds to wait for other writers before a ledger is called busy."""


class OutcomeUnknown(LedgerError):
    """A transaction failed while it was being committed: it may be on disk or not."""


class Store(ABC):
    """A database that holds a ledger.

    Parameters
    ----------
    address : str
        Path or URL to open the same ledger again; it may hold a password.
    shown : str
        The address for messages, without a password.
    """

    def __init__(self, address: str, shown: str) -> None:
        self.address, self.shown = address, shown
        self._closed = False

    def read(self, work: Callable[[Connection], Result]) -> Result:
        """The result of `work` on one consistent state of an existing ledger."""
        with self._connect(create=False) as connection:
            self._begin_read(connection)
            self._check_version(connection)
            return work(connection)

    def write(self, work: Callable[[Connection], Result], *, create: bool = False) -> Result:
        """The result of `work` in one serializable transaction, durable when this returns.

        Parameters
        ----------
        work : callable
            May run several times, each time in a fresh transaction; what it raises undoes all its changes.
        create : bool
            Whether to make the tables, and the file of SQLite, if there are none.
        """
        deadline = time.monotonic() + PATIENCE
        pause = 0.001
        while True:
            try:
                return self._write_once(work, create)
            except _Conflict:
                if time.monotonic() > deadline:
                    raise LedgerError(f"ledger {self.shown} is busy: gave up after {PATIENCE} seconds") from None
                time.sleep(pause)
                pause = min(2 * pause, 0.1)

    def close(self) -> None:
        """Refuse everything from now on."""
        self._closed = True

    def _write_once(self, work: Callable[[Connection], Result], create: bool) -> Result:
        with self._turn(create), self._connect(create) as connection:
            self._begin_write(connection)
            if create and not schema.has_ledger(connection):
                self._check_vacant(connection)
                schema.create_tables(connection)
            self._check_version(connection)
            result = work(connection)
            try:
                connection.commit()
            except DBAPIError as error:
                if self._was_refused(error):
                    raise  # certainly not committed
                lost = f"ledger {self.shown} failed during a commit ({_first_line(error)})"
                raise OutcomeUnknown(f"{lost}; the outcome is unknown and budget may have been spent") from error
            return result

    @contextmanager
    def _connect(self, create: bool) -> Iterator[Connection]:
        """A fresh connection; leaving it rolls back what was not committed, and every error has one clear line."""
        if self._closed:
            raise LedgerError(f"ledger {self.shown} is closed")
        try:
            with self._open_connection(create) as connection:
                yield connection
        except DBAPIError as error:
            if self._is_conflict(error):
                raise _Conflict from error
            raise LedgerError(f"ledger {self.shown} {self._explain(error) or _first_line(error)}") from error

    def _open_connection(self, create: bool) -> Connection:
        try:
            return self._engine(create).connect()
        except DBAPIError:
            raise
        except (SQLAlchemyError, UnicodeError, TypeError, ValueError) as error:  # an option of the URL, or a path
            reason = str(error).strip().splitlines() or [type(error).__name__]
            raise LedgerError(f"ledger {self.shown} cannot be opened: {reason[0]}") from error

    def _turn(self, create: bool) -> AbstractContextManager[object]:
        """Wait for one's turn to write, where the database's own locks are not enough."""
        return nullcontext()

    def _check_version(self, connection: Connection) -> None:
        version = schema.schema_version(connection)
        if version != schema.SCHEMA_VERSION:
            is_newer = type(version) is int and version > schema.SCHEMA_VERSION
            origin = "was made by a newer version of hushrank and " if is_newer else ""
            needed = f"this version of hushrank reads format {schema.SCHEMA_VERSION}"
            raise LedgerError(f"ledger {self.shown} {origin}has format {version}; {needed}")

    @abstractmethod
    def _engine(self, create: bool) -> Engine:
        """The engine; with `create` it may make the database file."""

    @abstractmethod
    def _begin_read(self, connection: Connection) -> None:
        """Start a transaction that sees one state."""

    @abstractmethod
    def _begin_write(self, connection: Connection) -> None:
        """Start a serializable transaction that sees everything committed by earlier writers."""

    @abstractmethod
    def _check_vacant(self, connection: Connection) -> None:
        """Raise LedgerError if a new ledger must not be put beside what the database holds."""

    @abstractmethod
    def _is_conflict(self, error: DBAPIError) -> bool:
        """Whether the transaction was undone because of another one and may be tried again."""

    @abstractmethod
    def _was_refused(self, error: DBAPIError) -> bool:
        """Whether an error of COMMIT proves that nothing was committed."""

    @abstractmethod
    def _explain(self, error: DBAPIError) -> str | None:
        """What is wrong, read after the name of the ledger; None where the database says it best."""


class _Conflict(Exception):
    """A transaction to be tried again."""


def _first_line(error: DBAPIError) -> str:
    lines = str(error.orig).strip().splitlines()
    return lines[0] if lines else type(error.orig).__name__
