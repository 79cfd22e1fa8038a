"""Sparse sign sketches: a column has s entries +-1, one in each of s blocks of the output, hashed and never stored.

Operator   S of shape (width, n_inputs), S[:, j] with +-1 at one place of every block; its norm is exactly sqrt(s).
Hash       16 bits of a SipHash word for each entry: a sign, and 15 for its place in the block. Guarantees rest on the
           signs alone (docs/privacy/sketched.md), which are fair; places are even up to 2^-15 of a block.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushrank.estimators.turnstile.siphash import siphash
from hushrank.linalg.quantize import FloatArray, compiled
from hushrank.privacy.noise.sketch_draws import key_words

Integers = NDArray[np.int64]
State = NDArray[np.signedinteger]
Words = NDArray[np.uint64]

_SIGN_OF_SUM = np.int64(-(2**63))
_PLACE, _SIGN = np.uint64(0x7FFF), np.uint64(0x8000)
_PLACE_BITS, _ENTRY_BITS, _WORD_BITS = np.uint64(15), np.uint64(16), np.uint64(56)


class SparseSigns:
    """A sparse sign operator.

    Parameters
    ----------
    key : bytes
        Of the whole sketch.
    label : str
        Of this operator in it.
    n_inputs, width : int
    per_column : int
        Entries s of a column, at most `width`.
    """

    def __init__(self, key: bytes, label: str, n_inputs: int, width: int, per_column: int) -> None:
        self.n_inputs, self.width = n_inputs, width
        self._words = key_words(key, label, 2)
        self._starts = np.array([block * width // per_column for block in range(per_column + 1)], np.int64)
        self._norm = math.sqrt(per_column)

    def add(self, state: State, where: Integers, which: Integers, deltas: Integers) -> bool:
        """state[where[e]] += deltas[e] S[:, which[e]] for every e, all inside; whether a sum wrapped around."""
        return add_signs(state, where, which, deltas, self._starts, self._words)

    def apply(self, M: FloatArray) -> FloatArray:
        """S M / sqrt(s), of shape (width, n_columns)."""
        out = np.zeros((self.width, M.shape[1]))
        _apply_signs(out, np.ascontiguousarray(M), self._starts, self._words)
        return out / self._norm

    def add_core(self, core: State, right: "SparseSigns", rows: Integers, columns: Integers, d: Integers) -> bool:
        """core += d[e] S[:, rows[e]] T[:, columns[e]]^T for every e, where T is the operator `right`."""
        return _add_core(core, rows, columns, d, self._starts, self._words, right._starts, right._words)


@compiled
def add_integer(state: State, i: int, j: int, d: Any) -> Any:
    """state[i, j] += d in the integers of the state, modulo their range; not zero if that differs from the sum.

    Bits, and no comparison, so that loops over it use wide registers: the state may be narrower than the sum, and a
    sum of int64 has wrapped if its sign is none of the two.
    """
    old = np.int64(state[i, j])
    new = old + d
    state[i, j] = new
    return (np.int64(state[i, j]) ^ new) | ((old ^ new) & (d ^ new) & _SIGN_OF_SUM)


@compiled
def _entry(word: np.uint64, starts: Integers, block: int) -> tuple[int, bool]:
    """Place and sign of a column's entry in a block, from the lowest 16 bits of its word."""
    width = np.uint64(starts[block + 1] - starts[block])
    return starts[block] + np.int64(((word & _PLACE) * width) >> _PLACE_BITS), (word & _SIGN) != np.uint64(0)


@compiled
def add_signs(state: State, where: Integers, which: Integers, deltas: Integers, starts: Integers, words: Words) -> bool:
    """state[where[e]] += deltas[e] times column which[e], for every e; whether a sum wrapped around."""
    n_blocks, k0, k1, wrapped = len(starts) - 1, words[0], words[1], np.int64(0)
    for e in range(len(where)):
        i, d = where[e], deltas[e]
        for first in range(0, n_blocks, 4):  # a word has four entries
            word = siphash(k0, k1, np.uint64(which[e]) | (np.uint64(first) << _WORD_BITS))
            for block in range(first, min(first + 4, n_blocks)):
                place, is_negative = _entry(word, starts, block)
                wrapped |= add_integer(state, i, place, -d if is_negative else d)
                word >>= _ENTRY_BITS
    return bool(wrapped != 0)


@compiled
def _apply_signs(out: FloatArray, M: FloatArray, starts: Integers, words: Words) -> None:
    n_blocks, k0, k1, n_columns = len(starts) - 1, words[0], words[1], M.shape[1]
    for j in range(len(M)):
        for first in range(0, n_blocks, 4):
            word = siphash(k0, k1, np.uint64(j) | (np.uint64(first) << _WORD_BITS))
            for block in range(first, min(first + 4, n_blocks)):
                place, is_negative = _entry(word, starts, block)
                for k in range(n_columns):
                    out[place, k] += -M[j, k] if is_negative else M[j, k]
                word >>= _ENTRY_BITS


@compiled
def _place_column(j: int, starts: Integers, words: Words, places: Integers, signs: Integers) -> None:
    """Places and signs of a column, into arrays of its length."""
    n_blocks = len(starts) - 1
    for first in range(0, n_blocks, 4):
        word = siphash(words[0], words[1], np.uint64(j) | (np.uint64(first) << _WORD_BITS))
        for block in range(first, min(first + 4, n_blocks)):
            place, is_negative = _entry(word, starts, block)
            places[block], signs[block] = place, -1 if is_negative else 1
            word >>= _ENTRY_BITS


@compiled
def _add_core(
    core: State, rows: Integers, columns: Integers, deltas: Integers,
    left_starts: Integers, left_words: Words, right_starts: Integers, right_words: Words,
) -> bool:  # fmt: skip
    wrapped = np.int64(0)
    n_left, n_right = len(left_starts) - 1, len(right_starts) - 1
    left, left_signs = np.empty(n_left, np.int64), np.empty(n_left, np.int64)
    right, right_signs = np.empty(n_right, np.int64), np.empty(n_right, np.int64)
    for e in range(len(rows)):
        _place_column(rows[e], left_starts, left_words, left, left_signs)
        _place_column(columns[e], right_starts, right_words, right, right_signs)
        for a in range(n_left):
            d = deltas[e] * left_signs[a]
            for b in range(n_right):
                wrapped |= add_integer(core, left[a], right[b], d * right_signs[b])
    return bool(wrapped != 0)
