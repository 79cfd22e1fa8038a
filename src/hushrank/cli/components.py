"""What `hushrank pca`, `covariance` and `lowrank` print: components, how sure they are, and how rows were bounded."""

from collections.abc import Iterator, Sequence
from typing import Any

from rich.markup import escape
from rich.table import Table

from hushrank.cli.tables import make_table
from hushrank.estimators.second_moment.forecast import NOT_CENTERED
from hushrank.report.marks import (
    NOISE,
    UNSURE,
    Component,
    column_names,
    is_sure,
    largest_loadings,
    read_components,
    say_alignment,
    say_interval,
    say_mixed,
    say_radius,
    say_significant,
    value_name,
    vectors_of,
)

_LOADING_WIDTH = 12  # letters: a name, and its number below it


def describe_components(model: Any, title: str, *, most: int | None = None, has_loadings: bool = True) -> Iterator[Any]:
    """A table of components, the first `most` of them, and below it how many are more than noise."""
    components = read_components(model)
    yield _to_table(model, components[:most], title, has_loadings)
    if is_sure(model):
        yield say_significant(model)
        mixed = say_mixed(components[:most], model.n_significant_)
        if mixed is not None:
            yield mixed
    elif getattr(model, "mechanism", "") == "exponential":
        yield UNSURE
    if hasattr(model, "radius_"):
        yield say_radius(model)
    if model.center is None and getattr(model, "column_bounds", None) is None and hasattr(model, "standardize"):
        yield f"{NOT_CENTERED} (--center private buys a mean and subtracts it)"


def _to_table(model: Any, components: Sequence[Component], title: str, has_loadings: bool) -> Table:
    first = components[0]
    names = ["no."]
    names += [] if first.value is None else [value_name(model)]
    names += [] if first.share is None else ["share"]
    names += [] if first.interval is None else ["95 % interval", "alignment"]
    names += ["largest loading"] if has_loadings else []
    names += [""] if is_sure(model) else []
    table = make_table(*names, texts=("largest loading", ""), title=title)
    for column in table.columns:
        column.no_wrap = column.header not in ("largest loading", "95 % interval")
        if column.header == "largest loading":  # what people look for: beside large numbers it is not the one to shrink
            column.min_width = _LOADING_WIDTH
    loadings = _name_loadings(model, components) if has_loadings else None
    for i, one in enumerate(components):
        cells = [str(one.number)]
        cells += [] if one.value is None else [f"{one.value:.6g}"]
        cells += [] if one.share is None else [f"{one.share:.3f}"]
        cells += [] if one.interval is None else [say_interval(one)]
        cells += [] if one.alignment is None else [say_alignment(one)]
        cells += [] if loadings is None else [escape(loadings[i])]
        cells += [one.mark] if is_sure(model) else []
        table.add_row(*cells, style="dim" if one.mark == NOISE else None)
    return table


def _name_loadings(model: Any, components: Sequence[Component]) -> list[str]:
    """The column with the largest loading of every component; none of what is noise."""
    names = column_names(model)
    return [
        "-" if one.mark == NOISE else "".join(largest_loadings(vector, names, 1)) or "none"
        for one, vector in zip(components, vectors_of(model), strict=False)
    ]
