"""Levels of noise: reached by noise alone in at most 5 % of the cases, and no higher than they must be."""

import numpy as np
import pytest

from hushrank.linalg.noise_levels import above_edge, hollow_strength, rectangular_level, symmetric_level


@pytest.mark.parametrize("n", [20, 60])
def test_hollow_noise_stays_below_its_level(n):
    rng = np.random.default_rng(n)
    A = np.triu(rng.standard_normal((400, n, n)), 1)
    largest = np.linalg.eigvalsh(A + A.transpose(0, 2, 1))[:, -1]
    assert (largest > symmetric_level(1.0, n)).mean() <= 0.05
    assert (largest > 0.9 * symmetric_level(1.0, n)).mean() >= 0.05  # a lower one would not do


@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (2, 2), (12, 3), (40, 30)])
def test_rectangular_noise_stays_below_its_level(shape):
    rng = np.random.default_rng(sum(shape))
    largest = np.linalg.svd(rng.standard_normal((1000, *shape)), compute_uv=False)[:, 0]
    assert (largest > rectangular_level(1.0, shape)).mean() <= 0.065  # 5 % within three deviations of 1000 draws
    assert (largest > 0.7 * rectangular_level(1.0, shape)).mean() >= 0.05


def test_levels_scale_with_the_noise():
    assert symmetric_level(3.0, 50) == pytest.approx(3.0 * symmetric_level(1.0, 50))
    assert rectangular_level(3.0, (5, 8)) == pytest.approx(3.0 * rectangular_level(1.0, (8, 5)))
    assert above_edge(10.0, 10**9) == pytest.approx(10.0, rel=1e-5)


def test_an_imputed_diagonal_does_not_count():
    S = np.diag([3.0, 1.0]) + np.array([[0.0, 2.0], [2.0, 0.0]])
    w, Q = np.linalg.eigh(S)
    strength = hollow_strength(Q[:, 1:], S, w[1:], 1.0)
    hollow = Q[:, 1] @ (S - np.diag(np.diagonal(S))) @ Q[:, 1]
    assert strength == pytest.approx([hollow]) and strength[0] < w[1]
    assert hollow_strength(Q, S, w, 0.0).tolist() == [0.0, 0.0]
