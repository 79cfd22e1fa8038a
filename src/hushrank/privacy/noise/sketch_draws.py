"""What a random sketch is made of: keys of its hashes, and Gaussian matrices of integers, from one secret key.

A sketch is no noise, yet its guarantee may rest on its randomness (docs/privacy/sketched.md), so it comes from the same
place: words of AES-256-CTR, under a key of its own for every matrix. The same key gives the same sketch on every
machine; whoever knows it knows the sketch, not the noise.
"""

import hashlib
import os

import numpy as np
from numpy.typing import NDArray

from hushrank.privacy.noise.deviates import draw
from hushrank.privacy.noise.keystream import Keystream
from hushrank.privacy.noise.laws import normal_law

KEY_BYTES = 32
_BLOCK, _LARGEST = 2**20, 2.0**31 - 1
ROUNDING = 0.5 + 2.0**-20
"""Entries of `normal_matrix` are within this of `scale` times an exactly normal number: rint, and two roundings."""


def fresh_key() -> bytes:
    """A key from the operating system."""
    return os.urandom(KEY_BYTES)


def seeded_key(seed: int) -> bytes:
    """The key of a reproducible sketch."""
    return hashlib.sha256(b"hushrank sketch seed %d" % seed).digest()


def key_words(key: bytes, label: str, n: int) -> NDArray[np.uint64]:
    """`n` words that belong to this part of the sketch alone, such as the key of a hash."""
    return _stream(key, label).words(n)


def normal_matrix(key: bytes, label: str, n_rows: int, n_columns: int, scale: float) -> NDArray[np.int32]:
    """Independent normal numbers times `scale`, rounded to integers."""
    law, stream = normal_law(), _stream(key, label)
    matrix = np.empty(n_rows * n_columns, np.int32)
    for start in range(0, len(matrix), _BLOCK):  # the same blocks everywhere: they are part of what a key means
        part = matrix[start : start + _BLOCK]
        deviates, rare = draw(law, len(part), stream)
        for one in rare:  # a value beyond int64 would be a normal number beyond 128
            deviates[one.index] = max(min(one.value, 2**62), -(2**62))
        numbers = deviates * (scale * 2.0**-law.bits)
        part[:] = np.clip(np.rint(numbers), -_LARGEST, _LARGEST)
    return matrix.reshape(n_rows, n_columns)


def _stream(key: bytes, label: str) -> Keystream:
    return Keystream.from_key(hashlib.sha256(b"hushrank sketch" + key + label.encode()).digest())
