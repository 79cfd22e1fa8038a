"""Statements as YAML: written so that people can fill in what is missing, and read as if a stranger had written them.

Read       texts and mappings are built, and nothing else: no tags, anchors, aliases or lists, no name twice or beside
           those of the registry, a bounded size. A word is true or false, or a number, only where the registry asks
           for one.
Ends       of lines may be those of Windows; others that YAML would take for one are refused, so that no byte of the
           chained part can change unnoticed.
"""

import math
import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from hushrank.exceptions import StatementError
from hushrank.report.statement import Statement
from hushrank.report.statement_fields import FIELDS, FLAG, NUMBER, say_name

MOST_BYTES = 2**23
"""Of a file: a ledger of more than ten thousand charges."""

_WIDTH = 100
_LONGEST_REASON = 300
_OTHER_ENDS = re.compile("\r(?!\n)|[\x85\u2028\u2029]")
_PAGE = re.compile("\ufeff?\\s*<[!a-zA-Z]")
_FLAGS = {"true": True, "false": False}
_DECIMAL = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]*)?([eE][-+]?[0-9]+)?")  # 010 is eight to other readers of YAML
_LOADER: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)  # the same events, some twenty times as fast


class _Writer(yaml.SafeDumper):
    """Texts of several lines are written line by line."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _write_text(writer: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return writer.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Writer.add_representer(str, _write_text)


def to_yaml(statement: Statement) -> str:
    """The file of a statement, which `read_yaml` takes; StatementError for one that is too large.

    Examples
    --------
    >>> import numpy as np, hushrank as hr
    >>> from hushrank.report.statement import model_statement
    >>> pca = hr.PrivatePCA(1, row_norm=1.0, epsilon=1.0).fit(np.eye(3))
    >>> text = to_yaml(model_statement(pca))
    >>> read_yaml(text).event == pca.privacy_.event, read_yaml(text).budget.epsilon
    (True, 1.0)
    """
    text = yaml.dump(dict(statement.fields), Dumper=_Writer, sort_keys=False, allow_unicode=True, width=_WIDTH)
    if len(text.encode()) > MOST_BYTES:
        raise StatementError(f"this statement has more than {MOST_BYTES >> 20} MB: its history is too long for one.")
    return text


def read_statement(path: str | os.PathLike[str]) -> Statement:
    """Read and verify the file of a statement; StatementError for any other, and where one contradicts itself.

    A hash inside a file shows damage and careless edits. Somebody who makes it anew can state anything that agrees with
    itself: compare a statement with its model or ledger, or with a hash that was published elsewhere.
    """
    return read_yaml(_read_text(Path(path)), str(path))


def read_yaml(text: str, name: str = "this") -> Statement:
    """The verified statement in a text; `name` is how errors call it."""
    try:
        if _PAGE.match(text):
            raise ValueError("it is a page for people; its statement is the file in YAML")
        other = _OTHER_ENDS.search(text)
        if other:
            raise ValueError(f"it has a character {other[0]!r}, which could hide an edit")
        return Statement.from_fields(_build(text))
    except yaml.YAMLError as error:
        raise StatementError(f"{name} is no privacy statement: {_say_problem(error)}.") from error
    except Exception as error:  # whatever a stranger's file makes a check raise, it is no statement
        reason = " ".join(f"{error}".split()).rstrip(".") or type(error).__name__
        raise StatementError(f"{name} is no privacy statement in order: {reason[:_LONGEST_REASON]}.") from error


def _read_text(path: Path) -> str:
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # before it is opened: a pipe would wait for a writer
            raise OSError(0, "it is not an ordinary file")
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise StatementError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}.") from error
    if len(data) > MOST_BYTES:
        raise StatementError(f"{path} is no privacy statement: it has more than {MOST_BYTES >> 20} MB.")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise StatementError(f"{path} is no privacy statement: it is not text in UTF-8.") from None


def _build(text: str) -> dict[str, Any]:
    events = yaml.parse(text, Loader=_LOADER)
    kinds = (yaml.StreamStartEvent, yaml.DocumentStartEvent)
    if not all(isinstance(next(events), kind) for kind in kinds):
        raise ValueError("it is empty")
    fields = _build_node(next(events), events, FIELDS)
    ends = [type(event) for event in events]
    if ends != [yaml.DocumentEndEvent, yaml.StreamEndEvent]:
        raise ValueError("it has more than one document")
    if not isinstance(fields, dict):
        raise ValueError("it has no fields")
    return fields


def _build_node(event: Any, events: Iterator[Any], kind: Any) -> Any:
    """The value that begins with an event: a text, or a dict of such values; nothing is read on after what is wrong."""
    if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
        raise ValueError(f"line {_line(event)} has an anchor or an alias, which a statement has not")
    if event.tag is not None:
        raise ValueError(f"line {_line(event)} has a tag, which a statement has not")
    if isinstance(event, yaml.ScalarEvent):
        return _to_value(event.value, kind) if event.implicit[0] else event.value
    if not isinstance(event, yaml.MappingStartEvent):
        raise ValueError(f"line {_line(event)} has a list, which a statement has not")
    if not isinstance(kind, Mapping):
        raise ValueError(f"line {_line(event)} has fields inside of what holds none")
    found: dict[str, Any] = {}
    for key in events:
        if isinstance(key, yaml.MappingEndEvent):
            break
        if not isinstance(key, yaml.ScalarEvent):
            raise ValueError(f"line {_line(key)} has something else than the name of a field")
        name = _build_node(key, events, None)
        if name in found:
            raise ValueError(f"line {_line(key)} has the field {say_name(name)} a second time")
        if name not in kind:
            raise ValueError(f"line {_line(key)}: {say_name(name)} is no field of the registry")
        found[name] = _build_node(next(events), events, kind[name])
    return found


def _to_value(word: str, kind: Any) -> Any:
    """A word without quotes: a flag or a number where the registry asks for one, and else a text as it stands."""
    if kind == FLAG:
        return _FLAGS.get(word, word)
    if kind == NUMBER and _DECIMAL.fullmatch(word):
        number = float(word)
        return number if math.isfinite(number) else word
    return word


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1


def _say_problem(error: yaml.YAMLError) -> str:
    """What is wrong and where, in one line and without a piece of the file."""
    problem, mark = getattr(error, "problem", None), getattr(error, "problem_mark", None)
    where = "" if mark is None else f" in line {mark.line + 1}"
    return f"{problem or 'it is not text that YAML holds'}{where}"[:_LONGEST_REASON]
