"""Blocks of records: numbers `X` and an answer `y` each, of one person a record or of whole users.

A block checks its own form, because compiled kernels believe it: indices that contradict each other would make them
read foreign memory. Values are not looked at.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushrank.exceptions import InvalidParameter

FloatArray = NDArray[np.float32] | NDArray[np.float64]

_FEATURES = "a float32 or float64 array of shape (n, d) or (n, d1, d2) in C order"
_ANSWERS = "a float64 vector, one number for each record"
_INDPTR = "an int64 vector that starts with 0, never falls and ends with the number of records"


@dataclass(frozen=True, slots=True, eq=False)
class RecordBlock:
    """Consecutive records, one a person.

    Attributes
    ----------
    X : ndarray of shape (n_records, n_features) or (n_records, n_rows, n_columns)
        Numbers, float32 or float64 in C order; any values.
    y : ndarray of shape (n_records,)
        Answers, float64; any values.
    """

    X: FloatArray
    y: NDArray[np.float64]

    def __post_init__(self) -> None:
        _check_records(self.X, self.y, "RecordBlock")

    def __len__(self) -> int:
        """Number of records."""
        return len(self.y)


@dataclass(frozen=True, slots=True, eq=False)
class UserRecordBlock:
    """Records of consecutive users.

    Attributes
    ----------
    indptr : ndarray of shape (n_users + 1,)
        Where the records of each user start and end, int64; the first is 0.
    X : ndarray of shape (n_records, n_features) or (n_records, n_rows, n_columns)
        Numbers, float32 or float64 in C order; any values.
    y : ndarray of shape (n_records,)
        Answers, float64; any values.
    """

    indptr: NDArray[np.int64]
    X: FloatArray
    y: NDArray[np.float64]

    def __post_init__(self) -> None:
        owner, ends = "UserRecordBlock", self.indptr
        _check_records(self.X, self.y, owner)
        agrees = _is_vector(ends, np.int64) and len(ends) > 0 and ends[0] == 0 and ends[-1] == len(self.y)
        if not agrees or not (ends[1:] >= ends[:-1]).all():  # compared, not subtracted: a difference wraps around
            raise InvalidParameter(owner, "indptr", _INDPTR, _form_of(ends))

    def __len__(self) -> int:
        """Number of users."""
        return len(self.indptr) - 1


def _check_records(X: Any, y: Any, owner: str) -> None:
    is_array = isinstance(X, np.ndarray) and X.dtype in ("float32", "float64") and X.flags.c_contiguous
    if not is_array or X.ndim not in (2, 3):
        raise InvalidParameter(owner, "X", _FEATURES, _form_of(X))
    if not _is_vector(y, np.float64) or len(y) != len(X):
        raise InvalidParameter(owner, "y", _ANSWERS, _form_of(y))


def _is_vector(array: Any, dtype: type[np.generic]) -> bool:
    return isinstance(array, np.ndarray) and array.dtype == dtype and array.ndim == 1 and array.flags.c_contiguous


def _form_of(array: Any) -> str:
    if not isinstance(array, np.ndarray):
        return type(array).__name__
    return f"{array.dtype} of shape {array.shape}"
