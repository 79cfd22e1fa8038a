"""One entry for all kinds of data: arrays, sparse matrices, tables, files and iterators become `Rows`."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from os import PathLike
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from hushrank.data.frames import is_table, table_cells
from hushrank.data.lazy_blocks import LazyBlocks, is_lazy_collection
from hushrank.data.numbers import convert, to_complex, to_number
from hushrank.data.rows.arrays import Rows, check_real_rows, read_array, read_sparse
from hushrank.data.rows.file_rows import read_file
from hushrank.data.rows.table_rows import read_table
from hushrank.data.source import MAX_BLOCK_ROWS, PIECE_ROWS, Block, Piece, Source
from hushrank.data.sparse import check_indices, sparse_cells
from hushrank.data.streams import BlockStream, is_stream
from hushrank.exceptions import InvalidParameter

__all__ = ["MAX_BLOCK_ROWS", "Block", "Rows", "StreamRows", "read_rows"]

Columns = Sequence[Hashable] | None
Reader = Callable[[Any, str, Columns], Rows]
Kinds = tuple[tuple[Callable[[Any], bool], Reader], ...]


def read_rows(data: Any, *, owner: str, columns: Columns = None, allow_complex: bool = False) -> Rows:
    """Prepare data for reading in blocks; checks dtype, dimensions and columns, and reads no values.

    Parameters
    ----------
    data : array-like, sparse matrix, table, path, iterator or callable
        Numbers with one row for each person: a NumPy array or nested lists; a SciPy sparse matrix; a pandas,
        polars, pyarrow or other eager table; the path of a Parquet, CSV, npy or npz file or of a folder of Parquet
        or CSV files, or the address of such files elsewhere (s3://...);
        an iterator of arrays, sparse matrices or tables, read once, of which the first is read here; a
        function without arguments that returns such an iterator anew each time; a dask DataFrame or array.
    owner : str
        Who asks, for error messages.
    columns : sequence of column names, optional
        Columns of a table or file to read, in this order; all of them by default.
    allow_complex : bool, default False
        Whether complex arrays, sparse matrices and npy and npz files are read as well. A stream is then read as complex
        whatever its blocks are: one block must not decide how the others are read.

    Returns
    -------
    rows : Rows
        The rows; `rows.blocks(max_rows)` yields them as arrays of at most `max_rows` and 8192 rows, all of them
        complex if `rows.is_complex`, and real otherwise.

    Raises
    ------
    InvalidParameter
        If the data are of another kind, type or shape. The message shows no values.

    Examples
    --------
    >>> rows = read_rows([[1, 2], [3, 4], [5, 6]], owner="PrivatePCA")
    >>> rows.n_samples, rows.n_features, [len(block) for block in rows.blocks(2)]
    (3, 2, [2, 1])
    """
    if is_lazy_collection(data):
        data = LazyBlocks(data, owner=owner)
    if isinstance(data, Source):
        if not isinstance(data, Rows):
            raise InvalidParameter(owner, "X", "rows of numbers", type(data).__name__)
        rows = data
    else:
        read = _first_reader(_SOURCES, data)
        rows = StreamRows(data, owner, columns, allow_complex) if read is StreamRows else read(data, owner, columns)
    if not allow_complex:
        check_real_rows(rows, owner)
    return rows


class StreamRows(Rows):
    """Rows of blocks that someone else makes, one after the other; large ones are split.

    Parameters
    ----------
    source : iterator or callable
        The blocks, or a function without arguments that returns them anew each time.
    owner : str
        Who asks, for error messages.
    columns : sequence of column names, optional
        Columns to read if the blocks are tables.
    is_complex : bool, default False
        Whether all blocks are read as complex; otherwise all are real.
    """

    def __init__(self, source: Any, owner: str, columns: Columns = None, is_complex: bool = False) -> None:
        self._stream, self._owner, self._choice = BlockStream(source, owner), owner, columns
        self.can_repeat = self._stream.can_repeat
        head = _read_block(self._stream.peek(), owner, columns)
        if not is_complex:
            check_real_rows(head, owner)
        super().__init__(head.n_features, None, head.columns)
        self.is_complex = is_complex

    def blocks(self, max_rows: int = MAX_BLOCK_ROWS) -> Iterator[Block]:
        """The blocks, each in pieces of at most `max_rows` rows."""
        return self._pieces(self._stream.blocks(), max_rows)

    def pieces(self, enough: int = PIECE_ROWS) -> list[Piece] | None:
        """The partitions of a collection of Dask."""
        terms: dict[str, Any] = {"owner": self._owner, "columns": self._choice, "is_complex": self.is_complex}
        return self._stream.pieces(partial(StreamRows, **terms))

    def _pieces(self, blocks: Iterator[Any], max_rows: int) -> Iterator[Block]:
        for block in blocks:
            yield from self._split(block, max_rows)
            del block  # before the next one is made

    def _split(self, block: Any, max_rows: int) -> Iterator[Block]:
        """Pieces of a block; those of a real one are made complex where the stream is.

        They are copies: whoever makes the stream may fill the same array again while threads still read it.
        """
        rows = self._check(block)
        if rows.is_complex == self.is_complex:
            return (piece.copy() for piece in rows.blocks(max_rows))
        return (convert(piece, np.complex128) for piece in rows.blocks(self._block_rows(max_rows)))

    def _check(self, block: Any) -> Rows:
        """Rows of a block, if it has the columns of the first; tables may have them in another order."""
        try:
            rows = _read_block(block, self._owner, self._choice)
            if not self.is_complex:
                check_real_rows(rows, self._owner)
        except InvalidParameter:
            # One cell may have changed the type of a column, and values never raise after the first block.
            rows = _read_cells(block, self._owner, self.columns or self._choice, self.is_complex, self.n_features)
        if rows.columns and self.columns and rows.columns != self.columns:
            rows = _read_block(block, self._owner, self.columns)
        if rows.n_features != self.n_features:
            requirement, got = f"blocks of {self.n_features} columns", f"a block of {rows.n_features} columns"
            raise InvalidParameter(self._owner, "X", requirement, got)
        return rows


def _read_block(block: Any, owner: str, columns: Columns) -> Rows:
    """Rows of one block of a stream: a table, a sparse matrix or an array."""
    return _first_reader(_IN_MEMORY, block)(block, owner, columns)


def _read_cells(block: Any, owner: str, columns: Columns, is_complex: bool, n_features: int) -> Rows:
    """Rows of a block whose types are not those of numbers, cell by cell; a cell that is not a number is NaN."""
    if is_table(block):
        cells = table_cells(block, owner, columns)
    elif scipy.sparse.issparse(block):
        check_indices(block, owner)
        cells = sparse_cells(block, owner)
    elif isinstance(block, np.ndarray) and not isinstance(block, np.ma.MaskedArray):
        cells = block.astype(object)
    elif isinstance(block, list | tuple):
        cells = _cells_of_rows(block, n_features, owner)
    else:
        raise InvalidParameter(owner, "X", "blocks that are arrays, sparse matrices or tables", type(block).__name__)
    if is_complex:
        return read_array(np.vectorize(to_complex, otypes=[np.complex128])(cells), owner)
    return read_array(np.vectorize(to_number, otypes=[np.float64])(cells), owner)


def _cells_of_rows(rows: Any, n_features: int, owner: str) -> NDArray[Any]:
    """Cells of a sequence of rows; a cell may itself be a sequence, which NumPy alone would take for a dimension."""
    cells = np.empty((len(rows), n_features), object)
    for i, row in enumerate(rows):
        if not isinstance(row, list | tuple | np.ndarray) or (isinstance(row, np.ndarray) and row.ndim != 1):
            requirement = "of two dimensions, a row for each person, in all blocks"
            raise InvalidParameter(owner, "X", requirement, type(rows).__name__)
        if len(row) != n_features:
            raise InvalidParameter(owner, "X", "blocks of rows of equal length", type(rows).__name__)
        for j, cell in enumerate(row):
            cells[i, j] = cell
    return cells


def _first_reader(kinds: Kinds, data: Any) -> Reader:
    """The reader of the first kind that accepts the data; what nobody accepts is read as an array."""
    return next((read for accepts, read in kinds if accepts(data)), read_array)


def _is_path(data: Any) -> bool:
    return isinstance(data, str | PathLike)


_IN_MEMORY: Kinds = (
    (is_table, read_table),
    (scipy.sparse.issparse, read_sparse),
)
_SOURCES: Kinds = ((_is_path, read_file), *_IN_MEMORY, (is_stream, StreamRows))
