"""Whether a statement is about a model, about a ledger, or the one whose hash was published elsewhere.

A statement by itself can only be consistent. What it is compared with here shows whether it is true.
"""

from typing import Any, NamedTuple

from hushrank.report.statement import Statement, model_statement, statement_of_record
from hushrank.report.statement_fields import NOT_STATED, walk
from hushrank.report.statement_ledger import LedgerRecord, rows_of, taking_for_granted
from hushrank.report.statement_record import ModelRecord

# Decided by the registry, described by the publisher, or compared with the record.
_OF_OTHERS = ("approved", "deployment.data_product", "deployment.privacy_loss.privacy_parameters")


class Since(NamedTuple):
    """What a ledger holds beyond a statement, and what the statement says otherwise than hushrank would.

    Attributes
    ----------
    n_later : int
        Charges that were made later.
    premised : list of int
        Numbers of those of them that take something for granted, which the statement could not say.
    changed : list of str
        Names of fields.
    """

    n_later: int
    premised: list[int]
    changed: list[str]

    def in_words(self) -> str:
        """All of it, to be said behind that the record agrees."""
        made = "1 charge was" if self.n_later == 1 else f"{self.n_later:,} charges were"
        parts = [f"; {made} made since"] if self.n_later else []
        if self.premised:
            numbers = ", ".join(map(str, self.premised))
            parts.append(f", of which {numbers} take for granted what this statement does not say: ask for a new one")
        return "".join([*parts, say_changed(self.changed)])


def say_changed(names: list[str]) -> str:
    """Fields that a publisher has changed, behind what agrees; nothing where there are none."""
    return f"; stated otherwise than by hushrank: {', '.join(names)}" if names else ""


def changed_fields(statement: Statement, other: Statement) -> list[str]:
    """Names of the fields that say otherwise than `other`, in which the publisher has said nothing.

    What the publisher states is left to the publisher: behind what hushrank says where both share a field. A field that
    is gone says otherwise, too.
    """
    mine = dict(walk(statement.fields))
    theirs = dict(walk(other.fields))
    return [name for name, value in theirs.items() if name not in mine or not _is_left(name, mine[name], value)]


def _is_left(name: str, mine: Any, theirs: Any) -> bool:
    """Whether a field that is there says what hushrank says, or is another's to say."""
    return name.startswith(_OF_OTHERS) or _is_alike(mine, theirs)


def _is_alike(mine: Any, theirs: Any) -> bool:
    """Whether both say the same, wherever lines are broken."""
    if not isinstance(theirs, str):
        return bool(mine == theirs)
    found, expected = " ".join((mine or "").split()), " ".join(theirs.split())
    return found.startswith(expected.removesuffix(NOT_STATED)) if expected.endswith(NOT_STATED) else found == expected


def compare_with_model(statement: Statement, model: Any, file_sha256: str = "") -> list[str]:
    """Fields that say otherwise than hushrank would; ValueError where the statement is not about this model.

    Models with one guarantee have one record: which of them it is, the hash of the file tells, where there is one.
    """
    if not isinstance(statement.record, ModelRecord):
        raise ValueError("it is about a ledger, and not about a model")
    fresh = model_statement(model, file_sha256=statement.record.file_sha256)
    if fresh.record != statement.record:
        raise ValueError("its record is not that of this model")
    if file_sha256 and statement.record.file_sha256 not in ("", file_sha256):
        raise ValueError("it is about another file, of a model with the same guarantee")
    return changed_fields(statement, fresh)


def compare_with_ledger(statement: Statement, ledger: Any) -> Since:
    """What the ledger has beyond the statement; ValueError where it does not continue the statement."""
    record = statement.record
    if not isinstance(record, LedgerRecord):
        raise ValueError("it is about a model, and not about a ledger")
    account = ledger[record.dataset]
    later = record.check_against(rows_of(account), account.terms)
    return Since(
        len(later), taking_for_granted(later, record.terms), changed_fields(statement, statement_of_record(record))
    )


def known_hash(statement: Statement, digest: str) -> str | None:
    """What of a statement has a hash that was published elsewhere, in words; None where nothing has.

    Hashes of entries count where they were computed again, which takes their keys, notes and times.
    """
    record = statement.record
    rows = record.rows if isinstance(record, LedgerRecord) and record.has_notes else ()
    if digest == statement.fields_sha256:
        return "the hash is that of all its fields"
    if digest == statement.sha256:
        return "the hash is that of its numbers and its record; other fields may have been edited since"
    number = next((row.number for row in rows if row.hash == digest), None)
    if number is not None:
        return f"the hash is that of entry {number} of the ledger; other fields may have been edited since"
    return None
