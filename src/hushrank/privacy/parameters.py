"""Checks of single parameters, with one shape of error (see `hushrank.exceptions.InvalidParameter`)."""

import math
from numbers import Integral, Real
from typing import Any

from hushrank.exceptions import InvalidParameter

DEFAULT_N_MAX = 1 << 26
"""Public bound on the number of people where nobody stated another one."""


def check_real(
    value: Any,
    name: str,
    owner: str,
    *,
    above: float | None = None,
    minimum: float | None = None,
    below: float | None = None,
) -> float:
    """Return `value` as a finite float inside the stated limits, or raise InvalidParameter."""
    stated = ((">", above), (">=", minimum), ("<", below))
    limits = " and ".join(f"{sign} {limit:g}" for sign, limit in stated if limit is not None)
    requirement = f"a finite float {limits}".strip()
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InvalidParameter(owner, name, requirement, value)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    inside = (
        math.isfinite(number)
        and (above is None or number > above)
        and (minimum is None or number >= minimum)
        and (below is None or number < below)
    )
    if not inside:
        raise InvalidParameter(owner, name, requirement, value)
    return number


def check_integer(value: Any, name: str, owner: str, *, minimum: int, maximum: int | None = None) -> int:
    """Return `value` as an int inside [minimum, maximum], or raise InvalidParameter."""
    upper = "" if maximum is None else f" and <= {maximum}"
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InvalidParameter(owner, name, f"an integer >= {minimum}{upper}", value)
    number = int(value)
    if number < minimum or (maximum is not None and number > maximum):
        raise InvalidParameter(owner, name, f"an integer >= {minimum}{upper}", value)
    return number
