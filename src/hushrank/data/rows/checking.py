"""What a fit of rows would do to them: rows that count as zero, are shortened or clipped, and why. NOT PRIVATE."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hushrank.data.cell_forms import sample_records
from hushrank.data.column_counts import ColumnCounts, find_constants, find_lost, find_scale
from hushrank.data.findings import Finding, Look, name_some, share
from hushrank.data.inspection import RowTally
from hushrank.data.person_columns import find_repeats, may_be_person
from hushrank.data.rows.arrays import Rows
from hushrank.data.rows.triplets import Sample, find_triplets
from hushrank.data.source import Block

FloatArray = NDArray[np.float64]

MANY = 0.1  # share of rows or cells that are cut, from which on it is a warning
_CURE = "give public column_bounds (a pair for each column), or standardize='private'"


@dataclass(frozen=True, slots=True)
class RowTerms:
    """How a fit will bound rows.

    Attributes
    ----------
    row_norm : float
        Rows are shortened to this length at least.
    center : ndarray or None
        A public vector that is subtracted first.
    limits : ndarray of shape (n_features, 2) or None
        Limits of columns: cells are clipped to them and measured in half widths around their middle.
    is_scaled : bool
        Whether columns are brought to scales of their own.
    n_max : int or None
        Most rows, where that is checked.
    """

    row_norm: float
    center: FloatArray | None = None
    limits: FloatArray | None = None
    is_scaled: bool = False
    n_max: int | None = None


def look_at_rows(rows: Rows, terms: RowTerms) -> Look:
    """Read all rows once, in bounded memory, and count.

    Examples
    --------
    >>> from hushrank.data.rows.reading import read_rows
    >>> look = look_at_rows(read_rows([[3.0, 4.0], [np.nan, 1.0]], owner="example"), RowTerms(row_norm=1.0))
    >>> look.counts["n_samples"], [finding.name for finding in look.findings]
    (2, ['lost_rows', 'culprit_column', 'shortened_rows'])
    """
    names = list(rows.columns or range(rows.n_features))
    tally, counts, sample = RowTally(None, terms.row_norm), ColumnCounts(rows.n_features, terms.limits), Sample()
    for block in rows.blocks():
        counts.add(block)
        sample.add(block)
        tally.add(_moved(block, terms))
    lost = find_lost(counts, names, first_cells=lambda places: _first_cells(rows, [names[j] for j in places]))
    people = find_repeats(_first_cells(rows, [name for name in rows.header if may_be_person(name)]))
    findings = [*_find_number(tally.n_samples, terms.n_max), *lost, *people, *find_triplets(sample, names)]
    findings += [*_find_shortened(tally, terms), *_find_clipped(counts, names), *find_constants(counts, names)]
    if not terms.is_scaled and terms.limits is None:
        findings += find_scale(counts, names, _CURE)
    if tally.zero and tally.zero > MANY * tally.n_samples:
        text = f"{tally.zero:,} of {tally.n_samples:,} rows ({share(tally.zero, tally.n_samples)}) are all zeros"
        findings.append(Finding("note", "zero_rows", text, {"zero_rows": tally.zero, "rows": tally.n_samples}))
    return Look({"n_samples": tally.n_samples, "n_features": rows.n_features}, findings)


def _first_cells(rows: Rows, names: Sequence[Hashable]) -> dict[str, pa.Array]:
    header = set(rows.header)
    known = [name for name in names if isinstance(name, str) and name in header]
    return rows.first_cells(known, sample_records(len(known))) if known else {}


@np.errstate(all="ignore")  # cells may be anything
def _moved(block: Block, terms: RowTerms) -> Block:
    """A block in the coordinates in which a fit measures the length of a row."""
    X = np.asarray(block, np.complex128 if np.iscomplexobj(block) else np.float64)
    if terms.limits is None:
        return X if terms.center is None else X - terms.center
    low, high = terms.limits.T
    middle = (low + high) / 2 if terms.center is None else terms.center
    clipped = np.where(np.isfinite(X), np.clip(X, low, high), np.nan)
    return np.asarray((clipped - middle) * (2.0 / (high - low)))


def _find_number(n_rows: int, n_max: int | None) -> Iterator[Finding]:
    if n_rows == 0:
        yield Finding("problem", "no_rows", "there is no row", {"rows": 0})
    if n_max is not None and n_rows > n_max:
        text = f"{n_rows:,} rows are more than n_max = {n_max:,}, and a fit is refused"
        yield Finding("problem", "too_many_rows", text, {"rows": n_rows, "n_max": n_max})


def _find_shortened(tally: RowTally, terms: RowTerms) -> Iterator[Finding]:
    n_finite = tally.n_samples - tally.not_finite
    if not tally.longer:
        return
    unit = "row_norm" if terms.limits is None else "row_norm, in half widths of the columns,"
    told = f"{tally.longer:,} of {n_finite:,} rows ({share(tally.longer, n_finite)}) are longer than {unit} = "
    text = f"{told}{terms.row_norm:g} and would be shortened; the longest has {tally.largest:.3g}"
    numbers = {"shortened_rows": tally.longer, "rows": n_finite, "largest_norm": tally.largest}
    yield Finding("warning" if tally.longer > MANY * n_finite else "note", "shortened_rows", text, numbers)


def _find_clipped(counts: ColumnCounts, names: Sequence[Hashable]) -> Iterator[Finding]:
    n_cells, n_out = counts.n_rows * len(names), int(counts.outside.sum())
    if not n_out:
        return
    worst = int(np.argmax(counts.outside))
    many = [name for name, n_own in zip(names, counts.outside, strict=True) if n_own > MANY * counts.n_rows]
    text = f"{n_out:,} of {n_cells:,} cells ({share(n_out, n_cells)}) are outside column_bounds and would be clipped, "
    text += f"most of them in column {names[worst]!r} ({share(counts.outside[worst], counts.n_rows)} of its rows)"
    text += f"; more than {MANY:.0%} in {name_some(many)}" if len(many) > 1 else ""
    numbers = {"clipped_cells": n_out, "cells": n_cells, "column": names[worst], "columns": many[:1000]}
    yield Finding("warning" if many else "note", "clipped_cells", text, numbers)
