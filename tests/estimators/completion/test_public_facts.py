"""Public facts before and after a fit: read before the charge from any form, and new items that change nothing else."""

import copy
import pickle
import threading
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import hushrank
from feature_support import (
    KINDS,
    N_ITEMS,
    TERMS,
    array_forms,
    assert_equal_models,
    choices,
    facts,
    fan_of,
    forms,
    recommender,
    tastes,
)
from hushrank.checks.subjects import unreadable
from hushrank.estimator import clone
from hushrank.estimators.completion import public_facts
from hushrank.estimators.completion.known_items import restore_features
from hushrank.exceptions import BudgetExceeded, InvalidParameter, NotFitted
from hushrank.privacy.ledger import Ledger

NAMES = [f"film {j:02d}" for j in range(N_ITEMS)]
COLUMNS = [*KINDS, "year", "year squared"]
IDS = {"int": [7 * j - 50 for j in range(N_ITEMS)], "str": NAMES, "uint64": [2**64 - 1 - j for j in range(N_ITEMS)]}
KINDS_OF_MODELS = {
    "explicit": {"random_state": 1},
    "als": {"method": "als"},
    "factored gradient": {"method": "factored_gradient"},
    "implicit": {"feedback": "implicit"},
    "implicit als": {"feedback": "implicit", "method": "als"},
}


def data_for(terms):
    return choices() if terms.get("feedback") == "implicit" else tastes()


def column_of(kind, ids):
    return pa.array(ids, {"int": pa.int64(), "str": pa.string(), "uint64": pa.uint64()}[kind])


def rated(ids, ratings):
    """A matrix of ratings as a table with the column `ids` of items."""
    users, items = np.nonzero(~np.isnan(ratings))
    return pa.table({"user": users, "item": ids.take(items), "rating": ratings[users, items]})


@pytest.fixture(scope="module")
def fitted():
    """A model of every kind, with facts about integer items."""
    return {
        name: recommender(items=N_ITEMS, item_features=facts(), **terms).fit(data_for(terms))
        for name, terms in KINDS_OF_MODELS.items()
    }


@pytest.fixture(scope="module")
def model(fitted):
    return fitted["explicit"]


@pytest.fixture(scope="module")
def plain():
    """A model without facts."""
    return recommender(items=N_ITEMS).fit(tastes())


# Forms


@pytest.mark.parametrize("form", forms(facts()))
def test_every_table_gives_the_same_bits(model, form):
    given = forms(facts())[form]
    other = recommender(items=N_ITEMS, item_features=given).fit(tastes())
    assert other.item_features is given and other.feature_names_ == COLUMNS
    assert_equal_models(other, model)


@pytest.mark.parametrize("kind", IDS)
def test_ids_of_every_type_give_the_same_bits(model, kind):
    ids, column = IDS[kind], column_of(kind, IDS[kind])
    table = facts(column).take(np.random.default_rng(1).permutation(N_ITEMS))
    for data in (tastes(), rated(column, tastes())):
        other = recommender(items=ids, item_features=table).fit(data)
        assert other.items_.tolist() == ids
        assert_equal_models(other, model, but=["items_"])


def test_a_matrix_brings_its_catalogue(model):
    other = recommender(item_features=facts()).fit(tastes())
    assert other.items is None
    assert_equal_models(other, model)


def test_items_without_a_row_are_typical(model):
    table = facts().filter(pa.array([j not in (5, 6) for j in range(N_ITEMS)]))
    other = recommender(items=N_ITEMS, item_features=table).fit(tastes())
    assert np.array_equal(other.feature_values_[5], other.feature_typical_)
    with_nulls = facts().to_pandas()
    with_nulls.loc[5:6, ["genre", "year"]] = None
    assert_equal_models(other, recommender(items=N_ITEMS, item_features=with_nulls).fit(tastes()))
    assert not np.array_equal(other.item_means_, model.item_means_)


@pytest.mark.parametrize("form", array_forms(np.zeros((1, 1))))
def test_every_array_gives_the_same_bits_and_stays_as_it_was(form):
    values = np.random.default_rng(1).integers(0, 9, (N_ITEMS, 3))
    expected = recommender(item_features=values.astype(float)).fit(tastes())
    given = array_forms(values)[form]
    before, is_sparse = copy.deepcopy(given), not isinstance(given, np.ndarray)
    other = recommender(item_features=given).fit(tastes())
    assert expected.feature_names_ == ["0", "0 squared", "1", "1 squared", "2", "2 squared"]
    assert_equal_models(other, expected)
    after, before = (part.toarray() if is_sparse else part for part in (given, before))
    assert np.array_equal(after, before) and after.dtype == before.dtype
    assert not np.shares_memory(other.feature_values_, after)


def test_booleans_are_numbers():
    flags = np.arange(2 * N_ITEMS).reshape(N_ITEMS, 2) % 5 < 2
    expected = recommender(item_features=flags.astype(float)).fit(tastes())
    assert_equal_models(recommender(item_features=flags).fit(tastes()), expected)
    assert expected.feature_names_ == ["0", "1"]


def test_facts_make_a_difference_and_cost_nothing(model, plain):
    assert (
        plain.feature_names_ == [] and plain.feature_map_.shape == (1, 4 + plain.rank) and plain.item_features is None
    )
    assert model.feature_names_ == COLUMNS and model.feature_map_.shape == (7, 10 + model.rank)
    assert model.privacy_ == plain.privacy_
    own = fan_of(2)
    horror = np.arange(N_ITEMS) % 4 == 2
    assert model.predict(own)[horror].min() > model.predict(own)[~horror].max()


def test_features_of_a_model_serve_another_fit(model):
    again = recommender(items=N_ITEMS, item_features=restore_features(model._learned())).fit(tastes())
    assert_equal_models(again, model)


def test_titles_are_left_out_with_a_warning_at_the_line_of_the_fit(model):
    title = pa.array([f"title {j}" for j in range(40)])
    items = pa.table({"item": range(40), "title": title, "kind": ["a", "b"] * 20})
    estimator = recommender(item_features=items)
    with pytest.warns(UserWarning) as caught:
        estimator.fit(tastes(n_items=40))
    [warning] = caught
    assert str(warning.message) == (
        "column 'title' of item_features is left out: nearly every item has a text of its own."
    )
    assert warning.filename == __file__
    assert estimator.feature_names_ == ["a", "b"]


def test_words_that_are_joined_otherwise_are_warned_of():
    """Before, "Comedy, Drama" was one word, and nobody said so."""
    pairs = ["Comedy, Drama", "Drama", "War, Drama", "Comedy", "Comedy, War, Drama"] * 8
    items = pa.table({"item": range(40), "genres": pairs, "tags": ["a|b", "c", "a, b", "b", "c, a"] * 8})
    with pytest.warns(UserWarning) as caught:
        recommender(item_features=items).fit(tastes(n_items=40))
    assert [str(warning.message) for warning in caught] == [
        "words of item_features are joined by |; column 'genres' seems to use ', '."
    ]
    assert caught[0].filename == __file__


# Refusals: before the charge, and before the data are read


def doubled(table):
    return pa.concat_tables([table, table.slice(3, 1)])


REFUSED = {
    "str ids": ({"item_features": facts(NAMES)}, "must be a table with int ids in its column 'item', as in the catal"),
    "unknown ids": ({"item_features": facts(range(100, 124))}, "must be a table with rows of items of the catalogue"),
    "an item twice": ({"item_features": doubled(facts())}, r"one row for each item .*; got '2 rows of item 3'"),
    "no ids": ({"item_features": facts().drop_columns(["item"])}, "must be a table with the ids in a column 'item'"),
    "ids alone": ({"item_features": facts().select(["item"])}, "must be a table with other columns beside 'item'"),
    "rows missing": ({"item_features": np.zeros((N_ITEMS - 1, 2))}, r"and a row for each of 24 items; got 'shape"),
    "rows too many": ({"item_features": np.zeros((N_ITEMS + 1, 2))}, r"and a row for each of 24 items; got 'shape"),
    "no columns": ({"item_features": np.zeros((N_ITEMS, 0))}, r"must be a matrix with a column, and a row for each"),
    "infinite": ({"item_features": np.full((N_ITEMS, 1), np.inf)}, r"must be finite numbers of size <= 1e\+100"),
    "huge": ({"item_features": np.full((N_ITEMS, 1), 2e100)}, r"must be finite numbers of size <= 1e\+100"),
    "complex": ({"item_features": np.zeros((N_ITEMS, 1), complex)}, "must be a 2-D array or sparse matrix of real"),
    "objects": ({"item_features": np.zeros((N_ITEMS, 1), object)}, "must be a 2-D array or sparse matrix of real"),
    "a vector": ({"item_features": np.zeros(N_ITEMS)}, "must be a 2-D array or sparse matrix of real"),
    "a list": ({"item_features": [[1.0]] * N_ITEMS}, "must be a 2-D array or sparse matrix of real"),
    "a path": ({"item_features": "items.csv"}, "must be a 2-D array or sparse matrix of real"),
    "a mask": ({"item_features": np.ma.zeros((N_ITEMS, 1))}, r"filled\(numpy.nan\) drops a mask"),
    "lazy": ({"item_features": pl.LazyFrame({"item": [1], "a": [2]})}, r"must be a table in memory: collect\(\)"),
    "dates": ({"item_features": pd.DataFrame({"item": [1], "day": pd.to_datetime(["2020-01-01"])})}, "must be a table"),
    "no offsets": ({"item_features": facts(), "offsets": False}, "must be None without offsets, unless feedback is"),
}
REFUSED_NEW = {
    "unknown": ({"new_items": [3, 99]}, r"must be ids of the catalogue; got '1 others, such as 99'"),
    "str": ({"new_items": ["3"]}, "must be int ids as in the catalogue"),
    "repeated": ({"new_items": [3, 3]}, "must be different ids"),
    "all": ({"new_items": range(N_ITEMS)}, "must be fewer than all items of the catalogue; got 'all 24'"),
    "a count": ({"new_items": 3}, "must be ids of the catalogue in a list, array or column, or None"),
    "a word": ({"new_items": "3"}, "must be ids of the catalogue in a list, array or column, or None"),
    "no offsets": ({"new_items": [3], "offsets": False}, "must be None without offsets, unless feedback is implicit"),
}


def assert_refused_unread(terms, name, message, folder):
    """In one line, with nothing read and nothing charged."""
    with Ledger(folder / "budget.db") as ledger:
        account = ledger.create("users", epsilon=50.0, delta=1e-5, neighbors="replace", unit="user")
        model = recommender(**{"items": N_ITEMS, "random_state": None, "ledger": account, **terms})
        data = unreadable(recommender(items=N_ITEMS)._read(tastes()))
        with pytest.raises(InvalidParameter, match=rf"^{name} of PrivateCompletion .*{message}") as refusal:
            model.fit(data)
        assert "\n" not in str(refusal.value) and len(account.history()) == 1
    assert not hasattr(model, "privacy_") and not hasattr(model, "_made_public")


@pytest.mark.parametrize("case", REFUSED)
def test_wrong_facts_are_refused_before_anything_is_charged(case, tmp_path):
    terms, message = REFUSED[case]
    assert_refused_unread(terms, "item_features", message, tmp_path)


@pytest.mark.parametrize("case", REFUSED_NEW)
def test_wrong_new_items_are_refused_before_anything_is_charged(case, tmp_path):
    terms, message = REFUSED_NEW[case]
    assert_refused_unread(terms, "new_items", message, tmp_path)


def test_a_warning_that_is_an_error_charges_nothing(tmp_path):
    titles = pa.table({"item": range(40), "title": [f"title {j}" for j in range(40)], "kind": ["a", "b"] * 20})
    with Ledger(tmp_path / "budget.db") as ledger:
        account = ledger.create("users", epsilon=50.0, delta=1e-5, neighbors="replace", unit="user")
        with warnings.catch_warnings(), pytest.raises(UserWarning, match="is left out"):
            warnings.simplefilter("error")
            recommender(item_features=titles, random_state=None, ledger=account).fit(tastes(n_items=40))
        assert len(account.history()) == 1


def test_an_empty_budget_refuses_before_the_data_are_read_and_leaves_nothing_to_the_next_fit(tmp_path):
    with Ledger(tmp_path / "budget.db") as ledger:
        account = ledger.create("users", epsilon=1.0, delta=1e-5, neighbors="replace", unit="user")
        terms = {"items": N_ITEMS, "item_features": facts(), "random_state": None, "ledger": account}
        model = recommender(**terms)
        with pytest.raises(BudgetExceeded):
            model.fit(unreadable(recommender(items=N_ITEMS)._read(tastes())))
        assert len(account.history()) == 1 and not hasattr(model, "privacy_")
    other = facts().set_column(2, "length", pa.array(range(N_ITEMS)))
    model.set_params(ledger=None, item_features=other).fit(tastes())
    assert model.feature_names_ == [*KINDS, "length", "length squared"]


@pytest.mark.parametrize("kind", KINDS_OF_MODELS)
@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
def test_no_value_of_a_person_stops_a_fit_with_facts(kind, neighbors):
    terms = KINDS_OF_MODELS[kind]
    ratings = data_for(terms)
    for user, number in enumerate((np.nan, np.inf, -1.7e308, 5e-324)):
        ratings[user] = number
    for data in (ratings, np.full((3, N_ITEMS), np.nan), ratings[:0]):
        if len(data) or neighbors == "add_remove":
            model = recommender(items=N_ITEMS, item_features=facts(), new_items=[5], neighbors=neighbors, **terms)
            learned = model.fit(data)._learned()
            assert all(np.isfinite(learned[name]).all() for name in ("item_means_", "item_features_", "feature_map_"))
            assert np.isfinite(model.add_items([40], facts([40], 1)).predict([] if "feedback" in terms else {})).all()


def test_new_items_need_no_facts():
    """Without features they are typical."""
    model = recommender(items=N_ITEMS, new_items=[3, 5]).fit(tastes())
    assert model.item_means_[3] == model.item_means_[5] and not model.item_factors_[[3, 5]].any()
    assert np.array_equal(model.item_features_[3], model.item_features_[5])
    empty = recommender(items=N_ITEMS, new_items=[]).fit(tastes())
    assert_equal_models(empty, recommender(items=N_ITEMS).fit(tastes()))


# Items that come later


LATER = pa.table({"item": [31, 30], "genre": ["Western|unheard of", "Horror"], "year": [None, 1990]})


def grown_of(model):
    return model.add_items([30, 31, 32], LATER)


def widened(ratings, n_new=3):
    return np.hstack([ratings, np.full((len(ratings), n_new), np.nan)])


@pytest.mark.parametrize("kind", KINDS_OF_MODELS)
def test_nothing_else_changes(fitted, kind):
    model = fitted[kind]
    before, parameters = copy.deepcopy(model._learned()), model.get_params()
    grown, ratings = grown_of(model), data_for(KINDS_OF_MODELS[kind])
    assert grown is not model and type(grown) is type(model) and grown.privacy_ == model.privacy_
    assert np.array_equal(grown.fold_in(widened(ratings)), model.fold_in(ratings))
    # The same items are scored with the same bits; beside others BLAS may add up in another order.
    assert np.array_equal(grown.predict(widened(ratings), items=range(N_ITEMS)), model.predict(ratings))
    assert grown.predict(widened(ratings))[:, :N_ITEMS] == pytest.approx(model.predict(ratings), rel=1e-12, abs=1e-12)
    # The first model is as it was.
    after = model._learned()
    assert after.keys() == before.keys() and all(np.array_equal(after[name], before[name]) for name in after)
    assert all(value is parameters[name] for name, value in model.get_params().items())
    assert not any(np.shares_memory(getattr(grown, name), getattr(model, name)) for name in ("item_means_", "items_"))


@pytest.mark.parametrize("kind", KINDS_OF_MODELS)
def test_new_items_take_part_in_everything(fitted, kind):
    grown, is_implicit = grown_of(fitted[kind]), "feedback" in KINDS_OF_MODELS[kind]
    own = {item: rating for item, rating in fan_of(2).items() if rating > 3 or not is_implicit}
    asked = list(own) if is_implicit else own
    assert grown.items_.tolist() == [*range(N_ITEMS), 30, 31, 32] and grown.n_features_in_ == N_ITEMS + 3
    predicted = grown.predict(asked, items=[30, 31, 32])
    assert predicted[0] == predicted.max() > grown.predict(asked).mean()  # a fan of horror
    top = grown.recommend(asked, N_ITEMS + 3)
    assert set(top.items.tolist()) == {*range(N_ITEMS), 30, 31, 32} - set(own)
    assert 30 in grown.recommend(asked, 8).items
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # factors of some of these methods are noise, and that is said
        assert 31 in grown.similar_items(30, N_ITEMS + 2).items
        assert len(grown.similar_items(2, 50).items) == N_ITEMS + 2
    # They can be rated, and tell about the person.
    more = [30] if is_implicit else {30: 5.0}
    assert grown.predict(more, items=[2])[0] > grown.predict(type(more)(), items=[2])[0]
    assert 30 not in grown.recommend(more, N_ITEMS + 3).items
    history = pa.table({"user": ["ann", "ann"], "item": [2, 30], "rating": [5.0, 5.0]})
    pairs = pa.table({"user": ["ann", "ann", "bob"], "item": [30, 31, 30]})
    alone = grown.predict([2, 30] if is_implicit else {2: 5.0, 30: 5.0}, items=[30, 31])
    nobody = grown.predict([] if is_implicit else {}, items=[30])
    assert grown.predict_ratings(history, pairs) == pytest.approx([*alone, *nobody], rel=1e-12)


@pytest.mark.parametrize("terms", [{}, {"feedback": "implicit"}], ids=["explicit", "implicit"])
def test_a_listed_and_an_added_item_of_the_same_facts_are_predicted_alike(terms):
    model = recommender(items=N_ITEMS, item_features=facts(), new_items=[3, 18], **terms).fit(data_for(terms))
    same = facts().take([3, 18])
    grown = model.add_items([40, 41], same.set_column(0, "item", pa.array([40, 41])))
    assert grown.new_items == [3, 18, 40, 41]
    own = [2, 6, 10] if terms else {2: 5.0, 6: 4.0, 11: 1.0}
    for asked in (own, type(own)()):
        listed, added = grown.predict(asked, items=[3, 18]), grown.predict(asked, items=[40, 41])
        assert added == pytest.approx(listed, rel=1e-9, abs=1e-12)
    assert np.array_equal(grown.feature_values_[[3, 18]], grown.feature_values_[-2:])


@pytest.mark.parametrize("kind", ["explicit", "implicit"])
def test_growing_twice_is_growing_once(fitted, kind):
    once, model = grown_of(fitted[kind]), fitted[kind]
    in_steps = model.add_items(30, LATER).add_items([31], LATER).add_items([32])
    assert in_steps.new_items == once.new_items == [30, 31, 32] and in_steps.items == once.items
    told = ["item_means_", "item_features_", "item_factors_"]  # by BLAS, whose last bits depend on how many there are
    assert_equal_models(in_steps, once, but=told)
    for name in told:
        assert getattr(in_steps, name) == pytest.approx(getattr(once, name), rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("kind", IDS)
def test_ids_of_every_type_can_be_added(kind):
    ids = IDS[kind]
    model = recommender(items=ids, item_features=facts(column_of(kind, ids))).fit(tastes())
    one, two = {"int": (-1000, 10**15), "str": ("a new one", "é\0|"), "uint64": (2**63 + 5, 2**64 - 100)}[kind]
    column = column_of(kind, [two, one])
    table = pa.table({"item": column, "genre": ["Drama", "Horror"], "year": [1980, 1990]})
    grown = model.add_items([one, two], table)
    assert grown.items_.tolist() == grown.items == [*ids, one, two] and grown.items_.dtype == model.items_.dtype
    assert grown.feature_values_[-2:, :4].tolist() == [[0, 0, 1, 0], [0, 1, 0, 0]]
    for single in (one, [one], np.array([one]), column[1:]):
        assert model.add_items(single, table).items_.tolist() == [*ids, one]
    assert grown.predict({one: 5.0}, items=[two]).shape == (1,)


def test_a_number_of_numpy_is_one_id(plain):
    """It was taken for a count, and gave the model a hundred items that nobody asked for."""
    assert plain.add_items(np.int64(100)).items_.tolist()[N_ITEMS:] == [100]
    assert plain.add_items(np.uint8(100)).items_.tolist()[N_ITEMS:] == [100]


def test_signs_do_not_matter_where_ids_fit_without():
    """Arrow said that arrays must be of one type."""
    signed = recommender(items=range(N_ITEMS)).fit(tastes())
    unsigned = recommender(items=IDS["uint64"]).fit(tastes())
    assert signed.add_items([2**63]).items_.tolist()[N_ITEMS:] == [2**63]
    assert unsigned.add_items([5]).items_.tolist()[N_ITEMS:] == [5]
    assert unsigned.add_items([5]).predict({5: 1.0}).shape == (N_ITEMS + 1,)
    for model, wrong in ((unsigned, [-5]), (recommender(items=IDS["int"]).fit(tastes()), [2**63])):
        with pytest.raises(InvalidParameter, match=r"^ids of "):
            model.add_items(wrong)


def test_an_empty_list_of_new_items_can_grow():
    model = recommender(items=N_ITEMS, new_items=[]).fit(tastes())
    assert model.add_items([50]).new_items == [50]


def test_facts_of_new_items_in_every_form(model):
    expected = grown_of(model)
    table = pa.table({
        "item": [32, 31, 30, 99], "title": ["a", "b", "c", "d"], "year": [None, None, 1990, 7],
        "genre": [None, "Western|unheard of", "Horror", "Drama"],
    })  # fmt: skip
    for given in (table, table.to_pandas(), pl.from_arrow(table), table.combine_chunks().to_batches()[0]):
        assert_equal_models(model.add_items([30, 31, 32], given), expected)
    assert np.array_equal(expected.feature_values_[-1], expected.feature_typical_)  # no row
    no_facts = model.add_items([30])
    assert np.array_equal(no_facts.feature_values_[-1], no_facts.feature_typical_)
    assert np.array_equal(no_facts.item_features_[-1], expected.item_features_[-1])
    by_array = recommender(item_features=np.arange(2.0 * N_ITEMS).reshape(N_ITEMS, 2)).fit(tastes())
    rows = np.array([[3.0, 4.0], [np.nan, 7.0]])
    grown = by_array.add_items([30, 31], rows)
    assert grown.feature_values_[-2:, 0].tolist() == [3.0, by_array.feature_typical_[0]]
    assert np.isnan(rows[1, 0])  # as it was


ADDED_WRONG = {
    "none": ([], "ids", "at least one id"),
    "existing": ([30, 3], "ids", "ids that the catalogue does not have yet; got '1 that it has'"),
    "repeated": ([30, 30], "ids", "different ids"),
    "str": (["30"], "ids", "int ids as in the catalogue"),
    "a word": ("30", "ids", "int ids as in the catalogue"),
    "float": ([30.0], "ids", "int64 or str ids"),
    "null": ([30, None], "ids", "ids that are set and not empty"),
    "bool": (True, "ids", "int64 or str ids"),
    "nothing": (None, "ids", "int64 or str ids"),
    "a dict": ({30: 1}, "ids", "int64 or str ids"),
}


@pytest.mark.parametrize("case", ADDED_WRONG)
def test_wrong_ids_are_not_added(model, case):
    ids, name, message = ADDED_WRONG[case]
    with pytest.raises(InvalidParameter, match=rf"^{name} of PrivateCompletion must be .*{message}"):
        model.add_items(ids)


FEATURES_WRONG = {
    "of an array": (np.zeros((1, 2)), "a table with the columns 'item', 'genre', 'year', as in the fit"),
    "missing": (LATER.drop_columns(["year"]), "a table with the columns 'item', 'genre', 'year'; got"),
    "texts": (LATER.set_column(2, "year", pa.array(["new", "old"])), "a table with numbers in the column 'year'"),
    "others": (facts(), "a table with rows of items of the catalogue"),
    "twice": (doubled(pa.concat_tables([LATER] * 2)), "a table with one row for each item"),
    "a list": ([["Drama"]], "a 2-D array or sparse matrix of real numbers"),
}


@pytest.mark.parametrize("case", FEATURES_WRONG)
def test_wrong_facts_of_new_items_are_refused(model, case):
    given, message = FEATURES_WRONG[case]
    with pytest.raises(InvalidParameter, match=rf"^item_features of PrivateCompletion must be .*{message}"):
        model.add_items([30], given)


@pytest.mark.parametrize("wrong", ["\ud800", pa.array([b"\xff"]).view(pa.string())], ids=["surrogate", "bytes"])
def test_ids_that_are_no_text_are_not_added(wrong):
    """They could be used, and then not be told to anybody."""
    model = recommender(items=NAMES).fit(tastes())
    with pytest.raises(InvalidParameter, match=r"^ids of "):
        model.add_items(wrong)


def test_models_that_cannot_grow_say_so(model, plain):
    with pytest.raises(InvalidParameter, match="must be None for a model that was fitted without item features"):
        plain.add_items([30], LATER)
    with pytest.raises(NotFitted, match="call fit first"):
        recommender(items=N_ITEMS, item_features=facts()).add_items([30])
    with pytest.raises(NotFitted, match="call fit first"):
        recommender(items=N_ITEMS, item_features=facts()).feature_names_  # noqa: B018
    low_rank = recommender(items=N_ITEMS, offsets=False).fit(tastes())
    assert low_rank.feature_map_.shape == (0, 0)
    with pytest.raises(InvalidParameter, match=r"^add_items of PrivateCompletion must be for a model with offsets, or"):
        low_rank.add_items([30])


@pytest.mark.parametrize("year", [1e60, -1e60, 1e100, 19850, 0])
def test_numbers_beyond_those_of_the_fit_count_as_its_ends(model, year, tmp_path):
    """Nothing was learned there: a typing error would rule all lists, and could not even be saved."""
    grown = model.add_items([30], pa.table({"item": [30], "genre": ["Drama"], "year": [year]}))
    end = (np.max if year > 2000 else np.min)(facts()["year"].to_numpy())
    at_end = model.add_items([30], pa.table({"item": [30], "genre": ["Drama"], "year": [end]}))
    assert np.array_equal(grown.predict({0: 5.0})[:N_ITEMS], model.predict({0: 5.0}))
    number = grown.feature_names_.index("year")
    assert grown.feature_values_[-1, number] == at_end.feature_values_[-1, number] == end
    assert 1.0 <= grown.item_means_[-1] <= 5.0
    grown.save(tmp_path / "model")
    assert grown.recommend({0: 5.0}, 3, explain=True).reasons is not None


def test_a_grown_model_is_fitted_again_with_all_its_items(model):
    grown = grown_of(model)
    ratings = widened(tastes())
    ratings[:40, N_ITEMS:] = 5.0
    again = clone(grown).fit(ratings)
    assert again.items_.tolist() == grown.items_.tolist() and again.feature_names_ == COLUMNS
    assert np.array_equal(again.feature_values_, grown.feature_values_)
    assert not again.item_factors_[N_ITEMS:].any()  # they are new, whatever the ratings say
    known = clone(grown).set_params(new_items=None).fit(ratings)
    assert known.item_means_[N_ITEMS + 2] > again.item_means_[N_ITEMS + 2]


# Files, copies and prints


@pytest.mark.parametrize("kind", KINDS_OF_MODELS)
def test_a_file_serves_grows_and_explains_without_the_training_data(fitted, kind, tmp_path):
    model, ratings = fitted[kind], data_for(KINDS_OF_MODELS[kind])
    for served in (model, grown_of(model), grown_of(model).add_items([50])):
        served.save(tmp_path / "model")
        loaded = hushrank.load(tmp_path / "model")
        assert_equal_models(loaded, served)
        asked = widened(ratings[:20], len(served.items_) - N_ITEMS)
        assert np.array_equal(loaded.predict(asked), served.predict(asked))
        mine, yours = loaded.recommend(asked, 5, explain=True), served.recommend(asked, 5, explain=True)
        assert np.array_equal(mine.items, yours.items) and mine.reasons == yours.reasons
        assert any(why for person in mine.reasons for why in person)
        assert loaded.feature_names_ == COLUMNS
        assert_equal_models(loaded.add_items([60, 61], LATER.set_column(0, "item", pa.array([61, 70]))),
                            served.add_items([60, 61], LATER.set_column(0, "item", pa.array([61, 70]))))  # fmt: skip
        loaded.save(tmp_path / "again")
        assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


def test_a_loaded_model_can_be_fitted_again(model, tmp_path):
    model.save(tmp_path / "model")
    loaded = hushrank.load(tmp_path / "model").set_params(random_state=TERMS["random_state"])
    assert_equal_models(clone(loaded).fit(tastes()), model)


@pytest.mark.parametrize("ids", ["int", "str", "uint64"])
def test_long_lists_of_new_items_survive_a_file(ids, tmp_path):
    n_items = 1500
    make = {"int": lambda j: j, "str": lambda j: f"item {j}", "uint64": lambda j: 2**64 - 1 - j}[ids]
    catalogue = [make(j) for j in range(n_items)]
    model = recommender(1, items=catalogue, new_items=catalogue[5:], method="als").fit(np.eye(4, n_items) * 3)
    model.save(tmp_path / "model")
    loaded = hushrank.load(tmp_path / "model")
    assert list(loaded.new_items) == catalogue[5:] and list(loaded.items) == catalogue
    assert loaded.add_items([make(-1) if ids == "str" else 10**12 if ids == "int" else 2**63]).n_features_in_ == 1501


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))],
                         ids=["copy", "deepcopy", "pickle"])  # fmt: skip
def test_copies_have_the_facts_and_not_what_was_made_of_them(model, duplicate):
    grown = grown_of(model)
    for one in (model, grown):
        other = duplicate(one)
        assert_equal_models(other, one)
        own = fan_of(1)
        assert other.recommend(own, explain=True).reasons == one.recommend(own, explain=True).reasons
        assert other.add_items([90]).items_.tolist() == [*one.items_.tolist(), 90]
    unfinished = recommender(items=N_ITEMS, item_features=facts())
    unfinished._check_source(unfinished._read(tastes()), None)
    assert hasattr(unfinished, "_made_public") and not hasattr(duplicate(unfinished), "_made_public")
    assert_equal_models(duplicate(unfinished).fit(tastes()), model)


def test_clones_and_prints(model):
    grown = grown_of(model)
    for one in (model, grown):
        assert str(one.privacy_) in repr(one) and len(repr(one)) < 1500
        again = clone(one)
        assert not hasattr(again, "feature_map_") and repr(again).startswith("PrivateCompletion(")
    assert_equal_models(clone(model).fit(tastes()), model)


# One object, several fits at a time


def test_threads_do_not_mix_up_facts():
    """Every fit has the facts that were set before it began, or that another thread set since: never parts of both."""
    tables = [facts(), facts().set_column(2, "length", pa.array([j % 5 for j in range(N_ITEMS)]))]
    expected = [recommender(items=N_ITEMS, item_features=table).fit(tastes()) for table in tables]
    model, barrier, found, errors = recommender(items=N_ITEMS), threading.Barrier(2), [], []

    class Watching(type(model)):
        def _keep(self, learned):
            found.append(learned)
            super()._keep(learned)

    model = Watching(**model.get_params())

    def work(table):
        try:
            for _ in range(8):
                barrier.wait()
                model.set_params(item_features=table).fit(tastes())
        except Exception as error:
            errors.append(error)
            barrier.abort()

    threads = [threading.Thread(target=work, args=[table]) for table in tables]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == [] and len(found) == 16
    for learned in found:
        [same] = [one for one in expected if one.feature_columns_.tolist() == learned["feature_columns_"].tolist()]
        assert all(np.array_equal(learned[name], value) for name, value in same._learned().items())


def test_facts_that_are_replaced_while_they_are_read_are_read_again(monkeypatch):
    first, second = facts(), facts().rename_columns(["item", "kind", "length"])
    model, read = recommender(items=N_ITEMS, item_features=first), public_facts.read_item_features

    def read_and_replace(features, *terms):
        found = read(features, *terms)
        model.item_features = second  # as another thread does
        return found

    monkeypatch.setattr(public_facts, "read_item_features", read_and_replace)
    model.fit(tastes())
    assert model.feature_names_ == [*KINDS, "length", "length squared"]


class Meddler:
    """An account that lets another thread begin a fit of the same object before it is charged."""

    def __init__(self):
        self.meddle = None

    def charge(self, event, **terms):
        meddle, self.meddle = self.meddle, None
        if meddle is not None:
            meddle()


@pytest.mark.parametrize("features", [None, facts(range(30), 30)], ids=["no facts", "facts"])
def test_a_fit_of_another_matrix_in_between_changes_nothing(features):
    """What was read for a catalogue of 30 items was taken for one of 24."""
    account = Meddler()
    model = recommender(item_features=features, random_state=None, ledger=account)
    account.meddle = lambda: model._check_source(model._read(tastes(n_items=30)), None)
    model.fit(tastes())
    assert model.items_.tolist() == list(range(N_ITEMS)) and model.feature_values_.shape[0] == N_ITEMS
    model.recommend(fan_of(2), explain=True)
