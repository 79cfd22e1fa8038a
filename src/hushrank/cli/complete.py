"""`hushrank complete`: a private recommender from a table of ratings."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from rich.table import Table

from hushrank.cli.fit import RATINGS, fit_command
from hushrank.cli.tables import printable
from hushrank.cli.titles import TITLE_OPTIONS, Titles, given_titles

SHOWN = 5


@TITLE_OPTIONS
@fit_command("PrivateCompletion", RATINGS)
def command(model: Any) -> Iterator[Any]:
    """Private recommender from a table of ratings.

    RATINGS is a Parquet file, a folder of Parquet files or a CSV or TSV file, also compressed (.gz, .zst), with the
    columns user, item and rating, in any order; where they have other names, --user-col, --item-col and
    --rating-col say which, and further columns are ignored. What is published, item means and item factors, hardly
    changes if all ratings of one user are replaced. Factors of users are not part of it: each is computed from the
    user's own ratings, by the user, see hushrank recommend. Which items exist is public and given by --items,
    because it must not be read off the data. Ratings outside --rating-range are clipped; ratings of unknown items
    are ignored. What is public about the items, such as categories, is given by --item-features and costs no
    budget.

    \b
    Examples:
      hushrank complete ratings.parquet --items 3706 --rating-range 1 5 --rank 8 --epsilon 1 --delta 1e-6 \\
               --out model.hush
      hushrank complete ratings/ --items catalogue.csv --rating-range 1 5 --rank 8 --epsilon 1 --delta 1e-6 \\
               --ledger budget.db --dataset ratings-2026 --out model.hush
      hushrank complete ratings.csv --items items.csv --item-features items.csv --rating-range 1 5 --rank 8 \\
               --epsilon 1 --delta 1e-6 --out model.hush
      hushrank complete ratings.csv.gz --user-col userId --item-col movieId --items movies.csv --titles movies.csv \\
               --rating-range 0.5 5 --rank 8 --epsilon 1 --delta 1e-6 --out model.hush
      hushrank complete views.csv --items catalogue.csv --feedback implicit --rank 16 --epsilon 5 --delta 1e-6 --json
    """
    n_items, rank = model.item_factors_.shape
    yield f"private recommender of {n_items} items: {model.n_factors_} of at most {rank} factors were kept"
    if model.item_features is not None:
        yield _about_features(model)
    tops = list(_tops(model))
    if tops:
        yield _to_table(model.items_, tops, given_titles())


def _about_features(model: Any) -> str:
    found = "users have own slopes on them" if model.n_slopes_ else "found not to tell about users, who have no slopes"
    return f"public item features in {len(model.feature_names_)} columns: {found}"


Top = tuple[str, str, np.ndarray]


def _tops(model: Any) -> Iterator[Top]:
    """Title, name of the numbers and numbers by which items are ordered; without those that say nothing."""
    if np.ptp(model.item_counts_) > 0:
        yield "most popular", "weighted ratings", model.item_counts_
    if model.feedback == "explicit" and np.ptp(model.item_means_) > 0:
        yield "highest mean", "mean", model.item_means_


def _to_table(items: Any, tops: list[Top], titles: Titles | None = None) -> Table:
    """The first items of every order, side by side; by their titles where there are any."""
    table = Table()
    table.add_column("", justify="right")
    for name, number, _ in tops:
        table.add_column(name)
        table.add_column(number, justify="right")
    orders = [np.argsort(-values, kind="stable")[:SHOWN] for _, _, values in tops]
    for i in range(min(SHOWN, len(items))):
        cells = []
        for order, (_, _, values) in zip(orders, tops, strict=True):
            item = str(items[order[i]]) if titles is None else titles.of(items[order[i : i + 1]].tolist())[0]
            cells += [printable(item), f"{values[order[i]]:.4g}"]
        table.add_row(str(i + 1), *cells)
    return table
