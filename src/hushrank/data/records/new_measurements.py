"""New measurements to predict the answers of: all of them at once, in their order, and nobody is left out."""

from collections.abc import Hashable, Sequence
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushrank.data.delimited_texts import open_texts
from hushrank.data.files import check_same
from hushrank.data.found_files import are_texts, find_files
from hushrank.data.frames import is_table
from hushrank.data.parquet_parts import read_footer
from hushrank.data.records.blocks import FloatArray
from hushrank.data.records.columns import ONE_A_PERSON, assign_roles
from hushrank.data.records.features import Features, PairFeatures, read_features
from hushrank.data.records.forms import PART_AXES, check_design, check_shape, record_shape, settle_shape
from hushrank.data.records.in_memory import table_roles
from hushrank.data.records.npy_files import NPY_SUFFIX, kind_of_file, read_npy
from hushrank.data.records.pairs import Names, read_pair
from hushrank.data.records.record_files import check_named
from hushrank.data.remote_files import Place, to_path
from hushrank.data.rows.parquet_rows import ParquetRows
from hushrank.data.source import Source
from hushrank.data.streams import is_stream
from hushrank.data.text_values import to_numbers
from hushrank.exceptions import InvalidParameter

_NO_ANSWERS = ()  # no name of a column: a column "target" is no part of X, whether it is there or not


def read_new_measurements(
    X: Any,
    *,
    design: str,
    shape: Sequence[int],
    columns: Sequence[Hashable] | NDArray[Any] | None,
    owner: str,
) -> FloatArray:
    """New measurements without answers, as one array.

    Parameters
    ----------
    X : array-like, tuple, table or path
        As `hushrank.data.records.measurements.read_measurements` takes it, but for streams. A CSV file with a record
        that cannot be read is refused.
    design : str
        "dense", "rank_one" or "entry".
    shape : pair of int
        Rows and columns of the matrix that was measured.
    columns : sequence or array of column names, or None
        The columns that the model was learned from, chosen from those of a table or file; if it is None, all but
        "target". An array must have them in this order.
    owner : str
        Who asks, for error messages.

    Returns
    -------
    X : ndarray
        In the form of the blocks of `Measurements`, with a row for each record.

    Raises
    ------
    InvalidParameter
        If the data are of another kind, type or shape. The message shows no values.

    Examples
    --------
    >>> read_new_measurements(([[1.0]], [[2.0, 3.0]]), design="rank_one", shape=(1, 2), columns=None, owner="example")
    array([[1., 2., 3.]])
    """
    check_design(design, owner)
    size = check_shape(shape, design, owner)
    names = columns.tolist() if isinstance(columns, np.ndarray) else columns  # a model keeps them in an array
    numbers = _read_numbers(X, design, size, names, owner)
    size = settle_shape(design, size, numbers.shape, numbers.parts, owner)
    dtype: np.dtype[Any] = np.dtype(np.float64) if design == "entry" else numbers.dtype
    found, start = np.empty((len(numbers), *numbers.shape), dtype), 0
    for block in numbers.blocks(dtype=dtype):
        found[start : start + len(block)] = block
        start += len(block)
    return found.reshape(len(found), *record_shape(design, size))


def _read_numbers(
    X: Any, design: str, size: tuple[int, int] | None, columns: Sequence[Hashable] | None, owner: str
) -> Features | PairFeatures:
    if isinstance(X, Source) or (is_stream(X) and not is_table(X)):
        raise InvalidParameter(owner, "X", "an array, a tuple, a table or a path", type(X).__name__)
    if isinstance(X, tuple) and design in PART_AXES:
        return read_pair(X, PART_AXES[design], owner, _split(columns, size))[0]
    is_path = isinstance(X, str | PathLike)
    if columns is not None and len(set(columns)) < len(columns) and (is_path or is_table(X)):
        raise InvalidParameter(owner, "X", "a tuple of two tables, as in the fit", "a table")
    if is_path:
        return _read_path(to_path(X, owner), columns, owner)
    if not is_table(X):
        return read_features(X, owner)
    table, roles = table_roles(X, _NO_ANSWERS, ONE_A_PERSON, columns, owner, "columns")
    return read_features(table, owner, roles.features)


def _split(columns: Sequence[Hashable] | None, size: tuple[int, int] | None) -> tuple[Names, Names] | None:
    """The columns of x and of z."""
    if columns is None or size is None:
        return None
    names = tuple(columns)
    return names[: size[0]], names[size[0] :]


def _read_path(path: Place, columns: Sequence[Hashable] | None, owner: str) -> Features:
    if kind_of_file(path, owner) == NPY_SUFFIX:
        return read_npy(path, owner)
    paths = find_files(path, owner)
    return _read_csv(paths, columns, owner) if are_texts(paths) else _read_parquet(paths, columns, owner)


def _read_csv(paths: Sequence[Place], columns: Sequence[Hashable] | None, owner: str) -> Features:
    """The records of CSV files, of which none may be lost; empty lines are passed over."""
    texts, found = open_texts(paths, owner), []
    for text in texts.texts:
        roles = assign_roles(text.names, _NO_ANSWERS, ONE_A_PERSON, columns, owner, parameter="columns")
        check_named(roles.features, owner)
        found.append([str(name) for name in roles.features])
    check_same([(path, set(names)) for path, names in zip(paths, found, strict=True)], "CSV", owner)
    cells = texts.read(found[0])
    return Features(np.column_stack([to_numbers(cells[name]) for name in found[0]]))


def _read_parquet(paths: Sequence[Place], columns: Sequence[Hashable] | None, owner: str) -> Features:
    names, index = (footer := read_footer(paths[0], owner)).schema.names, footer.index
    roles = assign_roles(names, _NO_ANSWERS, ONE_A_PERSON, columns, owner, index=index, parameter="columns")
    rows = ParquetRows(paths, owner, roles.features)
    return Features(np.concatenate([np.empty((0, rows.n_features)), *rows.blocks()]))
