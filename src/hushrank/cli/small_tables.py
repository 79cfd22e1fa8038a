"""Small tables that commands read whole: public catalogues, facts about items and limits, and people's own ratings.

They are CSV files with a header or Parquet files, told by their suffix. Data to learn from are not read here.
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from hushrank.data.delimited import DelimitedText
from hushrank.data.files import PARQUET_SUFFIXES, refuse_damaged
from hushrank.data.ratings.catalogue import Catalogue
from hushrank.data.suggestions import did_you_mean
from hushrank.data.text_values import to_integers, to_numbers
from hushrank.exceptions import InvalidParameter

_OWN = ("user", "item", "rating")
_SPELLED_MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None")


def read_catalogue(path: Path, owner: str = "catalogue") -> pa.Array:
    """Ids in the column item, or in the only column; those of a CSV file are int if all of them are written so."""
    table = _read(path, owner, lambda names: ["item"] if "item" in names else names)
    if len(table) != 1:
        got = f"{path.name}: columns {', '.join(table)}{did_you_mean('item', table)}"
        raise InvalidParameter(owner, "file", "a table with the column item, or with one column", got)
    [column] = table.values()
    if _is_csv(path):
        column = _to_ids(column.filter(pc.not_equal(column, b"")))  # an empty line is no item
    return Catalogue(column).ids


def read_item_table(path: Path) -> pa.Table:
    """Public facts about items: a table with their ids in the column item, and other columns.

    Ids of a CSV file are those that `read_catalogue` would find there. Its other columns hold numbers where every text
    is one, is empty or spells a missing value, else texts; an empty text is null.
    """
    owner = "item features"
    columns = _read(path, owner, _choose_facts)
    if "item" not in columns or len(columns) < 2:
        got = f"{path.name}: columns {', '.join(columns)}{'' if 'item' in columns else did_you_mean('item', columns)}"
        raise InvalidParameter(owner, "file", "a table with the column item and other columns", got)
    if _is_csv(path):
        is_item = pc.not_equal(columns["item"], b"")
        columns = {name: column.filter(is_item) for name, column in columns.items()}
        columns = {name: (_to_ids if name == "item" else _to_facts)(column) for name, column in columns.items()}
    return pa.table(columns)


def read_own_ratings(path: Path, item_type: pa.DataType) -> pa.Table:
    """A table with the columns item and, where the file has them, rating and user.

    `item_type` is that of the ids of the model: int64, uint64 or large_string. In a CSV file, items that are no such
    ids are null and ratings that are no numbers NaN, so that they are ignored like unknown items.
    """
    columns = _read(path, "own ratings", lambda names: [name for name in _OWN if name in names])
    if _is_csv(path):
        is_text = item_type == pa.large_string()
        convert: dict[str, Callable[[pa.Array], Any]] = {
            "user": _to_texts,
            "item": _to_texts if is_text else partial(to_integers, dtype=item_type),
            "rating": to_numbers,
        }
        columns = {name: convert[name](column) for name, column in columns.items()}
    return pa.table(columns)


class NamedBounds(list[Any]):
    """Pairs of low and high, and the names of the columns that they are for; None where the file has no names."""

    names: tuple[str, ...] | None = None

    def in_order(self, columns: Sequence[str] | None, owner: str) -> Any:
        """The pairs in the order of the columns of the data, or InvalidParameter if those are others."""
        if self.names is None or columns is None:
            return list(self)
        if set(self.names) != set(columns) or len(self.names) != len(columns):
            odd = sorted(set(self.names) ^ set(columns))
            got = f"limits of {odd[0]!r} in one of both only" if odd else "limits of one column twice"
            unknown = [name for name in self.names if name not in columns]
            guess = did_you_mean(unknown[0], columns) if unknown else ""
            got = f"no column {unknown[0]!r}{guess}" if guess else got
            raise InvalidParameter(owner, "column_bounds", "limits of every column of the data", got)
        pairs = dict(zip(self.names, self, strict=True))
        return [pairs[name] for name in columns]


def read_bounds(path: Path) -> NamedBounds:
    """Pairs from a CSV file: its last two columns, low and high, with a record for each column of the data.

    A column before them has the names of the columns, in any order.
    """
    owner = "limits of columns"
    columns = _read(path, owner, lambda names: names[-3:])
    named = columns.pop(next(iter(columns))) if len(columns) == 3 else None
    if len(columns) < 2:
        raise InvalidParameter(owner, "file", "a table with the columns low and high at its end", f"{path.name}: one")
    pairs = np.column_stack([to_numbers(column) for column in columns.values()])
    wrong = np.flatnonzero(~np.isfinite(pairs).all(axis=1))
    if len(wrong):
        requirement = "a table whose last two columns are finite numbers, low and high"
        raise InvalidParameter(owner, "file", requirement, f"{path.name}: record {wrong[0] + 1} has others")
    bounds = NamedBounds(pairs.tolist())
    if named is not None:
        bounds.names = tuple(bytes(name).decode("utf-8", "replace") for name in named.to_pylist())
    return bounds


def _read(path: Path, owner: str, choose: Callable[[list[str]], list[str]]) -> dict[str, Any]:
    """The chosen columns of the file; those of a CSV file as bytes, without spaces around them."""
    suffix = path.suffix.lower()
    if suffix not in (*PARQUET_SUFFIXES, ".csv") or not path.is_file():
        requirement = f"an existing file ending in {', '.join(PARQUET_SUFFIXES)} or .csv"
        raise InvalidParameter(owner, "file", requirement, str(path))
    if _is_csv(path):
        text = DelimitedText(path, owner)
        return text.read(choose(text.names))
    with refuse_damaged(path, "Parquet", owner):
        names = pa.parquet.read_schema(path).names
        table = pa.parquet.read_table(path, columns=choose(names))
    return dict(zip(table.column_names, table.columns, strict=True))


def _choose_facts(names: list[str]) -> list[str]:
    """All names; that two columns have one name is noticed here, where both are still there."""
    if len(set(names)) < len(names):
        raise InvalidParameter("item features", "file", "a table whose column names differ", f"{len(names)} columns")
    return names


def _is_csv(path: Path) -> bool:
    return path.suffix.lower() == ".csv"


def _to_ids(texts: pa.Array) -> pa.Array:
    """Integers if every text is one as Python writes it, else texts: ids such as 007 are kept as they are shown."""
    for dtype in (pa.int64(), pa.uint64()):
        integers = to_integers(texts, dtype)
        if integers.null_count == 0 and integers.cast(pa.string()).cast(pa.large_binary()).equals(texts):
            return integers
    return _to_texts(texts)


def _to_facts(texts: pa.Array) -> pa.Array:
    """Numbers, NaN where they are missing, or texts, null where they are empty."""
    numbers = to_numbers(texts)
    is_missing = np.asarray(pc.is_in(texts, pa.array(_SPELLED_MISSING, pa.large_string()).view(texts.type)))
    if (is_missing | ~np.isnan(numbers)).all():
        return pa.array(numbers)
    return _to_texts(pc.if_else(pc.equal(texts, b""), pa.scalar(None, texts.type), texts))


def _to_texts(texts: pa.Array) -> pa.Array:
    return texts.view(pa.large_string())
