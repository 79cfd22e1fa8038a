"""`hushrank plan`: event, noise scales and guarantee of a release, from public numbers alone.

The plans of estimators come from the registry; those of single mechanisms are written here.
"""

import json
from typing import Any

import click

from hushrank.cli.lazy import LazyGroup
from hushrank.cli.options import (
    BUDGET_OPTIONS,
    JSON_OPTION,
    UNIT_OPTION,
    options,
    parameter_options,
    size_options,
    table_options,
)
from hushrank.privacy.guarantee import Budget
from hushrank.privacy.planning import Plan, plan_counts, plan_gram, plan_quantile, plan_vector
from hushrank.registry import COMMANDS, PUBLIC, planner

SUMMARIES = {command: PUBLIC[name].summary for command, name in COMMANDS.items()}


def plan_command(command: str) -> click.Command:
    """The plan of an estimator, from its sizes and parameters."""
    release = planner(COMMANDS[command])
    sizes = release.size_table()

    def show(as_json: bool, **values: Any) -> None:
        given = {name: values.pop(name) for name in sizes if name in values}
        print_plan(release(**values).plan(**given), as_json)

    of_parameters = parameter_options(release, without=sizes)  # a size may be a parameter as well: it is asked for once
    shown = options(size_options(sizes), of_parameters, JSON_OPTION)(show)
    return click.command(command, help=f"{SUMMARIES[command]}\n\n{_ABOUT}")(shown)


_ABOUT = (
    "Shown are its releases, the noise of each, the guarantee, and a forecast of the error. Nothing private is read."
)


@click.group(cls=LazyGroup, summaries=SUMMARIES, load=plan_command)
def command() -> None:
    """Show event, noise scales and guarantee of a release, without data.

    \b
    Examples:
      hushrank plan pca --rows 10000 --columns 64 --components 5 --row-norm 1 --epsilon 1
      hushrank plan complete --users 6040 --items 3706 --rank 8 --rating-range 1 5 --epsilon 1 --delta 1e-6
      hushrank plan gram --columns 64 --row-norm 1 --epsilon 1
      hushrank plan vector --norm 2 --epsilon 1 --delta 1e-6 --json
    """


def print_plan(plan: Plan, as_json: bool) -> None:
    """The plan as lines for people, or as one JSON object."""
    click.echo(json.dumps(plan.to_dict()) if as_json else str(plan))


RELEASE_OPTIONS = options(BUDGET_OPTIONS, UNIT_OPTION, JSON_OPTION)

# A covariance matrix is made of the same release as `gram`: its columns, the bound on a row and the lattice.
_ROWS = planner("PrivateCovariance")
COLUMNS_OPTION = size_options({"n_features": _ROWS.size_table()["n_features"]})
N_MAX_OPTION = table_options({"n_max": _ROWS.parameter_table()["n_max"]})
ROW_NORM_OPTION = click.option("--row-norm", type=float, required=True, help="Public bound on the L2 norm of a row.")


@command.command()
@click.option("--norm", type=float, required=True, help="Bound on one person's vector: L2 norm, or L1 if delta is 0.")
@click.option("--nonnegative", is_flag=True, help="Negative entries are clipped to zero (delta > 0).")
@N_MAX_OPTION
@RELEASE_OPTIONS
def vector(norm: float, nonnegative: bool, n_max: int, as_json: bool, **budget: Any) -> None:
    """A sum of one vector per person."""
    print_plan(plan_vector(Budget(**budget), norm, nonnegative=nonnegative, n_max=n_max), as_json)


@command.command()
@COLUMNS_OPTION
@ROW_NORM_OPTION
@N_MAX_OPTION
@RELEASE_OPTIONS
def gram(n_features: int, row_norm: float, n_max: int, as_json: bool, **budget: Any) -> None:
    """A second-moment matrix, the sum of x x^T."""
    print_plan(plan_gram(Budget(**budget), row_norm, n_features, n_max=n_max), as_json)


@command.command()
@click.option("--cells", type=click.IntRange(min=1), required=True, help="Number of counts.")
@click.option(
    "--max-cells", type=click.IntRange(min=1), default=1, show_default=True, help="Most cells one person adds to."
)
@RELEASE_OPTIONS
def counts(cells: int, max_cells: int, as_json: bool, **budget: Any) -> None:
    """Integer counts."""
    print_plan(plan_counts(Budget(**budget), cells, max_cells=max_cells), as_json)


PROBABILITY = click.FloatRange(0, 1, min_open=True, max_open=True)


@command.command()
@click.option("--probability", type=PROBABILITY, required=True, help="Which quantile.")
@click.option("--grid-size", type=click.IntRange(min=2), required=True, help="Number of points of the public grid.")
@RELEASE_OPTIONS
def quantile(probability: float, grid_size: int, as_json: bool, **budget: Any) -> None:
    """A quantile on a public grid."""
    print_plan(plan_quantile(Budget(**budget), probability, grid_size), as_json)
