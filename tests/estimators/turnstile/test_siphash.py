"""SipHash-2-4 against its published vectors, and against a slow version for messages of any length."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrank.estimators.turnstile.siphash import siphash

MASK = 2**64 - 1
words = st.integers(0, MASK)


def rotate(word, bits):
    return (word << bits | word >> (64 - bits)) & MASK


def mix(v):
    """One round, as the paper draws it: two halves, twice."""
    a, b, c, d = v
    a, c = (a + b) & MASK, (c + d) & MASK
    b, d = rotate(b, 13) ^ a, rotate(d, 16) ^ c
    a = rotate(a, 32)
    c, a = (c + b) & MASK, (a + d) & MASK
    b, d = rotate(b, 17) ^ c, rotate(d, 21) ^ a
    return [a, b, rotate(c, 32), d]


def slow_siphash(key, message):
    """The hash of bytes under 16 bytes of key."""
    k0, k1 = (int.from_bytes(key[start : start + 8], "little") for start in (0, 8))
    start = int.from_bytes(b"somepseudorandomlygeneratedbytes", "big")
    v = [(start >> shift & MASK) ^ k for shift, k in zip((192, 128, 64, 0), (k0, k1, k0, k1), strict=True)]
    whole = len(message) // 8 * 8
    blocks = [message[at : at + 8] for at in range(0, whole, 8)]
    blocks.append(message[whole:].ljust(7, b"\0") + bytes([len(message) % 256]))
    for block in blocks:
        word = int.from_bytes(block, "little")
        v[3] ^= word
        v = mix(mix(v))
        v[0] ^= word
    v[2] ^= 0xFF
    for _ in range(4):
        v = mix(v)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def fast_siphash(key, message):
    k0, k1, word = (np.uint64(int.from_bytes(part, "little")) for part in (key[:8], key[8:], message))
    return int(siphash(k0, k1, word))


# Of the reference implementation, and the example of the paper (15 bytes); the key is 0, 1, ..., 15.
@pytest.mark.parametrize(
    ("length", "expected"),
    [
        (0, 0x726FDB47DD0E0E31), (7, 0xAB0200F58B01D137), (8, 0x93F5F5799A932462),
        (15, 0xA129CA6149BE45E5), (16, 0x3F2ACC7F57C29BDB), (63, 0x958A324CEB064572),
    ],
)  # fmt: skip
def test_published_vectors(length, expected):
    key, message = bytes(range(16)), bytes(range(length))
    assert slow_siphash(key, message) == expected
    if length == 8:
        assert fast_siphash(key, message) == expected


@given(words, words, words)
@settings(deadline=None)  # the first call compiles
def test_every_word_has_the_hash_of_its_bytes(k0, k1, word):
    key, message = k0.to_bytes(8, "little") + k1.to_bytes(8, "little"), word.to_bytes(8, "little")
    assert fast_siphash(key, message) == slow_siphash(key, message)


@pytest.mark.parametrize("bit", range(0, 64, 7))
def test_every_bit_of_key_and_message_counts(bit):
    base = (1, 2, 3)
    for position in range(3):
        other = [word ^ (1 << bit) if i == position else word for i, word in enumerate(base)]
        one, two = (int(siphash(*map(np.uint64, three))) for three in (base, other))
        assert 8 <= (one ^ two).bit_count() <= 56  # of 64 fair bits, with fixed keys
