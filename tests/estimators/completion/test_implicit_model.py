"""A model of implicit feedback around its factors: who gets which share, and what is made of it."""

from functools import partial

import numpy as np
import pytest

from completion_support import RELATIONS, Replay, largest_loss, make_people, make_releases
from hushrank.estimators.completion import implicit_model
from hushrank.estimators.completion.implicit_model import (
    count_top_items,
    learn_implicit_around,
    learn_without_factors,
)
from hushrank.estimators.completion.implicit_recipe import IMPLICIT
from hushrank.estimators.completion.item_means import release_census
from hushrank.estimators.completion.public_items import PublicItems
from hushrank.estimators.completion.recipes import ITEM_MEANS

N_ITEMS = 24
PEOPLE = make_people(80, N_ITEMS, seed=3)
FEATURES = np.random.default_rng(0).standard_normal((N_ITEMS, 2))
FIRST = ITEM_MEANS.quantile_share + ITEM_MEANS.counts_share


def releases_of(features=None, is_new=None, **terms):
    releases = make_releases(PEOPLE, N_ITEMS, **{"is_implicit": True, **terms})
    releases.items = PublicItems.of(features, N_ITEMS, is_new)
    return releases


@pytest.fixture
def open_gate(monkeypatch):
    monkeypatch.setattr(implicit_model, "count_for_factors", lambda releases, census, top: census)


def learn_noise(releases, features=None):
    """Factors that are noise, with all that they may spend."""
    releases.items = PublicItems.of(features, N_ITEMS)

    def learn_factors(model, share):
        assert model.W.shape == (N_ITEMS, 0) and model.unobserved == 1.0
        return releases.release(np.zeros((N_ITEMS, 2), np.int64), releases.vector_lattice(1.0, share))

    return learn_implicit_around(releases, learn_factors, 1.0)


# 1. Sensitivity


@pytest.mark.parametrize("features", [None, FEATURES])
@pytest.mark.parametrize("neighbors", RELATIONS)
def test_one_user_stays_within_the_budget_with_factors(monkeypatch, open_gate, neighbors, features):
    replay, terms = Replay(monkeypatch), {"neighbors": neighbors, "epsilon": 10.0, "is_implicit": True}
    used = largest_loss(replay, partial(learn_noise, features=features), PEOPLE, N_ITEMS, **terms)
    made = [release.mechanism for release in replay.made if release.mechanism != "counts"]
    assert made == ["quantile", "vector", "vector", "vector"]
    assert replay.made[-1].shape == ((1,) if features is None else (3,))
    assert used > 0.05


@pytest.mark.parametrize("features", [None, FEATURES])
@pytest.mark.parametrize("neighbors", RELATIONS)
def test_one_user_stays_within_the_budget_without_factors(monkeypatch, neighbors, features):
    replay, terms = Replay(monkeypatch), {"neighbors": neighbors, "epsilon": 0.3, "is_implicit": True}
    used = largest_loss(replay, partial(learn_noise, features=features), PEOPLE, N_ITEMS, **terms)
    made = [release.mechanism for release in replay.made if release.mechanism != "counts"]
    assert made == ["quantile", "vector", "vector"] + ["vector"] * (features is not None)
    assert used > 0.5


# 2. Limit: without factors it is popularity.


def test_without_factors_and_features_it_is_popularity_with_all_of_the_budget():
    releases = releases_of(epsilon=0.2)
    model = learn_implicit_around(releases, None, 0.7)
    assert releases.left == 0.0 and (model.W.shape[1], model.unobserved, model.ridge) == (0, 0.7, IMPLICIT.unit_ridge)
    assert np.array_equal(np.argsort(-model.base, kind="stable"), np.argsort(-model.counts, kind="stable"))
    scale = model_deviation(releases)
    assert scale == pytest.approx(1 / np.sqrt(1 - ITEM_MEANS.quantile_share), rel=1e-6)


def model_deviation(releases):
    """Deviation of the average of all sums of counts, in that of one release with the whole budget."""
    squared = sum(1 / event.noise_multiplier**2 for event in releases.executed[1:])
    return releases.mu / np.sqrt(squared)


# 4. Identities


@pytest.mark.parametrize("features", [None, FEATURES])
def test_factors_get_all_that_is_left_but_the_check(open_gate, features):
    releases, given = releases_of(features), []

    def learn_factors(model, share):
        given.append((share, model.ridge, model.unobserved, model.W.shape[1]))
        releases.vector_lattice(1.0, share)
        return np.ones((N_ITEMS, 2))

    learn_implicit_around(releases, learn_factors, 0.7)
    assert given == [(pytest.approx(1 - FIRST - IMPLICIT.check_share), IMPLICIT.unit_ridge, 0.7, 0)]
    assert releases.left == 0.0


def test_a_check_is_kept_where_there_are_features():
    for features, n_releases in ((None, 3), (FEATURES, 4)):
        releases = releases_of(features)
        learn_without_factors(releases, release_census(releases, with_center=False), 1.0, 1.0)
        assert len(releases.executed) == n_releases and releases.left == 0.0
    share = releases.executed[-1].noise_multiplier ** -2 / releases.mu**2
    assert share == pytest.approx(IMPLICIT.check_share, rel=1e-6)


def test_where_only_the_check_is_left_no_counts_are_bought():
    releases = releases_of(FEATURES)
    census = release_census(releases, with_center=False)
    releases.vector_lattice(1.0, releases.left - IMPLICIT.check_share)
    model = learn_without_factors(releases, census, 1.0, 1.0)
    assert np.array_equal(model.counts, census.counts) and releases.left == 0.0


def test_new_items_are_no_part_of_the_counts():
    releases = releases_of(is_new=np.arange(N_ITEMS) < 2, epsilon=50.0)
    model = learn_without_factors(releases, release_census(releases, with_center=False), 1.0, 1.0)
    assert model.counts[:2].max() < 0.01 * model.counts[2:].min()
    assert model.new_item_map[0, 0] == pytest.approx(model.base[2:].mean())


@pytest.mark.parametrize(
    ("n_items", "n_people", "most", "top"),
    [(24, 80, None, 24), (24, 80, 5, 5), (5000, 80, None, 100), (5000, 10**6, None, 5000), (5000, 10**6, 800, 800)],
)
def test_few_items_can_have_factors(n_items, n_people, most, top):
    releases = releases_of()
    releases.n_items, releases.n_people = n_items, float(n_people)
    assert count_top_items(releases, most) == top
