"""The default method for implicit feedback: bounds on every path, planted tastes, popularity where nothing helps."""

import math
from functools import partial

import numpy as np
import pytest

from completion_support import RELATIONS, Replay, adverse_people, largest_loss, make_people, make_releases, to_matrix
from hushrank.data.ratings.reading import read_ratings
from hushrank.estimators.completion import implicit_counts, spectral_implicit
from hushrank.estimators.completion.estimator import PrivateCompletion
from hushrank.estimators.completion.implicit_recipe import IMPLICIT
from hushrank.estimators.completion.methods import learn_model
from hushrank.estimators.completion.options import Spectral
from hushrank.estimators.completion.public_items import PublicItems
from hushrank.estimators.completion.spectral_implicit import learn_implicit, noise_edge, scaled_eigenvectors
from hushrank.evaluation.metrics import recall_at_k
from hushrank.evaluation.synthetic import synthetic_ratings

N_ITEMS = 24
PEOPLE = make_people(80, N_ITEMS, seed=3)
RNG = np.random.default_rng(0)
# Four groups of items, which users keep to: factors that stand out, and a feature that tells half of it.
GROUPS = [(np.flatnonzero(np.arange(N_ITEMS) % 4 == i % 4)[RNG.permutation(6)[:4]], np.ones(4)) for i in range(120)]
FEATURES = np.column_stack([np.arange(N_ITEMS) % 2, RNG.standard_normal(N_ITEMS)])
SHUT, OPEN = 0.3, 1e3


def learn(releases, rank=3, top=8192, features=None):
    releases.items = PublicItems.of(features, releases.n_items)
    return learn_implicit(releases, rank, top, 1.0)


def mechanisms(replay):
    return [release.mechanism for release in replay.made if release.mechanism != "counts"]


# 1. Sensitivity


@pytest.mark.parametrize("features", [None, FEATURES])
@pytest.mark.parametrize("neighbors", RELATIONS)
def test_one_user_stays_within_the_budget_if_the_gate_is_shut(monkeypatch, neighbors, features):
    replay, terms = Replay(monkeypatch), {"neighbors": neighbors, "epsilon": SHUT, "is_implicit": True}
    used = largest_loss(replay, partial(learn, features=features), PEOPLE, N_ITEMS, **terms)
    assert mechanisms(replay) == ["quantile", "vector", "vector"] + ["vector"] * (features is not None)
    assert used > 0.5


@pytest.mark.parametrize("more", [0.0, 0.2])
@pytest.mark.parametrize("features", [None, FEATURES])
@pytest.mark.parametrize("neighbors", RELATIONS)
def test_one_user_stays_within_the_budget_if_there_are_factors(monkeypatch, neighbors, features, more):
    monkeypatch.setattr(implicit_counts, "enough_share", lambda releases, census: more)
    replay, terms = Replay(monkeypatch), {"neighbors": neighbors, "epsilon": OPEN, "is_implicit": True}
    used = largest_loss(replay, partial(learn, features=features), GROUPS, N_ITEMS, **terms)
    assert mechanisms(replay) == ["quantile", "vector", *["vector"] * (more > 0.0), "hollow", "vector"]
    assert replay.made[-1].shape == ((1,) if features is None else (3,))
    assert used > 0.3


@pytest.mark.parametrize("features", [None, FEATURES])
def test_one_user_stays_within_the_budget_if_no_factors_are_found(monkeypatch, features):
    monkeypatch.setattr(implicit_counts, "enough_share", lambda releases, census: 0.1)
    monkeypatch.setattr(implicit_counts, "is_visible", lambda *terms: True)
    replay, terms = Replay(monkeypatch), {"epsilon": 0.5, "is_implicit": True}
    used = largest_loss(replay, partial(learn, features=features), PEOPLE, N_ITEMS, **terms)
    assert mechanisms(replay) == ["quantile", "vector", "vector", "hollow", "vector"]
    assert replay.made[-1].shape == ((N_ITEMS,) if features is None else (1,))
    assert used > 0.3


def test_users_without_a_common_item_use_up_the_counts(monkeypatch):
    half = np.arange(N_ITEMS // 2)
    replay = Replay(monkeypatch)
    recorded = replay.run(learn, [(half, np.ones(12)), *PEOPLE], N_ITEMS, seed=1, is_implicit=True)
    replayed = replay.run(learn, [(half + 12, np.ones(12)), *PEOPLE], N_ITEMS, recorded, is_implicit=True)
    for i in (1, 2):
        lattice = recorded[i].terms[0]
        squares = int(((recorded[i].total - replayed[i].total).astype(object) ** 2).sum())
        assert 2 * lattice.squared_bound * (1 - 1e-4) <= squares <= 2 * lattice.squared_bound


@pytest.mark.parametrize("features", [None, FEATURES])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("neighbors", RELATIONS)
def test_bounds_hold_whatever_was_released_before(monkeypatch, neighbors, seed, features):
    replay, people = Replay(monkeypatch, distortion=10.0 ** (2 * seed), seed=seed), make_people(30, N_ITEMS, seed=seed)
    run = partial(learn, features=features)
    for epsilon in (1.0, OPEN):
        terms = {"neighbors": neighbors, "seed": seed, "is_implicit": True, "epsilon": epsilon}
        assert largest_loss(replay, run, people, N_ITEMS, **terms) > 0.1


def test_ratings_of_any_size_count_as_one(monkeypatch):
    adverse = adverse_people(N_ITEMS)
    replay = Replay(monkeypatch)
    recorded = replay.run(learn, [adverse["huge"], *PEOPLE], N_ITEMS, seed=1, is_implicit=True)
    for name in ("highest", "alternating"):
        again = replay.run(learn, [adverse[name], *PEOPLE], N_ITEMS, recorded, is_implicit=True)
        assert all(np.array_equal(a.total, b.total) for a, b in zip(recorded, again, strict=True))


# 2. Limit


@pytest.mark.parametrize(
    ("n", "deviation", "power"), [(100, 1.0, 0.0), (300, 0.3, 0.5), (600, 0.05, 0.8), (400, 0.0, 0.6)]
)
def test_the_edge_of_noise_is_that_of_simulated_noise(n, deviation, power):
    rng, n_people = np.random.default_rng(n), 5000.0
    diagonal = (np.arange(n) + 5.0) ** -power
    diagonal *= n_people / diagonal.sum()
    largest = []
    for _ in range(5):
        Z = np.triu(rng.standard_normal((n, n)), 1)
        roots = np.sqrt(deviation**2 + np.outer(diagonal, diagonal) / n_people)
        largest.append(np.linalg.eigvalsh(roots * (Z + Z.T))[-1])
    assert noise_edge(deviation, diagonal, n_people) == pytest.approx(np.mean(largest), rel=0.09)


def test_noise_of_the_release_alone_has_its_known_edge():
    assert noise_edge(2.0, np.full(900, 1e-9), 1e4) == pytest.approx(2 * 2.0 * math.sqrt(900), rel=0.01)


def test_without_noise_eigenvectors_are_those_of_the_tastes():
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((200, 3)))[0]
    signals = np.array([900.0, 500.0, 300.0])
    S = (Q * signals) @ Q.T
    diagonal = np.diag(S) + 7.0
    np.fill_diagonal(S, 0.0)
    found, _ = scaled_eigenvectors(S, 3, 1e-6, diagonal)
    assert np.abs(np.sum(found * Q, axis=0)) == pytest.approx(np.sqrt(signals / 7.0), rel=0.05)


# 3. Planted tastes


@pytest.fixture(scope="module")
def choices():
    """A history, items chosen later by user, and the recall of popularity."""
    train, test = synthetic_ratings(1500, 80, seed=1, ratings_per_user=20, rank=2).split(0.2, seed=2)
    popularity = np.bincount(train.items, minlength=80).astype(float)
    seen = [train.items[train.users == user] for user in range(1500)]
    later = {user: set(test.items[test.users == user].tolist()) for user in range(1500)}
    chosen = []
    for own in seen:
        scores = popularity.copy()
        scores[own] = -1
        chosen.append(np.argsort(-scores)[:10])
    return train.table(), later, recall_at_k(np.array(chosen), [later[user] for user in range(1500)])


# Means of 12 fits: 0.480 without noise, 0.465 at epsilon 5 (deviation 0.004), 0.408 at 1 (0.005); popularity 0.412.
@pytest.mark.parametrize(("epsilon", "low", "high"), [(1e4, 0.46, 0.50), (5.0, 0.43, 0.495), (1.0, 0.36, 0.45)])
def test_tastes_are_found(choices, epsilon, low, high):
    history, later, popularity = choices
    assert 0.40 < popularity < 0.42
    model = PrivateCompletion(4, epsilon=epsilon, delta=1e-6, items=80, feedback="implicit").fit(history)
    found = model.recommend(history, 10)
    assert low < recall_at_k(found.items, [later[user] for user in found.users.tolist()]) < high


def test_groups_are_found_by_factors_or_by_a_feature(monkeypatch):
    found = learn(make_releases(GROUPS, N_ITEMS, is_implicit=True, epsilon=OPEN))
    assert (found.features.shape[1], found.factors.shape[1]) == (0, 3)
    monkeypatch.setattr(spectral_implicit, "count_for_factors", lambda *terms: None)
    told = learn(make_releases(GROUPS, N_ITEMS, is_implicit=True, epsilon=50.0), features=FEATURES)
    assert (told.features.shape[1], told.factors.shape[1]) == (3, 0)
    ratings = read_ratings(to_matrix(GROUPS, N_ITEMS), owner="test", rating_range=None, is_implicit=True)
    block = next(iter(ratings.blocks()))
    same = {"factors": (np.arange(N_ITEMS) % 4, found), "a feature": (np.arange(N_ITEMS) % 2, told)}
    for name, (group, model) in same.items():
        scores = model.scores(model.fold_in(block))
        first = group[block.items[block.indptr[:-1]]]
        own, others = scores[group == first[:, None]].mean(), scores[group != first[:, None]].mean()
        assert own > 2 * others, name


# 4. Identities


def test_popularity_is_the_base_and_small():
    model = learn(make_releases(PEOPLE, N_ITEMS, is_implicit=True, epsilon=10.0))
    assert model.base == pytest.approx(IMPLICIT.popularity_weight * model.counts / model.counts.max())
    assert model.features.shape == (N_ITEMS, 0) and model.unobserved == 1.0 and model.ridge == model.unobserved


def test_only_the_most_popular_items_have_factors():
    releases = make_releases(GROUPS, N_ITEMS, is_implicit=True, epsilon=OPEN)
    model = learn(releases, top=10)
    assert releases.left == 0.0
    with_factors = model.factors.any(axis=1)
    assert with_factors.sum() == 10
    assert model.counts[with_factors].min() >= model.counts[~with_factors].max()


@pytest.mark.parametrize("features", [None, FEATURES])
@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 20.0, OPEN])
@pytest.mark.parametrize("neighbors", RELATIONS)
def test_the_whole_budget_is_spent_on_every_path(neighbors, epsilon, features):
    for people in (PEOPLE, GROUPS, PEOPLE[:1], [(np.arange(0), np.ones(0))] * 3):
        releases = make_releases(people, N_ITEMS, is_implicit=True, epsilon=epsilon, neighbors=neighbors)
        model = learn(releases, features=features)
        assert releases.left == 0.0
        assert all(np.isfinite(part).all() for part in (model.base, model.W, model.counts, model.new_item_map))


def test_a_gate_that_is_shut_leaves_popularity_alone(monkeypatch):
    monkeypatch.setattr(spectral_implicit, "count_for_factors", lambda *terms: None)
    releases = make_releases(GROUPS, N_ITEMS, is_implicit=True, epsilon=OPEN)
    model = learn(releases)
    assert model.W.shape == (N_ITEMS, 0) and len(releases.executed) == 3


def test_one_factor_is_none():
    """It is popularity once more: nobody is told anything else."""
    releases = make_releases(GROUPS, N_ITEMS, is_implicit=True, epsilon=OPEN)
    assert learn(releases, rank=1).factors.shape == (N_ITEMS, 0) and releases.left == 0.0


def test_new_items_are_recommended_like_typical_ones():
    is_new = np.arange(N_ITEMS) == 5
    releases = make_releases(GROUPS, N_ITEMS, is_implicit=True, epsilon=OPEN)
    releases.items = PublicItems.of(FEATURES, N_ITEMS, is_new)
    model = learn_model(Spectral(), releases, 3, offsets=True, unobserved=1.0)
    assert model.base[5] == pytest.approx(model.base[~is_new].mean(), rel=1e-9)
    told = model.new_item_map[0] + releases.items.G[5] @ model.new_item_map[1:]
    assert model.factors[5] == pytest.approx(told[1 + model.features.shape[1] :], rel=1e-9) and model.factors[5].any()
    lengths = np.linalg.norm(model.factors, axis=1)
    assert lengths[5] <= 1.5 * np.delete(lengths, 5).max()  # as features tell, no more than others have
    assert model.counts[5] < 0.01 * np.delete(model.counts, 5).min()
