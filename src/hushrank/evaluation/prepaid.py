"""Several releases charged at once, so that no budget is spent on the first of them when the second is refused."""

import uuid
from collections.abc import Iterable
from typing import Any

from hushrank.exceptions import BudgetExceeded
from hushrank.privacy.events import Event, together


class Prepaid:
    """An account that is charged with all of some events by its first charge, and then gives each of them once.

    Parameters
    ----------
    account : account of a ledger
    events : iterable of Event
        Everything that will be released.
    neighbors, unit : str
        What the releases are private for.

    Examples
    --------
    >>> import tempfile
    >>> from hushrank.privacy.events import Pure
    >>> from hushrank.privacy.ledger import Ledger
    >>> with tempfile.TemporaryDirectory() as folder, Ledger(f"{folder}/budget.db") as ledger:
    ...     account = ledger.create("ratings", epsilon=1, unit="user")
    ...     prepaid = Prepaid(account, [Pure(0.25), Pure(0.5)], "replace", "user")
    ...     _ = prepaid.charge(Pure(0.25))
    ...     account.left().epsilon
    0.25
    """

    def __init__(self, account: Any, events: Iterable[Event], neighbors: Any, unit: Any) -> None:
        self._account, self._waiting, self._entry, self._is_paid = account, list(events), None, False
        self._terms = {"neighbors": neighbors, "unit": unit}

    def charge(
        self, event: Event, key: str | None = None, neighbors: Any = None, unit: Any = None, note: str = ""
    ) -> Any:
        """Commit the cost of everything at the first call; an event that was not announced is refused."""
        if event not in self._waiting:
            raise BudgetExceeded(float("nan"), 0.0, "an event that was not announced")
        if not self._is_paid:
            note = "PrivateCompletion and PrivateEvaluation"
            self._entry = self._account.charge(together(self._waiting), key=uuid.uuid4().hex, note=note, **self._terms)
            self._is_paid = True
        self._waiting.remove(event)
        return self._entry

    def say_spent(self, entry: Any = None) -> str:
        """What everything cost, in words."""
        tell = getattr(self._account, "say_spent", None)
        return "model and evaluation together" if tell is None else str(tell(entry))
