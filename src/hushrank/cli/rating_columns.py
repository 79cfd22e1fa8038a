"""Options that say what the columns of a table of ratings are called, for every command that reads one."""

from typing import Any

import click

ITEM_COLUMN = "hushrank.item_column"
"""Where a context of click keeps the name of the column of items, for files of items."""


def _note_item_column(ctx: click.Context, _param: click.Parameter, name: str | None) -> str | None:
    ctx.meta[ITEM_COLUMN] = name
    return name


def item_column(ctx: click.Context | None) -> str | None:
    """What the column of items is called, as --item-col says; None if it says nothing."""
    return None if ctx is None else ctx.meta.get(ITEM_COLUMN)


ITEM_COLUMN_OPTION = click.option(
    "--item-col",
    metavar="NAME",
    is_eager=True,
    expose_value=False,
    callback=_note_item_column,
    help="Column of the items' ids in files of items. Default: item.",
)


def _add_options(function: Any) -> Any:
    for name, default, help in reversed(_OPTIONS):
        # Eager, for the item: files of items are read while the other options are, and need its name.
        terms: dict[str, Any] = {"is_eager": True, "callback": _note_item_column} if name == "item" else {}
        option = click.option(f"--{name}-col", metavar="NAME", help=f"{help} Default: {default}.", **terms)
        function = option(function)
    return function


_OPTIONS = (
    ("user", "user", "Column of the users' ids."),
    ("item", "item", "Column of the items' ids, also in files of items that have a column of this name."),
    ("rating", "rating", "Column of the ratings."),
)


RATING_COLUMN_OPTIONS = _add_options
"""The options --user-col, --item-col and --rating-col, a decorator; `named_columns` makes one dict of their values."""


def named_columns(user_col: str | None, item_col: str | None, rating_col: str | None) -> dict[str, str] | None:
    """The names that were given by role, as the `columns` of `fit` and of queries; None if there are none."""
    given = {"user": user_col, "item": item_col, "rating": rating_col}
    return {role: name for role, name in given.items() if name is not None} or None


def read_named_ratings(model: Any, source: str, **names: str | None) -> Any:
    """What the `fit` of a recommender takes: the path itself, or its ratings where columns have other names."""
    columns = named_columns(**names)
    if columns is None:
        return source
    from hushrank.data.ratings.reading import read_ratings  # needs numba, and --help does not

    return read_ratings(
        source,
        owner=type(model).__name__,
        items=model.items,
        rating_range=model.rating_range,
        n_users=model.n_users,
        is_implicit=model.feedback == "implicit",
        columns=columns,
    )
