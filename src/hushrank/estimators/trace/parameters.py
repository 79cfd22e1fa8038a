"""The parameter that says how measurements are distributed: learned, isotropic, or given.

Nothing here needs numba or scikit-learn.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from hushrank.exceptions import InvalidParameter
from hushrank.parameters import Param

GIVEN = "given"
"""What a model file says in the place of arrays or of a function."""

_SMALLEST, _LARGEST = 1e-120, 1e120  # variances: the squares of what x_scale may be

_FORMS = (
    "a pair of covariances (vectors of variances or matrices) of rows and columns, an array of variances of all "
    "entries, a function of one measurement"
)


class CovarianceParam(Param):
    """One of `words`, a pair of covariances, an array of variances, or a function; files hold words only."""

    __slots__ = ()

    def check(self, value: Any, name: str, owner: str) -> None:
        """Raise InvalidParameter unless `value` is one of these."""
        is_word = isinstance(value, str) and value in (*self.words, GIVEN)
        if is_word or (callable(value) and not isinstance(value, type)):
            return
        is_pair = isinstance(value, tuple | list) and len(value) == 2 and all(_is_covariance(part) for part in value)
        if not is_pair and not (isinstance(value, np.ndarray) and _is_variances(value, 2)):
            words = ", ".join(repr(word) for word in self.words)
            raise InvalidParameter(owner, name, f"{words}, {_FORMS}", _describe(value))

    def to_json(self, value: Any) -> Any:
        """The word, or that something was given."""
        return value if isinstance(value, str) else GIVEN

    def from_json(self, saved: Any) -> Any:
        """A word: files hold nothing else."""
        if not isinstance(saved, str):
            raise ValueError("its design_covariance is no word")
        return saved

    def wrong_values(self) -> Iterator[Any]:
        """Values that must be refused."""
        yield from (
            object(),
            None,
            "no such word",
            [["nested"]],
            complex(1, 1),
            dict,
            1.0,
            np.ones(3),
            -np.ones((2, 2)),
        )
        yield from (np.full((2, 2), math.nan), ([1.0, 2.0],), ([1.0, 0.0], [1.0]), (np.eye(2), np.ones((2, 2))))


def _is_covariance(part: Any) -> bool:
    """Whether it is a vector of variances or a symmetric, positive definite matrix."""
    if _is_variances(part, 1):
        return True
    matrix = _to_array(part)
    if matrix is None or matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not np.isfinite(matrix).all():
        return False
    if np.abs(matrix).max() >= _LARGEST or not np.allclose(matrix, matrix.T, rtol=1e-9, atol=0.0):
        return False
    values = np.linalg.eigvalsh(matrix)
    return bool(values[0] > max(1e-12 * values[-1], _SMALLEST))


def _is_variances(part: Any, ndim: int) -> bool:
    array = _to_array(part)
    return (
        array is not None
        and array.ndim == ndim
        and array.size > 0
        and bool(((array > _SMALLEST) & (array < _LARGEST)).all())
    )


def _to_array(part: Any) -> Any:
    try:
        array = np.asarray(part)
    except ValueError:  # ragged
        return None
    return array.astype(np.float64) if array.dtype.kind in "iuf" and array.size else None


def _describe(value: Any) -> Any:
    return f"an array of shape {value.shape}" if isinstance(value, np.ndarray) else value
