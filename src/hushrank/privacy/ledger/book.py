"""The ledger as users meet it: data sets with budgets, charged before anything is released.

Charge     one serializable transaction, on disk before `charge` returns; an overdraft writes nothing.
Privacy    docs/privacy/ledger.md
"""

import os
from fractions import Fraction
from functools import partial
from typing import Any

from sqlalchemy import Connection

from hushrank.exceptions import InvalidParameter, LedgerError
from hushrank.privacy.events import Event, check_event
from hushrank.privacy.guarantee import Budget, Neighbors, Unit, parse_neighbors, parse_unit
from hushrank.privacy.ledger import chain, history, names, schema
from hushrank.privacy.ledger.address import open_store
from hushrank.privacy.ledger.chain import Entry
from hushrank.privacy.ledger.currency import Amount, Terms
from hushrank.privacy.ledger.history import History
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

        The file and the tables are made if there are none. A name that exists, or that could be taken for one that
        does, is refused: two budgets of one look would be two for one data set.
        """
        names.check_new_name(name, "Ledger.create")
        budget = Budget(epsilon, delta, parse_neighbors(neighbors, "Ledger.create"), parse_unit(unit, "Ledger.create"))
        terms = Terms.of(budget)

        def work(connection: Connection) -> Entry:
            existing = schema.dataset_names(connection)
            if name in existing:
                raise InvalidParameter("Ledger.create", "name", "that of a new data set", name)
            other = names.find_look_alike(name, existing)
            if other is not None:
                raise InvalidParameter("Ledger.create", "name", f"unlike {other!a}, a data set that exists", name)
            return history.create(connection, name, terms)

        return Account(self, name, terms, self._store.write(work, create=True))

    def __getitem__(self, name: str) -> "Account":
        names.check_known_name(name, "Ledger")
        text = self._store.read(lambda connection: schema.find_terms(connection, name))
        if text is None:
            other = names.find_look_alike(name, self.names())
            hint = "" if other is None else f" ({name!a}), but one that looks like it: {other!a}"
            raise LedgerError(f"ledger {self._store.shown} has no data set {name!r}{hint}")
        try:
            return Account(self, name, Terms.from_text(text))
        except (TypeError, ValueError):
            raise chain.damage(name, 0, "its terms cannot be read") from None

    def names(self) -> list[str]:
        """Names of all data sets, sorted."""
        return self._store.read(schema.dataset_names)

    def verify(self) -> dict[str, str]:
        """Verify every data set and return the heads by name; LedgerError names all that are damaged."""
        heads: dict[str, str] = {}
        problems = [f"data set {name!r} is missing, its history is not" for name in self._store.read(schema.orphans)]
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

    def __init__(self, ledger: Ledger, name: str, terms: Terms, seen: Entry | None = None) -> None:
        self._ledger, self._name, self._terms = ledger, name, terms
        self._history = History(name, terms, ledger._store.shown, seen)

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
            names.check_text(key, "key", "Account.charge", names.MAX_KEY)
        if note != "":
            names.check_text(note, "note", "Account.charge", names.MAX_NOTE)
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
        """The newest entry; its number counts the charges, its hash is the head of the chain.

        It must continue the one before it, and all since the last one that this account has seen.
        """
        return self._ledger._store.read(partial(self._history.last, seen=self._history.seen))

    def history(self) -> list[Entry]:
        """All entries in order; number 0 created the data set."""
        return [chain.read_row(row, self._terms) for row in self._ledger._store.read(self._history.rows)]

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
        seen = self._history.seen
        rows = self._ledger._store.read(self._history.rows)
        newest = self._history.verify(rows, seen)
        if head is not None and head not in [row.hash for row in rows]:
            lost = "entries were cut off or written anew, or the head is that of another data set"
            raise LedgerError(f"data set {self._name!r} does not hold the head {head}: {lost}")
        return newest

    def _append(self, event: str, cost: Fraction, key: str | None, note: str) -> Entry:
        seen = self._history.seen
        work = partial(self._history.append, seen=seen, event=event, cost=cost, key=key, note=note)
        entry = self._ledger._store.write(work)
        self._history.remember(entry)
        return entry

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
