"""Blocks that somebody else makes, one after the other: an iterator, read once, or a function that returns one."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from hushrank.data.lazy_blocks import LazyBlocks
from hushrank.data.source import Piece
from hushrank.exceptions import InvalidParameter


def is_stream(data: Any) -> bool:
    """Whether `data` is an iterator or a function."""
    return isinstance(data, Iterator) or callable(data)


class BlockStream:
    """Blocks of a stream, of which the first can be looked at before all of them are read.

    Parameters
    ----------
    source : iterator or callable
        The blocks, or a function without arguments that returns them anew each time.
    owner : str
        Who asks, for error messages.

    Attributes
    ----------
    can_repeat : bool
        Whether the blocks can be read more than once.

    Examples
    --------
    >>> stream = BlockStream(iter(["a", "b"]), "example")
    >>> stream.peek(), list(stream.blocks())
    ('a', ['a', 'b'])
    """

    def __init__(self, source: Any, owner: str) -> None:
        self.can_repeat = not isinstance(source, Iterator)
        self._source, self._owner = source, owner
        self._first: list[Any] = []  # a one-pass source must not lose the block peeked at
        self._is_fresh = True

    def peek(self) -> Any:
        """The first block; to be called once, before `blocks`."""
        blocks = self._start()
        if self.can_repeat and blocks is self._source():
            got = "one that returned the same iterator twice"
            raise InvalidParameter(self._owner, "X", "a function that returns the blocks anew each time", got)
        try:
            first = next(blocks)
        except StopIteration:
            raise InvalidParameter(self._owner, "X", "blocks, at least one of them", "none") from None
        if not self.can_repeat:
            self._first = [first]
        return first

    def blocks(self) -> Iterator[Any]:
        """All blocks."""
        if not self.can_repeat and not self._is_fresh:
            raise InvalidParameter(self._owner, "X", "data that can be read again", "an iterator read before")
        self._is_fresh = False
        return self._all()

    def pieces(self, make: Callable[[Any], Any]) -> list[Piece] | None:
        """Pieces of a collection of Dask, of which `make` makes sources or origins; None for all other blocks."""
        return self._source.pieces(make) if isinstance(self._source, LazyBlocks) else None

    def _all(self) -> Iterator[Any]:
        if self._first:
            yield self._first.pop()
        yield from self._start()

    def _start(self) -> Iterator[Any]:
        blocks = self._source() if self.can_repeat else self._source
        if not isinstance(blocks, Iterable):
            raise InvalidParameter(self._owner, "X", "a function that returns an iterator of blocks", type(blocks))
        return iter(blocks)
