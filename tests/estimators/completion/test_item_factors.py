"""Item factors without data: numbers that look normal, eigenvectors, shortened rows, changes of units."""

import numpy as np
import pytest

from hushrank.estimators.completion.item_factors import (
    leading_eigenpairs,
    scatter_normals,
    shorten_rows,
    symmetric_power,
    to_balanced_units,
    to_prior_units,
)


def test_scattered_normals_look_normal_and_uncorrelated():
    for shape in ((1000, 5), (4000, 16)):
        Z = scatter_normals(*shape)
        assert np.array_equal(Z, scatter_normals(*shape)) and Z.shape == shape
        assert abs(Z.mean()) < 0.02 and abs(Z.std() - 1) < 0.02
        assert np.abs(np.corrcoef(Z.T) - np.eye(shape[1])).max() < 0.12
        assert abs(np.mean(np.abs(Z) > 1.0) - 0.3173) < 0.02


@pytest.mark.parametrize("n_items", [3, 40, 400])
def test_leading_eigenpairs_of_small_and_large_matrices(n_items):
    rng = np.random.default_rng(8)
    A = rng.normal(size=(n_items, n_items))
    A = A + A.T + 3 * n_items * np.diag(np.arange(n_items) < 2)
    w, Q = leading_eigenpairs(A, 3)
    expected, columns = np.linalg.eigh(A)
    assert np.allclose(w, expected[::-1][:3], rtol=1e-3)
    assert np.allclose(np.abs(Q @ columns[:, ::-1][:, :2]), np.eye(3, 2), atol=1e-3)
    assert all(row[np.abs(row).argmax()] > 0 for row in Q)
    assert np.array_equal(Q, leading_eigenpairs(A.copy(), 3)[1])


def test_rows_are_shortened_and_short_ones_kept():
    V = np.array([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0]])
    assert np.allclose(shorten_rows(V, 1.0), [[0.6, 0.8], [0.3, 0.4], [0.0, 0.0]], rtol=1e-15)


def test_powers_of_a_matrix_and_changes_of_units():
    rng = np.random.default_rng(6)
    B = rng.normal(size=(3, 3))
    A = B @ B.T
    root = symmetric_power(A, 0.5)
    assert np.allclose(root @ root, A) and np.allclose(symmetric_power(A, -1.0) @ A, np.eye(3))
    assert np.isfinite(symmetric_power(np.zeros((2, 2)), -0.25)).all()
    V = rng.normal(size=(20, 3))
    W = to_prior_units(V)
    assert np.allclose(to_balanced_units(W), V)
    # If balanced factors u have second moment S = V^T V / n, then S^(-1/2) u, which W belongs to, has I.
    S = V.T @ V / 20
    assert np.allclose(W @ symmetric_power(S, -0.5), V)
    assert not to_prior_units(np.zeros((4, 2))).any() and not to_balanced_units(np.zeros((4, 2))).any()
