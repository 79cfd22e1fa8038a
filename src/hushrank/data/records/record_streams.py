"""Records in blocks that somebody else makes: tuples (X, y, users) or tables with named columns, one after the other.

The first block is looked at when the origin is made, before the data are charged for, and tells the schema, but not
the precision, which is always float64. In later blocks no value can raise: where types differ, they are read cell by
cell. Records of one user may lie in many blocks.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from hushrank.data.frames import is_table
from hushrank.data.id_arrays import as_text
from hushrank.data.records.columns import ONE_A_PERSON
from hushrank.data.records.features import Features, PairFeatures
from hushrank.data.records.in_memory import MemoryOrigin, read_in_memory
from hushrank.data.records.loose_cells import column_cells, loose_ids, loose_numbers
from hushrank.data.records.origins import Batch, Origin
from hushrank.data.source import PIECE_ROWS, Piece
from hushrank.data.streams import BlockStream
from hushrank.data.vectors import to_dtype
from hushrank.exceptions import InvalidParameter

_BLOCKS = "blocks that are tuples (X, y, users) or tables"
_BLOCKS_OF_ONE = "blocks that are tuples (X, y) or tables"

_TOGETHER, _APART = "blocks with a record for each answer and user", "a block of parts that do not belong together"


class StreamOrigin(Origin):
    """Records of a stream of blocks.

    Parameters
    ----------
    source : iterator or callable
        The blocks, or a function without arguments that returns them anew each time.
    y, users : str or None
        Names of columns, if blocks are tables. With `ONE_A_PERSON` as users, there are none in the blocks either.
    features : sequence of column names, optional
        Columns of X, if blocks are tables.
    owner : str
        Who asks, for error messages.

    Examples
    --------
    >>> blocks = iter([([[1.0], [2.0]], [0.5, 1.5], ["ann", "bob"]), ([[3.0]], [2.5], ["ann"])])
    >>> origin = StreamOrigin(blocks, None, None, None, "example")
    >>> [(batch.y.tolist(), batch.ids.to_pylist()) for batch in origin.batches(100, origin.dtype)]
    [([0.5, 1.5], ['ann', 'bob']), ([2.5], ['ann'])]
    """

    def __init__(self, source: Any, y: Any, users: Any, features: Sequence[Hashable] | None, owner: str) -> None:
        for name, given in (("y", y), ("users", users)):
            if given is not None and given is not ONE_A_PERSON and not isinstance(given, str):
                requirement = "the name of a column of the blocks, or None"
                raise InvalidParameter(owner, name, requirement, type(given).__name__)
        self._y, self._users, self._features, self._owner = y, users, features, owner
        self._stream = BlockStream(source, owner)
        first = self._stream.peek()
        self._check_tuple(first)
        self._n_parts = 0 if is_table(first) else len(first)
        head = self._read(first)
        # Not the type of the first block: one person's number in it would decide how those of all others are rounded.
        super().__init__(head.shape, np.dtype(np.float64), head.has_users, None, head.columns)
        self.parts, self.can_repeat = head.parts, self._stream.can_repeat
        if head.roles is not None:  # later tables have these columns, in any order and with others
            self._y, self._features = head.roles.y, head.roles.features
            self._users = users if users is ONE_A_PERSON else head.roles.users

    def batches(self, max_rows: int, dtype: np.dtype[Any]) -> Iterator[Batch]:
        """The blocks, large ones in pieces; ids are texts, whatever they are in a block."""
        blocks = self._stream.blocks()  # raises at once if they cannot be read again
        return self._pieces(blocks, max_rows, dtype)

    def pieces(self, enough: int = PIECE_ROWS) -> list[Piece] | None:
        """The partitions of a collection of Dask."""
        return self._stream.pieces(self._maker())

    def _maker(self) -> Callable[[Any], Origin]:
        """Makes an origin of other blocks, with the columns that were settled; can be pickled."""
        terms: dict[str, Any] = {"y": self._y, "users": self._users, "features": self._features, "owner": self._owner}
        return partial(StreamOrigin, **terms)

    def _pieces(self, blocks: Iterator[Any], max_rows: int, dtype: np.dtype[Any]) -> Iterator[Batch]:
        for block in blocks:
            if not _has_nothing(block):  # an empty list has neither types nor columns
                yield from self._convert(self._check(block), max_rows, dtype)
            del block  # before the next one is made

    def _convert(self, records: MemoryOrigin, max_rows: int, dtype: np.dtype[Any]) -> Iterator[Batch]:
        """Batches of a block in the types of the stream.

        They are copies: whoever makes the stream may fill the same arrays again while threads still read them.
        """
        for batch in records.batches(max_rows, records.dtype):
            ids = as_text(batch.ids) if self.has_users else None
            yield Batch(to_dtype(batch.X, dtype).copy(), batch.y.copy(), ids)

    def _check(self, block: Any) -> MemoryOrigin:
        """Records of a block, if it is like the first."""
        if (not self._n_parts) != is_table(block) or (self._n_parts and not _is_tuple(block, self._n_parts)):
            expected = f"tuples of {self._n_parts}" if self._n_parts else "tables"
            got = f"a tuple of {len(block)}" if isinstance(block, tuple) else type(block).__name__
            raise InvalidParameter(self._owner, "X", f"blocks that are {expected}, as the first", got)
        try:
            records = self._read(block)
        except InvalidParameter:
            # One cell may have changed the type of a column, and values never raise after the first block.
            records = self._read_loosely(block)
        if (records.shape, records.parts) != (self.shape, self.parts):
            requirement = f"blocks whose records have the shape {self.parts or self.shape}"
            got = f"a block with {records.parts or records.shape}"
            raise InvalidParameter(self._owner, "X", requirement, got)
        return records

    def _check_tuple(self, block: Any) -> None:
        """Refuse a first block that is neither a table nor a tuple of arrays."""
        if is_table(block):
            return
        may_have_users = self._users is not ONE_A_PERSON
        if not _is_tuple(block, 2) and not (may_have_users and _is_tuple(block, 3) and block[2] is not None):
            got = f"a tuple of {len(block)}" if isinstance(block, tuple) else type(block).__name__
            raise InvalidParameter(self._owner, "X", _BLOCKS if may_have_users else _BLOCKS_OF_ONE, got)
        features = None if is_table(block[0]) else self._features
        for name, given in (("y", self._y), ("users", self._users), ("features", features)):
            if given is not None and given is not ONE_A_PERSON:
                raise InvalidParameter(self._owner, name, "None beside blocks that are tuples", given)

    def _parts(self, block: Any) -> tuple[Any, Any, Any]:
        """X, y and users of a block: columns of a table by name."""
        return (*block, self._users)[:3] if self._n_parts else (block, self._y, self._users)

    def _read(self, block: Any) -> MemoryOrigin:
        X, y, users = self._parts(block)
        return read_in_memory(X, y, users, self._features if is_table(X) else None, self._owner)

    def _read_loosely(self, block: Any) -> MemoryOrigin:
        """Records of a block whose types are not those of the first, cell by cell."""
        (X, y, users), owner = self._parts(block), self._owner
        numbers = self._loose_features(X)
        answers = loose_numbers(column_cells(X, y, owner) if isinstance(y, str) else y, "y", owner)
        ids = None
        if self.has_users:
            ids = loose_ids(column_cells(X, users, owner) if isinstance(users, str) else users, owner)
        if answers.shape != (len(numbers),) or (ids is not None and len(ids) != len(answers)):
            raise InvalidParameter(owner, "X", _TOGETHER, _APART)
        return MemoryOrigin(numbers, answers, ids)

    def _loose_features(self, X: Any) -> Features | PairFeatures:
        numbers = loose_numbers(X, "X", self._owner, self._features)
        if numbers.ndim < 2:
            raise InvalidParameter(self._owner, "X", _TOGETHER, _APART)
        return Features(numbers)


def _is_tuple(block: Any, n_parts: int) -> bool:
    return isinstance(block, tuple) and len(block) == n_parts


def _has_nothing(block: Any) -> bool:
    """Whether it is a tuple of empty lists or arrays, or of pairs of them."""
    if not isinstance(block, tuple):
        return False
    parts = [part for one in block for part in (one if isinstance(one, tuple) else (one,))]
    return all(_is_empty(part) for part in parts)


def _is_empty(part: Any) -> bool:
    """Whether a list or an array has no entries; those of a list are not looked at."""
    return part.shape[:1] == (0,) if isinstance(part, np.ndarray) else isinstance(part, list) and not part
