"""Charge a release before its noise is drawn; an error after that says what was spent."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol, runtime_checkable

from hushrank.exceptions import BudgetExceeded, InvalidParameter, LedgerError
from hushrank.privacy.events import Event, together
from hushrank.privacy.figures import at_least
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


class OtherTerms(InvalidParameter):
    """A data set of a ledger was created for another relation or unit than a release has.

    `in_words` says the same without the words of Python: to whoever reads a check, or types a command.
    """

    def __init__(self, owner: str, name: str, dataset: str, fixed: str, asked: str) -> None:
        other = f"one for {asked!r} takes `hushrank ledger create ... --{name} {asked}`"
        super().__init__(owner, name, f"{fixed!r}, for which data set {dataset!r} was created ({other})", asked)
        self.dataset, self.fixed = dataset, fixed

    @property
    def in_words(self) -> str:
        """What differs, and what to do about it."""
        create = f"create another data set, under another name, with --{self.name} {self.got}"
        if self.name == "unit":
            nouns = {unit.value: f"{unit.value}s" for unit in (Unit.ROW, Unit.USER, Unit.RECORD, Unit.LABEL)}
            fixed, asked = (nouns.get(unit, f"changes of the kind {unit!r}") for unit in (self.fixed, self.got))
            return f"data set {self.dataset!r} counts {fixed}, and this release needs {asked}: {create}"
        differ = f"data set {self.dataset!r} has the relation {self.fixed}, and this release has {self.got}"
        return f"{differ}: take --{self.name} {self.fixed}, or {create}"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.owner, self.name, self.dataset, self.fixed, self.got)


def check_same_terms(budget: Budget, dataset: str, owner: str, **asked: Any) -> None:
    """Raise OtherTerms unless a relation and a unit, where they are stated, are those of a data set."""
    for name, value in asked.items():
        fixed = getattr(budget, name)
        if value is not None and str(value) != str(fixed):
            raise OtherTerms(owner, name, dataset, str(fixed), str(value))


def findings_of(account: Any, event: Event, budget: Budget, unit: Unit) -> Iterator[tuple[str, str, str]]:
    """What a check says about a charge, as level, name and text: why it would be refused, or that it would be dear.

    Nothing where neither is so, or the account cannot tell.
    """
    price = getattr(account, "say_dear", None)
    try:
        check_payable(account, (event,), budget, unit)
    except OtherTerms as refusal:
        yield "problem", "budget", f"{refusal.in_words}."
        return
    except BudgetExceeded as refusal:
        yield "problem", "budget", str(refusal)
    except InvalidParameter as refusal:
        yield "problem", "budget", str(refusal)
        return
    dear = None if price is None else price(event)
    if dear is not None:
        yield "warning", "price", f"{dear}."


def check_payable(account: Any, charges: tuple[Event, ...], budget: Budget, unit: Unit) -> None:
    """Raise what one of these charges, made in turn, would raise now, with words about all; nothing is charged.

    Nothing where the account cannot tell; and what others charge meanwhile nobody knows.
    """
    check, event = getattr(account, "check", None), together(charges)
    if check is None:
        return
    try:
        check(event, neighbors=budget.neighbors, unit=unit)
    except BudgetExceeded as refusal:
        if len(charges) == 1 or not _pays_in_turn(account, charges):
            raise _in_full(refusal, account, event, budget) from None


def _pays_in_turn(account: Any, charges: tuple[Event, ...]) -> bool:
    """Whether charges can be paid that are too much as one: some out of a reserved part, the others not."""
    terms = getattr(account, "terms", None)  # an account of somebody else's need not have parts
    if terms is None:
        return False
    spent = account.last().total
    try:
        for event in charges:
            spent = terms.total(spent, terms.price(event, spent))
    except BudgetExceeded:
        return False
    return True


def _in_full(refusal: BudgetExceeded, account: Any, event: Event, budget: Budget) -> BudgetExceeded:
    """The refusal, which also says what was asked for as it was typed, and what would be accepted."""
    tell = getattr(account, "say_refusal", None)  # an account of somebody else's need not have words
    try:
        words = refusal.words if tell is None else tell(event, budget)
    except LedgerError:  # out of reach by now; the refusal stands
        return refusal
    return BudgetExceeded(refusal.asked, refusal.left, refusal.currency, words)


def note_of(owner: str, budget: Budget) -> str:
    """What a ledger keeps beside a charge: who released, how large a unit is, and what is taken for granted.

    Of an account whose unit is a whole row, a release that hides changes of a row hides no more than these.

    Examples
    --------
    >>> note_of("TurnstileSketch", Budget(1.0, 1e-6, unit="row", bound=2.0))
    'TurnstileSketch, bound 2, provided that what is added to a row, clipped and rounded, never has a norm above 2'
    """
    taken, within = [budget.premise] * bool(budget.premise), ""
    if budget.bound is not None:
        bound = at_least(budget.bound)
        within = f", bound {bound}"
        # Over every stretch of time: docs/privacy/turnstile.md, Neighbors.
        rows = f"what is added to a row, clipped and rounded, never has a norm above {bound}"
        taken += [rows] * (budget.unit is Unit.ROW)
    return f"{owner}{within}, provided that {'; '.join(taken)}" if taken else f"{owner}{within}"


@contextmanager
def charged(account: Any, event: Event, budget: Budget, unit: Unit, owner: str) -> Iterator[None]:
    """Charge `account`, then let the body draw noise. Without an account nothing is charged, and nothing is said.

    Whatever ends the body, also an interrupt, carries a note of what was spent: a caller who tries again pays again.
    """
    if account is None:
        yield
        return
    # The key makes a charge that is retried over a bad connection count once; every release has its own.
    terms = {"neighbors": budget.neighbors, "unit": unit, "note": note_of(owner, budget)}
    try:
        entry = account.charge(event, key=uuid.uuid4().hex, **terms)
    except BudgetExceeded as refusal:
        raise _in_full(refusal, account, event, budget) from None
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
