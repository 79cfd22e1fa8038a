"""People whose rows lie in many pieces of the data, grouped by others at one place each.

A source of whole people says how its rows are sent and joined (`Grouping`); whoever moves them, an engine of a cluster,
keeps what was joined (`Groups`). Nothing here moves anything.
"""

from collections.abc import Callable, Iterator
from typing import Any, Protocol

from hushrank.data.parcels import Rows
from hushrank.data.source import Piece, Source


class Part(Protocol):
    """Whole people of one place, joined; it can be pickled."""

    @property
    def n_people(self) -> int: ...

    @property
    def n_bytes(self) -> int: ...

    def source(self) -> Source:
        """Their data in blocks, without reading anything."""
        ...

    def notes(self) -> Any:
        """What the data holder is told about how they were read; notes of several parts can be added."""
        ...


class Grouping(Protocol):
    """How rows of people are sent and joined; it can be pickled."""

    def rows(self, origin: Any) -> Iterator[Rows]:
        """Ids and numbers of all rows of an origin, some at a time."""
        ...

    def join(self, rows: Iterator[Rows], n_left_out: int) -> Part:
        """Whole people from all rows of one place, whatever their order; so many more rows had no id."""
        ...


class Groups(Protocol):
    """Parts that lie elsewhere; made when something about them is first asked for."""

    def n_people(self) -> int:
        """Of all parts."""
        ...

    def notes(self) -> Any:
        """Of all parts together."""
        ...

    def parts(self) -> Iterator[Part]:
        """One part after the other, brought here."""
        ...

    def pieces(self) -> list[Piece]:
        """Pieces whose sources have the people of each part."""
        ...

    def forget(self) -> None:
        """Make the parts anew when they are next asked for: where they were they are lost."""


Group = Callable[[Grouping, list[Piece]], Groups]
"""Moves rows of pieces, whose `read` gives origins, to one place for each person."""


def source_of(part: Part) -> Source:
    """What reads a part where it lies."""
    return part.source()
