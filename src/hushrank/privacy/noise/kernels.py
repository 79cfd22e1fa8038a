"""The fast path of the exact samplers: two passes over a block of words.

Plain IEEE float64, no fastmath. A decision within MARGIN of its boundary is not taken here: the kernel stops and says
so, and `reference` finishes the draw in integers. The float error of the comparison is below 2^-46
(docs/privacy/exact_noise.md, Lemma 3), so outside the margin the answer is that of the real numbers.
All word constants are uint64: numba would turn uint64 with int64 into float64.
"""

import numba
import numpy as np

from hushrank.privacy.noise.laws import FRACTION_BITS, RESIDUAL, TABLE_BITS

MARGIN = 2.0**-44

# Why `serve_residuals` stopped.
DONE, OUT_OF_WORDS, SELECTION_OPEN, COMPARISON_OPEN = 0, 1, 2, 3

_FRACTION = np.uint64(FRACTION_BITS)
_FRACTION_MASK = np.uint64((1 << FRACTION_BITS) - 1)
_FRACTION_UNIT = 2.0**-FRACTION_BITS
_TABLE_SHIFT = np.uint64(64 - TABLE_BITS)
_FRACTION_SHIFT = np.uint64(64 - FRACTION_BITS)
_ONE = np.uint64(1)
_TOP_BYTE = np.uint64(56)
_TO_53_BITS = np.uint64(11)
_RESIDUAL = np.uint8(RESIDUAL)


@numba.njit(nogil=True, cache=True)
def serve_table(words, table, signed, out, residual):  # type: ignore[no-untyped-def]
    """Serve every draw from the table and list those that fell into a residual slot.

    out[i] = cell << FRACTION_BITS | fraction, complemented where the sign bit is set; the real deviate lies in
    (out[i], out[i] + 1) units. `residual` needs one spare entry: it is written before it is counted.
    """
    n = 0
    for i in range(out.size):
        word = words[i]
        cell = table[word >> _TABLE_SHIFT]
        value = np.int64((np.uint64(cell) << _FRACTION) | (word & _FRACTION_MASK))
        sign = -np.int64((word >> _FRACTION) & _ONE) if signed else np.int64(0)
        out[i] = value ^ sign
        residual[n] = i
        n += cell == _RESIDUAL
    return n


@numba.njit(nogil=True, cache=True)
def serve_residuals(out, residual, start, stop, words, at, thresholds, guide, gamma, h, is_normal, state):  # type: ignore[no-untyped-def]
    """Serve residual[start:stop] by rejection, three words per proposal; return where it stopped.

    at[0] is the next word. state[0] says why it stopped; state[1:] holds the selecting word (SELECTION_OPEN: a tie, or
    the tail) or cell, fraction and accepting word (COMPARISON_OPEN).
    """
    n_cells = gamma.size
    for q in range(start, stop):
        i = residual[q]
        while True:
            p = at[0]
            if p + 3 > words.size:
                state[0] = OUT_OF_WORDS
                return q
            word = words[p]
            j = guide[word >> _TOP_BYTE]
            while j < n_cells and thresholds[j + 1] <= word:
                j += 1
            if j == n_cells or (j > 0 and thresholds[j] == word):
                at[0] = p + 1
                state[0] = SELECTION_OPEN
                state[1] = word
                return q
            at[0] = p + 3
            fraction = words[p + 1] >> _FRACTION_SHIFT
            u = np.float64(fraction) * _FRACTION_UNIT
            acceptor = np.float64(words[p + 2] >> _TO_53_BITS) * 2.0**-53
            t = h * h * (j * u + 0.5 * u * u) if is_normal else h * u
            e = 1.0  # exp(-t) by Horner, t <= 1/8: the remainder t^12/12! is below 2^-64
            for r in range(11, 0, -1):
                e = 1.0 - t * e / r
            gap = e - (gamma[j] + acceptor * (1.0 - gamma[j]))
            if gap > MARGIN:
                value = np.int64((np.uint64(j) << _FRACTION) | fraction)
                out[i] = ~value if out[i] < 0 else value
                break
            if gap >= -MARGIN:
                state[0] = COMPARISON_OPEN
                state[1] = j
                state[2] = fraction
                state[3] = words[p + 2]
                return q
    state[0] = DONE
    return stop
