"""Bilinear forms of exact normals, rounded exactly together with integer data.

    R_ij = floor(multiplier 2^-halvings (a_i . b_j + sign a_j . b_i) + offset_ij 2^-shift + 1/2)

for rows a_i, b_j of two stacks of deviates, modulo 2^(64 - shift). Three stages, each settling what the one before
left open: float64 with a proved error bound (docs/privacy/exact_noise.md, Lemma 4), exact integer dot products of the
57-bit midpoints, and Python integers with 64 more digits of the same deviates, again and again.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hushrank.privacy.noise.deviates import Integers, wrap_int64
from hushrank.privacy.noise.extensible import Stack
from hushrank.privacy.noise.guard import check_products, product

Floats = NDArray[np.float64]

UNIT_ROUNDOFF = 2.0**-53
MAX_COLUMNS = (1 << 18) - 1  # keeps the int64 digit sums of `exact_dots` from overflowing
MAX_MULTIPLIER = 1 << 51
MAX_SHIFT = 60


@dataclass(slots=True)
class RoundingCounts:
    """How many entries each stage had to settle; for tests and benchmarks."""

    entries: int = 0
    ambiguous: int = 0
    extended: int = 0


@dataclass(frozen=True, slots=True)
class _Form:
    """The public numbers of the form, and the exact rounding of one entry."""

    sign: int
    multiplier: int
    halvings: int
    shift: int

    def floors(self, dot: int, slack: int, unit: int, offset: int) -> tuple[int, int]:
        """Result at both ends of dot +- slack, where `dot` is the bilinear form in units of 2^-unit."""
        scale = unit + self.halvings
        # Everything over the common denominator 2^(scale + shift + 1).
        public = (2 * offset + (1 << self.shift)) << scale
        low = ((self.multiplier * (dot - slack)) << (self.shift + 1)) + public
        high = ((self.multiplier * (dot + slack)) << (self.shift + 1)) + public
        return low >> (scale + self.shift + 1), high >> (scale + self.shift + 1)


def round_bilinear(
    A: Stack,
    B: Stack,
    offset: Integers,
    *,
    sign: int,
    multiplier: int,
    halvings: int = 0,
    shift: int = 0,
    counts: RoundingCounts | None = None,
) -> Integers:
    """Return the integer matrix R above, symmetric (sign = 1) or antisymmetric with zero diagonal (sign = -1)."""
    from hushrank.privacy.noise.bilinear_kernels import round_floats  # needs numba, which a plan does not

    check_products()
    left, right = A.floats(), B.floats()
    d, n = left.shape
    if n > MAX_COLUMNS or not 0 < multiplier <= MAX_MULTIPLIER or not 0 <= shift <= MAX_SHIFT:
        raise ValueError("round_bilinear: columns, multiplier or shift out of range")
    form = _Form(sign, multiplier, halvings, shift)
    alpha, beta = _largest_norm(left), _largest_norm(right)
    scale = multiplier * 2.0**-halvings
    P, roundings = product(left, right)
    bound = float_error_bound(n, roundings, alpha, beta, scale, A.bits)
    R = np.zeros((d, d), np.int64)
    open_entries = np.empty((d * (d + 1) // 2, 2), np.int64)
    n_open = round_floats(P, np.ascontiguousarray(offset), sign, scale, shift, bound, R, open_entries)
    first, second = _with_wide_rows(open_entries[:n_open], A.wide_rows | B.wide_rows, d, sign)
    n_extended = _settle(A, B, form, offset, first, second, 1.01 * 2 * math.sqrt(n) * (alpha + beta), R)
    if shift:
        # A total is known modulo 2^64, so offset 2^-shift, and with it R, is known modulo 2^(64 - shift) only.
        R = (R << shift) >> shift
    if counts is not None:
        counts.entries += d * (d + sign) // 2
        counts.ambiguous += len(first)
        counts.extended += n_extended
    return R


def float_error_bound(n: int, roundings: int, alpha: float, beta: float, scale: float, bits: int) -> float:
    """Bound of |float64 value - real value| before the floor (Lemma 4).

    Two products of rows with norms alpha, beta: `roundings` in the sums, 2 conversions, 3 for sum, scaling and offset,
    3 spare; then the truncation of the deviates to 2^-bits, with a factor of two spare.
    """
    per_product = 2 * (roundings + 8) * UNIT_ROUNDOFF * alpha * beta
    truncation = 4 * 2.0**-bits * math.sqrt(n) * (alpha + beta) + 64 * n * 4.0**-bits
    return 1.01 * (scale * (per_product + truncation) + 2.0**-50)


def _largest_norm(X: Floats) -> float:
    return math.sqrt(np.einsum("ij,ij->i", X, X).max())


def _with_wide_rows(entries: Integers, wide: frozenset[int], d: int, sign: int) -> tuple[Integers, Integers]:
    """Add every entry of a row whose floats are not its deviates."""
    first, second = entries[:, 0], entries[:, 1]
    if not wide:
        return first, second
    pairs = set(zip(first.tolist(), second.tolist(), strict=True))
    for w in wide:
        pairs.update((min(w, k), max(w, k)) for k in range(d) if sign > 0 or k != w)
    both = np.array(sorted(pairs), np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def _settle(
    A: Stack, B: Stack, form: _Form, offset: Integers, first: Integers, second: Integers, norms: float, R: Integers
) -> int:
    """Settle the open entries exactly; return how many needed more digits. `norms` bounds the four rows' L1 norms."""
    if not len(first):
        return 0
    dots = _midpoint_dots(A, B, form.sign, first, second)
    wide = A.wide_rows | B.wide_rows
    slack = int(2.0 ** (A.bits + 1) * norms) + 8 * MAX_COLUMNS
    extended = 0
    for i, j, dot in zip(first.tolist(), second.tolist(), dots, strict=True):
        low, high = form.floors(dot, slack, 2 * (A.bits + 1), int(offset[i, j]))
        if low != high or i in wide or j in wide:
            extended += 1
            low = exact_entry(A, B, form, int(offset[i, j]), i, j)
        R[i, j] = wrap_int64(low)
        R[j, i] = wrap_int64(form.sign * low)
    return extended


def _midpoint_dots(A: Stack, B: Stack, sign: int, first: Integers, second: Integers) -> list[int]:
    """Exact a_i . b_j + sign a_j . b_i of the midpoints, as Python integers."""
    rows, where = np.unique(np.concatenate([first, second]), return_inverse=True)
    from hushrank.privacy.noise.bilinear_kernels import exact_dots  # needs numba, which a plan does not

    digits = np.empty((len(first), 5), np.int64)
    exact_dots(A.centered(rows), B.centered(rows), where[: len(first)], where[len(first) :], sign, digits)
    return [sum(int(digit) << 21 * place for place, digit in enumerate(row)) for row in digits.tolist()]


def exact_entry(A: Stack, B: Stack, form: _Form, offset: int, i: int, j: int) -> int:
    """One entry with as many further digits of its deviates as it takes. Ends with probability one."""
    depth = 0
    while True:
        a_i, a_j, b_i, b_j = A.row(i, depth), A.row(j, depth), B.row(i, depth), B.row(j, depth)
        dot = sum(x * y for x, y in zip(a_i, b_j, strict=True))
        dot += form.sign * sum(x * y for x, y in zip(a_j, b_i, strict=True))
        # |x y - x' y'| <= |x'| + |y'| + 1 when both are within one unit of their midpoints.
        slack = sum(abs(x) for row in (a_i, a_j, b_i, b_j) for x in row) + 2 * len(a_i)
        low, high = form.floors(dot, slack, 2 * (A.bits + 1 + 64 * depth), offset)
        if low == high:
            return low
        depth += 1
