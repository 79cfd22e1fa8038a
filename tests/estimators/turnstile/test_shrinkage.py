"""Shrinkage: pure noise is zero, strong signals stay, and what lies between has the least error there is."""

import numpy as np
import pytest

from hushrank.estimators.turnstile.shrinkage import ALONE, TOGETHER, left_regression, noise_edge, shrink_values
from support import FALSE_ALARM, count_p_value

RNG = np.random.default_rng(20261117)


def planted(shape, value):
    """A matrix of rank one with this singular value, and its vectors."""
    u, v = (RNG.standard_normal(size) for size in shape)
    u, v = u / np.linalg.norm(u), v / np.linalg.norm(v)
    return u, v, value * np.outer(u, v)


# The edge


@pytest.mark.parametrize("shape", [(1, 1), (1, 40), (6, 9), (5, 60)])
def test_noise_rarely_passes_the_edge(shape):
    n = 20_000
    Z = RNG.standard_normal((n, *shape))
    largest = np.sqrt(np.linalg.eigvalsh(Z @ Z.transpose(0, 2, 1))[:, -1])
    for margin, chance in ((TOGETHER, 1e-3), (ALONE, 1e-5)):
        passed = (largest > noise_edge(1.0, *shape, margin)).sum()
        assert passed <= n * chance or count_p_value(passed, n, chance) >= FALSE_ALARM
    assert (largest > noise_edge(1.0, *shape, -TOGETHER)).mean() > 0.5  # and it is no higher than it must be


def test_the_edge_scales_with_the_noise():
    assert noise_edge(3.0, 20, 7, ALONE) == pytest.approx(3.0 * noise_edge(1.0, 7, 20, ALONE))
    assert noise_edge(0.0, 20, 7, ALONE) == 0.0
    assert noise_edge(1.0, 20, 7) == noise_edge(1.0, 20, 7, TOGETHER) < noise_edge(1.0, 20, 7, ALONE)


# Singular values


@pytest.mark.parametrize("value", [45.0, 60.0, 150.0])
def test_shrunken_values_have_the_least_error(value):
    shape, errors = (300, 200), []
    for _ in range(10):
        _, _, A = planted(shape, value)
        U, s, Vt = np.linalg.svd(A + RNG.standard_normal(shape))
        chosen = shrink_values(s[:1], 1.0, shape)[0]
        inner = U[:, 0] @ A @ Vt[0]
        best = max(inner, 0.0)  # of all multiples of these two vectors
        errors.append([value**2 - 2 * x * inner + x**2 for x in (chosen, best, s[0])])
    mean, least, raw = np.mean(errors, axis=0)
    assert least <= mean < 1.05 * least
    assert mean < raw


def test_values_without_noise_stay_and_noise_without_signal_goes():
    values = np.array([5.0, 3.0, 1e-8, 0.0])
    assert shrink_values(values, 0.0, (30, 20)).tolist() == values.tolist()
    noisy = np.linalg.svd(RNG.standard_normal((80, 50)), compute_uv=False)
    assert not shrink_values(noisy, 1.5, (80, 50)).any()  # the largest is about 16, and 24 of probability e^-32
    assert not shrink_values(np.zeros(3), 1.0, (80, 50)).any()
    huge = shrink_values(np.array([1e12]), 1.0, (80, 50))
    assert huge[0] == pytest.approx(1e12, rel=1e-12)


def test_shrinkage_is_symmetric_increasing_and_scales():
    values = np.linspace(60.0, 20.0, 200)
    shrunk = shrink_values(values, 1.2, (300, 100))
    assert np.array_equal(shrunk, shrink_values(values, 1.2, (100, 300)))
    assert np.all(np.diff(shrunk) <= 0) and np.all((shrunk >= 0) & (shrunk <= values))
    assert shrink_values(7.0 * values, 8.4, (300, 100)) == pytest.approx(7.0 * shrunk)


# Regression


def regression(v, r, n, noise, rest, signal=1.0):
    """A problem W = S (U B + rest) + noise: SU, W, B and the energies of the rows of B."""
    SU = RNG.standard_normal((v, r)) / np.sqrt(v)
    B = signal * RNG.standard_normal((r, n))
    W = SU @ B + rest * RNG.standard_normal((v, n)) / np.sqrt(v) + noise * RNG.standard_normal((v, n))
    return SU, W, B, (B**2).sum(axis=1)


@pytest.mark.parametrize(("v", "r"), [(2, 1), (8, 5), (40, 5)])
def test_without_noise_coefficients_are_exact(v, r):
    SU, W, B, energies = regression(v, r, 30, 0.0, 0.0)
    assert left_regression(SU, W, energies, 0.0, 0.0) @ W == pytest.approx(B, abs=1e-8 * abs(B).max())


@pytest.mark.parametrize("guess", [0.3, 1.0, 3.0])
def test_noisy_coefficients_beat_least_squares_and_zero(guess):
    ours, least_squares, zero = 0.0, 0.0, 0.0
    for _ in range(20):
        SU, W, B, energies = regression(12, 6, 200, 0.5, 1.5)
        L = left_regression(SU, W, guess * energies, 200 * 1.5**2 / 12, 0.5)
        ours += np.sum((L @ W - B) ** 2)
        least_squares += np.sum((np.linalg.lstsq(SU, W, rcond=None)[0] - B) ** 2)
        zero += np.sum(B**2)
    assert ours < 0.8 * min(least_squares, zero)


@pytest.mark.parametrize(("v", "r"), [(2, 1), (6, 5), (30, 5)])
def test_coefficients_of_noise_are_zero(v, r):
    SU, W, _, _ = regression(v, r, 50, 1.0, 0.0, signal=0.0)
    assert left_regression(SU, W, np.full(r, 50.0), 0.0, 0.4).any()
    assert not left_regression(SU, W, np.full(r, 50.0), 0.0, 2.0).any()  # 8 deviations above the edge of what it is


def test_a_rest_that_nobody_sees_counts_as_expected():
    """One row is left to see the rest, and sees nothing: the guess counts as much as r rows do."""
    SU, W, B, energies = regression(4, 3, 20, 0.0, 0.0)
    trusting = left_regression(SU, W, energies, 0.0, 0.0) @ W
    wary = left_regression(SU, W, energies, 100.0 * energies.sum(), 0.0) @ W
    assert trusting == pytest.approx(B, abs=1e-8)
    assert np.linalg.norm(wary) < 0.2 * np.linalg.norm(B)


def test_a_singular_basis_has_finite_coefficients():
    SU, W, _, energies = regression(6, 3, 20, 0.0, 0.0)
    SU[:, 2] = SU[:, 1]
    for basis in (SU, np.zeros_like(SU)):
        assert np.isfinite(left_regression(basis, W, energies, 0.0, 0.0)).all()
    assert not left_regression(SU, np.zeros_like(W), energies, 0.0, 0.0).any()


def test_the_scale_does_not_matter():
    SU, W, _, energies = regression(12, 3, 40, 0.2, 0.5)
    once = left_regression(SU, W, energies, 1.0, 0.2)
    assert left_regression(SU, 64.0 * W, 4096.0 * energies, 4096.0, 12.8) == pytest.approx(once, rel=1e-9)
