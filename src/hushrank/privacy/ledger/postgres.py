"""A ledger in a PostgreSQL database.

Order      one session-level advisory lock for the ledger, taken before the SERIALIZABLE transaction starts: its
           snapshot then holds every earlier charge. Were the lock taken inside, the snapshot would be older than the
           lock and every second charge would fail and start again. What still collides is retried.
"""

from typing import Any

from sqlalchemy import URL, Connection, Engine, NullPool, create_engine
from sqlalchemy.exc import ArgumentError, DBAPIError

from hushrank.exceptions import LedgerError
from hushrank.privacy.ledger.store import PATIENCE, Store

CONNECT_SECONDS = 10
ADVISORY_KEY = int.from_bytes(b"hushrank")
"""Names the lock; whoever else used this number would wait for ledgers and they for him, no more."""

# Serialization failure, deadlock, and a number or key that another transaction took first.
_CONFLICTS = {"40001", "40P01", "23505"}

# By SQLSTATE; read after the name of the ledger.
_EXPLANATIONS = {
    "42P01": "is not a hushrank ledger: its tables are missing",
    "42703": "is not a hushrank ledger: its tables are different",
    "55P03": f"is busy: gave up after {PATIENCE} seconds",
}


class PostgresStore(Store):
    """The database at `url`, through psycopg."""

    def __init__(self, url: URL) -> None:
        url = url.set(drivername="postgresql+psycopg")
        plain = url.set(drivername="postgresql", query={})  # a query may hold a password, too
        super().__init__(url.render_as_string(hide_password=False), plain.render_as_string(hide_password=True))
        defaults = {"connect_timeout": CONNECT_SECONDS, "keepalives_idle": PATIENCE // 2}
        arguments: dict[str, Any] = {name: value for name, value in defaults.items() if name not in url.query}
        arguments["client_encoding"] = "utf8"
        try:
            # No pool: a connection cannot be carried over a fork, and an idle one may have died unnoticed.
            self._made = create_engine(url, poolclass=NullPool, connect_args=arguments)
        except ModuleNotFoundError:
            raise LedgerError(f"ledger {self.shown} needs psycopg: pip install 'hushrank[postgres]'") from None
        except ArgumentError as error:
            raise LedgerError(f"ledger {self.shown} cannot be opened: {error}") from None

    def _engine(self, create: bool) -> Engine:
        return self._made

    def _begin_read(self, connection: Connection) -> None:
        connection.execution_options(isolation_level="REPEATABLE READ")

    def _begin_write(self, connection: Connection) -> None:
        connection.execution_options(isolation_level="AUTOCOMMIT")
        if connection.exec_driver_sql("SHOW fsync").scalar() != "on":
            raise LedgerError(f"ledger {self.shown} would not survive a crash: the server runs with fsync = off")
        # The second ends a client that was stopped, or whose host is gone, before the others give up.
        limits = f"SET lock_timeout = '{PATIENCE}s'; SET idle_in_transaction_session_timeout = '{PATIENCE // 2}s'"
        connection.exec_driver_sql(limits)
        # Freed when the connection ends, also by a crash.
        connection.exec_driver_sql("SELECT pg_advisory_lock(%s)", (ADVISORY_KEY,))
        connection.commit()
        connection.execution_options(isolation_level="SERIALIZABLE")
        connection.exec_driver_sql("SET LOCAL synchronous_commit = on")

    def _check_vacant(self, connection: Connection) -> None:
        pass  # the tables of a ledger have names of their own; a database may hold others

    def _is_conflict(self, error: DBAPIError) -> bool:
        return _state(error) in _CONFLICTS

    def _was_refused(self, error: DBAPIError) -> bool:
        return self._is_conflict(error)

    def _explain(self, error: DBAPIError) -> str | None:
        if _state(error) is None:
            reason = str(error.orig).strip().splitlines()
            return "cannot be reached" + (f": {reason[0]}" if reason else "")
        return _EXPLANATIONS.get(_state(error) or "")


def _state(error: DBAPIError) -> str | None:
    return getattr(error.orig, "sqlstate", None)
