"""Budgets on disk: charge before release, refuse overdraft, keep a history that shows tampering."""

from hushrank.privacy.ledger.book import Account, Ledger

__all__ = ["Account", "Ledger"]
