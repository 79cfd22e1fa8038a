"""The ledger as users meet it: data sets with budgets, charged before anything is released.

Charge     one serializable transaction, on disk before `charge` returns; an overdraft writes nothing.
Privacy    docs/privacy/ledger.md
"""

import os
import unicodedata
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from sqlalchemy import Connection

from hushrank.exceptions import InvalidParameter, LedgerError
from hushrank.privacy.events import Event, check_event
from hushrank.privacy.guarantee import Budget, Neighbors, Unit, parse_neighbors, parse_unit
from hushrank.privacy.ledger import chain, tables
from hushrank.privacy.ledger.address import open_store
from hushrank.privacy.ledger.chain import CHARGE, Entry, Row
from hushrank.privacy.ledger.currency import Amount, Terms, write_fraction
from hushrank.privacy.ledger.store import OutcomeUnknown


class Ledger:
    """Privacy budgets in a SQLite file or a PostgreSQL database.

    Parameters
    ----------
    where : str or path-like
        A path or "sqlite:///path" for a file, "postgresql://user@host/database" for a server. Neither is touched
        before the first call.

    Examples
    --------
    >>> import tempfile
    >>> from hushrank.privacy.events import Pure
    >>> with tempfile.TemporaryDirectory() as folder, Ledger(f"{folder}/budget.db") as ledger:
    ...     account = ledger.create("patients-2026", epsilon=1)
    ...     _ = account.charge(Pure(0.25))
    ...     account.left().epsilon
    0.75
    """

    def __init__(self, where: str | os.PathLike[str]) -> None:
        self._store = open_store(where)

    def create(
        self,
        name: str,
        *,
        epsilon: float,
        delta: float = 0.0,
        neighbors: Neighbors | str = Neighbors.REPLACE,
        unit: Unit | str = Unit.ROW,
    ) -> "Account":
        """Set up a data set; budget, relation, unit and currency are fixed for its life.

        The file and the tables are made if there are none. A name that exists is refused.
        """
        _check_text(name, "name", "Ledger.create", 200)
        budget = Budget(epsilon, delta, parse_neighbors(neighbors, "Ledger.create"), parse_unit(unit, "Ledger.create"))
        terms = Terms.of(budget)

        def work(connection: Connection) -> None:
            if tables.find_terms(connection, name) is not None:
                raise InvalidParameter("Ledger.create", "name", "that of a new data set", name)
            tables.insert_dataset(connection, terms.to_text(), chain.first_row(name, _now(), terms))

        self._store.write(work, create=True)
        return Account(self, name, terms)

    def __getitem__(self, name: str) -> "Account":
        _check_text(name, "name", "Ledger", 200)
        text = self._store.read(lambda connection: tables.find_terms(connection, name))
        if text is None:
            raise LedgerError(f"ledger {self._store.shown} has no data set {name!r}")
        try:
            return Account(self, name, Terms.from_text(text))
        except (TypeError, ValueError):
            raise chain.damage(name, 0, "its terms cannot be read") from None

    def names(self) -> list[str]:
        """Names of all data sets, sorted."""
        return self._store.read(tables.dataset_names)

    def verify(self) -> dict[str, str]:
        """Verify every data set and return the heads by name; LedgerError names all that are damaged."""
        heads: dict[str, str] = {}
        problems = [f"data set {name!r} is missing, its history is not" for name in self._store.read(tables.orphans)]
        for name in self.names():
            try:
                heads[name] = self[name].verify()
            except LedgerError as problem:
                problems.append(str(problem))
        if problems:
            raise LedgerError("; ".join(problems))
        return heads

    def close(self) -> None:
        """Refuse any further use of the ledger and its accounts. No connection is open between calls."""
        self._store.close()

    def __enter__(self) -> "Ledger":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Ledger({self._store.shown})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Ledger, (self._store.address,)


class Account:
    """The budget of one data set; `Ledger.create` and `ledger[name]` make it.

    A copy is the account itself. Pickling keeps the address of the ledger, with its password if it has one, and
    connects again.
    """

    def __init__(self, ledger: Ledger, name: str, terms: Terms) -> None:
        self._ledger, self._name, self._terms = ledger, name, terms

    @property
    def name(self) -> str:
        """Name of the data set."""
        return self._name

    @property
    def terms(self) -> Terms:
        """Budget and exact cap."""
        return self._terms

    @property
    def budget(self) -> Budget:
        """The whole budget, with relation and unit."""
        return self._terms.budget

    @property
    def currency(self) -> str:
        """What adds up: mu^2 ("gdp", delta > 0) or epsilon ("pure", delta = 0)."""
        return self._terms.currency

    def charge(
        self,
        event: Event,
        key: str | None = None,
        neighbors: Neighbors | str | None = None,
        unit: Unit | str | None = None,
        note: str = "",
    ) -> Entry:
        """Pay for one release before it is made; on disk when this returns.

        Parameters
        ----------
        event : Event
            Pure releases, and with delta > 0 Gaussian ones.
        key : str, optional
            Names one release. A second charge under the same key returns the first entry and costs nothing, so that
            a job may ask again after a crash; a key must never be used for another release.
        neighbors, unit : optional
            What the release is private for; refused if the data set was created for something else.
        note : str
            Kept in the history; public like everything in it.

        Returns
        -------
        Entry
            What was written.

        Raises
        ------
        BudgetExceeded
            If less is left; nothing is written.
        LedgerError
            If the ledger is out of reach or damaged. Nothing was charged, unless the message says that the outcome
            is unknown.
        """
        check_event(event, "Account.charge")
        self._check_same("neighbors", None if neighbors is None else parse_neighbors(neighbors, "Account.charge"))
        self._check_same("unit", None if unit is None else parse_unit(unit, "Account.charge"))
        if key is not None:
            _check_text(key, "key", "Account.charge", 200)
        if note != "":
            _check_text(note, "note", "Account.charge", 1000)
        request = (chain.write_event(event), self._terms.cost(event), key, note)
        try:
            return self._append(*request)
        except OutcomeUnknown as lost:
            if key is None:
                raise
            try:
                return self._append(*request)  # finds the first charge if it was committed
            except LedgerError:
                raise OutcomeUnknown(f"{lost}; charge again under the same key to find out") from lost

    def spent(self) -> Amount:
        """What all charges cost so far."""
        return self._terms.spent_amount(self.last().spent)

    def left(self) -> Amount:
        """What can still be charged."""
        return self._terms.left_amount(self.last().spent)

    def last(self) -> Entry:
        """The newest entry; its number counts the charges, its hash is the head of the chain."""
        return self._ledger._store.read(self._read_last)

    def history(self) -> list[Entry]:
        """All entries in order; number 0 created the data set."""
        return [chain.read_row(row, self._terms) for row in self._ledger._store.read(self._read_all)]

    def verify(self, head: str | None = None) -> str:
        """Recompute the whole history; raise LedgerError at the first bad entry.

        Parameters
        ----------
        head : str, optional
            A hash that `verify` returned earlier and that was kept elsewhere. It must occur in the chain: entries cut
            off the end leave no other trace.

        Returns
        -------
        str
            Hash of the last entry.
        """
        rows = self._ledger._store.read(self._read_all)
        newest = chain.verify(self._name, self._terms, rows)
        if head is not None and head not in [row.hash for row in rows]:
            lost = "entries were cut off or written anew, or the head is that of another data set"
            raise LedgerError(f"data set {self._name!r} does not hold the head {head}: {lost}")
        return newest

    def _append(self, event: str, cost: Fraction, key: str | None, note: str) -> Entry:
        def work(connection: Connection) -> Entry:
            last = self._read_last(connection)
            known = None if key is None else tables.row_with_key(connection, self._name, key)
            if known is not None:
                # The entry can be seen; that it is on disk is not known before something is committed after it.
                tables.confirm(connection)
                return self._read_again(known, event)
            spent = write_fraction(self._terms.total_after(last.spent, cost))
            row = Row(
                self._name, last.number + 1, _now(), CHARGE, event, write_fraction(cost), spent, key, note, last.hash
            )
            row = chain.seal(row, self._terms)
            tables.insert_row(connection, row)
            return chain.read_row(row, self._terms)

        return self._ledger._store.write(work)

    def _read_again(self, known: Row, event: str) -> Entry:
        """The entry that was charged under a key, if it was for the same event."""
        entry = chain.read_row(known, self._terms)
        if known.event != event:
            raise InvalidParameter("Account.charge", "key", "a new one for another event", entry.key)
        return entry

    def _read_last(self, connection: Connection) -> Entry:
        """The newest entry, checked against its hash and the caps."""
        self._check_terms(connection)
        row = tables.last_row(connection, self._name)
        if row is None:
            raise chain.damage(self._name, 0, "it is missing")
        return chain.read_row(row, self._terms)

    def _read_all(self, connection: Connection) -> list[Row]:
        self._check_terms(connection)
        return tables.all_rows(connection, self._name)

    def _check_terms(self, connection: Connection) -> None:
        text = tables.find_terms(connection, self._name)
        if text is None:
            raise LedgerError(f"ledger {self._ledger._store.shown} has no data set {self._name!r}")
        if text != self._terms.to_text():
            raise chain.damage(self._name, 0, "its terms have changed since the account was opened")

    def _check_same(self, name: str, asked: Neighbors | Unit | None) -> None:
        fixed = getattr(self.budget, name)
        if asked is not None and asked != fixed:
            requirement = f"{fixed.value!r}, for which data set {self._name!r} was created"
            raise InvalidParameter("Account.charge", name, requirement, asked.value)

    def __repr__(self) -> str:
        budget = self.budget
        fixed = f"epsilon={budget.epsilon}, delta={budget.delta}, neighbors={budget.neighbors}, unit={budget.unit}"
        return f"Account({self._name!r}, {fixed}, ledger={self._ledger._store.shown})"

    def __copy__(self) -> "Account":
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "Account":
        return self  # scikit-learn copies the parameters of estimators; there is one budget

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (self._ledger, self._name, self._terms.to_text())


def _reopen(ledger: Ledger, name: str, terms: str) -> Account:
    return Account(ledger, name, Terms.from_text(terms))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")


def _check_text(value: Any, name: str, owner: str, most: int) -> None:
    """One printable line: every database stores it, and no terminal is led astray by it."""
    is_text = isinstance(value, str) and 0 < len(value) <= most and value.isprintable()
    # Two names that look alike would be two budgets.
    if not is_text or value != value.strip() or value != unicodedata.normalize("NFC", value):
        requirement = f"a printable text of 1 to {most} characters, without spaces around it and in Unicode form NFC"
        raise InvalidParameter(owner, name, requirement, value)
