"""Parameter tables, checks of values with one shape of error (`InvalidParameter`), guesses at misspelled names."""

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from numbers import Integral, Real
from typing import Any

import numpy as np

from hushrank.exceptions import InvalidParameter

DEFAULT_N_MAX = 1 << 26
"""Public bound on the number of people where nobody stated another one."""

_LIKE = 0.6  # of `difflib`, from which on two names are alike
_SHORT = 3  # letters of a name that others may have in their order by chance
_MOST_NAMES = 10_000  # compared: one header may have a million


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
    if not isinstance(value, bool) and isinstance(value, Real):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if (
            math.isfinite(number)
            and (above is None or number > above)
            and (minimum is None or number >= minimum)
            and (below is None or number < below)
        ):
            return number
    stated = ((">", above), (">=", minimum), ("<", below))
    limits = " and ".join(f"{sign} {limit:g}" for sign, limit in stated if limit is not None)
    raise InvalidParameter(owner, name, f"a finite float {limits}".strip(), value)


def check_integer(value: Any, name: str, owner: str, *, minimum: int, maximum: int | None = None) -> int:
    """Return `value` as an int inside [minimum, maximum], or raise InvalidParameter."""
    upper = "" if maximum is None else f" and <= {maximum}"
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InvalidParameter(owner, name, f"an integer >= {minimum}{upper}", value)
    number = int(value)
    if number < minimum or (maximum is not None and number > maximum):
        raise InvalidParameter(owner, name, f"an integer >= {minimum}{upper}", value)
    return number


@dataclass(frozen=True, slots=True)
class Param:
    """One line of a parameter table.

    Parameters
    ----------
    kind : type or None
        `float` (finite), `int`, `bool`, `numpy.ndarray` (a finite vector, any sequence of numbers), or any other
        class or runtime-checkable protocol. None if only `words` are accepted.
    above, minimum, below, maximum : float, optional
        Limits of a number: > above, >= minimum, < below, <= maximum (integers only).
    words : tuple of str
        Strings that are accepted as well.
    optional : bool
        Whether None is accepted as well.
    description : str
        What an instance of another class is called in the error.
    later : bool
        Whether the parameter was added after the first model files: at its default it is not written, so that older
        versions still read the file.
    default : object
        Default of the constructor; `...` for a parameter that must be given.
    absent : object
        Value in the model files of older versions, which do not name the parameter, where that is not the default.
    help : str
        What the command line says about it: one sentence, and what the default means where it is None.
    option : str or None
        Name of its option on the command line, if that is another; None for a parameter that has no option.
    metavars : tuple of str
        Names of the values of an option that takes several.

    Examples
    --------
    >>> Param(float, above=0).check(-1, "row_norm", "PrivatePCA")
    Traceback (most recent call last):
    hushrank.exceptions.InvalidParameter: row_norm of PrivatePCA must be a finite float > 0; got -1.
    >>> Param(float, above=0, words=("private",)).check("no", "center_norm", "PrivatePCA")
    Traceback (most recent call last):
    hushrank.exceptions.InvalidParameter: center_norm of PrivatePCA must be a finite float > 0 or 'private'; got 'no'.
    """

    kind: type | None = None
    above: float | None = None
    minimum: float | None = None
    below: float | None = None
    maximum: int | None = None
    words: tuple[str, ...] = ()
    optional: bool = False
    description: str = ""
    later: bool = False
    default: Any = ...
    absent: Any = ...
    help: str = ""
    option: str | None = ""
    metavars: tuple[str, ...] = ()

    def check(self, value: Any, name: str, owner: str) -> None:
        """Raise InvalidParameter unless `value` is what this line asks for."""
        if (value is None and self.optional) or (isinstance(value, str) and value in self.words):
            return
        try:
            self._check_kind(value, name, owner)
        except InvalidParameter as error:
            others = [*(repr(word) for word in self.words), *(["None"] if self.optional else [])]
            requirement = " or ".join([error.requirement, *others] if error.requirement else others)
            raise InvalidParameter(owner, name, requirement, value) from None

    def to_json(self, value: Any) -> Any:
        """A value that passed `check` as JSON holds it."""
        if value is None or isinstance(value, str):
            return value
        if self.kind is np.ndarray:
            return np.asarray(value, np.float64).tolist()
        return self.kind(value) if self.kind in (float, int, bool) else value

    def from_json(self, saved: Any) -> Any:
        """A value from what `to_json` gave."""
        return saved

    def wrong_values(self) -> Iterator[Any]:
        """Values that must be refused, made from the line itself: other types, and numbers outside the limits."""
        yield from (object(), "no such word", [["nested"]], complex(1, 1))
        if not self.optional:
            yield None
        if self.kind is float:
            yield from (math.nan, math.inf, True)
        if self.kind is int:
            yield from (1.5, True)
        if self.kind is np.ndarray:
            yield from ([[1.0, 2.0]], [1.0, math.nan], ["a", "b"])
        if self.kind is not None:
            yield self.kind  # a class where one of its instances belongs
        step = 1 if self.kind is int else 1e-9
        outside = {"above": 0, "minimum": -step, "below": 0, "maximum": step}
        yield from (limit + shift for key, shift in outside.items() if (limit := getattr(self, key)) is not None)

    def _check_kind(self, value: Any, name: str, owner: str) -> None:
        if self.kind is float:
            check_real(value, name, owner, above=self.above, minimum=self.minimum, below=self.below)
        elif self.kind is int:
            lowest = math.ceil(self.minimum) if self.minimum is not None else -(2**63)
            check_integer(value, name, owner, minimum=lowest, maximum=self.maximum)
        elif self.kind is np.ndarray:
            check_vector(value, name, owner)
        elif self.kind is None or isinstance(value, type) or not isinstance(value, self.kind):
            described = self.description or (f"a {self.kind.__name__}" if self.kind else "")
            raise InvalidParameter(owner, name, described, value)


class PairParam(Param):
    """Two integers, each at least `minimum`, in a tuple, list or vector."""

    __slots__ = ()

    def check(self, value: Any, name: str, owner: str) -> None:
        """Raise InvalidParameter unless `value` is such a pair, or None where that is accepted."""
        if value is None and self.optional:
            return
        lowest = math.ceil(self.minimum or 0)
        upper = "" if self.maximum is None else f" and <= {self.maximum}"
        requirement = f"a pair of integers >= {lowest}{upper}" + (" or None" if self.optional else "")
        is_sequence = isinstance(value, tuple | list) or (isinstance(value, np.ndarray) and value.ndim == 1)
        if not is_sequence or len(value) != 2:
            raise InvalidParameter(owner, name, requirement, value)
        for number in value:
            try:
                check_integer(number, name, owner, minimum=lowest, maximum=self.maximum)
            except InvalidParameter:
                raise InvalidParameter(owner, name, requirement, value) from None

    def to_json(self, value: Any) -> Any:
        """A list of two integers, or None."""
        return None if value is None else [int(number) for number in value]

    def from_json(self, saved: Any) -> Any:
        """A pair from what `to_json` gave."""
        return tuple(saved) if isinstance(saved, list) else saved

    def wrong_values(self) -> Iterator[Any]:
        """Values that must be refused."""
        yield from (object(), "no such word", [["nested"]], complex(1, 1), 5, (5,), (5, 5, 5), (5, 1.5), (True, 5))
        yield from ((5, math.ceil(self.minimum or 0) - 1), (math.nan, 5), ([5], 5), tuple)
        if self.maximum is not None:
            yield (self.maximum, self.maximum + 1)
        if not self.optional:
            yield None


def check_vector(value: Any, name: str, owner: str) -> np.ndarray:
    """`value` as a finite float64 vector, or InvalidParameter."""
    try:
        array = np.asarray(value)
    except ValueError:  # ragged
        array = np.empty((), object)
    if array.dtype.kind not in "biuf" or array.ndim != 1 or not np.isfinite(array.astype(np.float64)).all():
        raise InvalidParameter(owner, name, "a vector of finite real numbers", value)
    return array.astype(np.float64)


def check_parameters(table: Mapping[str, Param], values: Mapping[str, Any], owner: str) -> None:
    """Check every value against its line of the table, in the order of the table."""
    for name, line in table.items():
        line.check(values[name], name, owner)


def did_you_mean(name: Hashable, known: Iterable[Hashable]) -> str:
    """The end of a message about an unknown name: "; did you mean 'x'?", or nothing where no known name is like it.

    Capitals, spaces, hyphens and underscores do not count. Names are those of a header, a schema or an option, never
    values of a person's record.

    Examples
    --------
    >>> did_you_mean("housage", ["age", "houseage", "rooms"])
    "; did you mean 'houseage'?"
    >>> did_you_mean("Total Bedrooms", ["total_rooms", "total_bedrooms"])
    "; did you mean 'total_bedrooms'?"
    >>> did_you_mean("weight", ["age", "houseage", "rooms"]) + did_you_mean("target", ["Age"])
    ''
    """
    nearest = nearest_name(name, known)
    return "" if nearest is None else f"; did you mean {nearest!r}?"


def nearest_name(name: Hashable, known: Iterable[Hashable]) -> str | None:
    """The known name that is most like `name`, as `did_you_mean` compares them; None where none is like it."""
    if not isinstance(name, str):
        return None
    wanted = _plain(name)
    best, nearest = _LIKE, None
    for one, _ in zip((one for one in known if isinstance(one, str)), range(_MOST_NAMES), strict=False):
        plain = _plain(one)
        if _is_within(plain, wanted) or _is_within(wanted, plain):
            continue
        matcher = SequenceMatcher(None, plain, wanted)
        if matcher.real_quick_ratio() > best and matcher.quick_ratio() > best and matcher.ratio() > best:
            best, nearest = matcher.ratio(), one
    return nearest


def _is_within(short: str, long: str) -> bool:
    """Whether a short name may have its letters in common with a longer one by chance, as "age" with "target"."""
    return len(short) <= _SHORT < len(long) - 1 and short[:1] != long[:1]


def _plain(name: str) -> str:
    return "".join(sign for sign in name.casefold() if sign not in " -_")
