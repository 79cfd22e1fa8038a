"""What the data holder should know before a fit, and must neither publish nor choose bounds by."""

import math
import sys
from collections.abc import Hashable, Sequence
from dataclasses import asdict, dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hushrank.data.rows.reading import read_rows
from hushrank.data.source import Block
from hushrank.exceptions import InvalidParameter

FloatArray = NDArray[np.float64]

WARNING = (
    "These numbers are not private: do not publish them. Look at them to find mistakes: broken cells, wrong columns, "
    "wrong units. Do not choose bounds, centers or scales by them: that is a use of the data that no guarantee covers. "
    "Take those from public knowledge, or have them found privately (radius='private', with a loose row_norm)."
)
NAMES_COLUMNS = "Which columns these are, and why: `hushrank check FILE`, or `check` of an estimator."
QUANTILES = {"median": 0.5, "90 %": 0.9, "95 %": 0.95, "99 %": 0.99}

# Norms are counted by exponent and leading bits of their float64 form, which has the order of the numbers. A cell
# spans a factor of at most 1 + 2^-10, so that its middle is right to 0.05 %; 2^21 cells take 16 MB for any data.
_CELL_BITS = 10
_SHIFT = 52 - _CELL_BITS


@dataclass(frozen=True)
class Inspection:
    """Counts and norms of a data set; not private.

    Attributes
    ----------
    n_samples, n_features : int
        Rows and columns.
    not_finite_rows : int
        Rows with an entry that is NaN or infinite; they contribute zero to every sum.
    zero_rows, constant_rows : int
        Rows of zeros, and rows whose entries are all equal (rows of zeros among them).
    largest_norm : float or None
        Largest Euclidean norm of the finite rows minus the center; None if there are none. That of a complex row is
        the norm of its real and imaginary parts together.
    norm_quantiles : dict or None
        "median", "90 %", "95 %" and "99 %" of these norms, right to 0.05 %: the smallest norm that this share of the
        rows does not exceed.
    row_norm : float or None
        The bound asked about.
    longer_rows : int or None
        Finite rows longer than `row_norm`; a fit would shorten them.
    """

    n_samples: int
    n_features: int
    not_finite_rows: int
    zero_rows: int
    constant_rows: int
    largest_norm: float | None
    norm_quantiles: dict[str, float] | None
    row_norm: float | None = None
    longer_rows: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain numbers."""
        return asdict(self)

    def __str__(self) -> str:
        """A table, who knows more of what is broken, and the warning."""
        lines = [
            ("rows", f"{self.n_samples:,}"),
            ("columns", f"{self.n_features:,}"),
            ("rows with entries that are not finite", f"{self.not_finite_rows:,}"),
            ("rows of zeros", f"{self.zero_rows:,}"),
            ("rows of equal entries", f"{self.constant_rows:,}"),
        ]
        if self.norm_quantiles is not None:
            lines += [(f"norm of rows, {name}", f"{value:.4g}") for name, value in self.norm_quantiles.items()]
            lines += [("norm of rows, largest", f"{self.largest_norm:.4g}")]
        if self.row_norm is not None:
            lines += [(f"rows longer than row_norm = {self.row_norm:g}", f"{self.longer_rows:,}")]
        width = max(len(name) for name, _ in lines)
        hints = [NAMES_COLUMNS] if self.not_finite_rows else []
        return "\n".join([*(f"{name:<{width}}  {value}" for name, value in lines), *hints, WARNING])


def inspect(
    data: Any,
    *,
    row_norm: float | None = None,
    center: ArrayLike | None = None,
    columns: Sequence[Hashable] | None = None,
) -> Inspection:
    """Look at data before a fit, to find mistakes: rows that will count as zero, and how long rows are. Not private.

    Looking is fine for finding broken cells, wrong columns and wrong units. Bounds, centers and scales that were chosen
    by these numbers are a use of the data that no guarantee covers: take them from public knowledge, or have them found
    privately (`radius="private"`, with a loose `row_norm`).

    Parameters
    ----------
    data : array-like, sparse matrix, table, path, iterator or callable
        Anything that `fit` takes, real or complex; read once, in bounded memory. A stream is read as for
        field="complex", where a complex cell is a number; a real fit would count its row as zero.
    row_norm : float, optional
        A bound that was chosen from public knowledge: how many rows are longer?
    center : array-like of shape (n_features,), optional
        Subtracted from every row before its norm is taken.
    columns : sequence of column names, optional
        Columns of a table or file to read.

    Returns
    -------
    inspection : Inspection
        Print it, or use its attributes.

    Examples
    --------
    >>> seen = inspect([[3.0, 4.0], [0.0, 0.0], [float("nan"), 1.0]], row_norm=1.0)
    >>> seen.largest_norm, seen.longer_rows, seen.not_finite_rows
    (5.0, 1, 1)
    """
    owner = "inspect"
    bound = _check_row_norm(row_norm, owner)
    rows = read_rows(data, owner=owner, columns=columns, allow_complex=True)
    tally = RowTally(_check_center(center, rows.n_features, owner), bound)
    for block in rows.blocks():
        tally.add(block)
    return Inspection(
        n_samples=tally.n_samples,
        n_features=rows.n_features,
        not_finite_rows=tally.not_finite,
        zero_rows=tally.zero,
        constant_rows=tally.constant,
        largest_norm=tally.largest,
        norm_quantiles=tally.quantiles(),
        row_norm=bound,
        longer_rows=None if bound is None else tally.longer,
    )


class RowTally:
    """Running counts over blocks."""

    def __init__(self, center: FloatArray | None, row_norm: float | None) -> None:
        self._center, self._row_norm = center, math.inf if row_norm is None else row_norm
        self.n_samples = self.not_finite = self.zero = self.constant = self.longer = 0
        self.largest: float | None = None
        self._cells = np.zeros(2048 << _CELL_BITS, np.int64)

    @np.errstate(all="ignore")  # entries may be anything
    def add(self, block: Block) -> None:
        """Count the rows of a block."""
        X = np.ascontiguousarray(block, dtype=np.complex128 if np.iscomplexobj(block) else np.float64)
        centered = X if self._center is None else X - self._center
        norms = row_norms(centered.view(np.float64))  # of a complex row: real and imaginary parts in turn
        norms = norms[~np.isnan(norms)]
        self.n_samples += len(X)
        self.not_finite += len(X) - len(norms)
        self.zero += int((X == 0).all(axis=1).sum())
        self.constant += int((np.isfinite(X[:, 0]) & (X == X[:, :1]).all(axis=1)).sum())
        self.longer += int((norms > self._row_norm).sum())
        cells, counts = np.unique(norms.view(np.int64) >> _SHIFT, return_counts=True)
        self._cells[cells] += counts
        if norms.size:
            self.largest = max(self.largest or 0.0, float(norms.max()))

    def quantiles(self) -> dict[str, float] | None:
        """Quantiles of the norms, None without any."""
        if self.largest is None:
            return None
        return {name: min(_quantile(self._cells, share), self.largest) for name, share in QUANTILES.items()}


def row_norms(X: FloatArray) -> FloatArray:
    """Euclidean norms of rows, at most the largest float64; NaN where an entry is not finite."""
    largest = np.abs(X).max(axis=1)
    scale = np.where((largest > 0) & (largest < math.inf), largest, 1.0)
    scaled = X / scale[:, np.newaxis]
    norms: FloatArray = np.minimum(scale * np.sqrt(np.einsum("ij,ij->i", scaled, scaled)), sys.float_info.max)
    norms[~np.isfinite(X).all(axis=1)] = math.nan
    return norms


def _quantile(cells: NDArray[np.int64], share: float) -> float:
    """Middle of the cell that holds the smallest norm which a share of the norms does not exceed."""
    totals = np.cumsum(cells)
    cell = int(np.searchsorted(totals, math.ceil(share * int(totals[-1]))))
    if cell == 0:  # zero, and norms below 1e-310
        return 0.0
    edges = np.array([cell << _SHIFT, (cell + 1) << _SHIFT]).view(np.float64)
    return float(edges[0] + (edges[1] - edges[0]) / 2) if edges[1] < math.inf else float(edges[0])


def _check_row_norm(row_norm: float | None, owner: str) -> float | None:
    if row_norm is None:
        return None
    if isinstance(row_norm, bool) or not isinstance(row_norm, Real) or not 0 < row_norm < math.inf:
        raise InvalidParameter(owner, "row_norm", "a finite float > 0 or None", row_norm)
    return float(row_norm)


def _check_center(center: ArrayLike | None, n_features: int, owner: str) -> FloatArray | None:
    if center is None:
        return None
    vector = np.asarray(center)
    if vector.dtype.kind not in "biuf" or vector.shape != (n_features,) or not np.isfinite(vector).all():
        requirement = f"a vector of {n_features} finite real numbers or None"
        raise InvalidParameter(owner, "center", requirement, f"{vector.dtype} of shape {vector.shape}")
    return vector.astype(np.float64)
