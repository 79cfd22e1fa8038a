"""Which arrays a sketch of a matrix has, and how far one unit of privacy moves each of them.

Arrays     columns (n_rows, t) = A Phi^T; rows (n_columns, v) = A^T S^T; core (v, v) = S' A T^T; matrix (n_rows,
           n_columns) = A itself. All hold integers.
Operators  sparse signs and Hadamard columns have a certain norm, Gaussian columns a random one; by the unit of privacy
           that makes the movement of an array fixed, or a law (docs/privacy/turnstile.md, Table 1).
"""

import math
from typing import NamedTuple

from hushrank.exceptions import InvalidParameter
from hushrank.privacy.guarantee import Unit
from hushrank.privacy.mechanisms.sketch import FIXED, SketchPart
from hushrank.privacy.noise.sketch_draws import ROUNDING
from hushrank.privacy.sketched import Shift

KINDS = ("two_sketch", "three_sketch", "figure1", "figure3", "full")
AS_PRINTED = ("figure1", "figure3")  # decoded as in the paper, which does not tell components from noise
OPERATORS = ("sparse_sign", "gaussian", "srht")
THREE = ("three_sketch", "figure1")
L1_UNITS = (Unit.ENTRY, Unit.USER)
SMALLEST_GAIN, MOST_WIDTH = 2**12, 2**15


class Operator(NamedTuple):
    """One random operator, of shape (width, n_inputs); `gain` is the norm of a Gaussian column in integer units."""

    label: str
    n_inputs: int
    width: int
    gain: int


class Array(NamedTuple):
    """One array of the state: what it is made with, its shape, and how far it moves."""

    name: str
    shape: tuple[int, int]
    operators: tuple[Operator, ...]
    part: SketchPart


class Layout(NamedTuple):
    """All arrays of a sketch.

    Attributes
    ----------
    operator : str
        One of `OPERATORS`; empty where the matrix itself is kept.
    per_column : int
        Signs in a column of "sparse_sign".
    """

    arrays: tuple[Array, ...]
    operator: str
    per_column: int

    @property
    def n_cells(self) -> int:
        """Integers of the state."""
        return sum(array.shape[0] * array.shape[1] for array in self.arrays)

    @property
    def stored_bytes(self) -> int:
        """Memory for operators: only Gaussian ones are kept."""
        operators = (one for array in self.arrays for one in array.operators)
        return 4 * sum(one.n_inputs * one.width for one in operators) if self.operator == "gaussian" else 0

    @property
    def largest_entry(self) -> int:
        """No entry of an operator is larger: a normal number beyond 16 has probability 1e-57."""
        gains = [one.gain for array in self.arrays for one in array.operators]
        return 16 * max(gains) if self.operator == "gaussian" else 1


def default_sizes(shape: tuple[int, int], rank: int, kind: str) -> tuple[int, int]:
    """t = max(4 k, k + 20), and v = 2 t, or 4 t for the core; no wider than what they sketch."""
    width = max(4 * rank, rank + 20)
    if kind in THREE:
        return min(width, *shape), min(4 * width, MOST_WIDTH)
    return min(width, shape[1], MOST_WIDTH), min(2 * width, shape[0], MOST_WIDTH)


def build_layout(
    shape: tuple[int, int], kind: str, operator: str, per_column: int, sizes: tuple[int, int], unit: Unit
) -> Layout:
    """The arrays of a sketch of this kind; `sizes` are (t, v)."""
    n_rows, n_columns = shape
    if kind == "full":
        # Of a change that is bounded in Frobenius norm alone, the sum of magnitudes is not bounded by the same.
        part = SketchPart(1, 1 if unit in L1_UNITS else None)
        return Layout((Array("matrix", shape, (), part),), "", per_column)
    t, v = sizes
    left, right = ("rows", n_rows, t if kind in THREE else v), ("columns", n_columns, t)
    gain = max(_gain(n, width, 10) for _, n, width in (left, right))
    laws = _Laws(operator, per_column, unit)
    columns, rows = Operator(*right, gain), Operator(*left, gain)
    arrays = [
        Array("columns", (n_rows, t), (columns,), laws.one_side(columns, t, moves_across=True)),
        Array("rows", (n_columns, rows.width), (rows,), laws.one_side(rows, t, moves_across=False)),
    ]
    if kind in THREE:
        sides = (("core rows", n_rows), ("core columns", n_columns))
        core = tuple(Operator(label, n, v, _gain(n, v, 9)) for label, n in sides)
        arrays.append(Array("core", (v, v), core, laws.in_core(core, gain, t)))
    return Layout(tuple(arrays), operator, per_column)


def _gain(n_inputs: int, width: int, bits: int) -> int:
    """A power of two so large that rounding a Gaussian operator adds at most 2^-bits to its norm."""
    needed = 2.0**bits * ROUNDING * math.sqrt(n_inputs * width)
    return max(SMALLEST_GAIN, 1 << math.ceil(math.log2(needed)))


def _rounding(operator: Operator) -> float:
    """Largest norm that rounding adds to the sketch of a change of norm 1, relative to the gain."""
    return ROUNDING * math.sqrt(operator.n_inputs * operator.width) / operator.gain


class _Laws(NamedTuple):
    """How far arrays move, by operator and unit."""

    operator: str
    per_column: int
    unit: Unit

    def one_side(self, operator: Operator, first_width: int, *, moves_across: bool) -> SketchPart:
        """The array that one operator makes; `moves_across` where a change of one row is sketched along that row."""
        if self.operator == "gaussian":
            law = Shift("chi_square", (1.0 + _rounding(operator)) ** 2, (operator.width,))
            return SketchPart(operator.gain**2, shifts=(law,))
        entries = operator.width if self.operator == "srht" else self.per_column
        # Noise relative to the norm of a column is about the same in both arrays, to a power of two.
        coarser = max(round(math.log2(entries / first_width) / 2), 0) if self.operator == "srht" else 0
        is_fixed = self.unit in L1_UNITS or (self.unit is Unit.ROW and not moves_across)
        l1_gain = entries if self.unit in L1_UNITS else None
        return SketchPart(entries, l1_gain, coarser, FIXED if is_fixed else (self._signs(),))

    def in_core(self, sides: tuple[Operator, ...], gain: int, first_width: int) -> SketchPart:
        """The core, with about twice the noise of the other arrays."""
        left, right = sides
        if self.operator == "gaussian":
            return self._gaussian_core(left, right, gain)
        is_dense = self.operator == "srht"
        entries, of_others = (left.width, first_width) if is_dense else (self.per_column, self.per_column)
        coarser = round(1.0 + math.log2(entries) - math.log2(of_others) / 2)
        if self.unit in L1_UNITS:
            return SketchPart(entries**2, entries**2, coarser)
        if self.unit is Unit.ROW:
            return SketchPart(entries**2, coarser=coarser, shifts=(self._signs(),))
        requirement = f"'gaussian' for a core sketch and unit {self.unit.value!r}: signs on both sides have no bound"
        raise InvalidParameter("TurnstileSketch", "operator", requirement, self.operator)

    def _gaussian_core(self, left: Operator, right: Operator, gain: int) -> SketchPart:
        rounding = max(_rounding(left), _rounding(right))
        law = Shift("product", (1.0 + rounding) ** 4, (left.width, right.width))
        coarser = 1 + round(math.log2(left.gain * right.gain / gain))
        return SketchPart((left.gain * right.gain) ** 2, coarser=coarser, shifts=(law,))

    def _signs(self) -> Shift:
        return Shift("signs", 1.0, (1 if self.operator == "srht" else self.per_column,))
