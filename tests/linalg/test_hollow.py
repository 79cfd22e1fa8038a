"""Eigenpairs without a diagonal: planted ones are found and corrected for the noise, noise alone has none."""

import math

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from hushrank.linalg import hollow
from hushrank.linalg.hollow import project_out, top_hollow_eigenpairs


def noise_of(n, seed):
    """Symmetric standard normals without a diagonal; the largest eigenvalue is about edge = 2 sqrt(n)."""
    upper = np.triu(np.random.default_rng(seed).standard_normal((n, n)), 1)
    return upper + upper.T


def planted(n, values, seed):
    """Random orthonormal vectors and the matrix with them and the values, without its diagonal."""
    Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((n, len(values))))[0]
    S = (Q * values) @ Q.T
    np.fill_diagonal(S, 0.0)
    return Q, S


# What is planted is found.


def test_the_diagonal_is_completed():
    """Without noise, imputing the diagonal again and again ends at the matrix itself."""
    values = np.array([9.0, 5.0, 2.0])
    Q, S = planted(60, values, 1)
    once = top_hollow_eigenpairs(S.copy(), 3, 0.0, rounds=1, cut=1.0)[1]
    assert np.abs(once - values).max() > 0.3
    vectors, found, alignments = top_hollow_eigenpairs(S, 3, 0.0, rounds=60, cut=1.0)
    assert np.abs(found - values).max() < 1e-12 * 60
    assert np.abs((Q * vectors).sum(axis=0)).min() > 1 - 1e-12
    assert np.array_equal(alignments, np.ones(3))
    assert np.abs(S - (Q * values) @ Q.T).max() < 1e-12


@pytest.mark.parametrize("rank", [3, 8])
def test_eigenvectors_of_large_matrices_that_are_kept_are_those_of_all(monkeypatch, rank):
    """Also where some that are asked for drown in the noise, whose own have not converged."""
    n, deviation = 700, 3.0
    _, S = planted(n, np.array([2.5, 1.5, 0.8]) * 2 * deviation * math.sqrt(n), 4)
    S += deviation * noise_of(n, 5)
    found = []
    for dense in (hollow._DENSE, n):
        monkeypatch.setattr(hollow, "_DENSE", dense)
        found.append(top_hollow_eigenpairs(S.copy(), rank, deviation, rounds=3, cut=1.02))
    (vectors, values, _), (all_vectors, all_values, _) = found
    assert vectors.shape == all_vectors.shape == (n, 3)
    assert np.abs(values / all_values - 1).max() < 1e-4
    assert np.abs((vectors * all_vectors).sum(axis=0)).min() > 1 - 1e-5


def test_eigenpairs_are_corrected_for_the_noise():
    """An eigenvalue w has standard deviation sqrt(2 c^2) deviations, c^2 = 1 - edge^2 / (4 l^2) >= 0.61, and l one that
    is 1 / c^2 times larger; that of c^2 is of the order n^(-1/2) = 0.06. Means of ten draws are compared at six
    standard deviations. Without the corrections they would be off by n / l = 10 deviations and by 0.39."""
    n, deviation, draws = 280, 3.0, 10
    values = np.array([2.5, 1.5, 0.8]) * 2 * deviation * math.sqrt(n)
    errors, misalignments = [], []
    for seed in range(draws):
        Q, S = planted(n, values, seed)
        S += deviation * noise_of(n, 100 + seed)
        vectors, found, alignments = top_hollow_eigenpairs(S, 3, deviation, rounds=5, cut=1.0)
        assert vectors.shape == (n, 3) and np.abs(vectors.T @ vectors - np.eye(3)).max() < 1e-12
        errors.append((found - values) / deviation)
        misalignments.append((Q * vectors).sum(axis=0) ** 2 - alignments)
    assert np.abs(np.mean(errors, axis=0)).max() < 6 * math.sqrt(2 / 0.61) / math.sqrt(draws)
    assert np.abs(np.mean(misalignments, axis=0)).max() < 6 * 0.06 / math.sqrt(draws)


def test_only_eigenvalues_above_the_cut_are_kept():
    n, values = 200, np.array([100.0, 60.0, 1.0])  # in units of the deviation; the edge is at 28
    Q, S = planted(n, values, 2)
    S += noise_of(n, 3)
    kept = [top_hollow_eigenpairs(S.copy(), 5, 1.0, rounds=3, cut=cut) for cut in (1.2, 3.0, 5.0)]
    assert [len(found) for _, found, _ in kept] == [2, 1, 0]
    assert kept[0][1][0] > kept[0][1][1] and kept[2][0].shape == (n, 0)
    assert np.abs((Q[:, :2] * kept[0][0]).sum(axis=0)).min() > 0.9


# Noise alone.


@pytest.mark.parametrize("n", [250, 400])  # all eigenvectors, and some of them
@pytest.mark.parametrize("rounds", [1, 3])
def test_nothing_is_kept_of_noise(n, rounds):
    """The mean of the largest eigenvalue is at most the edge and it is a Lipschitz function, so that in the first round
    it exceeds 1.3 edges with probability at most exp(-(0.3 edge)^2 / 4) = exp(-0.09 n) < 2e-10."""
    for seed in range(3):
        S = 0.7 * noise_of(n, seed)
        vectors, values, alignments = top_hollow_eigenpairs(S, 4, 0.7, rounds=rounds, cut=1.3)
        assert vectors.shape == (n, 0) and len(values) == len(alignments) == 0


def test_noise_of_a_wrong_scale_is_noticed():
    assert len(top_hollow_eigenpairs(1.4 * noise_of(250, 1), 4, 1.0, rounds=1, cut=1.3)[1]) > 0


# Both ways to the eigenvectors.


def test_all_eigenvectors_and_some_agree(monkeypatch):
    """Eigenvalues to the tolerance of the iteration, eigenvectors to it over their relative gap."""
    n = 320
    _, S = planted(n, np.array([4.0, 2.5, 1.6]) * 2 * math.sqrt(n), 4)
    S += noise_of(n, 5)
    results = []
    for dense in (0, n):
        monkeypatch.setattr(hollow, "_DENSE", dense)
        results.append(top_hollow_eigenpairs(S.copy(), 6, 1.0, rounds=3, cut=1.1))
    (Q, values, alignments), (other_Q, other_values, other_alignments) = results
    assert len(values) == len(other_values) == 3
    assert np.allclose(values, other_values, rtol=1e-4) and np.allclose(alignments, other_alignments, atol=1e-4)
    assert np.abs((Q * other_Q).sum(axis=0)).min() > 1 - 1e-4


@pytest.mark.parametrize("n", [200, 400])
def test_bits_do_not_depend_on_the_number_of_blas_threads(n):
    _, S = planted(n, np.array([200.0, 100.0]), 6)
    S += noise_of(n, 7)
    results = []
    for threads in (1, 2):
        with threadpool_limits(threads, "blas"):
            moved, direction = S.copy(), np.full(n, n**-0.5)
            project_out(moved, direction)
            results.append((moved, *top_hollow_eigenpairs(moved.copy(), 4, 1.0, rounds=2, cut=1.1)))
    assert all(np.array_equal(one, other) for one, other in zip(*results, strict=True))


def test_more_eigenpairs_than_there_are():
    _, S = planted(6, np.array([9.0]), 8)
    vectors, values, _ = top_hollow_eigenpairs(S, 10, 0.0, rounds=1, cut=1.0)
    assert vectors.shape == (6, len(values)) and 1 <= len(values) <= 6


# A direction without weight.


@pytest.mark.parametrize("n", [1, 7, 256, 600])
def test_a_direction_is_projected_out(n):
    S = noise_of(n, n)
    S[np.diag_indices(n)] = np.arange(n)
    direction = np.random.default_rng(n).standard_normal(n)
    direction /= np.linalg.norm(direction)
    P = np.eye(n) - np.outer(direction, direction)
    moved = S.copy()
    project_out(moved, direction)
    assert np.abs(moved - P @ S @ P).max() < 1e-12 * max(np.abs(S).max(), 1.0)
    assert np.abs(moved @ direction).max() < 1e-12 * max(np.abs(S).max(), 1.0) * n
