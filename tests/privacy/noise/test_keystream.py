"""No word is ever repeated: not by a fork, a copy, a thread or the end of a key."""

import copy
import pickle
import threading

import numpy as np
import pytest

from fork_support import in_child
from hushrank.exceptions import InvalidParameter, KeystreamMisuse
from hushrank.privacy.noise import keystream
from hushrank.privacy.noise.keystream import Keystream


def test_a_forked_child_cannot_use_its_parents_stream():
    stream = Keystream()
    stream.word()
    for draw in (stream.word, lambda: stream.words(3)):
        assert in_child(draw).startswith("KeystreamMisuse: this key stream was made before a fork: the noise would")
    assert in_child(lambda: len(Keystream().words(3))) == "returned 3"
    assert len(stream.words(3)) == 3


@pytest.mark.parametrize("duplicate", [pickle.dumps, copy.copy, copy.deepcopy])
def test_copies_are_refused(duplicate):
    with pytest.raises(KeystreamMisuse, match="cannot be copied or pickled"):
        duplicate(Keystream())


def test_fresh_streams_differ_and_a_fixed_key_repeats():
    assert not np.array_equal(Keystream().words(4), Keystream().words(4))
    first, second = (Keystream.from_key(bytes(32)).words(1000) for _ in range(2))
    assert np.array_equal(first, second)


def test_words_do_not_depend_on_how_they_are_asked_for():
    whole = Keystream.from_key(bytes(32)).words(300_000)
    stream = Keystream.from_key(bytes(32))
    parts = np.concatenate([stream.words(n) for n in (1, 2, 131_073, 300_000 - 131_076)])
    assert np.array_equal(whole, parts)


def test_words_are_those_of_aes_256_counter_mode():
    # NIST SP 800-38A fixes AES-256; the first block of counter zero is the encryption of the zero block:
    # FIPS-197 key expansion with the zero key gives dc95c078a2408989ad48a21492842087.
    first_block = Keystream.from_key(bytes(32)).words(2).tobytes()
    assert first_block.hex() == "dc95c078a2408989ad48a21492842087"


def test_threads_share_a_stream_without_repetition():
    stream, parts = Keystream.from_key(bytes(32)), []
    threads = [threading.Thread(target=lambda: parts.extend(stream.words(100) for _ in range(200))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    together = np.sort(np.concatenate(parts))
    assert np.array_equal(together, np.sort(Keystream.from_key(bytes(32)).words(80_000)))


def test_a_new_key_is_taken_at_the_byte_limit(monkeypatch):
    plain = Keystream.from_key(bytes(32)).words(64)
    monkeypatch.setattr(keystream, "MAX_BYTES_PER_KEY", 256)  # 32 words
    first, second = (Keystream.from_key(bytes(32)).words(64) for _ in range(2))
    assert np.array_equal(first[:32], plain[:32])
    assert not np.array_equal(first[32:], plain[32:])
    assert np.array_equal(first, second)
    assert len(np.unique(Keystream().words(4096))) == 4096


@pytest.mark.parametrize("key", [b"short", "a" * 32, None])
def test_a_key_is_32_bytes(key):
    with pytest.raises(InvalidParameter, match=r"^key of Keystream.from_key must be 32 bytes"):
        Keystream.from_key(key)
