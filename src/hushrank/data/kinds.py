"""What kind of table a file is, by its names and first values: rows, ratings, records, updates. NOT PRIVATE."""

import re
from collections.abc import Container, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from hushrank.data.delimited import DelimitedText
from hushrank.data.files import PARQUET_SUFFIXES, parquet_files, refuse_damaged
from hushrank.data.findings import Finding, name_some, share
from hushrank.data.frames import to_block
from hushrank.data.rows.file_rows import read_file
from hushrank.data.rows.triplets import looks_like_triplets
from hushrank.data.text_files import text_suffix

SAMPLE = 20_000  # records that are looked at
_USER = re.compile(r"(user|customer|reader|viewer|person|member|client|account)[ _.-]?(id|no)?\Z|uid\Z", re.IGNORECASE)
_ITEM = re.compile(
    r"(item|movie|film|product|book|song|track|artist|article|isbn|anime|game)[ _.-]?(id|no)?\Z|iid\Z", re.IGNORECASE
)
_RATING = re.compile(r"(rating|stars|score|rate|grade)s?\Z", re.IGNORECASE)
_NUMBERS = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_null)

_BUDGET = "--epsilon 1 --delta 1e-6"


@dataclass(frozen=True, slots=True)
class TableKind:
    """What a file seems to hold, and what suits it.

    Attributes
    ----------
    kind : "rows", "ratings", "entries", "records" or "updates"
    names : list of str
        Columns; empty for an array.
    command : str
        The command that suits, with what must be given.
    findings : list of Finding
    """

    kind: str
    names: list[str]
    command: str
    findings: list[Finding]


def tell_kind(path: str | PathLike[str], owner: str = "check") -> TableKind:
    """Look at the header and the first values of a CSV, Parquet, npy or npz file, or of a folder of Parquet files."""
    path = Path(fspath(path))
    if path.suffix.lower() in (".npy", ".npz"):
        rows = read_file(path, owner)
        said = f"an array of {rows.n_samples:,} rows and {rows.n_features:,} columns of numbers"
        return TableKind("rows", [], _pca(path), [Finding("note", "rows", said)])
    names, X = _read_csv(path, owner) if text_suffix(path) else _read_parquet(path, owner)
    lower = [name.lower() for name in names]
    if {"row", "delta"} <= set(lower) and {"column", "col"} & set(lower):
        said = "updates of a matrix: row, column and delta"
        stream = f"hushrank check stream {quote(str(path))} --shape ROWS COLUMNS --rank 5 {_BUDGET}"
        return TableKind("updates", names, stream, [Finding("note", "updates", said)])
    users, items, ratings = (_first(pattern, names) for pattern in (_USER, _ITEM, _RATING))
    if users and items:
        return _ratings(path, names, (users, items, ratings))
    if users and "target" in lower:
        said = f"records of users, {users!r}, with answers, 'target'"
        line = f"hushrank check personalize {quote(str(path))} --user {quote(users)} --components 2 {_BUDGET}"
        return TableKind("records", names, line, [Finding("note", "records", said), *_find_texts(names, X, {users})])
    if looks_like_triplets(X, names):
        said = f"entries of a matrix, one a line: {', '.join(names[:3])}"
        line = "pivot it to a sparse matrix, a row a person (scipy.sparse.coo_array, save_npz), then hushrank check pca"
        return TableKind("entries", names, line, [Finding("note", "triplets", said)])
    said = f"rows of {len(names):,} columns. What is hidden is one row: a person with several is not hidden with all"
    return TableKind(
        "rows", names, _pca(path, _numeric(names, X)), [Finding("note", "rows", said), *_find_texts(names, X)]
    )


def _pca(path: Path, chosen: Sequence[str] = ()) -> str:
    columns = f" --columns {quote(','.join(chosen))}" if chosen else ""
    return f"hushrank check pca {quote(str(path))}{columns} --components 2 --row-norm BOUND {_BUDGET}"


def _ratings(path: Path, names: list[str], roles: tuple[str, str, str]) -> TableKind:
    """Ratings, with the options that name their columns where they are called otherwise."""
    said = f"ratings of users: {', '.join(name for name in roles if name)}"
    wanted = zip(("user", "item", "rating"), roles, strict=True)
    named = "".join(f" --{role}-col {quote(given)}" for role, given in wanted if given and given != role)
    terms = "--rating-range LOW HIGH" if roles[2] else "--feedback implicit"
    line = f"hushrank check complete {quote(str(path))}{named} --items CATALOGUE.csv {terms} --rank 8 {_BUDGET}"
    return TableKind("ratings", names, line, [Finding("note", "ratings", said)])


def _first(pattern: re.Pattern[str], names: Sequence[str]) -> str:
    return next((name for name in names if pattern.match(name.strip())), "")


def _numeric(names: Sequence[str], X: Any) -> list[str]:
    """Columns of numbers, where there are others as well."""
    are = np.isfinite(X).mean(axis=0) > 0.5 if len(X) else np.ones(len(names), np.bool_)
    return [] if are.all() else [name for name, is_number in zip(names, are, strict=True) if is_number]


def _find_texts(names: Sequence[str], X: Any, known: Container[str] = ()) -> list[Finding]:
    """Columns that are not numbers."""
    odd = [j for j, name in enumerate(names) if name not in known and not np.isfinite(X[:, j]).all()]
    if not odd:
        return []
    never = [names[j] for j in odd if not np.isfinite(X[:, j]).any()]
    some = [f"{names[j]!r} ({share((~np.isfinite(X[:, j])).sum(), len(X))})" for j in odd if names[j] not in never]
    findings = []
    if never:
        text = f"columns without any number: {name_some(never)}; leave them out with --columns or --features"
        findings.append(Finding("warning", "columns_without_numbers", text, {"columns": never}))
    if some:
        text = f"columns where numbers are missing, in this share of records: {', '.join(some[:5])}"
        findings.append(Finding("warning", "missing_numbers", text, {"columns": [names[j] for j in odd]}))
    return findings


def _read_csv(path: Path, owner: str) -> tuple[list[str], Any]:
    if not path.is_file():
        with refuse_damaged(path, "CSV", owner):
            raise FileNotFoundError(2, "")
    text = DelimitedText(path, owner)
    for fields in text.fields(range(len(text.names))):
        n_seen = min(len(fields), SAMPLE)
        return text.names, np.column_stack([fields.numbers(j)[:n_seen] for j in range(len(text.names))])
    return text.names, np.empty((0, len(text.names)))


def _read_parquet(path: Path, owner: str) -> tuple[list[str], Any]:
    """Names and first numbers; a column of another type has none."""
    if not path.is_dir() and path.suffix.lower() not in PARQUET_SUFFIXES:
        read_file(path, owner)  # refuses it
    first = parquet_files(path, owner)[0] if path.is_dir() else path
    with refuse_damaged(first, "Parquet", owner), pq.ParquetFile(first) as file:
        names = list(file.schema_arrow.names)
        for batch in file.iter_batches(SAMPLE):
            blank = pa.nulls(len(batch))
            columns = [one if any(accepts(one.type) for accepts in _NUMBERS) else blank for one in batch.columns]
            return names, to_block(columns, len(batch))
    return names, np.empty((0, len(names)))
