"""Matrices of exact deviates with any number of further binary digits of the same real numbers on request."""

import struct

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from hushrank.privacy.noise.deviates import Integers, draw
from hushrank.privacy.noise.keystream import Keystream
from hushrank.privacy.noise.laws import Law


class ExtensibleDeviates:
    """`rows` x `columns` signed deviates of one law.

    `values` holds integers v with the real deviate in (v, v + 1) 2^-bits. Further digits are addressed, not stored: one
    key per matrix, the counter names row and depth. So no answer depends on the order of questions.
    """

    def __init__(self, law: Law, rows: int, columns: int, stream: Keystream) -> None:
        values, rare = draw(law, rows * columns, stream)
        self.bits = law.bits
        self.values: Integers = values.reshape(rows, columns)
        self._drawn = {r.index: (r.digits, r.n_digits) for r in rare if r.n_digits}
        self._wide = {r.index: r.value for r in rare if r.value != int(values[r.index])}
        self._key = stream.words(4).tobytes()

    @property
    def shape(self) -> tuple[int, int]:
        rows, columns = self.values.shape
        return rows, columns

    @property
    def wide_rows(self) -> frozenset[int]:
        """Rows with a value beyond int64, of which `values` and `floats` know nothing (2^-360 per draw or less)."""
        return frozenset(index // self.shape[1] for index in self._wide)

    def floats(self) -> NDArray[np.float64]:
        """The deviates as float64: |x - float| <= 2^-bits + 2^-53 |x|."""
        return self.values.astype(np.float64) * 2.0**-self.bits

    def centered(self, rows: NDArray[np.int64]) -> Integers:
        """Midpoints 2 v + 1 of the given rows, in units of 2^-(bits + 1): within one unit of the real deviates."""
        return 2 * self.values[rows] + 1

    def row(self, i: int, depth: int) -> list[int]:
        """Midpoints of row i with 64 depth further digits: within one unit of 2^(bits + 1 + 64 depth) x."""
        columns = self.shape[1]
        digits = self.values[i].tolist()
        for index, value in self._wide.items():
            if index // columns == i:
                digits[index % columns] = value
        extension = [self._extension_words(i, level) for level in range(depth)]
        for k in range(columns):
            fresh = 0
            for level in range(depth):
                fresh = fresh << 64 | int(extension[level][k])
            drawn, n_drawn = self._drawn.get(i * columns + k, (0, 0))
            # Digits that a comparison has already drawn come first, fresh ones fill the rest.
            tail = (drawn << 64 * depth | fresh) >> n_drawn
            digits[k] = digits[k] << 64 * depth | tail
        return [2 * d + 1 for d in digits]

    def _extension_words(self, i: int, level: int) -> NDArray[np.uint64]:
        counter = struct.pack(">QII", i, level, 0)  # the last four bytes count the blocks of one row
        cipher = Cipher(algorithms.AES(self._key), modes.CTR(counter)).encryptor()
        return np.frombuffer(cipher.update(bytes(8 * self.shape[1])), np.uint64)


class Stack:
    """Blocks of deviates side by side, each with a sign: what a bilinear form sees as one matrix."""

    def __init__(self, *parts: tuple[int, ExtensibleDeviates]) -> None:
        self._parts = parts
        self.bits = parts[0][1].bits
        self.wide_rows = frozenset[int]().union(*(p.wide_rows for _, p in parts))

    def floats(self) -> NDArray[np.float64]:
        blocks = [sign * p.floats() for sign, p in self._parts]
        return blocks[0] if len(blocks) == 1 else np.concatenate(blocks, axis=1)

    def centered(self, rows: NDArray[np.int64]) -> Integers:
        """Midpoints of the given rows, see ExtensibleDeviates.centered."""
        return np.concatenate([sign * p.centered(rows) for sign, p in self._parts], axis=1)

    def row(self, i: int, depth: int) -> list[int]:
        return [sign * x for sign, p in self._parts for x in p.row(i, depth)]
