"""`hushrank plan`: event, noise scales and guarantee of a release, from public numbers alone.

The plans of estimators come from the registry; those of single mechanisms are written here.
"""

from collections.abc import Callable
from typing import Any

import click

from hushrank.base import PrivateRelease
from hushrank.cli.accounts import choose_delta, open_account
from hushrank.cli.choices import (
    CAP_OPTIONS,
    EPSILON_OPTION,
    WORKERS_OPTION,
    Cap,
    expected_from,
    guess_options,
    print_plans,
    read_guesses,
)
from hushrank.cli.lazy import LazyGroup
from hushrank.cli.options import JSON_OPTION, UNIT_OPTION, options, parameter_options, size_options, table_options
from hushrank.cli.rating_columns import ITEM_COLUMN_OPTION
from hushrank.privacy.choosing import Plans
from hushrank.privacy.guarantee import Budget
from hushrank.privacy.planning import Plan, plan_counts, plan_gram, plan_quantile, plan_vector
from hushrank.registry import COMMANDS, PUBLIC, planner

SUMMARIES = {command: PUBLIC[name].summary for command, name in COMMANDS.items()}


def plan_command(command: str) -> click.Command:
    """The plan of an estimator, from its sizes and parameters."""
    release = planner(COMMANDS[command])
    sizes = release.size_table()

    def show(
        as_json: bool,
        epsilons: Any,
        ledger_address: str | None,
        dataset: str | None,
        cap_epsilon: float | None,
        cap_delta: float,
        guesses: Any = (),
        ratings: int | None = None,
        workers: int | None = None,
        count: int | None = None,
        **values: Any,
    ) -> None:
        if workers is not None and sum(map(len, epsilons)) > 1 and not as_json:
            raise click.UsageError("--workers goes with one --epsilon, or with --json: a table has no times.")
        account = open_account(ledger_address, dataset, None)
        values["delta"] = choose_delta(values["delta"], account)
        given = {name: values.pop(name) for name in sizes if name in values}
        terms = given | {"guesses": read_guesses(guesses, ratings, given.get("n_users"))}

        def make(epsilon: float) -> Plan:
            plan: Plan = release(epsilon=epsilon, **values).plan(**terms, workers=workers)
            return plan

        def more(plans: Plans) -> dict[str, Any]:
            one = release(epsilon=plans.epsilons[0], **values)
            asked = count or getattr(one, "rank", None) or getattr(one, "n_components", None)
            return expected_from(one, asked, terms) if asked and one._counted in plans[0].expected else {}

        print_plans(make, epsilons, as_json, Cap(ledger_address, dataset, cap_epsilon, cap_delta), more)

    of_parameters = parameter_options(
        release, without={*sizes, "epsilon"}, has_ledger=True
    )  # a size may be a parameter
    of_items = [ITEM_COLUMN_OPTION] if "item_features" in release.parameter_table() else []
    of_plans = (guess_options(release), WORKERS_OPTION, CAP_OPTIONS, JSON_OPTION)
    own = options(EPSILON_OPTION, size_options(sizes), of_parameters, *of_items, *of_plans)
    return click.command(command, help=f"{SUMMARIES[command]}\n\n{_ABOUT}")(own(show))


_ABOUT = (
    "Shown are its releases, the noise of each, the guarantee, and a forecast of the error. Several epsilons are shown "
    "side by side. Nothing private is read."
)


@click.group(cls=LazyGroup, summaries=SUMMARIES, load=plan_command)
def command() -> None:
    """Show event, noise scales and guarantee of a release, without data.

    \b
    Examples:
      hushrank plan pca --rows 10000 --columns 64 --components 5 --row-norm 1 --epsilon 1
      hushrank plan complete --users 6040 --items 3706 --rank 8 --rating-range 1 5 --epsilon 1 --delta 1e-6
      hushrank plan complete --users 6040 --items 3706 --rank 8 --rating-range 1 5 --epsilon 0.5,1,2,5,10,20 \\
               --delta 1e-6 --guess ratings_per_user=150 --factors 3 --cap-epsilon 20 --cap-delta 1e-6
      hushrank plan gram --columns 64 --row-norm 1 --epsilon 1
      hushrank plan vector --norm 2 --epsilon 1 --delta 1e-6 --json
    """


RELEASE_OPTIONS = options(
    EPSILON_OPTION,
    table_options({name: line for name, line in PrivateRelease.parameter_table().items() if name != "epsilon"}),
    UNIT_OPTION,
    CAP_OPTIONS,
    JSON_OPTION,
)


def print_releases(
    make: Callable[[Budget], Plan],
    *,
    epsilons: Any,
    as_json: bool,
    delta: float,
    neighbors: Any,
    unit: Any,
    **cap: Any,
) -> None:
    """The plans of one mechanism at every epsilon."""
    print_plans(lambda epsilon: make(Budget(epsilon, delta, neighbors, unit)), epsilons, as_json, Cap(**cap))


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
def vector(norm: float, nonnegative: bool, n_max: int, **terms: Any) -> None:
    """A sum of one vector per person."""
    print_releases(lambda budget: plan_vector(budget, norm, nonnegative=nonnegative, n_max=n_max), **terms)


@command.command()
@COLUMNS_OPTION
@ROW_NORM_OPTION
@N_MAX_OPTION
@RELEASE_OPTIONS
def gram(n_features: int, row_norm: float, n_max: int, **terms: Any) -> None:
    """A second-moment matrix, the sum of x x^T."""
    print_releases(lambda budget: plan_gram(budget, row_norm, n_features, n_max=n_max), **terms)


@command.command()
@click.option("--cells", type=click.IntRange(min=1), required=True, help="Number of counts.")
@click.option(
    "--max-cells", type=click.IntRange(min=1), default=1, show_default=True, help="Most cells one person adds to."
)
@RELEASE_OPTIONS
def counts(cells: int, max_cells: int, **terms: Any) -> None:
    """Integer counts."""
    print_releases(lambda budget: plan_counts(budget, cells, max_cells=max_cells), **terms)


PROBABILITY = click.FloatRange(0, 1, min_open=True, max_open=True)


@command.command()
@click.option("--probability", type=PROBABILITY, required=True, help="Which quantile.")
@click.option("--grid-size", type=click.IntRange(min=2), required=True, help="Number of points of the public grid.")
@RELEASE_OPTIONS
def quantile(probability: float, grid_size: int, **terms: Any) -> None:
    """A quantile on a public grid."""
    print_releases(lambda budget: plan_quantile(budget, probability, grid_size), **terms)
