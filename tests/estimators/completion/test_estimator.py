"""Private completion as a whole: nothing but releases reaches the model, the same bits from every source, refusals."""

import logging
import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse

import hushrank
from completion_support import RELATIONS, Replay, adverse_people, make_people, squared_loss, to_matrix
from hushrank.archive.container import read_archive
from hushrank.checks.subjects import unreadable
from hushrank.data.ratings.catalogue import Catalogue
from hushrank.data.ratings.reading import read_ratings
from hushrank.data.rows.reading import read_rows
from hushrank.engine.local import LocalEngine
from hushrank.estimators.completion.estimator import PrivateCompletion
from hushrank.estimators.completion.recipes import FACTORED_GRADIENT
from hushrank.evaluation.synthetic import synthetic_ratings
from hushrank.exceptions import BudgetExceeded, InvalidParameter, PlanBroken
from hushrank.privacy.accountant import squared_mu
from hushrank.privacy.adaptive import AdaptiveReleases
from hushrank.privacy.guarantee import Neighbors, Unit
from hushrank.privacy.ledger import Ledger

N_ITEMS = 20
MODES = [
    {},
    {"offsets": False},
    {"feedback": "implicit"},
    {"method": "als"},
    {"method": "als", "feedback": "implicit"},
    {"method": "factored_gradient", "offsets": False},
]
# Facts about items: few columns, which have squares, and so many that users are asked which of them tell anything.
FEW = np.random.default_rng(5).integers(0, 9, (N_ITEMS, 3)).astype(float)
MANY = np.random.default_rng(6).standard_normal((N_ITEMS, 40))
FEATURE_MODES = {
    "features": {"item_features": FEW},
    "many features": {"item_features": MANY},
    "features, new items": {"item_features": FEW, "new_items": [3, 11]},
    "new items": {"new_items": [3, 11]},
    "features, als": {"item_features": FEW, "method": "als"},
    "features, factored gradient": {"item_features": FEW, "method": "factored_gradient"},
    "features, implicit": {"item_features": FEW, "new_items": [3], "feedback": "implicit"},
    "many features, implicit": {"item_features": MANY, "feedback": "implicit"},
    "features, implicit als": {"item_features": FEW, "feedback": "implicit", "method": "als"},
}


def completion(rank=2, **terms):
    return PrivateCompletion(rank, **{"epsilon": 5.0, "delta": 1e-6, "rating_range": (1, 5), **terms})


def mode_name(terms):
    return "-".join(map(str, terms.values())) or "default"


ALL_MODES = {mode_name(terms): terms for terms in MODES} | FEATURE_MODES


# 1. Sensitivity: with the same released values, neighbors give the same model bit for bit


def assert_equal_models(one, other):
    mine, yours = one._learned(), other._learned()
    assert mine.keys() == yours.keys()
    for name, value in mine.items():
        assert np.array_equal(value, yours[name]), name


@pytest.mark.parametrize("mode", ALL_MODES)
@pytest.mark.parametrize("neighbors", RELATIONS)
def test_nothing_but_the_releases_reaches_the_model(monkeypatch, neighbors, mode):
    replay, people = Replay(monkeypatch), make_people(40, N_ITEMS, seed=4, n_ratings=8.0)
    terms = {"rating_range": (-1, 1), "neighbors": neighbors, "random_state": 1, **ALL_MODES[mode]}
    model, other = completion(**terms), completion(**terms)
    recorded = replay.fit(model, to_matrix(people, N_ITEMS))
    adverse = adverse_people(N_ITEMS)
    for name in ("alternating", "nothing", "repeated"):
        kept = people if neighbors == "add_remove" else people[1:]
        replayed = replay.fit(other, to_matrix([adverse[name], *kept], N_ITEMS), recorded)
        loss = sum(squared_loss(*pair) for pair in zip(recorded, replayed, strict=True))
        assert 0 < loss <= float(squared_mu(model.privacy_.event, "test")) * (1 + 1e-9)
        assert_equal_models(model, other)


def test_a_fit_that_spends_a_share_twice_is_not_kept(monkeypatch):
    monkeypatch.setattr(AdaptiveReleases, "release", _release_twice(AdaptiveReleases.release))
    model = completion()
    with pytest.raises(PlanBroken, match=r"^PrivateCompletion planned .* and executed .*; nothing was kept"):
        model.fit(np.eye(N_ITEMS))
    assert not hasattr(model, "item_factors_")


def _release_twice(release):
    def twice(self, total, lattice):
        return (release(self, total, lattice) + release(self, total, lattice)) / 2

    return twice


# 4. Identities


@pytest.fixture(scope="module")
def ratings():
    """Ratings without repeats, as triples and as a matrix of all users."""
    found = synthetic_ratings(60, N_ITEMS, seed=1, ratings_per_user=8, rank=2)
    X = np.full((60, N_ITEMS), np.nan)
    X[found.users, found.items] = found.ratings
    assert not np.isnan(X).all(axis=1).any()
    return found, X


SOURCE_MODES = [*map(mode_name, MODES), "many features", "features, new items", "features, implicit"]


@pytest.mark.parametrize("mode", SOURCE_MODES)
def test_every_source_order_block_and_thread_gives_the_same_bits(ratings, mode, tmp_path):
    found, X = ratings
    terms = {"random_state": 3, "items": N_ITEMS, **ALL_MODES[mode]}
    expected = completion(**terms, engine=LocalEngine(threads=1)).fit(X)
    table = found.table()
    pq.write_table(table, tmp_path / "ratings.parquet")
    pl.from_arrow(table).write_csv(tmp_path / "ratings.csv")
    names = pa.array([f"user {user}" for user in found.users])
    sources = [
        X[::-1],
        scipy.sparse.csr_array(np.nan_to_num(X)),
        scipy.sparse.coo_array((found.ratings, (found.users, found.items)), shape=X.shape),
        table,
        table.take(np.random.default_rng(1).permutation(len(table))),
        pd.DataFrame({"rating": found.ratings, "item": found.items, "user": found.users, "time": 0}),
        pl.from_arrow(table),
        table.set_column(0, "user", names),
        tmp_path / "ratings.parquet",
        str(tmp_path / "ratings.csv"),
    ]
    engines = [LocalEngine(threads=1), LocalEngine(threads=3, block_rows=7), LocalEngine(threads=2, block_rows=1)]
    for i, source in enumerate(sources):
        assert_equal_models(expected, completion(**terms, engine=engines[i % 3]).fit(source))


def test_the_scale_of_ratings_is_that_of_the_range(ratings):
    _, X = ratings
    one = completion(random_state=2).fit(X)
    other = completion(random_state=2, rating_range=(-10, 30)).fit(10 * X - 20)
    assert other.item_means_ == pytest.approx(10 * one.item_means_ - 20, rel=1e-9)
    assert np.array_equal(other.item_factors_, one.item_factors_)
    assert other.predict({3: 30.0}) == pytest.approx(10 * one.predict({3: 5.0}) - 20, rel=1e-9)


def test_the_guarantee_is_about_users_and_exact(ratings):
    _, X = ratings
    model = completion(neighbors="add_remove").fit(X)
    given = model.privacy_
    assert (given.unit, given.neighbors, given.numerics) == (Unit.USER, Neighbors.ADD_REMOVE, "exact")
    assert given == model.plan(X.shape).guarantee and given.epsilon <= 5.0 and given.delta <= 1e-6
    assert "user" in repr(model)


# 5. What a saved model holds


@pytest.mark.parametrize("mode", ALL_MODES)
@pytest.mark.parametrize("neighbors", RELATIONS)
def test_a_saved_model_holds_no_user_and_no_rating(mode, neighbors, tmp_path):
    n_users, items, terms = 97, [f"catalogue-{j}" for j in range(N_ITEMS)], dict(ALL_MODES[mode])
    if "new_items" in terms:
        terms["new_items"] = [items[j] for j in terms["new_items"]]
    found = synthetic_ratings(n_users, N_ITEMS, seed=2, ratings_per_user=8, rank=2)
    secret = [f"zaphod-{user}-beeblebrox" for user in found.users]
    table = pa.table({"user": secret, "item": [items[j] for j in found.items], "rating": found.ratings})
    model = completion(3, items=items, neighbors=neighbors, **terms).fit(table)
    model.save(tmp_path / "model")
    content = (tmp_path / "model").read_bytes()
    header, arrays = read_archive(tmp_path / "model")
    held = [value for name, value in vars(model).items() if name != "_made_catalogue"]  # of the public items
    shapes = [np.shape(value) for value in [*arrays.values(), *held]]
    assert all(n_users not in shape and len(table) not in shape for shape in shapes)
    for encoding in ("utf-8", "utf-16-le", "utf-32-le"):
        assert "zaphod".encode(encoding) not in content and "beeblebrox".encode(encoding) not in content
    assert all(name.encode() in content for name in items)
    # Everything that depends on the data is about items, and of the sizes that the catalogue and the rank allow.
    sizes = {name: array.shape for name, array in arrays.items()}
    n_slopes = 32 if "many" in mode else 6 if "features" in mode else 0
    n_columns, own = len(model.feature_names_), 0 if model.feedback == "implicit" or not model.offsets else 3
    assert n_columns == (40 if "many" in mode else n_slopes)
    n_users_columns = model.item_features_.shape[1]
    assert sizes.pop("item_features_") == (N_ITEMS, n_users_columns) and own <= n_users_columns <= own + n_slopes
    has_map = model.offsets or model.feedback == "implicit"
    assert sizes.pop("feature_map_") == ((1 + n_columns, 1 + n_users_columns + model.rank) if has_map else (0, 0))
    assert (sizes.pop("feature_values_"), sizes.pop("feature_typical_")) == ((N_ITEMS, n_columns), (n_columns,))
    vectors = ("item_means_", "item_counts_", "mean_deviation_")
    assert sizes.pop("strength_") in ((0,), (3,))
    assert sizes == {"item_factors_": (N_ITEMS, 3), **dict.fromkeys(vectors, (N_ITEMS,))}
    texts = {"items_", "feature_columns_"}
    assert set(header["attributes"]) == {"n_factors_", "ridge_", "n_features_in_", "count_deviation_", *texts}
    assert header["attributes"]["items_"] == list(items)
    assert "item_features" not in header["parameters"]  # attributes have them


@pytest.mark.filterwarnings("ignore:item .* is similar to others by:UserWarning")  # noise, in some of them
@pytest.mark.parametrize("mode", ALL_MODES)
def test_a_loaded_model_predicts_the_same(ratings, mode, tmp_path):
    _, X = ratings
    terms, items = dict(ALL_MODES[mode]), [f"i{j}" for j in range(N_ITEMS)]
    if "new_items" in terms:
        terms["new_items"] = [items[j] for j in terms["new_items"]]
    model = completion(items=items, **terms).fit(X)
    model.save(tmp_path / "model")
    loaded = hushrank.load(tmp_path / "model")
    assert type(loaded) is PrivateCompletion and loaded.privacy_ == model.privacy_
    assert np.array_equal(loaded.predict(X), model.predict(X))
    assert loaded.recommend(X[:3], 4).items.tolist() == model.recommend(X[:3], 4).items.tolist()
    assert loaded.similar_items("i3").items.tolist() == model.similar_items("i3").items.tolist()


# 6. Refusals; nothing is read or charged


TABLE = pd.DataFrame({"user": [1, 2, 2], "item": [0, 1, 2], "rating": [1.0, 2.0, 5.0]})
READ = read_ratings(np.ones((4, 5)), owner="A", rating_range=(1, 5))


MANY_ITEMS = np.ones((2, FACTORED_GRADIENT.max_start_items + 1))


@pytest.mark.parametrize(
    ("terms", "data", "message"),
    [
        ({"items": None}, TABLE, r"^items .* the public catalogue of items .* must not be read off the data; got None"),
        ({"delta": 0.0}, TABLE, r"^delta .* must be > 0, because its sums over users have Gaussian noise .*; got 0.0"),
        ({"rank": 0}, TABLE, r"^rank .* must be an int\w* >= 1; got 0"),
        ({"rank": 4}, TABLE, r"^rank .* must be at most the number of items, 3; got 4"),
        ({"rank": 2.0}, TABLE, r"^rank .* must be"),
        ({"rating_range": None}, TABLE, r"^rating_range .* must be a pair \(lowest, highest\) of finite numbers"),
        ({"rating_range": (5, 1)}, TABLE, r"^rating_range .* must be a pair"),
        ({"rating_range": (1, 1)}, TABLE, r"^rating_range .* must be a pair"),
        ({"rating_range": (1, np.inf)}, TABLE, r"^rating_range .* must be"),
        ({"rating_range": (1, 2, 3)}, TABLE, r"^rating_range .* must be a pair"),
        ({"rating_range": 5.0}, TABLE, r"^rating_range .* must be"),
        ({"method": "sgd"}, TABLE, r"^method .* must be one of Spectral\(...\), .* or 'als' or 'factored_gradient'"),
        ({"method": "factored_gradient", "feedback": "implicit"}, TABLE, r"^method .* must be 'spectral' or 'als' for"),
        ({"feedback": "clicks"}, TABLE, r"^feedback .* must be 'explicit' or 'implicit'; got 'clicks'"),
        ({"unobserved_weight": 0.0}, TABLE, r"^unobserved_weight .* must be a finite float > 1e-09"),
        ({"n_users": 0}, TABLE, r"^n_users .* must be"),
        ({"n_users": 10**400}, TABLE, r"^n_users .* must be"),
        ({"n_users": 3, "neighbors": "add_remove"}, TABLE, r"^n_users .* must be None under add_remove"),
        ({"epsilon": 1e-9, "delta": 1e-12}, TABLE, r"^epsilon .* so large that the noise multiplier"),
        ({"items": 3}, READ, r"^items .* must be the 5 ids"),
        ({"items": None, "rating_range": (0, 9)}, READ, r"^rating_range .* must be \(1.0, 5.0\)"),
        ({"items": None, "feedback": "implicit"}, READ, r"^rating_range .* must be"),
        ({"items": None}, read_rows(np.ones((3, 3)), owner="A"), r"^X .* must be ratings"),
        ({"items": [1, 1]}, TABLE, r"^items .* must be different ids"),
        ({"epsilon": 0.0}, TABLE, r"^epsilon .* must be"),
        ({}, TABLE[["user", "item"]], r"^X .* must be .*rating"),
        ({}, TABLE[["item", "rating"]], r"^X .* must be .*user"),
        ({}, TABLE.rename(columns={"item": "movie"}), r"^X .* must be .*item"),
        ({}, TABLE.assign(user=[1.5, 2.5, 2.5]), r"^X .* must be"),
        ({}, TABLE.astype({"rating": "string"}), r"^X .* must be .*real numbers in the column rating"),
        ({}, np.ones((3, 3), object), r"^X .* must be"),
        ({}, np.ones((3, 3), complex), r"^X "),
        ({}, np.ones(3), r"^X .* must be"),
        ({"items": 4}, np.ones((3, 3)), r"^items .* must be None or 3 ids, one for each column"),
        ({}, "no such file.parquet", r"^X .* must be"),
        (
            {"method": "factored_gradient", "items": None},
            unreadable(read_ratings(MANY_ITEMS, owner="A", rating_range=(1, 5))),
            r"^start .* 'random' for",
        ),
    ],
)
def test_refusals_say_why_and_charge_nothing(terms, data, message, tmp_path):
    with Ledger(tmp_path / "budget.db") as ledger:
        ledger.create("users", epsilon=10.0, delta=1e-5, neighbors="replace", unit="user")
        model = completion(**{"rank": 1, "items": 3, "ledger": ledger["users"], **terms})
        with pytest.raises(InvalidParameter, match=message):
            model.fit(data)
        assert len(ledger["users"].history()) == 1
    assert not hasattr(model, "privacy_") and not hasattr(model, "item_factors_")


def test_a_budget_that_is_used_up_refuses_before_the_data_are_read(tmp_path):
    with Ledger(tmp_path / "budget.db") as ledger:
        ledger.create("users", epsilon=6.0, delta=1e-5, neighbors="replace", unit="user")
        model = completion(ledger=ledger["users"]).fit(np.eye(N_ITEMS))
        assert len(ledger["users"].history()) == 2
        before = model.item_means_.copy()
        with pytest.raises(BudgetExceeded):
            model.fit(unreadable(model._read(np.ones((5, N_ITEMS)))))
        assert len(ledger["users"].history()) == 2 and np.array_equal(model.item_means_, before)


def test_values_are_clipped_or_ignored_and_counted_in_the_log(caplog):
    table = pd.DataFrame(
        {
            "user": [1, 1, 2, 2, 3, 3, 3, None],
            "item": [0, 1, 2, 77, -5, 0, 0, 1],
            "rating": [99.0, -1e30, 3.0, 3.0, 3.0, np.nan, np.inf, 3.0],
        }
    ).astype({"user": "Int64"})
    with caplog.at_level(logging.INFO, "hushrank"):
        completion(1, items=3).fit(table)
    assert re.search(
        "8 ratings read; 2 not finite, 2 of unknown items and 1 without a user .* ignored, 2 clipped", caplog.text
    )


def test_clipped_ratings_are_those_at_the_ends_of_the_range():
    X = np.random.default_rng(0).choice([1.0, 3.0, 5.0, np.nan], (30, N_ITEMS))
    wild = np.where(X == 1.0, -1e30, np.where(X == 5.0, 1e30, X))
    assert_equal_models(completion(random_state=1).fit(X), completion(random_state=1).fit(wild))


def test_a_public_number_of_users_is_used_instead_of_the_one_found(ratings):
    _, X = ratings
    read = read_ratings(X, owner="A", rating_range=(1, 5))
    assert_equal_models(*(completion(random_state=1, n_users=600).fit(data) for data in (X, read)))
    one, other = (completion(random_state=1, n_users=n).fit(X) for n in (None, 60))
    assert_equal_models(one, other)
    assert not np.array_equal(completion(random_state=1, n_users=600).fit(X).item_means_, one.item_means_)


def test_string_ids_are_kept_as_they_are(tmp_path):
    items = ["a\x00", "a", "b" * 3000, "007"]
    model = completion(1, items=items).fit(np.ones((6, 4)))
    model.save(tmp_path / "model")
    loaded = hushrank.load(tmp_path / "model")
    for each in (model, loaded):
        assert each.items_.tolist() == items
        assert each.predict({"a\x00": 5.0, "7": 1.0}, ["a"]).shape == (1,)
    assert (tmp_path / "model").stat().st_size < 30_000


def test_a_catalogue_may_be_given_ready_made():
    model = completion(1, items=Catalogue(["x", "y", "z"])).fit(np.ones((6, 3)))
    assert model.items_.tolist() == ["x", "y", "z"]


def test_the_catalogue_is_built_once_a_fit(ratings, monkeypatch):
    built, make = [], Catalogue.__init__
    monkeypatch.setattr(Catalogue, "__init__", lambda self, ids: (built.append(ids), make(self, ids))[1])
    items = [f"film {j}" for j in range(N_ITEMS)]
    model = completion(items=items).fit(ratings[1])
    assert built == [items] and model.items is items
    assert model.set_params(items=[*items[:-1], "another"]).fit(ratings[1]).items_[-1] == "another"


def test_threads_that_fit_one_estimator_do_not_disturb_each_other(ratings):
    items = [f"film {j}" for j in range(N_ITEMS)]
    model = completion(items=items, random_state=1, engine=LocalEngine(1))
    expected = completion(items=items, random_state=1).fit(ratings[1])
    with ThreadPoolExecutor(4) as pool:
        for fitted in pool.map(lambda _: model.fit(ratings[1]), range(12)):
            assert fitted is model
    assert_equal_models(model, expected)


# Names of columns


@pytest.mark.parametrize("kind", ["table", "parquet", "csv.zst", "objects"])
def test_columns_may_have_other_names(kind, tmp_path):
    ratings = synthetic_ratings(60, N_ITEMS, seed=1, ratings_per_user=6.0).table()
    terms = {"epsilon": 5.0, "delta": 1e-6, "rating_range": (1, 5), "items": N_ITEMS, "random_state": 3}
    expected = PrivateCompletion(1, **terms).fit(ratings)
    names = {"user": "userId", "item": "movieId", "rating": "stars"}
    data = ratings.rename_columns([names[name] for name in ratings.column_names]).append_column("item", ratings["user"])
    if kind == "objects":
        data = data.to_pandas().astype(object)
    elif kind == "parquet":
        pq.write_table(data, tmp_path / "x.parquet")
    elif kind == "csv.zst":
        data.to_pandas().to_csv(tmp_path / "plain.csv", index=False)
        packed = pa.Codec("zstd").compress((tmp_path / "plain.csv").read_bytes(), asbytes=True)
        (tmp_path / "x.csv.zst").write_bytes(packed)
    model = PrivateCompletion(1, **terms).fit(
        tmp_path / f"x.{kind}" if "." in kind or kind == "parquet" else data, columns=names
    )
    assert np.array_equal(model.item_means_, expected.item_means_)
    with pytest.raises(
        InvalidParameter, match="X of PrivateCompletion must be a table with the columns user, item, rati"
    ):
        PrivateCompletion(1, **terms).fit(ratings.rename_columns(["u", "item", "rating"]))
    with pytest.raises(InvalidParameter, match="columns of PrivateCompletion must be None for data whose columns have"):
        PrivateCompletion(1, **terms).fit(np.ones((3, N_ITEMS)), columns=names)
