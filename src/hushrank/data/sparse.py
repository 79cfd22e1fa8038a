"""Sparse matrices whose arrays agree with each other: SciPy believes them and would read or write foreign memory."""

from typing import Any

import numpy as np

from hushrank.data.numbers import to_number
from hushrank.exceptions import InvalidParameter


def check_sparse(X: Any, owner: str) -> None:
    """Refuse a SciPy sparse matrix or array whose index arrays contradict each other; looks at no stored number.

    Indices may still lie outside the matrix, see `check_indices`.
    """
    check = _CHECKS.get(X.format)
    if check is not None and not check(X):
        raise InvalidParameter(owner, "X", "a sparse matrix with valid indices", f"shape {tuple(X.shape)}")


def check_indices(X: Any, owner: str) -> None:
    """Refuse, beyond `check_sparse`, indices outside the matrix, which conversions to other formats rely on."""
    check_sparse(X, owner)
    if X.format in ("csr", "csc", "bsr"):
        block = X.blocksize if X.format == "bsr" else (1, 1)
        axis = 0 if X.format == "csc" else 1
        inside = _is_inside(X.indices, X.shape[axis] // block[axis])
    elif X.format == "lil":
        inside = all(_is_inside(np.asarray(own), X.shape[1]) for own in X.rows if len(own))
    elif X.format == "coo":
        inside = _is_inside(X.row, X.shape[0]) and _is_inside(X.col, X.shape[1])
    else:
        inside = True
    if not inside:
        raise InvalidParameter(owner, "X", "a sparse matrix with valid indices", f"shape {tuple(X.shape)}")


def sparse_cells(X: Any, owner: str) -> Any:
    """Cells of a sparse matrix as objects; SciPy itself computes with no objects."""
    if X.dtype != object:
        return X.toarray().astype(object)
    if X.format not in ("csr", "csc", "coo"):
        raise InvalidParameter(owner, "X", "a sparse matrix of numbers", f"objects in format {X.format}")
    numbers = np.array([to_number(cell) for cell in X.data], np.float64)
    places = (X.row, X.col) if X.format == "coo" else (X.indices, X.indptr)
    content = (numbers, places) if X.format == "coo" else (numbers, *places)
    return type(X)(content, shape=X.shape).toarray().astype(object)


def _is_inside(indices: Any, size: int) -> bool:
    if indices.size == 0:
        return True
    return bool(indices.dtype.kind in "iu" and indices.min() >= 0 and indices.max() < size)


def _compressed_agrees(X: Any) -> bool:
    block = X.blocksize if X.format == "bsr" else (1, 1)
    axis = 1 if X.format == "csc" else 0
    ends = X.indptr
    if ends.ndim != 1 or X.indices.ndim != 1 or len(ends) != X.shape[axis] // block[axis] + 1:
        return False
    # Compared, not subtracted: a difference of integers wraps around.
    rises = ends.dtype.kind == "i" and ends[0] == 0 and (ends[1:] >= ends[:-1]).all()
    return bool(rises and ends[-1] <= min(len(X.indices), len(X.data)))


def _coordinates_agree(X: Any) -> bool:
    return X.row.ndim == X.col.ndim == X.data.ndim == 1 and len(X.row) == len(X.col) == len(X.data)


def _lists_agree(X: Any) -> bool:
    if X.rows.shape != (X.shape[0],) or X.data.shape != (X.shape[0],):
        return False
    return all(
        isinstance(own, list) and isinstance(values, list) and len(own) == len(values)
        for own, values in zip(X.rows, X.data, strict=True)
    )


def _keys_are_inside(X: Any) -> bool:
    return all(0 <= i < X.shape[0] and 0 <= j < X.shape[1] for i, j in X.keys())


def _diagonals_agree(X: Any) -> bool:
    return X.data.ndim == 2 and X.offsets.ndim == 1 and len(X.offsets) == len(X.data)


_CHECKS = {
    "csr": _compressed_agrees,
    "csc": _compressed_agrees,
    "bsr": _compressed_agrees,
    "coo": _coordinates_agree,
    "lil": _lists_agree,
    "dok": _keys_are_inside,  # there is no order in which SciPy would not look at them
    "dia": _diagonals_agree,
}
