"""The chained part of a statement: numbers for people, the exact record, and a SHA-256 of all of it.

Text       words, a line each; a line that announces the record; the record as JSON, an object in a line, each in one
           spelling only; a last line with the hash of everything before it.
Read       the hash is computed again, the record is checked by itself, and its words are made again and compared: no
           number stands there for people that is not that of the record.
Versions   other words or another record are another version: docs/privacy/formats.md.
"""

import hashlib
import json
import re
from typing import Any

from hushrank.privacy.ledger.currency import canonical
from hushrank.privacy.records import NEWER
from hushrank.report.statement_ledger import LedgerRecord
from hushrank.report.statement_record import ModelRecord

FORMAT, VERSION = "hushrank privacy statement", 1

_ANNOUNCED = "The record in full, as JSON:"
_SEAL = re.compile("\nSHA-256 of all lines above: ([0-9a-f]{64})")

KINDS: dict[str, type[ModelRecord] | type[LedgerRecord]] = {kind.kind: kind for kind in (ModelRecord, LedgerRecord)}


def write_chained(record: ModelRecord | LedgerRecord) -> str:
    """The text of a record, under its hash."""
    first, *others = record.objects()
    header = {"format": FORMAT, "version": VERSION, **first}
    lines = [*record.words(), _ANNOUNCED, *map(canonical, (header, *others))]
    body = "\n".join(lines)
    return f"{body}\nSHA-256 of all lines above: {digest(body)}"


def hash_of(text: str) -> str:
    """The hash in the last line of a chained text, if it is right; else ValueError."""
    body, stated = _split(text)
    if digest(body) != stated:
        raise ValueError("it was changed or damaged: its chained part does not match its hash")
    return stated


def read_chained(text: str) -> ModelRecord | LedgerRecord:
    """The record in a text that `write_chained` wrote; ValueError for any other."""
    hash_of(text)
    words, announced, lines = _split(text)[0].partition(f"\n{_ANNOUNCED}\n")
    if not announced:
        raise ValueError("it has no record")
    objects = [_read_object(line) for line in lines.split("\n")]
    record = KINDS[_kind_of(objects[0])].from_objects(objects)
    record.check()
    if words != "\n".join(record.words()):
        raise ValueError("its words contradict its record")
    return record


def _split(text: str) -> tuple[str, str]:
    found = _SEAL.search(text, max(0, text.rfind("\n")))
    if found is None or found.end() != len(text):
        raise ValueError("it has no hash at the end of its privacy_parameters_description")
    return text[: found.start()], found[1]


def digest(body: str) -> str:
    """SHA-256 of a text."""
    return hashlib.sha256(body.encode("utf-8", "surrogatepass")).hexdigest()


def _read_object(line: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
        if not isinstance(value, dict) or canonical(value) != line:
            raise ValueError
    except (ValueError, RecursionError):
        raise ValueError("its record is not written as hushrank writes it") from None
    return value


def _kind_of(header: dict[str, Any]) -> str:
    """The kind of the record, and nothing of the format left in its first object."""
    form, version, kind = header.pop("format", None), header.pop("version", None), header.get("kind")
    if form != FORMAT or type(version) is not int or version < 1:
        raise ValueError("its record is not that of a statement")
    if version > VERSION:
        raise ValueError(f"it was {NEWER}: version {version}; this one reads up to {VERSION}")
    if kind not in list(KINDS):
        raise ValueError("its record is of no kind that is known")
    return str(kind)
