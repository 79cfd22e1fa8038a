"""Small tables that commands read whole: public catalogues, and own ratings of people who ask for recommendations.

They are CSV files with a header or Parquet files, told by their suffix. Training data are not read here.
"""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from hushrank.engine.catalogue import Catalogue
from hushrank.engine.delimited import MISSING, read_header
from hushrank.engine.parquet import SUFFIXES
from hushrank.engine.rows import refuse_damaged, to_number
from hushrank.exceptions import InvalidParameter

_LARGEST_ID = 2**63 - 1


def read_catalogue(path: Path) -> pa.Array:
    """Ids in the column item, or in the only column; those of a CSV file are int if all of them are written so."""
    table = _read(path, "catalogue")
    if "item" not in table.column_names and table.num_columns != 1:
        got = f"{path.name}: columns {', '.join(table.column_names)}"
        raise InvalidParameter("catalogue", "file", "a table with the column item, or with one column", got)
    column = table["item"] if "item" in table.column_names else table.column(0)
    if path.suffix.lower() == ".csv":
        texts = [text for text in column.to_pylist() if text is not None]  # an empty line is no item
        integers = [_to_integer(text) for text in texts]
        is_int = all(number is not None and str(number) == text for number, text in zip(integers, texts, strict=True))
        column = pa.array(integers if is_int else texts, pa.int64() if is_int else pa.large_string())
    return Catalogue(column).ids


def read_own_ratings(path: Path, kind: str) -> pa.Table:
    """A table with the columns item and, where the file has them, rating and user.

    `kind` is that of the ids of the model, "int" or "str". In a CSV file, items that are no such ids are null and
    ratings that are no numbers NaN, so that they are ignored like unknown items.
    """
    table = _read(path, "own ratings")
    columns: dict[str, Any] = {name: table[name] for name in ("user", "item", "rating") if name in table.column_names}
    if path.suffix.lower() == ".csv":
        if "item" in columns and kind == "int":
            columns["item"] = pa.array([_to_integer(text) for text in columns["item"].to_pylist()], pa.int64())
        if "rating" in columns:
            columns["rating"] = pa.array([to_number(text) for text in columns["rating"].to_pylist()], pa.float64())
    return pa.table(columns)


def _read(path: Path, owner: str) -> pa.Table:
    """The file as a table; all columns of a CSV file are strings, without spaces around them."""
    suffix = path.suffix.lower()
    if suffix not in (*SUFFIXES, ".csv") or not path.is_file():
        requirement = f"an existing file ending in {', '.join(SUFFIXES)} or .csv"
        raise InvalidParameter(owner, "file", requirement, str(path))
    if suffix != ".csv":
        with refuse_damaged(path, "Parquet", owner):
            return pa.parquet.read_table(path)
    with refuse_damaged(path, "CSV", owner, UnicodeDecodeError):
        with path.open("rb") as file:
            names = read_header(file, path, owner)
        as_text = pa.csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()), null_values=MISSING, strings_can_be_null=True
        )
        read = pa.csv.ReadOptions(column_names=names, skip_rows=1)
        table = pa.csv.read_csv(path, read_options=read, convert_options=as_text)
    return pa.table({name: pc.utf8_trim_whitespace(table[name]) for name in names})


def _to_integer(text: str | None) -> int | None:
    """An integer of 64 bits, None if the text is none."""
    try:
        number = int(text or "")
    except ValueError:
        return None
    return number if abs(number) <= _LARGEST_ID else None
