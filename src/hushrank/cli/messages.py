"""Errors in the words of the command line: the file that they are about, and options instead of parameters."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

from hushrank.data.remote_files import hide_secrets
from hushrank.exceptions import BudgetExceeded, HushrankError, InvalidParameter
from hushrank.privacy.charging import OtherTerms
from hushrank.registry import RELEASES, planner

# Refusals of a table that a look at its cells explains.
_MENDED = ("a table of real numbers and booleans", "a CSV file with a name for every column")
_DATA = ("X", "y", "users", "updates", "ratings", "history", "pairs")
_WHO = {
    "X": "the data", "updates": "the data",
    "y": "--target", "users": "--user", "random_state": "--seed", "ledger": "--ledger", "engine": "--cluster",
}  # fmt: skip
_BUDGET = {name: f"--{name}" for name in ("epsilon", "delta", "neighbors", "unit", "pure")}
_OF_A_DATA_SET = {"name": "the name of the data set"}
_OTHERS: Mapping[str, Mapping[str, str]] = {
    "Ledger.create": {**_BUDGET, **_OF_A_DATA_SET},
    "Ledger": _OF_A_DATA_SET,
    "Budget": _BUDGET,
    "Account.with_note": {"note": "--note"},
    "LocalEngine": {"threads": "--threads"},
    "DaskEngine": {"cluster": "--cluster"},
    "evaluate": {"ratings": "the data"},
    "limits of columns": dict.fromkeys(("X", "file"), "the file of --column-bounds"),
    **{owner: {"X": "the data", "row_norm": "--row-norm", "center": "--center"} for owner in ("check", "inspect")},
}
_MEANT, _AND_OPTIONS = "Did you mean columns=", "? (--"  # of a hint that has both, for Python and for commands
# What commands say instead, by how a requirement begins; the value stands for what was given.
_SAID_INSTEAD: Mapping[tuple[str, str], tuple[tuple[str, str], ...]] = {
    ("Ledger.create", "name"): (
        ("that of a new data set", "data set {got!r} exists, and its budget is fixed for life: take another name."),
        ("unlike ", "{got!r} could be taken for a data set that exists ({other}): take another name."),
    ),
    ("Account.charge", "event"): (
        ("made of Pure releases", "the budget of the data set has delta = 0, which pays for pure releases alone: "
         "take --delta 0, or create another data set, under another name, with --delta."),
    ),
    ("TurnstileSketch", "ledger"): (
        ("None where a guarantee rests on a random sketch", "this guarantee rests on a random sketch, whose cost no "
         "ledger can add up: with --ledger take --kind full, or --unit entry or user with --operator sparse_sign."),
    ),
}  # fmt: skip
_ACCEPTED = re.compile(r"accepted: epsilon = (\S+) or less(?: at delta = (\S+))?\.$")


@contextmanager
def about_file(path: str | PathLike[str] | None) -> Iterator[None]:
    """Put the name of a file before what is said about the data in it, unless it is there already.

    Examples
    --------
    >>> with about_file("people.csv"):
    ...     raise InvalidParameter("PrivatePCA", "X", "a table with the column 'age'", "no such column")
    Traceback (most recent call last):
      ...
    hushrank.exceptions.InvalidParameter: people.csv: X of PrivatePCA must be a table with the column 'age'; got ...
    """
    try:
        yield
    except InvalidParameter as error:
        shown = hide_secrets(str(path))
        if path is not None and error.name in _DATA and Path(shown).name not in str(error):
            hint = f" hushrank check {shown} says what to do." if error.requirement.startswith(_MENDED) else ""
            error.args = (f"{shown}: {error}{hint}",)
        raise


def in_options(error: HushrankError) -> str:
    """What an error says, with options instead of parameters; values that were given are left as they are.

    Examples
    --------
    >>> in_options(InvalidParameter("PrivatePCA", "row_norm", "a finite float > 0 or None", -1.0))
    '--row-norm must be a finite number > 0; got -1.0.'
    >>> in_options(InvalidParameter("PrivatePCA", "standardize", "None unless radius='private', its ground", "x"))
    "--standardize must be left out unless --radius private, its ground; got 'x'."
    """
    said = _ACCEPTED.sub(_in_accepted_options, str(error)) if isinstance(error, BudgetExceeded) else str(error)
    if isinstance(error, OtherTerms):
        return f"{error.in_words}."
    if isinstance(error, InvalidParameter):
        for beginning, instead in _SAID_INSTEAD.get((error.owner, error.name), ()):
            if error.requirement.startswith(beginning):
                other = error.requirement.removeprefix(beginning).partition(", a data set")[0]
                return instead.format(got=error.got, other=other)
        options = _options_of(error.owner)
        if error.name in options:
            before = f"{error.name} of {error.owner} must be {error.requirement}; got "
            after = f"{options[error.name]} must be {_say(error.requirement, options)}; got "
            said = re.sub(r"; got None\.$", "; got none.", said.replace(before, after, 1))
    return _with_options_alone(said)


def check_in_options(said: str, subject: str) -> str:
    """What a check of a release says, with options instead of parameters.

    Examples
    --------
    >>> check_in_options("give column_bounds; leave it out (--columns, or X[[...]] in Python)", "PrivatePCA")
    'give --column-bounds; leave it out (--columns)'
    """
    return _say(said.replace(", or X[[...]] in Python", ""), _options_of(subject))


def _with_options_alone(said: str) -> str:
    """The same without the half of a hint that is for Python."""
    before, meant, hint = said.rpartition(_MEANT)
    _, has_options, options = hint.rpartition(_AND_OPTIONS)
    return f"{before}Did you mean --{options.removesuffix(')')}?" if meant and has_options else said


def _in_accepted_options(found: re.Match[str]) -> str:
    epsilon, delta = found.groups()
    return f"accepted: --epsilon {epsilon} or less{'' if delta is None else f' with --delta {delta}'}."


def _options_of(owner: str) -> Mapping[str, str]:
    """Options by the parameters of a release, or of what else commands call."""
    if owner not in RELEASES:
        return _OTHERS.get(owner, {})
    table = planner(owner).parameter_table()
    lines = {name: line.option or name for name, line in table.items() if line.option is not None}
    return {**{name: f"--{option.replace('_', '-')}" for name, option in lines.items()}, **_WHO}


def _say(requirement: str, options: Mapping[str, str]) -> str:
    """A requirement without words of Python."""
    for name, option in options.items():
        if not option.startswith("--"):
            continue
        requirement = re.sub(rf"\b{name}='?(\w+)'?", rf"{option} \1", requirement)
        if "_" in name:  # others are words of the language as well
            requirement = re.sub(rf"\b{name}\b", option, requirement)
    requirement = requirement.replace("a vector, or the name of a column of X", "the name of a column")
    requirement = re.sub(r",? or None\b", "", requirement).replace("if it is None", "if it is left out")
    requirement = re.sub(r"\bNone (unless|for|where|without)\b", r"left out \1", requirement)
    return requirement.replace("finite float", "finite number")
