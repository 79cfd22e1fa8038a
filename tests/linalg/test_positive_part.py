"""Regressions with positive parts against eigendecompositions, for spectra that are easy and that are not."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrank.linalg.positive_part import solve_positive_part


def solve(A, B, ridge, noise):
    rows, columns = np.tril_indices(A.shape[1])
    X = np.empty(B.shape)
    solve_positive_part(np.ascontiguousarray(A[:, rows, columns]), B, ridge, noise, X)
    return X


def expected(A, B, ridge, noise):
    w, Q = np.linalg.eigh(A)
    gains = np.where(w > 0, w / np.where(w > 0, w * (w + ridge) + noise, 1.0), 0.0)
    return np.einsum("nij,nj->ni", Q, gains * np.einsum("nij,ni->nj", Q, B))


def symmetric(rng, n, size):
    A = rng.standard_normal((n, size, size))
    return A + A.transpose(0, 2, 1)


@settings(deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([1, 2, 3, 4, 7, 16, 33]), st.sampled_from([0.0, 0.3, 50.0]))
def test_it_is_the_filtered_eigendecomposition(seed, size, noise):
    rng = np.random.default_rng(seed)
    A, B = symmetric(rng, 5, size), rng.standard_normal((5, size))
    assert np.allclose(solve(A, B, 0.5, noise), expected(A, B, 0.5, noise), rtol=0, atol=1e-9)


def spectra():
    """Matrices with clustered, repeated, split and graded spectra, some already diagonal or tridiagonal."""
    rng, size = np.random.default_rng(1), 9
    Q = np.linalg.qr(rng.standard_normal((size, size)))[0]
    yield "identity", np.eye(size)
    yield "negative", -np.eye(size)
    yield "zero", np.zeros((size, size))
    yield "rank one", np.outer(Q[0], Q[0])
    yield "repeated", (Q * np.repeat([2.0, -1.0, 0.5], 3)) @ Q.T
    yield "graded", (Q * 10.0 ** np.arange(-4, 5)) @ Q.T
    yield "diagonal", np.diag(np.arange(-4.0, 5.0))
    yield "tridiagonal", np.diag(np.ones(8), 1) + np.diag(np.ones(8), -1)
    block = np.zeros((size, size))
    block[:4, :4], block[5:, 5:] = symmetric(rng, 1, 4)[0], symmetric(rng, 1, 4)[0]
    yield "split", block
    arrow = np.eye(size)
    arrow[0] = arrow[:, 0] = 3.0
    yield "arrow", arrow


@pytest.mark.parametrize("name, A", spectra(), ids=lambda value: value if isinstance(value, str) else "")
@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_awkward_spectra(name, A, noise):
    A = (A + A.T) / 2
    B = np.random.default_rng(2).standard_normal((1, len(A)))
    # Eigenvalues of zero come out as tiny ones of either sign, on which the answer may depend if there is no noise.
    if noise == 0.0 and np.linalg.matrix_rank(A) < len(A):
        B = B @ A
    assert np.allclose(solve(A[None], B, 0.5, noise), expected(A[None], B, 0.5, noise), rtol=0, atol=1e-8)


def test_a_positive_matrix_without_noise_is_ridge_regression():
    rng = np.random.default_rng(3)
    Y = rng.standard_normal((20, 40, 12))
    A, B = Y.transpose(0, 2, 1) @ Y, rng.standard_normal((20, 12))
    X = np.linalg.solve(A + 0.7 * np.eye(12), B[:, :, None])[:, :, 0]
    assert np.allclose(solve(A, B, 0.7, 0.0), X, rtol=1e-10)


def test_scaling_and_rotation():
    rng = np.random.default_rng(4)
    A, B = symmetric(rng, 3, 6), rng.standard_normal((3, 6))
    Q = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    X = solve(A, B, 0.5, 0.2)
    for scale in (1e-6, 1e6):
        assert np.allclose(solve(scale * A, B, scale * 0.5, scale**2 * 0.2), X / scale, rtol=1e-8)
    assert np.allclose(solve(Q @ A @ Q.T, B @ Q.T, 0.5, 0.2), X @ Q.T, atol=1e-10)


def test_matrices_do_not_touch_each_other():
    rng = np.random.default_rng(5)
    A, B = symmetric(rng, 30, 5), rng.standard_normal((30, 5))
    alone = np.vstack([solve(A[i : i + 1], B[i : i + 1], 0.5, 0.2) for i in range(30)])
    assert np.array_equal(solve(A, B, 0.5, 0.2), alone)
    assert solve(A[:0], B[:0], 0.5, 0.2).shape == (0, 5)
