"""Updates in blocks that somebody else makes, one after the other: tuples of vectors, tables and sparse matrices.

The first block is looked at when the origin is made, before the data are charged for. In later blocks no value can
raise: where types differ from what they must be, they are read cell by cell.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse
from numpy.typing import NDArray

from hushrank.data.frames import is_table
from hushrank.data.id_arrays import as_text
from hushrank.data.records.loose_cells import column_cells, loose_ids, loose_numbers
from hushrank.data.source import PIECE_ROWS, Piece
from hushrank.data.streams import BlockStream
from hushrank.data.text_values import to_integers
from hushrank.data.updates.entries import Entries, check_users, read_table, read_vectors, table_columns
from hushrank.data.updates.matrices import read_matrix
from hushrank.data.updates.source import UpdateChunk
from hushrank.exceptions import InvalidParameter

_BLOCKS = "blocks that are tuples (rows, columns, deltas), with users where they are needed, tables or sparse matrices"


class BlockUpdates:
    """Updates of a stream of blocks.

    Parameters
    ----------
    source : iterator or callable
        The blocks, or a function without arguments that returns them anew each time.
    shape : pair of int
        Rows and columns of the matrix.
    needs_users : bool
        Whether every update needs a user.
    owner : str
        Who asks, for error messages.

    Examples
    --------
    >>> stream = BlockUpdates(iter([([0], [1], [0.5]), ([2, 0], ["x", 1], [1, 2])]), (3, 3), False, "example")
    >>> [(chunk.rows.tolist(), chunk.columns.tolist()) for chunk in stream.chunks(10)]
    [([0], [1]), ([2, 0], [-1, 1])]
    """

    n_updates = None

    def __init__(self, source: Any, shape: tuple[int, int], needs_users: bool, owner: str) -> None:
        self.has_users = needs_users
        self._shape, self._owner = shape, owner
        self._stream = BlockStream(source, owner)
        self._read(self._stream.peek())
        self.can_repeat = self._stream.can_repeat

    def chunks(self, most: int) -> Iterator[UpdateChunk]:
        """The blocks, large ones in pieces; ids are texts, whatever they are in a block."""
        blocks = self._stream.blocks()  # raises at once if they cannot be read again
        return self._pieces(blocks, most)

    def pieces(self, enough: int = PIECE_ROWS) -> list[Piece] | None:
        """The partitions of a collection of Dask."""
        terms: dict[str, Any] = {"shape": self._shape, "needs_users": self.has_users, "owner": self._owner}
        return self._stream.pieces(partial(BlockUpdates, **terms))

    def _pieces(self, blocks: Iterator[Any], most: int) -> Iterator[UpdateChunk]:
        for block in blocks:
            yield from self._chunks_of(block, most)
            del block  # before the next one is made

    def _chunks_of(self, block: Any, most: int) -> Iterator[UpdateChunk]:
        for chunk in self._read_any(block).chunks(most):
            users = None if chunk.users is None else as_text(chunk.users)
            yield UpdateChunk(chunk.rows, chunk.columns, chunk.deltas, users)

    def _read_any(self, block: Any) -> Entries:
        try:
            return self._read(block)
        except InvalidParameter:
            # One cell may have changed the type of a vector, and values never raise after the first block.
            return self._read_loosely(block)

    def _read(self, block: Any) -> Entries:
        if scipy.sparse.issparse(block):
            return read_matrix(block, self._shape, self.has_users, self._owner)
        if is_table(block):
            return read_table(block, self.has_users, self._owner)
        return read_vectors(*self._vectors(block), self.has_users, self._owner)

    def _read_loosely(self, block: Any) -> Entries:
        """Updates of a block whose types are not what they must be, cell by cell; only its form is refused."""
        owner = self._owner
        if scipy.sparse.issparse(block):
            return read_matrix(block, self._shape, self.has_users, owner, loosely=True)
        if is_table(block):
            names = table_columns(block, self.has_users, owner)
            parts = [*(column_cells(block, name, owner) for name in names), None][:4]
        else:
            parts = list(self._vectors(block))
        rows, columns = (
            _loose_indices(part, name, owner) for part, name in zip(parts, ("rows", "columns"), strict=False)
        )
        deltas = loose_numbers(parts[2], "deltas", owner)
        users = loose_ids(parts[3], owner) if self.has_users else None
        lengths = {len(part) for part in (rows, columns, users) if part is not None}
        if deltas.ndim != 1 or lengths != {len(deltas)}:
            got = "a block of parts that do not belong together"
            raise InvalidParameter(owner, "rows", "blocks whose vectors are of one length", got)
        return Entries(rows, columns, deltas, users)

    def _vectors(self, block: Any) -> tuple[Any, Any, Any, Any]:
        if not isinstance(block, tuple) or len(block) not in (3, 4):
            got = f"a tuple of {len(block)}" if isinstance(block, tuple) else type(block).__name__
            raise InvalidParameter(self._owner, "rows", _BLOCKS, got)
        users = block[3] if len(block) == 4 else None
        check_users(users is not None, self.has_users, self._owner)
        return block[0], block[1], block[2], users


def _loose_indices(data: Any, name: str, owner: str) -> NDArray[np.int64]:
    """Integers among any cells, as numbers or written as ids are; -1 for all others."""
    if isinstance(data, np.ndarray) and data.dtype.kind == "c":  # one cell has made all of them complex
        data = np.where(data.imag == 0, data.real, np.nan)
    try:
        texts = loose_ids(data, owner)
    except InvalidParameter as error:
        raise InvalidParameter(owner, name, "a vector of integers in every block", type(data).__name__) from error
    return np.asarray(to_integers(texts, pa.int64()).fill_null(-1).to_numpy())
