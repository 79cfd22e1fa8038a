"""What a sketch is drawn from: keys that differ, words of their own for every label, normals to within rounding."""

import hashlib
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from hushrank.privacy.noise import sketch_draws
from hushrank.privacy.noise.deviates import RareDraw, draw
from hushrank.privacy.noise.keystream import Keystream
from hushrank.privacy.noise.laws import normal_law
from hushrank.privacy.noise.sketch_draws import (
    KEY_BYTES,
    ROUNDING,
    fresh_key,
    key_words,
    normal_matrix,
    seeded_key,
)
from support import FALSE_ALARM, assert_plausible, chi2_p_value, normal_scale_p_value

KEY = bytes(range(32))


def test_fresh_keys_differ_and_seeded_ones_are_recorded():
    keys = {fresh_key() for _ in range(100)} | {seeded_key(seed) for seed in range(100)}
    assert len(keys) == 200 and {len(key) for key in keys} == {KEY_BYTES}
    assert seeded_key(7) == hashlib.sha256(b"hushrank sketch seed 7").digest() == seeded_key(7)


def test_words_belong_to_a_key_and_a_label():
    words = key_words(KEY, "rows", 50)
    assert words.dtype == np.uint64 and np.array_equal(words, key_words(KEY, "rows", 50))
    assert np.array_equal(words[:2], key_words(KEY, "rows", 2))
    for key, label in ((KEY, "columns"), (KEY, "row"), (bytes(32), "rows")):
        assert not np.intersect1d(words, key_words(key, label, 50)).size
    assert words[:2].tolist() == [
        10010285010681696287,
        16261579153626700185,
    ]  # other machines and versions must mean the same


def test_words_are_not_those_of_the_key_itself():
    """Whoever has words of a sketch has no word of another use of the same key."""
    assert not np.intersect1d(key_words(KEY, "rows", 50), Keystream.from_key(KEY).words(50)).size


def test_words_are_even():
    digits = np.concatenate([key_words(fresh_key(), "rows", 2) for _ in range(3000)]).view(np.uint8)
    assert_plausible(chi2_p_value(np.bincount(digits, minlength=256), np.full(256, 1 / 256)))


def exact_normals(key, label, n):
    """Integers v such that the normal numbers of the matrix lie in (v, v + 1) 2^-bits."""
    values, rare = draw(normal_law(), n, Keystream.from_key(hashlib.sha256(b"hushrank sketch" + key + label).digest()))
    values = values.tolist()
    for one in rare:
        values[one.index] = one.value
    return values


@pytest.mark.parametrize("scale", [1.0, 0.3, 1448.1546878700494, 2.0**24])
def test_entries_are_normal_numbers_to_within_their_rounding(scale):
    """In rational numbers, of both ends of the interval in which the normal number lies."""
    matrix = normal_matrix(KEY, "rows", 60, 7, scale)
    assert matrix.shape == (60, 7) and matrix.dtype == np.int32
    factor = Fraction(scale) / 2 ** normal_law().bits
    for entry, v in zip(matrix.ravel().tolist(), exact_normals(KEY, b"rows", 420), strict=True):
        assert max(abs(entry - factor * v), abs(entry - factor * (v + 1))) <= Fraction(ROUNDING)


def test_a_matrix_of_several_blocks_is_one_matrix():
    """More than 2^20 entries: blocks follow each other, and differ."""
    n = 2**20 + 3000
    entries = normal_matrix(KEY, "rows", n, 1, 1000.0).ravel()
    assert np.array_equal(entries[:5], normal_matrix(KEY, "rows", 1, 5, 1000.0)[0])
    assert np.count_nonzero(entries[2**20 :] == entries[:3000]) < 60  # equal by chance: 1 in 3500
    assert np.count_nonzero(entries[2**20 :] == 0) < 60
    assert_plausible(normal_scale_p_value(entries, math.sqrt(1000.0**2 + 1 / 12)))
    for wrong in (0.7, 1.3):
        assert normal_scale_p_value(entries[2**20 :], wrong * 1000.0) < FALSE_ALARM


def test_entries_have_the_law_of_rounded_normals():
    entries = normal_matrix(fresh_key(), "rows", 400, 500, 2.0)
    ends = np.arange(-8.5, 9.0)
    cells = np.diff(np.concatenate([[0.0], stats.norm.cdf(ends / 2.0), [1.0]]))
    counts = np.bincount(np.clip(entries.ravel(), -9, 9) + 9, minlength=19)
    assert_plausible(chi2_p_value(counts, cells))


def test_the_recorded_matrix():
    """Golden: shards and checkpoints of other machines and versions must mean the same operator."""
    assert normal_matrix(KEY, "rows", 2, 3, 4096.0).tolist() == [[-3062, 6552, 7246], [-4359, 9156, 6162]]
    assert normal_matrix(seeded_key(0), "columns", 1, 3, 4096.0).tolist() == [[1156, -5845, 1704]]


def test_draws_of_the_slow_path_keep_their_values(monkeypatch):
    """Even one that no int64 holds, far beyond any normal number that was ever drawn."""
    bits = normal_law().bits
    rare = [RareDraw(1, 3 << bits, 0, 0), RareDraw(2, 1 << 80, 0, 0), RareDraw(3, -(1 << 80), 0, 0)]
    monkeypatch.setattr(sketch_draws, "draw", lambda law, n, stream: (np.zeros(n, np.int64), rare))
    largest = 2 ** (62 - bits)
    assert normal_matrix(KEY, "rows", 1, 4, 10.0).tolist() == [[0, 30, 10 * largest, -10 * largest]]
    assert normal_matrix(KEY, "rows", 1, 4, 2.0**28).tolist() == [[0, 3 * 2**28, 2**31 - 1, 1 - 2**31]]


@pytest.mark.parametrize("label", ["rows", "core rows", "spalten ä"])
def test_any_label_has_its_words(label):
    assert len(set(key_words(KEY, label, 4).tolist())) == 4
