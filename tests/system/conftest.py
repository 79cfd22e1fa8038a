"""Places for ledgers."""

from ledger_support import postgres_server, postgres_url, sqlite_path, where

__all__ = ["postgres_server", "postgres_url", "sqlite_path", "where"]
