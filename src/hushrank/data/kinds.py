"""What kind of table a file is, by its names and first values: rows, ratings, records, edges, updates. NOT PRIVATE."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hushrank.data.cell_forms import MANY, count_forms, find_forms, is_text, numbers_of, sample_records
from hushrank.data.column_counts import is_no_quantity
from hushrank.data.delimited import LONGEST_RECORD
from hushrank.data.delimited_texts import open_texts
from hushrank.data.files import say_path
from hushrank.data.findings import Finding, name_some, share
from hushrank.data.found_files import are_texts, find_files
from hushrank.data.frames import choose_columns
from hushrank.data.matrix_tables import Cells, find_edges, find_entry, is_numbered
from hushrank.data.next_steps import (
    complete_steps,
    edge_steps,
    entry_steps,
    group_steps,
    join_steps,
    look_again,
    pca_steps,
    personalize_steps,
    unbroken_steps,
    update_steps,
)
from hushrank.data.parquet_parts import read_footer
from hushrank.data.person_columns import (
    count_ids,
    count_people,
    find_no_ids,
    find_repeated_updates,
    find_repeats,
    is_user,
    may_be_person,
)
from hushrank.data.remote_files import Place, to_path
from hushrank.data.rows.file_rows import SUFFIXES, read_file
from hushrank.data.rows.parquet_rows import first_cells, first_with_rows
from hushrank.data.rows.triplets import MOST_COLUMNS, are_counts, looks_like_triplets
from hushrank.data.source import Block
from hushrank.exceptions import InvalidParameter

_ITEM = re.compile(
    r"(item|movie|film|product|book|song|track|artist|article|isbn|anime|game)[ _.-]?(id|no)?\Z|iid\Z", re.IGNORECASE
)
_RATING = re.compile(r"(rating|stars|score|rate|grade)s?\Z", re.IGNORECASE)

_ANSWER = re.compile(
    r"(?:.*[ _.-])?(?:target|score|outcome|label|answer|response|grade|result|mark)s?\Z|y\Z", re.IGNORECASE
)
_SEVERAL = 1.5  # records of a user, from which on users are told apart by their answers
_SCALES = 20.0  # between typical magnitudes of columns, from which on each needs limits of its own


@dataclass(frozen=True, slots=True)
class TableKind:
    """What a file seems to hold, and what suits it.

    Attributes
    ----------
    kind : "rows", "ratings", "entries", "edges", "records" or "updates"
    names : list of str
        Columns; empty for an array.
    command : str
        What to do next, a step a line: words that end in a colon, or a command, with what must be given in capitals.
    findings : list of Finding
    """

    kind: str
    names: list[str]
    command: str
    findings: list[Finding]


def tell_kind(data: str | PathLike[str], owner: str = "check") -> TableKind:
    """Look at the header and the first values of a CSV, Parquet, npy or npz file, or of a folder of such tables."""
    name, path = fspath(data), to_path(data, owner)
    if not name or (isinstance(path, Path) and not path.exists()):  # an empty name would be that of the current folder
        raise InvalidParameter(owner, "X", "an existing file", say_path(path) if name else "an empty name")
    if path.suffix.lower() in (".npy", ".npz"):
        return _array(path, owner)
    paths = find_files(path, owner, SUFFIXES)
    cells = _read_csv(paths, owner) if are_texts(paths) else _read_parquet(paths, owner)
    found = _listed(path, cells) or _of_users(path, cells) or _entries(path, cells) or _rows(path, cells)
    unreadable = list(_find_unreadable(cells))
    found = replace(found, findings=[*found.findings[:1], *unreadable, *found.findings[1:]])
    return _mend_first(path, found)


def _array(path: Place, owner: str) -> TableKind:
    rows = read_file(path, owner)
    said = f"an array of {rows.n_samples:,} rows and {rows.n_features:,} columns of numbers"
    first = next(iter(rows.blocks(sample_records(rows.n_features))), np.empty((0, rows.n_features)))
    has_scales = path.suffix.lower() == ".npy" and _has_scales(np.abs(column) for column in first.T)
    line = pca_steps(path, (), rows.n_features, has_scales=has_scales, is_complex=rows.is_complex, line="low,high")
    empty = [] if rows.n_samples else [Finding("problem", "no_records", "there is no row", {"records": 0})]
    return _mend_first(path, TableKind("rows", [], line, [Finding("note", "rows", said), *empty]))


def _mend_first(path: Place, found: TableKind) -> TableKind:
    """The next step is to mend a problem, where there is one, or names that no line of a shell can hold."""
    problems = [finding for finding in found.findings if finding.level == "problem"]
    if not problems:
        return replace(found, command=unbroken_steps(path, found.names, found.command))
    forms = [name for one in problems if one.name == "not_numbers" for name in one.numbers["columns"]]
    is_written = len(problems) == sum(one.numbers.get("is_number", False) for one in problems)
    words = f"rewrite {name_some(list(dict.fromkeys(forms)))} as numbers" if is_written else "mend the file"
    return replace(found, command=unbroken_steps(path, (), look_again(path, words)))


def _listed(path: Place, cells: Cells) -> TableKind | None:
    """Updates of a matrix, or edges of a graph."""
    names = list(cells)
    lower = [name.lower() for name in names]
    if {"row", "delta"} <= set(lower) and {"column", "col"} & set(lower):
        said = "updates of a matrix: row, column and delta"
        repeats = find_repeated_updates(cells)
        user = repeats[0].numbers["column"] if repeats else ""
        line = update_steps(path, names, user, are_ids=not user or not pa.types.is_floating(cells[user].type))
        return TableKind("updates", names, line, [Finding("note", "updates", said), *repeats])
    edges = find_edges(cells)
    if edges is None:
        return None
    said = (
        f"edges of a graph, one a line: {', '.join(edges.ends)}. They are entries of a matrix, and no rows of numbers"
    )
    line = edge_steps(path, edges.ends, edges.weight, is_numbered=edges.is_numbered, is_bounded=edges.is_bounded)
    forms = find_forms({name: cells[name] for name in [edges.weight] if name}, "leave the column out", "problem")
    return TableKind("edges", names, line, [Finding("note", "edges", said), *forms])


def _of_users(path: Place, cells: Cells) -> TableKind | None:
    """Ratings, or records with answers, where a column has the name of one of users."""
    names = list(cells)
    user, item, rating = (_first(accepts, names) for accepts in (is_user, _ITEM.match, _RATING.match))
    target = _first(lambda name: name.lower() == "target", names)
    if user and item:
        return _ratings(path, cells, {"user": user, "item": item, "rating": rating})
    if not user or not target:
        return None
    if len(cells[user]) and len(set(count_ids(cells[user]))) == 1:  # nobody has several; a header does not tell
        return None
    forms = find_forms({name: column for name, column in cells.items() if name != user}, "--features")
    return _records(path, cells, user, target, forms)


def _entries(path: Place, cells: Cells) -> TableKind | None:
    """Entries of a matrix, one a line; where a line is one of a person's several, they are like ratings."""
    names, entry = list(cells), find_entry(cells)
    if entry is not None and entry.user:
        item = next(name for name in entry.names[:2] if name != entry.user)
        return _ratings(path, cells, {"user": entry.user, "item": item, "rating": entry.names[2]})
    if entry is None and not looks_like_triplets(_ids_and_numbers(cells), names):
        return None
    chosen = names[:3] if entry is None else entry.names
    said = f"entries of a matrix, one a line: {', '.join(chosen)}"
    are_numbered = all(is_numbered(cells[name]) for name in chosen[:2])
    line = entry_steps(path, chosen, is_numbered=are_numbered, is_count=are_counts(chosen))
    return TableKind("entries", names, line, [Finding("note", "triplets", said)])


def _rows(path: Place, cells: Cells) -> TableKind:
    """Rows, with what to do about columns that are no numbers, and about people who have several rows."""
    names = list(cells)
    columns = "1 column" if len(names) == 1 else f"{len(names):,} columns"
    said = f"rows of {columns}. What is hidden is one row: a person with several is not hidden with all"
    forms = find_forms(cells, "--columns")
    repeats = find_repeats({name: column for name, column in cells.items() if may_be_person(name)})
    chosen = _quantities(cells, forms)
    answer = _first(_ANSWER.match, chosen)
    if repeats and answer and len(chosen) > 1 and repeats[0].numbers["rows_each"] >= _SEVERAL:
        user = repeats[0].numbers["column"]
        forms = find_forms({name: column for name, column in cells.items() if name != user}, "--features")
        found = _records(path, cells, user, answer, forms)
        return replace(found, command=join_steps(found.command, group_steps(path, user, "or, for a fit of rows,")))
    has_scales = _has_scales(np.abs(numbers_of(cells[name])) for name in chosen)
    line = pca_steps(path, [] if chosen == names else chosen, len(chosen), has_scales=has_scales)
    line = group_steps(path, repeats[0].numbers["column"]) if repeats else line
    line = _rewrite_first(path, forms, line if chosen else "")
    return TableKind("rows", names, line, [Finding("note", "rows", said), *forms, *_find_nameless(names), *repeats])


def _quantities(cells: Cells, forms: Sequence[Finding]) -> list[str]:
    """Columns that may be learned from as they are."""
    rewritten = _written_otherwise(forms)
    return [name for name, column in cells.items() if name not in rewritten and _is_quantity(name, column)]


def _written_otherwise(forms: Sequence[Finding]) -> list[str]:
    """Columns of numbers in another writing."""
    return list(dict.fromkeys(name for one in forms if one.numbers["is_number"] for name in one.numbers["columns"]))


def _rewrite_first(path: Place, forms: Sequence[Finding], line: str) -> str:
    """What to do about columns of numbers in another writing, and the line that goes without them, if there is one."""
    rewritten = _written_otherwise(forms)
    if not rewritten:
        return line or look_again(path, "there is no column of numbers to learn from; make some")
    without = join_steps("or without:", line) if line else ""
    return join_steps(look_again(path, f"rewrite {name_some(rewritten)} as numbers"), without)


def _records(path: Place, cells: Cells, user: str, target: str, forms: Sequence[Finding]) -> TableKind:
    """Records of users who have several, with answers."""
    said = f"records of users, {user!r}, with answers, {target!r}"
    names = list(cells)
    features = [name for name in _quantities(cells, forms) if name not in (user, target)]
    is_all = len(features) == len(names) - 2
    line = personalize_steps(path, user, target, [] if is_all else features, len(features)) if features else ""
    findings = [Finding("note", "records", said), *forms, *_find_nameless(names)]
    return TableKind("records", names, _rewrite_first(path, forms, line), findings)


def _ratings(path: Place, cells: Cells, roles: Mapping[str, str]) -> TableKind:
    said = f"ratings of users: {', '.join(name for name in roles.values() if name)}"
    numbers = {name: cells[name] for name in [roles["rating"]] if name}
    forms = find_forms(numbers, "--rating-col names another", "problem")
    no_ids = find_no_ids({roles[role]: cells[roles[role]] for role in ("user", "item")})
    told = [Finding("note", "ratings", said), *forms, *no_ids]
    return TableKind("ratings", list(cells), complete_steps(path, roles), told)


def _has_scales(columns: Iterable[NDArray[Any]]) -> bool:
    """Whether typical magnitudes of columns differ so much that the largest would hide the others."""
    with np.errstate(all="ignore"):
        known = [column[np.isfinite(column) & (column > 0)] for column in columns]
        typical = [float(np.median(column)) for column in known if len(column)]
    return bool(typical) and max(typical) > _SCALES * min(typical)


def _first(accepts: Callable[[str], object], names: Sequence[str]) -> str:
    return next((name for name in names if accepts(name.strip())), "")


def _is_quantity(name: str, column: pa.Array) -> bool:
    """Whether a column may be learned from: it has a name, which is none of an id, and mostly numbers."""
    if not name or is_no_quantity(name) or (may_be_person(name) and count_people(name, column) is not None):
        return False
    return not len(column) or bool(np.isfinite(numbers_of(column)).mean() > 0.5)


def _ids_and_numbers(cells: Cells) -> Block:
    """The first columns as numbers; texts that are no numbers in any writing become codes, as ids of items may be."""
    columns = []
    for column in list(cells.values())[: MOST_COLUMNS + 1]:
        numbers = numbers_of(column)
        if is_text(column) and not np.isfinite(numbers).any() and count_forms(column).causes == ["text"]:
            codes = column.dictionary_encode().indices
            numbers = codes.to_numpy(zero_copy_only=False).astype(np.float64)
        columns.append(numbers)
    return np.column_stack(columns)


def _find_nameless(names: Sequence[str]) -> Iterator[Finding]:
    if "" in names:
        text = "a column has no name, such as an index that pandas wrote; leave it out (--columns, to_csv(index=False))"
        yield Finding("warning", "column_without_name", text, {"position": names.index("")})


def _find_unreadable(cells: Cells) -> Iterator[Finding]:
    """No records, or records of a CSV file that cannot be read; which of the causes it is, its reader does not tell."""
    first = next(iter(cells.values()))
    if not len(first):
        yield Finding("problem", "no_records", "there is no record, only a header", {"records": 0})
    if not pa.types.is_large_binary(first.type) or not first.null_count:
        return
    n_lost = int(first.null_count)
    text = (
        f"{n_lost:,} of the first {len(first):,} records ({share(n_lost, len(first))}) cannot be read and count as "
        "nothing: they have more or fewer fields than the header, a quote out of place, or more than "
        f"{LONGEST_RECORD >> 20} MiB. Is there a title above the header, are there empty lines, or cells with a "
        "comma and without quotes, such as 3,5?"
    )
    level = "problem" if n_lost > MANY * len(first) else "warning"
    yield Finding(level, "unreadable_records", text, {"records": len(first), "unreadable": n_lost})


def _read_csv(paths: Sequence[Place], owner: str) -> Cells:
    texts = open_texts(paths, owner)
    return texts.first_cells(texts.names, sample_records(len(texts.names)))


def _read_parquet(paths: Sequence[Place], owner: str) -> Cells:
    """First cells of the first file that has any; a stored index of pandas tells whose a row is, or nothing."""
    first = first_with_rows(paths, owner)
    footer = read_footer(first, owner)
    names = [name for name in footer.schema.names if name not in footer.index or may_be_person(name)]
    choose_columns(names, None, owner)  # refuses a file without columns, or with two of one name
    found = first_cells(first, names, sample_records(len(names)), owner)
    return found or {name: pa.nulls(0) for name in names}
