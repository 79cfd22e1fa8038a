"""Which column of a table or file is the answer, which the user, and which are the numbers of a record.

Only names are looked at. They are those of a header or of a schema, never of a person's record.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hushrank.data.frames import choose_columns, say_missing
from hushrank.data.numbers import check_matrix
from hushrank.exceptions import InvalidParameter

DEFAULT_ANSWER, DEFAULT_USER = "target", "user"

# Instead of users: every record is a person of its own, and a table that names users is refused.
ONE_A_PERSON = object()

_ANSWER = f"a vector, or the name of a column of X ({DEFAULT_ANSWER!r} if it is None)"
_USER = "ids, or the name of another column of X than y"
_NO_USERS = "records of one person each, the unit that is protected here: choose features, or leave users out"


@dataclass(frozen=True, slots=True)
class Roles:
    """What the columns of a table are.

    Attributes
    ----------
    features : tuple of column names
        The numbers of a record, in this order.
    y, users : str or None
        The columns of answers and users, where the table has them.
    """

    features: tuple[Hashable, ...]
    y: str | None
    users: str | None


def assign_roles(
    names: Sequence[Hashable],
    y: Any,
    users: Any,
    features: Sequence[Hashable] | None,
    owner: str,
    *,
    index: Sequence[Any] = (),
    parameter: str = "features",
) -> Roles:
    """Tell the columns of a table apart by their names.

    Parameters
    ----------
    names : sequence of column names
        All of the table; refused if two are equal.
    y, users : str, None or anything else
        Names of columns. None is the column "target", which must then exist, and the column "user", if there is one.
        Anything else is no name: answers or ids that lie beside the table. With `ONE_A_PERSON` a column "user" or
        "users" is refused, unless it is the answer or `features` are chosen: the records of a user look protected.
    features : sequence of column names, optional
        All others by default; not "target" where answers, nor "user" where ids lie beside the table.
    owner : str
        Who asks, for error messages.
    index : sequence
        Columns that are no features by default: a stored index of pandas.
    parameter : str
        What `features` are called in error messages.

    Examples
    --------
    >>> assign_roles(["user", "age", "target", "height"], None, None, None, "example")
    Roles(features=('age', 'height'), y='target', users='user')
    """
    choose_columns(names, None, owner)
    answer = DEFAULT_ANSWER if y is None else y if isinstance(y, str) else None
    if answer is not None and answer not in names:
        raise InvalidParameter(owner, "y", _ANSWER, say_missing(answer, names))
    user = users if isinstance(users, str) else None
    if user is not None and (user not in names or user == answer):
        got = say_missing(user, names) if user not in names else f"{user!r} for both"
        raise InvalidParameter(owner, "users", _USER, got)
    if users is None and DEFAULT_USER in names and answer != DEFAULT_USER:
        user = DEFAULT_USER
    if users is ONE_A_PERSON and features is None:
        _check_no_users(names, answer, owner)
    taken = [name for name in (answer, user) if name is not None]
    # Answers or ids beside the table: columns that have their names are no features.
    beside = [name for name, given in ((DEFAULT_ANSWER, y), (DEFAULT_USER, users)) if not isinstance(given, str | None)]
    if features is not None:
        chosen = _check_features(features, taken, parameter, owner)
        choose_columns(names, chosen, owner)
    else:
        chosen = [name for name in names if name not in (*taken, *beside) and name not in index]
        check_matrix(np.dtype(np.float64), (0, len(chosen)), owner)
    return Roles(tuple(chosen), answer, user)


def _check_no_users(names: Sequence[Hashable], answer: str | None, owner: str) -> None:
    for name in (DEFAULT_USER, f"{DEFAULT_USER}s"):
        if name in names and name != answer:
            raise InvalidParameter(owner, "X", _NO_USERS, f"a column {name!r}")


def _check_features(features: Any, taken: Sequence[str], parameter: str, owner: str) -> list[Hashable]:
    requirement = "None or a list of different names of columns other than those of y and users"
    if isinstance(features, str) or not isinstance(features, Sequence):
        raise InvalidParameter(owner, parameter, requirement, type(features).__name__)
    chosen = list(features)
    if not all(isinstance(name, Hashable) for name in chosen) or len(set(chosen)) < len(chosen) or not chosen:
        raise InvalidParameter(owner, parameter, requirement, features)
    if set(chosen) & set(taken):
        raise InvalidParameter(owner, parameter, requirement, f"the column {next(n for n in chosen if n in taken)!r}")
    return chosen
