"""Learned attributes: what kind, shape and limits each of them has, declared once and checked where a file is read.

A file from a stranger may claim anything, and compiled code trusts the sizes of its arrays. So a model is made of what
was declared or not at all.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import UnionType
from typing import Any

import numpy as np

Size = int | str | range

COLUMNS = "n_features_in_"
"""The size that the data gave."""

_DTYPES: dict[Any, np.dtype[Any]] = {float: np.dtype(np.float64), complex: np.dtype(np.complex128)}
_ID_DTYPES = (np.dtype(np.int64), np.dtype(np.uint64))
_LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Attribute:
    """One line of a table of learned attributes.

    Parameters
    ----------
    kind : float, complex, int, str or int | str
        `float` and `complex` are arrays of float64 or complex128 if there is a shape, `float` and `int` are numbers if
        there is none; `str` is a vector of different strings, `int | str` one of different ids, all of them strings or
        all int64 or uint64. Numbers are finite.
    shape : tuple
        Sizes: a number, the name of a parameter, `COLUMNS`, or a range of sizes.
    minimum, above : float, optional
        Limits of all numbers: >= minimum, > above.
    later : bool
        Whether the attribute was added after the first model files: older ones do not have it.

    Examples
    --------
    >>> line = Attribute(float, ("rank", COLUMNS), minimum=0)
    >>> line.check_shape(np.zeros((2, 3)), "loadings_", {"rank": 2, COLUMNS: 4})
    Traceback (most recent call last):
    ValueError: loadings_ has the shape (2, 3) instead of (2, 4)
    >>> line.check(np.array([[1.0, np.nan]]), "loadings_")
    Traceback (most recent call last):
    ValueError: loadings_ has numbers that are not finite
    """

    kind: type | UnionType
    shape: tuple[Size, ...] = ()
    minimum: float | None = None
    above: float | None = None
    later: bool = False

    def check_shape(self, value: Any, name: str, sizes: Mapping[str, Any]) -> None:
        """Raise ValueError unless the array, list or number has this shape, given the sizes that are known by name."""
        expected = tuple(sizes[size] if isinstance(size, str) else size for size in self.shape)
        found = value.shape if isinstance(value, np.ndarray) else (len(value),) if hasattr(value, "__len__") else ()
        if len(found) != len(expected) or not all(map(_is_size, found, expected)):
            raise ValueError(f"{name} has the shape {found} instead of {expected}")

    def check(self, value: Any, name: str) -> None:
        """Raise ValueError unless `value` is of this kind and within the limits."""
        if self.kind in (str, int | str):
            check_ids(value, name, is_text=self.kind is str)
        elif self.shape:
            self._check_array(value, name)
        else:
            self._check_number(value, name)

    def _check_array(self, value: Any, name: str) -> None:
        dtype = _DTYPES[self.kind]
        if not isinstance(value, np.ndarray) or value.dtype != dtype:
            raise ValueError(f"{name} is no array of {dtype}")
        if not np.isfinite(value).all():
            raise ValueError(f"{name} has numbers that are not finite")
        if value.size and (self.minimum is not None or self.above is not None):
            self._check_limits(float(value.min()), name)

    def _check_number(self, value: Any, name: str) -> None:
        if type(value) is not self.kind:
            raise ValueError(f"{name} is no {'float' if self.kind is float else 'int'}")
        number: Any = value
        if not (math.isfinite(number) if self.kind is float else abs(number) <= _LARGEST):
            raise ValueError(f"{name} is out of range")
        self._check_limits(number, name)

    def _check_limits(self, smallest: float, name: str) -> None:
        if self.minimum is not None and smallest < self.minimum:
            raise ValueError(f"{name} has numbers below {self.minimum:g}")
        if self.above is not None and smallest <= self.above:
            raise ValueError(f"{name} has numbers that are not above {self.above:g}")


def number_kind(is_complex: bool) -> type:
    """The kind of real or complex numbers."""
    return complex if is_complex else float


def _is_size(found: int, expected: Any) -> bool:
    return found in expected if isinstance(expected, range) else bool(found == expected)


def check_ids(value: Any, name: str, *, is_text: bool = False) -> None:
    """Raise ValueError unless `value` is a vector of different ids: strings, or else int64 or uint64."""
    kinds = (np.dtype(object),) if is_text else (np.dtype(object), *_ID_DTYPES)
    if not isinstance(value, np.ndarray) or value.ndim != 1 or value.dtype not in kinds:
        raise ValueError(f"{name} is no vector of {'strings' if is_text else 'ids'}")
    ids = value.tolist() if value.dtype == object else np.unique(value)
    if isinstance(ids, list) and not all(type(one) is str for one in ids):
        raise ValueError(f"{name} is no vector of strings")
    n_different = len(set(ids)) if isinstance(ids, list) else len(ids)
    if n_different < len(value):
        raise ValueError(f"{name} has {len(value) - n_different} repeated ids")
