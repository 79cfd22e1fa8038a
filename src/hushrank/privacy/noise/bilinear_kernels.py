"""The two loops of `bilinear` that are compiled: rounding in float64, and exact products of midpoints.

They stand apart because numba is slow to import and a plan needs none of it.
"""

import math

import numba
import numpy as np


@numba.njit(nogil=True, cache=True)
def round_floats(P, offset, sign, scale, shift, bound, R, open_entries):  # type: ignore[no-untyped-def]
    """Round every entry in float64 and list those within `bound` of an integer.

    Tiles keep P[i, j] and P[j, i] in cache together.
    """
    d, tile, n_open = P.shape[0], 64, 0
    mask = (np.int64(1) << shift) - np.int64(1)
    unit = 2.0**-shift
    for i0 in range(0, d, tile):
        for j0 in range(i0, d, tile):
            for i in range(i0, min(i0 + tile, d)):
                for j in range(max(j0, i if sign > 0 else i + 1), min(j0 + tile, d)):
                    m = offset[i, j]
                    theta = np.float64(m & mask) * unit + 0.5
                    y = scale * (P[i, j] + sign * P[j, i]) + theta
                    whole = math.floor(y)
                    rest = y - whole
                    value = np.int64(whole) + (m >> shift)
                    R[i, j] = value
                    R[j, i] = sign * value
                    open_entries[n_open, 0] = i
                    open_entries[n_open, 1] = j
                    if rest <= bound or rest >= 1.0 - bound:
                        n_open += 1
    return n_open


@numba.njit(nogil=True, cache=True)
def exact_dots(A, B, first, second, sign, out):  # type: ignore[no-untyped-def]
    """out[e] = five int64 digits, base 2^21, of the form of rows first[e], second[e]; exact up to MAX_COLUMNS."""
    mask = np.int64((1 << 21) - 1)
    for e in range(first.size):
        out[e, :] = 0
        for half in range(2):
            a, b = (A[first[e]], B[second[e]]) if half == 0 else (A[second[e]], B[first[e]])
            s0 = s1 = s2 = s3 = s4 = np.int64(0)
            for k in range(A.shape[1]):
                x, y = a[k], b[k]
                x0, x1, x2 = x & mask, (x >> 21) & mask, x >> 42
                y0, y1, y2 = y & mask, (y >> 21) & mask, y >> 42
                s0 += x0 * y0
                s1 += x0 * y1 + x1 * y0
                s2 += x0 * y2 + x1 * y1 + x2 * y0
                s3 += x1 * y2 + x2 * y1
                s4 += x2 * y2
            g = np.int64(1) if half == 0 else np.int64(sign)
            out[e, 0] += g * s0
            out[e, 1] += g * s1
            out[e, 2] += g * s2
            out[e, 3] += g * s3
            out[e, 4] += g * s4
