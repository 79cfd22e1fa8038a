"""The history of one data set as a chain of hashes, and its verification.

Row        one line of the history, exactly the texts that are stored.
Hash       SHA-256 over the hash of the row before and canonical JSON of the row and of the terms of the data set;
           so the last row vouches for the caps as well, and a charge need not read the whole history.
Privacy    docs/privacy/ledger.md, section 5: what a chain shows and what it cannot.
"""

import hashlib
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from hushrank.exceptions import InvalidParameter, LedgerError
from hushrank.privacy.events import MOST_NESTED, Event, from_dict, nesting, to_dict
from hushrank.privacy.ledger.currency import Cost, Terms, canonical, read_fraction, write_fraction

CREATE, CHARGE = "create", "charge"
NO_HASH = "0" * 64
"""Stands before the first row."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the history as stored; that of kind "create" is number 0 and its event is the terms."""

    dataset: str
    number: int
    time: str
    kind: str
    event: str
    cost: str
    spent: str
    key: str | None
    note: str
    previous: str
    hash: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the history, read.

    `cost` and `spent`, the total after it, are exact and count in the currency of the account. The event of entry 0,
    which created the data set, is None. `time` is UTC in ISO 8601. `pure_cost` and `pure_spent` are the epsilons that a
    reserved part has paid, and None where nothing was reserved.
    """

    number: int
    time: str
    kind: str
    event: Event | None
    cost: Fraction
    spent: Fraction
    key: str | None
    note: str
    hash: str
    previous: str
    pure_cost: Fraction | None = None
    pure_spent: Fraction | None = None

    @property
    def paid(self) -> Cost:
        """The cost by the part that paid it."""
        return Cost(self.cost, self.pure_cost or Fraction(0))

    @property
    def total(self) -> Cost:
        """What was spent until then, by the part that paid it."""
        return Cost(self.spent, self.pure_spent or Fraction(0))

    def to_dict(self) -> dict[str, Any]:
        """A JSON-safe description; fractions are texts "numerator/denominator"."""
        values = {name: getattr(self, name) for name in self.__slots__}
        sums = {name: write_fraction(value) for name, value in values.items() if isinstance(value, Fraction)}
        known = {name: value for name, value in values.items() if value is not None or not name.startswith("pure_")}
        return {**known, **sums, "event": None if self.event is None else to_dict(self.event)}


def digest(row: Row, terms: Terms) -> str:
    """Hash of a row under the terms of its data set."""
    content = {name: getattr(row, name) for name in Row.__slots__ if name not in ("previous", "hash")}
    content["terms"] = terms.to_text()
    return hashlib.sha256(f"{row.previous}\n{canonical(content)}".encode()).hexdigest()


def seal(row: Row, terms: Terms) -> Row:
    """The row with its hash."""
    return replace(row, hash=digest(row, terms))


def first_row(dataset: str, time: str, terms: Terms) -> Row:
    """Entry 0: the creation of a data set."""
    nothing = write_cost(Cost(), terms)
    return seal(Row(dataset, 0, time, CREATE, terms.to_text(), nothing, nothing, None, "", NO_HASH), terms)


def write_event(event: Event) -> str:
    """The text of an event that is stored, hashed and compared."""
    if nesting(event) > MOST_NESTED:
        requirement = f"nested less deeply: {MOST_NESTED} levels at most"
        raise InvalidParameter("Account.charge", "event", requirement, type(event))
    return canonical(to_dict(event))


def read_row(row: Row, terms: Terms) -> Entry:
    """The entry in a row that agrees with its own hash and with the caps, or LedgerError."""
    try:
        _check(all(isinstance(value, str) for value in (row.time, row.note, row.hash)), "a field has a wrong type")
        _check(row.hash == digest(row, terms), "its contents do not match its hash")
        entry = _parse(row, terms)
        _check(0 <= entry.cost <= entry.spent <= terms.limit, "its total is not within the cap")
        _check(0 <= entry.paid.pure <= entry.total.pure <= terms.pure_limit, "its total is not within the pure part")
    except (TypeError, ValueError, RecursionError) as problem:
        # InvalidParameter is a ValueError: an event that is none any more. Texts can be nested without end.
        raise damage(row.dataset, row.number, str(problem)) from None
    return entry


def verify(dataset: str, terms: Terms, rows: Sequence[Row]) -> str:
    """Recompute a whole history and return its last hash, or raise LedgerError at the first bad entry."""
    check_cap(dataset, terms)
    return follow(dataset, terms, rows).hash


def check_cap(dataset: str, terms: Terms) -> None:
    """Raise LedgerError unless the cap is what the budget is worth."""
    if not terms.is_consistent():
        raise damage(dataset, 0, "the cap is not what the budget is worth")


def follow(dataset: str, terms: Terms, rows: Iterable[Row], before: Entry | None = None) -> Entry:
    """Recompute rows that continue the entry `before`, or a history from its creation on, and return the last entry.

    LedgerError names the first that is missing or wrong: its number, its link to the one before, its hash, its cost
    or the running total.
    """
    entry = before
    for row in rows:
        number, spent = (0, Cost()) if entry is None else (entry.number + 1, entry.total)
        if row.number != number:
            raise damage(dataset, number, "it is missing")
        if row.previous != (NO_HASH if entry is None else entry.hash):
            raise damage(dataset, number, "it does not continue the entry before")
        entry = read_row(row, terms)
        try:
            _recompute(entry, row, terms, spent)
        except ValueError as problem:
            raise damage(dataset, number, str(problem)) from None
    if entry is None:
        raise damage(dataset, 0, "it is missing")
    return entry


def damage(dataset: str, number: Any, reason: str) -> LedgerError:
    """The error for a history that is not what charges wrote."""
    return LedgerError(f"data set {dataset!r} is damaged at entry {number}: {' '.join(reason.split())}")


def write_cost(cost: Cost, terms: Terms) -> str:
    """The text of a cost or total: a fraction, and after a plus sign that of the reserved part where there is one."""
    main = write_fraction(cost.main)
    return f"{main}+{write_fraction(cost.pure)}" if terms.pure else main


def _read_cost(text: Any, terms: Terms) -> tuple[Fraction, Fraction | None]:
    if not terms.pure:
        return read_fraction(text), None
    main, plus, pure = text.partition("+") if isinstance(text, str) else ("", "", "")
    _check(bool(plus), "a sum of its two parts is missing")
    return read_fraction(main), read_fraction(pure)


def _parse(row: Row, terms: Terms) -> Entry:
    _check(type(row.number) is int and row.kind == (CHARGE if row.number else CREATE), "its kind is wrong")
    event = read_event(row.event) if row.kind == CHARGE else None
    (cost, pure_cost), (spent, pure_spent) = _read_cost(row.cost, terms), _read_cost(row.spent, terms)
    texts = (row.key, row.note, row.hash, row.previous)
    return Entry(row.number, row.time, row.kind, event, cost, spent, *texts, pure_cost, pure_spent)


def _recompute(entry: Entry, row: Row, terms: Terms, spent: Cost) -> None:
    """ValueError unless the entry costs what its event does, each part what it owes, and adds that to `spent`."""
    if entry.event is None:
        _check(row.event == terms.to_text(), "the caps it states are not those of the data set")
        _check(entry.paid == Cost(), "creating a data set costs nothing")
    else:
        reserved = terms.from_reserve(entry.event, spent.pure)
        is_cost = _is_cost(terms, write_fraction(entry.cost), row.event, reserved > 0)
        _check(entry.paid.pure == reserved and is_cost, "the cost is not that of the event")
    _check(entry.total == spent + entry.paid, "the running total is wrong")


# Charges recompute each other's entries, and most of them are for a few events: what a text means is worked out once.


@lru_cache(maxsize=256)
def read_event(text: str) -> Event:
    """The event that `write_event` wrote; that of an older version may be nested more deeply than any today."""
    return from_dict(json.loads(text), sys.maxsize)


@lru_cache(maxsize=256)
def _is_cost(terms: Terms, cost: str, event: str, has_reserve: bool) -> bool:
    return terms.is_cost(read_fraction(cost), read_event(event), has_reserve)


def _check(is_right: bool, problem: str) -> None:
    if not is_right:
        raise ValueError(problem)
