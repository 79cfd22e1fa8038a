"""Measurements of a matrix M, one a person: y = <X, M> + noise, where X is a matrix, x z^T or one entry.

What may be refused (types, shapes, lengths, columns) is checked before the data are charged for. Values never are: a
number that is not finite, or an index outside of the matrix, stays what it is, for the kernel that bounds its person's
contribution.
"""

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import partial
from os import PathLike
from typing import Any

import numpy as np

from hushrank.data.frames import is_table
from hushrank.data.lazy_blocks import is_lazy_collection, is_lazy_pair, lazy_records
from hushrank.data.pieces import pieces_on
from hushrank.data.records.blocks import RecordBlock
from hushrank.data.records.columns import ONE_A_PERSON
from hushrank.data.records.forms import PART_AXES, check_design, check_shape, record_shape, settle_shape
from hushrank.data.records.in_memory import MemoryOrigin, read_in_memory
from hushrank.data.records.measurement_streams import MeasurementStream
from hushrank.data.records.npy_files import NPY_SUFFIX, kind_of_file, read_npy, read_npy_answers
from hushrank.data.records.origins import Origin
from hushrank.data.records.pairs import read_pair
from hushrank.data.records.record_files import read_record_file
from hushrank.data.records.spooling import SpooledOrigin
from hushrank.data.remote_files import Place, to_path
from hushrank.data.source import MAX_BLOCK_ROWS, PIECE_ROWS, Piece, Source
from hushrank.data.streams import is_stream
from hushrank.data.vectors import to_dtype, to_float64
from hushrank.exceptions import InvalidParameter


class Measurements(Source):
    """Measurements with an answer, one a person, which can be read many times.

    Parameters
    ----------
    origin : Origin
        Where they come from.
    design : str
        "dense", "rank_one" or "entry".
    shape : pair of int
        The size of the matrix that is measured.
    """

    def __init__(self, origin: Origin, design: str, shape: tuple[int, int]) -> None:
        super().__init__(origin.n_records, origin.columns)
        self._origin = origin if origin.can_repeat else SpooledOrigin(origin)
        self.design, self._shape, self._form = design, shape, record_shape(design, shape)
        # Indices are float64 whatever they were: the type of a column with a missing one must not matter.
        self._dtype: np.dtype[Any] = np.dtype(np.float64) if design == "entry" else origin.dtype

    @property
    def fields_stand_alone(self) -> bool:
        """Whether an answer that cannot be read leaves its measurement as it is; not so in text."""
        return self._origin.fields_stand_alone

    @property
    def sizes(self) -> Mapping[str, int]:
        """n_rows and n_columns of the matrix that is measured, and n_features, the numbers of one record."""
        return {"n_rows": self._shape[0], "n_columns": self._shape[1], "n_features": math.prod(self._form)}

    def blocks(self, max_rows: int = MAX_BLOCK_ROWS) -> Iterator[RecordBlock]:
        """Blocks of at most `max_rows` and 8192 records and, unless of one record, 2^25 bytes, in their order.

        X is a float32 or float64 array of shape (n_records, n_rows, n_columns) for dense measurements and
        (n_records, n_rows + n_columns) for those of rank one, with the numbers of x and then those of z. For entries
        it is float64 of shape (n_records, 2), with a row and a column index.
        """
        for batch in self._origin.batches(min(max_rows, MAX_BLOCK_ROWS), self._dtype):
            X = to_dtype(batch.X, self._dtype)
            yield RecordBlock(X.reshape(len(X), *self._form), to_float64(batch.y))

    def empty_block(self) -> RecordBlock:
        """A block without records."""
        return RecordBlock(np.empty((0, *self._form), self._dtype), np.empty(0))

    def pieces(self, enough: int = PIECE_ROWS) -> list[Piece] | None:
        """Measurements of the pieces of the origin."""
        return pieces_on(self._origin.pieces(enough), partial(Measurements, design=self.design, shape=self._shape))


def read_measurements(
    X: Any,
    y: Any = None,
    *,
    design: str,
    shape: Sequence[int] | None = None,
    owner: str,
    features: Sequence[Hashable] | None = None,
) -> Measurements:
    """Prepare measurements for reading in blocks; checks types, shapes, lengths and columns, and reads no values.

    Parameters
    ----------
    X : array-like, tuple, table, path, iterator, callable or Measurements
        Real numbers of at most double precision, for each record

        - "dense": a matrix, in an array of shape (n_records, n_rows, n_columns), or its entries row after row;
        - "rank_one": two vectors x and z, in a tuple (x, z) of two arrays or two tables with a row for each record, or
          one after the other;
        - "entry": a row and a column index from 0 on, in a tuple (rows, columns) of vectors, or one after the other.

        Numbers one after the other are an array of two dimensions, an eager pandas, polars or pyarrow table, or the
        path of an npy file (also of three dimensions), a CSV file, a Parquet file or a folder of them, or its
        address (s3://...). A tuple
        may also hold the paths of two npy files. A stream is an iterator of blocks, or a function without arguments
        that returns one: tuples (X, y), where X may be a tuple as above, or tables. The first block is read here; what
        an iterator yields is kept in memory or in temporary files, because it is read many times. All may be objects
        of Dask.
    y : array-like of shape (n_records,), column of a table, path of an npy file, or str
        Real numbers, an answer for each record. Of a table, a CSV or Parquet file or a stream of tables the name of a
        column, "target" if it is None; the path of an npy file beside one or a tuple.
    design : str
        "dense", "rank_one" or "entry".
    shape : pair of int, optional
        Rows and columns of the matrix that is measured, at most 2^24 entries. Needed where the form of X does not tell.
    owner : str
        Who asks, for error messages.
    features : sequence of column names, optional
        The columns X of a table or file, in this order; by default all but that of y. A table with a column "user" or
        "users" is refused without them, because the records of a user are not protected together.

    Returns
    -------
    measurements : Measurements
        X of its blocks is float32 where that holds all numbers of its types exactly, and float64 otherwise; of a
        stream, of lists and of entries it is float64.

    Raises
    ------
    InvalidParameter
        If the data are of another kind, type or shape. The message shows no values.

    Examples
    --------
    >>> entries = [0, 2, 9], [1, 1, 0]
    >>> source = read_measurements(entries, [0.5, 1.5, 2.5], design="entry", shape=(3, 2), owner="example")
    >>> [(block.X.tolist(), block.y.tolist()) for block in source.blocks(2)]
    [([[0.0, 1.0], [2.0, 1.0]], [0.5, 1.5]), ([[9.0, 0.0]], [2.5])]
    """
    check_design(design, owner)
    if isinstance(X, Source):
        return _check_source(X, design, {"y": y, "shape": shape, "features": features}, owner)
    size = check_shape(shape, design, owner)
    origin = _read_origin(X, y, PART_AXES.get(design), features, owner)
    return Measurements(origin, design, settle_shape(design, size, origin.shape, origin.parts, owner))


def _read_origin(X: Any, y: Any, part_axes: int | None, features: Any, owner: str) -> Origin:
    if is_lazy_collection(X) or (part_axes is not None and is_lazy_pair(X)):
        X, y, _ = lazy_records(X, y, None, owner)
    if isinstance(X, str | PathLike):
        return _read_path(to_path(X, owner), y, features, owner)
    if is_stream(X) and not is_table(X):
        return MeasurementStream(X, y, features, part_axes, owner)
    if part_axes is None or not isinstance(X, tuple):
        return read_in_memory(X, y, ONE_A_PERSON, features, owner)
    _check_no_features(features, owner)
    pair, _ = read_pair(X, part_axes, owner)
    return MemoryOrigin(pair, read_npy_answers(y, len(pair), owner))


def _read_path(path: Place, y: Any, features: Any, owner: str) -> Origin:
    if kind_of_file(path, owner) != NPY_SUFFIX:
        return read_record_file(path, y, ONE_A_PERSON, features, owner)
    _check_no_features(features, owner)
    numbers = read_npy(path, owner)
    return MemoryOrigin(numbers, read_npy_answers(y, len(numbers), owner))


def _check_no_features(features: Any, owner: str) -> None:
    if features is not None:
        raise InvalidParameter(owner, "features", "None for data whose columns have no names", features)


def _check_source(source: Source, design: str, given: dict[str, Any], owner: str) -> Measurements:
    for name, value in given.items():
        if value is not None:
            raise InvalidParameter(owner, name, "None beside a source, which has it", type(value).__name__)
    if not isinstance(source, Measurements):
        requirement = "measurements: an array, a tuple, a table, a path or blocks, with y"
        raise InvalidParameter(owner, "X", requirement, type(source).__name__)
    if source.design != design:
        raise InvalidParameter(owner, "X", f"measurements of the design {design!r}", repr(source.design))
    return source
