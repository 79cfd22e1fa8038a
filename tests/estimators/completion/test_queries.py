"""Serving: predictions are the ridge regression of NumPy, recommendations their largest, in any form and number."""

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

from feature_support import KINDS, choices, facts, fan_of, kinds, recommender, tastes
from hushrank.estimators.completion import queries
from hushrank.estimators.completion.estimator import PrivateCompletion
from hushrank.estimators.completion.top_items import largest_of
from hushrank.evaluation.synthetic import synthetic_ratings
from hushrank.exceptions import InvalidParameter, NotFitted

N_ITEMS = 30
NAMES = [f"item {j:02d}" for j in range(N_ITEMS)]
TERMS = {"epsilon": 30.0, "delta": 1e-6, "random_state": 4}
RATINGS = synthetic_ratings(400, N_ITEMS, seed=3, ratings_per_user=15, rank=2)


def with_names(ratings):
    items = pd.array([NAMES[j] for j in ratings.items], "string")
    return pd.DataFrame({"user": ratings.users, "item": items, "rating": ratings.ratings})


@pytest.fixture(scope="module")
def model():
    return PrivateCompletion(3, rating_range=(1, 5), items=N_ITEMS, **TERMS).fit(RATINGS.table())


@pytest.fixture(scope="module")
def named():
    return PrivateCompletion(3, rating_range=(1, 5), items=NAMES, **TERMS).fit(with_names(RATINGS))


@pytest.fixture(scope="module")
def implicit():
    return PrivateCompletion(3, feedback="implicit", items=N_ITEMS, unobserved_weight=0.5, **TERMS).fit(RATINGS.table())


OWN = {7: 5.0, 12: 1.0, 3: 4.0}


def solve(model, own):
    """Coefficients and predictions, before they are clipped, by NumPy."""
    items, y = np.array(sorted(own)), np.array([own[j] for j in sorted(own)], float)
    W, base = np.hstack([model.item_features_, model.item_factors_]), (model.item_means_ - 3.0) / 2.0
    r = ((y - 3.0) / 2.0 - base[items]) if own else np.empty(0)
    W_o = W[items] if own else W[:0]
    z = np.linalg.solve(W_o.T @ W_o + model.ridge_ * np.eye(W.shape[1]), W_o.T @ r)
    return z, 3.0 + 2.0 * (base + W @ z)


# Names of columns


def test_columns_may_have_other_names(model, implicit):
    """A table of MovieLens: other columns, also one that is called user by chance, do not matter."""
    names = {"user": "userId", "item": "movieId", "rating": "stars"}
    table = pd.DataFrame({"user": ["ann", "ann", "bob"], "item": [7, 12, 3], "rating": [5.0, 1.0, 4.0]})
    other = table.rename(columns=names).assign(user=["x", "y", "z"], timestamp=[1, 2, 3])
    for one in (model, implicit):
        assert np.array_equal(one.fold_in(other, columns=names), one.fold_in(table))
        assert np.array_equal(one.predict(other, [3, 4], columns=names), one.predict(table, [3, 4]))
        for got, expected in zip(one.recommend(other, columns=names), one.recommend(table), strict=True):
            assert np.array_equal(got, expected)
        assert np.array_equal(one.predict_ratings(other, other, columns=names), one.predict_ratings(table, table))
    own = other[["movieId", "stars"]]
    with pytest.raises(InvalidParameter, match=r'Did you mean columns=\{"item": "movieId", "rating": "stars"\}\?'):
        model.recommend(own)
    with pytest.warns(UserWarning, match="column 'userId' is not used"):
        model.recommend(other.drop(columns="user"), columns={"item": "movieId", "rating": "stars"})
    for odd in (OWN, np.ones((2, N_ITEMS))):
        with pytest.raises(InvalidParameter, match="columns of PrivateCompletion must be None for data whose columns"):
            model.recommend(odd, columns=names)
    with pytest.raises(InvalidParameter, match=r"own_ratings of PrivateCompletion .* got no column 'userId'"):
        model.recommend(own, columns=names)


def test_own_ratings_among_objects_are_read_as_in_a_fit(model, named):
    own = pd.DataFrame({"item": ["7", 12, "03"], "rating": [5.0, 1.0, 4.0]}).astype({"item": object})
    assert np.array_equal(model.predict(own), model.predict(OWN))
    texts = pd.DataFrame({"item": pd.Series([NAMES[7], NAMES[12]], dtype=object), "rating": [5.0, 1.0]})
    assert np.array_equal(named.predict(texts), named.predict({NAMES[7]: 5.0, NAMES[12]: 1.0}))


# Predictions


@pytest.mark.parametrize("own", [OWN, {0: 5.0}, {}, dict.fromkeys(range(N_ITEMS), 2.0)])
def test_fold_in_and_predict_are_the_ridge_regression_of_numpy(model, own):
    z, ratings = solve(model, own)
    assert model.fold_in(own) == pytest.approx(z, rel=1e-6, abs=1e-9)
    assert model.predict(own) == pytest.approx(np.clip(ratings, 1, 5), rel=1e-6)
    assert model.predict(own, items=[5, 2]) == pytest.approx(np.clip(ratings, 1, 5)[[5, 2]], rel=1e-6)


def test_implicit_scores_count_everything_unobserved(implicit):
    assert implicit.n_factors_ > 0
    V, own = implicit.item_factors_, [7, 12, 3]
    A = V[own].T @ V[own] + 0.5 * V.T @ V + implicit.ridge_ * np.eye(3)
    z = np.linalg.solve(A, V[own].T @ (1.0 - implicit.item_means_[own]))
    assert implicit.fold_in(own) == pytest.approx(z, rel=1e-6)
    assert implicit.predict(own) == pytest.approx(implicit.item_means_ + V @ z, rel=1e-6)
    assert np.array_equal(implicit.predict([]), implicit.item_means_)


def test_somebody_without_ratings_gets_the_item_means(model):
    means = np.clip(model.item_means_, 1, 5)
    nobody = np.full((2, N_ITEMS), np.nan)
    for own in ({}, ([], []), {4: np.nan}):
        assert model.predict(own) == pytest.approx(means, rel=1e-12)
    assert model.predict(nobody) == pytest.approx(np.tile(means, (2, 1)), rel=1e-12)
    assert not model.fold_in(nobody).any()


def test_unknown_items_are_ignored_with_a_warning(model, named):
    with pytest.warns(UserWarning, match=r"^ratings of items outside the catalogue of PrivateCompletion are ignored"):
        found = model.fold_in({**OWN, 99: 1.0, -1: 5.0})
    assert np.array_equal(found, model.fold_in(OWN))
    with pytest.warns(UserWarning, match=r"^ratings of items"):
        assert named.predict({"no such item": 1.0}) == pytest.approx(np.clip(named.item_means_, 1, 5))


def test_all_forms_of_own_ratings_give_the_same_bits(model):
    expected = model.predict(OWN)
    columns = {"item": list(OWN), "rating": list(OWN.values())}
    row = np.full((1, N_ITEMS), np.nan)
    row[0, list(OWN)] = list(OWN.values())
    sparse = scipy.sparse.coo_array((list(OWN.values()), ([0, 0, 0], list(OWN))), shape=(1, N_ITEMS))
    for own in ((list(OWN), list(OWN.values())), pd.DataFrame(columns), pl.DataFrame(columns), pa.table(columns)):
        assert np.array_equal(model.predict(own), expected)
    for own in (row, sparse, sparse.tocsr(), pa.table({"user": ["me"] * 3, **columns})):
        assert np.array_equal(model.predict(own), expected[None])


def test_strings_name_the_same_items(model, named):
    own = {NAMES[j]: rating for j, rating in OWN.items()}
    assert np.array_equal(named.predict(own), model.predict(OWN))
    top, named_top = model.recommend(OWN, 5), named.recommend(own, 5)
    assert named_top.items.tolist() == [NAMES[j] for j in top.items]
    assert named.similar_items(NAMES[4], 3).items.tolist() == [NAMES[j] for j in model.similar_items(4, 3).items]
    assert named.items_.tolist() == NAMES


# Recommendations


@pytest.fixture
def made_catalogues(monkeypatch):
    """The catalogues that queries make."""
    made, make = [], queries.Catalogue
    monkeypatch.setattr(queries, "Catalogue", lambda ids: made.append(make(ids)) or made[-1])
    return made


def test_the_catalogue_of_a_fit_or_of_the_first_query_serves_all_queries(made_catalogues):
    model = PrivateCompletion(2, rating_range=(1, 5), items=NAMES, **TERMS).fit(with_names(RATINGS))
    own, table = {NAMES[7]: 5.0, NAMES[3]: 1.0}, with_names(RATINGS)
    for asked in (model, copy.deepcopy(model)):
        for _ in range(2):
            asked.recommend(own), asked.predict(own, NAMES[:2]), asked.fold_in(own), asked.similar_items(NAMES[1])
            asked.predict_ratings(table, table[["user", "item"]])
        assert len(made_catalogues) == (asked is not model)
    model.set_params(items=N_ITEMS).fit(RATINGS.table())
    assert set(model.recommend({7: 5.0}, N_ITEMS).items.tolist()) == set(range(N_ITEMS)) - {7}
    with pytest.raises(InvalidParameter):
        model.predict(own)  # the names of the first fit


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies_leave_the_catalogue_behind_and_answer_the_same(named, duplicate):
    own = {NAMES[7]: 5.0, NAMES[3]: 1.0}
    expected = named.recommend(own)
    assert "_made_catalogue" in vars(named) and b"_made_catalogue" not in pickle.dumps(named)
    other = duplicate(named)
    assert "_made_catalogue" not in vars(other)
    assert other.recommend(own).items.tolist() == expected.items.tolist()


def test_recommendations_are_the_largest_predictions_without_those_seen(model):
    _, ratings = solve(model, OWN)
    unseen = [j for j in np.argsort(-ratings, kind="stable") if j not in OWN]
    top = model.recommend(OWN, n=6)
    assert top.items.tolist() == unseen[:6] and top.users is None
    assert top.scores == pytest.approx(np.clip(ratings[unseen[:6]], 1, 5))
    everything = model.recommend(OWN, n=N_ITEMS, exclude_seen=False)
    assert sorted(everything.items) == list(range(N_ITEMS)) and (np.diff(everything.scores) <= 0).all()
    assert len(model.recommend(OWN).items) == 10


def test_nobody_is_recommended_what_was_seen_however_many_are_asked_for(model):
    top = model.recommend(OWN, n=1000)
    assert sorted(top.items) == sorted(set(range(N_ITEMS)) - set(OWN)) and np.isfinite(top.scores).all()
    assert len(model.recommend(dict.fromkeys(range(N_ITEMS), 3.0), n=2).items) == 0
    several = model.recommend(np.full((2, N_ITEMS), 3.0), n=2)  # one shape for all: the score tells
    assert several.items.shape == (2, 2) and np.isneginf(several.scores).all()


def test_many_users_are_served_as_one_by_one(model, implicit):
    table = RATINGS.table()
    together = model.recommend(table, 4)
    users, codes = together.users.tolist(), RATINGS.users
    assert users == list(dict.fromkeys(codes.tolist())) and together.items.shape == (400, 4)  # two parts of 256 users
    Z, predicted = model.fold_in(table), model.predict(table)
    assert Z.shape == (400, 6) and predicted.shape == (400, N_ITEMS)
    for i in (0, 1, 255, 256, 399):
        rows = codes == users[i]
        own = (RATINGS.items[rows], RATINGS.ratings[rows])
        alone = model.recommend(own, 4)
        assert np.array_equal(together.items[i], alone.items)
        assert together.scores[i] == pytest.approx(alone.scores, rel=1e-12)
        assert np.array_equal(Z[i], model.fold_in(own))
        assert predicted[i] == pytest.approx(model.predict(own), rel=1e-12)
        assert np.array_equal(implicit.recommend(table, 4).items[i], implicit.recommend(own[0], 4).items)


def test_nobody_gets_no_recommendations(model):
    top = model.recommend(np.empty((0, N_ITEMS)), 3)
    assert top.items.shape == top.scores.shape == (0, 3)


def test_similar_items_point_the_same_way(model):
    V = model.item_factors_
    cosines = V @ V[8] / (np.linalg.norm(V, axis=1) * np.linalg.norm(V[8]))
    others = [j for j in np.argsort(-cosines, kind="stable") if j != 8]
    found = model.similar_items(8, n=5)
    assert found.items.tolist() == others[:5] and found.scores == pytest.approx(cosines[others[:5]])
    assert sorted([*model.similar_items(8, n=100).items, 8]) == list(range(N_ITEMS))


def test_without_factors_nothing_is_similar():
    cold = PrivateCompletion(1, epsilon=1e-3, delta=1e-6, rating_range=(0, 1), random_state=1).fit(np.eye(3))
    with pytest.warns(UserWarning, match="item 0 is similar to others by nothing: the order means nothing"):
        found = cold.similar_items(0)
    assert cold.n_factors_ == 0 and (found.scores == 0.0).all() and found.by == "nothing"


def test_ties_keep_the_order_of_the_catalogue():
    scores = np.array([[1.0, 3.0, 3.0, 2.0], [5.0, 0.0, 0.0, 0.0]])
    assert largest_of(scores, 2).tolist() == [[1, 2], [0, 1]]
    assert largest_of(scores, 4).tolist() == [[1, 2, 3, 0], [0, 1, 2, 3]]


# Public features


@pytest.fixture(scope="module")
def told():
    """Models of ratings and of implicit feedback with facts about items that tastes follow."""
    return {
        "explicit": recommender(items=24, item_features=facts()).fit(tastes()),
        "als": recommender(items=24, item_features=facts(), method="als").fit(tastes()),
        "implicit": recommender(items=24, item_features=facts(), new_items=[5], feedback="implicit").fit(choices()),
    }


def test_new_items_tell_nothing_by_not_being_chosen(told):
    model, own = told["implicit"], [7, 12, 3]
    W, known = np.hstack([model.item_features_, model.item_factors_]), np.arange(24) != 5
    assert model.item_features_.shape[1] == 6
    A = W[own].T @ W[own] + W[known].T @ W[known] + model.ridge_ * np.eye(W.shape[1])
    z = np.linalg.solve(A, W[own].T @ (1.0 - model.item_means_[own]))
    assert model.fold_in(own) == pytest.approx(z, rel=1e-6)
    grown = model.add_items([100, 101])
    assert np.array_equal(grown.fold_in(own), model.fold_in(own))


@pytest.mark.parametrize("name", ["explicit", "als", "implicit"])
@pytest.mark.parametrize("kind", range(4))
def test_reasons_are_the_tastes_that_were_planted(told, name, kind):
    own = fan_of(kind)
    top = told[name].recommend([j for j in own if own[j] > 3] if name == "implicit" else own, 3, explain=True)
    assert (kinds()[top.items] == kind).all()
    assert all(KINDS[kind] in why for why in top.reasons) and top.reasons[0][0] == KINDS[kind]


@pytest.mark.parametrize("name", ["explicit", "als", "implicit"])
def test_nothing_is_praised_for_what_it_is_not(told, name):
    ratings = tastes() if name != "implicit" else choices()
    top = told[name].recommend(ratings, 24, exclude_seen=False, explain=True)
    assert len(top.reasons) == len(ratings) and all(len(person) == 24 for person in top.reasons)
    is_late = facts()["year"].to_numpy() > facts()["year"].to_numpy().mean()
    words = {*KINDS, "high year", "low year"}
    found = set()
    for items, reasons in zip(top.items, top.reasons, strict=True):
        for item, why in zip(items, reasons, strict=True):
            own = {KINDS[kinds()[item]], "high year" if is_late[item] else "low year", "typical year"}
            assert set(why) <= own and len(why) <= 2
            found |= set(why)
    assert words <= found <= {*words, "typical year"}


@pytest.mark.parametrize("method", ["spectral", "als"])
def test_reasons_are_the_parts_of_the_predictions_that_slopes_on_features_make(method, monkeypatch):
    """Neither of the offset and the slope on item means, which features tell about too, nor of factors."""
    better = np.array([0.6, 0.2, -0.2, -0.6])[kinds()]
    model = recommender(items=24, item_features=facts(), method=method).fit(np.clip(tastes() + better, 1, 5))
    own, seen = fan_of(1), []
    monkeypatch.setattr(queries, "reasons_for", lambda _, slopes, items: seen.append(slopes) or [()] * len(items))
    model.recommend(own, 3, explain=True)
    coefficients, along_means = model.fold_in(own), model.feature_map_[1:, 2]
    assert np.ptp(coefficients[1] * along_means) > 1e-3  # or the second of these parts could not be noticed
    expected = model.item_features_[:, 3 : 3 + model.n_slopes_] @ coefficients[3 : 3 + model.n_slopes_]
    found = (model.feature_values_ - model.feature_typical_) @ seen[0]
    assert model.n_slopes_ == 6 and found - found.mean() == pytest.approx(expected - expected.mean(), rel=1e-6)


def test_reasons_stand_beside_the_items_that_are_left(told):
    model, own = told["explicit"], fan_of(2)
    assert model.recommend(own, 5).reasons is None and model.recommend(tastes(), 5).reasons is None
    everything = model.recommend(own, 24, exclude_seen=False, explain=True)
    why = dict(zip(everything.items.tolist(), everything.reasons, strict=True))
    unseen = model.recommend(own, 24, explain=True)
    assert len(unseen.items) == len(unseen.reasons) == 24 - len(own)
    assert unseen.reasons == [why[item] for item in unseen.items.tolist()]
    nothing_left = model.recommend(dict.fromkeys(range(24), 3.0), 5, explain=True)
    assert len(nothing_left.items) == 0 and nothing_left.reasons == []
    nobody = model.recommend(np.empty((0, 24)), 3, explain=True)
    assert nobody.reasons == [] and nobody.items.shape == (0, 3)
    assert model.recommend({}, 3, explain=True).reasons == [()] * 3  # nothing is known about them


def test_without_useful_features_there_are_no_reasons(model, implicit):
    assert model.recommend(OWN, 3, explain=True).reasons == [()] * 3
    assert implicit.recommend([7, 12], 3, explain=True).reasons == [()] * 3
    assert model.recommend(RATINGS.table(), 2, explain=True).reasons == [[(), ()]] * 400
    nobody_has_a_taste = np.where(np.isnan(tastes()), np.nan, 3.0 + np.random.default_rng(1).normal(size=(300, 24)))
    useless = recommender(items=24, item_features=facts()).fit(nobody_has_a_taste)
    assert useless.item_features_.shape[1] == 3 and useless.feature_map_.shape == (
        7,
        4 + useless.rank,
    )  # no slopes on features
    assert useless.recommend(fan_of(1), 2, explain=True).reasons == [(), ()]


# Pairs


def test_pairs_are_predicted_in_their_order(model):
    history = pd.DataFrame({"user": ["b", "a", "b"], "item": [7, 5, 12], "rating": [5.0, 4.0, 1.0]})
    pairs = pl.DataFrame({"user": ["a", "b", "a", "b"], "item": [2, 2, 29, 0]})
    a, b = model.predict({5: 4.0}), model.predict({7: 5.0, 12: 1.0})
    assert model.predict_ratings(history, pairs) == pytest.approx([a[2], b[2], a[29], b[0]], rel=1e-12)
    assert model.predict_ratings(history, pairs[:0]).shape == (0,)


def test_unknown_users_get_item_means_and_unknown_items_are_typical(model):
    history = pa.table({"user": [4, 4], "item": [7, 12], "rating": [5.0, 1.0]})
    pairs = pa.table({"user": pa.array([4, 9, 9, 4, None]), "item": pa.array([99, 2, 99, None, 2])})
    weights = model.item_counts_ / model.item_counts_.sum()
    typical, means = weights @ model.item_means_, np.clip(model.item_means_, 1, 5)
    W = np.hstack([model.item_features_, model.item_factors_])
    of_known = np.clip(typical + 2.0 * weights @ W @ model.fold_in({7: 5.0, 12: 1.0}), 1, 5)
    expected = [of_known, means[2], typical, of_known, means[2]]
    assert model.predict_ratings(history, pairs) == pytest.approx(expected, rel=1e-9)


# Refusals


@pytest.mark.parametrize("name", ["fold_in", "predict", "recommend", "similar_items"])
def test_results_before_the_fit_are_refused(name):
    with pytest.raises(NotFitted, match="this PrivateCompletion is not fitted yet; call fit first"):
        getattr(PrivateCompletion(2, rating_range=(1, 5), **TERMS), name)({})


@pytest.mark.parametrize("n", [0, -1, 2.0, True, "3", None])
def test_wrong_numbers_of_recommendations_are_refused(model, n):
    for call in (lambda: model.recommend(OWN, n), lambda: model.similar_items(1, n)):
        with pytest.raises(InvalidParameter, match=r"^n of PrivateCompletion must be an integer >= 1; got"):
            call()


def test_items_that_are_asked_for_must_exist(model):
    for call in (lambda: model.predict(OWN, items=[1, 99]), lambda: model.similar_items(99)):
        with pytest.raises(
            InvalidParameter, match=r"^items of PrivateCompletion must be items of the catalogue; got '1"
        ):
            call()
    with pytest.raises(InvalidParameter, match=r"^items of PrivateCompletion must be int ids as in the catalogue"):
        model.similar_items("tea")


def test_histories_of_pairs_must_name_users(model):
    table = pd.DataFrame({"user": [1], "item": [2], "rating": [3.0]})
    for history in ({1: 2.0}, table[["item", "rating"]], np.ones((1, N_ITEMS))):
        with pytest.raises(
            InvalidParameter, match=r"^history of PrivateCompletion must be a table with a column 'user'"
        ):
            model.predict_ratings(history, table)
    with pytest.raises(
        InvalidParameter, match=r"^pairs of PrivateCompletion must be users of type int64 as in the hist"
    ):
        model.predict_ratings(table, table.assign(user=["a"]))
