"""Real or complex rows: the field of a second moment, and the form its integer total has."""

from enum import StrEnum
from typing import Any

from hushrank.exceptions import InvalidParameter
from hushrank.privacy.mechanisms.totals import check_square_total
from hushrank.privacy.noise.deviates import Integers


class Field(StrEnum):
    """Number field of the rows."""

    REAL = "real"
    COMPLEX = "complex"


def parse_field(field: Field | str, owner: str) -> Field:
    """`field` as a Field; refuse other words."""
    if not isinstance(field, str) or field not in list(Field):
        raise InvalidParameter(owner, "field", '"real" or "complex"', field)
    return Field(field)


def check_hermitian_total(total: Any, owner: str) -> tuple[Integers, Integers]:
    """Return a pair (real part, imaginary part) as contiguous square int64 matrices of one shape."""
    if not isinstance(total, tuple) or len(total) != 2:
        raise InvalidParameter(owner, "total", "a pair of integer matrices (real, imaginary)", type(total))
    real, imaginary = (check_square_total(part, owner) for part in total)
    if real.shape != imaginary.shape:
        raise InvalidParameter(owner, "total", "a pair of matrices of one shape", imaginary.shape)
    return real, imaginary
