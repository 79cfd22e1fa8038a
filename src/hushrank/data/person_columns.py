"""Columns that say whose a row is, by their names, and people who have several rows. NOT PRIVATE.

A fit of rows hides one row. Where a person has several, they are not hidden with all of them, and nobody would notice.
"""

import re
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hushrank.data.findings import Finding
from hushrank.data.id_arrays import id_kind, to_ids
from hushrank.data.identifiers import IdTable
from hushrank.data.text_values import to_numbers

_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_WHO = (
    r"(?:user|customer|cust|client|patient|member|account|acct|household|employee|student|pupil|subject|person|"
    r"participant|respondent|subscriber|reader|viewer|visitor|buyer|donor|citizen|taxpayer|tenant|player|driver)"
)
_NUMBER = r"_?(?:id|no|nr|num|number|key|code|uid|uuid|guid|hash)"
_NAMED = re.compile(rf"(?:.*_)?{_WHO}{_NUMBER}\Z")  # surely an id
_MAYBE = re.compile(rf"{_WHO}\Z")  # an id, or a number of people, a yes or a no
_USER = re.compile(r"(user|customer|reader|viewer|person|member|client|account)\Z|uid\Z", re.IGNORECASE)
_ALONE = re.compile(r"(?:id|uid|uuid|guid|ssn|e_?mail|e_?mail_address)\Z")
MOST_TOLD = 3  # columns that repeat
_EXACT = 2.0**53  # integers below it are their own as floats
_FEWEST_TEXTS, _FEWEST_NUMBERS = 4, 13  # different ones that a column like "member" or "household" has at least


def is_person_id(name: object) -> bool:
    """Whether a name is surely one of an id of people.

    Examples
    --------
    >>> [is_person_id(name) for name in ("customer_id", "PatientNo", "household", "order_id", "paid")]
    [True, True, False, False, False]
    """
    return isinstance(name, str) and bool(_NAMED.match(_plain(name)))


def may_be_person(name: object) -> bool:
    """Whether a column of this name may say whose a row is.

    Examples
    --------
    >>> [may_be_person(name) for name in ("customer_id", "household", "id", "order_id", "members")]
    [True, True, True, False, False]
    """
    return isinstance(name, str) and (is_person_id(name) or any(one.match(_plain(name)) for one in (_MAYBE, _ALONE)))


def is_user(name: str) -> bool:
    """Whether a column of this name is one of users, where other names say that the table is about users.

    Examples
    --------
    >>> [is_user(name) for name in ("user", "Customer", "userId", "id", "age")]
    [True, True, True, False, False]
    """
    return bool(_USER.match(name)) or is_person_id(name)


def _plain(name: str) -> str:
    return re.sub(r"[ .-]+", "_", _CAMEL.sub("_", name.strip())).lower()


def count_people(name: str, column: pa.Array) -> tuple[int, int] | None:
    """Rows with an id, and different ids; None where the column is none of ids.

    Texts of a CSV file are large_binary, and those of other tables of any type of texts.
    """
    ids = _as_ids(column)
    if ids is None:
        return None
    n_rows, n_people = _count(ids)
    is_text = pa.types.is_large_string(ids.type)
    fewest = 1 if not _MAYBE.match(_plain(name)) else _FEWEST_TEXTS if is_text else _FEWEST_NUMBERS
    return (n_rows, n_people) if n_people >= fewest else None


def count_ids(column: pa.Array) -> tuple[int, int]:
    """Rows with an id, and different ids, of a column that is surely one of people; none where its type holds no ids.

    Examples
    --------
    >>> count_ids(pa.array([7, 7, None, 8])), count_ids(pa.array([[7], [7]])), count_ids(pa.nulls(2))
    ((3, 2), (0, 0), (0, 0))
    """
    ids = _as_ids(column)
    if ids is None and pa.types.is_large_binary(column.type):  # 1.5 is an id as any other text is
        ids = _texts(column).view(pa.large_string())
    return (0, 0) if ids is None else _count(ids)


def _count(ids: pa.Array) -> tuple[int, int]:
    codes = IdTable().add(ids)
    return int((codes >= 0).sum()), int(codes.max(initial=-1)) + 1


def _as_ids(column: pa.Array) -> pa.Array | None:
    """Integers or texts; integers may have become floats where one is missing."""
    if pa.types.is_large_binary(column.type):
        texts = _texts(column)
        numbers = to_numbers(texts)
        if np.isnan(numbers).any() or (np.abs(numbers) >= _EXACT).any():
            return texts.view(pa.large_string())
        return _integers(numbers)
    if pa.types.is_floating(column.type):
        return _integers(np.asarray(column.to_numpy(zero_copy_only=False), np.float64))
    return to_ids(column) if id_kind(column.type) is not None else None


def _texts(column: pa.Array) -> pa.Array:
    """Cells of a CSV file that are not empty."""
    return column.filter(pc.greater(pc.binary_length(column), 0))


@np.errstate(all="ignore")  # signaling NaNs
def _integers(numbers: NDArray[np.float64]) -> pa.Array | None:
    """Numbers that are integers as such, or None if one is not; missing ones are left out."""
    known = numbers[~np.isnan(numbers)]
    is_id = bool((known == np.rint(known)).all() and (np.abs(known) < _EXACT).all())
    return pa.array(known.astype(np.int64)) if is_id else None


def find_repeats(columns: Mapping[str, pa.Array]) -> list[Finding]:
    """People who have several rows, as far as the first rows tell.

    Parameters
    ----------
    columns : dict of str to Arrow array
        Cells of the first rows, of columns that `may_be_person`.

    Examples
    --------
    >>> [finding] = find_repeats({"customer_id": pa.array(["a", "b", "a", "b", "a", "c"])})
    >>> finding.text.split(":")[0], finding.numbers["people"]
    ("column 'customer_id' repeats (2.0 rows each in the first 6)", 3)
    """
    findings: list[Finding] = []
    for name, column in columns.items():
        counted = count_people(name, column) if len(findings) < MOST_TOLD else None
        if counted is None or counted[0] == counted[1]:
            continue
        cure = (
            "a fit of rows (pca, covariance, lowrank) hides one row, not a person "
            f"with all rows. Add up or average the rows of a person first, such as pandas table.groupby({name!r})"
            ".mean(numeric_only=True); fits of users (complete, personalize) hide a user with all records"
        )
        findings.append(_say_repeats(name, counted, "rows", cure))
    return findings


def find_repeated_updates(columns: Mapping[str, pa.Array]) -> list[Finding]:
    """People who have several updates of a matrix: the first column of them that repeats.

    Parameters
    ----------
    columns : dict of str to Arrow array
        Cells of the first updates. A column "user" is one of ids however few they are: a stream takes it for that.

    Examples
    --------
    >>> [finding] = find_repeated_updates({"row": pa.array([5, 5, 6]), "user": pa.array(["a", "b", "a"])})
    >>> finding.text.split(":")[0]
    "column 'user' repeats (1.5 updates each in the first 3)"
    """
    names = sorted(filter(may_be_person, columns), key=lambda name: name.strip().lower() != "user")
    for name in names:
        is_sure = name.strip().lower() == "user"
        counted = count_ids(columns[name]) if is_sure else count_people(name, columns[name])
        if counted is not None and counted[0] > counted[1]:
            cure = "a stream hides one update of an entry, not a person with all updates. --unit user hides a user"
            return [_say_repeats(name, counted, "updates", cure)]
    return []


def _say_repeats(name: str, counted: tuple[int, int], what: str, cure: str) -> Finding:
    n_rows, n_people = counted
    each = n_rows / n_people
    how = f"{each:.1f} {what} each in the first {n_rows:,}"
    how = how if each >= 1.05 else f"{n_rows - n_people:,} of the first {n_rows:,} {what} are of somebody before"
    numbers = {"column": name, "rows": n_rows, "people": n_people, "rows_each": each}
    return Finding("warning", "repeated_people", f"column {name!r} repeats ({how}): {cure}", numbers)


def find_no_ids(columns: Mapping[str, pa.Array]) -> list[Finding]:
    """Columns that should be ids, and hold none: all is missing, or they are lists and the like.

    Examples
    --------
    >>> [finding.text for finding in find_no_ids({"user": pa.nulls(3), "item": pa.array([1, 1, 2])})]
    ["column 'user' holds no ids: they must be integers or texts"]
    """
    return [
        Finding("problem", "no_ids", f"column {name!r} holds no ids: they must be integers or texts", {"column": name})
        for name, column in columns.items()
        if _has_cells(column) and not count_ids(column)[0]
    ]


def _has_cells(column: pa.Array) -> bool:
    """Whether there are rows; that records of a CSV file cannot be read, and are null, is no fault of a column."""
    return len(column) > (column.null_count if pa.types.is_large_binary(column.type) else 0)
