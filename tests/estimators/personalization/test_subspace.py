"""A subspace and its prior of heads: powers, steps that stay orthonormal, and what kernels are given."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrank.estimators.personalization.subspace import clamp, orthonormalize, power, principal_angles_error, turn
from record_support import D, K, make_state


def spd(seed, k=3):
    R = np.random.default_rng(seed).standard_normal((k, k))
    return R @ R.T + 0.1 * np.eye(k)


def test_kernels_are_given_the_subspace_in_the_coordinates_of_the_records():
    state = make_state(1)
    model, tangent = state.head_model, state.tangent
    assert model.subspace == pytest.approx((state.whitening @ state.U).T, abs=1e-12)
    assert model.precision @ state.S == pytest.approx(np.eye(K), abs=1e-9)
    assert (model.noise, model.is_logistic, model.mean.tolist()) == (state.noise, False, [0.0, 0.0])
    assert tangent.root @ state.S @ tangent.root == pytest.approx(np.eye(K), abs=1e-9)
    assert tangent.projection == pytest.approx(state.whitening @ (np.eye(D) - state.U @ state.U.T), abs=1e-12)
    assert tangent.projection @ state.U == pytest.approx(np.zeros((D, K)), abs=1e-12)
    arrays = (model.subspace, model.mean, model.precision, tangent.root, tangent.projection)
    assert all(array.flags.c_contiguous and array.dtype == np.float64 for array in arrays)


@pytest.mark.parametrize("exponent", [-1.0, -0.5, 0.5, 1.0])
def test_powers_are_those_of_the_eigenvalues(exponent):
    S = spd(2)
    raised = power(S, exponent)
    assert (raised == raised.T).all()
    values, Q = np.linalg.eigh(S)
    assert raised == pytest.approx(Q @ np.diag(values**exponent) @ Q.T, rel=1e-9, abs=1e-12)


def test_powers_of_singular_covariances_are_finite():
    """No eigenvalue counts as smaller than a billionth of the trace."""
    v = np.array([3.0, 4.0, 0.0]) / 5.0
    for S in (np.outer(v, v), np.outer(v, v) - 1e-3 * np.eye(3), 1e-290 * np.eye(3)):
        assert np.isfinite(power(S, -1.0)).all() and np.isfinite(power(S, -0.5)).all()
    assert np.linalg.eigvalsh(power(np.outer(v, v), -1.0)) == pytest.approx([1.0, 1e9, 1e9], rel=1e-6)


def test_eigenvalues_are_clamped_and_eigenvectors_kept():
    values, Q = np.linalg.eigh(spd(3))
    S = Q @ np.diag([-1.0, 0.5, 9.0]) @ Q.T
    clamped = clamp(S, 0.2, 2.0)
    assert clamped == pytest.approx(Q @ np.diag([0.2, 0.5, 2.0]) @ Q.T, abs=1e-12) and (clamped == clamped.T).all()
    assert values.min() > 0.0


@given(st.integers(0, 2**32), st.sampled_from([0.0, 1e-9, 0.3, 1.0, 30.0, 1e9]))
@settings(deadline=None, max_examples=30)
def test_a_turn_keeps_columns_orthonormal_and_is_at_most_45_degrees(seed, length):
    rng, state = np.random.default_rng(seed), make_state(seed, d=6, k=3)
    D = rng.standard_normal((6, 3))
    D = length * (D - state.U @ (state.U.T @ D))
    U, S = turn(state, D)
    assert U.T @ U == pytest.approx(np.eye(3), abs=1e-12)
    cosines = np.linalg.svd(state.U.T @ U, compute_uv=False)
    assert cosines.min() >= math.sqrt(0.5) - 1e-9
    assert S == pytest.approx(S.T, abs=1e-9) and np.linalg.eigvalsh(S).min() > 0.0


def test_a_turn_keeps_the_covariance_of_the_coefficients_of_its_step():
    """U v with v ~ N(0, S) becomes (U + D) v, in new coordinates."""
    state = make_state(4)
    D_step = np.random.default_rng(5).standard_normal((D, K))
    D_step = 0.3 * (D_step - state.U @ (state.U.T @ D_step)) / np.linalg.norm(D_step)
    U, S = turn(state, D_step)
    moved = state.U + D_step
    assert U @ S @ U.T == pytest.approx(moved @ state.S @ moved.T, abs=1e-12)
    assert principal_angles_error(U, orthonormalize(moved)[0]) < 1e-12
    same, unchanged = turn(state, np.zeros((D, K)))
    assert same == pytest.approx(state.U, abs=1e-12) and unchanged == pytest.approx(state.S, abs=1e-12)


def test_signs_of_a_factorization_do_not_depend_on_lapack():
    A = np.random.default_rng(6).standard_normal((5, 3))
    for signs in ([1, 1, 1], [-1, 1, -1]):
        Q, R = orthonormalize(A * signs)
        assert (np.diag(R) > 0).all() and Q @ R == pytest.approx(A * signs, abs=1e-12)
        assert Q.flags.c_contiguous and Q.T @ Q == pytest.approx(np.eye(3), abs=1e-12)


def test_the_error_is_the_root_mean_squared_sine():
    U, truth = np.eye(4)[:, :2], np.eye(4)[:, [0, 2]]
    assert principal_angles_error(U, U) == 0.0
    assert principal_angles_error(U, truth) == pytest.approx(math.sqrt(0.5))
    assert principal_angles_error(U, np.eye(4)[:, 2:]) == pytest.approx(1.0)


def test_labels_have_no_noise_of_their_own():
    assert replace(make_state(7, is_logistic=True)).head_model.noise == 1.0
