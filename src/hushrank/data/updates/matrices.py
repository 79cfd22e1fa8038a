"""Updates that are the stored entries of a SciPy sparse matrix; SciPy's own conversions would add some of them up."""

import itertools
from typing import Any

import numpy as np

from hushrank.data.numbers import to_number
from hushrank.data.records.loose_cells import loose_numbers
from hushrank.data.sparse import check_indices
from hushrank.data.updates.entries import Entries
from hushrank.data.vectors import check_real
from hushrank.exceptions import InvalidParameter

# Formats that store entries one by one.
_FORMATS = ("csr", "csc", "coo", "lil", "dok")


def read_matrix(X: Any, shape: tuple[int, int], needs_users: bool, owner: str, *, loosely: bool = False) -> Entries:
    """Every stored entry of a sparse matrix of the public shape, repeated ones and zeros as well.

    Parameters
    ----------
    X : SciPy sparse matrix or array
    shape : pair of int
    needs_users : bool
        Then it is refused: its entries are nobody's.
    owner : str
        Who asks, for error messages.
    loosely : bool
        Read what is stored one by one, whatever its type.

    Examples
    --------
    >>> import scipy.sparse
    >>> entries = read_matrix(scipy.sparse.csr_array([[0, 3], [4, 0]]), (2, 2), False, "example")
    >>> entries.rows.tolist(), entries.columns.tolist(), entries.deltas.tolist()
    ([0, 1], [1, 0], [3, 4])
    """
    if needs_users:
        requirement = "updates with users: vectors, a table or a file; a matrix has none"
        raise InvalidParameter(owner, "rows", requirement, X.format)
    if not loosely:
        check_real(X.dtype, "rows", owner)
    if tuple(X.shape) != shape:
        raise InvalidParameter(owner, "rows", f"a matrix of shape {shape}", f"shape {tuple(X.shape)}")
    if X.format not in _FORMATS:
        requirement = f"a sparse matrix that stores single entries ({', '.join(_FORMATS)})"
        raise InvalidParameter(owner, "rows", requirement, X.format)
    check_indices(X, owner)
    entries = _stored_entries(X)
    return Entries(entries.rows, entries.columns, loose_numbers(entries.deltas, "X", owner)) if loosely else entries


def _stored_entries(X: Any) -> Entries:
    if X.format == "coo":
        return Entries(X.row, X.col, X.data)
    if X.format in ("csr", "csc"):
        n_stored = int(X.indptr[-1])  # the arrays may be longer
        lines = np.repeat(np.arange(len(X.indptr) - 1), np.diff(X.indptr))
        rows, columns = (lines, X.indices) if X.format == "csr" else (X.indices, lines)
        return Entries(rows[:n_stored], columns[:n_stored], X.data[:n_stored])
    if X.format == "lil":
        places = [(i, j) for i, own in enumerate(X.rows) for j in own]
        values = itertools.chain.from_iterable(X.data)
    else:
        places, values = list(X.keys()), X.values()
    indices = np.array(places, np.int64).reshape(-1, 2)
    return Entries(indices[:, 0], indices[:, 1], np.array([to_number(value) for value in values], np.float64))
