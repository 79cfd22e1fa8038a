"""What columns of numbers are like, counted a block at a time: cells that are none, constants, scales, names.

For the data holder's own check; nothing of it is part of a release.
"""

import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hushrank.data.cell_forms import MOST_COLUMNS, find_forms, is_text
from hushrank.data.findings import Finding, name_some, share
from hushrank.data.person_columns import is_person_id
from hushrank.data.source import Block

FirstCells = Callable[[Sequence[int]], Mapping[str, pa.Array]]
"""First cells of the columns at some positions, by name."""

CULPRIT = 0.5  # share of the lost rows that one column alone explains, from which on it is named
NEARLY_ALL = 0.95  # share of the squared lengths of rows in one column
LOST = 0.1  # share of rows that count as zero, from which on it is a problem

# Names that say what a column is: no quantity of which a mean or a product would mean anything.
_NO_QUANTITY = re.compile(
    r"(?:(?:.*[ _.-])?(?:id|uuid|guid|zip|(?:zip|post|postal)[ _.-]?code|email|e-mail|phone|name|surname|"
    r"address|date|datetime|timestamp)|(?:user|item|movie|patient|customer|person|product|client|member|order)id)\Z",
    re.IGNORECASE,
)
_NO_NAME = re.compile(r"unnamed: ?\d+(_level_\d+)?\Z", re.IGNORECASE)  # what pandas calls an index it wrote before
_CAMEL_ID = re.compile(r".*[a-z]I[dD]\Z")


class ColumnCounts:
    """Counts of the columns of blocks of numbers, real or complex.

    Parameters
    ----------
    n_columns : int
    limits : ndarray of shape (n_columns, 2), optional
        Public limits: cells outside them are counted.

    Attributes
    ----------
    n_rows, n_lost : int
        Rows, and those with a cell that is no finite number.
    n_blank : int
        Rows without any number: empty lines, records with too many or too few fields.
    not_numbers, alone : ndarray of shape (n_columns,)
        Cells that are no finite number, and rows that would not be lost but for this column.
    outside : ndarray of shape (n_columns,)
        Cells outside the limits.
    """

    def __init__(self, n_columns: int, limits: NDArray[np.float64] | None = None) -> None:
        self.n_rows = self.n_lost = self.n_blank = 0
        self.not_numbers, self.alone, self.outside = (np.zeros(n_columns, np.int64) for _ in range(3))
        self._limits = limits
        self._first: NDArray[Any] = np.full(n_columns, np.nan)
        self._varies = np.zeros(n_columns, np.bool_)
        self._shares = np.zeros(n_columns)
        self._n_long = 0

    @np.errstate(all="ignore")  # cells may be anything
    def add(self, block: Block) -> None:
        """Count the cells of a block of shape (n_rows, n_columns)."""
        X = np.asarray(block, np.complex128 if np.iscomplexobj(block) else np.float64)
        bad = ~np.isfinite(X)
        n_bad = bad.sum(axis=1)
        self.n_rows += len(X)
        self.n_lost += int((n_bad > 0).sum())
        self.n_blank += int((n_bad == X.shape[1]).sum()) if X.shape[1] > 1 else 0
        self.not_numbers += bad.sum(axis=0)
        self.alone += bad[n_bad == 1].sum(axis=0)
        if self._limits is not None:
            low, high = self._limits.T
            self.outside += ((X < low) | (X > high)).sum(axis=0)
        self._compare(X, bad)
        self._measure(X[n_bad == 0])

    def _compare(self, X: Block, bad: NDArray[np.bool_]) -> None:
        """Which columns have two different numbers."""
        if not len(X):
            return
        unknown = np.flatnonzero(np.isnan(self._first))
        if len(unknown):
            places = np.argmax(~bad[:, unknown], axis=0)
            found = np.where(bad[places, unknown], np.nan, X[places, unknown])
            self._first = self._first.astype(np.promote_types(self._first.dtype, X.dtype))
            self._first[unknown] = found
        self._varies |= ((X != self._first) & ~bad).any(axis=0)

    def _measure(self, X: Block) -> None:
        """Share of each column in the squared lengths of rows; every row counts alike."""
        sizes = np.abs(X)
        largest = sizes.max(axis=1, initial=0.0)
        squares = (sizes[largest > 0] / largest[largest > 0, None]) ** 2
        self._shares += (squares / squares.sum(axis=1, keepdims=True)).sum(axis=0)
        self._n_long += len(squares)

    @property
    def without_numbers(self) -> NDArray[np.int64]:
        """Columns that have no number at all."""
        return np.flatnonzero((self.not_numbers == self.n_rows) & (self.n_rows > 0))

    @property
    def constant(self) -> NDArray[np.int64]:
        """Columns of one number."""
        return np.flatnonzero(~self._varies & ~np.isnan(self._first))

    @property
    def shares(self) -> NDArray[np.float64]:
        """Mean share of each column in the squared length of a row."""
        return np.asarray(self._shares / max(self._n_long, 1))


CHOOSE = {"row": "--columns, or X[[...]] in Python", "record": "--features, or X[[...]] in Python"}
"""How columns are left out, for what they are columns of."""


def find_lost(
    counts: ColumnCounts, names: Sequence[Hashable], unit: str = "row", first_cells: FirstCells | None = None
) -> Iterator[Finding]:
    """Rows that would count as nothing, whose fault it is and, where their first cells are at hand as texts, why."""
    n_rows, n_lost = counts.n_rows, counts.n_lost
    if not n_lost:
        return
    level = "problem" if n_lost > LOST * n_rows else "warning"
    numbers: dict[str, Any] = {f"lost_{unit}s": n_lost, f"{unit}s": n_rows}
    told = f"{n_lost:,} of {n_rows:,} {unit}s ({share(n_lost, n_rows)}) hold a cell that is no finite number and count "
    yield Finding(level, f"lost_{unit}s", f"{told}as nothing", numbers)
    if counts.n_blank:
        text = f"{counts.n_blank:,} of them have no number at all: empty, or with too many or too few fields"
        yield Finding("warning", f"blank_{unit}s", text, {f"blank_{unit}s": counts.n_blank})
    own = np.flatnonzero(counts.not_numbers > counts.n_blank)
    odd = [int(j) for j in (own if len(own) else np.arange(len(names)))[:MOST_COLUMNS]]
    texts = {} if first_cells is None else first_cells(odd)
    causes = find_forms({name: cells for name, cells in texts.items() if is_text(cells)}, CHOOSE[unit], "problem")
    yield from _find_culprits(counts, names, unit, level, bool(causes))
    yield from causes


def _find_culprits(
    counts: ColumnCounts, names: Sequence[Hashable], unit: str, level: str, has_causes: bool
) -> Iterator[Finding]:
    """Columns without numbers, or the one column that explains most of what is lost; causes come with their cures."""
    worst = int(np.argmax(counts.not_numbers - counts.n_blank))
    own = counts.not_numbers - counts.n_blank
    whole = counts.n_rows - counts.n_blank
    empty = [int(j) for j in np.flatnonzero(own == whole)] if whole else []
    if len(empty) > 1:
        text = f"{len(empty):,} columns have no number at all: {name_some([names[j] for j in empty])}"
        text += "" if has_causes else f"; leave them out: {CHOOSE[unit]}"
        yield Finding(level, "columns_without_numbers", text, {"columns": [names[j] for j in empty]})
    elif len(names) > 1 and own[worst] > CULPRIT * (counts.n_lost - counts.n_blank):
        n_bad = int(own[worst])
        text = f"column {names[worst]!r} has no number in {share(n_bad, whole)} of its {unit}s"
        if unit == "record" and worst == len(names) - 1:
            text = f"answers are no numbers in {share(n_bad, whole)} of the records: is it the right column (--target)?"
        elif n_bad > LOST * whole and not has_causes:
            text += f": leave it out ({CHOOSE[unit]})"
        numbers = {"column": names[worst], f"{unit}s": n_bad, f"{unit}s_lost_by_it_alone": int(counts.alone[worst])}
        yield Finding(level, "culprit_column", text, numbers)


def find_constants(counts: ColumnCounts, names: Sequence[Hashable], unit: str = "row") -> Iterator[Finding]:
    """Columns that tell nothing because all their numbers are equal."""
    constant = [names[j] for j in counts.constant] if counts.n_rows - counts.n_lost > 1 else []
    if constant:
        verb = "column has" if len(constant) == 1 else "columns have"
        text = f"{len(constant):,} {verb} the same number in every {unit}: {name_some(constant)}"
        yield Finding("note", "constant_columns", text, {"columns": constant[:1000]})


def find_scale(counts: ColumnCounts, names: Sequence[Hashable], cure: str) -> Iterator[Finding]:
    """One column that makes up nearly all of the length of rows, and hides the others."""
    top = int(np.argmax(counts.shares))
    if len(names) > 1 and counts.shares[top] > NEARLY_ALL:
        part = share(counts.shares[top], 1)
        text = f"column {names[top]!r} makes up {part} of the squared length of a row and hides the others: {cure}"
        yield Finding("warning", "one_scale", text, {"column": names[top], "share": float(counts.shares[top])})


def cautions_of_names(names: Sequence[Hashable], unit: str = "row") -> Iterator[str]:
    """What names of columns alone say: an id, a date or a zip code is no quantity, though it may be written so."""
    odd = [name for name in names if isinstance(name, str) and is_no_quantity(name)]
    if odd:
        which = f"column {odd[0]!r} looks" if len(odd) == 1 else f"columns {name_some(odd)} look"
        yield f"{which} by name like an id, a name or a date, no quantity; if so, leave it out ({CHOOSE[unit]})"


def is_no_quantity(name: str) -> bool:
    """Whether a name is one of an id, a name or a date.

    Examples
    --------
    >>> [is_no_quantity(name) for name in ("user_id", "userId", "Zip", "birth date", "age", "paid", "width")]
    [True, True, True, True, False, False, False]
    """
    return is_person_id(name) or any(bool(one.match(name.strip())) for one in (_NO_QUANTITY, _CAMEL_ID, _NO_NAME))
