"""`hushrank recommend`: items for people, from a private model and their own ratings."""

import json
import math
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.table import Table

from hushrank.cli.options import JSON_OPTION
from hushrank.cli.rating_columns import RATING_COLUMN_OPTIONS, named_columns
from hushrank.cli.tables import printable
from hushrank.cli.titles import TITLE_OPTIONS, Titles, given_titles


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "--ratings",
    type=click.Path(path_type=Path),
    required=True,
    help="CSV, TSV or Parquet file with the columns item and rating of one person, or user, item and rating of many.",
)
@click.option("--user", metavar="ID", help="Only for this one of the users in the file.")
@RATING_COLUMN_OPTIONS
@TITLE_OPTIONS
@click.option("--n", type=click.IntRange(min=1), default=10, show_default=True, help="Items for each person.")
@click.option("--include-seen", is_flag=True, help="Also items that the person has rated.")
@click.option("--explain", is_flag=True, help="Say what of an item this person likes, for a model with item features.")
@JSON_OPTION
def command(
    model: Path,
    ratings: Path,
    user: str | None,
    n: int,
    include_seen: bool,
    explain: bool,
    as_json: bool,
    **columns: str | None,
) -> None:
    """Recommend items with a private recommender, from a person's own ratings.

    MODEL is a file that hushrank complete wrote. Nothing is learned from the ratings and no budget is charged: they
    meet a model that is public, and the result is for the person they belong to. Run it where that person's
    ratings may be seen, best on a device of the person. A model of implicit feedback needs no column rating.

    \b
    Examples:
      hushrank recommend model.hush --ratings mine.csv --n 5
      hushrank recommend model.hush --ratings mine.csv --explain
      hushrank recommend model.hush --ratings ratings.csv --user 42 --user-col userId --item-col movieId \\
               --titles movies.csv
    """
    from hushrank.cli.small_tables import read_own_ratings
    from hushrank.data.id_arrays import to_ids
    from hushrank.estimators.completion.estimator import PrivateCompletion

    recommender = PrivateCompletion.load(model)
    item_type = to_ids(recommender.items_.tolist() if recommender.items_.dtype == object else recommender.items_).type
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        needed = ["item"] if recommender.feedback == "implicit" else ["item", "rating"]
        own = read_own_ratings(ratings, item_type, named_columns(**columns), user=user, needed=needed)
        top = recommender.recommend(own, n, exclude_seen=not include_seen, explain=explain)
    for warning in caught:
        click.echo(f"hushrank: {warning.message}", err=True)
    titles = given_titles()
    if titles is not None:
        titles.note_missing(recommender.items_.tolist())
    people = [with_marks(recommender, person) for person in to_people(top, titles)]
    if explain and not recommender.n_slopes_:
        click.echo("hushrank: no reasons: this model has no item features that tell about people's tastes.", err=True)
    if as_json:
        click.echo(json.dumps({"recommendations": people, "noise": list(say_noise(recommender))}))
        return
    console = Console(highlight=False)
    for person in people:
        console.print(to_table(person, "score" if recommender.feedback == "implicit" else "predicted rating"))
    for told in say_noise(recommender) if people else ():
        console.print(told)


def say_noise(model: Any) -> Iterator[str]:
    """What of all recommendations of a model is noise, in words."""
    if getattr(model, "n_significant_", 1) == 0:
        alike = (
            "popular items" if model.feedback == "implicit" else "item means and each person's own offset and slopes"
        )
        yield f"this model has no factors above the noise: recommendations follow {alike}, not a taste shared by others"
    deviations = getattr(model, "mean_deviation_", None)
    if deviations is not None and deviations.any():
        size = math.sqrt(2.0) * float(np.median(deviations))
        yield f"predictions that differ by less than about {size:.2g} are equal up to the noise of the item means"


def with_marks(model: Any, person: dict[str, Any]) -> dict[str, Any]:
    """The same where no mean or count of these items is noise; else with a list of "noise" and of empty texts."""
    from hushrank.report.rating_model import read_orders

    orders = {order.number: order.is_noise for order in read_orders(model)}
    is_noise = orders.get("mean", orders.get("weighted ratings"))
    if is_noise is None or not person["items"]:
        return person
    marks = ["noise" if is_noise[j] else "" for j in model._positions(person["items"])]
    return {**person, "marks": marks} if any(marks) else person


def to_people(top: Any, titles: Titles | None = None) -> Iterator[dict[str, Any]]:
    """One dict a person, safe for JSON; where fewer items than asked for are left, the lists are shorter."""
    is_single = top.items.ndim == 1
    users = [None] if is_single else top.users.tolist()
    reasons = [None] * len(users) if top.reasons is None else [top.reasons] if is_single else top.reasons
    for user, items, scores, why in zip(
        users, np.atleast_2d(top.items), np.atleast_2d(top.scores), reasons, strict=True
    ):
        is_left = scores > -np.inf
        person = {"user": user, "items": items[is_left].tolist(), "scores": scores[is_left].tolist()}
        if titles is not None:
            person["titles"] = titles.of(person["items"])
        if why is not None:
            person["reasons"] = [list(told) for told, left in zip(why, is_left, strict=True) if left]
        yield person


def to_table(person: dict[str, Any], score: str) -> Table:
    """Items of one person in their order."""
    whose = "you" if person["user"] is None else f"user {person['user']}"
    table = Table(title=printable(f"for {whose}"), title_justify="left")
    table.add_column("", justify="right")
    table.add_column("item")
    titles = person.get("titles")
    if titles is not None:
        table.add_column("title")
    table.add_column(score, justify="right")
    reasons = person.get("reasons")
    if reasons is not None:
        table.add_column("because you like")
    marks = person.get("marks")
    if marks is not None:
        table.add_column("")
    for i, (item, value) in enumerate(zip(person["items"], person["scores"], strict=True)):
        why = [] if reasons is None else [printable(" and ".join(reasons[i]))]
        title = [] if titles is None else [printable(titles[i])]
        noise = [] if marks is None else [marks[i]]
        style = "dim" if any(noise) else None
        table.add_row(str(i + 1), printable(str(item)), *title, f"{value:.3f}", *why, *noise, style=style)
    return table
