"""A user's own coefficients: averages over priors, as NumPy computes them with matrices of all records."""

import math

import numpy as np
import pytest

from hushrank.estimators.personalization.local_kernels import LocalPrior, local_coefficients
from hushrank.estimators.personalization.recipe import LOCAL
from record_support import adverse_users, arrays_of, make_users, same_bits

D, K = 6, 2
LOCAL_PRIORS = list(zip(LOCAL.ratios, LOCAL.weights, LOCAL.is_shared, strict=True))


def make_prior(seed=0, priors=None, noise=0.3, is_logistic=False, d=D):
    """A released prior; `priors` are triples of a ratio, a weight and whether it knows the subspace."""
    ratios, weights, is_shared = zip(*(priors or LOCAL_PRIORS), strict=True)
    rng = np.random.default_rng(seed)
    U, R = np.linalg.qr(rng.standard_normal((d, K)))[0], rng.standard_normal((K, K))
    values, Q = np.linalg.eigh(R @ R.T + 0.2 * np.eye(K))
    S, root = (Q * values) @ Q.T, np.ascontiguousarray((Q * np.sqrt(values)) @ Q.T)
    center = np.zeros(d) if is_logistic else U @ rng.standard_normal(K)
    terms = (np.ascontiguousarray(U.T), center, np.ascontiguousarray(S), root, noise)
    return LocalPrior(*terms, np.array(ratios), np.log(weights), np.array(is_shared), is_logistic)


def each_prior(prior, answer_square, record_square):
    """Log weight, mean and covariance of the coefficients under each prior."""
    U = prior.subspace.T
    for ratio, log_weight, is_shared in zip(prior.ratios, prior.log_weights, prior.is_shared, strict=True):
        variance, inside = ratio * answer_square / record_square, U @ U.T
        if is_shared:
            yield log_weight, prior.center, U @ prior.covariance @ U.T + variance * (np.eye(len(U)) - inside)
        else:
            yield log_weight, np.zeros(len(U)), variance * np.eye(len(U))


def noises_of(prior, answer_square):
    """Variance of the noise under each prior: released, or a tenth of the mean square where it knows no subspace."""
    shared = max(prior.noise, 1e-6 * answer_square)
    return [shared if is_shared else 0.1 * answer_square for is_shared in prior.is_shared]


def average(estimates, log_weights):
    weights = np.exp(np.array(log_weights) - max(log_weights))
    return weights @ np.array(estimates) / weights.sum()


def by_numpy(user, prior):
    """Squared loss: evidence with the variance of the noise integrated out, four records for the released one."""
    X, y = user
    n, second, estimates, evidence = len(y), np.mean(y**2), [], []
    priors = zip(noises_of(prior, second), each_prior(prior, second, (X**2).sum() / n), strict=True)
    for noise, (log_weight, mean, C) in priors:
        error, K_noisy = y - X @ mean, X @ C @ X.T + noise * np.eye(n)
        pulls = np.linalg.solve(K_noisy, error)
        log_det = np.linalg.slogdet(K_noisy / noise)[1]
        squares = noise * error @ pulls
        marginal = 2.0 * math.log(4.0 * noise) - 0.5 * (4.0 + n) * math.log(4.0 * noise + squares)
        evidence.append(log_weight - 0.5 * log_det + marginal)
        estimates.append(mean + C @ X.T @ pulls)
    return average(estimates, evidence)


def labels_by_numpy(user, prior):
    """Logistic loss: the mode by Newton steps in the space of coefficients, and Laplace's evidence."""
    X, labels = user[0], (user[1] > 0.0).astype(float)
    estimates, evidence = [], []
    for log_weight, _, C in each_prior(prior, 4.0, (X**2).sum() / len(X)):
        values, Q = np.linalg.eigh(C)
        root = Q * np.sqrt(np.maximum(values, 0.0))
        F, w = X @ root, np.zeros(len(C))
        for _ in range(100):
            p = 1.0 / (1.0 + np.exp(-F @ w))
            H = (F * (p * (1.0 - p))[:, None]).T @ F + np.eye(len(w))
            step = np.linalg.solve(H, F.T @ (labels - p) - w)
            w = w + step * min(1.0, 1.0 / max(np.linalg.norm(step), 1e-300))
        signed = np.where(labels > 0.5, 1.0, -1.0) * (F @ w)
        likelihood = -np.logaddexp(0.0, -signed).sum() - 0.5 * w @ w
        evidence.append(log_weight + likelihood - 0.5 * np.linalg.slogdet(H)[1])
        estimates.append(root @ w)
    return average(estimates, evidence)


def coefficients(user, prior, dtype=np.float64):
    return local_coefficients(arrays_of([user], dtype, user[0].shape[1]), prior)[0]


# Both branches: matrices of records where they are few, of features where they are many


@pytest.mark.parametrize("m", [1, 2, D, D + 1, 40, 300])
@pytest.mark.parametrize("noise", [0.3, 1e-3, 0.0])
def test_coefficients_are_averages_of_regressions_by_their_evidence(m, noise):
    for seed in range(4):
        prior = make_prior(seed, noise=noise)
        user = make_users(np.random.default_rng(20 + seed), [m], d=D, noise=0.6)[0]
        assert coefficients(user, prior) == pytest.approx(by_numpy(user, prior), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("m", [1, 2, D, D + 1, 40, 300])
def test_coefficients_of_labels_are_averages_of_modes(m):
    for seed in range(4):
        prior = make_prior(seed, is_logistic=True)
        user = make_users(np.random.default_rng(30 + seed), [m], d=D)[0]
        assert coefficients(user, prior) == pytest.approx(labels_by_numpy(user, prior), rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("ratio, is_shared", [(0.0, True), (0.1, True), (0.1, False)])
@pytest.mark.parametrize("m", [3, D + 1, 50])
def test_coefficients_of_labels_satisfy_their_stationarity(ratio, is_shared, m):
    """theta = C X^T (labels - probabilities) at the mode, for one prior."""
    prior = make_prior(1, [(ratio, 1.0, is_shared)], is_logistic=True)
    X, y = make_users(np.random.default_rng(2), [m], d=D)[0]
    theta = coefficients((X, y), prior)
    probabilities = 1.0 / (1.0 + np.exp(-X @ theta))
    [(_, _, C)] = each_prior(prior, 4.0, (X**2).sum() / m)
    assert theta == pytest.approx(C @ X.T @ ((y > 0.0) - probabilities), abs=1e-6) and np.abs(theta).max() > 0.01


@pytest.mark.parametrize("is_shared", [True, False])
def test_few_and_many_records_meet_without_a_jump(is_shared):
    """A record of nothing says nothing, but d + 1 take another branch than d; both mean squares fall alike by it."""
    prior = make_prior(3, [(0.5, 1.0, is_shared)])
    X, y = make_users(np.random.default_rng(4), [D], d=D)[0]
    more = np.vstack([X, np.zeros(D)]), np.append(y, 0.0)
    if is_shared:  # a prior without the subspace takes the noise from the mean square
        assert coefficients(more, prior) == pytest.approx(coefficients((X, y), prior), abs=1e-6)
    assert coefficients(more, prior) == pytest.approx(by_numpy(more, prior), abs=1e-9)


def test_a_prior_that_does_not_know_the_subspace_is_a_ridge_regression_of_the_user_alone():
    X, y = make_users(np.random.default_rng(17), [9], d=D)[0]
    variance = 0.5 * np.mean(y**2) / ((X**2).sum() / 9)
    expected = np.linalg.solve(X.T @ X + 0.1 * np.mean(y**2) / variance * np.eye(D), X.T @ y)
    found = [coefficients((X, y), make_prior(seed, [(0.5, 1.0, False)])) for seed in (18, 19)]
    assert found[0] == pytest.approx(expected, abs=1e-9) and found[1] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("is_logistic", [False, True])
def test_ten_thousand_records_find_coefficients_outside_of_the_subspace(is_logistic):
    rng, truth = np.random.default_rng(5), np.array([1.0, -1.0, 0.5, 0.0, 2.0, -0.5])
    X = rng.standard_normal((10_000, D))
    noise = rng.logistic(size=10_000) if is_logistic else 0.5 * rng.standard_normal(10_000)
    found = coefficients((X, X @ truth + noise), make_prior(6, is_logistic=is_logistic))
    assert np.linalg.norm(found - truth) < (0.3 if is_logistic else 0.1)


def test_users_of_the_subspace_stay_in_it():
    prior = make_prior(7)
    X = np.random.default_rng(8).standard_normal((20, D))
    y = X @ prior.subspace.T @ np.array([1.0, -2.0]) + 0.5 * np.random.default_rng(9).standard_normal(20)
    found = coefficients((X, y), prior)
    outside = found - prior.subspace.T @ (prior.subspace @ found)
    assert np.linalg.norm(outside) < 0.1 * np.linalg.norm(found)


# Values and bits


@pytest.mark.parametrize("is_logistic", [False, True])
def test_without_usable_records_the_coefficients_are_those_of_the_mean_head(is_logistic):
    prior = make_prior(10, is_logistic=is_logistic)
    nothing, bad = (np.empty((0, D)), np.empty(0)), math.nan
    for user in (nothing, (np.full((3, D), bad), np.ones(3)), (np.ones((2, D)), np.full(2, bad))):
        assert same_bits(coefficients(user, prior), prior.center)


@pytest.mark.parametrize("is_logistic", [False, True])
def test_records_that_are_not_finite_are_absent(is_logistic):
    X, y = make_users(np.random.default_rng(11), [9], d=D)[0]
    spoilt, answers, prior = X.copy(), y.copy(), make_prior(12, is_logistic=is_logistic)
    spoilt[2, 0], answers[7] = math.inf, math.nan
    kept = np.delete(X, [2, 7], axis=0), np.delete(y, [2, 7])
    assert same_bits(coefficients((spoilt, answers), prior), coefficients(kept, prior))


@pytest.mark.parametrize("is_logistic", [False, True])
@pytest.mark.parametrize("noise", [0.0, 1e-300, 1.0, 1e300])
def test_coefficients_are_finite_and_the_same_alone_whatever_the_records(is_logistic, noise):
    users, prior = adverse_users(np.random.default_rng(13), D), make_prior(14, noise=noise)
    prior = prior._replace(is_logistic=is_logistic, center=prior.center * (not is_logistic))
    together = local_coefficients(arrays_of(users.values(), d=D), prior)
    for (name, user), found in zip(users.items(), together, strict=True):
        assert same_bits(found, coefficients(user, prior)), name
        assert np.isfinite(found).all(), name


def test_float32_records_have_the_same_bits():
    X, y = make_users(np.random.default_rng(15), [9], d=D)[0]
    narrow, prior = X.astype(np.float32), make_prior(16)
    assert same_bits(coefficients((narrow, y), prior, np.float32), coefficients((narrow.astype(np.float64), y), prior))
