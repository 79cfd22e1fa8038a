"""Census, popularity and item means: bounds, the limit without noise, planted means, identities."""

import math

import numpy as np
import pytest

from completion_support import RELATIONS, Replay, adverse_people, largest_loss, make_people, make_releases
from hushrank.estimators.completion.item_means import (
    Census,
    mean_factor,
    release_census,
    release_means,
    user_columns,
)
from hushrank.estimators.completion.recipes import ITEM_MEANS, Prior

N_ITEMS = 24
PEOPLE = make_people(80, N_ITEMS, seed=3)


def learn(releases):
    """Everything there is: means in rounds, then more rounds from where they ended, with all that is left."""
    census = release_census(releases)
    means = release_means(releases, census, Prior(), 0.5, 3)
    release_means(releases, census, Prior(), releases.left, 2, means)


def planted(n_users=3000, seed=5):
    """People and the means that their ratings were drawn about."""
    rng = np.random.default_rng(seed)
    rng.standard_normal((N_ITEMS, 2))  # the tastes are drawn first
    return make_people(n_users, N_ITEMS, seed=seed), rng.uniform(-0.3, 0.5, N_ITEMS)


# 1. Sensitivity


@pytest.mark.parametrize("epsilon", [0.5, 50.0])
@pytest.mark.parametrize("neighbors", RELATIONS)
def test_replaced_added_and_removed_users_stay_within_the_budget_and_nearly_use_it(monkeypatch, neighbors, epsilon):
    # Alternating ratings of everything leave residuals that are shortened in every round; those of the opposite user
    # are their negatives.
    people = [adverse_people(N_ITEMS)["opposed"], *PEOPLE[1:]]
    used = largest_loss(Replay(monkeypatch), learn, people, N_ITEMS, neighbors=neighbors, epsilon=epsilon)
    assert (0.8 if neighbors == "replace" else 0.95) < used <= 1.0


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("neighbors", RELATIONS)
def test_bounds_hold_whatever_was_released_before(monkeypatch, neighbors, seed):
    replay = Replay(monkeypatch, distortion=10.0**seed, seed=seed)
    assert largest_loss(replay, learn, PEOPLE, N_ITEMS, neighbors=neighbors, seed=seed) > 0.3


def test_shares_are_those_of_the_table():
    releases = make_releases(PEOPLE, N_ITEMS)
    census = release_census(releases)
    counted = ITEM_MEANS.quantile_share + ITEM_MEANS.counts_share
    assert 1 - releases.left == pytest.approx(counted + ITEM_MEANS.center_share)
    release_means(releases, census, Prior(), 0.4, 4)
    assert 1 - releases.left == pytest.approx(counted + ITEM_MEANS.center_share + 0.4)
    assert ITEM_MEANS.clip_share < 0.05 * 0.4 / 4
    implicit = make_releases(PEOPLE, N_ITEMS, is_implicit=True)
    assert release_census(implicit, with_center=False).center == 0.0
    assert 1 - implicit.left == pytest.approx(counted)


# 2. Limit


def test_a_huge_budget_gives_the_exact_counts_and_center():
    people, _ = planted()
    census = release_census(make_releases(people, N_ITEMS, epsilon=1e4))
    numbers = np.array([len(items) for items, _ in people])
    grid = np.geomspace(1.0, N_ITEMS, 128)
    assert census.count_norm**2 == pytest.approx(grid[np.searchsorted(grid, np.quantile(numbers, 0.25))])
    counts = np.zeros(N_ITEMS)
    for items, _ in people:
        counts[items] += min(1.0, census.count_norm / math.sqrt(len(items)))
    assert census.counts == pytest.approx(counts, rel=1e-2)
    assert census.center == pytest.approx(np.mean([y.mean() for _, y in people]), abs=1e-2)


# 3. Planted means: their root mean square is 0.26 in half ranges. Measured at epsilon 10000, 1 and 0.1, the largest of
# 20 fits: 0.023, 0.055, 0.22; plain averages of the ratings, which know no users' offsets, have 0.019.


@pytest.mark.parametrize(("epsilon", "limit"), [(1e4, 0.035), (1.0, 0.12)])
def test_means_are_found(epsilon, limit):
    people, true = planted()
    releases = make_releases(people, N_ITEMS, epsilon=epsilon)
    census = release_census(releases)
    means = release_means(releases, census, Prior(), 0.9, 4)
    error = census.center + means.means - true
    assert math.sqrt(np.mean(error**2)) < limit
    assert np.isfinite(means.precisions).all() and (means.precisions > 0).all()


@pytest.mark.parametrize("epsilon", [1e-3, 1e-2])
@pytest.mark.parametrize("neighbors", RELATIONS)
def test_hardly_any_budget_gives_bounded_means(epsilon, neighbors):
    """Counts are floored at half their noise, which bounds the noise of means: it does not grow as epsilon falls."""
    for seed in range(5):
        releases = make_releases(PEOPLE, N_ITEMS, epsilon=epsilon, neighbors=neighbors)
        census = release_census(releases)
        means = release_means(releases, census, Prior(), 0.5, 2).means
        assert (census.counts > 0).all() and np.isfinite(means).all(), seed
        assert np.abs(means).max() < 25


def test_more_rounds_are_more_precise():
    releases = make_releases(PEOPLE, N_ITEMS, epsilon=5.0)
    census = release_census(releases)
    means = release_means(releases, census, Prior(), 0.3, 2)
    more = release_means(releases, census, Prior(), 0.3, 2, means)
    assert (more.precisions > 1.03 * means.precisions).all()  # every round keeps a factor of 0.2 at least


# 4. Identities


def some_census(seed=1):
    counts = np.random.default_rng(seed).uniform(0.5, 50.0, N_ITEMS)
    return Census(3.0, counts, np.ones(N_ITEMS), 0.1)


def test_shapes_have_mean_square_one_over_ratings_and_fall_with_popularity():
    census = release_census(make_releases(PEOPLE, N_ITEMS, epsilon=10.0))
    assert float(census.rating_shares @ census.item_weights**2) == pytest.approx(1.0)
    order = np.argsort(census.counts)
    assert (np.diff(census.item_weights[order]) <= 0).all()
    assert census.rating_shares.sum() == pytest.approx(1.0)
    assert census.weights.count_norm == census.count_norm and census.weights.of_items is census.item_weights


def test_columns_are_an_offset_centered_means_and_standardized_popularity():
    census, prior = some_census(), Prior(offset=0.04, slope=0.25, popularity=0.09)
    means = np.random.default_rng(2).standard_normal(N_ITEMS)
    columns = user_columns(means, census, prior)
    assert columns.shape == (N_ITEMS, 3)
    assert columns[:, 0] == pytest.approx(np.full(N_ITEMS, 0.2))
    assert census.rating_shares @ columns == pytest.approx([0.2, 0.0, 0.0], abs=1e-12)
    assert np.corrcoef(columns[:, 1], means)[0, 1] == pytest.approx(1.0)
    assert columns[:, 1].std() == pytest.approx(0.5 * means.std())
    assert census.rating_shares @ columns[:, 2] ** 2 == pytest.approx(0.09)


def test_equally_popular_items_have_no_popularity_slope():
    census = Census(3.0, np.full(N_ITEMS, 7.0), np.ones(N_ITEMS), 0.0)
    assert user_columns(np.zeros(N_ITEMS), census, Prior())[:, 1:] == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize(("total", "factor"), [(-1e9, 0.2), (8.0, 0.2), (40.0, 0.5), (1e9, 1.0)])
def test_the_mean_factor_is_one_that_can_be(total, factor):
    assert mean_factor(make_releases(PEOPLE, N_ITEMS), total) == factor
