"""The default method for ratings: bounds on every path of the fit, planted ratings, shares."""

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from completion_support import (
    RELATIONS,
    Replay,
    adverse_people,
    follow_features,
    largest_loss,
    make_people,
    make_releases,
)
from hushrank.data.ratings.grouping import UserBlock
from hushrank.data.ratings.reading import read_ratings
from hushrank.engine.local import LocalEngine
from hushrank.estimators.completion import spectral_ratings
from hushrank.estimators.completion.feature_recipe import FEATURES
from hushrank.estimators.completion.item_means import OWN_COLUMNS, Census, positive_counts, release_census
from hushrank.estimators.completion.public_items import PublicItems
from hushrank.estimators.completion.rating_model import learn_ratings_around
from hushrank.estimators.completion.recipes import RATINGS
from hushrank.estimators.completion.releases import RatingReleases
from hushrank.estimators.completion.spectral_ratings import (
    items_with_factors,
    learn_ratings,
    rating_chances,
    what_rating_tells,
)
from hushrank.estimators.completion.user_sums import RowState, most_counted
from hushrank.evaluation.baselines import fit_em, fit_item_means
from hushrank.evaluation.metrics import root_mean_squared_error
from hushrank.evaluation.synthetic import synthetic_ratings
from hushrank.privacy.calibration import calibrate
from hushrank.privacy.guarantee import Budget, Neighbors
from hushrank.privacy.noise.source import NoiseSource

N_ITEMS = 24
PEOPLE = make_people(80, N_ITEMS, seed=3)
TOP = 8192

# Public features: three that people have slopes on, three that they have not, these among many, two items that nobody
# has rated; and many that call two items alike which everybody tells apart.
RNG = np.random.default_rng(7)
COLUMNS = RNG.standard_normal((N_ITEMS, 3))
KEEN = follow_features(PEOPLE, COLUMNS, seed=8, deviation=0.4)
IS_NEW = np.isin(np.arange(N_ITEMS), [2, 17])
FEW, OTHERS = PublicItems.of(COLUMNS, N_ITEMS), PublicItems.of(RNG.standard_normal((N_ITEMS, 3)), N_ITEMS)
MANY = PublicItems.of(np.hstack([COLUMNS, RNG.standard_normal((N_ITEMS, 40))]), N_ITEMS)
ALIKE = PublicItems.of(np.repeat(np.arange(N_ITEMS)[:, None] < 12, 40, axis=1).astype(float), N_ITEMS)
CONTRARY = [(np.array([i % 12, (i + 1) % 12]) + i // 12 % 2 * 12, np.array([1.0, -1.0])) for i in range(80)]


def learn(releases, rank=3, top=TOP):
    model = learn_ratings(releases, rank, top)
    assert releases.left == 0.0
    return model.with_new(releases.items.G, releases.items.is_new)


def learn_with_noise_for_factors(releases):
    """Another method around the same steps, whose factors are noise and cost all it is given."""

    def learn_factors(model, share):
        assert model.factors.shape == (N_ITEMS, 0) and model.W.shape == (N_ITEMS, 3)
        released = releases.release(np.zeros((N_ITEMS, 2), np.int64), releases.vector_lattice(1.0, share))
        return 0.1 * released / np.abs(released).max()

    return learn_ratings_around(releases, learn_factors)


# Paths: (learn, people, items, epsilon, what of the recipe is changed to get there, whether slopes are kept, None where
# nobody asks, whether factors are found, None where nobody looks).
NEVER, NOTHING_FOUND = {"least_edges": 1e9}, {"least_edges": 0.0, "cut": 1e9}
PATHS = {
    "too few ratings for factors": (learn, PEOPLE, None, 1.0, {}, None, None),
    "no factor above the noise": (learn, PEOPLE, None, 5.0, NOTHING_FOUND, None, False),
    "factors and EM steps": (learn, PEOPLE, None, 50.0, {}, None, True),
    "factors of some items": (partial(learn, rank=2, top=12), PEOPLE, None, 50.0, {}, None, True),
    "factors from elsewhere": (learn_with_noise_for_factors, PEOPLE, None, 5.0, {}, None, None),
    "slopes alone": (learn, KEEN, FEW, 50.0, NEVER, True, None),
    "slopes and no factor above the noise": (learn, KEEN, FEW, 50.0, NOTHING_FOUND, True, False),
    "slopes and factors": (learn, KEEN, FEW, 50.0, {}, True, True),
    "no slopes in the end": (learn, PEOPLE, OTHERS, 50.0, NEVER, False, None),
    "no slopes and no factor": (learn, PEOPLE, OTHERS, 50.0, NOTHING_FOUND, False, False),
    "no slopes, but factors": (learn, PEOPLE, OTHERS, 50.0, {}, False, True),
    "many features": (learn, KEEN, MANY, 50.0, NEVER, True, None),
    "many features and factors": (partial(learn, top=12), KEEN, MANY, 50.0, {}, True, True),
    "many features and no slopes": (learn, CONTRARY, ALIKE, 50.0, NEVER, False, None),
    "new items": (learn, PEOPLE, PublicItems.of(None, N_ITEMS, IS_NEW), 50.0, {}, None, True),
    "new items with features": (learn, KEEN, replace(FEW, is_new=IS_NEW), 50.0, {}, True, True),
}


def count_releases(path):
    """How many releases a fit makes on a path."""
    run, _, items, _, _, has_slopes, has_factors = PATHS[path]
    n_rounds = 1 + FEATURES.more_rounds if has_slopes else RATINGS.mean_rounds
    n_questions = 0 if has_slopes is None else 2 + (items.G.shape[1] > FEATURES.most_slopes)
    n = 3 + 2 * n_rounds + n_questions + 1  # who rates what, means, slopes, the last check
    if run is learn_with_noise_for_factors:
        return n + 1 + 2
    n_variances = 1 if has_slopes else 2  # before factors are looked for, without slopes, and at the end
    if has_factors is None:
        return n + n_variances
    more_rounds = FEATURES.more_rounds if has_slopes else RATINGS.mean_rounds
    return n + n_variances + 1 + (1 + 2 * RATINGS.em_rounds if has_factors else 2 * more_rounds)


def change_recipe(monkeypatch, changes):
    monkeypatch.setattr(spectral_ratings, "RATINGS", replace(RATINGS, **changes))


# 1. Sensitivity


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("neighbors", RELATIONS)
def test_one_user_stays_within_the_budget_on_every_path(monkeypatch, neighbors, path):
    run, people, items, epsilon, changes, _, has_factors = PATHS[path]
    change_recipe(monkeypatch, changes)
    replay, people = Replay(monkeypatch), [adverse_people(N_ITEMS)["opposed"], *people[1:]]
    used = largest_loss(replay, run, people, N_ITEMS, neighbors=neighbors, epsilon=epsilon, items=items)
    made = [release.mechanism for release in replay.made]
    assert made.count("hollow") == (has_factors is not None)
    assert len(made) - made.count("counts") == count_releases(path)
    assert used > 0.3


@pytest.mark.parametrize("has_features", [False, True])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("neighbors", RELATIONS)
def test_bounds_hold_whatever_was_released_before(monkeypatch, neighbors, seed, has_features):
    replay = Replay(monkeypatch, distortion=10.0 ** (2 * seed - 2), seed=seed)
    people = make_people(30, N_ITEMS, seed=seed)
    items = (FEW, MANY, replace(FEW, is_new=IS_NEW), replace(MANY, is_new=IS_NEW))[seed] if has_features else None
    terms = {"neighbors": neighbors, "epsilon": (0.1, 1.0, 5.0, 100.0)[seed], "seed": seed, "items": items}
    assert largest_loss(replay, learn, people, N_ITEMS, **terms) > 0.2


@pytest.mark.parametrize("n_columns", [0, 2, 40])
@pytest.mark.parametrize("n_items", [1, 2, 5])
@pytest.mark.parametrize("neighbors", RELATIONS)
def test_few_items_and_few_users_are_as_safe(monkeypatch, neighbors, n_items, n_columns):
    people, values = make_people(2, n_items, seed=1), np.random.default_rng(1).standard_normal((n_items, n_columns))
    items = PublicItems.of(values, n_items, np.arange(n_items) >= max(n_items - n_columns, 1))
    run = partial(learn, rank=n_items)
    assert largest_loss(Replay(monkeypatch), run, people, n_items, neighbors=neighbors, items=items) > 0.1


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("neighbors", RELATIONS)
def test_the_whole_budget_is_used(monkeypatch, path, neighbors):
    run, people, items, epsilon, changes, *_ = PATHS[path]
    change_recipe(monkeypatch, changes)
    releases = make_releases(people, N_ITEMS, neighbors=neighbors, epsilon=epsilon, items=items)
    model = run(releases)
    assert releases.left == 0.0
    assert np.isfinite(model.W).all() and np.isfinite(model.base).all() and model.ridge > 0
    assert model.new_item_map.shape == (1 + releases.items.G.shape[1], 1 + model.W.shape[1])


# 2. and 3. Planted ratings


@pytest.fixture(scope="module")
def ratings():
    """Users, held-out ratings, and errors of what knows no privacy: item means, and EM with offsets and factors."""
    train, test = synthetic_ratings(2000, 60, seed=1, ratings_per_user=25, rank=2).split(0.1, seed=2)
    rows = read_ratings(train.table(), owner="test", items=60, rating_range=(1, 5))
    [block] = rows.blocks()
    codes = {user: i for i, user in enumerate(dict.fromkeys(train.users.tolist()))}
    known = np.isin(test.users, train.users)
    users = np.array([codes[user] for user in test.users[known].tolist()])
    items, values = test.items[known], (test.ratings[known] - 3) / 2
    references = (fit_item_means(block, 60), fit_em(block, 60, 3))
    errors = [root_mean_squared_error(model.predict(block, users, items), values) for model in references]
    return rows, (users, items, values), errors


def error_of(ratings, epsilon, rank=3):
    rows, (users, items, values), _ = ratings
    budget = Budget(epsilon, 1e-6, "replace", "user")
    total = partial(LocalEngine(threads=1).total, rows)
    terms = (calibrate(budget), Neighbors.REPLACE, 2**26, NoiseSource(), total)
    releases = RatingReleases(*terms, n_people=rows.n_users, n_items=60)
    model = learn_ratings(releases, rank, TOP)
    [block] = rows.blocks()
    scores = model.scores(model.fold_in(block))[users, items]
    return root_mean_squared_error(np.clip(scores, -1, 1), values)


def test_a_large_budget_reaches_what_needs_no_privacy(ratings):
    _, _, (means, em) = ratings
    assert em < 0.9 * means
    assert error_of(ratings, 1000.0) < 1.03 * em


# Measured over 30 fits, in units of ratings (twice these): 0.777 (0.0014) at epsilon 5, 0.800 (0.0053) at 2, 0.866
# (0.0056) at 0.3; item means without privacy have 0.906. The limits are 8 and more standard deviations away.
@pytest.mark.parametrize(("epsilon", "low", "high"), [(5.0, 0.76, 0.79), (2.0, 0.77, 0.85), (0.3, 0.80, 0.93)])
def test_errors_fall_with_epsilon(ratings, epsilon, low, high):
    assert low < 2 * error_of(ratings, epsilon) < high


@pytest.mark.parametrize("epsilon", [1e-4, 1e-2])
def test_hardly_any_budget_is_hardly_worse_than_no_model(ratings, epsilon):
    """Measured over 30 fits: 1.13 and 1.02 at most, against 1.17 for the middle of the range; means 0.95."""
    for _ in range(3):
        assert 2 * error_of(ratings, epsilon) < 1.8


# Features. 3000 users rate 24 of 120 items, with own slopes on four features that item means follow as well.


@pytest.fixture(scope="module")
def told():
    """Users with ratings to learn from and others to predict, and the features."""
    rng, n_items = np.random.default_rng(1), 120
    X = rng.standard_normal((n_items, 4))
    quality = 0.15 * rng.standard_normal(n_items) + 0.1 * X @ rng.choice([-1.0, 1.0], 4)
    popularity = rng.permutation(np.log(1 / (np.arange(n_items) + 10.0)))
    train, test = [], []
    for _ in range(3000):
        own = rng.permutation(np.argsort(-popularity - rng.gumbel(size=n_items))[:28])
        liking = 0.2 * rng.standard_normal() + 0.15 * X[own] @ rng.standard_normal(4)
        y = np.clip(0.2 + quality[own] + liking + 0.3 * rng.standard_normal(28), -1, 1)
        train.append((own[:24], y[:24]))
        test.append((own[24:], y[24:]))
    return train, test, X


def held_out_error(train, test, n_items, features=None, epsilon=1.0, is_new=None):
    releases = make_releases(train, n_items, epsilon=epsilon, items=PublicItems.of(features, n_items, is_new))
    model = learn(releases, rank=4)
    rows = [(items[order], y[order]) for items, y in train for order in [np.argsort(items)]]
    items, values = (np.concatenate(parts) for parts in zip(*rows, strict=True))
    indptr = np.cumsum([0, *(len(own) for own, _ in rows)], dtype=np.int64)
    scores = model.scores(model.fold_in(UserBlock(indptr, items.astype(np.int32), values.astype(np.float32))))
    errors = [np.clip(scores[i, own], -1, 1) - y for i, (own, y) in enumerate(test)]
    return math.sqrt(np.mean(np.concatenate(errors) ** 2))


def error_of_own_means(train, test):
    errors = [y - known.mean() for (_, known), (_, y) in zip(train, test, strict=True)]
    return math.sqrt(np.mean(np.concatenate(errors) ** 2))


# Measured over 40 fits at epsilon 1: 0.3791 (0.0007) without features, 0.3213 (0.0018) with them, 0.3790 (0.0007) with
# shuffled ones, 0.3246 (0.0028) with 200 random columns beside; noise has 0.3, means of users' own ratings 0.448. The
# limits are nine standard deviations away and more.
def test_features_lower_the_error_and_others_do_not_raise_it(told):
    train, test, X = told
    rng = np.random.default_rng(4)
    without, features = held_out_error(train, test, 120), held_out_error(train, test, 120, X)
    shuffled = held_out_error(train, test, 120, rng.permutation(X))
    hidden = held_out_error(train, test, 120, np.hstack([X, rng.standard_normal((120, 200))]))
    assert features < without - 0.04
    assert shuffled < without + 0.01
    assert without - hidden > 0.5 * (without - features)


# Measured over 40 fits: 0.3645 (0.0033) for new items that are listed with features, 0.4958 (0.0013) for those that are
# listed without; means of users' own ratings have 0.498.
def test_cold_items_are_predicted_better_than_by_own_means(told):
    train, test, X = told
    is_new = np.arange(120) % 10 == 0
    joined = [(np.append(a, b), np.append(y, z)) for (a, y), (b, z) in zip(train, test, strict=True)]
    known = [(items[~is_new[items]], y[~is_new[items]]) for items, y in joined]
    cold = [(items[is_new[items]], y[is_new[items]]) for items, y in joined]
    own = error_of_own_means(known, cold)
    assert held_out_error(known, cold, 120, X, is_new=is_new) < 0.8 * own
    assert held_out_error(known, cold, 120, None, is_new=is_new) < 1.02 * own


# Ratings of nearly everything, with noise of deviation 0.3: 0.3105 (0.0012) at epsilon 2 over 40 fits; means of users'
# own ratings have 0.454.
def test_dense_ratings_are_learned():
    rng, n_items = np.random.default_rng(1), 40
    V, quality = rng.standard_normal((n_items, 2)), 0.2 * rng.standard_normal(n_items)
    train, test = [], []
    for _ in range(1500):
        own = rng.permutation(np.flatnonzero(rng.random(n_items) < 0.97))
        liking = 0.2 * rng.standard_normal() + 0.3 * V[own] @ rng.standard_normal(2)
        y = np.clip(0.1 + quality[own] + liking + 0.3 * rng.standard_normal(len(own)), -1, 1)
        train.append((own[3:], y[3:]))
        test.append((own[:3], y[:3]))
    assert 0.30 < held_out_error(train, test, n_items, epsilon=2.0) < 0.325 < 0.8 * error_of_own_means(train, test)


# 4. Identities


def census(counts, count_norm=4.0, deviation=1e-9):
    counts = np.asarray(counts, float)
    items = PublicItems.of(None, len(counts))
    kept = positive_counts(counts, deviation, items)
    return Census(count_norm, kept, np.ones(len(counts)), 0.0, items, counts, deviation)


def test_factors_need_cover_and_ratings():
    releases, even = make_releases(PEOPLE, N_ITEMS, epsilon=200.0), census(np.ones(N_ITEMS))
    assert items_with_factors(releases, even, 3, TOP) == (N_ITEMS, 3)
    assert items_with_factors(releases, even, 17, TOP) == (N_ITEMS, 6)  # a fourth of the items
    assert items_with_factors(releases, census(np.ones(N_ITEMS), math.sqrt(2.5)), 3, TOP) == (N_ITEMS, 2)  # 2.5 ratings
    assert items_with_factors(releases, census(np.ones(N_ITEMS), 0.9), 3, TOP) == (0, 0)
    assert items_with_factors(releases, even, 2, 8) == (0, 0)  # a third of the ratings
    assert items_with_factors(releases, even, 2, 12) == (12, 2)
    assert items_with_factors(make_releases(PEOPLE, 3, epsilon=200.0), census(np.ones(3)), 1, TOP) == (0, 0)


def test_a_factor_of_everything_must_stand_out_of_the_noise():
    """n_users k / n_items, k ratings of a user, against 1.5 times the edge 2 sqrt(n_items) / mu."""
    releases = make_releases(PEOPLE, N_ITEMS, epsilon=5.0)
    edge = 2 * math.sqrt(N_ITEMS) / (releases.mu * math.sqrt(RATINGS.spectral_share))
    k = RATINGS.least_edges * edge * N_ITEMS / len(PEOPLE)
    assert 1 < k < N_ITEMS
    for factor, found in ((0.99, (0, 0)), (1.01, (N_ITEMS, 2))):
        assert items_with_factors(releases, census(np.ones(N_ITEMS), math.sqrt(factor * k)), 2, TOP) == found


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 5.0, 50.0])
def test_asking_for_more_factors_never_gives_fewer(epsilon):
    releases, rng = make_releases(PEOPLE, N_ITEMS, epsilon=epsilon), np.random.default_rng(1)
    for _ in range(20):
        made = census(rng.exponential(size=N_ITEMS), float(rng.uniform(1.0, 5.0)))
        top = int(rng.integers(1, 30))
        found = [items_with_factors(releases, made, rank, top) for rank in range(1, 30)]
        assert len({n_top for n_top, _ in found}) == 1
        numbers = [n_factors for _, n_factors in found]
        assert numbers == sorted(numbers) and all(n <= rank for n, rank in zip(numbers, range(1, 30), strict=True))
        assert (numbers[0] == 1) == (found[0][0] > 0)


# Without noise to speak of, by the expected share of an item: users who rate most are weighted down, which is undone
# for a typical one. Shares are found from below, to 0.023 where all rate alike and to 0.061 where some rate far more.
@pytest.mark.parametrize(("n_items", "level"), [(300, 0.05), (60, 0.3), (60, 0.9)])
@pytest.mark.parametrize(("spread", "limit"), [(0.0, 0.03), (0.5, 0.08)])
def test_chances_are_the_shares_of_users_who_rate_an_item(n_items, level, spread, limit):
    rng = np.random.default_rng(3)
    likely, people = np.clip(level * rng.uniform(0.3, 1.7, n_items), 0.0, 1.0), []
    for _ in range(1500):
        own = np.flatnonzero(rng.random(n_items) < likely * rng.lognormal(-(spread**2) / 2, spread))
        people.append((own, np.zeros(len(own))))
    shares = np.bincount(np.concatenate([own for own, _ in people]), minlength=n_items) / 1500
    releases = make_releases(people, n_items, epsilon=1e4)
    chances = rating_chances(releases, release_census(releases))
    assert chances == pytest.approx(shares, abs=limit)
    assert (chances > 0.7 * shares).all() and (chances < 1.03 * shares).all()


@pytest.mark.parametrize(("n_rated", "count_norm"), [(24, 3.0), (6, 3.0), (6, 2.0), (1, 1.0)])
def test_of_users_with_as_many_ratings_each_chances_are_exact(n_rated, count_norm):
    """Whether they are weighted down or not."""
    releases, weight = make_releases(PEOPLE, N_ITEMS), min(1.0, count_norm / math.sqrt(n_rated))
    likely = np.random.default_rng(2).dirichlet(np.full(N_ITEMS, 5.0)) * n_rated
    likely = np.full(N_ITEMS, 1.0) if n_rated == N_ITEMS else likely
    made = census(len(PEOPLE) * weight * likely, count_norm)
    assert rating_chances(releases, made) == pytest.approx(np.minimum(likely, 1.0))


def test_chances_of_hardly_any_budget_are_chances():
    for epsilon in (1e-3, 1e-1):
        releases = make_releases(PEOPLE, N_ITEMS, epsilon=epsilon)
        chances = rating_chances(releases, release_census(releases))
        assert ((chances >= 0) & (chances <= 1)).all() and np.isfinite(chances).all()


@pytest.mark.parametrize("level", [0.0, 0.2, 0.6, 1.0])
def test_what_everybody_rates_tells_nothing(monkeypatch, level):
    """And where people rate most of what there is, nothing does."""
    chances = level * np.linspace(0.0, 1.0, N_ITEMS)
    monkeypatch.setattr(spectral_ratings, "rating_chances", lambda releases, census: chances)
    tells = what_rating_tells(make_releases(PEOPLE, N_ITEMS), census(np.ones(N_ITEMS)))
    assert tells == pytest.approx((1 - chances) * (1 - (level / 2) ** 2) ** RATINGS.density_power)
    assert ((tells >= 0) & (tells <= 1)).all() and (level > 0 or (tells == 1).all()) and (level < 1 or tells[-1] == 0)
    monkeypatch.setattr(spectral_ratings, "rating_chances", lambda releases, census: np.ones(N_ITEMS))
    assert not what_rating_tells(make_releases(PEOPLE, N_ITEMS), census(np.ones(N_ITEMS))).any()


@pytest.mark.parametrize("path", ["factors and EM steps", "slopes and factors"])
@pytest.mark.parametrize("tells", [np.linspace(1.0, 0.0, N_ITEMS), np.zeros(N_ITEMS)], ids=["something", "nothing"])
def test_rows_of_the_second_moment_have_the_constant_of_their_items(monkeypatch, path, tells):
    """And residuals without slopes on features."""
    run, people, items, epsilon, *_ = PATHS[path]
    monkeypatch.setattr(spectral_ratings, "what_rating_tells", lambda releases, census: tells)
    releases, states = make_releases(people, N_ITEMS, epsilon=epsilon, items=items), []
    total, estimate = releases.total, spectral_ratings.estimate_variances
    releases.total = lambda kernel, state: (states.append(state), total(kernel, state))[1]
    monkeypatch.setattr(
        spectral_ratings, "estimate_variances", lambda *terms: (states.append(terms[1]), estimate(*terms))[1]
    )
    assert np.isfinite(run(releases).W).all()
    [state] = [state for state in states if isinstance(state, RowState)]
    assert state.rows.shifts == pytest.approx(math.sqrt(state.regression.ridge) * tells)
    assert state.regression.W.shape == (N_ITEMS, OWN_COLUMNS)


def test_items_with_factors_that_everybody_rates_beside_others_that_tell(monkeypatch):
    """Released counts may say so: then there is no direction of popularity."""

    def tells(releases, census):
        return np.where(np.isin(np.arange(N_ITEMS), most_counted(census.counts, 12)), 0.0, 1.0)

    monkeypatch.setattr(spectral_ratings, "what_rating_tells", tells)
    model = learn(make_releases(PEOPLE, N_ITEMS, epsilon=50.0), rank=2, top=12)
    assert np.isfinite(model.W).all() and model.factors.any()
