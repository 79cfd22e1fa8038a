"""Attacks on serving: what is computed for a person returns to that person, in every format, order and size."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from click.testing import CliRunner

from feature_support import KINDS, facts, kinds, recommender, tastes
from hushrank.cli.recommend import command
from hushrank.data.ratings import grouping, out_of_core, rating_matrices
from hushrank.estimators.completion import top_items
from hushrank.estimators.completion.estimator import PrivateCompletion
from hushrank.evaluation.synthetic import synthetic_ratings
from hushrank.exceptions import InvalidParameter

N_ITEMS = 60
SPARSE = ("csr", "csc", "coo", "lil", "dok")


def fitted(n_items, **parameters):
    table = synthetic_ratings(400, n_items, seed=2).table()
    terms = {"epsilon": 20.0, "delta": 1e-6, "rating_range": (1, 5), "items": n_items, "random_state": 3}
    return PrivateCompletion(3, **{**terms, **parameters}).fit(table)


@pytest.fixture(scope="module")
def model():
    return fitted(N_ITEMS)


@pytest.fixture(scope="module")
def entries():
    """Users, items and ratings of 300 users, some of them without any, in no order."""
    rng = np.random.default_rng(5)
    rated = rng.uniform(size=(300, N_ITEMS)) < 0.3
    rated[[0, 17, 299]] = False
    users, items = np.nonzero(rated)
    order = rng.permutation(len(users))
    return users[order], items[order], rng.integers(1, 6, len(users)).astype(float)


def stored(entries, form):
    users, items, ratings = entries
    return sp.coo_array((ratings, (users, items)), (300, N_ITEMS)).asformat(form)


def own_of(entries, user):
    users, items, ratings = entries
    return items[users == user], ratings[users == user]


@pytest.fixture(scope="module")
def alone(model, entries):
    """What each user is told alone: own factors, predictions and recommendations."""
    return [
        (model.fold_in(own), model.predict(own), model.recommend(own, 5).items)
        for own in (own_of(entries, user) for user in range(300))
    ]


@pytest.fixture
def low_thresholds(monkeypatch):
    """Every internal threshold so low that this little data passes it many times."""
    monkeypatch.setattr(out_of_core, "CHUNK_RATINGS", 64)
    monkeypatch.setattr(out_of_core, "PARTED_IN_MEMORY", 500)
    monkeypatch.setattr(out_of_core, "GROUPED_IN_MEMORY", 900)
    monkeypatch.setattr(grouping, "MAX_BLOCK_RATINGS", 100)
    monkeypatch.setattr(rating_matrices, "MAX_BLOCK_RATINGS", 100)
    monkeypatch.setattr(top_items, "USERS_AT_ONCE", 7)


def assert_answers_belong(model, asked, entries, alone, users):
    """Row i of every answer is what user i alone is told; `users` are those whose rows are expected, in order."""
    Z, predicted, top = model.fold_in(asked), model.predict(asked), model.recommend(asked, 5)
    assert len(Z) == len(predicted) == len(top.items) == len(top.users) == len(users)
    for i, user in enumerate(users):
        own_factors, own_predictions, own_top = alone[user]
        assert np.array_equal(Z[i], own_factors)
        assert np.array_equal(top.items[i], own_top)
        assert not set(top.items[i]) & set(own_of(entries, user)[0])
        assert np.allclose(predicted[i], own_predictions, rtol=1e-12, atol=0)


@pytest.mark.parametrize("form", [*SPARSE, "dense"])
def test_rows_of_matrices_are_answered_in_their_order(model, entries, alone, form, low_thresholds):
    asked = stored(entries, "csr" if form == "dense" else form)
    if form == "dense":
        asked = np.where(asked.toarray() == 0, np.nan, asked.toarray())
    assert_answers_belong(model, asked, entries, alone, range(300))
    assert model.recommend(asked, 2).users.tolist() == list(range(300))


def test_a_million_entries_and_more_change_no_owner():
    """Violation 1: above 2^20 stored ratings rows came back in the order of the grouping."""
    n_users, n_items, n_each = 1067, 1100, 1024
    model = fitted(n_items)
    rng = np.random.default_rng(7)
    items = np.argsort(rng.uniform(size=(n_users, n_items)), axis=1)[:, :n_each].ravel()
    users = np.repeat(np.arange(n_users), n_each)
    order = rng.permutation(n_users * n_each)
    ratings = rng.integers(1, 6, n_users * n_each).astype(float)
    shuffled = sp.coo_array((ratings[order], (users[order], items[order])), (n_users, n_items))
    alone = [model.fold_in((items[users == user], ratings[users == user])) for user in range(0, n_users, 97)]
    expected = model.fold_in(shuffled.tocsr())
    assert np.array_equal(expected[::97], alone)
    for form in SPARSE[1:]:
        asked = shuffled.asformat(form)
        assert asked.nnz > 2**20
        assert np.array_equal(model.fold_in(asked), expected), form
    table = pa.table({"user": users[order], "item": items[order], "rating": ratings[order]})
    top = model.recommend(table, 3)
    assert np.array_equal(model.fold_in(table), expected[top.users])
    by_row = model.recommend(shuffled, 3)
    assert by_row.users.tolist() == list(range(n_users)) and np.array_equal(by_row.items[top.users], top.items)
    assert not np.isin(top.users[:, np.newaxis] * n_items + top.items, users * n_items + items).any()


IDS = {
    "int64": lambda user: user * 7 - 1000,
    "uint64": lambda user: 2**64 - 1 - user,
    "str": lambda user: f"\u00fcser \u2028{user},\n\0",
}


@pytest.mark.parametrize("kind", IDS)
@pytest.mark.parametrize("form", [pa.table, pl.DataFrame, pd.DataFrame])
def test_tables_in_any_order_carry_their_ids(model, entries, alone, kind, form, low_thresholds):
    name = IDS[kind]
    dtype = {"int64": pa.int64(), "uint64": pa.uint64(), "str": pa.string()}[kind]
    ids = pa.array([name(int(user)) for user in entries[0]], dtype)
    column = {pa.table: ids, pl.DataFrame: pl.from_arrow(ids), pd.DataFrame: pd.Series(ids.to_pylist())}[form]
    asked = form({"user": column, "item": entries[1], "rating": entries[2]})
    users = list(dict.fromkeys(entries[0].tolist()))
    assert_answers_belong(model, asked, entries, alone, users)
    top = model.recommend(asked, 5)
    by_id = dict(zip(top.users, top.items, strict=True))
    assert list(by_id) == [name(user) for user in users]
    assert np.array_equal(by_id[name(users[3])], top.items[3])
    pairs = form({"user": column[:50], "item": entries[1][:50]})
    expected = [alone[user][1][item] for user, item in zip(*(part[:50] for part in entries[:2]), strict=True)]
    assert model.predict_ratings(asked, pairs) == pytest.approx(np.array(expected), rel=1e-12)


def test_nobody_vanishes(model):
    """Violation 1: null users and large unsigned ids lost their rows in silence."""
    table = {"item": [1, 2, 3], "rating": [5.0, 1.0, 3.0]}
    large = pa.table({**table, "user": pa.array([1, 2**63, 2**64 - 1], pa.uint64())})
    assert model.recommend(large, 2).users.tolist() == [1, 2**63, 2**64 - 1]
    assert len(model.fold_in(large)) == len(model.predict(large)) == 3
    for users in ([1, None, 2], ["a", None, "b"], ["a", "", "b"], [None, None, None]):
        asked = pa.table({**table, "user": users})
        for serve in (model.fold_in, model.predict, model.recommend):
            with pytest.raises(
                InvalidParameter, match="own_ratings of PrivateCompletion must be a table with a user in"
            ):
                serve(asked)


def test_the_command_line_names_whom_an_answer_is_for(model, entries, tmp_path):
    model.save(tmp_path / "model.hush")
    users, items, ratings = (part.tolist() for part in entries)
    lines = [
        f'"u{user}, ""the\n{user}th""",{item},{rating}'
        for user, item, rating in zip(users, items, ratings, strict=True)
    ]
    (tmp_path / "own.csv").write_text("user,item,rating\n" + "\n".join(lines) + "\n")
    arguments = [str(tmp_path / "model.hush"), "--ratings", str(tmp_path / "own.csv"), "--n", "5", "--json"]
    answers = json.loads(CliRunner().invoke(command, arguments).stdout)["recommendations"]
    order = list(dict.fromkeys(users))
    assert [answer["user"] for answer in answers] == [f'u{user}, "the\n{user}th"' for user in order]
    for answer, user in zip(answers, order, strict=True):
        assert answer["items"] == model.recommend(own_of(entries, user), 5).items.tolist()


# Reasons


N_FANS, N_FILMS = 61, 24


@pytest.fixture(scope="module")
def told():
    return recommender(items=N_FILMS, item_features=facts()).fit(tastes())


@pytest.fixture(scope="module")
def fans():
    """Users, items and ratings of people who like one kind each; some say nothing, and one has seen nearly all."""
    rng = np.random.default_rng(4)
    rated = rng.uniform(size=(N_FANS, N_FILMS)) < 0.4
    rated[[0, 9, N_FANS - 1]], rated[17] = False, np.arange(N_FILMS) > 1
    users, items = np.nonzero(rated)
    order = rng.permutation(len(users))
    users, items = users[order], items[order]
    return users, items, np.where(kinds()[items] == users % 4, 5.0, 2.0)


@pytest.fixture(scope="module")
def told_alone(told, fans):
    """What each user alone is told, as pairs of an item and the reasons for it."""
    found = []
    for user in range(N_FANS):
        top = told.recommend(own_of(fans, user), 5, explain=True)
        found.append(list(zip(top.items.tolist(), top.reasons, strict=True)))
    return found


def pairs_of(top):
    """The same for several users: what was seen is left out."""
    for items, scores, reasons in zip(top.items, top.scores, top.reasons, strict=True):
        assert len(items) == len(reasons)
        yield [pair for pair, score in zip(zip(items.tolist(), reasons, strict=True), scores, strict=True)
               if score > -np.inf]  # fmt: skip


@pytest.mark.parametrize("at_once", [1, 2, 7, 30, 60, 61, 62, 256])
@pytest.mark.parametrize("form", ["csr", "coo", "dense", "table", "table of names"])
def test_reasons_return_to_whom_they_belong(told, fans, told_alone, form, at_once, monkeypatch):
    monkeypatch.setattr(top_items, "USERS_AT_ONCE", at_once)
    users, items, ratings = fans
    asked, order = sp.coo_array((ratings, (users, items)), (N_FANS, N_FILMS)), list(range(N_FANS))
    if form == "csr":
        asked = asked.tocsr()
    elif form == "dense":
        asked = np.where(asked.toarray() == 0, np.nan, asked.toarray())
    elif form.startswith("table"):
        ids = [f"u{user}" for user in users] if form.endswith("names") else users
        asked, order = pa.table({"user": ids, "item": items, "rating": ratings}), list(dict.fromkeys(users.tolist()))
    top = told.recommend(asked, 5, explain=True)
    assert list(pairs_of(top)) == [told_alone[user] for user in order]
    assert top.users.tolist() == ([f"u{user}" for user in order] if form.endswith("names") else order)


def test_people_are_told_different_reasons(told_alone):
    """Or the test above would not notice that they were mixed up."""
    assert told_alone[0] and all(why == () for _, why in told_alone[0]) and len(told_alone[17]) == 2
    first = [pairs[0][1] for pairs in told_alone]
    assert all({"Comedy", "Drama", "Horror", "Western"} >= {why[0] for why in first if why} for _ in first)
    for user in (1, 2, 3, 4):
        assert first[user][0] == KINDS[user % 4]


def test_reasons_of_grown_and_loaded_models_belong_too(told, fans, told_alone, tmp_path, monkeypatch):
    monkeypatch.setattr(top_items, "USERS_AT_ONCE", 4)
    grown = told.add_items([90, 91], pa.table({"item": [91, 90], "genre": ["Drama", "Horror"], "year": [1960, 1990]}))
    grown.save(tmp_path / "model")
    users, items, ratings = fans
    asked = pa.table({"user": users, "item": items, "rating": ratings})
    top = PrivateCompletion.load(tmp_path / "model").recommend(asked, N_FILMS + 2, explain=True)
    for user, pairs in zip(top.users, pairs_of(top), strict=True):
        alone = grown.recommend(own_of(fans, user), N_FILMS + 2, explain=True)
        assert pairs == list(zip(alone.items.tolist(), alone.reasons, strict=True))
        why = dict(pairs)
        assert set(told_alone[user]) <= {(item, why[item]) for item in why}
        assert not {"Drama", "Comedy", "Western"} & set(why[90]) and not {"Horror", "Comedy"} & set(why[91])


def test_items_keep_their_owners_too(entries):
    """Unsigned and text catalogues: the item that is recommended is the item that is meant."""
    ids = {
        "uint64": np.array([2**64 - 1 - i for i in range(N_ITEMS)], np.uint64),
        "str": [f"{i:03d}" for i in range(N_ITEMS)],
    }
    plain = fitted(N_ITEMS)
    for kind, catalogue in ids.items():
        named = PrivateCompletion(3, epsilon=20.0, delta=1e-6, rating_range=(1, 5), items=catalogue, random_state=3)
        table = synthetic_ratings(400, N_ITEMS, seed=2).table()
        column = pa.array(
            [catalogue[i] for i in table["item"].to_pylist()], pa.uint64() if kind == "uint64" else pa.string()
        )
        named.fit(table.set_column(table.column_names.index("item"), "item", column))
        assert np.array_equal(named.item_factors_, plain.item_factors_)
        for user in (3, 150):
            own = own_of(entries, user)
            asked = ([catalogue[i] for i in own[0]], own[1])
            expected = [catalogue[i] for i in plain.recommend(own, 4).items]
            assert named.recommend(asked, 4).items.tolist() == [int(i) if kind == "uint64" else i for i in expected]
