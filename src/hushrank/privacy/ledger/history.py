"""The history of one data set in its database: checked before it is trusted, and appended to.

Check      a charge recomputes every entry since the last one that this account has found in order, and its first
           charge the last CHECKED_ROWS: a total is read off entries that follow from each other, not off the last one.
Privacy    docs/privacy/ledger.md, section 5: what a check shows, and what a writer of the database can still do.
"""

from datetime import UTC, datetime

from sqlalchemy import Connection

from hushrank.exceptions import BudgetExceeded, InvalidParameter, LedgerError
from hushrank.privacy.events import Event
from hushrank.privacy.ledger import chain, schema, words
from hushrank.privacy.ledger.chain import CHARGE, Entry, Row
from hushrank.privacy.ledger.currency import Cost, Terms

CHECKED_ROWS = 1000
"""Entries at the end of a history that the first charge of an account recomputes."""


class History:
    """Entries of the data set `dataset`, and the last one of them that was found in order.

    What was found is kept in memory, in this process: an entry that is gone or another one later on shows that the
    database was rolled back or rewritten. Callers take `seen` before they begin a transaction, and hand it in: what
    another thread has found since may be newer than what the transaction can see.

    Parameters
    ----------
    dataset : str
    terms : Terms
    shown : str
        The ledger, for messages.
    seen : Entry, optional
        An entry that is known to be in order.
    """

    def __init__(self, dataset: str, terms: Terms, shown: str, seen: Entry | None = None) -> None:
        self._dataset, self._terms, self._shown, self.seen = dataset, terms, shown, seen

    def last(self, connection: Connection, seen: Entry | None) -> Entry:
        """The newest entry; it, the one before and all since the last one that was seen are recomputed."""
        return self._read_end(connection, seen, 1)

    def rows(self, connection: Connection) -> list[Row]:
        """The whole history as stored."""
        self._check_terms(connection)
        return schema.all_rows(connection, self._dataset)

    def verify(self, rows: list[Row], seen: Entry | None) -> str:
        """Recompute the whole history, remember its end and return its last hash."""
        newest = chain.verify(self._dataset, self._terms, rows)
        if seen is not None:
            self._check_seen(rows[seen.number] if seen.number < len(rows) else None, seen)
        self.remember(chain.read_row(rows[-1], self._terms))
        return newest

    def remember(self, entry: Entry) -> None:
        """Take an entry for one that is in order: it was recomputed, or written by this account and committed."""
        if self.seen is None or entry.number > self.seen.number:
            self.seen = entry

    def append(self, connection: Connection, seen: Entry | None, event: str, key: str | None, note: str) -> Entry:
        """Write a charge, or find the one that was written under the same key. To be remembered after the commit."""
        if seen is None:
            chain.check_cap(self._dataset, self._terms)
        last = self._read_end(connection, seen, CHECKED_ROWS)
        self.remember(last)
        known = None if key is None else schema.row_with_key(connection, self._dataset, key)
        if known is not None:
            # The entry can be seen; that it is on disk is not known before something is committed after it.
            schema.confirm(connection)
            return self._read_again(connection, known, event)
        cost = self.check(chain.read_event(event), last)
        paid, spent = (chain.write_cost(part, self._terms) for part in (cost, last.total + cost))
        texts = (_now(), CHARGE, event, paid, spent, key, note, last.hash)
        row = chain.seal(Row(self._dataset, last.number + 1, *texts), self._terms)
        schema.insert_row(connection, row)
        return chain.read_row(row, self._terms)

    def check(self, event: Event, last: Entry) -> Cost:
        """What each part would pay for an event after the entry `last`, or BudgetExceeded in words."""
        cost = self._terms.price(event, last.total)
        try:
            self._terms.total(last.total, cost)
        except BudgetExceeded as refusal:
            said = words.say_refusal(self._dataset, self._terms, last, words.Asked(event, cost))
            raise BudgetExceeded(refusal.asked, refusal.left, refusal.currency, said) from None
        return cost

    def _read_end(self, connection: Connection, seen: Entry | None, most: int) -> Entry:
        """The newest entry, after all since the one that was seen, or else the last `most`, were recomputed.

        The entry before them vouches for itself alone: what it says of the total is where the recomputation starts.
        """
        self._check_terms(connection)
        before = None
        if seen is None:
            rows = schema.last_rows(connection, self._dataset, most + 1)
            if len(rows) > most:
                before, rows = chain.read_row(rows[0], self._terms), rows[1:]
        else:
            rows = schema.rows_from(connection, self._dataset, seen.number)
            before, rows = self._check_seen(rows[0] if rows else None, seen), rows[1:]
        return chain.follow(self._dataset, self._terms, rows, before)

    def _check_seen(self, row: Row | None, seen: Entry) -> Entry:
        if row is None or (row.number, row.hash) != (seen.number, seen.hash):
            gone = "the ledger was rolled back to an older state, or written anew"
            raise LedgerError(f"data set {self._dataset!r} no longer holds entry {seen.number} as it was: {gone}")
        return chain.read_row(row, self._terms)

    def _read_again(self, connection: Connection, known: Row, event: str) -> Entry:
        """The entry that was charged under a key, if it was for the same event and is a link of the chain.

        Whoever writes a row under the key of a job to come, at no cost or outside the numbering, prepays nothing.
        """
        entry = chain.read_row(known, self._terms)
        rows = schema.rows_between(connection, self._dataset, entry.number - 1, entry.number + 1)
        if rows[0].number != entry.number - 1:
            raise chain.damage(self._dataset, entry.number - 1, "it is missing")
        chain.follow(self._dataset, self._terms, rows[1:], chain.read_row(rows[0], self._terms))
        if known.event != event:
            raise InvalidParameter("Account.charge", "key", "a new one for another event", entry.key)
        return entry

    def _check_terms(self, connection: Connection) -> None:
        text = schema.find_terms(connection, self._dataset)
        if text is None:
            raise LedgerError(f"ledger {self._shown} has no data set {self._dataset!r}")
        if text != self._terms.to_text():
            raise chain.damage(self._dataset, 0, "its terms have changed since the account was opened")


def create(connection: Connection, dataset: str, terms: Terms) -> Entry:
    """Write a new data set, and return the entry that created it."""
    row = chain.first_row(dataset, _now(), terms)
    schema.insert_dataset(connection, terms.to_text(), row)
    return chain.read_row(row, terms)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")
