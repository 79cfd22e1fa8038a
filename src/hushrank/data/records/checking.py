"""What a fit of records would do to them: which count as nothing, whose they are, and how large numbers are.

NOT PRIVATE: for the data holder. Sizes are compared with the public orders of magnitude that a fit searches around.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hushrank.data.cell_forms import sample_records
from hushrank.data.column_counts import ColumnCounts, find_constants, find_lost
from hushrank.data.findings import Finding, Look, share
from hushrank.data.inspection import RowTally
from hushrank.data.records.record_files import CsvOrigin

MANY = 0.2  # share of users, from which on a note is a warning

# A scale may be wrong by these factors, which the searches of estimators reach.
X_REACH, Y_REACH = 256.0, 1000.0


@dataclass(frozen=True, slots=True)
class Scales:
    """Public orders of magnitude of numbers and answers; None where answers are labels or numbers indices."""

    x: float | None = 1.0
    y: float | None = 1.0


class RecordCounts:
    """Counts over blocks of records.

    Attributes
    ----------
    columns : ColumnCounts
        Of the numbers of a record, and of its answer as the last column.
    """

    def __init__(self, n_features: int) -> None:
        self._x, self._y = RowTally(None, None), RowTally(None, None)
        self.columns, self._n_features = ColumnCounts(n_features + 1), n_features
        self.has_positive = self.has_other = False

    def add(self, X: NDArray[Any], y: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Count the records of a block; which of them are finite."""
        flat = np.column_stack([np.asarray(X, np.float64).reshape(len(y), self._n_features), y])
        self.columns.add(flat)
        self._x.add(flat[:, :-1])
        self._y.add(flat[:, -1:])
        with np.errstate(all="ignore"):
            known = y[np.isfinite(y)]
        self.has_positive |= bool((known > 0).any())
        self.has_other |= bool((known <= 0).any())
        return np.asarray(np.isfinite(flat).all(axis=1))

    def find_scales(self, scales: Scales) -> Iterator[Finding]:
        """Numbers that are far from their public order of magnitude."""
        x, y = self._x.quantiles(), self._y.quantiles()
        typical = None if x is None else x["median"] / math.sqrt(self._n_features)
        yield from _find_scale("x_scale", "number", typical, scales.x, X_REACH)
        yield from _find_scale("y_scale", "answer", None if y is None else y["median"], scales.y, Y_REACH)


def _find_scale(name: str, what: str, typical: float | None, scale: float | None, reach: float) -> Iterator[Finding]:
    if typical is None or scale is None or typical == 0.0 or scale / reach <= typical <= scale * reach:
        return
    told = (
        f"a typical {what} has the size {typical:.2g}, beyond the reach of {name} = {scale:g} (a factor of {reach:g})"
    )
    text = f"{told}: state the order of magnitude that is publicly known"
    yield Finding("problem", name, text, {"typical": typical, name: scale, "reach": reach})


def look_at_user_records(source: Any, scales: Scales, n_users: int | None = None, *, is_logistic: bool = False) -> Look:
    """Group all records by user, as a fit would, read them once, and count.

    Examples
    --------
    >>> from hushrank.data.records.reading import read_records
    >>> records = read_records([[1.0], [np.nan], [2.0]], [1.0, 2.0, 3.0], ["ann", "ann", "bob"], owner="example")
    >>> look = look_at_user_records(records, Scales())
    >>> look.counts, [finding.name for finding in look.findings]
    ({'n_users': 2, 'n_features': 1, 'n_records': 3}, ['lost_records', 'culprit_column', 'users_with_one_record'])
    """
    n_features, names, origin = source.sizes["n_features"], _names(source), source._origin
    counts, per_user = RecordCounts(n_features), [np.zeros(0, np.int64)]
    for block in source.blocks():
        usable = np.concatenate([[0], np.cumsum(counts.add(block.X, block.y))])
        per_user.append(usable[block.indptr[1:]] - usable[block.indptr[:-1]])
    numbers = np.concatenate(per_user)
    findings = [*_find_columns(counts, names, origin), *_find_users(numbers, n_users)]
    if source.n_left_out:
        n_read = source.n_left_out + counts.columns.n_rows
        told = f"{source.n_left_out:,} of {n_read:,} records ({share(source.n_left_out, n_read)}) have no user"
        level = "problem" if source.n_left_out > n_read / 2 else "warning"
        numbers_lost = {"records_without_user": source.n_left_out, "records": n_read}
        findings.append(Finding(level, "records_without_user", f"{told} and are left out", numbers_lost))
    elif not counts.columns.n_rows:
        findings.append(Finding("problem", "no_records", "there is no record", {}))
    if is_logistic and counts.has_positive != counts.has_other:
        text = "all answers are of one label (above 0 is one, all others the other): there is nothing to tell apart"
        findings.append(Finding("problem", "one_label", text))
    findings += counts.find_scales(Scales(scales.x, None) if is_logistic else scales)
    return Look({"n_users": len(numbers), "n_features": n_features, "n_records": counts.columns.n_rows}, findings)


def look_at_measurements(source: Any, scales: Scales) -> Look:
    """Read all measurements once, and count."""
    sizes, counts, outside = source.sizes, RecordCounts(source.sizes["n_features"]), _Outside()
    for block in source.blocks():
        usable = counts.add(block.X, block.y)
        if source.design == "entry":
            outside.add(block.X[usable], (sizes["n_rows"], sizes["n_columns"]))
    names = ["row", "column", "y"] if source.design == "entry" and source.columns is None else _names(source)
    findings = [*_find_columns(counts, names, source._origin), *outside.find()]
    if not counts.columns.n_rows:
        findings.append(Finding("problem", "no_records", "there is no record", {}))
    findings += counts.find_scales(Scales(None, scales.y) if source.design == "entry" else scales)
    shown = {name: sizes[name] for name in ("n_rows", "n_columns")}
    return Look({"n_samples": counts.columns.n_rows, **shown}, findings)


def _names(source: Any) -> list[Any]:
    return [*(source.columns or range(source.sizes["n_features"])), "y"]


def _find_columns(counts: RecordCounts, names: list[Any], origin: Any) -> Iterator[Finding]:
    def first_cells(places: Sequence[int]) -> dict[str, pa.Array]:
        if not isinstance(origin, CsvOrigin):
            return {}
        columns = [*origin.roles.features, origin.roles.y]  # as they are counted
        return origin.texts.first_cells([str(columns[j]) for j in places], sample_records(len(places)))

    yield from find_lost(counts.columns, names, "record", first_cells)
    yield from find_constants(counts.columns, names, "record")


def _find_users(per_user: NDArray[np.int64], n_users: int | None) -> Iterator[Finding]:
    """Users with too few records to learn from."""
    n_found = len(per_user)
    if n_users is not None and n_found > n_users:
        text = f"{n_found:,} users are more than n_users = {n_users:,}; all count, and noise is for fewer"
        yield Finding("warning", "more_users", text, {"users": n_found, "n_users": n_users})
    for name, number, words in (
        ("users_without_records", 0, "no usable record"),
        ("users_with_one_record", 1, "one usable record, which tells nothing about how theirs differ"),
    ):
        those = int((per_user == number).sum())
        if those:
            level = "problem" if those == n_found else "warning" if those > MANY * n_found else "note"
            text = f"{those:,} of {n_found:,} users ({share(those, n_found)}) have {words}"
            yield Finding(level, name, text, {name: those, "users": n_found})


class _Outside:
    """Indices of entries that are not in the matrix."""

    def __init__(self) -> None:
        self.n_read = self.n_outside = 0
        self._smallest, self._largest, self._shape = np.full(2, np.inf), np.full(2, -np.inf), (0, 0)

    def add(self, indices: NDArray[np.float64], shape: tuple[int, int]) -> None:
        """Count pairs of finite numbers."""
        self._shape = shape
        is_inside = (indices >= 0) & (indices < shape) & (indices == np.rint(indices))
        self.n_read += len(indices)
        self.n_outside += int((~is_inside.all(axis=1)).sum())
        if len(indices):
            self._smallest = np.minimum(self._smallest, indices.min(axis=0))
            self._largest = np.maximum(self._largest, indices.max(axis=0))

    def find(self) -> Iterator[Finding]:
        """How many, and whether they count from 1."""
        if not self.n_outside:
            return
        yield say_outside(self.n_outside, self.n_read, self._smallest, self._largest, self._shape, "records")


def say_outside(n_outside: int, n_read: int, smallest: Any, largest: Any, shape: tuple[int, int], what: str) -> Finding:
    """A finding about indices outside of a matrix, with its likely cause."""
    told = (
        f"{n_outside:,} of {n_read:,} {what} ({share(n_outside, n_read)}) are no entry of the {shape[0]} x {shape[1]} "
    )
    from_one = [i for i in (0, 1) if smallest[i] == 1 and largest[i] == shape[i]]
    cause = "ids_from_1" if from_one and all(smallest[i] >= 0 and largest[i] <= shape[i] for i in (0, 1)) else ""
    if cause:
        why = f"{' and '.join(('rows', 'columns')[i] for i in from_one)} count from 1, and must count from 0"
    else:
        spans = [f"{name} from {smallest[i]:g} to {largest[i]:g}" for i, name in enumerate(("rows", "columns"))]
        why = f"there are {spans[0]} and {spans[1]}, counted from 0"
    level = "problem" if cause or n_outside > n_read / 10 else "warning"
    numbers = {"outside": n_outside, what: n_read, "cause": cause}
    return Finding(level, "outside_matrix", f"{told}matrix: {why}", numbers)
