"""Options that several commands share, and how a plan is printed."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from hushrank.parameters import DEFAULT_N_MAX
from hushrank.privacy.guarantee import Neighbors, Unit

if TYPE_CHECKING:  # the module behind it is slow to import, and not every command needs it
    from hushrank.privacy.planning import Plan

Function = Callable[..., Any]

_RELATIONS, _UNITS = [relation.value for relation in Neighbors], [unit.value for unit in Unit]


def options(*decorators: Function) -> Function:
    """One decorator from several; --help lists their options in this order."""

    def decorate(function: Function) -> Function:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


JSON_OPTION = click.option("--json", "as_json", is_flag=True, help="Print one JSON object for machines.")
UNIT_OPTION = click.option(
    "--unit", type=click.Choice(_UNITS), default="row", show_default=True, help="By one of what."
)
_EPSILON_OPTION = click.option("--epsilon", type=float, required=True, help="Privacy budget, > 0.")
_NEIGHBORS_OPTION = click.option(
    "--neighbors",
    type=click.Choice(_RELATIONS),
    default="replace",
    show_default=True,
    help="Data sets differ by one replaced, or by one added or removed.",
)
BUDGET_OPTIONS = options(
    _EPSILON_OPTION,
    click.option("--delta", type=float, default=0.0, show_default=True, help="0 asks for pure privacy."),
    _NEIGHBORS_OPTION,
)
GAUSSIAN_BUDGET_OPTIONS = options(
    _EPSILON_OPTION,
    click.option("--delta", type=float, required=True, help="Far below 1 / number of users, > 0."),
    _NEIGHBORS_OPTION,
)
N_MAX_OPTION = click.option(
    "--n-max",
    type=int,
    default=DEFAULT_N_MAX,
    show_default=True,
    help="Public bound on the number of people; sets the fineness of the lattice.",
)


class Vector(click.ParamType):  # type: ignore[type-arg]  # generic in newer versions of click only
    """One of `words`, numbers separated by commas, or the path of an .npy file with a vector."""

    name = "vector"

    def __init__(self, words: tuple[str, ...] = ()) -> None:
        self.words = words

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value in self.words or not isinstance(value, str):
            return value
        try:
            if value.endswith(".npy"):
                return np.load(Path(value), allow_pickle=False)
            return [float(number) for number in value.split(",")]
        except (OSError, ValueError, EOFError):
            accepted = ", ".join([*map(repr, self.words), "numbers separated by commas", "or an .npy file"])
            self.fail(f"{value!r} is not {accepted}.", param, ctx)


SECOND_MOMENT_OPTIONS = options(
    click.option(
        "--row-norm", type=float, required=True, help="Public bound on the L2 norm of a row; longer ones are shortened."
    ),
    click.option(
        "--center",
        type=Vector(("private",)),
        help="What to subtract from every row: 'private' (a mean that takes 10 % of the budget), numbers separated by "
        "commas, or an .npy file. Default: nothing.",
    ),
    click.option(
        "--center-norm", type=float, help="With --center private: bound on a row before centering. Default: --row-norm."
    ),
    click.option(
        "--mechanism",
        type=click.Choice(["auto", "gaussian", "wishart", "exponential"]),
        default="auto",
        show_default=True,
        help="auto: Gaussian noise if delta > 0, else two-sided Wishart noise. exponential: for weak signals.",
    ),
    click.option(
        "--field",
        type=click.Choice(["real", "complex"]),
        default="real",
        show_default=True,
        help="Of the result; complex takes complex .npy and .npz files as well.",
    ),
    click.option(
        "--strategy",
        type=click.Choice(["auto", "joint", "sequential"]),
        default="auto",
        show_default=True,
        help="With --mechanism exponential: all directions at once, or one after the other.",
    ),
    N_MAX_OPTION,
)


LOW_RANK_OPTIONS = options(
    click.option("--rank", type=int, help="Rank of the approximation. Default: as many as --eigenvalues."),
    click.option(
        "--eigenvalues",
        type=Vector(),
        help="Public eigenvalues of the approximation: numbers separated by commas, or an .npy file. Default: private.",
    ),
    click.option(
        "--share",
        type=float,
        help="With --mechanism exponential: part of the budget for private eigenvalues. Default: one half.",
    ),
)


class Items(click.ParamType):  # type: ignore[type-arg]  # as above
    """A count of items, or the path of a CSV or Parquet file that lists their public ids."""

    name = "count or file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        if value[value.startswith(("+", "-")) :].isdecimal():
            return int(value)
        from hushrank.cli.small_tables import read_catalogue

        return read_catalogue(Path(value))


COMPLETION_OPTIONS = options(
    click.option(
        "--items",
        type=Items(),
        required=True,
        help="Public catalogue: a count, for ids 0, 1, ..., or a CSV or Parquet file with the ids in the column item "
        "(or in its only column).",
    ),
    click.option(
        "--rating-range",
        type=float,
        nargs=2,
        metavar="LOW HIGH",
        help="Public range of the ratings; others are clipped. Required unless feedback is implicit.",
    ),
    click.option("--rank", type=int, required=True, help="Largest number of factors; fewer where data support fewer."),
    click.option(
        "--method",
        type=click.Choice(["spectral", "als", "factored_gradient"]),
        default="spectral",
        show_default=True,
        help="spectral is the most accurate.",
    ),
    click.option(
        "--offsets/--no-offsets",
        default=True,
        show_default=True,
        help="Item means and user offsets, or a matrix of low rank alone.",
    ),
    click.option(
        "--feedback",
        type=click.Choice(["explicit", "implicit"]),
        default="explicit",
        show_default=True,
        help="implicit: every listed pair counts as 1, and there are no ratings.",
    ),
    click.option(
        "--unobserved-weight",
        type=float,
        default=1.0,
        show_default=True,
        help="With implicit feedback: weight of all items beside those of the user.",
    ),
    N_MAX_OPTION,
)


COLUMNS_OPTION = click.option(
    "--columns", callback=lambda _ctx, _param, names: _split(names), help="Columns to use, separated by commas."
)


def _split(names: str | None) -> list[str] | None:
    return None if names is None else [name.strip() for name in names.split(",")]


def print_plan(plan: "Plan", as_json: bool) -> None:
    """The plan as lines for people, or as one JSON object."""
    click.echo(json.dumps(plan.to_dict()) if as_json else str(plan))
