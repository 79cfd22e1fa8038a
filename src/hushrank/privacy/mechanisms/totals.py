"""The schema of a secret total, checked before any noise is drawn; its values are never looked at."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushrank.exceptions import InvalidParameter
from hushrank.privacy.noise.deviates import Integers


def check_total(total: Any, owner: str, *, ndim: int | None = None, name: str = "total") -> Integers:
    """Return `total` as a contiguous int64 array; refuse other dtypes than integers that fit int64."""
    array = np.asarray(total)
    if array.dtype.kind not in "iu" or array.dtype == np.uint64:
        raise InvalidParameter(owner, name, "an array of lattice integers (int64)", _describe(array))
    if ndim is not None and array.ndim != ndim:
        raise InvalidParameter(owner, name, f"an array with {ndim} dimension(s)", _describe(array))
    return array.astype(np.int64, order="C", copy=False)


def check_square_total(total: Any, owner: str) -> Integers:
    """Return `total` as a contiguous square int64 matrix."""
    array = check_total(total, owner, ndim=2)
    if array.shape[0] != array.shape[1] or not array.size:
        raise InvalidParameter(owner, "total", "a square matrix", _describe(array))
    return array


def _describe(array: NDArray[Any]) -> str:
    return f"{array.dtype} array of shape {array.shape}"
