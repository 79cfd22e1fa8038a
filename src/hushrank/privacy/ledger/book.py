"""The ledger as users meet it: data sets with budgets, charged before anything is released.

Accounts   one per data set; ledger/account.py has what can be done with them.
Privacy    docs/privacy/ledger.md
"""

import os
from typing import Any

from sqlalchemy import Connection

from hushrank.exceptions import InvalidParameter, LedgerError
from hushrank.parameters import did_you_mean
from hushrank.privacy.guarantee import Budget, Neighbors, Unit, parse_neighbors, parse_unit
from hushrank.privacy.ledger import chain, history, names, schema
from hushrank.privacy.ledger.account import Account
from hushrank.privacy.ledger.address import open_store
from hushrank.privacy.ledger.chain import Entry
from hushrank.privacy.ledger.currency import Terms


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
        pure: float = 0.0,
    ) -> Account:
        """Set up a data set; budget, relation, unit and currency are fixed for its life.

        `pure` is a part of epsilon that is reserved for pure releases, whose epsilons add up there; the rest is for
        Gaussian ones, and both together are what epsilon and delta promise.
        The file and the tables are made if there are none. A name that exists, or that could be taken for one that
        does, is refused: two budgets of one look would be two for one data set.
        """
        names.check_new_name(name, "Ledger.create")
        budget = Budget(epsilon, delta, parse_neighbors(neighbors, "Ledger.create"), parse_unit(unit, "Ledger.create"))
        terms = Terms.of(budget, pure)

        def work(connection: Connection) -> Entry:
            existing = schema.dataset_names(connection)
            if name in existing:
                raise InvalidParameter("Ledger.create", "name", "that of a new data set", name)
            other = names.find_look_alike(name, existing)
            if other is not None:
                raise InvalidParameter("Ledger.create", "name", f"unlike {other!a}, a data set that exists", name)
            return history.create(connection, name, terms)

        return Account(self, name, terms, self._store.write(work, create=True))

    def __getitem__(self, name: str) -> Account:
        names.check_known_name(name, "Ledger")
        text = self._store.read(lambda connection: schema.find_terms(connection, name))
        if text is None:
            existing = self.names()
            other = names.find_look_alike(name, existing)
            look_alike = f" ({name!a}), but one that looks like it: {other!a}"
            hint = did_you_mean(name, existing) if other is None else look_alike
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
