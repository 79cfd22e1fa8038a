"""The exact record in a statement of a ledger: the terms of one data set and its charges, whose hashes it can repeat.

Said       only what the ledger holds: the promise is that of the cap, because releases may have been chosen from
           earlier ones; what was spent until now is told beside it.
Left out   keys, notes and times may stay behind. Costs, totals and caps are recomputed all the same; the hashes of the
           ledger can then be compared with the ledger, and not be repeated.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

from hushrank.exceptions import LedgerError, StatementError
from hushrank.privacy.claims import check_work
from hushrank.privacy.events import MOST_NESTED, Composed, Event, Gaussian, Pure, leaves, nesting, together
from hushrank.privacy.figures import at_most
from hushrank.privacy.guarantee import Budget, Guarantee, Unit
from hushrank.privacy.ledger import chain, names
from hushrank.privacy.ledger.chain import CREATE, NO_HASH, Entry, Row
from hushrank.privacy.ledger.currency import Cost, Terms, canonical
from hushrank.privacy.ledger.words import say_cost
from hushrank.privacy.rational import float_at_least, float_at_most, sqrt_at_least
from hushrank.report.statement_record import HASH, say_gaussian, say_promise, say_unit

MOST_WORK = 2**22
"""Squares of the numbers of different releases within each charge, added up: exact sums take a time like it."""

_HEADER = {"kind", "dataset", "terms", "has_notes"}
_EXACT, _NOTED = {"number", "kind", "event", "cost", "spent", "hash"}, {"time", "key", "note"}
_PREMISE, _SKETCH = ", provided that ", "TurnstileSketch"
_MOST_LISTED = 10


@dataclass(frozen=True, slots=True)
class LedgerRecord:
    """The record of a data set in a ledger.

    Attributes
    ----------
    dataset : str
    terms : Terms
    rows : tuple of Row
        The history, the creation first; without keys, notes and times where these were left out.
    has_notes : bool
        Whether they are there.
    """

    kind: ClassVar[str] = "ledger"

    dataset: str
    terms: Terms
    rows: tuple[Row, ...]
    has_notes: bool = True

    @property
    def budget(self) -> Budget:
        """The cap."""
        return self.terms.budget

    @property
    def events(self) -> tuple[Event, ...]:
        """What was charged, in order."""
        return tuple(chain.read_event(row.event) for row in self.rows[1:])

    @property
    def event(self) -> Event:
        """All of it together."""
        return together(self.events)

    @property
    def promise(self) -> Guarantee:
        """That of the cap. How noise was drawn is not in a ledger, so that arithmetic is not covered by it."""
        cap = self.budget
        terms = (cap.epsilon, cap.delta, cap.neighbors, cap.unit, cap_event(self.terms), "idealized")
        return Guarantee(*terms, premise=self._premise, bound=cap.bound)

    @property
    def head(self) -> str | None:
        """Hash of the last entry."""
        return self.rows[-1].hash

    @property
    def spent(self) -> Cost:
        """What all charges cost, exactly, by the part that paid."""
        return self._read(self.rows[-1]).total

    @property
    def costs(self) -> list[Cost]:
        """What each charge cost, exactly, by the part that paid."""
        return [self._read(row).paid for row in self.rows[1:]]

    def _read(self, row: Row) -> Entry:
        return chain.read_row(chain.seal(_without_notes(row), self.terms), self.terms)

    @property
    def _premise(self) -> str:
        noted, of_rows = premised(self.rows), of_streams(self.rows, self.terms)
        told = [self.budget.premise] * bool(self.budget.premise)
        told += [f"what the notes of charges {say_numbers(noted)} take for granted is so"] * bool(noted)
        told += [f"rows are within the bounds of charges {say_numbers(of_rows)}, of streams"] * bool(of_rows)
        return "; ".join(told)

    def words(self) -> list[str]:
        """The promise, what was spent of it, and the head of the chain."""
        given, spent, n = self.promise, self.spent, len(self.rows) - 1
        lines = [say_promise(given), *say_gaussian(given.event)]
        lines.append(f"{say_unit(given)} Data set of the ledger: {self.dataset}")
        if given.premise:
            lines.append(f"Provided that {given.premise}.")
        charges = f"{n} charge" if n == 1 else f"{n} charges"
        worth = f", worth {say_cost(self.terms, spent)}" if n else ""
        lines.append(f"Spent until now, by {charges}{worth}; the promise is that of the whole budget.")
        if not self.budget.is_pure:
            used = at_most(float_at_least(spent.main)) if spent.main else "0"
            lines.append(f"In mu^2: {used} of {at_most(float_at_least(self.terms.cap))}.")
        return [*lines, f"Head of the chain of charges: {self.head}"]

    def objects(self) -> list[dict[str, Any]]:
        """The terms, and an object for each entry."""
        header = {"dataset": self.dataset, "terms": json.loads(self.terms.to_text()), "has_notes": self.has_notes}
        return [{"kind": self.kind, **header}, *(self._to_object(row) for row in self.rows)]

    def _to_object(self, row: Row) -> dict[str, Any]:
        kept = _EXACT | (_NOTED if self.has_notes else set())
        values = {name: getattr(row, name) for name in kept}
        return values | {"event": None if row.kind == CREATE else json.loads(row.event)}  # else it is the terms

    @classmethod
    def from_objects(cls, objects: Sequence[Mapping[str, Any]]) -> "LedgerRecord":
        """The record that was described so, or ValueError."""
        header = objects[0]
        _check(header.keys() == _HEADER and isinstance(header["has_notes"], bool), "its record is not that of a ledger")
        names.check_known_name(header["dataset"], "statement")
        terms = Terms.from_text(canonical(header["terms"]))
        rows: list[Row] = []
        for values in objects[1:]:
            rows.append(_to_row(values, header, terms, rows[-1].hash if rows else NO_HASH))
        _check(bool(rows), "its record has no entry")
        return cls(header["dataset"], terms, tuple(rows), header["has_notes"])

    def check(self) -> None:
        """Raise ValueError unless every charge costs what it says, all add up, and hashes follow where they can."""
        events = self.events
        for event in events:
            check_work(event, is_pure=True)
            _check(nesting(event) <= MOST_NESTED, "a charge is nested too deeply for a statement")
        # Exact sums of one event take a time that grows with the square of what is in it.
        _check(sum(len(leaves(event)) ** 2 for event in events) <= MOST_WORK, "its charges take too long to add up")
        rows = self.rows if self.has_notes else tuple(_sealed_anew(self.rows, self.terms))
        try:
            chain.verify(self.dataset, self.terms, rows)
        except LedgerError as error:
            raise ValueError(str(error).rstrip(".")) from None

    def check_against(self, rows: Sequence[Row], terms: Terms) -> Sequence[Row]:
        """The charges of a ledger that were made later; ValueError if it does not continue this record."""
        _check(terms == self.terms, "its terms are not those of the data set in the ledger")
        _check(len(rows) >= len(self.rows), "it has charges that the ledger does not hold")
        for mine, theirs in zip(self.rows, rows, strict=False):
            kept = theirs if self.has_notes else _without_notes(theirs)
            _check(mine == kept, f"its entry {mine.number} is not that of the ledger")
        noted = taking_for_granted(rows[: len(self.rows)], terms)
        told = f"it leaves out what the notes of charges {say_numbers(noted)} take for granted"
        _check(self.has_notes or not noted, told)
        return rows[len(self.rows) :]


def premised(rows: Sequence[Row]) -> list[int]:
    """Numbers of the charges whose notes state what they take for granted."""
    return [row.number for row in rows if _PREMISE in row.note]


def of_streams(rows: Sequence[Row], terms: Terms) -> list[int]:
    """Numbers of the charges of an account of whole rows that hide bounded changes of rows, and do not say so.

    Versions before the bound was a part of a guarantee wrote such notes.
    """
    is_of_rows = terms.budget.unit is Unit.ROW
    return [row.number for row in rows if is_of_rows and row.note.startswith(_SKETCH) and _PREMISE not in row.note]


def taking_for_granted(rows: Sequence[Row], terms: Terms) -> list[int]:
    """Numbers of all charges that take something for granted."""
    return sorted({*premised(rows), *of_streams(rows, terms)})


def say_numbers(numbers: Sequence[int]) -> str:
    """Numbers of charges; of many the first."""
    more = f" and {len(numbers) - _MOST_LISTED} more" if len(numbers) > _MOST_LISTED else ""
    return f"{', '.join(map(str, numbers[:_MOST_LISTED]))}{more}"


def ledger_record(account: Any, *, with_notes: bool = True) -> LedgerRecord:
    """The record of an account, of which the whole history is verified; LedgerError where it is damaged."""
    record = LedgerRecord(account.name, account.terms, tuple(rows_of(account)))
    try:
        record.check()
        record.words()
    except ValueError as error:
        raise StatementError(f"data set {account.name!r} gets no statement: {error}.") from error
    if with_notes:
        return record
    if taking_for_granted(record.rows, record.terms):
        told = f"the promise holds provided that {record.promise.premise}"
        raise StatementError(f"notes of {account.name!r} cannot be left out: {told}.")
    return replace(record, rows=tuple(map(_without_notes, record.rows)), has_notes=False)


def rows_of(account: Any) -> list[Row]:
    """The verified history of an account as the texts that its hashes are of."""
    account.verify()
    return [_row_of(account.name, entry, account.terms) for entry in account.history()]


def cap_event(terms: Terms) -> Event:
    """One release that costs as much as everything that an account ever pays for."""
    if terms.budget.is_pure:
        return Pure(terms.budget.epsilon)
    main = Gaussian(float_at_most(1 / Fraction(sqrt_at_least(terms.cap))))
    return Composed((main, Pure(terms.pure))) if terms.pure else main


def _row_of(dataset: str, entry: Entry, terms: Terms) -> Row:
    event = terms.to_text() if entry.event is None else chain.write_event(entry.event)
    cost, spent = (chain.write_cost(sums, terms) for sums in (entry.paid, entry.total))
    texts = (entry.time, entry.kind, event, cost, spent, entry.key, entry.note, entry.previous, entry.hash)
    return Row(dataset, entry.number, *texts)


def _without_notes(row: Row) -> Row:
    return replace(row, time="", key=None, note="")


def _sealed_anew(rows: Sequence[Row], terms: Terms) -> Iterator[Row]:
    """Entries without their notes under hashes of what is left, so that all but the hashes of old is verified."""
    previous = NO_HASH
    for row in rows:
        sealed = chain.seal(replace(row, previous=previous), terms)
        previous = sealed.hash
        yield sealed


def _to_row(values: Mapping[str, Any], header: Mapping[str, Any], terms: Terms, previous: str) -> Row:
    has_notes = header["has_notes"]
    _check(values.keys() == _EXACT | (_NOTED if has_notes else set()), "an entry of its record has other fields")
    noted = {name: values[name] for name in _NOTED} if has_notes else {"time": "", "key": None, "note": ""}
    is_first = values["kind"] == CREATE
    _check(isinstance(values["event"], type(None) if is_first else dict), "an entry of its record has no event")
    texts = (values["cost"], values["spent"], values["kind"], values["hash"], noted["time"], noted["note"])
    _check(all(isinstance(text, str) for text in (*texts, noted["key"] or "")), "an entry of its record has no text")
    _check(bool(HASH.fullmatch(values["hash"])), "an entry of its record has no hash")
    event = terms.to_text() if is_first else canonical(values["event"])
    exact = {name: values[name] for name in ("number", "kind", "cost", "spent", "hash")}
    return Row(header["dataset"], event=event, previous=previous, **exact, **noted)


def _check(is_right: bool, problem: str) -> None:
    if not is_right:
        raise ValueError(problem)
