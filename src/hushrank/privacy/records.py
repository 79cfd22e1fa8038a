"""How frozen records are stored while they gain fields over the years: one rule for events, guarantees and terms.

Missing    a field that is not there has its default; without a default the record is refused.
Unknown    a field that this version does not know is refused: it may change what is promised.
Later      a field that was added after the first format is not written while it has its default, so that texts, their
           hashes and older readers stay as they were.
Docs       docs/privacy/formats.md
"""

from collections.abc import Mapping
from dataclasses import MISSING, Field, field, fields
from typing import Any

from hushrank.exceptions import InvalidParameter

NEWER = "made by a newer version of hushrank"


def later(default: Any) -> Any:
    """A field of a dataclass that was added after the first format."""
    return field(default=default, metadata={"later": True})


def to_fields(record: Any) -> dict[str, Any]:
    """Values by name, as far as they are stored."""
    values = {line.name: getattr(record, line.name) for line in fields(record)}
    return {line.name: values[line.name] for line in fields(record) if not _is_left_out(line, values[line.name])}


def from_fields(kind: type[Any], stored: Mapping[str, Any], owner: str) -> dict[str, Any]:
    """Values to make a `kind` from, or InvalidParameter where one without a default is missing or one is unknown.

    Examples
    --------
    >>> from hushrank.privacy.events import Pure
    >>> from_fields(Pure, {"epsilon": 0.5}, "from_dict")
    {'epsilon': 0.5}
    >>> from_fields(Pure, {"epsilon": 0.5, "color": "red"}, "from_dict")
    Traceback (most recent call last):
    hushrank.exceptions.InvalidParameter: description of from_dict must be ...: 'color' was made by a newer version ...
    """
    names = [line.name for line in fields(kind)]
    described = f"a {kind.__name__} of {', '.join(names) or 'no fields'}"
    unknown = [name for name in stored if name not in names]
    if unknown:
        raise InvalidParameter(owner, "description", f"{described}: {unknown[0]!r:.40} was {NEWER}", stored)
    if any(line.default is MISSING and line.name not in stored for line in fields(kind)):
        raise InvalidParameter(owner, "description", described, stored)
    return dict(stored)


def _is_left_out(line: Field[Any], value: Any) -> bool:
    return bool(line.metadata.get("later", False)) and bool(value == line.default)
