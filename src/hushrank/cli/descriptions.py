"""What commands print about a model of any class: one table, in which a new estimator is one line."""

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any

import click

from hushrank.cli.titles import Titles, given_titles

_DESCRIBED_BY = {
    "PrivatePCA": "pca",
    "PrivateCovariance": "covariance",
    "PrivateLowRank": "lowrank",
    "PrivateCompletion": "complete",
    "PrivateRepresentation": "personalize",
    "PrivateTraceRegression": "trace",
    "PrivateEvaluation": "evaluate",
    "Factorization": "stream_results",
}
"""Class -> module of this room with a function describe(model, titles)."""

_ITEMS_OF: dict[str, Callable[[Any], list[Any]]] = {
    "PrivateCompletion": lambda model: model.items_.tolist(),
    "Factorization": lambda model: list(range(model.shape[1])),
}
"""Class -> ids of what titles may be given for: items, or the columns of a stream."""


def describe(model: Any, titles: Sequence[str] | None = None) -> Iterator[Any]:
    """What was learned, for a terminal, with marks of what is noise."""
    module = import_module(f"hushrank.cli.{_DESCRIBED_BY[type(model).__name__]}")
    yield from module.describe(model, titles)


def page_of(model: Any) -> str:
    """The page that --report of a fit writes: with the titles that were given, and the account that was charged."""
    from hushrank.report.models import model_page  # --help needs none of it
    from hushrank.report.promise import Beside

    return model_page(model, Beside(titles_for(model, given_titles()), model.ledger))


def titles_for(model: Any, titles: Titles | None) -> list[str] | None:
    """Titles in the order of what they are titles of; None without any."""
    if titles is None:
        return None
    kind = type(model).__name__
    if kind not in _ITEMS_OF:
        raise click.UsageError(f"--titles is for items of a recommender or columns of a stream, not for a {kind}.")
    items = _ITEMS_OF[kind](model)
    titles.note_missing(items)
    return titles.of(items)
