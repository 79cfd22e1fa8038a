"""Budgets on disk: charge before release, refuse overdraft, keep a history that shows tampering."""

from hushrank.privacy.ledger.account import Account
from hushrank.privacy.ledger.book import Ledger

__all__ = ["Account", "Ledger"]
