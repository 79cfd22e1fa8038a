"""From a path or URL to the store that holds the ledger; neither disk nor network is touched."""

import os
import re

from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

from hushrank.exceptions import InvalidParameter
from hushrank.privacy.ledger.postgres import PostgresStore
from hushrank.privacy.ledger.sqlite import SqliteStore
from hushrank.privacy.ledger.store import Store

_SQLITE = {"sqlite", "sqlite+pysqlite"}
_POSTGRES = {"postgresql", "postgres", "postgresql+psycopg"}
_LIKE_A_URL = re.compile(r"(sqlite|postgres)[a-z+]*:", re.IGNORECASE)
_REQUIREMENT = "a path, 'sqlite:///path' or 'postgresql://user@host/database'"


def open_store(where: str | os.PathLike[str]) -> Store:
    """The store at `where`, which need not exist yet."""
    address = os.fspath(where) if isinstance(where, os.PathLike) else where
    if not isinstance(address, str):
        raise InvalidParameter("Ledger", "where", _REQUIREMENT, where)
    if "://" not in address:
        if looks_like_url(address):  # a slash too few; what follows may hold a password
            raise InvalidParameter("Ledger", "where", _REQUIREMENT, f"{address.partition(':')[0]}:...")
        return SqliteStore(_check_path(address, address))
    # What the user typed may hold a password; only the scheme is repeated in errors.
    shown = f"{address.partition('://')[0]}://..."
    try:
        url = make_url(address)
    except (ArgumentError, ValueError):
        raise InvalidParameter("Ledger", "where", _REQUIREMENT, shown) from None
    has_server = (url.host, url.port, url.username, url.password) != (None,) * 4
    if url.drivername in _SQLITE and not url.query and not has_server:  # sqlite://a/b names a server called a
        return SqliteStore(_check_path(url.database, shown))
    if url.drivername in _POSTGRES:
        if "@" in (url.host or ""):
            raise InvalidParameter("Ledger", "where", "a URL with a percent-encoded password (%40 for @)", shown)
        return PostgresStore(url)
    raise InvalidParameter("Ledger", "where", _REQUIREMENT, shown)


def looks_like_url(address: str) -> bool:
    """Whether somebody meant a URL, with slashes or without."""
    return "://" in address or bool(_LIKE_A_URL.match(address))


def _check_path(path: str | None, shown: str) -> str:
    if not path or path == ":memory:" or "\0" in path:
        raise InvalidParameter("Ledger", "where", "a file on disk, because a budget must outlive the process", shown)
    return path
