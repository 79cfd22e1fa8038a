"""Exact normal, exponential and Laplace deviates.

A deviate is an integer v: the real number lies in (v, v + 1) 2^-law.bits, and its position inside is uniform and still
undrawn (`extensible` draws it on request). The law of floor(2^s x) is therefore exactly that of the real x.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hushrank.privacy.noise.keystream import Keystream
from hushrank.privacy.noise.laws import FRACTION_BITS, Law, exponential_law, normal_law
from hushrank.privacy.noise.lazy import LazyUniform
from hushrank.privacy.noise.reference import draw_residual, finish_comparison, finish_selection

BLOCK = 1 << 15  # words per pass: fits the cache
_MOST_SPARE_WORDS = 4096
MAX_EXPONENT = 50  # lattice exponents stay below the 54 digits a deviate has at hand

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RareDraw:
    """A draw finished by the slow path.

    `value` is unbounded (an int64 array cannot hold a normal beyond 128), `digits` are `n_digits` further binary
    digits behind it that the comparison has already drawn: they belong to the deviate and must be used first.
    """

    index: int
    value: int
    digits: int
    n_digits: int


class _Sampler:
    """Draws blocks of one law from one key stream, with the scratch space of the two passes."""

    def __init__(self, law: Law, stream: Keystream, signed: bool, n: int) -> None:
        from hushrank.privacy.noise import kernels  # needs numba, which a plan does not

        self._law, self._stream, self._signed, self._kernels = law, stream, signed, kernels
        self._residual = np.empty(min(n, BLOCK) + 1, np.int64)
        # Residual draws use 0.06 to 0.12 words per draw: a short call fetches few spare words.
        self._n_spare = min(n // 8 + 64, _MOST_SPARE_WORDS)
        self._state = np.zeros(4, np.uint64)
        self._at = np.zeros(1, np.int64)
        self._spare = np.empty(0, np.uint64)

    def fill(self, out: Integers) -> list[RareDraw]:
        """Fill `out`, at most BLOCK long, and return the draws of the slow path (usually none)."""
        law, rare = self._law, []
        words = self._table_words(out.size)
        n = self._kernels.serve_table(words, law.table, self._signed, out, self._residual)
        q = 0
        while q < n:
            if self._at[0] + 3 > self._spare.size:
                self._spare, self._at[0] = self._stream.words(self._n_spare), 0
            q = self._kernels.serve_residuals(
                out, self._residual, q, n, self._spare, self._at,
                law.thresholds, law.guide, law.gamma, 2.0**-law.cell_bits, law.is_normal, self._state,
            )  # fmt: skip
            if self._state[0] in (self._kernels.SELECTION_OPEN, self._kernels.COMPARISON_OPEN):
                index = int(self._residual[q])
                draw = self._finish(index, negative=bool(out[index] < 0))
                out[index] = draw.value if -(1 << 62) <= draw.value < 1 << 62 else 0
                rare.append(draw)
                q += 1
        return rare

    def _table_words(self, n: int) -> NDArray[np.uint64]:
        """Words for the first pass; spare ones for the second are fetched along where none are left."""
        if self._spare.size:
            return self._stream.words(n)
        words = self._stream.words(n + self._n_spare)
        self._spare, self._at[0] = words[n:], 0
        return words[:n]

    def _finish(self, index: int, negative: bool) -> RareDraw:
        """Finish the draw the kernel left open, exactly."""
        law, word = self._law, self._stream.word
        if self._state[0] == self._kernels.SELECTION_OPEN:
            draw = finish_selection(law, LazyUniform(word, int(self._state[1]), 64), word)
        else:
            u = LazyUniform(word, int(self._state[2]), FRACTION_BITS)
            draw = finish_comparison(law, int(self._state[1]), u, LazyUniform(word, int(self._state[3]), 64))
        cell, u = draw if draw is not None else draw_residual(law, word)
        while u.n < FRACTION_BITS:
            u.more()
        n_digits = u.n - FRACTION_BITS
        value = (cell << FRACTION_BITS) | (u.bits >> n_digits)
        digits = u.bits & ((1 << n_digits) - 1)
        if negative:  # the sign is a complement of all digits
            value, digits = ~value, (1 << n_digits) - 1 - digits
        return RareDraw(index, value, digits, n_digits)


def draw(law: Law, n: int, stream: Keystream, *, signed: bool = True) -> tuple[Integers, list[RareDraw]]:
    """Return `n` exact deviates and the few that the slow path finished.

    A rare draw whose value does not fit is 0 in the array: use its `value`.
    """
    out, rare = np.empty(n, np.int64), []
    sampler = _Sampler(law, stream, signed, n)
    for start in range(0, n, BLOCK):
        for r in sampler.fill(out[start : start + BLOCK]):
            rare.append(RareDraw(start + r.index, r.value, r.digits, r.n_digits))
    return out, rare


def add_normals(total: Integers, exponent: int, stream: Keystream) -> None:
    """total += floor(2^exponent N + 1/2) in place, N independent standard normals."""
    _add(normal_law(), total, exponent, stream)


def add_laplace(total: Integers, exponent: int, stream: Keystream) -> None:
    """total += floor(2^exponent L + 1/2) in place, L independent Laplace deviates of scale 1."""
    _add(exponential_law(), total, exponent, stream)


def _add(law: Law, total: Integers, exponent: int, stream: Keystream) -> None:
    if total.dtype != np.int64 or not total.flags.c_contiguous or not total.flags.writeable:
        raise ValueError("total must be a writeable contiguous int64 array")
    if not 0 <= exponent <= MAX_EXPONENT:
        raise ValueError(f"exponent must be between 0 and {MAX_EXPONENT}; got {exponent}")
    flat, shift = total.reshape(-1), law.bits - exponent
    half = 1 << (shift - 1)
    sampler = _Sampler(law, stream, True, flat.size)
    block = np.empty(min(flat.size, BLOCK), np.int64)
    for start in range(0, flat.size, BLOCK):
        part = flat[start : start + BLOCK]
        noise = block[: part.size]
        rare = sampler.fill(noise)
        noise += half
        noise >>= shift
        for r in rare:
            noise[r.index] = wrap_int64((r.value + half) >> shift)
        part += noise  # wraps modulo 2^64: a function of the unbounded sum


def wrap_int64(value: int) -> int:
    """The int64 that equals `value` modulo 2^64."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)
