"""Places for ledgers, and visitors of pages."""

from ledger_support import postgres_server, postgres_url, sqlite_path, where
from visit_support import browser, pages

__all__ = ["browser", "pages", "postgres_server", "postgres_url", "sqlite_path", "where"]
