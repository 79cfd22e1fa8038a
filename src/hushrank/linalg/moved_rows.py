"""Rows around another origin: their norms, and their integers, without a copy of all of them in memory.

Everything has the bits of the same function of the differences.
"""

import math

import numpy as np
from numpy.typing import NDArray

from hushrank.linalg.quantize import (
    SMALLEST_SUM,
    FloatArray,
    compiled,
    power_sum,
    round_odd_row,
    round_row,
)


@compiled
def fill_moved_norms(X: FloatArray, shift: FloatArray, norms: FloatArray) -> None:
    """Euclidean norms of X - shift, as `row_norms` gives those of the difference."""
    whole = X.shape[1] - X.shape[1] % 4
    for i in range(X.shape[0]):
        x = X[i]
        s0 = s1 = s2 = s3 = 0.0
        for j in range(0, whole, 4):
            y0, y1, y2, y3 = x[j] - shift[j], x[j + 1] - shift[j + 1], x[j + 2] - shift[j + 2], x[j + 3] - shift[j + 3]
            s0 += y0 * y0
            s1 += y1 * y1
            s2 += y2 * y2
            s3 += y3 * y3
        for j in range(whole, X.shape[1]):
            y0 = x[j] - shift[j]
            s0 += y0 * y0
        total = (s0 + s2) + (s1 + s3)
        if not total < math.inf:
            total = math.inf
            for j in range(X.shape[1]):
                if not abs(x[j] - shift[j]) < math.inf:
                    total = 0.0
        norms[i] = math.sqrt(total)


@compiled
def quantize_moved_block(
    X: FloatArray,
    shift: FloatArray,
    norm_bound: float,
    limit: float,
    power: int,
    Y: FloatArray,
    tally: NDArray[np.int64],
) -> None:
    """As `quantize_block` of X - shift, which is never written to memory as a whole."""
    scratch, moved = np.empty((1, X.shape[1])), np.empty((1, X.shape[1]))
    lost = shortened = 0
    for i in range(X.shape[0]):
        x, y = X[i], moved[0]
        for j in range(X.shape[1]):
            y[j] = x[j] - shift[j]
        total = power_sum(moved, 0, power)
        if SMALLEST_SUM < total < math.inf:
            shortened += round_row(moved, 0, total, norm_bound, limit, power, Y, i)
            continue
        is_lost, is_long = round_odd_row(moved, 0, norm_bound, limit, power, Y, i, scratch)
        lost += is_lost
        shortened += is_long
    tally[0] += X.shape[0]
    tally[1] += lost
    tally[2] += shortened
