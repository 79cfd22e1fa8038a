"""Moments of heads: within their bound in integers, semidefinite, and what a step of EM asks for."""

import numpy as np
import pytest

from hushrank.estimators.personalization.head_kernels import HeadModel, RecordArrays, fit_head, new_workspace
from hushrank.estimators.personalization.moment_kernels import MomentBound
from hushrank.estimators.personalization.prior_kernels import quantize_heads

NORM = 2.0 * np.sqrt(2.0)


def make_model(noise=0.2, *, is_logistic=False):
    rng = np.random.default_rng(1)
    subspace = np.linalg.qr(rng.normal(size=(5, 2)))[0].T.copy()
    S = np.array([[1.0, 0.3], [0.3, 0.5]])
    values, Q = np.linalg.eigh(S)
    model = HeadModel(subspace, np.zeros(2), np.linalg.inv(S), 1.0 if is_logistic else noise, is_logistic)
    return model, (Q * values**-0.5) @ Q.T


def make_records(n_users=40, n_records=4, seed=0):
    rng = np.random.default_rng(seed)
    indptr = np.arange(n_users + 1) * n_records
    return RecordArrays(indptr, rng.normal(size=(indptr[-1], 5)), rng.normal(size=indptr[-1]))


def rows_of(records, bound, **terms):
    model, root = make_model(**terms)
    integers = np.empty((3 * (len(records.indptr) - 1), 3))
    return integers[: quantize_heads(records, model, root, NORM, bound, integers)]


@pytest.mark.parametrize("is_logistic", [False, True])
def test_moments_are_those_of_the_posterior(is_logistic):
    records, bound = make_records(), MomentBound(100.0, 2.0**34)
    model, root = make_model(is_logistic=is_logistic)
    work, expected = new_workspace(records.indptr, 2), np.zeros((3, 3))
    for j in range(40):
        fit_head(records, j, model, work)
        f = root @ work.head
        f *= min(1.0, NORM / np.linalg.norm(f))
        expected += np.outer(np.append(f, 1.0), np.append(f, 1.0))
        expected[:2, :2] += model.noise * root @ work.spread @ root
    rows = rows_of(records, bound, is_logistic=is_logistic)
    assert np.allclose(rows.T @ rows * 100.0 / 2.0**34, expected, rtol=1e-4, atol=1e-3)


def test_a_user_without_records_has_the_prior():
    records = RecordArrays(np.array([0, 0]), np.empty((0, 5)), np.empty(0))
    rows = rows_of(records, MomentBound(100.0, 2.0**34))
    assert np.allclose(rows.T @ rows * 100.0 / 2.0**34, np.eye(3), atol=1e-3)


ODD = [np.nan, np.inf, 1e300, -1e160, 1e9, 1e-300, 0.0]


@pytest.mark.parametrize("limit", [1.0, 7.0, 1000.0, 2.0**20, 2.0**36])
@pytest.mark.parametrize("norm", [1e-6, 0.5, 9.0])
def test_every_user_stays_within_the_bound_in_integers(norm, limit):
    for number in (*ODD, 1.0):
        for n_records in (0, 1, 3, 200):
            rng = np.random.default_rng(n_records)
            X, y = number * rng.normal(size=(n_records, 5)), number * rng.normal(size=n_records)
            rows = rows_of(RecordArrays(np.array([0, n_records]), X, y), MomentBound(norm, limit))
            assert np.array_equal(rows, np.rint(rows))
            moment = [[sum(int(y[a]) * int(y[b]) for y in rows) for b in range(3)] for a in range(3)]
            assert sum(entry**2 for row in moment for entry in row) <= int(limit) ** 2


def test_a_worst_user_attains_the_bound():
    # Without records (f, 1) is (0, 1) and the covariance is the identity: sqrt(3) in norm.
    records = RecordArrays(np.array([0, 0]), np.empty((0, 5)), np.empty(0))
    rows = rows_of(records, MomentBound(1e-3, 2.0**36))
    assert np.linalg.norm(rows.T @ rows) == pytest.approx(2.0**36, rel=1e-4)


def test_the_bits_of_a_user_do_not_depend_on_others():
    records, bound = make_records(), MomentBound(9.0, 2.0**30)
    together = rows_of(records, bound)
    for j in (0, 7, 39):
        own = slice(4 * j, 4 * j + 4)
        alone = rows_of(RecordArrays(np.array([0, 4]), records.X[own], records.y[own]), bound)
        assert np.array_equal(alone, together[3 * j : 3 * j + 3])
