"""Where records come from: a schema that is known at once, and batches of records in any order of their users."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hushrank.data.source import MAX_BLOCK_BYTES, PIECE_ROWS, Piece


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Consecutive records.

    Attributes
    ----------
    X : ndarray of shape (n_records, *shape)
        Float32 or float64, as was asked for, in any memory layout.
    y : ndarray of shape (n_records,)
        Float64.
    ids : Arrow array or None
        Whose record it is, null where it is nobody's; None where every record is a person of its own.
    """

    X: NDArray[Any]
    y: NDArray[np.float64]
    ids: pa.Array | None

    def __len__(self) -> int:
        return len(self.y)

    def split(self, max_rows: int) -> Iterator["Batch"]:
        """Batches of at most `max_rows` records, views of this one."""
        for start in range(0, len(self), max_rows):
            part = slice(start, start + max_rows)
            yield Batch(self.X[part], self.y[part], None if self.ids is None else self.ids[part])


class Origin(ABC):
    """Records of whatever data, checked when it is made; no value is refused.

    Parameters
    ----------
    shape : tuple of int
        Of X of one record, (d,) or (d1, d2).
    dtype : dtype
        The narrower of float32 and float64 that holds all numbers X, as far as float64 does; float64 for streams.
    has_users : bool
        Whether records have ids of users.
    n_records : int, optional
        How many there are, if that is known without reading.
    columns : sequence of str, optional
        Names of the columns of X.
    """

    can_repeat = True
    fields_stand_alone = True
    """Whether one number of a record that cannot be read leaves its others as they are."""
    parts: tuple[int, int] | None = None  # lengths of the two vectors that X of a record consists of, if it does

    def __init__(
        self,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        has_users: bool,
        n_records: int | None = None,
        columns: Sequence[Any] | None = None,
    ) -> None:
        self.shape, self.dtype, self.has_users, self.n_records = shape, dtype, has_users, n_records
        self.columns = columns

    @property
    def record_bytes(self) -> int:
        """Bytes of X of one record, as `dtype`."""
        return int(np.prod(self.shape)) * self.dtype.itemsize

    @property
    def sizes(self) -> Mapping[str, int]:
        """The lengths of the axes of one record by name."""
        names = ("n_features",) if len(self.shape) == 1 else ("n_rows", "n_columns")
        return dict(zip(names, self.shape, strict=True))

    @abstractmethod
    def batches(self, max_rows: int, dtype: np.dtype[Any]) -> Iterator[Batch]:
        """All records, at most `max_rows` at a time, with X as float64 or as `self.dtype`."""

    def pieces(self, enough: int = PIECE_ROWS) -> list[Piece] | None:
        """Parts of the records, origins as well, that others can read for themselves; None if only this process can."""
        return None


def batch_rows(max_rows: int, width: int) -> int:
    """Records of a batch that must be converted: at most so many, and few enough for 2^25 bytes, unless it is one."""
    return min(max_rows, max(1, MAX_BLOCK_BYTES // (8 * width)))
