"""Gains of heads: each record predicted from the others, as by refitting, and never beyond their range."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrank.estimators.personalization.gain_kernels import leave_one_out_gains
from record_support import SCALES, D, adverse_users, any_public, arrays_of, fitted, make_state, make_users, same_bits

MEAN = np.array([0.3, -0.5])


def refitted_gain(user, model, scale):
    """Gain in squared error by one regression for each record that is left out, over zero or the mean of the others."""
    X, y = user
    Z, precision = X @ model.subspace.T, model.precision / scale
    errors = []
    for i in range(len(y)):
        others = np.arange(len(y)) != i
        A = Z[others].T @ Z[others] + model.noise * precision
        head = model.mean + np.linalg.solve(A, Z[others].T @ (y[others] - Z[others] @ model.mean))
        errors.append(y[i] - Z[i] @ head)
    means = [np.delete(y, i).mean() for i in range(len(y))] if len(y) > 1 else [0.0]
    return 1.0 - np.square(errors).sum() / min(y @ y, np.square(y - means).sum())


def gains_of(users, model, scales):
    """Gains themselves: from the second on they are released less the first."""
    gains = leave_one_out_gains(arrays_of(users), model, scales)
    return np.column_stack([gains[:, :1], gains[:, 1:] + gains[:, :1]])


def loss_without(labels):
    """Of one half, or of the share of the other labels and one more of each, whichever is smaller."""
    n, positive = len(labels), labels.sum()
    same = np.where(labels > 0, positive - 1, n - positive - 1)
    return min(n * math.log(2.0), -np.log((same + 1) / (n + 1)).sum())


@given(st.integers(0, 2**32), st.integers(1, 25), st.sampled_from([0.05, 1.0, 30.0]))
@settings(deadline=None, max_examples=30)
def test_gains_are_those_of_regressions_without_the_record(seed, m, noise):
    model = make_state(seed, noise=noise).head_model._replace(mean=MEAN)
    user = make_users(np.random.default_rng(seed), [m])[0]
    gains = gains_of([user], model, SCALES)[0]
    expected = [max(refitted_gain(user, model, scale), -1.0) for scale in SCALES]
    assert gains == pytest.approx(expected, rel=1e-6, abs=1e-8)


def test_heads_of_a_useless_subspace_gain_nothing_and_those_of_the_truth_do():
    rng, state = np.random.default_rng(1), make_state(2, noise=0.3)
    model = state.head_model
    helped, useless = [], []
    for _ in range(300):
        X = rng.standard_normal((10, D))
        helped.append((X, X @ model.subspace.T @ rng.standard_normal(2) + math.sqrt(0.3) * rng.standard_normal(10)))
        useless.append((X, rng.standard_normal(10)))
    assert gains_of(helped, model, SCALES).mean(axis=0).min() > 0.2
    assert gains_of(useless, model, SCALES).mean(axis=0).max() < 0.0


def test_answers_about_a_mean_gain_nothing_over_it():
    rng, model = np.random.default_rng(3), make_state(2, noise=0.3).head_model
    users = [(rng.standard_normal((10, D)), 35.0 + rng.standard_normal(10)) for _ in range(100)]
    assert gains_of(users, model, SCALES).mean(axis=0).max() < -0.5


@pytest.mark.parametrize("m", [1, 6, 80])
def test_gains_of_labels_leave_records_out_by_one_newton_step(m):
    model = make_state(3, is_logistic=True).head_model
    X, y = make_users(np.random.default_rng(4), [m])[0]
    _, _, work = fitted([(X, y)], model)
    Z, w, r = work.Z[:m], work.weights[:m], work.residuals[:m]
    losses = []
    for i in range(m):
        without = work.spread + np.outer(work.spread @ Z[i], Z[i] @ work.spread) * (
            w[i] / (1.0 - w[i] * Z[i] @ work.spread @ Z[i])
        )  # covariance without the record, by Sherman and Morrison
        logit = Z[i] @ (work.head - without @ Z[i] * r[i])
        losses.append(np.logaddexp(0.0, -logit if y[i] > 0 else logit))
    expected = 1.0 - np.sum(losses) / loss_without(y > 0)
    assert leave_one_out_gains(arrays_of([(X, y)]), model, np.ones(1))[0, 0] == pytest.approx(expected, rel=1e-9)


def test_gains_of_labels_are_near_those_of_refitting():
    model = make_state(5, is_logistic=True).head_model
    X, y = make_users(np.random.default_rng(6), [40])[0]
    losses = []
    for i in range(40):
        _, _, work = fitted([(np.delete(X, i, axis=0), np.delete(y, i))], model)
        logit = X[i] @ model.subspace.T @ work.head
        losses.append(np.logaddexp(0.0, -logit if y[i] > 0 else logit))
    gain = leave_one_out_gains(arrays_of([(X, y)]), model, np.ones(1))[0, 0]
    assert gain == pytest.approx(1.0 - np.sum(losses) / loss_without(y > 0), abs=0.01)


@pytest.mark.parametrize("is_logistic", [False, True])
def test_a_scale_of_the_covariance_divides_the_precision(is_logistic):
    model, users = make_state(7, is_logistic=is_logistic).head_model, make_users(np.random.default_rng(8), [5, 9])
    gains = leave_one_out_gains(arrays_of(users), model, SCALES)
    own = [
        leave_one_out_gains(arrays_of(users), model._replace(precision=model.precision / scale), np.ones(1))[:, 0]
        for scale in SCALES
    ]
    for t in range(len(SCALES)):
        assert same_bits(gains[:, t].copy(), own[t].copy() if t == 0 else own[t] - own[0])


@given(st.integers(0, 2**32))
@settings(deadline=None, max_examples=40)
def test_gains_lie_between_minus_one_and_one_whatever_is_given(seed):
    users = list(adverse_users(np.random.default_rng(seed)).values())
    gains = leave_one_out_gains(arrays_of(users), any_public(seed).model, SCALES)
    assert gains.shape == (len(users), 3) and (np.abs(gains[:, 0]) <= 1.0).all() and (np.abs(gains) <= 2.0).all()


def test_users_without_records_or_answers_gain_nothing():
    users = [(np.empty((0, D)), np.empty(0)), (np.full((2, D), math.nan), np.ones(2)), (np.ones((2, D)), np.zeros(2))]
    assert not leave_one_out_gains(arrays_of(users), make_state(9).head_model, SCALES).any()


def test_a_record_that_decides_its_own_fit_does_not_divide_by_zero():
    model = make_state(10, noise=1e-300).head_model
    gains = leave_one_out_gains(arrays_of([(1e3 * np.eye(D)[:2], np.array([1.0, 2.0]))]), model, SCALES)
    assert np.isfinite(gains).all()
