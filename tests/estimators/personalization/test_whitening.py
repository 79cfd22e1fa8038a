"""Private whitening: the exact inverse root where there is no noise, and nothing stretched that noise cannot tell."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrank.estimators.personalization.recipe import plan_spending
from hushrank.estimators.personalization.whitening import inverse_root, learn_whitening
from hushrank.estimators.searches import Searches
from record_support import make_releases, make_users


def rotated(values, seed=0):
    Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(values), len(values))))[0]
    M = (Q * values) @ Q.T
    return (M + M.T) / 2, Q


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_without_noise_it_is_the_exact_inverse_root(scale):
    M, _ = rotated(scale * np.array([5.0, 2.0, 1.0, 0.3]))
    W = inverse_root(M, 0.0)
    assert (W == W.T).all() and W @ M @ W == pytest.approx(np.eye(4), abs=1e-9)


def test_small_eigenvalues_count_as_a_fiftieth_of_the_mean():
    M, Q = rotated(np.array([4.0, 3.0, 1.0, 1e-9]))
    stretched = np.linalg.norm(inverse_root(M, 0.0) @ Q[:, 3])
    assert stretched == pytest.approx((0.02 * 2.0) ** -0.5, rel=1e-6)


def test_directions_below_the_noise_are_not_stretched():
    """Eigenvalues count as no smaller than twice the radius of the noise, nor is a floor above the mean."""
    d, deviation = 6, 0.05
    M, _ = rotated(np.array([10.0, 8.0, 3.0, 1.0, 0.2, 0.01]))
    floor = 2.0 * deviation * math.sqrt(d)
    assert np.linalg.eigvalsh(inverse_root(M, deviation)).max() == pytest.approx(floor**-0.5, rel=1e-9)
    level = np.trace(M) / d
    assert inverse_root(M, 1e6) == pytest.approx(np.eye(d) / math.sqrt(level), rel=1e-9)


def test_the_moment_is_shrunk_towards_a_multiple_of_the_identity_by_its_noise():
    """James and Stein: by 1 - (d deviation)^2 / |M - level I|^2."""
    d, deviation = 4, 0.2
    M, _ = rotated(np.array([5.0, 3.0, 2.0, 2.0]))
    rest = M - 3.0 * np.eye(d)
    kept = 1.0 - (d * deviation) ** 2 / (rest * rest).sum()
    W = inverse_root(M, deviation)
    assert 0.85 < kept < 0.95 and np.linalg.inv(W @ W) == pytest.approx(3.0 * np.eye(d) + kept * rest, rel=1e-9)


@pytest.mark.parametrize("M", [-np.eye(3), np.zeros((3, 3)), np.diag([1.0, -2.0, 0.5])])
def test_noise_alone_gives_a_multiple_of_the_identity(M):
    W = inverse_root(M, 0.1)
    assert np.isfinite(W).all() and W == pytest.approx(W[0, 0] * np.eye(3)) and W[0, 0] > 0.0


@given(st.integers(0, 2**32), st.sampled_from([0.0, 1e-3, 1.0, 1e3]))
@settings(deadline=None, max_examples=30)
def test_it_is_positive_definite_whatever_was_released(seed, deviation):
    A = np.random.default_rng(seed).standard_normal((5, 5))
    W = inverse_root(A + A.T, deviation)
    assert (W == W.T).all() and np.linalg.eigvalsh(W).min() > 0.0


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
def test_records_are_white_after_it_and_the_share_is_spent(neighbors):
    users = make_users(np.random.default_rng(1), [6] * 3000, spread=3.0)
    releases = make_releases(users, mu=10.0, neighbors=neighbors)
    spending = plan_spending(releases, 6, long=4, short_a_step=3)
    W = learn_whitening(releases, Searches(releases, spending), 4, 1.0, 0.1)
    assert releases.left == pytest.approx(1.0 - 0.1 - 7 * spending.comparison, rel=1e-6)
    X = np.concatenate([X for X, _ in users]) @ W
    white = X.T @ X / len(X)
    before = np.linalg.cond(np.diag(np.linspace(1.0, 3.0, 4) ** 2))
    assert np.linalg.cond(white) < 2.0 < before  # shortened to a quantile, so that it is not exact
