"""Small tables that commands read whole: public catalogues, facts about items and limits, and people's own ratings.

They are CSV files with a header or Parquet files, told by their suffix. Data to learn from are not read here.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from hushrank.data.delimited import DelimitedText
from hushrank.data.files import PARQUET_SUFFIXES, refuse_damaged, say_path
from hushrank.data.id_arrays import as_text, to_ids
from hushrank.data.identifiers import IdTable
from hushrank.data.ratings.catalogue import Catalogue
from hushrank.data.ratings.column_names import (
    ROLES,
    MissingColumn,
    as_word,
    check_names,
    guess_column,
    name_columns,
    warn_of_users,
)
from hushrank.data.text_files import DATA_SUFFIXES, text_suffix
from hushrank.data.text_values import to_integers, to_numbers
from hushrank.exceptions import InvalidParameter

_SPELLED_MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None")


def read_catalogue(path: Path, owner: str = "catalogue", item_column: str | None = None) -> pa.Array:
    """Ids of items; those of a CSV file are int if all of them are written so.

    They are in the column `item_column`, if the file has it, else in the column item, else in the only column.
    """

    def choose(names: list[str]) -> list[str]:
        found = item_name(names, item_column)
        if found is None and len(names) != 1:
            got = f"{path.name}: columns {', '.join(names)}"
            requirement = "a table with the column item, or with one column"
            raise MissingColumn(owner, "file", requirement, repr(got), _hint_item(names))
        return names if found is None else [found]

    table = _read(path, owner, choose)
    [column] = table.values()
    if _is_csv(path):
        column = _to_ids(column.filter(pc.not_equal(column, b"")))  # an empty line is no item
    return Catalogue(column).ids


def item_name(names: Sequence[str], item_column: str | None) -> str | None:
    """The column of items: `item_column` if there is one of this name, else item; None if there is neither."""
    return next((name for name in (item_column, "item") if name is not None and name in names), None)


def _hint_item(names: Sequence[str]) -> str:
    found = guess_column(names, "item", "item")
    return "" if found is None else f"Did you mean --item-col {as_word(found)}?"


def read_item_table(path: Path, item_column: str | None = None) -> pa.Table:
    """Public facts about items: a table with their ids in the column item, and other columns.

    In the file the ids may be in a column of another name, `item_column`; see `read_catalogue`.
    Ids of a CSV file are those that `read_catalogue` would find there. Its other columns hold numbers where every text
    is one, is empty or spells a missing value, else texts; an empty text is null.
    """
    owner = "item features"
    columns = _read(path, owner, _choose_facts)
    found = item_name(list(columns), item_column)
    if found is None or len(columns) < 2:
        requirement, got = (
            "a table with the column item and other columns",
            f"{path.name}: columns {', '.join(columns)}",
        )
        raise MissingColumn(owner, "file", requirement, repr(got), "" if found else _hint_item(list(columns)))
    columns = {"item" if name == found else name: columns[name] for name in columns if name == found or name != "item"}
    if _is_csv(path):
        is_item = pc.not_equal(columns["item"], b"")
        columns = {name: column.filter(is_item) for name, column in columns.items()}
        columns = {name: (_to_ids if name == "item" else _to_facts)(column) for name, column in columns.items()}
    return pa.table(columns)


def read_own_ratings(
    path: Path,
    item_type: pa.DataType,
    columns: Mapping[str, str] | None = None,
    *,
    user: str | None = None,
    needed: Sequence[str] = (),
) -> pa.Table:
    """A table with the columns item and, where the file has them, rating and user.

    `item_type` is that of the ids of the model: int64, uint64 or large_string. In a CSV file, items that are no such
    ids are null and ratings that are no numbers NaN, so that they are ignored like unknown items. `columns` says what
    the columns are called in the file. With `user`, an id, only the rows of this user are kept.
    """
    owner = "own ratings"
    called = name_columns(columns, owner)
    roles = [role for role in ROLES if role in (*needed, *(columns or ())) or (role == "user" and user is not None)]

    def choose(names: list[str]) -> list[str]:
        check_names(names, {role: called[role] for role in roles}, owner, "file")
        if called["user"] not in names:
            warn_of_users(names, columns)
        return [name for name in called.values() if name in names]

    keep = None if user is None else partial(_is_user, name=called["user"], user=user)
    found = _read(path, owner, choose, keep)
    own = {role: found[name] for role, name in called.items() if name in found}
    if user is not None and not len(own["user"]):
        raise InvalidParameter(owner, "user", f"one of the users in {path.name}", user)
    if user is not None:  # who is one user, however the rows spell it
        own["user"] = own["user"].take(pa.array(np.zeros(len(own["user"]), np.int64)))
    if _is_csv(path):
        is_text = item_type == pa.large_string()
        convert: dict[str, Callable[[pa.Array], Any]] = {
            "user": _to_texts,
            "item": _to_texts if is_text else partial(to_integers, dtype=item_type),
            "rating": to_numbers,
        }
        own = {role: convert[role](column) for role, column in own.items()}
        if "rating" in needed and "user" not in own and np.isnan(own["rating"]).any():  # of the one who reads this
            told = f"ratings in {path.name} that are no numbers are left out (a decimal comma, or text?)"
            warnings.warn(told, stacklevel=2)
    return pa.table(own)


def _is_user(columns: Mapping[str, Any], name: str, user: str) -> pa.Array:
    """Which rows are of this user, whose id may be written in another way."""
    wanted = IdTable()
    wanted.add(pa.array([user.encode("utf-8", "surrogateescape")], pa.large_binary()))
    ids = columns[name] if pa.types.is_large_binary(columns[name].type) else as_text(to_ids(columns[name]))
    return pa.array(wanted.find(ids) >= 0)


def read_title_columns(
    path: Path, item_column: str | None, title_column: str | None
) -> tuple[IdTable, list[str | None]]:
    """Ids of items, and the titles at their codes; of several rows of one item the first counts."""
    owner, wanted = "titles", "title" if title_column is None else title_column

    def choose(names: list[str]) -> list[str]:
        # Titles are public, and a movieId beside them is no column of anybody's ratings.
        item = item_name(names, item_column) or guess_column(names, "item", "item", may_be_close=False)
        title = next((name for name in (wanted, *(() if title_column else ("name",))) if name in names), None)
        if item is None or title is None or item == title:
            guesses = {
                "--item-col": None if item else guess_column(names, "item", "item"),
                "--title-col": None if title else guess_column(names, "title", wanted),
            }
            meant = " ".join(f"{option} {as_word(name)}" for option, name in guesses.items() if name is not None)
            got = f"{path.name}: no column {('item' if item is None else wanted)!r}"
            requirement = f"a table with the columns {item_column or 'item'} and {wanted}"
            raise MissingColumn(owner, "file", requirement, got, f"Did you mean {meant}?" if meant else "")
        return [item, title]

    items, titles = _read(path, owner, choose).values()
    table = IdTable()
    codes = table.add(items if _is_csv(path) else as_text(to_ids(items)))
    cells = titles.to_pylist() if _is_csv(path) else as_text(to_ids(titles)).to_pylist()
    texts: list[str | None] = [None] * len(table)
    for code, cell in zip(codes.tolist(), cells, strict=True):
        if code >= 0 and texts[code] is None and cell:
            texts[code] = cell if isinstance(cell, str) else cell.decode("utf-8", "replace")
    return table, texts


def read_bounds(path: Path) -> list[list[float]] | dict[str, list[float]]:
    """Pairs from a CSV file: its last two columns, low and high, with a record for each column of the data.

    A column before them has the names of the columns, in any order: pairs are then by name.
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
    limits: list[list[float]] = pairs.tolist()
    if named is None or not limits:
        return limits
    names = [bytes(name).decode("utf-8", "replace") for name in named.to_pylist()]
    bounds = dict(zip(names, limits, strict=True))
    if len(bounds) < len(names):
        raise InvalidParameter(owner, "file", "a table with one record for a column", f"{path.name}: one column twice")
    return bounds


def _read(
    path: Path,
    owner: str,
    choose: Callable[[list[str]], list[str]],
    keep: Callable[[Mapping[str, Any]], pa.Array] | None = None,
) -> dict[str, Any]:
    """The chosen columns of the file; those of a CSV file as bytes, without spaces around them.

    `keep` says which rows are kept, of some rows at a time.
    """
    if not (_is_csv(path) or path.suffix.lower() in PARQUET_SUFFIXES) or not path.is_file():
        requirement = f"an existing file ending in {', '.join(DATA_SUFFIXES)}"
        raise InvalidParameter(owner, "file", requirement, say_path(path))
    if _is_csv(path):
        text = DelimitedText(path, owner)
        return text.read(choose(text.names), keep)
    with refuse_damaged(path, "Parquet", owner):
        chosen = choose(pa.parquet.read_schema(path).names)
        if keep is None:
            table = pa.parquet.read_table(path, columns=chosen)
        else:
            with pa.parquet.ParquetFile(path) as file:
                rows = [batch.filter(keep(batch)) for batch in file.iter_batches(columns=chosen)]
                table = pa.Table.from_batches(rows, file.schema_arrow).select(chosen)
    return dict(zip(table.column_names, table.columns, strict=True))


def _choose_facts(names: list[str]) -> list[str]:
    """All names; that two columns have one name is noticed here, where both are still there."""
    if len(set(names)) < len(names):
        raise InvalidParameter("item features", "file", "a table whose column names differ", f"{len(names)} columns")
    return names


def _is_csv(path: Path) -> bool:
    return text_suffix(path) is not None


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
