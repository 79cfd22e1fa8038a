"""The public range of ratings."""

import math
from numbers import Real
from typing import Any

import numpy as np

from hushrank.data.numbers import to_number
from hushrank.exceptions import InvalidParameter

Range = tuple[float, float]


def check_rating_range(rating_range: Any, owner: str) -> Range:
    """The pair as floats, if it is one of finite numbers that rise."""
    is_pair = isinstance(rating_range, tuple | list | np.ndarray) and len(rating_range) == 2
    if is_pair and all(isinstance(bound, Real) and not isinstance(bound, bool) for bound in rating_range):
        low, high = map(to_number, rating_range)
        if math.isfinite(low) and math.isfinite(high) and high / 2 - low / 2 > 0:  # not so for some subnormal numbers
            return low, high
    requirement = "a pair (lowest, highest) of finite numbers, lowest < highest"
    raise InvalidParameter(owner, "rating_range", requirement, rating_range)
