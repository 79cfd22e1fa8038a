"""Gelfand-Tsetlin patterns of H, and the way back from a pattern to H.

Pattern    Row m holds the nonzero eigenvalues of the leading m x m minor of H, min(k, m) of them in falling order. Rows
           interlace: y_1 >= x_1 >= y_2 >= x_2 >= ..., y row m and x row m - 1. For H on a unitary orbit with density
           exp(sum_i tilts_i H_ii) the pattern has density exp(sum_{m<d} (tilts_m - tilts_{m+1}) sum_j x^(m)_j) on the
           polytope of interlacing rows below `levels` (Baryshnikov 2001: uniform for the invariant law; the trace of
           minor m is H_11 + ... + H_mm). Given the pattern, the phases below are independent and uniform.
Back       With H = X X^* and X_m the first m rows of X, X_{m-1}^* X_{m-1} = X_m^* X_m - v v^*, v^* row m of X. In the
           eigenbasis of X_m^* X_m that is diag(y) - g g^* with eigenvalues x, so that
           |g_i|^2 = prod_l (y_i - x_l) / prod_{l != i} (y_i - y_l), and its eigenvectors are g_i / (y_i - x_j).
           Both are products of differences: with accurate differences they are orthogonal to rounding, however close
           the eigenvalues (Gu and Eisenstat 1994).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hushrank.linalg.quantize import compiled
from hushrank.orbit.law import Factor, FloatArray
from hushrank.privacy.noise.continuous import phases
from hushrank.privacy.noise.keystream import Keystream

Differences = tuple[FloatArray, FloatArray]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Pattern:
    """A pattern, stored as depths below the largest pattern with the same last row.

    A concentrated law stays close to the largest pattern, x^(m)_j = levels_j in all rows: depths keep the digits of
    differences that subtracting the eigenvalues themselves would lose.

    Parameters
    ----------
    levels : ndarray of shape (k,)
        The last row.
    depths : ndarray of shape (d + 1, k)
        levels_j - x^(m)_j in row m, column j < min(k, m); zero in row d, and not read elsewhere.

    Examples
    --------
    >>> pattern = Pattern(np.array([1.0, 0.5]), np.array([[0.0, 0.0], [0.25, 0.0], [0.0, 0.0]]))
    >>> pattern.rows
    [array([], dtype=float64), array([0.75]), array([1. , 0.5])]
    """

    levels: FloatArray
    depths: FloatArray

    @property
    def rows(self) -> list[FloatArray]:
        """Rows 0 to d."""
        k = len(self.levels)
        return [self.levels[: min(k, m)] - depths[: min(k, m)] for m, depths in enumerate(self.depths)]

    @property
    def differences(self) -> list[Differences | None]:
        """What `factor_from_pattern` asks for; each difference is accurate to its own last digits."""
        return [None, *(_row_differences(self.levels, self.depths, m) for m in range(1, len(self.depths)))]


@compiled
def _row_differences(levels: FloatArray, depths: FloatArray, m: int) -> Differences:
    """D and Y of row m; a row shorter than the one above is filled up by the eigenvalue zero."""
    n, kept = min(len(levels), m), min(len(levels), m - 1)
    D, Y = np.empty((n, n)), np.empty((n, n))
    for i in range(n):
        for j in range(n):
            Y[i, j] = _subtract(levels[i], depths[m, i], levels[j], depths[m, j])
            if j < kept:
                D[i, j] = _subtract(levels[i], depths[m, i], levels[j], depths[m - 1, j])
            else:
                D[i, j] = levels[i] - depths[m, i]
    return D, Y


@compiled
def _subtract(level: float, depth: float, other: float, its_depth: float) -> float:
    """(level - depth) - (other - its_depth) as if in twice the precision."""
    one, lost = _two_sum(level, -other)
    two, lost_too = _two_sum(its_depth, -depth)
    total, lost_last = _two_sum(one, two)
    return total + (lost_last + (lost + lost_too))


@compiled
def _two_sum(a: float, b: float) -> tuple[float, float]:
    """The rounded sum and its rounding error (Knuth)."""
    total = a + b
    shadow = total - a
    return total, (a - (total - shadow)) + (b - shadow)


def factor_from_pattern(
    rows: Sequence[FloatArray], stream: Keystream, differences: Sequence[Differences | None] | None = None
) -> Factor:
    """A factor X of a matrix H = X X^* with a given pattern: of its conditional law given the pattern.

    Parameters
    ----------
    rows : sequence of d + 1 ndarrays
        Row m has min(k, m) entries in falling order; neighboring rows interlace. Entries that are equal must be so
        exactly.
    stream : Keystream
        Source of the phases.
    differences : sequence of d + 1 pairs, optional
        Entry m is (D, Y) with D_ij = y_i - x_j and Y_ij = y_i - y_j for y = rows[m] and x = rows[m - 1], zeros
        appended, from a source more precise than `rows`; entry 0 is not read. By default they come from `rows`.

    Returns
    -------
    X : complex ndarray of shape (d, k)
        X^* X = diag(rows[d]), up to a rotation among equal levels.

    Examples
    --------
    >>> X = factor_from_pattern([np.array([]), np.array([0.75]), np.array([1.0, 0.5])], Keystream())
    >>> H = X @ X.conj().T
    >>> bool(np.isclose(H[0, 0], 0.75)), np.linalg.eigvalsh(H).round(12)
    (True, array([0.5, 1. ]))
    """
    d, k = len(rows) - 1, len(rows[-1])
    turns = phases((d, k), stream)
    X, basis = np.empty((d, k), np.complex128), np.eye(k, dtype=np.complex128)
    for m in range(d, 0, -1):
        pair = None if differences is None else differences[m]
        removed, eigenvectors = _remove_row(*(_plain_differences(rows[m], rows[m - 1]) if pair is None else pair))
        turned = basis * turns[m - 1, : len(removed)]
        X[m - 1] = np.conj(turned @ removed)
        basis = turned @ eigenvectors[:, : len(rows[m - 1])]
    return X


def _plain_differences(y: FloatArray, x: FloatArray) -> Differences:
    filled = np.zeros(len(y))
    filled[: len(x)] = x
    return y[:, np.newaxis] - filled, y[:, np.newaxis] - y


@compiled
def _remove_row(D: FloatArray, Y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """|g| and the eigenvectors of diag(y) - g g^* as columns, without phases, from D_ij = y_i - x_j, Y_ij = y_i - y_j.

    An eigenvalue common to x and y keeps its eigenvector: g is zero there. After all common ones are taken out, with
    multiplicity, the others interlace strictly.
    """
    n = len(D)
    g, V = np.zeros(n), np.zeros((n, n))
    y_left, x_left = np.ones(n, np.bool_), np.ones(n, np.bool_)
    i = j = 0
    while i < n and j < n:
        if D[i, j] == 0.0:
            V[i, j] = 1.0
            y_left[i] = x_left[j] = False
            i, j = i + 1, j + 1
        elif D[i, j] > 0.0:
            i += 1
        else:
            j += 1
    for i in range(n):
        if y_left[i]:
            g[i] = _root_of_ratio(D[i], Y[i], x_left, y_left, i)
    for j in range(n):
        if x_left[j]:
            largest = squares = 0.0
            for i in range(n):
                if y_left[i]:
                    V[i, j] = g[i] / D[i, j]
                    largest = max(largest, abs(V[i, j]))
            for i in range(n):
                squares += (V[i, j] / largest) ** 2
            for i in range(n):
                V[i, j] /= largest * math.sqrt(squares)
    return g, V


@compiled
def _root_of_ratio(D: FloatArray, Y: FloatArray, x_left: Flags, y_left: Flags, i: int) -> float:
    """sqrt(prod_l |D_l| / prod_{l != i} |Y_l|) over what is left, the exponent apart: neither product has to fit."""
    mantissa, exponent = 1.0, 0
    for j in range(len(D)):
        if x_left[j]:
            mantissa, shift = math.frexp(mantissa * abs(D[j]))
            exponent += shift
    for j in range(len(Y)):
        if y_left[j] and j != i:
            mantissa, shift = math.frexp(mantissa / abs(Y[j]))
            exponent += shift
    half = exponent // 2
    return math.ldexp(math.sqrt(math.ldexp(mantissa, exponent - 2 * half)), half)
