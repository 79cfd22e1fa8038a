"""Uniform 64-bit words from AES-256-CTR.

A key stream serves one release and is then forgotten: two releases from the same words would cancel each other's noise.
For the same reason it cannot be copied or pickled, and refuses to work in a forked child.
"""

import hashlib
import os
import threading

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes
from numpy.typing import NDArray

from hushrank.exceptions import InvalidParameter, KeystreamMisuse
from hushrank.privacy.ownership import SingleOwner

# 2^32 AES blocks per key: the distance of CTR mode from random words stays below 2^-65 per key.
MAX_BYTES_PER_KEY = 1 << 36
_ZEROS = memoryview(bytes(1 << 20))
_BUFFERED_WORDS = 512


class Keystream(SingleOwner):
    """Words of an AES-256-CTR key stream, keyed from the operating system.

    `Keystream.from_key` fixes the key: for tests and for runs that must be reproducible, never for a result that is
    to be published.
    """

    _owned, _danger, _misuse = "key stream", "the noise would repeat", KeystreamMisuse

    def __init__(self) -> None:
        self._start(root=None)

    @classmethod
    def from_key(cls, key: bytes) -> "Keystream":
        """Key stream with a known 32-byte key; whoever knows the key can remove the noise."""
        if not isinstance(key, bytes) or len(key) != 32:
            raise InvalidParameter("Keystream.from_key", "key", "32 bytes", f"{type(key).__name__}")
        stream = cls.__new__(cls)
        stream._start(root=key)
        return stream

    def _start(self, root: bytes | None) -> None:
        self._root = root
        self._take_ownership()
        self._lock = threading.Lock()
        self._keys_used = 0
        self._buffer = np.empty(0, np.uint64)
        self._at = 0
        self._use_next_key()

    def _use_next_key(self) -> None:
        if self._root is None:
            key = os.urandom(32)
        elif self._keys_used == 0:
            key = self._root
        else:
            key = hashlib.sha256(b"hushrank next key" + self._root + self._keys_used.to_bytes(8, "big")).digest()
        self._keys_used += 1
        self._bytes_left = MAX_BYTES_PER_KEY
        self._cipher: CipherContext = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()

    def words(self, n: int) -> NDArray[np.uint64]:
        """Return `n` fresh words; no word is ever returned twice."""
        self._check_owner()  # before the lock
        with self._lock:
            return self._fresh_words(n)

    def word(self) -> int:
        """One fresh word, for the slow path."""
        self._check_owner()
        with self._lock:
            if self._at == len(self._buffer):
                self._buffer, self._at = self._fresh_words(_BUFFERED_WORDS), 0
            self._at += 1
            return int(self._buffer[self._at - 1])

    def _fresh_words(self, n: int) -> NDArray[np.uint64]:
        out = np.empty(n + 2, np.uint64)  # update_into asks for 15 spare bytes
        target = out.view(np.uint8).data
        start, end = 0, 8 * n
        while start < end:
            if self._bytes_left < 8:
                self._use_next_key()
            size = min(len(_ZEROS), end - start, self._bytes_left)
            self._cipher.update_into(_ZEROS[:size], target[start : start + size + 15])
            self._bytes_left -= size
            start += size
        return out[:n]
