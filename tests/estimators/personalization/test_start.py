"""The start: leading directions of a spiked matrix, corrected for the bulk, and a first prior of heads."""

import math

import numpy as np
import pytest

from hushrank.estimators.personalization.recipe import GRADIENT, plan_spending
from hushrank.estimators.personalization.start import clamp_heads, leading_directions, learn_start
from hushrank.estimators.personalization.subspace import principal_angles_error
from hushrank.estimators.searches import Searches
from record_support import make_releases


def spiked(variances, d, deviation, seed=0, center=0.0):
    """A matrix of these variances along orthonormal columns, with symmetric noise, and the columns."""
    rng = np.random.default_rng(seed)
    U = np.linalg.qr(rng.standard_normal((d, len(variances))))[0]
    noise = deviation * rng.standard_normal((d, d))
    return (U * variances) @ U.T + center * np.eye(d) + np.triu(noise) + np.triu(noise, 1).T, U


def test_without_noise_directions_and_variances_are_exact():
    M, U = spiked(np.array([3.0, 1.0]), 8, 0.0, center=0.7)
    found, variances, cosines = leading_directions(M, 2)
    assert principal_angles_error(found, U) < 1e-7
    assert variances == pytest.approx([3.0, 1.0], rel=1e-9) and cosines == pytest.approx([1.0, 1.0])
    assert found.T @ found == pytest.approx(np.eye(2), abs=1e-12)


def test_variances_and_cosines_are_corrected_for_the_bulk():
    """Spiked model: an eigenvalue v + r^2 / v for a variance v and noise of radius 2 r, cosine^2 = 1 - r^2 / v^2."""
    d, deviation = 400, 1.0
    radius = deviation * math.sqrt(d)
    M, U = spiked(radius * np.array([4.0, 2.0]), d, deviation, seed=1, center=5.0)
    values = np.linalg.eigvalsh(M)[::-1]
    found, variances, cosines = leading_directions(M, 2)
    assert values[1] - 5.0 > 1.15 * 2.0 * radius  # what is seen is larger than what is there
    assert variances == pytest.approx(radius * np.array([4.0, 2.0]), rel=0.08)
    assert cosines == pytest.approx([1 - 1 / 16, 1 - 1 / 4], abs=0.04)
    assert np.square(found.T @ U).diagonal() == pytest.approx(cosines, abs=0.06)


def test_directions_within_the_bulk_are_hardly_believed():
    M, _ = spiked(np.array([0.1]), 100, 1.0, seed=2)
    _, variances, cosines = leading_directions(M, 3)
    assert (cosines <= 0.5).all() and (cosines >= 0.02).all() and (variances > 0.0).all()


@pytest.mark.parametrize("k", [1, 3, 4])
def test_directions_are_orthonormal_with_signs_of_their_own_for_any_number(k):
    M, _ = spiked(np.array([2.0, 1.0]), 4, 0.3, seed=3)
    U, variances, cosines = leading_directions(M, k)
    assert U.shape == (4, k) and U.T @ U == pytest.approx(np.eye(k), abs=1e-12)
    assert all(column[np.abs(column).argmax()] > 0 for column in U.T)
    assert (variances >= 1e-3 * variances.max()).all() and variances.shape == cosines.shape == (k,)


@pytest.mark.parametrize("M", [np.zeros((3, 3)), -np.eye(3), np.full((3, 3), 1e-200)])
def test_degenerate_matrices_give_finite_numbers(M):
    for numbers in leading_directions(M, 2):
        assert np.isfinite(numbers).all()


def test_variances_of_heads_are_those_that_answers_allow():
    S = np.diag([1e-9, 1.0, 1e9])
    assert np.linalg.eigvalsh(clamp_heads(S, 2.0, is_logistic=False)) == pytest.approx([2e-6, 1.0, 8.0])
    assert np.linalg.eigvalsh(clamp_heads(S, 1.0, is_logistic=True)) == pytest.approx([1e-6, 1.0, 100.0])


def planted(n, d, k, noise, seed=4):
    rng = np.random.default_rng(seed)
    U, users = np.linalg.qr(rng.standard_normal((d, k)))[0], []
    for _ in range(n):
        X = rng.standard_normal((8, d))
        users.append((X, X @ U @ rng.standard_normal(k) + noise * rng.standard_normal(8)))
    return users, U


@pytest.mark.parametrize("is_logistic", [False, True])
@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
def test_the_start_is_near_a_planted_subspace_and_spends_its_share(is_logistic, neighbors):
    users, U = planted(3000, 6, 2, 0.5)
    releases = make_releases(users, mu=20.0, neighbors=neighbors, d=6)
    spending = plan_spending(releases, 6, long=4, short_a_step=3)
    searches = Searches(releases, spending)
    state, second = learn_start(releases, searches, np.eye(6), 2, 1.0, 0.4, is_logistic=is_logistic)
    assert principal_angles_error(state.U, U) < 0.25
    n_searches = 1 if is_logistic else 2
    assert releases.left == pytest.approx(0.6 - n_searches * GRADIENT.searches.long * spending.comparison, rel=1e-6)
    assert state.is_logistic == is_logistic and (state.S == state.S.T).all()
    if is_logistic:
        assert (second, state.noise) == (1.0, 1.0) and np.trace(state.S) == pytest.approx(4.0)
    else:
        assert 1.0 < second < 4.0
        steps = 256.0 * state.noise / second  # no bits of a decomposition: a search goes on from here
        assert steps == pytest.approx(round(steps), abs=1e-9) and 51 <= round(steps) <= 256
        assert np.trace(state.S) == pytest.approx(0.8 * second)
