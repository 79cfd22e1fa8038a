"""`hushrank plan`: event, noise scales and guarantee of a release, from public numbers alone."""

from typing import Any

import click

from hushrank.cli.options import (
    BUDGET_OPTIONS,
    COMPLETION_OPTIONS,
    GAUSSIAN_BUDGET_OPTIONS,
    JSON_OPTION,
    LOW_RANK_OPTIONS,
    N_MAX_OPTION,
    SECOND_MOMENT_OPTIONS,
    UNIT_OPTION,
    options,
    print_plan,
)
from hushrank.privacy.guarantee import Budget
from hushrank.privacy.planning import plan_counts, plan_gram, plan_quantile, plan_vector


@click.group()
def command() -> None:
    """Show event, noise scales and guarantee of a release, without data.

    \b
    Examples:
      hushrank plan pca --rows 10000 --columns 64 --components 5 --row-norm 1 --epsilon 1
      hushrank plan complete --users 6040 --items 3706 --rank 8 --rating-range 1 5 --epsilon 1 --delta 1e-6
      hushrank plan gram --columns 64 --row-norm 1 --epsilon 1
      hushrank plan vector --norm 2 --epsilon 1 --delta 1e-6 --json
    """


RELEASE_OPTIONS = options(BUDGET_OPTIONS, UNIT_OPTION, JSON_OPTION)
SHAPE_OPTIONS = options(
    click.option("--rows", type=click.IntRange(min=1), required=True, help="Number of rows, or a public guess of it."),
    click.option("--columns", type=click.IntRange(min=1), required=True, help="Number of columns d."),
)


@command.command()
@SHAPE_OPTIONS
@click.option("--components", type=int, required=True, help="Number of components.")
@SECOND_MOMENT_OPTIONS
@BUDGET_OPTIONS
@JSON_OPTION
def pca(rows: int, columns: int, components: int, as_json: bool, **parameters: Any) -> None:
    """Principal components, with a forecast of the error."""
    from hushrank.estimators.second_moment.pca import PrivatePCA

    print_plan(PrivatePCA(components, **parameters).plan((rows, columns)), as_json)


@command.command()
@SHAPE_OPTIONS
@click.option("--rank", type=int, help="Rank of the covariance matrix. Default: full.")
@SECOND_MOMENT_OPTIONS
@BUDGET_OPTIONS
@JSON_OPTION
def covariance(rows: int, columns: int, as_json: bool, **parameters: Any) -> None:
    """A covariance matrix, with a forecast of the error."""
    from hushrank.estimators.second_moment.covariance import PrivateCovariance

    print_plan(PrivateCovariance(**parameters).plan((rows, columns)), as_json)


@command.command()
@SHAPE_OPTIONS
@LOW_RANK_OPTIONS
@SECOND_MOMENT_OPTIONS
@BUDGET_OPTIONS
@JSON_OPTION
def lowrank(rows: int, columns: int, as_json: bool, **parameters: Any) -> None:
    """A low-rank approximation of sum x x^T, with a forecast of the error."""
    from hushrank.estimators.second_moment.low_rank import PrivateLowRank

    print_plan(PrivateLowRank(**parameters).plan((rows, columns)), as_json)


@command.command()
@click.option("--users", type=click.IntRange(min=1), required=True, help="Number of users, or a public guess of it.")
@COMPLETION_OPTIONS
@GAUSSIAN_BUDGET_OPTIONS
@JSON_OPTION
def complete(users: int, items: Any, as_json: bool, **parameters: Any) -> None:
    """A recommender, with a forecast of the error of its predictions."""
    from hushrank.estimators.completion.estimator import PrivateCompletion

    n_items = items if isinstance(items, int) else len(items)
    print_plan(PrivateCompletion(items=items, **parameters).plan((users, n_items)), as_json)


@command.command()
@click.option("--norm", type=float, required=True, help="Bound on one person's vector: L2 norm, or L1 if delta is 0.")
@click.option("--nonnegative", is_flag=True, help="Negative entries are clipped to zero (delta > 0).")
@N_MAX_OPTION
@RELEASE_OPTIONS
def vector(norm: float, nonnegative: bool, n_max: int, as_json: bool, **budget: Any) -> None:
    """A sum of one vector per person."""
    print_plan(plan_vector(Budget(**budget), norm, nonnegative=nonnegative, n_max=n_max), as_json)


@command.command()
@click.option("--columns", type=click.IntRange(min=1), required=True, help="Number of columns d.")
@click.option("--row-norm", type=float, required=True, help="Bound on the L2 norm of one row.")
@N_MAX_OPTION
@RELEASE_OPTIONS
def gram(columns: int, row_norm: float, n_max: int, as_json: bool, **budget: Any) -> None:
    """A second-moment matrix, the sum of x x^T."""
    print_plan(plan_gram(Budget(**budget), row_norm, columns, n_max=n_max), as_json)


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
