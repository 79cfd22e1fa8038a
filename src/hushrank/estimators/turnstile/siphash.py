"""SipHash-2-4 of one 64-bit number: a keyed pseudorandom function for compiled loops, of which nothing is stored.

Reference  J.-P. Aumasson and D. J. Bernstein, SipHash: a fast short-input PRF (2012); the message is one word.
"""

import numpy as np

from hushrank.linalg.quantize import compiled

_LENGTH = np.uint64(8 << 56)  # of the message in bytes, in the last block
_S13, _S16, _S17, _S21, _S32 = (np.uint64(bits) for bits in (13, 16, 17, 21, 32))
_R13, _R16, _R17, _R21 = (np.uint64(64 - bits) for bits in (13, 16, 17, 21))
_C0, _C1 = np.uint64(0x736F6D6570736575), np.uint64(0x646F72616E646F6D)
_C2, _C3 = np.uint64(0x6C7967656E657261), np.uint64(0x7465646279746573)
_END = np.uint64(0xFF)


@compiled
def _round(
    v0: np.uint64, v1: np.uint64, v2: np.uint64, v3: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    v0 = v0 + v1
    v1 = ((v1 << _S13) | (v1 >> _R13)) ^ v0
    v0 = (v0 << _S32) | (v0 >> _S32)
    v2 = v2 + v3
    v3 = ((v3 << _S16) | (v3 >> _R16)) ^ v2
    v0 = v0 + v3
    v3 = ((v3 << _S21) | (v3 >> _R21)) ^ v0
    v2 = v2 + v1
    v1 = ((v1 << _S17) | (v1 >> _R17)) ^ v2
    v2 = (v2 << _S32) | (v2 >> _S32)
    return v0, v1, v2, v3


@compiled
def siphash(k0: np.uint64, k1: np.uint64, message: np.uint64) -> np.uint64:
    """The 64-bit hash of `message`, as 8 little-endian bytes, under the key (k0, k1)."""
    v0, v1, v2, v3 = k0 ^ _C0, k1 ^ _C1, k0 ^ _C2, k1 ^ _C3
    v3 = v3 ^ message
    v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    v0 = v0 ^ message
    v3 = v3 ^ _LENGTH
    v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    v0 = v0 ^ _LENGTH
    v2 = v2 ^ _END
    for _ in range(4):
        v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    return v0 ^ v1 ^ v2 ^ v3
