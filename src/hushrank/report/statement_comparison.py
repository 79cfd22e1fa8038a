"""Whether a statement is about a model, about a ledger, or the one whose hash was published elsewhere.

A statement by itself can only be consistent. What it is compared with here shows whether it is true.
"""

from typing import Any

from hushrank.report.statement import Statement, model_statement
from hushrank.report.statement_fields import not_stated, walk
from hushrank.report.statement_ledger import LedgerRecord, rows_of
from hushrank.report.statement_record import ModelRecord

# Decided by the registry, described by the publisher, or compared with the record.
_OF_OTHERS = ("approved", "deployment.data_product", "deployment.privacy_loss.privacy_parameters")


def changed_fields(statement: Statement, other: Statement) -> list[str]:
    """Names of the fields that two statements of one record say otherwise, but for what the publisher states."""
    theirs, open_fields = dict(walk(other.fields)), set(not_stated(other.fields))
    mine = {name: value for name, value in walk(statement.fields) if name not in open_fields}
    return [name for name, value in mine.items() if theirs.get(name) != value and not name.startswith(_OF_OTHERS)]


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


def compare_with_ledger(statement: Statement, ledger: Any) -> int:
    """How many charges the ledger has beyond the statement; ValueError where it does not continue the statement."""
    record = statement.record
    if not isinstance(record, LedgerRecord):
        raise ValueError("it is about a model, and not about a ledger")
    account = ledger[record.dataset]
    return record.check_against(rows_of(account), account.terms)


def has_hash(statement: Statement, digest: str) -> bool:
    """Whether a hash that was published elsewhere is that of the statement, or of an entry of its ledger.

    Hashes of entries count where they were computed again, which takes their keys, notes and times.
    """
    record = statement.record
    rows = record.rows if isinstance(record, LedgerRecord) and record.has_notes else ()
    return digest in (statement.sha256, *(row.hash for row in rows))
