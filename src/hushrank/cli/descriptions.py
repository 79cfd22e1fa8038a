"""What commands print about a model of any class: one table, in which a new estimator is one line."""

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from hushrank.cli.titles import read_titles

_DESCRIBED_BY = {
    "PrivatePCA": "pca",
    "PrivateCovariance": "covariance",
    "PrivateLowRank": "lowrank",
    "PrivateCompletion": "complete",
    "PrivateRepresentation": "personalize",
    "PrivateTraceRegression": "trace",
    "Factorization": "stream",
}
"""Class -> module of this room with a function describe(model, titles)."""

_ITEMS_OF: dict[str, Callable[[Any], list[Any]]] = {
    "PrivateCompletion": lambda model: model.items_.tolist(),
    "Factorization": lambda model: list(range(model.shape[1])),
}
"""Class -> ids of what titles may be given for: items, or the columns of a stream."""

TITLES_OPTION = click.option(
    "--titles",
    "titles_path",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Table with the columns item and title: names to show instead of ids.",
)


def describe(model: Any, titles: Sequence[str] | None = None) -> Iterator[Any]:
    """What was learned, for a terminal, with marks of what is noise."""
    module = import_module(f"hushrank.cli.{_DESCRIBED_BY[type(model).__name__]}")
    yield from module.describe(model, titles)


def titles_for(model: Any, path: Path | None) -> list[str] | None:
    """Titles from a file, in the order of what they are titles of; None without a file."""
    if path is None:
        return None
    kind = type(model).__name__
    if kind not in _ITEMS_OF:
        raise click.UsageError(f"--titles is for items of a recommender or columns of a stream, not for a {kind}.")
    return read_titles(path, _ITEMS_OF[kind](model))
