"""Rows of numbers in blocks: what every source of data offers, and the two sources that lie in memory.

The schema (dtype, dimensions, columns) is checked when the rows are made, before the data are charged for. Values are
never checked: a person's record cannot stop a release.
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from os import strerror
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushrank.data.sparse import check_indices
from hushrank.exceptions import InvalidParameter

Block = NDArray[Any]

MAX_BLOCK_ROWS = 8192
# Blocks that must be converted hold at most this many bytes (or one row): wide data get fewer rows a block.
MAX_BLOCK_BYTES = 2**25


class Rows(ABC):
    """Rows of numbers, one a person, read in blocks.

    Attributes
    ----------
    n_features : int
        Columns of every block.
    n_samples : int or None
        Rows in all; None if only reading tells.
    columns : tuple of str or None
        Names of the columns, where the data have any.
    can_repeat : bool
        Whether the rows can be read more than once.
    is_complex : bool
        Whether the blocks are complex.
    """

    can_repeat = True
    is_complex = False

    def __init__(self, n_features: int, n_samples: int | None, columns: Sequence[Hashable] | None = None) -> None:
        self.n_features, self.n_samples = n_features, n_samples
        named = columns is not None and all(isinstance(name, str) for name in columns)
        self.columns: tuple[str, ...] | None = tuple(map(str, columns)) if columns is not None and named else None

    @abstractmethod
    def blocks(self, max_rows: int = MAX_BLOCK_ROWS) -> Iterator[Block]:
        """Real or complex arrays of shape (at most `max_rows` and 8192, n_features); they must not be written to."""

    def empty_block(self) -> Any:
        """A block without rows."""
        return np.empty((0, self.n_features))

    def _block_rows(self, max_rows: int) -> int:
        """Rows of a converted float64 or complex128 block."""
        row_bytes = (16 if self.is_complex else 8) * self.n_features
        return min(max_rows, MAX_BLOCK_ROWS, max(1, MAX_BLOCK_BYTES // row_bytes))


class ArrayRows(Rows):
    """Rows of an array of any real or complex dtype and memory layout; its blocks are views."""

    def __init__(self, X: NDArray[Any], owner: str) -> None:
        check_matrix(X.dtype, X.shape, owner)
        super().__init__(X.shape[1], X.shape[0])
        self._X, self.is_complex = X, X.dtype.kind == "c"

    def blocks(self, max_rows: int = MAX_BLOCK_ROWS) -> Iterator[Block]:
        """Views of consecutive rows."""
        rows = min(max_rows, MAX_BLOCK_ROWS)
        return (self._X[start : start + rows] for start in range(0, len(self._X), rows))


class SparseRows(Rows):
    """Rows of a SciPy sparse matrix or array, kept as CSR and made dense a block at a time."""

    def __init__(self, X: Any, owner: str) -> None:
        check_matrix(X.dtype, X.shape, owner)
        check_indices(X, owner)
        super().__init__(X.shape[1], X.shape[0])
        self._X, self.is_complex = X.tocsr(), X.dtype.kind == "c"

    def blocks(self, max_rows: int = MAX_BLOCK_ROWS) -> Iterator[Block]:
        """Dense float64 or complex128 blocks of consecutive rows."""
        rows, dtype = self._block_rows(max_rows), np.complex128 if self.is_complex else np.float64
        starts = range(0, self._X.shape[0], rows)
        return (convert(self._X[start : start + rows].toarray(), dtype) for start in starts)


def read_array(data: Any, owner: str, columns: Sequence[Hashable] | None = None) -> ArrayRows:
    """Rows of an array or of nested sequences of numbers."""
    check_no_columns(columns, owner)
    if isinstance(data, np.ma.MaskedArray):
        raise InvalidParameter(owner, "X", "an array without a mask (X.filled(numpy.nan))", type(data).__name__)
    try:
        return ArrayRows(np.asarray(data), owner)
    except InvalidParameter:
        raise
    except ValueError as error:  # nested sequences of different lengths
        raise InvalidParameter(owner, "X", "an array, or rows of equal length", type(data).__name__) from error


def read_sparse(data: Any, owner: str, columns: Sequence[Hashable] | None = None) -> SparseRows:
    """Rows of a SciPy sparse matrix or array of any format."""
    check_no_columns(columns, owner)
    return SparseRows(data, owner)


def check_no_columns(columns: Sequence[Hashable] | None, owner: str) -> None:
    """Refuse a choice of columns for data without names."""
    if columns is not None:
        raise InvalidParameter(owner, "columns", "None for data whose columns have no names", columns)


def choose_columns(names: Sequence[Hashable], columns: Sequence[Hashable] | None, owner: str) -> list[int]:
    """Positions of the chosen `columns` among the `names` of a table; None chooses all of them."""
    positions = {name: position for position, name in enumerate(names)}
    if len(positions) < len(names):
        twice = next(name for position, name in enumerate(names) if positions[name] != position)
        raise InvalidParameter(owner, "X", "a table whose column names differ", f"two columns {twice!r}")
    if columns is None:
        chosen = list(names)
    else:
        chosen = [columns] if isinstance(columns, str) else list(columns)
        if isinstance(columns, str) or not chosen or len(set(chosen)) < len(chosen):
            raise InvalidParameter(owner, "columns", "a list of different column names", columns)
    missing = [name for name in chosen if name not in positions]
    if missing:
        raise InvalidParameter(owner, "X", f"a table with the column {missing[0]!r}", f"{len(names)} other columns")
    if not chosen:
        check_matrix(np.dtype(np.float64), (0, 0), owner)
    return [positions[name] for name in chosen]


def convert(block: Block, dtype: type[np.generic]) -> Block:
    """A block in another precision or field, without warnings: entries may be anything."""
    with np.errstate(all="ignore"):  # signaling NaNs
        return block.astype(dtype, copy=False)


def check_real_rows(rows: Rows, owner: str) -> None:
    """Refuse complex rows, in a phrase that the estimator checks of scikit-learn look for."""
    if rows.is_complex:
        requirement = "real numbers, or field='complex' (Complex data not supported)"
        raise InvalidParameter(owner, "X", requirement, "complex numbers")


def to_number(cell: Any) -> float:
    """A cell as a float, NaN if it is not a real number; never raises.

    A text is a number if it is written in ASCII and without underscores, which Python's float allows and no other
    reader does. A complex cell without imaginary part is one: somebody else's cell may have made the array complex.
    """
    if cell is None or (isinstance(cell, str | bytes) and not _is_plain(cell)):
        return np.nan
    if isinstance(cell, complex | np.complexfloating):
        return float(cell.real) if cell.imag == 0 else np.nan
    try:
        return float(cell)
    except Exception:  # a cell may be anything, and say anything
        return np.nan


def to_complex(cell: Any) -> complex:
    """A cell as a complex number, NaN if it is not a number; never raises."""
    if cell is None or (isinstance(cell, str | bytes) and not _is_plain(cell)):
        return complex(np.nan)
    try:
        return complex(cell)
    except Exception:
        return complex(np.nan)


def _is_plain(text: str | bytes) -> bool:
    return text.isascii() and ("_" if isinstance(text, str) else b"_") not in text  # type: ignore[operator]


@contextmanager
def refuse_damaged(path: Path, kind: str, owner: str) -> Iterator[None]:
    """Turn what a library says about an unreadable file into one line that shows nothing of its content.

    Libraries raise errors of every kind over files that a stranger made.
    """
    try:
        yield
    except (InvalidParameter, AssertionError):
        raise
    except Exception as error:
        number = getattr(error, "errno", None)
        reason = strerror(number) if isinstance(number, int) else "damaged, or of another kind"
        reason = "too large for the memory" if isinstance(error, MemoryError) else reason
        raise InvalidParameter(owner, "X", f"a readable {kind} file", f"{path.name}: {reason}") from error


def check_matrix(dtype: np.dtype[Any], shape: tuple[int, ...], owner: str) -> None:
    """Refuse what is not a matrix of numbers in at most double precision with a column.

    Two phrases are those that the estimator checks of scikit-learn look for.
    """
    if dtype.kind not in "biufc" or dtype.itemsize > (16 if dtype.kind == "c" else 8):
        raise InvalidParameter(owner, "X", "numbers of at most double precision", str(dtype))
    if len(shape) != 2:
        requirement = "of two dimensions, a row for each person (Reshape your data)"
        raise InvalidParameter(owner, "X", requirement, f"shape {shape}")
    if shape[1] == 0:
        got = f"0 feature(s) (shape={tuple(shape)}) while a minimum of 1 is required"
        raise InvalidParameter(owner, "X", "a table with a column", got)
