"""One entry for updates: whatever holds them becomes `Updates`.

What may be refused (kinds, types, shapes, lengths) is checked here, before the data are charged for. Values are never
refused, see `hushrank.data.updates.source`.
"""

from collections.abc import Callable
from numbers import Integral
from os import PathLike
from typing import Any

import scipy.sparse

from hushrank.data.frames import is_table
from hushrank.data.lazy_blocks import LazyBlocks, is_lazy_collection
from hushrank.data.source import Source
from hushrank.data.streams import is_stream
from hushrank.data.updates.block_streams import BlockUpdates
from hushrank.data.updates.entries import read_table, read_vectors
from hushrank.data.updates.files import read_update_file
from hushrank.data.updates.matrices import read_matrix
from hushrank.data.updates.source import Origin, UpdateChunk, Updates
from hushrank.exceptions import InvalidParameter

__all__ = ["UpdateChunk", "Updates", "check_shape", "read_updates"]

_LARGEST_SIZE = 2**63 - 1
# What may hold all updates.
_KINDS: dict[str, Callable[[Any], bool]] = {
    "source": lambda data: isinstance(data, Source),
    "matrix": scipy.sparse.issparse,
    "path": lambda data: isinstance(data, str | PathLike),
    "table": is_table,
    "stream": is_stream,
}


def read_updates(
    rows: Any,
    columns: Any = None,
    deltas: Any = None,
    users: Any = None,
    *,
    shape: Any,
    owner: str,
    needs_users: bool = False,
) -> Updates:
    """Prepare updates for reading; checks kinds, types, shapes and lengths, and refuses no values.

    Parameters
    ----------
    rows, columns : array-like of shape (n_updates,), or column of a table
        Integers, which entry of the matrix is updated; counted from 0. Updates outside the matrix are invalid.
        In place of `rows`, all of them may be given by

        - a SciPy sparse matrix of the public shape: each of its stored entries is one update, repeated ones as well;
        - a pandas, polars or pyarrow table with the columns row, column (or col), delta and, if it is needed, user;
        - the path of a CSV or Parquet file with such columns, or of a folder of them, or its address (s3://...);
        - an iterator of blocks, or a function that returns one; a block is a tuple of three vectors (of four, with
          users), such a table or such a matrix. Blocks may be of different kinds;
        - a dask DataFrame with such columns;
        - `Updates` of this shape, which are returned as they are.
    deltas : array-like of shape (n_updates,), or column of a table
        Real numbers, what is added to the entry. An update by what is not finite is invalid.
    users : array-like of shape (n_updates,), or column of a table, optional
        Whose update it is: int64, uint64 or str ids. One without a user is invalid.
    shape : pair of int
        Rows and columns of the matrix, public.
    owner : str
        Who asks, for error messages.
    needs_users : bool
        Whether every update needs a user. If not, `users` must be None, and columns of users are not read.

    Returns
    -------
    updates : Updates
        `updates.chunks(most)` yields all of them (`UpdateChunk`), and `updates.blocks(max_rows)` the valid ones as
        blocks (`UpdateBlock`).

    Raises
    ------
    InvalidParameter
        If data or shape are of another kind, type or length. The message shows no values. Of streams only the first
        block is checked at once; a damaged file may be noticed when it is read.

    Examples
    --------
    >>> updates = read_updates([0, 2, 0], [1, 9, 0], [0.5, 1.0, -2.0], shape=(3, 4), owner="example")
    >>> [chunk] = updates.chunks()
    >>> chunk.rows.tolist(), chunk.columns.tolist(), chunk.deltas.tolist()
    ([0, 2, 0], [1, 9, 0], [0.5, 1.0, -2.0])
    >>> [block] = updates.blocks()
    >>> block.rows.tolist(), block.columns.tolist(), block.deltas.tolist()
    ([0, 0], [1, 0], [0.5, -2.0])
    """
    sizes = check_shape(shape, owner)
    rows = LazyBlocks(rows, owner=owner) if is_lazy_collection(rows) else rows
    kind = _kind_of(rows)
    if kind is None:
        return Updates(read_vectors(rows, columns, deltas, users, needs_users, owner), sizes)
    for name, given in (("columns", columns), ("deltas", deltas), ("users", users)):
        if given is not None:
            raise InvalidParameter(owner, name, f"None beside a {kind}", type(given).__name__)
    if kind == "source":
        return _read_source(rows, sizes, needs_users, owner)
    return Updates(_origin_of(kind, rows, sizes, needs_users, owner), sizes)


def check_shape(shape: Any, owner: str) -> tuple[int, int]:
    """Rows and columns of a matrix as integers, or a refusal."""
    is_pair = isinstance(shape, tuple | list) and len(shape) == 2
    if not is_pair or not all(_is_size(size) for size in shape):
        raise InvalidParameter(owner, "shape", "a pair of integers >= 1, rows and columns", shape)
    return int(shape[0]), int(shape[1])


def _is_size(size: Any) -> bool:
    return isinstance(size, Integral) and not isinstance(size, bool) and 1 <= int(size) <= _LARGEST_SIZE


def _kind_of(data: Any) -> str | None:
    """What holds all updates; None if it is one vector of several."""
    return next((kind for kind, is_so in _KINDS.items() if is_so(data)), None)


def _origin_of(kind: str, data: Any, shape: tuple[int, int], needs_users: bool, owner: str) -> Origin:
    if kind == "matrix":
        return read_matrix(data, shape, needs_users, owner)
    if kind == "table":
        return read_table(data, needs_users, owner)
    if kind == "path":
        return read_update_file(data, needs_users, owner)
    return BlockUpdates(data, shape, needs_users, owner)


def _read_source(source: Source, shape: tuple[int, int], needs_users: bool, owner: str) -> Updates:
    if not isinstance(source, Updates):
        requirement = "updates: vectors, a sparse matrix, a table, a path or a stream of blocks"
        raise InvalidParameter(owner, "rows", requirement, type(source).__name__)
    if source.shape != shape:
        raise InvalidParameter(owner, "rows", f"updates of a matrix of shape {shape}", f"shape {source.shape}")
    if needs_users and not source.has_users:
        raise InvalidParameter(owner, "rows", "updates with users", "updates without")
    return source
