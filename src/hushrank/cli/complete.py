"""`hushrank complete`: a private recommender from a table of ratings."""

from collections.abc import Iterator, Sequence
from typing import Any

from rich.table import Table

from hushrank.cli.descriptions import page_of, titles_for
from hushrank.cli.fit import RATINGS, fit_command
from hushrank.cli.tables import make_table, printable
from hushrank.cli.titles import TITLE_OPTIONS, given_titles

SHOWN = 5
_NOTHING = (
    "no item stands above the noise: there are too few people for this budget, or the ids of --items are not those of "
    "the ratings, which --check would tell"
)


@TITLE_OPTIONS
@fit_command("PrivateCompletion", RATINGS, page_of)
def command(model: Any) -> Iterator[Any]:
    """Private recommender from a table of ratings.

    RATINGS is a Parquet file, a CSV or TSV file, also compressed (.gz, .zst), or a folder of them, with the
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
    yield from describe(model, titles_for(model, given_titles()))


def describe(model: Any, titles: Sequence[str] | None = None) -> Iterator[Any]:
    """Items and factors of a recommender, and what of them is noise."""
    from hushrank.report.rating_model import (
        item_names,
        read_factors,
        read_orders,
        say_counts,
        say_factors,
        say_means,
        say_orders,
    )

    n_items, rank = model.item_factors_.shape
    yield f"private recommender of {n_items} items: {model.n_factors_} of at most {rank} factors were kept"
    yield say_factors(model)
    if model.item_features is not None:
        yield _about_features(model)
    names, orders, factors = item_names(model, titles), list(read_orders(model)), read_factors(model)
    if orders and all(order.is_noise.all() for order in orders):
        yield _NOTHING
    if orders:
        yield _to_table(names, orders)
    yield from (told for told in (say_means(model), say_counts(model), *say_orders(model, SHOWN)) if told is not None)
    if factors:
        yield _factor_table(names, factors)


def _about_features(model: Any) -> str:
    found = "users have own slopes on them" if model.n_slopes_ else "found not to tell about users, who have no slopes"
    return f"public item features in {len(model.feature_names_)} columns: {found}"


def _to_table(names: Sequence[str], orders: Sequence[Any]) -> Table:
    """The first items of every order, side by side; what is noise is dim and says so."""
    table = Table()
    table.add_column("", justify="right")
    for order in orders:
        table.add_column(order.title)
        table.add_column(order.number, justify="right")
    for i in range(min(SHOWN, len(names))):
        cells = []
        for order in orders:
            j = order.positions[i]
            name, value = printable(names[j]), f"{order.values[j]:.4g}"
            cells += [f"[dim]{name}[/dim]", f"[dim]{value} noise[/dim]"] if order.is_noise[j] else [name, value]
        table.add_row(str(i + 1), *cells)
    return table


def _factor_table(names: Sequence[str], factors: Sequence[Any]) -> Table:
    """Factors with the items at both ends; none of those that are noise, whose ends mean nothing."""
    from hushrank.report.strengths import say_strength

    table = make_table("factor", "strength", "one end", "other end", "", texts=("one end", "other end", ""))
    for factor in factors:
        is_noise = factor.mark == "noise"
        ends = ["" if is_noise else ", ".join(printable(names[j]) for j in end) for end in (factor.low, factor.high)]
        strength = "-" if factor.strength is None else say_strength(factor.strength)
        table.add_row(str(factor.number), strength, *ends, factor.mark, style="dim" if is_noise else None)
    return table
