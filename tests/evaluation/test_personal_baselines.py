"""References without privacy: they satisfy their equations, find what was planted, and stand in their order."""

import numpy as np
import pytest

from hushrank.evaluation.personal_baselines import (
    RATIOS,
    SharedModel,
    fit_local_evidence,
    fit_local_ridge,
    fit_pooled_ridge,
    fit_shared,
    true_model,
)
from hushrank.evaluation.synthetic import shared_representation
from hushrank.exceptions import InvalidParameter

RNG = np.random.default_rng(20240602)


def some_records(sizes, d, noise=0.5):
    users = np.repeat(np.arange(len(sizes)), sizes)
    X = RNG.standard_normal((len(users), d))
    return X, X @ RNG.standard_normal(d) + noise * RNG.standard_normal(len(users)), users


def ridge(X, y, penalty):
    return np.linalg.solve(X.T @ X + penalty * np.eye(X.shape[1]), X.T @ y)


# Alone


@pytest.mark.parametrize("d", [3, 9])
def test_one_penalty_is_used_as_it_is(d):
    X, y, users = some_records([6, 0, 4, 1], d)
    shuffled = RNG.permutation(len(y))
    coef = fit_local_ridge(X[shuffled], y[shuffled], users[shuffled], 4, np.array([0.7]))
    for j in (0, 2, 3):
        assert coef[j] == pytest.approx(ridge(X[users == j], y[users == j], 0.7))
    assert not coef[1].any()


@pytest.mark.parametrize("d", [3, 9])
def test_the_penalty_has_the_smallest_leave_one_out_error(d):
    X, y, _ = some_records([6], d)
    errors = []
    for penalty in RATIOS * np.mean((X**2).sum(axis=1)):
        left_out = [y[i] - X[i] @ ridge(np.delete(X, i, 0), np.delete(y, i), penalty) for i in range(6)]
        errors.append((np.sum(np.square(left_out)), penalty))
    best = min(errors)[1]
    assert fit_local_ridge(X, y, np.zeros(6, int), 1)[0] == pytest.approx(ridge(X, y, best), rel=1e-6)


def test_evidence_is_that_of_the_gaussian_law():
    X, y, _ = some_records([5], 8)
    penalties = RATIOS * np.mean((X**2).sum(axis=1))
    logs = []
    for penalty in penalties:
        A = np.eye(5) + X @ X.T / penalty
        logs.append(-0.5 * np.linalg.slogdet(A)[1] - 2.5 * np.log(y @ np.linalg.solve(A, y)))
    weights = np.exp(np.array(logs) - max(logs))
    expected = sum(w * ridge(X, y, p) for w, p in zip(weights / weights.sum(), penalties, strict=True))
    assert fit_local_evidence(X, y, np.zeros(5, int), 1)[0] == pytest.approx(expected, rel=1e-6)


def test_users_alone_do_not_depend_on_each_other_or_on_units():
    X, y, users = some_records([5, 7, 3], 4)
    for fit in (fit_local_ridge, fit_local_evidence):
        both = fit(X, y, users, 3)
        assert fit(X[users == 1], y[users == 1], np.zeros(7, int), 1)[0] == pytest.approx(both[1])
        assert fit(1e3 * X, 1e-2 * y, users, 3) == pytest.approx(1e-5 * both)
        single = X.astype(np.float32), y.astype(np.float32)
        assert np.array_equal(fit(*single, users, 3), fit(*(part.astype(float) for part in single), users, 3))
        assert not fit(np.zeros((4, 2)), np.ones(4), np.zeros(4, int), 1).any()


# All together


def test_pooled_ridge():
    X, y, _ = some_records([60], 5)
    errors = []
    for penalty in RATIOS * np.linalg.eigvalsh(X.T @ X).mean():
        left_out = [y[i] - X[i] @ ridge(np.delete(X, i, 0), np.delete(y, i), penalty) for i in range(60)]
        errors.append((np.sum(np.square(left_out)), penalty))
    assert fit_pooled_ridge(X, y) == pytest.approx(ridge(X, y, min(errors)[1]), rel=1e-6)
    assert not fit_pooled_ridge(np.zeros((3, 2)), np.ones(3)).any()


# Shared


@pytest.fixture(scope="module")
def data():
    return shared_representation(1500, 12, 2, n_records=5, noise=0.3, seed=1)


def fresh_error(data, model):
    coef = model.coefficients(data.fresh_X, data.fresh_y, data.fresh_users, len(data.heads))
    return data.population_error(coef)


def test_references_stand_in_their_order(data):
    n = len(data.heads)
    oracle = fresh_error(data, true_model(data.embedding, data.heads, data.noise))
    shared = fresh_error(data, fit_shared(data.X, data.y, data.users, n, 2))
    alone = data.population_error(fit_local_evidence(data.fresh_X, data.fresh_y, data.fresh_users, n))
    nothing = data.population_error(np.zeros(12))
    assert data.noise**2 < oracle < shared < 1.03 * oracle < alone < nothing


def test_the_law_of_heads_and_the_noise_are_found(data):
    model = fit_shared(data.X, data.y, data.users, len(data.heads), 2)
    assert model.noise == pytest.approx(0.09, rel=0.08)
    assert model.embedding.T @ model.embedding == pytest.approx(np.eye(2), abs=1e-10)
    sines = data.embedding - model.embedding @ (model.embedding.T @ data.embedding)
    assert np.linalg.norm(sines, 2) < 0.06
    assert model.covariance == pytest.approx(np.eye(2) / 2, abs=0.08) and np.abs(model.mean).max() < 0.08


def test_em_raises_the_likelihood(data):
    n = len(data.heads)

    def log_likelihood(model):
        total = 0.0
        for j in range(n):
            X, y = data.X[5 * j : 5 * j + 5], data.y[5 * j : 5 * j + 5]
            Z = X @ model.embedding
            C, r = Z @ model.covariance @ Z.T + model.noise * np.eye(5), y - Z @ model.mean
            total -= 0.5 * (np.linalg.slogdet(C)[1] + r @ np.linalg.solve(C, r))
        return total

    values = [
        log_likelihood(fit_shared(data.X, data.y, data.users, n, 2, n_iterations=i, tol=0.0)) for i in (1, 2, 4, 30)
    ]
    assert values == sorted(values)
    truth = true_model(data.embedding, data.heads, data.noise)
    assert values[-1] > log_likelihood(truth)


def test_heads_are_posterior_means():
    model = SharedModel(np.eye(4)[:, :2], np.array([1.0, -1.0]), np.array([[2.0, 0.5], [0.5, 1.0]]), 0.3)
    X, y, users = some_records([3, 0], 4)
    P = np.linalg.inv(model.covariance)
    Z = X[:, :2]
    head = np.linalg.solve(Z.T @ Z / 0.3 + P, Z.T @ y / 0.3 + P @ model.mean)
    coef = model.coefficients(X, y, users, 2)
    assert coef[0] == pytest.approx([*head, 0.0, 0.0]) and coef[1] == pytest.approx([1.0, -1.0, 0.0, 0.0])


def test_heads_of_labels_are_modes():
    model = SharedModel(np.eye(3)[:, :2], np.array([0.5, 0.0]), np.diag([4.0, 9.0]), 1.0, labels=True)
    X = 3 * RNG.standard_normal((8, 3))
    y, users = np.array([0, 1, 1, 0, 1, 1, 1, 1.0]), np.array([0] * 6 + [1] * 2)
    coef = model.coefficients(X, y, users, 3)
    for j in (0, 1):
        Z, v = X[users == j][:, :2], coef[j, :2]
        gradient = Z.T @ (y[users == j] - 1 / (1 + np.exp(-Z @ v))) - (v - model.mean) / [4.0, 9.0]
        assert gradient == pytest.approx([0.0, 0.0], abs=1e-9)
    assert coef[2] == pytest.approx([0.5, 0.0, 0.0])
    data = shared_representation(800, 6, 2, n_records=1, noise=0.0, seed=3, n_fresh=20, head_norm=3.0, labels=True)
    coef = true_model(data.embedding, data.heads, 0.0, labels=True).coefficients(
        data.fresh_X, data.fresh_y, data.fresh_users, 800
    )
    truth, oracle = data.population_risks(data.coef)[0], data.population_risks(coef)[0]
    assert truth < oracle < 0.45 < data.population_risks(np.zeros(6))[0]


def test_results_are_repeatable_in_any_order_and_with_users_without_records(data):
    n = len(data.heads)
    first = fit_shared(data.X, data.y, data.users, n, 2, n_iterations=5)
    shuffled = RNG.permutation(len(data.y))
    other = fit_shared(data.X[shuffled], data.y[shuffled], data.users[shuffled], n + 3, 2, n_iterations=5)
    assert np.array_equal(first.embedding, fit_shared(data.X, data.y, data.users, n, 2, n_iterations=5).embedding)
    assert first.embedding @ first.embedding.T == pytest.approx(other.embedding @ other.embedding.T, abs=1e-8)
    assert other.coefficients(data.X, data.y, data.users, n + 3)[-1] == pytest.approx(other.embedding @ other.mean)


def test_data_without_noise():
    data = shared_representation(600, 8, 2, n_records=5, noise=0.0, seed=2)
    assert fresh_error(data, fit_shared(data.X, data.y, data.users, 600, 2)) < 1e-6
    assert fresh_error(data, true_model(data.embedding, data.heads, 0.0)) < 1e-6


@pytest.mark.parametrize("wrong", [{"n_components": 0}, {"n_components": 13}, {"n_iterations": 0}])
def test_refusals(data, wrong):
    with pytest.raises(InvalidParameter, match=next(iter(wrong))):
        fit_shared(data.X, data.y, data.users, 1500, **({"n_components": 2} | wrong))
