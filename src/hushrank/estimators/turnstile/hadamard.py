"""Subsampled randomized Hadamard transforms, after a count-sketch where there are many inputs; nothing is stored.

Operator   S[k, j] = sign(j) (-1)^(bits that bucket(j) and place[k] share), all entries +-1, so a column has norm
           sqrt(width) exactly. Inputs are their own buckets while these fit; beyond that a hash puts them into 2^b.
Signs      fair, one for each input, from SipHash; guarantees rest on them alone (docs/privacy/sketched.md).
"""

import math

import numpy as np

from hushrank.estimators.turnstile.siphash import siphash
from hushrank.estimators.turnstile.sparse_signs import Integers, State, Words, add_integer
from hushrank.linalg.quantize import FloatArray, compiled
from hushrank.privacy.noise.sketch_draws import key_words

_SIGN_BIT, _ONE = np.uint64(63), np.uint64(1)
_HALVES = (np.uint64(32), np.uint64(16), np.uint64(8), np.uint64(4), np.uint64(2), np.uint64(1))


class Hadamard:
    """A randomized Hadamard operator.

    Parameters
    ----------
    key : bytes
        Of the whole sketch.
    label : str
        Of this operator in it.
    n_inputs, width : int
    """

    def __init__(self, key: bytes, label: str, n_inputs: int, width: int) -> None:
        self.n_inputs, self.width = n_inputs, width
        # Enough buckets that few of `width` leading inputs share one.
        n_buckets = 1 << (max(min(n_inputs, 16 * width * width), width, 2) - 1).bit_length()
        words = key_words(key, label, 2 + width)
        self._words = words[:2]
        self._mask = np.uint64(n_buckets - 1)
        self._is_hashed = n_buckets < n_inputs
        self._places = _choose(words[2:], n_buckets)

    def add(self, state: State, where: Integers, which: Integers, deltas: Integers) -> bool:
        """state[where[e]] += deltas[e] S[:, which[e]] for every e, all inside; whether a sum wrapped around."""
        return _add(state, where, which, deltas, self._places, self._words, self._mask, self._is_hashed)

    def column(self, j: int) -> Integers:
        """S[:, j]."""
        out = np.zeros((1, self.width), np.int64)
        self.add(out, np.zeros(1, np.int64), np.array([j]), np.ones(1, np.int64))
        column: Integers = out[0]
        return column

    def apply(self, M: FloatArray) -> FloatArray:
        """S M / sqrt(width), of shape (width, n_columns)."""
        out = np.zeros((self.width, M.shape[1]))
        _apply(out, np.ascontiguousarray(M), self._places, self._words, self._mask, self._is_hashed)
        return out / math.sqrt(self.width)


def _choose(words: Words, n: int) -> Words:
    """As many different numbers below n as there are words: a shuffle that stops early."""
    chosen: list[int] = []
    moved: dict[int, int] = {}
    for i, word in enumerate(words.tolist()):
        j = i + word % (n - i)
        chosen.append(moved.get(j, j))
        moved[j] = moved.get(i, i)
    return np.array(chosen, np.uint64)


@compiled
def _is_odd(bits: np.uint64) -> bool:
    for half in _HALVES:
        bits ^= bits >> half
    return bool((bits & _ONE) != np.uint64(0))


@compiled
def _bucket(j: int, words: Words, mask: np.uint64, is_hashed: bool) -> tuple[np.uint64, bool]:
    """Bucket and sign of an input."""
    word = siphash(words[0], words[1], np.uint64(j))
    return (word & mask) if is_hashed else np.uint64(j), (word >> _SIGN_BIT) != np.uint64(0)


@compiled
def _fill_column(column: Integers, j: int, places: Words, words: Words, mask: np.uint64, is_hashed: bool) -> None:
    """S[:, j]."""
    bucket, is_negative = _bucket(j, words, mask, is_hashed)
    sign = np.int64(-1 if is_negative else 1)
    for k in range(len(places)):
        column[k] = -sign if _is_odd(bucket & places[k]) else sign


@compiled
def _add(
    state: State, where: Integers, which: Integers, deltas: Integers,
    places: Words, words: Words, mask: np.uint64, is_hashed: bool,
) -> bool:  # fmt: skip
    wrapped, column = np.int64(0), np.empty(len(places), np.int64)
    for e in range(len(where)):
        i, d = where[e], deltas[e]
        _fill_column(column, which[e], places, words, mask, is_hashed)
        for k in range(len(column)):
            wrapped |= add_integer(state, i, k, d * column[k])
    return bool(wrapped != 0)


@compiled
def _apply(out: FloatArray, M: FloatArray, places: Words, words: Words, mask: np.uint64, is_hashed: bool) -> None:
    column = np.empty(len(places), np.int64)
    for j in range(len(M)):
        _fill_column(column, j, places, words, mask, is_hashed)
        for k in range(len(column)):
            for c in range(M.shape[1]):
                out[k, c] += column[k] * M[j, c]
