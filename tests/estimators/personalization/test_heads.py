"""Heads: predictions of one user and of many, unknown users, labels and probabilities, refusals."""

import pickle

import numpy as np
import pytest
import scipy.sparse

from hushrank.estimators.personalization import heads as module
from hushrank.estimators.personalization.heads import Head, Heads, score_of, to_answers, to_probabilities
from hushrank.exceptions import InvalidParameter
from representation_support import make_people, representation, to_records

PEOPLE, _ = make_people(30, 4, seed=2)
X, Y, USERS = to_records(PEOPLE)


@pytest.fixture(scope="module")
def model():
    return representation(epsilon=50.0, random_state=1).fit(X, Y, USERS)


@pytest.fixture(scope="module")
def labeled():
    return representation(epsilon=50.0, random_state=1, loss="logistic").fit(X, Y, USERS)


def test_heads_of_many_are_the_heads_of_each(model):
    heads = model.personalize(X, Y, USERS)
    assert isinstance(heads, Heads) and len(heads) == 30 and heads.users.tolist() == list(range(30))
    for user in (0, 7, 29):
        head, own = heads[user], USERS == user
        assert isinstance(head, Head) and np.array_equal(head.coef_, heads.coef_[user])
        assert heads.predict(X[own], USERS[own]) == pytest.approx(head.predict(X[own]), rel=1e-12)
        assert np.array_equal(model.personalize(X[own], Y[own]).coef_, head.coef_)
    assert repr(heads) == "Heads(30 users, loss='squared')"
    assert repr(heads[3]) == "Head(4 coefficients, loss='squared')"


def test_users_without_a_head_have_the_mean_one(model):
    heads, mean = model.personalize(X, Y, USERS), X[:5] @ model.embedding_ @ model.head_mean_
    assert heads.predict(X[:5], [777, 888, 999, -1, None]) == pytest.approx(mean, rel=1e-12)
    assert model.predict(X[:5]) == pytest.approx(mean, rel=1e-12)
    nobody = model.personalize(X[:0], Y[:0], USERS[:0])
    assert len(nobody) == 0 and nobody.predict(X[:5], USERS[:5]) == pytest.approx(mean, rel=1e-12)
    assert model.personalize(X[:0], Y[:0]).predict(X[:5]) == pytest.approx(mean, rel=1e-12)
    for missing in ("nobody", 777, None):
        with pytest.raises(KeyError):
            heads[missing]


def test_ids_are_found_in_their_canonical_form(model):
    heads = model.personalize(X, Y, USERS)
    assert np.array_equal(heads["7"].coef_, heads[np.int64(7)].coef_)
    assert np.array_equal(heads.predict(X, USERS), heads.predict(X, [str(user) for user in USERS]))


def test_parts_change_nothing(model, monkeypatch):
    heads = model.personalize(X, Y, USERS)
    expected = heads.predict(X, USERS)
    monkeypatch.setattr(module, "NUMBERS_AT_ONCE", 5)
    assert np.array_equal(heads.predict(X, USERS), expected)
    assert heads.predict(scipy.sparse.csr_array(X), USERS) == pytest.approx(expected, rel=1e-12)


def test_records_are_not_kept(model):
    marked = X.copy()
    marked[3, 1] = 1234.5678901
    content = pickle.dumps(model.personalize(marked, Y, USERS))
    assert np.float64(1234.5678901).tobytes() not in content


def test_scores(model, labeled):
    heads = model.personalize(X, Y, USERS)
    rest = ((Y - heads.predict(X, USERS)) ** 2).sum() / ((Y - Y.mean()) ** 2).sum()
    assert heads.score(X, Y, USERS) == pytest.approx(1 - rest) and heads.score(X, Y, USERS) > 0.5
    own = USERS == 4
    assert heads[4].score(X[own], Y[own]) == pytest.approx(score_of(heads[4].predict(X[own]), Y[own], "squared"))
    assert score_of(np.ones(3), np.ones(3), "squared") == 1.0 and score_of(np.zeros(3), np.ones(3), "squared") == 0.0
    right = labeled.personalize(X, Y, USERS)
    assert right.score(X, Y, USERS) == pytest.approx(np.mean((Y > 0) == right.predict(X, USERS)))


def test_labels_and_probabilities(labeled):
    heads = labeled.personalize(X, Y, USERS)
    chances, labels = heads.predict_proba(X, USERS), heads.predict(X, USERS)
    assert chances.shape == (len(Y), 2) and chances.sum(axis=1) == pytest.approx(1.0)
    assert set(labels.tolist()) == {0, 1} and np.array_equal(labels, chances[:, 1] > 0.5)
    odds = heads.decision_function(X, USERS)
    assert np.log(chances[:, 1] / chances[:, 0]) == pytest.approx(odds, rel=1e-6, abs=1e-9)
    own = USERS == 5
    assert heads[5].predict_proba(X[own]) == pytest.approx(chances[own], rel=1e-12)
    assert to_probabilities(np.array([-1e308, 0.0, 1e308]), "logistic")[:, 1] == pytest.approx([0.0, 0.5, 1.0])
    assert to_answers(np.array([-1.0, 0.0, 2.0]), "logistic").tolist() == [0, 0, 1]


def test_refusals(model):
    heads, head = model.personalize(X, Y, USERS), model.personalize(X[:6], Y[:6])
    refused = InvalidParameter
    for call, error, message in (
        (
            lambda: heads.predict(X, USERS[:4]),
            refused,
            f"users of Heads must be {len(Y)} ids, one for each record; got",
        ),
        (lambda: heads.predict(X, None), refused, "users of Heads must be int64 or str ids"),
        (lambda: heads[3.5], refused, "users of Heads must be int64, uint64 or str ids"),
        (lambda: head.predict_proba(X), refused, "loss of predict_proba must be 'logistic' for probabilities; got"),
        (lambda: heads.predict_proba(X, USERS), refused, "loss of predict_proba must be 'logistic'"),
        (lambda: head.score(X, Y[:4]), refused, f"y of score must be a vector of {len(Y)} numbers; got"),
        (lambda: head.predict(X[:, :3]), ValueError, "X has 3 features, but PrivateRepresentation is expecting 4"),
        (lambda: model.personalize(X[:, :3], Y), refused, "X of PrivateRepresentation must be records of 4 features"),
        (
            lambda: model.personalize(X, Y[:5]),
            refused,
            f"y of PrivateRepresentation must be a vector of {len(Y)} numbers",
        ),
        (lambda: model.personalize(X, Y, USERS[:5]), refused, f"users of PrivateRepresentation must be {len(Y)} ids"),
        (lambda: model.personalize(X, None), refused, "y of PrivateRepresentation must be a vector"),
    ):
        with pytest.raises(error, match=message):
            call()
    with pytest.raises(ValueError, match="this PrivateRepresentation is not fitted yet"):
        representation().personalize(X, Y)
