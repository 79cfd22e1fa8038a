"""Answers return to whom they belong: in any order, step by step, for ids of every type."""

import math

import numpy as np
import pyarrow as pa
import pytest

from hushrank.cli import own_answers
from hushrank.cli.own_answers import ERRORS, answer
from hushrank.cli.own_records import NewRecords
from hushrank.data.records.histories import find_users, read_histories
from hushrank.estimators.personalization.estimator import PrivateRepresentation
from hushrank.evaluation.synthetic import shared_representation

N_USERS, NAMES = 900, ["a", "b", "c", "d"]
DATA = shared_representation(N_USERS, len(NAMES), 2, n_records=6, noise=0.1, seed=6)
IDS = {
    "int64": lambda user: user * 7 - 1000,
    "uint64": lambda user: 2**64 - 1 - user,
    "str": lambda user: f"\u00fcser \u2028{user},\n\0",
}
TYPES = {"int64": pa.int64(), "uint64": pa.uint64(), "str": pa.large_string()}


@pytest.fixture(scope="module")
def model():
    return PrivateRepresentation(2, epsilon=8.0, delta=1e-6).fit(DATA.X, DATA.y, DATA.users)


def named(kind, users):
    return pa.array([IDS[kind](int(user)) for user in users], TYPES[kind])


@pytest.mark.parametrize("kind", IDS)
def test_everybody_is_told_what_a_call_for_them_alone_gives(model, kind, monkeypatch):
    monkeypatch.setattr(own_answers, "STEP_NUMBERS", 40)
    rng = np.random.default_rng(1)
    own = rng.permutation(40 * 6)  # records of forty people, in no order
    people = read_histories(DATA.X[own], DATA.y[own], named(kind, DATA.users[own]), owner="test")
    asked_users = rng.integers(0, 45, 300)  # five of them have no own records
    X, ids = DATA.fresh_X[:300], named(kind, asked_users)
    answers = answer(model, people, NAMES, NewRecords(X, ids, find_users(people, ids)))
    for i, user in enumerate(asked_users):
        mine = DATA.users == user
        head = model.personalize(DATA.X[mine], DATA.y[mine]).coef_ if user < 40 else model.embedding_ @ model.head_mean_
        assert answers.products[i] == pytest.approx(X[i] @ head, rel=1e-9, abs=1e-12)
    assert answers.new_ids == [IDS[kind](int(user)) for user in asked_users]
    assert answers.users == [IDS[kind](int(user)) for user in dict.fromkeys(DATA.users[own].tolist())]
    table = answers.to_table("who")
    assert table.column_names == ["who", "prediction"] and table["who"].type == TYPES[kind]
    assert table["who"].to_pylist() == answers.new_ids and table["prediction"].to_pylist() == answers.products.tolist()


def test_people_are_described_one_by_one(model):
    people = read_histories(DATA.X[:14], DATA.y[:14], named("str", DATA.users[:14]), owner="test")
    answers = answer(model, people, NAMES, None)
    found = list(answers.people())
    assert [person["user"] for person in found] == [IDS["str"](user) for user in (0, 1, 2)]
    assert [person["records"] for person in found] == [6, 6, 2]
    for i, person in enumerate(found):
        assert list(person["coefficients"]) == NAMES and list(person["coefficients"].values()) == pytest.approx(
            model.personalize(DATA.X[:14][DATA.users[:14] == i], DATA.y[:14][DATA.users[:14] == i]).coef_, rel=1e-9
        )
        assert [person[name] for name in ERRORS] == list(answers.qualities[i][1:])
        sizes = [abs(number) for _, number in answers.largest(i, 4)]
        assert sizes == sorted(sizes, reverse=True) and dict(answers.largest(i, 4)) == person["coefficients"]
    assert answers.new_ids is None and answers.predictions() == []


def test_labels_have_probabilities_and_missing_numbers_have_neither():
    data = shared_representation(1000, 4, 1, n_records=10, noise=0.0, seed=4, labels=True, head_norm=3.0)
    model = PrivateRepresentation(1, epsilon=8.0, delta=1e-6, loss="logistic").fit(data.X, data.y, data.users)
    people = read_histories(data.X[:10], data.y[:10], owner="test")
    X = data.fresh_X[:6].copy()
    X[2, 1] = np.nan
    answers = answer(model, people, NAMES, NewRecords(X, None, np.zeros(6, np.int32)))
    head = model.personalize(data.X[:10], data.y[:10])
    rest = [0, 1, 3, 4, 5]
    assert [answers.predictions()[i][0] for i in rest] == head.predict(X[rest]).tolist()
    assert [answers.predictions()[i][1] for i in rest] == pytest.approx(head.predict_proba(X[rest])[:, 1], rel=1e-9)
    assert answers.predictions()[2] == (None, None) and answers.users == [None]
    table = answers.to_table("user")
    assert table.column_names == ["prediction", "probability"] and table["prediction"].null_count == 1
    assert not any(math.isnan(chance) for chance in table["probability"].drop_null().to_pylist())


def test_somebody_without_usable_records_gets_the_mean_of_all(model):
    people = read_histories(np.full((2, 4), np.nan), np.zeros(2), owner="test")
    answers = answer(model, people, NAMES, None)
    assert np.array_equal(answers.coefficients[0], model.embedding_ @ model.head_mean_)
    (person,) = answers.people()
    assert person["records"] == 0 and [person[name] for name in ERRORS] == [None] * 3


def test_values_never_raise_and_nothing_infinite_is_told(model):
    X, y = DATA.X[:6], 1e3 * DATA.y[:6]
    signs = np.sign(model.personalize(X, y).coef_)
    huge = NewRecords(1e308 * signs[np.newaxis], None, np.zeros(1, np.int32))
    assert answer(model, read_histories(X, y, owner="test"), NAMES, huge).predictions() == [(None, None)]
    (person,) = answer(model, read_histories(X, 1e200 * y, owner="test"), NAMES, None).people()
    assert person["records"] == 6 and all(person[name] is None for name in ERRORS)
