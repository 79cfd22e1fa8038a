"""Numbers of a guarantee as people read them: six digits, rounded so that nothing looks more private than it is.

Calibrations land a little below what was asked for, and 4.999999999785676 reads as 5. Files and `to_dict` keep all
digits.
"""

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

from hushrank.privacy.events import Composed, Event, Gaussian, Pure, Repeated

DIGITS = 6


def at_most(value: float, digits: int = DIGITS) -> str:
    """A number that is a cost, such as epsilon or delta, rounded up.

    Examples
    --------
    >>> at_most(4.999999999785676), at_most(1e-6), at_most(0.83000001)
    ('5', '1e-06', '0.830001')
    """
    return _rounded(value, digits, ROUND_CEILING)


def at_least(value: float, digits: int = DIGITS) -> str:
    """A number that is a protection, such as a noise multiplier, rounded down.

    Examples
    --------
    >>> at_least(4.2246788897372545)
    '4.22467'
    """
    return _rounded(value, digits, ROUND_FLOOR)


def show_event(event: Event) -> str:
    """An event with rounded numbers, for people; `repr` has all digits.

    Examples
    --------
    >>> show_event(Composed([Gaussian(4.2246788897372545), Pure(0.5)]))
    'Composed(events=(Gaussian(noise_multiplier=4.22467), Pure(epsilon=0.5, bounded_range=False)))'
    """
    for kind, show in _FORMS.items():
        if isinstance(event, kind):
            return show(event)
    return str(event)


def _rounded(value: float, digits: int, rounding: str) -> str:
    if not math.isfinite(value):
        return str(value)
    # From the shortest digits that mean this float: 0.1 stays 0.1, and what is printed reads back on the same side.
    return f"{float(Context(digits, rounding).create_decimal(Decimal(repr(float(value))))):.{digits}g}"


def _show_composed(event: Composed) -> str:
    listed = ", ".join(map(show_event, event.events))
    return f"Composed(events=({listed}{',' if len(event.events) == 1 else ''}))"


_FORMS: dict[type, Callable[..., str]] = {
    Gaussian: lambda event: f"Gaussian(noise_multiplier={at_least(event.noise_multiplier)})",
    Pure: lambda event: f"Pure(epsilon={at_most(event.epsilon)}, bounded_range={event.bounded_range})",
    Repeated: lambda event: f"Repeated(event={show_event(event.event)}, count={event.count})",
    Composed: _show_composed,
}
