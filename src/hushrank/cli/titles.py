"""Titles of items, from a public table: shown to people beside ids or instead of them.

Titles are text that strangers wrote. Characters that steer a terminal are spelled out here; whoever prints with rich
also passes a title through `hushrank.cli.tables.printable`, and a page of HTML escapes it.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from hushrank.cli.options import note_file
from hushrank.cli.rating_columns import item_column

MOST_CHARACTERS = 120
"""Of a title; a longer one is cut off."""

_TITLES = "hushrank.titles"
_TITLE_COLUMN = "hushrank.title_column"
_OWNER = "titles"


class Titles:
    """Titles of a file by the ids of their items.

    Parameters
    ----------
    path : Path
        CSV, TSV or Parquet file with a column of items and one of titles.
    item_column : str, optional
        The column of the items' ids, if the file has one of this name; else it is called item.
    title_column : str, optional
        The column of the titles; by default title or name.
    """

    def __init__(self, path: Path, item_column: str | None = None, title_column: str | None = None) -> None:
        from hushrank.cli.small_tables import read_title_columns  # needs Arrow, which --help does not

        self._table, self._texts = read_title_columns(path, item_column, title_column)
        self._path, self._is_noted = path, False

    def of(self, items: Sequence[Any]) -> list[str]:
        """The title of each item; where it has none, its id."""
        titles = [self._texts[place] if place >= 0 else None for place in self._find(items)]
        return [_plain(title or str(item)) for title, item in zip(titles, items, strict=True)]

    def note_missing(self, items: Sequence[Any]) -> int:
        """How many items have a title; says once on stderr where some have none, since their ids are shown instead."""
        n_found = sum(1 for place in self._find(items) if place >= 0 and self._texts[place])
        context = click.get_current_context(silent=True)
        is_quiet = context is not None and context.params.get("quiet")
        if n_found < len(items) and not self._is_noted and not is_quiet:
            self._is_noted = True
            asked = "are the ids of both the same?" if n_found == 0 else "their ids are shown"
            told = f"{len(items) - n_found:,} of {len(items):,} items have no title in {self._path}"
            click.echo(f"hushrank: {told}: {asked}", err=True)
        return n_found

    def _find(self, items: Sequence[Any]) -> Any:
        from hushrank.data.id_arrays import bytes_as_text

        return self._table.find(bytes_as_text([str(item).encode("utf-8", "surrogatepass") for item in items]))


def read_titles(
    path: Path, items: Sequence[Any], *, item_column: str | None = None, title_column: str | None = None
) -> list[str]:
    """The title of each of these items, without characters that steer a terminal; its id where it has none."""
    return Titles(path, item_column, title_column).of(items)


def given_titles() -> Titles | None:
    """What --titles of the running command has given."""
    context = click.get_current_context(silent=True)
    return None if context is None else context.meta.get(_TITLES)


def _plain(text: str) -> str:
    shown = "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text[:1000])
    return shown if len(shown) <= MOST_CHARACTERS else f"{shown[: MOST_CHARACTERS - 3]}..."


def _note_column(ctx: click.Context, _param: click.Parameter, name: str | None) -> None:
    ctx.meta[_TITLE_COLUMN] = name


def _note_titles(ctx: click.Context, _param: click.Parameter, path: str | None) -> None:
    """Read the file at once: one that cannot be read is refused before anything is charged."""
    if path is not None:
        ctx.meta[_TITLES] = Titles(note_file(ctx, path), item_column(ctx), ctx.meta.get(_TITLE_COLUMN))


def TITLE_OPTIONS(function: Any) -> Any:
    """The options --titles and --title-col, a decorator; `given_titles` tells what they gave."""
    for option in (
        click.option(
            "--title-col",
            metavar="NAME",
            is_eager=True,
            expose_value=False,
            callback=_note_column,
            help="Column of the titles. Default: title or name.",
        ),
        click.option(
            "--titles",
            metavar="FILE",
            expose_value=False,
            callback=_note_titles,
            help="Public CSV, TSV or Parquet file with the columns item and title: titles are shown to people.",
        ),
    ):
        function = option(function)
    return function
