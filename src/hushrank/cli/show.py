"""`hushrank show`: what a model file holds, what it promises in words, and what of it is noise."""

import json
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from hushrank.cli.descriptions import describe, titles_for
from hushrank.cli.fit import to_json
from hushrank.cli.options import JSON_OPTION
from hushrank.cli.rating_columns import ITEM_COLUMN_OPTION
from hushrank.cli.tables import make_table, printable
from hushrank.cli.titles import TITLE_OPTIONS, given_titles
from hushrank.privacy.words import sentences
from hushrank.registry import PUBLIC, find

_HIDDEN = ("ledger", "random_state", "engine", "verbose")
_LONGEST = 60  # characters of a value


@click.command("show")
@click.argument("path", metavar="MODEL", type=click.Path(path_type=Path))
@TITLE_OPTIONS
@ITEM_COLUMN_OPTION
@click.option("--similar", metavar="ITEM", help="Also the items most similar to this one, of a recommender.")
@JSON_OPTION
def command(path: Path, similar: str | None, as_json: bool) -> None:
    """Show what a model file holds, what it promises, and what of it is noise.

    MODEL is a file that any command has written with --out, or a model has saved. Told are what it is, what it
    promises in words, its parameters, and what was learned; what does not stand above the noise is dim and called
    noise. Nothing is read but the file, and no budget is charged.

    \b
    Examples:
      hushrank show pca.hush
      hushrank show model.hush --titles items.csv --similar 1193
      hushrank show factors.hush --json
    """
    model = find("load")(path)
    titles = titles_for(model, given_titles())
    near = None if similar is None else find_similar(model, similar)
    if as_json:
        click.echo(json.dumps(to_description(model, titles, near)))
        return
    console = Console(highlight=False)
    console.print(f"[bold]{type(model).__name__}[/bold]: {_summary(model)}", soft_wrap=True)
    for sentence in sentences(model.privacy_):
        console.print(printable(sentence), soft_wrap=True)
    console.print(f"[dim]{printable(str(model.privacy_))}[/dim]", soft_wrap=True)
    console.print(_parameters(model))
    for part in describe(model, titles):
        console.print(part)
    if near is not None:
        console.print(_similar_table(model, similar, near, titles))


def to_description(model: Any, titles: Sequence[str] | None, near: Any) -> dict[str, Any]:
    """All of it as JSON holds it."""
    parameters = {name: say_value(value) for name, value in _shown_parameters(model)}
    found = {
        "class": type(model).__name__,
        "parameters": parameters,
        "promise": list(sentences(model.privacy_)),
        **to_json(model),
    }
    if titles is not None:
        found["titles"] = list(titles)
    if near is not None:
        found["similar"] = {"items": near.items.tolist(), "scores": near.scores.tolist(), "by": near.by}
    return found


def _summary(model: Any) -> str:
    """What the registry says about such models, in one line."""
    name = "TurnstileSketch" if type(model).__name__ == "Factorization" else type(model).__name__
    summary = PUBLIC[name].summary
    return summary[:1].lower() + summary[1:]


def _shown_parameters(model: Any) -> Iterator[tuple[str, Any]]:
    """Parameters that were given, by name."""
    table = model.parameter_table()
    for name, value in model._parameters().items():
        if name not in _HIDDEN and not _is_default(value, table[name].default):
            yield name, value


def _is_default(value: Any, default: Any) -> bool:
    return value is default or (
        type(value) is type(default) and isinstance(value, str | int | float) and value == default
    )


def say_value(value: Any) -> str:
    """A parameter in few characters: of a long list its length."""
    if hasattr(value, "__len__") and not isinstance(value, str) and len(value) > 5:
        return f"{len(value):,} of them"
    shown = f"{value:g}" if isinstance(value, float) else str(value)
    return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}\u2026"


def _parameters(model: Any) -> Any:
    lines = model.parameter_table()
    table = make_table("parameter", "value", "", texts=("parameter", "value", ""))
    for name, value in _shown_parameters(model):
        table.add_row(name, printable(say_value(value)), printable(lines[name].help))
    return table


def find_similar(model: Any, item: str) -> Any:
    """The items most similar to one, whose id may be written as text, of a recommender."""
    if not hasattr(model, "similar_items"):
        raise click.UsageError(f"--similar is for items of a recommender, not for a {type(model).__name__}.")
    ids = {str(known): known for known in model.items_.tolist()}
    if item not in ids:
        raise click.UsageError(f"--similar {item}: no item of the catalogue has this id.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # said in the table
        return model.similar_items(ids[item])


def _similar_table(model: Any, item: str | None, near: Any, titles: Sequence[str] | None) -> Any:
    names = dict(zip(map(str, model.items_.tolist()), titles or map(str, model.items_.tolist()), strict=True))
    if near.by == "nothing":
        return (
            f"item {printable(names[str(item)])} has no factors and no features: nothing is known to be similar to it"
        )
    title = f"similar to {printable(names[str(item)])}, by {near.by}"
    table = make_table("", "item", "cosine", texts=("item",), title=title)
    for i, (other, cosine) in enumerate(zip(near.items.tolist(), near.scores.tolist(), strict=True)):
        table.add_row(str(i + 1), printable(names[str(other)]), f"{cosine:.3f}")
    return table
