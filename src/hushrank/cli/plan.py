"""`hushrank plan`: event, noise scales and guarantee of one release, from public numbers alone."""

import json
from collections.abc import Callable
from typing import Any

import click

from hushrank.privacy.guarantee import Budget, Neighbors, Unit
from hushrank.privacy.mechanisms.scales import DEFAULT_N_MAX
from hushrank.privacy.planning import ReleasePlan, plan_counts, plan_gram, plan_quantile, plan_vector

Function = Callable[..., Any]


@click.group()
def command() -> None:
    """Show event, noise scales and guarantee of a release, without data.

    \b
    Examples:
      hushrank plan gram --columns 64 --row-norm 1 --epsilon 1
      hushrank plan vector --norm 2 --epsilon 1 --delta 1e-6 --json
    """


def budget_options(function: Function) -> Function:
    """Add --epsilon, --delta, --neighbors, --unit and --json."""
    relations, units = [relation.value for relation in Neighbors], [unit.value for unit in Unit]
    differ = "Data sets differ by one replaced, or by one added or removed."
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print one JSON object for machines."),
        click.option("--unit", type=click.Choice(units), default="row", show_default=True, help="By one of what."),
        click.option("--neighbors", type=click.Choice(relations), default="replace", show_default=True, help=differ),
        click.option("--delta", type=float, default=0.0, show_default=True, help="0 asks for pure privacy."),
        click.option("--epsilon", type=float, required=True, help="Privacy budget, > 0."),
    ):
        function = option(function)
    return function


def people_option(function: Function) -> Function:
    """Add --n-max."""
    text = "Public bound on the number of people; sets the fineness of the lattice."
    return click.option("--n-max", type=int, default=DEFAULT_N_MAX, show_default=True, help=text)(function)


@command.command()
@click.option("--norm", type=float, required=True, help="Bound on one person's vector: L2 norm, or L1 if delta is 0.")
@click.option("--nonnegative", is_flag=True, help="Negative entries are clipped to zero (delta > 0).")
@people_option
@budget_options
def vector(norm: float, nonnegative: bool, n_max: int, **options: Any) -> None:
    """A sum of one vector per person."""
    show(options, lambda budget: plan_vector(budget, norm, nonnegative=nonnegative, n_max=n_max))


@command.command()
@click.option("--columns", type=click.IntRange(min=1), required=True, help="Number of columns d.")
@click.option("--row-norm", type=float, required=True, help="Bound on the L2 norm of one row.")
@people_option
@budget_options
def gram(columns: int, row_norm: float, n_max: int, **options: Any) -> None:
    """A second-moment matrix, the sum of x x^T: covariance, PCA, low rank."""
    show(options, lambda budget: plan_gram(budget, row_norm, columns, n_max=n_max))


@command.command()
@click.option("--cells", type=click.IntRange(min=1), required=True, help="Number of counts.")
@click.option(
    "--max-cells", type=click.IntRange(min=1), default=1, show_default=True, help="Most cells one person adds to."
)
@budget_options
def counts(cells: int, max_cells: int, **options: Any) -> None:
    """Integer counts."""
    show(options, lambda budget: plan_counts(budget, cells, max_cells=max_cells))


PROBABILITY = click.FloatRange(0, 1, min_open=True, max_open=True)


@command.command()
@click.option("--probability", type=PROBABILITY, required=True, help="Which quantile.")
@click.option("--grid-size", type=click.IntRange(min=2), required=True, help="Number of points of the public grid.")
@budget_options
def quantile(probability: float, grid_size: int, **options: Any) -> None:
    """A quantile on a public grid."""
    show(options, lambda budget: plan_quantile(budget, probability, grid_size))


def show(options: dict[str, Any], make_plan: Callable[[Budget], ReleasePlan]) -> None:
    """Print the plan for the budget in `options`."""
    as_json = options.pop("as_json")
    plan = make_plan(Budget(**options))
    if as_json:
        click.echo(json.dumps(plan.to_dict()))
        return
    given = plan.guarantee
    lines = {
        "mechanism": plan.mechanism,
        "event": str(plan.event),
        **{name: f"{value:.6g}" for name, value in plan.scales.items()},
        "guarantee": f"epsilon = {given.epsilon:.6g}, delta = {given.delta:g}",
        "neighbors": f"{given.neighbors.replace('_', ' or ')} one {given.unit}",
        "numerics": given.numerics,
    }
    width = max(len(name) for name in lines)
    for name, value in lines.items():
        click.echo(f"{name:<{width}}  {value}")
