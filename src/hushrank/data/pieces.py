"""How data fall into pieces: copies of a source that are narrowed to a part, and sources on pieces of their origin."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from hushrank.data.source import Piece


def hold(part: Any, n_entries: int | None = None, path: Any = None) -> Piece:
    """A piece that is a source, or an origin, which can be pickled as it is: what was settled is not settled anew.

    Examples
    --------
    >>> hold("part", 3).read()
    'part'
    """
    return Piece(partial(_give, part), (), n_entries, path=path)


def pieces_on(pieces: list[Piece] | None, make: Callable[[Any], Any]) -> list[Piece] | None:
    """Pieces of what `make`, which can be pickled, puts on the pieces of an origin; None where that has none.

    Examples
    --------
    >>> [piece] = pieces_on([hold(7, 1)], str)
    >>> piece.read(), piece.n_entries
    ('7', 1)
    """
    if pieces is None:
        return None
    return [replace(piece, read=partial(_put, make, piece.read)) for piece in pieces]


def _give(part: Any) -> Any:
    return part


def _put(make: Callable[[Any], Any], read: Callable[..., Any], *values: Any) -> Any:
    return make(read(*values))
