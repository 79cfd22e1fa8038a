"""The default method for implicit feedback: bounds, planted tastes, popularity where factors do not decide."""

from functools import partial

import numpy as np
import pytest

from completion_support import RELATIONS, Replay, adverse_people, largest_loss, make_people, make_releases
from hushrank.estimators.completion.estimator import PrivateCompletion
from hushrank.estimators.completion.implicit_model import learn_implicit_around
from hushrank.estimators.completion.recipes import IMPLICIT
from hushrank.estimators.completion.spectral_implicit import learn_implicit
from hushrank.evaluation.metrics import recall_at_k
from hushrank.evaluation.synthetic import synthetic_ratings

N_ITEMS = 24
PEOPLE = make_people(80, N_ITEMS, seed=3)


def learn(releases, rank=3, top=8192):
    return learn_implicit(releases, rank, top, 1.0)


def learn_with_noise_for_factors(releases):
    def learn_factors(model, share):
        assert model.W.shape == (N_ITEMS, 0) and model.unobserved == 1.0
        return releases.release(np.zeros((N_ITEMS, 2), np.int64), releases.vector_lattice(1.0, share))

    return learn_implicit_around(releases, learn_factors, 1.0)


# 1. Sensitivity


@pytest.mark.parametrize("run", [learn, partial(learn, top=5), learn_with_noise_for_factors])
@pytest.mark.parametrize("epsilon", [0.1, 10.0])
@pytest.mark.parametrize("neighbors", RELATIONS)
def test_one_user_stays_within_the_budget(monkeypatch, neighbors, epsilon, run):
    replay = Replay(monkeypatch)
    terms = {"neighbors": neighbors, "epsilon": epsilon, "is_implicit": True}
    used = largest_loss(replay, run, PEOPLE, N_ITEMS, **terms)
    made = [release.mechanism for release in replay.made if release.mechanism != "counts"]
    last = "vector" if run is learn_with_noise_for_factors else "hollow"
    assert made == ["quantile", "vector", last]
    assert used > (0.05 if run is learn_with_noise_for_factors else 0.3)


def test_users_without_a_common_item_use_up_the_counts(monkeypatch):
    half = np.arange(N_ITEMS // 2)
    replay = Replay(monkeypatch)
    recorded = replay.run(learn, [(half, np.ones(12)), *PEOPLE], N_ITEMS, seed=1, is_implicit=True)
    replayed = replay.run(learn, [(half + 12, np.ones(12)), *PEOPLE], N_ITEMS, recorded, is_implicit=True)
    lattice = recorded[1].terms[0]
    squares = int(((recorded[1].total - replayed[1].total).astype(object) ** 2).sum())
    assert 2 * lattice.squared_bound * (1 - 1e-4) <= squares <= 2 * lattice.squared_bound


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("neighbors", RELATIONS)
def test_bounds_hold_whatever_was_released_before(monkeypatch, neighbors, seed):
    replay, people = Replay(monkeypatch, distortion=10.0 ** (2 * seed), seed=seed), make_people(30, N_ITEMS, seed=seed)
    assert largest_loss(replay, learn, people, N_ITEMS, neighbors=neighbors, seed=seed, is_implicit=True) > 0.3


def test_ratings_of_any_size_count_as_one(monkeypatch):
    adverse = adverse_people(N_ITEMS)
    replay = Replay(monkeypatch)
    recorded = replay.run(learn, [adverse["huge"], *PEOPLE], N_ITEMS, seed=1, is_implicit=True)
    for name in ("highest", "alternating"):
        again = replay.run(learn, [adverse[name], *PEOPLE], N_ITEMS, recorded, is_implicit=True)
        assert all(np.array_equal(a.total, b.total) for a, b in zip(recorded, again, strict=True))


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


# Means of 6 fits: 0.461 at epsilon 5 and more, 0.41 at 1, standard deviation 0.0023; popularity 0.412, chance 0.16.
@pytest.mark.parametrize(("epsilon", "low", "high"), [(1e4, 0.44, 0.48), (5.0, 0.435, 0.48), (1.0, 0.36, 0.46)])
def test_tastes_are_found(choices, epsilon, low, high):
    history, later, popularity = choices
    assert 0.40 < popularity < 0.42
    model = PrivateCompletion(4, epsilon=epsilon, delta=1e-6, items=80, feedback="implicit").fit(history)
    found = model.recommend(history, 10)
    assert low < recall_at_k(found.items, [later[user] for user in found.users.tolist()]) < high


# 4. Identities


def test_popularity_is_the_base_and_small():
    model = learn(make_releases(PEOPLE, N_ITEMS, is_implicit=True, epsilon=10.0))
    assert model.base == pytest.approx(IMPLICIT.popularity_weight * model.counts / model.counts.max())
    assert model.features.shape == (N_ITEMS, 0) and model.unobserved == 1.0 and model.ridge > 0


def test_only_the_most_popular_items_have_factors():
    releases = make_releases(PEOPLE, N_ITEMS, is_implicit=True, epsilon=1e3)
    model = learn(releases, top=10)
    assert releases.left == 0.0
    with_factors = model.factors.any(axis=1)
    assert with_factors.sum() == 10
    assert model.counts[with_factors].min() >= model.counts[~with_factors].max()
    assert np.linalg.norm(model.factors, axis=0).max() <= 1.0
