"""Tables that list edges of a graph, or entries of a matrix: told by names and first cells. NOT PRIVATE."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hushrank.data.cell_forms import count_forms, is_text, numbers_of
from hushrank.data.column_counts import is_no_quantity
from hushrank.data.person_columns import count_people, may_be_person

Cells = Mapping[str, pa.Array]  # of the first records, by column

_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_NOISE = re.compile(r"_?(?:id|no|node|user|account|name|index|idx)\Z")
_ENDS = {
    "src": {"dst", "dest", "trg", "tgt", "target"},
    "source": {"target", "dest", "destination", "sink"},
    "from": {"to"},
    "follower": {"followee", "followed", "following"},
    "node1": {"node2"},
    "vertex1": {"vertex2"},
    "user1": {"user2"},
    "id1": {"id2"},
    "u": {"v"},
    "sender": {"receiver", "recipient"},
    "caller": {"callee"},
    "citing": {"cited"},
    "origin": {"destination", "dest"},
}
_WEIGHT = re.compile(r"(?:edge_)?(?:weight|w|delta|counts?|n|value|amount|rating|strength|trust|sign)\Z")
_AT_MOST_1 = re.compile(r"sign\Z")
_TIME = re.compile(r"(?:time|timestamp|ts|date|datetime|year)\Z")
_THING = re.compile(
    r"(?:hospital|procedure|clinic|doctor|drug|diagnosis|school|course|teacher|shop|store|branch|product|item|brand|"
    r"category|city|region|state|country|county|district|site|station|plant|department|sector|doc|document|term|word|"
    r"gene|sample|compound|cell_line|row|col|column)\Z"
)
_FEWEST, _MOST_COLUMNS = 20, 5  # records that tell anything, and columns of a list of entries
_REPEATED = 0.5  # different ids among all, at most


@dataclass(frozen=True, slots=True)
class Edges:
    """Columns of a list of edges.

    Attributes
    ----------
    ends : pair of str
    weight : str
        Empty where there is none.
    is_numbered : bool
        Whether ids are integers from 0 on.
    is_bounded : bool
        Whether weights are at most 1 by their name, or there are none.
    """

    ends: tuple[str, str]
    weight: str
    is_numbered: bool
    is_bounded: bool


@dataclass(frozen=True, slots=True)
class Entry:
    """Columns of a list of entries of a matrix: row, column and number; which of the first two is a person's, or ""."""

    names: tuple[str, str, str]
    user: str


def find_edges(cells: Cells) -> Edges | None:
    """The columns of edges; None for a table of another kind.

    Examples
    --------
    >>> find_edges({"FromNodeId": pa.array([0, 1]), "ToNodeId": pa.array([5, 0])}).ends
    ('FromNodeId', 'ToNodeId')
    >>> find_edges({"source": pa.array([0, 1]), "target": pa.array([5, 0]), "age": pa.array([5, 0])})
    """
    plain = {name: _plain(name) for name in cells}
    starts = [name for name in cells if _bare(plain[name]) in _ENDS]
    stops = [name for name in cells if starts and _bare(plain[name]) in _ENDS[_bare(plain[starts[0]])]]
    if len(starts) != 1 or len(stops) != 1 or starts == stops:
        return None
    others = [name for name in cells if name not in (*starts, *stops)]
    weights = [name for name in others if _WEIGHT.match(plain[name])]
    if len(weights) > 1 or any(not _TIME.match(plain[name]) for name in others if name not in weights):
        return None
    kinds = [_id_kind(cells[name]) for name in (*starts, *stops)]
    if not all(kinds):
        return None
    weight = weights[0] if weights else ""
    is_bounded = not weight or bool(_AT_MOST_1.match(plain[weight]))
    return Edges((starts[0], stops[0]), weight, set(kinds) == {"number"}, is_bounded)


def find_entry(cells: Cells) -> Entry | None:
    """Two columns of ids that come again and one number, as in hospital, procedure, bill; None for other tables.

    Texts are ids. Integers are, where their name says so: an age or a number of children is none.
    """
    if not 3 <= len(cells) <= _MOST_COLUMNS or len(next(iter(cells.values()))) < _FEWEST:
        return None
    ids = [name for name, column in cells.items() if _is_repeated_id(name, column)]
    numbers = [name for name, column in cells.items() if name not in ids and _is_number(name, column)]
    if len(ids) != 2 or len(numbers) != 1:
        return None
    users = [name for name in ids if may_be_person(name) and count_people(name, cells[name]) is not None]
    return Entry((ids[0], ids[1], numbers[0]), users[0] if len(users) == 1 else "")


def is_numbered(column: pa.Array) -> bool:
    """Whether all cells are integers from 0 on."""
    return _id_kind(column) == "number"


def _plain(name: str) -> str:
    return re.sub(r"[ .-]+", "_", _CAMEL.sub("_", name.strip())).lower()


def _bare(plain: str) -> str:
    """A name without what says that it is an id: from_node_id is from."""
    while (shorter := _NOISE.sub("", plain)) and shorter != plain:
        plain = shorter
    return re.sub(r"_(?=\d\Z)", "", plain)


def _id_kind(column: pa.Array) -> str:
    """Whether cells are ids: "number" for integers from 0 on, "text", or nothing."""
    numbers = numbers_of(column)
    if np.isfinite(numbers).all() and bool((numbers >= 0).all() and (numbers == np.rint(numbers)).all()):
        return "number"
    return "text" if is_text(column) and count_forms(column).causes == ["text"] else ""


def _is_repeated_id(name: str, column: pa.Array) -> bool:
    kind = _id_kind(column)
    if not kind or (kind == "number" and not is_no_quantity(name) and not _THING.match(_plain(name))):
        return False
    return bool(2 <= pc.count_distinct(column).as_py() <= _REPEATED * len(column))


def _is_number(name: str, column: pa.Array) -> bool:
    return not is_no_quantity(name) and bool(np.isfinite(numbers_of(column)).mean() > 0.5)
