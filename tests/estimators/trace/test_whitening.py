"""Whitening from noisy covariances: exact without noise, the identity where all is noise, floors between."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from hushrank.estimators.trace import whitening
from hushrank.estimators.trace.whitening import inverse_root, shrink_covariance, shrink_variances
from record_support import same_bits

MANY = 1e15  # records, of which chance adds nothing to correlations


def rotated(values, seed=0):
    """A symmetric matrix with these eigenvalues, and its eigenvectors."""
    Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(values), len(values))))[0]
    M = (Q * values) @ Q.T
    return (M + M.T) / 2, Q


def whole(root):
    """A matrix, whether it came whole or as a diagonal."""
    return np.diag(root[0]) if len(root) == 1 else root


def covariance_of(root):
    """The covariance that a root makes white."""
    return np.linalg.inv(whole(root) @ whole(root))


def release(A, noise, rng):
    """A covariance with noise of this deviation off the diagonal, and sqrt(2) times that on it."""
    N = noise * rng.standard_normal(A.shape)
    return A + (N + N.T) / math.sqrt(2.0)


# Roots


@pytest.mark.parametrize("scale", [1e-100, 1e-6, 1.0, 1e6, 1e100])
def test_inverse_roots_make_their_matrix_white(scale):
    A, Q = rotated(scale * np.array([5.0, 2.0, 1.0, 0.3]))
    W = inverse_root(A)
    assert (W == W.T).all() and W @ A @ W == pytest.approx(np.eye(4), abs=1e-9)
    assert np.linalg.norm(W @ Q[:, 3]) == pytest.approx((0.3 * scale) ** -0.5, rel=1e-9)


def test_bits_do_not_depend_on_the_number_of_blas_threads():
    A, made = rotated(np.linspace(1.0, 3.0, 301))[0], []
    for threads in (1, 2):
        with threadpool_limits(threads, "blas"):
            made.append((inverse_root(A), shrink_covariance(A, 1e-6, MANY)))
    assert all(map(same_bits, *made)) and len(made[0][1]) == 301


# Variances


def test_variances_without_noise_stay_and_under_noise_are_their_mean():
    variances = np.array([1.0, 2.0, 6.0])
    assert shrink_variances(variances, 0.0) == pytest.approx(variances, rel=1e-15)
    assert np.array_equal(shrink_variances(variances, 100.0), np.full(3, 100.0))  # no less than its noise
    assert np.array_equal(shrink_variances(variances, 2.5), np.full(3, 3.0))


def test_variances_are_moved_to_their_mean_by_what_the_noise_scattered():
    """James and Stein: by 1 - d noise^2 / sum of (v - mean)^2."""
    variances, noise = np.array([1.0, 2.0, 6.0]), 0.7
    kept = 1.0 - 3 * noise**2 / 14.0
    assert 0.5 < kept < 0.95
    assert shrink_variances(variances, noise) == pytest.approx(3.0 + kept * (variances - 3.0), rel=1e-12)


def test_small_variances_have_a_floor_that_is_a_fraction_of_the_mean():
    variances = np.array([10.0, 10.0, 1e-9, -1e-9])
    floor = whitening._LEAST_VARIANCE * 5.0
    assert shrink_variances(variances, 0.0) == pytest.approx([10.0, 10.0, floor, floor], rel=1e-9)
    assert 0.0 < whitening._LEAST_VARIANCE < 1.0


@given(st.lists(st.floats(-1e100, 1e100), min_size=1, max_size=8), st.floats(0.0, 1e100))
@settings(deadline=None)
def test_variances_are_positive_whatever_was_released(variances, noise):
    found = shrink_variances(np.array(variances), noise)
    assert np.isfinite(found).all() and (found > 0.0).all() and len(found) == len(variances)


# Covariances


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_without_noise_the_planted_covariance_becomes_white(scale):
    A, _ = rotated(scale * np.array([5.0, 2.0, 1.0, 0.5]))
    W = shrink_covariance(A, 0.0, MANY)
    assert W.shape == (4, 4) and (W == W.T).all()
    assert W @ A @ W == pytest.approx(np.eye(4), abs=1e-9)


def test_without_noise_variances_of_their_own_become_white():
    """No correlation stands out: the whitening is a diagonal."""
    variances = np.array([4.0, 1.0, 0.25])
    W = shrink_covariance(np.diag(variances), 0.0, 1000.0)
    assert W == pytest.approx(variances[np.newaxis] ** -0.5, rel=1e-12)


def test_units_are_those_of_the_numbers():
    """A covariance in units of its columns gives the whitening of the whole one, whole or diagonal."""
    units = np.array([1e-3, 1.0, 50.0, 2.0])
    A, _ = rotated(np.array([3.0, 2.0, 1.0, 0.5]))
    D = np.diag(units)
    W = shrink_covariance(A, 0.0, MANY, units)
    assert W @ (D @ A @ D) @ W == pytest.approx(np.eye(4), abs=1e-8) and (W == W.T).all()
    diagonal = shrink_covariance(np.diag(np.diag(A)), 0.0, 1000.0, units)
    assert diagonal == pytest.approx((1.0 / (np.sqrt(np.diag(A)) * units))[np.newaxis], rel=1e-12)


@pytest.mark.parametrize("A", [np.eye(4), -np.eye(4), np.zeros((4, 4)), np.diag([1.0, -2.0, 0.5, 0.1])])
def test_under_noise_alone_it_is_a_multiple_of_the_identity(A):
    W = shrink_covariance(release(A, 50.0, np.random.default_rng(1)), 100.0, MANY)
    assert W.shape == (1, 4) and (W == W[0, 0]).all() and 0.0 < W[0, 0] < math.inf


def test_nothing_is_taken_for_smaller_than_its_noise():
    """Where little is known steps are too short, never too long: the root is small."""
    rng = np.random.default_rng(2)
    for noise in (0.3, 3.0, 300.0):
        for _ in range(20):
            W = shrink_covariance(release(np.diag([1.0, 1e-3, 1e-3, 1e-3]), noise, rng), noise, MANY)
            assert np.linalg.eigvalsh(whole(W)).max() <= 1.0 / math.sqrt(0.02 * 0.25 * noise)


def test_variances_on_the_diagonal_have_more_noise_than_what_is_beside_it():
    """They are shrunk for sqrt(2) of the deviation, and are no smaller than a few deviations."""
    variances, noise = np.array([1.0, 2.0, 6.0]), 0.1
    found = shrink_covariance(np.diag(variances), noise, 1e3)[0] ** -2.0
    assert found == pytest.approx(shrink_variances(variances, math.sqrt(2.0) * noise), rel=1e-12)
    assert np.abs(found - shrink_variances(variances, noise)).max() > 1e-3
    small = shrink_covariance(np.diag([30.0, 30.0, 0.0]), 1.0, 1e3)[0] ** -2.0
    floor = whitening._NOISE_FLOOR
    assert small[2] == pytest.approx(floor, rel=1e-9) and floor > shrink_variances(np.array([30.0, 30.0, 0.0]), 1.5)[2]


def test_correlations_are_shrunk_by_what_noise_and_chance_add():
    """By 1 - sum of noise^2 / (v_a v_b) + 1 / n over the sum of squared correlations."""
    d, n = 4, 500.0
    C = np.eye(d) + 0.3 * (np.ones((d, d)) - np.eye(d))
    noise = 0.02
    kept = 1.0 - (noise**2 + 1.0 / n) / 0.3**2  # unit variances, which nothing scatters
    found = covariance_of(shrink_covariance(C, noise, n))
    assert 0.9 < kept < 0.98
    assert found == pytest.approx(np.eye(d) + kept * (C - np.eye(d)), abs=1e-9)
    assert covariance_of(shrink_covariance(C, 0.0, MANY)) == pytest.approx(C, abs=1e-9)
    assert shrink_covariance(C, 0.0, 10.0).shape == (1, d)  # what ten records show is chance


def test_eigenvalues_of_correlations_have_floors():
    """A fraction of 1 without noise, and the edge of the noise with it; the largest is never touched."""
    A = np.ones((5, 5)) + 1e-9 * np.eye(5)
    least = np.linalg.eigvalsh(covariance_of(shrink_covariance(A, 0.0, MANY)))[0]
    assert least == pytest.approx(whitening._LEAST_EIGENVALUE, rel=1e-6) and 0.0 < least < 0.2
    noise = 0.05
    values = np.linalg.eigvalsh(covariance_of(shrink_covariance(A, noise, MANY)))
    kept = 1.0 - noise**2
    assert values[0] == pytest.approx(kept * 2.0 * math.sqrt(5.0) * noise, rel=1e-6) and values[0] > 5 * least
    assert values[-1] == pytest.approx(1.0 + 4.0 * kept, rel=1e-6)


@given(st.integers(1, 6), st.integers(0, 2**32), st.sampled_from([1e-9, 1e-2, 1.0, 1e6]), st.floats(1.0, 1e9))
@settings(deadline=None, max_examples=60)
def test_it_is_positive_definite_whatever_was_released(d, seed, noise, n):
    """Noise is never zero; units of columns may be 2^16 apart."""
    rng = np.random.default_rng(seed)
    scale, units = 10.0 ** rng.uniform(-9, 9), 2.0 ** rng.uniform(-8, 8, d)
    A = scale * rng.standard_normal((d, d))
    for given_units in (None, units):
        W = shrink_covariance(A + A.T, noise * scale, n, given_units)
        assert W.shape in ((d, d), (1, d)) and np.isfinite(W).all()
        root = whole(W)
        assert (root == root.T).all() and np.linalg.eigvalsh(root).min() > 0.0


def test_columns_of_very_different_units_do_not_stop_a_fit():
    """Rounding makes the smallest eigenvalue of such a covariance zero or negative."""
    C, units = np.full((40, 40), 0.99) + 0.01 * np.eye(40), np.geomspace(1e-8, 1e8, 40)
    assert np.linalg.eigvalsh(C * np.outer(units, units)).min() <= 0.0
    W = shrink_covariance(C, 1e-6, MANY, units)
    assert np.isfinite(W).all() and W.shape == (40, 40)


@pytest.mark.parametrize(("noise", "most"), [(0.001, 0.02), (0.03, 0.6)])
def test_planted_covariances_are_found_within_their_noise(noise, most):
    """And not exactly: what is left is above zero."""
    A, rng = rotated(np.array([2.0, 1.0, 0.8, 0.5, 0.4, 0.3]))[0], np.random.default_rng(3)
    for _ in range(5):
        W = shrink_covariance(release(A, noise, rng), noise, MANY)
        assert 1e-6 < np.abs(W @ A @ W - np.eye(6)).max() < most
