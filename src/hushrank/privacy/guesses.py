"""Public guesses about data that nobody has looked at: what a forecast needs beside public sizes.

A guess enters forecasts only; no noise, bound or guarantee depends on one. It must be public: from what is known of
such data in general or of older, published data, and never from the data that a plan is for.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hushrank.exceptions import InvalidParameter
from hushrank.parameters import check_real, nearest_name


@dataclass(frozen=True, slots=True)
class Guess:
    """One line of a table of guesses.

    Attributes
    ----------
    default : float
        Where nobody states another.
    low, high : float
        What it may well be where nobody states it: the band of a forecast reaches that far. Both the default where
        no band depends on it.
    help : str
        What it is, in a few words.
    minimum, below : float, optional
        Limits: >= minimum, < below.
    """

    default: float
    low: float
    high: float
    help: str
    minimum: float = 0.0
    below: float | None = None


def check_guesses(
    table: Mapping[str, Guess], used: Mapping[str, float], guesses: Mapping[str, Any] | None, owner: str
) -> dict[str, float]:
    """The stated guesses as floats within their limits, or InvalidParameter.

    `used` are the names that a forecast depends on, with their defaults: others are refused, not ignored.

    Examples
    --------
    >>> table = {"decay": Guess(1.0, 1.0, 1.0, "how fast variances fall")}
    >>> check_guesses(table, {"decay": 1.0}, {"decay": 2}, "Mine")
    {'decay': 2.0}
    >>> check_guesses(table, {"decay": 1.0}, {"decoy": 2}, "Mine")
    Traceback (most recent call last):
    hushrank.exceptions.InvalidParameter: guesses of Mine must be named decay (did you mean 'decay'?); got 'decoy'.
    """
    if guesses is None:
        return {}
    if not isinstance(guesses, Mapping):
        raise InvalidParameter(owner, "guesses", "a mapping of names to numbers", guesses)
    for name in guesses:
        if name not in used:
            names = ", ".join(used) if used else "nothing: this forecast needs none"
            meant = nearest_name(name, used)
            hint = "" if meant is None else f" (did you mean {meant!r}?)"
            raise InvalidParameter(owner, "guesses", f"named {names}{hint}", name)
    limits = {name: {"minimum": table[name].minimum, "below": table[name].below} for name in guesses}
    return {name: check_real(value, name, f"the guesses of {owner}", **limits[name]) for name, value in guesses.items()}
