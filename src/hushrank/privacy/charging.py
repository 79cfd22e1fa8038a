"""Charge a release before its noise is drawn; an error after that says what was spent."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol, runtime_checkable

from hushrank.exceptions import BudgetExceeded, InvalidParameter
from hushrank.privacy.events import Event
from hushrank.privacy.guarantee import Budget, Unit

SPENT = "budget was spent: "
"""How a note begins that an error carries after a charge."""


MAYBE_SPENT = "budget may have been spent: the history of the ledger shows whether the charge was committed"
"""What somebody is told who stopped in the middle of a charge."""


@runtime_checkable
class Account(Protocol):
    """What a release needs of a ledger; `hushrank.Ledger(path)["name"]` is one."""

    def charge(
        self, event: Event, key: str | None = None, neighbors: Any = None, unit: Any = None, note: str = ""
    ) -> Any:
        """Commit the cost of `event` durably, or raise."""


def refusal_of(account: Any, event: Event, budget: Budget, unit: Unit) -> str | None:
    """Why `account` would refuse the charge; None if it would not, or is an account that cannot tell."""
    check = getattr(account, "check", None)
    try:
        if check is not None:
            check(event, neighbors=budget.neighbors, unit=unit)
    except (BudgetExceeded, InvalidParameter) as refusal:
        return str(refusal)
    return None


@contextmanager
def charged(account: Any, event: Event, budget: Budget, unit: Unit, owner: str) -> Iterator[None]:
    """Charge `account`, then let the body draw noise. Without an account nothing is charged, and nothing is said.

    Whatever ends the body, also an interrupt, carries a note of what was spent: a caller who tries again pays again.
    """
    if account is None:
        yield
        return
    # The key makes a charge that is retried over a bad connection count once; every release has its own.
    note = f"{owner}, provided that {budget.premise}" if budget.premise else owner
    try:
        entry = account.charge(event, key=uuid.uuid4().hex, neighbors=budget.neighbors, unit=unit, note=note)
    except KeyboardInterrupt as stop:
        stop.add_note(MAYBE_SPENT)
        raise
    try:
        yield
    except BaseException as error:
        tell = getattr(account, "say_spent", None)  # an account of somebody else's need not have words
        if tell is not None:
            error.add_note(f"{SPENT}{tell(entry)}")
        raise
