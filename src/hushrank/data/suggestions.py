"""Did you mean: the name that somebody probably wanted, of those that there are."""

from collections.abc import Hashable, Iterable
from difflib import SequenceMatcher

_LIKE = 0.6  # of `difflib`, from which on two names are alike
_MOST_NAMES = 10_000  # compared: one header may have a million


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
    >>> did_you_mean("weight", ["age", "houseage", "rooms"])
    ''
    """
    if not isinstance(name, str):
        return ""
    wanted = _plain(name)
    best, nearest = _LIKE, ""
    for one, _ in zip((one for one in known if isinstance(one, str)), range(_MOST_NAMES), strict=False):
        matcher = SequenceMatcher(None, _plain(one), wanted)
        if matcher.real_quick_ratio() > best and matcher.quick_ratio() > best and matcher.ratio() > best:
            best, nearest = matcher.ratio(), one
    return f"; did you mean {nearest!r}?" if nearest else ""


def _plain(name: str) -> str:
    return "".join(sign for sign in name.casefold() if sign not in " -_")
