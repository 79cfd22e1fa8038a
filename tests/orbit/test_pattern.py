"""Patterns back to matrices: the minors have the rows for eigenvalues, and the phases have the law of the orbit."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrank.orbit import pattern as pattern_module
from hushrank.orbit.pattern import Pattern, factor_from_pattern
from hushrank.privacy.noise.keystream import Keystream
from orbit_support import diagonal, haar_bases, ks_p_value
from support import FALSE_ALARM, assert_plausible


def random_pattern(levels, d, rng, nearness):
    """An interlacing pattern; each entry falls by a random part, or by `nearness` of it, or not at all."""
    k = len(levels)
    depths = np.zeros((d + 1, k))
    gaps = levels - np.append(levels[1:], 0.0)
    for m in range(d - 1, 0, -1):
        n = min(k, m)
        lower = np.append(depths[m + 1, 1:], 0.0)[:n] + gaps[:n]
        part = rng.choice([0.0, nearness, 1.0, 1.0, 1.0], n) * rng.uniform(size=n)
        depths[m, :n] = depths[m + 1, :n] + part * np.maximum(lower - depths[m + 1, :n], 0.0)
    return Pattern(levels, depths)


def minors_error(X, rows):
    """Largest difference between the eigenvalues of the leading minors of X X^* and the rows."""
    H = X @ X.conj().T
    spectra = [np.linalg.eigvalsh(H[:m, :m])[::-1][: len(row)] for m, row in enumerate(rows) if m]
    return max(np.abs(values - row).max() for values, row in zip(spectra, rows[1:], strict=True))


LEVELS = {
    "general": [1.0, 0.7, 0.2],
    "tied": [1.0, 1.0, 1.0, 0.5, 0.5],
    "nearly tied": [1.0, 1.0 - 1e-14, 1.0 - 1e-10, 0.5, 0.5 - 1e-16],
    "one": [3.0],
    "spread": [1.0, 1e-5, 1e-10, 1e-15],
    "many": list(1.0 / np.arange(1, 13)),
}


# 1. Structure


@settings(deadline=None)
@given(st.sampled_from(sorted(LEVELS)), st.integers(0, 12), st.integers(0, 10**6), st.sampled_from([1e-3, 1e-9, 1e-15]))
def test_minors_of_the_factor_have_the_rows_for_eigenvalues(name, more, seed, nearness):
    levels = np.array(LEVELS[name])
    pattern = random_pattern(levels, len(levels) + more, np.random.default_rng(seed), nearness)
    rows = pattern.rows
    for differences in (None, pattern.differences):
        X = factor_from_pattern(rows, Keystream(), differences)
        assert np.allclose(X.conj().T @ X, np.diag(levels), rtol=0, atol=1e-12 * levels[0])
        assert minors_error(X, rows) <= 1e-12 * levels[0]
        traces = np.diff([row.sum() for row in rows])
        assert np.allclose(diagonal(X), traces, rtol=0, atol=1e-12 * levels[0])


@pytest.mark.parametrize("k", [10, 100])
def test_large_patterns_keep_orthogonality(k):
    pattern = random_pattern(1.0 / np.arange(1.0, k + 1), 100, np.random.default_rng(k), 1e-8)
    X = factor_from_pattern(pattern.rows, Keystream(), pattern.differences)
    assert np.abs(X.conj().T @ X - np.diag(pattern.levels)).max() < 1e-12


@settings(deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([1e-3, 1e-9, 1e-15]))
def test_differences_are_accurate_to_their_own_last_digits(seed, nearness):
    pattern = random_pattern(np.array(LEVELS["nearly tied"]), 7, np.random.default_rng(seed), nearness)
    exact = [
        [Fraction(level) - Fraction(depth) for level, depth in zip(pattern.levels[:m], depths, strict=False)]
        for m, depths in enumerate(pattern.depths)
    ]
    for m in range(1, 8):
        D, Y = pattern.differences[m]
        below = exact[m - 1] + [Fraction(0)] * (len(exact[m]) - len(exact[m - 1]))
        for computed, others in ((D, below), (Y, exact[m])):
            truth = np.array([[float(y - other) for other in others] for y in exact[m]])
            assert np.allclose(computed, truth, rtol=1e-15, atol=0)


def test_concentrated_patterns_keep_the_digits_of_small_entries():
    # H_mm is the sum of the depths lost in row m, 1e-13 here; the eigenvalues themselves would keep three digits.
    depths = np.zeros((7, 2))
    depths[1:6] = np.cumsum([[1e-13, 0.0], [3e-13, 2e-13], [2e-13, 5e-13], [3e-13, 1e-13], [7e-13, 1e-13]], axis=0)[
        ::-1
    ]
    depths[1, 1] = 0.0
    pattern = Pattern(np.array([1.0, 0.9]), depths)
    X = factor_from_pattern(pattern.rows, Keystream(), pattern.differences)
    assert np.allclose(diagonal(X)[2:], -np.diff(depths, axis=0).sum(axis=1)[2:], rtol=1e-10, atol=0)


def test_products_of_any_size_fit():
    for scale in (1e-300, 1e300):
        pattern = random_pattern(scale / np.arange(1.0, 31), 40, np.random.default_rng(1), 1.0)
        X = factor_from_pattern(pattern.rows, Keystream(), pattern.differences) / np.sqrt(scale)
        assert np.allclose(X.conj().T @ X, np.diag(1.0 / np.arange(1.0, 31)), rtol=0, atol=1e-12)


# 2. Law of the factor given the pattern


def phase_p_values():
    """Haar matrices against matrices rebuilt from the patterns of others: functions of H that the phases decide on."""
    rng, levels = np.random.default_rng(), np.array([1.0, 0.4])
    stack = haar_bases(6000, 3, True, rng)[:, :, :2]
    H = (stack * levels) @ np.conj(np.swapaxes(stack, 1, 2))
    one, other, stream = H[:3000], [], Keystream()
    for matrix in H[3000:]:
        rows = [np.linalg.eigvalsh(matrix[:m, :m])[::-1][: min(m, 2)] for m in range(3)] + [levels]
        X = factor_from_pattern(rows, stream)
        other.append(X @ X.conj().T)
    functions = {
        "Re H_12": lambda H: H[:, 0, 1].real,
        "Im H_12": lambda H: H[:, 0, 1].imag,
        "|H_13|^2": lambda H: np.abs(H[:, 0, 2]) ** 2,
        "|H_12|^2": lambda H: np.abs(H[:, 0, 1]) ** 2,
        "Re H_21 H_23": lambda H: (H[:, 1, 0] * H[:, 1, 2]).real,
        "Im H_12 H_23 H_31": lambda H: (H[:, 0, 1] * H[:, 1, 2] * H[:, 2, 0]).imag,
    }
    return {name: ks_p_value(function(one), function(np.array(other))) for name, function in functions.items()}


def test_haar_matrices_rebuilt_from_their_patterns_are_haar():
    for p_value in phase_p_values().values():
        assert_plausible(p_value)


def test_constant_phases_are_caught(monkeypatch):
    monkeypatch.setattr(pattern_module, "phases", lambda shape, stream: np.ones(shape, np.complex128))
    p_values = phase_p_values()
    # The 2 x 2 minor has the modulus of H_12 in its determinant; everything else depends on the phases.
    assert_plausible(p_values.pop("|H_12|^2"))
    assert max(p_values.values()) < FALSE_ALARM


def test_equal_phases_in_all_rows_are_caught(monkeypatch):
    whole = pattern_module.phases
    monkeypatch.setattr(pattern_module, "phases", lambda shape, stream: np.tile(whole(shape[1], stream), (shape[0], 1)))
    assert phase_p_values()["Re H_21 H_23"] < FALSE_ALARM


def test_phases_from_half_of_the_circle_are_caught(monkeypatch):
    whole = pattern_module.phases
    monkeypatch.setattr(pattern_module, "phases", lambda shape, stream: np.sqrt(whole(shape, stream)))
    assert min(phase_p_values().values()) < FALSE_ALARM
