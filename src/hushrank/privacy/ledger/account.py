"""The budget of one data set as users and estimators meet it: charged before anything is released.

Charge     one serializable transaction, on disk before `charge` returns; an overdraft writes nothing.
Privacy    docs/privacy/ledger.md
"""

import warnings
from functools import partial
from typing import TYPE_CHECKING, Any

from hushrank.exceptions import LedgerError
from hushrank.privacy.charging import check_same_terms
from hushrank.privacy.events import Event, check_event
from hushrank.privacy.guarantee import Budget, Neighbors, Unit, parse_neighbors, parse_unit
from hushrank.privacy.ledger import chain, names, words
from hushrank.privacy.ledger.chain import Entry
from hushrank.privacy.ledger.currency import Amount, Cost, Terms
from hushrank.privacy.ledger.history import History
from hushrank.privacy.ledger.store import OutcomeUnknown

if TYPE_CHECKING:
    from hushrank.privacy.ledger.book import Ledger

MAX_OWN_NOTE = 400
"""Characters of a note of one's own: those of the release stand before it, and both are within names.MAX_NOTE."""


class Account:
    """The budget of one data set; `Ledger.create` and `ledger[name]` make it.

    A copy is the account itself. Pickling keeps the address of the ledger, with its password if it has one, and
    connects again.
    """

    def __init__(self, ledger: "Ledger", name: str, terms: Terms, seen: Entry | None = None) -> None:
        self._ledger, self._name, self._terms, self._note = ledger, name, terms, ""
        self._charged: dict[int, Cost] = {}  # by number: a key that is asked for again costs once
        self._history = History(name, terms, ledger._store.shown, seen)

    def with_note(self, note: str) -> "Account":
        """The same account, which keeps `note` with every charge, after that of the release.

        Examples
        --------
        >>> import tempfile
        >>> from hushrank.privacy.events import Pure
        >>> from hushrank.privacy.ledger import Ledger
        >>> with tempfile.TemporaryDirectory() as folder, Ledger(f"{folder}/budget.db") as ledger:
        ...     account = ledger.create("patients-2026", epsilon=1)
        ...     account.with_note("annual report").charge(Pure(0.25), note="PrivatePCA").note
        'PrivatePCA; annual report'
        """
        names.check_text(note, "note", "Account.with_note", MAX_OWN_NOTE)
        noted = Account(self._ledger, self._name, self._terms)
        noted._history, noted._note = self._history, note
        return noted

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

        Warns
        -----
        UserWarning
            Before it charges, where a pure release costs a budget with delta > 0 far more than a Gaussian one.

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
        self._check_same_terms(neighbors, unit)
        if key is not None:
            names.check_text(key, "key", "Account.charge", names.MAX_KEY)
        if note != "":
            names.check_text(note, "note", "Account.charge", names.MAX_NOTE)
        note = "; ".join(text for text in (note, self._note) if text)
        self._terms.cost(event)  # or InvalidParameter, before the ledger is asked
        self._warn_if_dear(event)
        request = (chain.write_event(event), key, note)
        try:
            return self._append(*request)
        except OutcomeUnknown as lost:
            if key is None:
                raise
            try:
                return self._append(*request)  # finds the first charge if it was committed
            except LedgerError:
                raise OutcomeUnknown(f"{lost}; charge again under the same key to find out") from lost

    def check(self, event: Event, neighbors: Neighbors | str | None = None, unit: Unit | str | None = None) -> None:
        """Raise what `charge` would raise now, and write nothing; what others charge meanwhile nobody knows."""
        self._check_same_terms(neighbors, unit)
        self._history.check(check_event(event, "Account.check"), self.last())

    def spent(self) -> Amount:
        """What all charges cost so far."""
        newest = self.last().total
        return self._terms.spent_amount(newest.main, newest.pure)

    def left(self) -> Amount:
        """What can still be charged."""
        newest = self.last().total
        return self._terms.left_amount(newest.main, newest.pure)

    def left_in_words(self) -> str:
        """What is left as an epsilon for one more release, rounded down, and how many like the last one that is.

        A Gaussian release at that epsilon and at the delta of the account is accepted, unless somebody is faster.

        Examples
        --------
        >>> import tempfile
        >>> from hushrank.privacy.events import Gaussian
        >>> from hushrank.privacy.ledger import Ledger
        >>> with tempfile.TemporaryDirectory() as folder, Ledger(f"{folder}/budget.db") as ledger:
        ...     account = ledger.create("patients-2026", epsilon=3, delta=1e-6)
        ...     _ = account.charge(Gaussian(noise_multiplier=3.0))
        ...     account.left_in_words()
        'at most epsilon = 2.53 at delta = 1e-6 for one more release, two more fits like the last'
        """
        return words.say_left(self._terms, self.last())

    def more_like_last(self) -> int | None:
        """How many more charges like the last one fit; None where there is none yet."""
        newest = self.last()
        return None if newest.event is None else words.more_like(self._terms, newest.total, newest.event)

    @property
    def has_charged(self) -> bool:
        """Whether anything was charged through this object."""
        return bool(self._charged)

    def say_spent(self, entry: Entry | None = None) -> str:
        """What a charge cost, or all that were made through this object, in words, and what is left now."""
        cost = sum(self._charged.values(), Cost()) if entry is None else entry.paid
        said = f"{words.say_cost(self._terms, cost)} of {self._name!r}"
        try:
            return f"{said}; left: {self.left_in_words()}"
        except LedgerError:  # out of reach by now, and what was spent is known
            return said

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

    def say_dear(self, event: Event) -> str | None:
        """That a pure release would cost far more than a Gaussian one, and what is cheaper; None where it would not."""
        if self._terms.budget.is_pure or not words.is_pure(event):
            return None
        spent = self.last().total if self._terms.pure else Cost()
        return words.say_dear(self._name, self._terms, event, spent)

    def say_refusal(self, event: Event, budget: Budget) -> str:
        """Why a release of `budget` that was planned as `event` is refused, and what would be accepted instead."""
        last = self.last()
        asked = words.Asked(event, self._terms.price(event, last.total), budget)
        return words.say_refusal(self._name, self._terms, last, asked)

    def _warn_if_dear(self, event: Event) -> None:
        said = self.say_dear(event)
        if said is not None:
            warnings.warn(f"{said}.", UserWarning, stacklevel=3)

    def _append(self, event: str, key: str | None, note: str) -> Entry:
        seen = self._history.seen
        work = partial(self._history.append, seen=seen, event=event, key=key, note=note)
        entry = self._ledger._store.write(work)
        self._history.remember(entry)
        self._charged[entry.number] = entry.paid
        return entry

    def _check_same_terms(self, neighbors: Neighbors | str | None, unit: Unit | str | None) -> None:
        owner = "Account.charge"
        asked = {
            "neighbors": None if neighbors is None else parse_neighbors(neighbors, owner),
            "unit": None if unit is None else parse_unit(unit, owner),
        }
        check_same_terms(self.budget, self._name, owner, **asked)

    def __repr__(self) -> str:
        budget = self.budget
        fixed = f"epsilon={budget.epsilon}, delta={budget.delta}, neighbors={budget.neighbors}, unit={budget.unit}"
        fixed += f", pure={self._terms.pure}" if self._terms.pure else ""
        return f"Account({self._name!r}, {fixed}, ledger={self._ledger._store.shown})"

    def __copy__(self) -> "Account":
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "Account":
        return self  # scikit-learn copies the parameters of estimators; there is one budget

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (self._ledger, self._name, self._terms.to_text(), self._note)


def _reopen(ledger: "Ledger", name: str, terms: str, note: str = "") -> Account:
    account = Account(ledger, name, Terms.from_text(terms))
    return account.with_note(note) if note else account
