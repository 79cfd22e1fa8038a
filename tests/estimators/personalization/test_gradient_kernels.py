"""Gradients are those of the likelihood, shortened together with their normalizers; variances are unbiased."""

import math
from dataclasses import replace

import numpy as np
import pytest

from hushrank.estimators.personalization import gradient_kernels as kernels
from hushrank.linalg.scatter import Bound
from record_support import (
    D,
    K,
    arrays_of,
    fitted,
    make_state,
    make_users,
    same_bits,
)
from support import FALSE_ALARM

LIMIT = 2.0**40


def gradient_of(user, state, d=D):
    """Gradient of shape (d, k), f and the fit of one user."""
    model, tangent, k = state.head_model, state.tangent, len(state.S)
    records, fit, work = fitted([user], model, d=d)
    scratch = kernels.new_scratch(k, d)
    kernels.find_gradient(records, fit, model, tangent, work, scratch)
    return scratch.gradient.T.copy(), scratch.scaled.copy(), fit


def log_evidence(user, U, state):
    """Of one user's answers, heads integrated out, up to a constant."""
    X, y = user
    Z = X @ state.whitening @ U
    C = Z @ state.S @ Z.T + state.noise * np.eye(len(y))
    return -0.5 * (y @ np.linalg.solve(C, y) + np.linalg.slogdet(C)[1])


def root_inverse(S):
    values, Q = np.linalg.eigh(S)
    return Q @ np.diag(values**-0.5) @ Q.T


# The gradient


@pytest.mark.parametrize("m", [1, 2, 5, 40])
@pytest.mark.parametrize("noise", [0.05, 2.0])
def test_gradients_are_the_noise_times_those_of_the_likelihood_in_the_tangent_space(m, noise):
    """(I - U U^T) s2 dL/dU S^-1/2, by central differences."""
    for seed in range(3):
        state = make_state(seed, noise=noise)
        user = make_users(np.random.default_rng(100 + seed), [m])[0]
        found, _, _ = gradient_of(user, state)
        slopes, h = np.zeros((D, K)), 1e-6
        for p in range(D):
            for a in range(K):
                step = np.zeros((D, K))
                step[p, a] = h
                ends = [log_evidence(user, state.U + sign * step, state) for sign in (1, -1)]
                slopes[p, a] = (ends[0] - ends[1]) / (2 * h)
        tangent = slopes - state.U @ (state.U.T @ slopes)
        expected = state.noise * tangent @ root_inverse(state.S)
        assert np.abs(expected).max() > 1e-3
        assert found == pytest.approx(expected, rel=1e-5, abs=1e-6)
        assert state.U.T @ found == pytest.approx(np.zeros((K, K)), abs=1e-9)


def test_at_the_truth_gradients_have_mean_zero():
    """A quadratic form of the answers plus a constant: its mean is a sum over columns of a root of their covariance.

    Heads that are fitted to the same records would be biased without the second term of the coefficients.
    """
    state = make_state(3, noise=0.7)
    X = np.random.default_rng(4).standard_normal((9, D))
    Z = X @ state.whitening @ state.U
    root = np.linalg.cholesky(Z @ state.S @ Z.T + state.noise * np.eye(9))
    constant = gradient_of((X, np.zeros(9)), state)[0]
    forms = [gradient_of((X, column), state)[0] - constant for column in root.T]
    assert np.abs(constant).max() > 0.01
    assert sum(forms) + constant == pytest.approx(np.zeros((D, K)), abs=1e-9)


@pytest.mark.parametrize("m", [3, 50])
def test_gradients_of_labels_are_those_of_the_formula(m):
    """sum x (r v - w Sigma z)^T, Sigma the covariance of Laplace's approximation."""
    state = make_state(5, is_logistic=True)
    X, y = make_users(np.random.default_rng(6), [m])[0]
    found, scaled, _ = gradient_of((X, y), state)
    _, _, work = fitted([(X, y)], state.head_model)
    Z, r, w = work.Z[:m], work.residuals[:m], work.weights[:m]
    A = np.outer(r, work.head) - w[:, None] * (Z @ work.spread)
    root = root_inverse(state.S)
    G = (np.eye(D) - state.U @ state.U.T) @ state.whitening @ X.T @ A @ root
    assert found == pytest.approx(G, abs=1e-10) and np.abs(G).max() > 0.01
    assert scaled == pytest.approx(root @ work.head, abs=1e-12)


# The variance of the noise


def test_variances_of_the_noise_are_unbiased_at_the_truth():
    """Residuals are linear in the answers: the mean is a sum over the columns of a root of their covariance."""
    state = make_state(7, noise=0.7)
    for m in (2, 3, 10):
        X = np.random.default_rng(m).standard_normal((m, D))
        Z = X @ state.whitening @ state.U
        root = np.linalg.cholesky(Z @ state.S @ Z.T + state.noise * np.eye(m))
        levels = kernels.noise_levels(arrays_of([(X, column) for column in root.T]), state.head_model)
        assert levels.sum() == pytest.approx(state.noise, rel=1e-9)


def test_mean_variances_of_planted_users_are_near_the_truth():
    """Squares are weighted sums of squared normals: tails by Laurent and Massart (2000), Lemma 1."""
    state, rng, m, n = make_state(8, noise=0.7), np.random.default_rng(), 6, 4000
    model, root = state.head_model, np.linalg.cholesky(state.S)
    users, spread, largest = [], 0.0, 0.0
    for _ in range(n):
        X = rng.standard_normal((m, D))
        Z = X @ model.subspace.T
        users.append((X, Z @ root @ rng.standard_normal(K) + math.sqrt(0.7) * rng.standard_normal(m)))
        shrunk = np.linalg.eigvalsh(np.linalg.inv(np.eye(m) + Z @ state.S @ Z.T / 0.7))
        weights = 0.7 * shrunk / shrunk.sum() / n
        spread, largest = spread + weights @ weights, max(largest, weights.max())
    t = math.log(2.0 / FALSE_ALARM)
    error = kernels.noise_levels(arrays_of(users), model).mean() - 0.7
    assert -2 * math.sqrt(spread * t) < error < 2 * math.sqrt(spread * t) + 2 * largest * t < 0.2


def test_users_without_information_take_an_em_step_for_the_variance():
    """One record that decides its own fit: residual and what the posterior leaves open."""
    state = replace(make_state(9, k=1, noise=1e-3), S=np.eye(1))
    user = (10.0 * state.U.T, np.array([5.0]))
    _, fit, work = fitted([user], state.head_model)
    assert 0.0 < fit.information < 0.02
    level = kernels.noise_levels(arrays_of([user]), state.head_model)[0]
    assert level == pytest.approx(work.residuals[0] ** 2 + 1e-3 * (1.0 - fit.information), rel=1e-9)


def test_users_without_records_have_no_variance():
    users = [*make_users(np.random.default_rng(10), [0, 3]), (np.full((2, D), math.nan), np.ones(2))]
    levels = kernels.noise_levels(arrays_of(users), make_state(11).head_model)
    assert (levels > 0.0).tolist() == [False, True, False]


# Sums


def sum_gradients(users, state, norm, size):
    total, normalizer = np.zeros((K, D), np.int64), np.zeros((K, K), np.int64)
    limits = Bound(norm, LIMIT), Bound(math.sqrt(size), 2.0**36)
    kernels.add_gradients(arrays_of(users), state.head_model, state.tangent, *limits, total, normalizer)
    return total * (norm / math.sqrt(LIMIT)), normalizer * (size / 2.0**36)


@pytest.mark.parametrize("is_logistic", [False, True])
def test_gradients_and_normalizers_are_shortened_by_one_factor(is_logistic):
    """The smallest that either bound asks for; normalizers count the information that is left, not the records."""
    state, binding = make_state(12, is_logistic=is_logistic), set()
    for user in make_users(np.random.default_rng(13), [1, 2, 4, 8, 30, 30, 30]):
        G, f, fit = gradient_of(user, state)
        N = fit.information * np.outer(f, f)
        for share, small in ((2.0, 2.0), (0.5, 2.0), (2.0, 0.5), (0.2, 0.5), (0.5, 0.2)):
            norm, size = share * np.linalg.norm(G), small * np.linalg.norm(N)
            factor = min(1.0, share, small)
            total, normalizer = sum_gradients([user], state, norm, size)
            assert total == pytest.approx(factor * G.T, abs=1e-5 * norm)
            assert normalizer == pytest.approx(factor * N, abs=1e-4 * size)
            binding.add((share < 1, small < 1, share < small))
    assert len(binding) >= 4


def test_sizes_are_the_norms_of_what_is_summed():
    for is_logistic in (False, True):
        state = make_state(14, is_logistic=is_logistic)
        users = make_users(np.random.default_rng(15), [1, 0, 5, 20])
        norms, sizes = kernels.gradient_sizes(arrays_of(users), state.head_model, state.tangent)
        for j, user in enumerate(users):
            G, f, fit = gradient_of(user, state)
            expected = (np.linalg.norm(G), fit.information * f @ f) if fit.n_records else (0.0, 0.0)
            assert (norms[j], sizes[j]) == pytest.approx(expected, rel=1e-12)


# Products


@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 3, 5), (3, 4, 4), (2, 9, 6)])
def test_products_of_matrices_are_those_of_numpy(shape):
    rng, (k, d, width) = np.random.default_rng(18), shape
    M, P, product = rng.standard_normal((k, d)), rng.standard_normal((d, width)), np.full((k, width), math.nan)
    kernels.multiply(M, P, product)
    assert product == pytest.approx(M @ P, abs=1e-12)
    assert kernels.squared_length(M) == pytest.approx((M * M).sum())


def test_gradients_of_float32_records_have_the_same_bits():
    X, y = make_users(np.random.default_rng(19), [30])[0]
    narrow, state = X.astype(np.float32), make_state(20)
    made = [
        kernels.gradient_sizes(arrays_of([(Y, y)], Y.dtype), state.head_model, state.tangent)
        for Y in (narrow, narrow.astype(np.float64))
    ]
    assert all(map(same_bits, *made)) and made[0][0].all()
