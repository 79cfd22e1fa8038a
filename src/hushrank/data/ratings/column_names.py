"""What the columns user, item and rating are called in a table, and what a person may have meant where one is missing.

Only names are looked at: those of a header or of a schema, which is public.
"""

import json
import re
import warnings
from collections.abc import Hashable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from hushrank.exceptions import InvalidParameter

ROLES = ("user", "item", "rating")

# Names that people give these columns, in lower case and without signs between their parts.
_ALIASES: dict[str, tuple[str, ...]] = {
    "user": (
        "user", "userid", "uid", "users", "username", "userno", "customer", "customerid", "reviewer", "reviewerid",
        "person", "personid", "member", "memberid", "client", "clientid", "account", "accountid", "visitor",
        "visitorid", "profile", "profileid", "listener", "reader",
    ),
    "item": (
        "item", "itemid", "iid", "items", "movie", "movieid", "film", "filmid", "product", "productid", "parentasin",
        "asin", "isbn", "book", "bookid", "sku", "article", "articleid", "song", "songid", "track", "trackid",
        "artist", "artistid", "business", "businessid", "anime", "animeid", "game", "gameid", "joke", "jokeid",
        "recipe", "recipeid", "app", "appid",
    ),
    "rating": (
        "rating", "ratings", "stars", "star", "starrating", "score", "bookrating", "overall", "rate", "grade", "vote",
        "preference", "value", "points", "userrating", "reviewrating",
    ),
    "title": ("title", "name", "itemname", "movietitle", "booktitle", "producttitle", "productname", "label"),
}  # fmt: skip


class MissingColumn(InvalidParameter):
    """A table lacks a column; `hint` says which other one may have been meant."""

    def __init__(self, owner: str, name: str, requirement: str, got: str, hint: str = "") -> None:
        super().__init__(owner, name, requirement, got)
        self.hint = hint
        self.args = (f"{name} of {owner} must be {requirement}; got {got}.{' ' if hint else ''}{hint}",)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.owner, self.name, self.requirement, self.got, self.hint)


def name_columns(columns: Any, owner: str) -> dict[str, str]:
    """What each of the columns user, item and rating is called, from a dict of the names that are others.

    Examples
    --------
    >>> name_columns({"user": "userId"}, "example")
    {'user': 'userId', 'item': 'item', 'rating': 'rating'}
    """
    given = {} if columns is None else columns
    if (
        not isinstance(given, Mapping)
        or not set(given) <= set(ROLES)
        or not all(isinstance(name, str) for name in given.values())
        or len(set(given.values())) < len(given)
    ):
        requirement = "None or a dict of different names of columns for user, item and rating"
        raise InvalidParameter(owner, "columns", requirement, columns)
    return {role: given.get(role, role) for role in ROLES}


def needed_columns(columns: Any, is_implicit: bool, owner: str) -> dict[str, str]:
    """The same without the rating where feedback is implicit: it is not read."""
    names = name_columns(columns, owner)
    return {role: names[role] for role in (ROLES[:2] if is_implicit else ROLES)}


def check_names(names: Sequence[Hashable], wanted: Mapping[str, str], owner: str, name: str = "X") -> None:
    """Refuse a table that lacks one of the wanted columns, by role, or has two of one name, or one for two roles."""
    repeated = [one for one in names if names.count(one) > 1]
    if repeated:
        raise InvalidParameter(owner, name, "a table whose column names differ", f"two columns {repeated[0]!r}")
    missing = [one for one in wanted.values() if one not in names]
    if missing:
        requirement = f"a table with the column{'s' * (len(wanted) > 1)} {', '.join(wanted.values())}"
        raise MissingColumn(owner, name, requirement, f"no column {missing[0]!r}", hint_names(names, wanted))
    called = list(wanted.values())
    twice = next((one for one in called if called.count(one) > 1), None)
    if twice is not None:
        raise InvalidParameter(owner, "columns", f"different columns for {' and '.join(wanted)}", f"{twice!r} for two")


def hint_names(names: Sequence[Hashable], wanted: Mapping[str, str]) -> str:
    """Which of the names may be meant for the wanted ones that are missing; empty if none looks like it.

    Examples
    --------
    >>> hint_names(["userId", "movieId", "rating", "timestamp"], {role: role for role in ROLES})
    'Did you mean columns={"user": "userId", "item": "movieId"}? (--user-col userId --item-col movieId)'
    """
    found = {role: guess_column(names, role, wanted[role], taken=wanted.values()) for role in wanted}
    meant = {role: name if wanted[role] not in names else wanted[role] for role, name in found.items()}
    if not any(found[role] and wanted[role] not in names for role in wanted):
        return ""
    said = {role: name for role, name in meant.items() if name is not None and name != role}
    if not said:  # what is meant is what the columns are called anyhow
        return ""
    options = " ".join(f"--{role}-col {as_word(name)}" for role, name in said.items())
    return f"Did you mean columns={_as_dict(said)}? ({options})"


def guess_column(
    names: Sequence[Hashable], role: str, wanted: str, taken: Any = (), *, may_be_close: bool = True
) -> str | None:
    """The column that is called as people call such a column, or nearly like `wanted`; None if none is."""
    free = {plain_name(name): name for name in reversed(names) if isinstance(name, str) and name not in taken}
    known = next((alias for alias in (plain_name(wanted), *_ALIASES.get(role, ())) if alias in free), None)
    if known is None and may_be_close:
        known = next(iter(get_close_matches(plain_name(wanted), list(free), 1, 0.75)), None)
    return free[known] if known else None


def warn_of_users(names: Sequence[Hashable], columns: Any) -> None:
    """Say that a table is taken as one person's where a column looks as if it had the users of many."""
    other = guess_column(names, "user", "user", name_columns(columns, "own_ratings").values(), may_be_close=False)
    if other is not None:
        message = f"all ratings are taken as one person's: column {other!r} is not used. For one answer a user, "
        warnings.warn(f"{message}columns={_as_dict({'user': other})} (--user-col {as_word(other)}).", stacklevel=5)


def plain_name(name: str) -> str:
    """A name in lower case, without the signs between its parts: userId, user_id and User-ID are one."""
    return re.sub(r"[\W_]+", "", name.lower())


def as_word(name: str) -> str:
    """A name as it is written on a command line; what steers a terminal is spelled out."""
    return name if re.fullmatch(r"[\w.:-]+", name) else repr(name)


def _as_dict(names: Mapping[str, str]) -> str:
    return json.dumps(names, ensure_ascii=not all(name.isprintable() for name in names.values()))
