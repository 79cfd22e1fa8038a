"""Titles of items, from a public table: shown to people instead of ids."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hushrank.exceptions import InvalidParameter

_TITLES = ("title", "name")


def read_titles(path: Path, items: Sequence[Any]) -> list[str]:
    """The title of each of these items; its id where it has none.

    The file is a CSV or Parquet file with the column item and one called title or name.
    """
    from hushrank.cli.small_tables import read_item_table  # needs Arrow, which --help does not

    table = read_item_table(path)
    named = next((name for name in _TITLES if name in table.column_names), None)
    if named is None:
        got = f"{path.name}: columns {', '.join(table.column_names)}"
        raise InvalidParameter("titles", "file", "a table with the columns item and title", got)
    ids, texts = (table.column(name).to_pylist() for name in ("item", named))
    found = {str(item): text for item, text in zip(ids, texts, strict=True)}
    return [str(item if found.get(str(item)) is None else found[str(item)]) for item in items]
