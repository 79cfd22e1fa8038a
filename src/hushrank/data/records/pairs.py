"""Records whose numbers X are a pair: two vectors, or two indices, for each record."""

from collections.abc import Hashable
from os import PathLike
from typing import Any

import numpy as np

from hushrank.data.frames import is_table
from hushrank.data.records.columns import ONE_A_PERSON
from hushrank.data.records.features import Features, PairFeatures, read_features
from hushrank.data.records.in_memory import table_roles
from hushrank.data.records.npy_files import read_npy
from hushrank.data.vectors import read_vector
from hushrank.exceptions import InvalidParameter

Names = tuple[Hashable, ...]

_PAIR = {
    1: "a tuple (rows, columns) of two vectors of one length",
    2: "a tuple (x, z) of two arrays or two tables with a row for each record",
}


def read_pair(
    X: tuple[Any, ...], n_axes: int, owner: str, names: tuple[Names, Names] | None = None
) -> tuple[PairFeatures, tuple[Names, Names] | None]:
    """The numbers of a pair, and the names of their columns if both are tables.

    Parameters
    ----------
    X : tuple of two
        Vectors with an index for each record, or arrays, tables or paths of npy files with a vector for each.
    n_axes : int
        1 for indices, 2 for vectors.
    owner : str
        Who asks, for error messages.
    names : pair of column names, optional
        The columns of two tables, in this order; all but "target" by default.

    Examples
    --------
    >>> pair, _ = read_pair(([[1.0], [2.0]], [[3.0, 4.0], [5.0, 6.0]]), 2, "example")
    >>> pair.parts, next(pair.blocks()).tolist()
    ((1, 2), [[1.0, 3.0, 4.0], [2.0, 5.0, 6.0]])
    """
    check_two(X, n_axes, owner)
    n_tables, found = sum(map(is_table, X)), None
    if n_tables == 1 or (n_tables and n_axes == 1):
        kinds = " and ".join("a table" if is_table(part) else type(part).__name__ for part in X)
        raise InvalidParameter(owner, "X", _PAIR[n_axes], kinds)
    if n_tables:
        parts, found = _read_tables(X, owner, names)
    elif n_axes == 1:
        parts = [Features(read_vector(part, "X", owner)[:, np.newaxis]) for part in X]
    else:
        parts = [_read_vectors(part, owner) for part in X]
    return join_pair(parts[0], parts[1], n_axes, owner), found


def check_two(X: tuple[Any, ...], n_axes: int, owner: str) -> None:
    """Refuse a tuple of another number of parts."""
    if len(X) != 2:
        raise InvalidParameter(owner, "X", _PAIR[n_axes], f"a tuple of {len(X)}")


def join_pair(first: Features, second: Features, n_axes: int, owner: str) -> PairFeatures:
    """Both vectors of each record; refused if they are not of the same records."""
    if len(first) != len(second) or len(first.shape) > 1 or len(second.shape) > 1:
        got = " and ".join(f"shape {(len(part), *part.shape)}" for part in (first, second))
        raise InvalidParameter(owner, "X", _PAIR[n_axes], got)
    return PairFeatures(first, second)


def _read_vectors(part: Any, owner: str) -> Features:
    return read_npy(part, owner) if isinstance(part, str | PathLike) else read_features(part, owner)


def _read_tables(
    X: tuple[Any, ...], owner: str, names: tuple[Names, Names] | None
) -> tuple[list[Features], tuple[Names, Names]]:
    parts, found = [], []
    for table, chosen in zip(X, names or (None, None), strict=True):
        eager, roles = table_roles(table, (), ONE_A_PERSON, chosen, owner)  # answers lie beside it
        parts.append(read_features(eager, owner, roles.features))
        found.append(roles.features)
    return parts, (found[0], found[1])
