"""One user's regression: that of NumPy and SciPy, on usable records and no others, with the same bits everywhere."""

import math

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrank.estimators.personalization.head_kernels import (
    HeadModel,
    RecordArrays,
    find_products,
    fit_chosen,
    inner_product,
    most_records,
    new_workspace,
    weigh_labels,
)
from record_support import adverse_users, any_public, arrays_of, fitted, make_state, make_users, same_bits

MEAN = np.array([0.4, -0.7])


def model_of(seed, mean=MEAN, **terms):
    return make_state(seed, **terms).head_model._replace(mean=mean)


def ridge(user, model):
    """Head, residuals and covariance over the noise, by NumPy."""
    X, y = user
    Z = X @ model.subspace.T
    target = y - Z @ model.mean
    spread = np.linalg.inv(Z.T @ Z + model.noise * model.precision)
    head = spread @ Z.T @ target
    return Z, head, target - Z @ head, spread


# Squared loss


@given(st.integers(0, 2**32), st.integers(1, 30), st.sampled_from([1e-3, 0.5, 100.0]))
@settings(deadline=None, max_examples=30)
def test_heads_are_ridge_regressions_of_what_the_mean_head_leaves(seed, m, noise):
    user, model = make_users(np.random.default_rng(seed), [m])[0], model_of(seed, noise=noise)
    _, fit, work = fitted([user], model)
    Z, head, residuals, spread = ridge(user, model)
    assert fit.n_records == m
    assert work.Z[:m] == pytest.approx(Z, abs=1e-12) and (work.weights[:m] == 1.0).all()
    assert work.spread == pytest.approx(spread, rel=1e-8, abs=1e-12)
    assert work.head == pytest.approx(head, rel=1e-8, abs=1e-10)
    assert work.residuals[:m] == pytest.approx(residuals, rel=1e-7, abs=1e-9)
    assert fit.squares == pytest.approx(residuals @ residuals, rel=1e-7, abs=1e-12)
    # Information: records less degrees of freedom, the trace of the hat matrix.
    assert fit.information == pytest.approx(m - np.trace(Z @ spread @ Z.T), rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("first, every", [(0, 2), (1, 2), (0, 1), (5, 3)])
def test_a_regression_on_chosen_records_is_that_of_a_user_who_has_no_others(first, every):
    (X, y), model = make_users(np.random.default_rng(1), [11])[0], model_of(2)
    records = arrays_of([(X, y)])
    work = new_workspace(records.indptr, 2)
    fit = fit_chosen(records, 0, model, first, every, work)
    _, alone, expected = fitted([(X[first::every].copy(), y[first::every])], model)
    assert fit == alone and same_bits(work.head, expected.head)
    assert (work.rows[: fit.n_records] == np.arange(11)[first::every]).all()


# Labels


def negative_log_posterior(w, Z, labels, precision):
    logits = Z @ w
    return np.logaddexp(0.0, logits).sum() - labels @ logits + 0.5 * w @ precision @ w


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("m", [1, 4, 25, 200])
def test_heads_of_labels_are_the_mode_of_the_posterior(seed, m):
    user = make_users(np.random.default_rng(seed), [m], spread=3.0)[0]
    model = model_of(seed, np.zeros(2), is_logistic=True)
    _, fit, work = fitted([user], model)
    Z, labels = user[0] @ model.subspace.T, (user[1] > 0.0).astype(float)
    found = scipy.optimize.minimize(negative_log_posterior, np.zeros(2), (Z, labels, model.precision), tol=1e-12).x
    assert work.head == pytest.approx(found, abs=1e-5)
    probabilities = 1.0 / (1.0 + np.exp(-Z @ work.head))
    weights = np.maximum(probabilities * (1.0 - probabilities), 1e-6)
    spread = np.linalg.inv((Z * weights[:, None]).T @ Z + model.precision)
    assert Z.T @ (labels - probabilities) == pytest.approx(model.precision @ work.head, abs=1e-6)
    assert work.residuals[:m] == pytest.approx(labels - probabilities, abs=1e-12)
    assert work.weights[:m] == pytest.approx(weights, abs=1e-12)
    assert work.spread == pytest.approx(spread, rel=1e-8)
    information = (weights * (1.0 - weights * ((Z @ spread) * Z).sum(axis=1))).sum()
    assert fit.information == pytest.approx(information, rel=1e-9)


def test_answers_are_labels_by_their_sign_alone():
    X, y = make_users(np.random.default_rng(3), [9])[0]
    y[:2] = 0.0, -0.0
    model = model_of(4, np.zeros(2), is_logistic=True)
    _, _, work = fitted([(X, y)], model)
    assert (work.answers[:9] == (y > 0.0)).all()
    _, _, other = fitted([(X, np.where(y > 0.0, math.inf, -math.inf))], model)
    assert same_bits(work.head, other.head)


def test_labels_with_certain_probabilities_keep_a_weight():
    model = model_of(5, np.zeros(2), is_logistic=True)
    records = arrays_of([(1e6 * np.eye(4)[:2], np.array([1.0, -1.0]))])
    work = new_workspace(records.indptr, 2)
    n = find_products(records, 0, model, 0, 1, work)
    work.head[:] = 1e9
    weigh_labels(n, work)
    assert (work.weights[:n] == 1e-6).all() and (np.abs(work.residuals[:n]) <= 1.0).all()


# Which records count


@pytest.mark.parametrize("is_logistic", [False, True])
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_records_that_are_not_finite_are_absent(is_logistic, bad):
    X, y = make_users(np.random.default_rng(6), [8])[0]
    model = model_of(7, np.zeros(2), is_logistic=is_logistic)
    spoilt, answers = X.copy(), y.copy()
    spoilt[2, 1] = bad
    answers[5] = math.nan if is_logistic else bad  # an infinite answer is a label
    _, fit, work = fitted([(spoilt, answers)], model)
    _, expected, other = fitted([(np.delete(X, [2, 5], axis=0), np.delete(y, [2, 5]))], model)
    assert fit == expected and same_bits(work.head, other.head) and fit.n_records == 6
    assert work.rows[:6].tolist() == [0, 1, 3, 4, 6, 7]


def test_records_whose_products_overflow_are_absent():
    model = HeadModel(np.full((1, 4), 1e10), np.zeros(1), np.eye(1), 1.0, False)
    X = np.stack([np.full(4, 1e300), np.full(4, 1e150), np.ones(4)])
    _, fit, work = fitted([(X, np.ones(3))], model)
    assert fit.n_records == 1 and work.rows[0] == 2


@pytest.mark.parametrize("is_logistic", [False, True])
def test_without_records_or_a_solution_there_is_no_head(is_logistic):
    user = make_users(np.random.default_rng(8), [5])[0]
    model = model_of(9, np.zeros(2), is_logistic=is_logistic)
    for own, public in (
        ((user[0][:0], user[1][:0]), model),
        ((np.full((5, 4), math.nan), user[1]), model),
        (user, model._replace(precision=-1e9 * np.eye(2))),
        (user, model._replace(precision=np.full((2, 2), math.nan))),
    ):
        _, fit, work = fitted([own], public)
        assert fit == (0, 0.0, 0.0) and not work.head.any()


@given(st.integers(0, 2**32))
@settings(deadline=None, max_examples=40)
def test_numbers_of_a_regression_are_finite_whatever_is_given(seed):
    """Records left out, sums of squares and information; a head that is not finite adds nothing anywhere."""
    users, model = list(adverse_users(np.random.default_rng(seed)).values()), any_public(seed).model
    for j, user in enumerate(users):
        records, fit, work = fitted(users, model, j)
        assert 0 <= fit.n_records <= len(user[1])
        assert 0.0 <= fit.squares < math.inf and 0.0 <= fit.information
        used = records.X[work.rows[: fit.n_records]] @ model.subspace.T
        assert np.isfinite(used).all() or not np.isfinite(model.subspace).all()


# Bits


@given(st.integers(0, 2**32))
@settings(deadline=None, max_examples=20)
def test_a_user_has_the_same_bits_in_every_block(seed):
    users, model = list(adverse_users(np.random.default_rng(seed)).values()), any_public(seed).model
    for j in range(len(users)):
        _, fit, work = fitted(users, model, j)
        _, alone, expected = fitted(users[j : j + 1], model)
        assert np.array(fit).tobytes() == np.array(alone).tobytes() and same_bits(work.head, expected.head)


@pytest.mark.parametrize("d", [1, 3, 4, 7, 8, 13])
def test_products_are_those_of_numpy_and_the_same_for_float32(d):
    rng = np.random.default_rng(d)
    X, B = rng.standard_normal((3, d)).astype(np.float32), rng.standard_normal((2, d))
    for i in range(3):
        for a in range(2):
            product = inner_product(X.astype(np.float64), i, B, a)
            assert product == inner_product(X, i, B, a)
            assert product == pytest.approx(X[i].astype(np.float64) @ B[a], abs=1e-12)


def test_most_records_is_the_largest_number_of_a_user():
    assert most_records(np.array([0, 2, 2, 7, 8])) == 5
    assert most_records(np.array([0])) == 0


def test_records_are_views_of_a_block():
    block_arrays = arrays_of(make_users(np.random.default_rng(10), [2, 0, 1]))
    assert isinstance(block_arrays, RecordArrays) and block_arrays.indptr.tolist() == [0, 2, 2, 3]
