"""`hushrank personalize`: a private representation that many users share, from a table of their records."""

from collections.abc import Iterator, Sequence
from typing import Any

from rich.markup import escape
from rich.table import Table

from hushrank.cli.descriptions import page_of
from hushrank.cli.fit import RECORDS, fit_command
from hushrank.cli.tables import make_table


@fit_command("PrivateRepresentation", RECORDS, page_of)
def command(model: Any) -> Iterator[Any]:
    """Private representation that users share, from their records.

    RECORDS is a CSV file, a Parquet file or a folder of them with a user, a target and features in every
    record, in any order. Targets are predicted from features, by a few directions that all users share and a head of
    each user's own. What is published, the directions and how heads are distributed, hardly changes if all records of
    one user are replaced. Heads are not part of it: each is computed from the user's own records, by the user, see
    hushrank predict. Records that are not finite, or without a user, are left out. Features and targets need no bound,
    only their public orders of magnitude, --x-scale and --y-scale.

    \b
    Examples:
      hushrank personalize visits.csv --components 2 --epsilon 1 --delta 1e-6 --out model.hush
      hushrank personalize visits/ --user patient --target days --features age,dose,weight --components 2 \\
               --epsilon 1 --delta 1e-6 --ledger budget.db --dataset visits-2026 --out model.hush
      hushrank personalize clicks.parquet --loss logistic --components 4 --epsilon 2 --delta 1e-6 --json
    """
    yield from describe(model)


def describe(model: Any, titles: Sequence[str] | None = None) -> Iterator[Any]:
    """Directions of a representation, and which of them are noise; titles are of no use here."""
    from hushrank.report.representation import say_directions

    n_features, n_directions = model.embedding_.shape
    few = "1 direction" if n_directions == 1 else f"{n_directions} directions"
    yield f"private representation of {n_features} features: {few}, shared by all users"
    yield say_gain(model)
    told = say_directions(model)
    if told is not None:
        yield told
    if model.head_covariance_.any():
        yield _to_table(model)


def say_gain(model: Any) -> str:
    """Whether heads stand above the noise, in words."""
    from hushrank.report.representation import say_gain  # --help needs none of it

    return say_gain(model)


def _to_table(model: Any) -> Table:
    """The leading features of every direction, and where heads lie along it; what is noise is dim."""
    from hushrank.report.representation import direction_rows

    names = ("direction", "mean of heads", "deviation", "strength", "leading features", "")
    table = make_table(*names, texts=("leading features", ""), title="shared directions")
    for mark, cells in direction_rows(model):
        table.add_row(*map(escape, cells), style="dim" if mark == "noise" else None)
    return table
