"""Tables of results: printed for people, or written to files."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

OUT_SUFFIXES = (".csv", ".parquet", ".pq")
SHOWN_LINES = 20


def make_table(*names: str, texts: tuple[str, ...] = (), title: str | None = None) -> Table:
    """An empty table of columns of numbers, which stand on the right, and of `texts` among them, on the left."""
    table = Table(title=title, title_justify="left")
    for name in names:
        table.add_column(name, justify="left" if name in texts else "right")
    return table


def printable(text: str) -> str:
    """Text for a terminal: an id or a name may hold bytes that are no characters, or ones that steer a terminal."""
    shown = "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)
    return escape(shown)


def say_more_records(n_records: int, out: Path | None) -> Iterator[str]:
    """Where to find the records that a table of the first ones does not show, unless they are in `out`."""
    if n_records > SHOWN_LINES and out is None:
        yield f"and {n_records - SHOWN_LINES} more records: --out FILE writes all, --json shows all"


def write_table(table: Any, out: Path) -> None:
    """A CSV or Parquet file, told by its suffix, from an Arrow table of numbers and, before them, texts."""
    import pyarrow as pa  # --help needs none of it
    import pyarrow.csv
    import pyarrow.parquet

    if out.suffix.lower() != ".csv":
        pa.parquet.write_table(table, str(out))
        return
    if table.num_columns == 1:  # a missing number would be an empty line, which is no record to most readers
        table = pa.table({table.column_names[0]: table.column(0).fill_null(math.nan)})
    pa.csv.write_csv(table, str(out))
