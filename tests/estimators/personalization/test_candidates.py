"""Public candidates: orthonormal, spread evenly, around a center within a radius, the same in every call."""

import numpy as np
import pytest
from scipy import stats

from hushrank.estimators.personalization.candidates import nearby_candidates, scatter_uniforms, spread_candidates
from support import assert_plausible, chi2_p_value

SHAPES = [(8, 1), (8, 2), (5, 5), (1, 1), (40, 7)]


def identity_error(candidates):
    k = candidates.shape[2]
    return np.abs(candidates.transpose(0, 2, 1) @ candidates - np.eye(k)).max()


def tangents(center, candidates):
    """Root mean square of the tangents of the angles between each candidate and the center."""
    inside = center.T @ candidates
    outside = candidates - center @ inside
    T = outside @ np.linalg.inv(inside)
    return np.sqrt((T * T).sum(axis=(1, 2)) / center.shape[1])


@pytest.mark.parametrize("shape", SHAPES)
def test_candidates_are_orthonormal(shape):
    first = spread_candidates(50, shape)
    assert first.shape == (50, *shape) and identity_error(first) < 1e-13
    near = nearby_candidates(first[7], 50, 0.3, 1)
    assert near.shape == (50, *shape) and identity_error(near) < 1e-13


@pytest.mark.parametrize("shape", SHAPES)
def test_the_center_comes_first_with_its_own_bits(shape):
    center = spread_candidates(3, shape)[2]
    assert np.array_equal(nearby_candidates(center, 20, 0.5, 3)[0], center)


@pytest.mark.parametrize("shape", [(8, 1), (8, 2), (40, 7)])
def test_others_lie_at_all_distances_up_to_the_radius(shape):
    center = spread_candidates(3, shape)[1]
    found = tangents(center, nearby_candidates(center, 3000, 0.4, 2))
    assert found.max() <= 0.4 * (1 + 1e-9)
    assert_plausible(stats.kstest(found[1:] / 0.4, "uniform").pvalue)


def test_with_as_many_directions_as_features_all_candidates_span_everything():
    center = spread_candidates(2, (4, 4))[0]
    near = nearby_candidates(center, 10, 0.5, 1)
    assert np.abs(near @ near.transpose(0, 2, 1) - np.eye(4)).max() < 1e-13


@pytest.mark.parametrize("shape", [(8, 1), (6, 2)])
def test_first_candidates_are_spread_evenly(shape):
    """The share of a fixed direction in a uniform subspace is Beta(k/2, (d-k)/2), whatever the direction."""
    d, k = shape
    candidates = spread_candidates(4000, shape)
    for direction in np.linalg.qr(np.vander(np.arange(1.0, d + 1)))[0]:
        shares = np.sum(np.einsum("p,npa->na", direction, candidates) ** 2, axis=1)
        assert_plausible(stats.kstest(shares, stats.beta(k / 2, (d - k) / 2).cdf).pvalue)


def test_directions_around_the_center_are_spread_evenly():
    center = np.eye(6)[:, :1]
    moves = nearby_candidates(center, 4000, 0.5, 1)[1:, 1:, 0]
    moves /= np.linalg.norm(moves, axis=1, keepdims=True)
    shares = (moves @ np.array([0.6, 0.0, -0.8, 0.0, 0.0])) ** 2
    assert_plausible(stats.kstest(shares, stats.beta(0.5, 2.0).cdf).pvalue)


def test_no_three_neighbors_in_the_sequence_determine_each_other():
    """A quadratic sequence would: there each number follows from the two before it, and candidates lie on a surface."""
    u = scatter_uniforms(0, 90_000).reshape(-1, 3)
    cells = (u * 6).astype(int) @ [36, 6, 1]
    assert_plausible(chi2_p_value(np.bincount(cells, minlength=216), np.full(216, 1 / 216)))
    differences = (u[:, 2] - 2 * u[:, 1] + u[:, 0]) % 1.0
    assert_plausible(stats.kstest(differences, "uniform").pvalue)


def test_rounds_have_numbers_of_their_own_and_calls_repeat_them():
    one, two = scatter_uniforms(1, 5000), scatter_uniforms(2, 5000)
    assert np.array_equal(one, scatter_uniforms(1, 5000)) and not np.intersect1d(one, two).size
    assert np.array_equal(one[:100], scatter_uniforms(1, 100))
    assert_plausible(stats.pearsonr(one, two).pvalue)
    assert 0 < one.min() and one.max() < 1
    assert np.array_equal(spread_candidates(30, (8, 2)), spread_candidates(30, (8, 2)))
