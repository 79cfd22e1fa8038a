"""The published prior of heads: moments, a scale by the check, and nothing where nothing stood out."""

import numpy as np
import pytest

from hushrank.estimators.personalization import head_prior
from hushrank.estimators.personalization.head_prior import Check, best_scale, symmetric
from hushrank.estimators.personalization.recipe import GRADIENT
from hushrank.evaluation.synthetic import shared_representation
from representation_support import release_exactly, representation

RNG = np.random.default_rng(3)
SCALES = (1.0, 0.25, 4.0)


# The check


@pytest.mark.parametrize(
    ("gains", "scale"),
    [
        ((0.5, 0.4, 0.3), 1.0),
        ((0.5, 0.5 + 0.99 * GRADIENT.better_gain * 0.01, 0.3), 1.0),  # about as good as the first
        ((0.5, 0.5 + 1.01 * GRADIENT.better_gain * 0.01, 0.3), 0.25),
        ((-0.9, -0.5, 0.2), 4.0),
        ((0.99 * GRADIENT.least_gain * 0.01, -1.0, -1.0), 0.0),  # noise
        ((1.01 * GRADIENT.least_gain * 0.01, -1.0, -1.0), 1.0),
        ((-0.1, -0.2, -0.3), 0.0),
        ((np.nan, np.nan, np.nan), 0.0),
    ],
)
def test_the_scale_is_that_of_the_largest_gain_or_none(gains, scale):
    assert best_scale(Check(np.array(gains), 0.01), SCALES, 0.0) == scale


def test_what_few_users_explain_by_themselves_does_not_count():
    check = Check(np.array([0.3, 0.2, 0.1]), 0.01)
    least = 0.3 - GRADIENT.least_gain * 0.01
    assert best_scale(check, SCALES, 0.99 * least) == 1.0 and best_scale(check, SCALES, 1.01 * least) == 0.0


def test_where_no_gain_stands_out_users_rely_on_their_own_records(monkeypatch):
    data = shared_representation(100, 4, 2, n_records=6, noise=0.1, seed=1)
    monkeypatch.setattr(head_prior, "best_scale", lambda check, scales, optimism: 0.0)
    model = representation(epsilon=50.0).fit(data.X, data.y, data.users)
    assert not model.head_covariance_.any() and not model.head_mean_.any()
    assert not model.predict(data.X).any()
    own = model.personalize(np.tile(data.X[:6], (5, 1)), np.tile(data.y[:6], 5))
    assert own.coef_.any() and np.isfinite(own.coef_).all()


def test_gains_of_noise_stand_out_rarely():
    """Three gains above 2 and more deviations: less than 7 in 100 fits; 30 of 60 have probability below 1e-16."""
    nothing = np.full((20, 3), np.nan)
    fits = [representation(random_state=seed).fit(nothing, nothing[:, 0], np.arange(20)) for seed in range(60)]
    assert sum(fit.head_covariance_.any() for fit in fits) < 30
    assert all(fit.gain_deviation_ > 0 for fit in fits)


# Moments


def test_moments_without_noise_are_those_of_the_heads():
    f = RNG.standard_normal((500, 2)) @ np.array([[1.0, 0.4], [0.0, 0.8]]) + [0.5, -0.2]
    rows = np.column_stack([f, np.ones(500)])
    S = np.array([[2.0, 0.3], [0.3, 1.0]])
    mean, covariance = head_prior._moments_of_heads(rows.T @ rows / 500, 1e-12, S)
    root = head_prior.power(S, 0.5)
    assert mean == pytest.approx(root @ f.mean(axis=0), rel=1e-9)
    assert covariance == pytest.approx(root @ np.cov(f.T, bias=True) @ root, rel=1e-9)
    assert np.array_equal(covariance, covariance.T)


def test_a_mean_that_is_noise_is_shrunk_away():
    M = np.eye(3)
    M[:2, 2] = M[2, :2] = [0.1, -0.1]
    mean, _ = head_prior._moments_of_heads(M, 0.2, np.eye(2))
    assert not mean.any()
    mean, _ = head_prior._moments_of_heads(M, 0.01, np.eye(2))
    assert mean == pytest.approx(np.array([0.1, -0.1]) * (1 - 2 * 0.01**2 / 0.02))


def test_variances_stay_between_their_limits():
    low, high = head_prior._VARIANCES
    for M in (-np.eye(3), 1e9 * np.eye(3), np.zeros((3, 3))):
        _, covariance = head_prior._moments_of_heads(M, 1e-3, np.eye(2))
        values = np.linalg.eigvalsh(covariance)
        assert low * (1 - 1e-9) <= values.min() and values.max() <= high * (1 + 1e-9)


# In the coordinates of the data


def test_the_prior_is_that_of_the_planted_heads(monkeypatch):
    """Heads about a mean, records of unequal variances: whitening is undone."""
    release_exactly(monkeypatch)
    rng, n, m, d = np.random.default_rng(5), 1500, 12, 4
    U = np.linalg.qr(rng.standard_normal((d, 2)))[0]
    V = rng.standard_normal((n, 2)) * [1.0, 0.6] + [1.0, -0.5]
    X = rng.standard_normal((n * m, d)) * [3.0, 1.0, 1.0, 0.5]
    users = np.repeat(np.arange(n), m)
    y = np.einsum("ij,ij->i", X @ U, V[users]) + 0.1 * rng.standard_normal(n * m)
    model = representation(epsilon=1e5, random_state=1).fit(X, y, users)
    assert model.embedding_ @ model.head_mean_ == pytest.approx(U @ [1.0, -0.5], abs=0.15)
    covariance = model.embedding_ @ model.head_covariance_ @ model.embedding_.T
    truth = U @ np.diag([1.0, 0.36]) @ U.T
    assert np.linalg.norm(covariance - truth) < 0.3 * np.linalg.norm(truth)
    assert model.noise_ == pytest.approx(0.01, rel=0.5)


def test_labels_have_no_mean_head_and_unit_noise():
    data = shared_representation(200, 4, 2, n_records=6, noise=0.1, seed=1, labels=True)
    model = representation(loss="logistic", epsilon=50.0).fit(data.X, data.y, data.users)
    assert not model.head_mean_.any() and model.noise_ == 1.0


def test_the_symmetric_part():
    assert symmetric(np.array([[1.0, 2.0], [4.0, 3.0]])).tolist() == [[1.0, 3.0], [3.0, 3.0]]


def test_noise_alone_passes_the_check_less_than_once_in_a_hundred_fits():
    noise = np.random.default_rng(6).standard_normal((100_000, 5)) * 0.01
    noise[:, 1:] += noise[:, :1]  # as gains are made of what is released
    passed = sum(best_scale(Check(gains, 0.01), GRADIENT.scales, 0.0) > 0.0 for gains in noise)
    assert 300 < passed < 900  # 0.0068 at most by the union bound
