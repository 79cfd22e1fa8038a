"""Census, popularity and item means: bounds, the limit without noise, planted means, identities."""

import math
from dataclasses import replace

import numpy as np
import pytest

from completion_support import RELATIONS, Replay, adverse_people, largest_loss, make_people, make_releases
from hushrank.estimators.completion.feature_recipe import FEATURES
from hushrank.estimators.completion.item_means import (
    OWN_COLUMNS,
    Census,
    Line,
    column_variances,
    first_means,
    mean_factor,
    no_line,
    positive_counts,
    release_census,
    release_means,
    release_round,
    slope_variances,
    user_columns,
)
from hushrank.estimators.completion.public_items import PublicItems
from hushrank.estimators.completion.recipes import ITEM_MEANS, Prior

N_ITEMS = 24
PEOPLE = make_people(80, N_ITEMS, seed=3)
NOTHING = PublicItems.of(None, N_ITEMS)
IS_NEW = np.isin(np.arange(N_ITEMS), [3, 20])
COLUMNS = np.random.default_rng(11).standard_normal((N_ITEMS, 5))
# What may be public about the items, by name.
ITEMS = {
    "nothing": NOTHING,
    "new items": PublicItems.of(None, N_ITEMS, IS_NEW),
    "features": PublicItems.of(COLUMNS, N_ITEMS),
    "features of new items": PublicItems.of(COLUMNS, N_ITEMS, IS_NEW),
    "features without slopes": PublicItems.of(COLUMNS, N_ITEMS).without_slopes(),
}


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


@pytest.mark.parametrize(
    ("epsilon", "known"), [(0.5, "nothing"), (50.0, "nothing"), (5.0, "new items"), (50.0, "features of new items")]
)
@pytest.mark.parametrize("neighbors", RELATIONS)
def test_one_user_stays_within_the_budget_and_nearly_uses_it(monkeypatch, neighbors, epsilon, known):
    # Alternating ratings of everything leave residuals that are shortened in every round; those of the opposite user
    # are their negatives.
    people = [adverse_people(N_ITEMS)["opposed"], *PEOPLE[1:]]
    terms = {"neighbors": neighbors, "epsilon": epsilon, "items": ITEMS[known]}
    used = largest_loss(Replay(monkeypatch), learn, people, N_ITEMS, **terms)
    assert (0.8 if neighbors == "replace" else 0.95) < used <= 1.0


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("neighbors", RELATIONS)
def test_bounds_hold_whatever_was_released_before(monkeypatch, neighbors, seed):
    replay = Replay(monkeypatch, distortion=10.0 ** (seed // 2 * 2), seed=seed)
    terms = {"neighbors": neighbors, "seed": seed, "items": ITEMS["features of new items" if seed % 2 else "nothing"]}
    assert largest_loss(replay, learn, PEOPLE, N_ITEMS, **terms) > 0.3


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
    assert np.array_equal(census.released, census.counts) and 0 < census.deviation < 0.01 * counts.min()
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


@pytest.mark.parametrize("known", ITEMS)
@pytest.mark.parametrize("epsilon", [1e-3, 1e-2])
@pytest.mark.parametrize("neighbors", RELATIONS)
def test_hardly_any_budget_gives_bounded_means(epsilon, neighbors, known):
    """Counts are floored at half their noise, which bounds the noise of means: it does not grow as epsilon falls."""
    for seed in range(5):
        releases = make_releases(PEOPLE, N_ITEMS, epsilon=epsilon, neighbors=neighbors, items=ITEMS[known])
        census = release_census(releases)
        means = release_means(releases, census, Prior(), 0.5, 2).means
        assert (census.counts > 0).all() and np.isfinite(means).all(), seed
        assert np.abs(means).max() < 25


# Items whose means follow three features. Over 40 fits at epsilon 1, root mean squared errors of the means are 0.194
# (0.008) without features, 0.129 (0.015) with them and 0.194 (0.007) with shuffled ones.


def planted_features():
    rng, n_items = np.random.default_rng(12), 120
    X = rng.standard_normal((n_items, 3))
    true = 0.3 * X @ np.array([0.6, -0.6, 0.5])
    people = []
    for _ in range(600):
        own = rng.permutation(n_items)[:12]
        people.append((own, np.clip(true[own] + 0.2 * rng.standard_normal() + 0.3 * rng.standard_normal(12), -1, 1)))
    return people, X, true


def test_features_tell_the_means_of_items():
    """Eight fits each: the limits are eight and nine standard deviations of the mean difference away."""
    people, X, true = planted_features()
    errors = np.empty((8, 3))
    for fit, i in np.ndindex(errors.shape):
        releases = make_releases(people, 120, items=PublicItems.of((None, X, X[::-1])[i], 120))
        means = release_means(releases, release_census(releases), Prior(), 0.8, 2)
        errors[fit, i] = np.std(means.means - true)
        assert means.along.shape == (3 if i else 0,)
    without, told, shuffled = errors.mean(axis=0)
    assert told < without - 0.015 and shuffled < without + 0.035


def test_more_rounds_are_more_precise():
    releases = make_releases(PEOPLE, N_ITEMS, epsilon=5.0)
    census = release_census(releases)
    means = release_means(releases, census, Prior(), 0.3, 2)
    more = release_means(releases, census, Prior(), 0.3, 2, means)
    assert (more.precisions > 1.03 * means.precisions).all()  # every round keeps a factor of 0.2 at least


# 4. Identities


def some_census(seed=1, items=NOTHING, counts=None):
    counts = np.random.default_rng(seed).uniform(0.5, 50.0, N_ITEMS) if counts is None else counts
    return Census(3.0, positive_counts(counts, 2e-3, items), np.ones(N_ITEMS), 0.1, items, counts, 2e-3)


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
    census = some_census(counts=np.full(N_ITEMS, 7.0))
    assert user_columns(np.zeros(N_ITEMS), census, Prior())[:, 1:] == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("known", ["features", "features of new items"])
def test_slopes_on_features_stand_beside_centered_over_ratings(known):
    census, means = some_census(items=ITEMS[known]), np.random.default_rng(2).standard_normal(N_ITEMS)
    for prior, variances in (
        (Prior(), np.full(5, FEATURES.start_variance)),
        (Prior(features=(1, 2, 3, 4, 5)), range(1, 6)),
    ):
        columns = user_columns(means, census, prior)
        assert columns.shape == (N_ITEMS, OWN_COLUMNS + 5)
        assert census.rating_shares @ columns[:, 1:] == pytest.approx(np.zeros(7), abs=1e-12)
        slopes = census.items.slopes - census.rating_shares @ census.items.slopes
        assert columns[:, OWN_COLUMNS:] == pytest.approx(slopes * np.sqrt(variances))
        assert column_variances(census.items, prior)[OWN_COLUMNS:] == pytest.approx(tuple(variances))
    without = replace(census, items=census.items.without_slopes())
    assert np.array_equal(user_columns(means, without, Prior()), user_columns(means, census, Prior())[:, :OWN_COLUMNS])


def test_slopes_together_begin_with_the_variance_of_the_recipe():
    """For a typical item: rows of slopes have mean squared norm 1."""
    items = ITEMS["features"]
    spread = (items.slopes**2 * slope_variances(items, Prior())).sum(axis=1).mean()
    assert spread == pytest.approx(FEATURES.start_variance)
    assert slope_variances(NOTHING, Prior()) == () and slope_variances(items, Prior(features=(0.1,) * 5)) == (0.1,) * 5


def test_counts_are_at_least_half_a_deviation_and_those_of_new_items_next_to_nothing():
    released = np.linspace(-5.0, 50.0, N_ITEMS)
    counts = positive_counts(released, 4.0, NOTHING)
    assert np.array_equal(counts, np.maximum(released, 2.0))
    marked = positive_counts(released, 4.0, ITEMS["new items"])
    assert np.array_equal(marked[~IS_NEW], counts[~IS_NEW]) and (marked[IS_NEW] == 2e-3).all()


def test_popularity_is_the_logarithm_of_the_counts():
    census = some_census()
    assert np.array_equal(census.log_counts, np.log(np.maximum(census.counts, 1.0)))
    assert some_census(counts=np.linspace(-3.0, 0.9, N_ITEMS)).log_counts.tolist() == [0.0] * N_ITEMS


def test_with_features_popularity_is_not_followed_far_down():
    census, plain = some_census(items=ITEMS["features"]), some_census().log_counts
    shares = census.rating_shares
    typical = shares @ plain
    spread = math.sqrt(shares @ (plain - typical) ** 2)
    assert census.log_counts == pytest.approx(np.maximum(plain, typical - spread))
    assert 3 < np.count_nonzero(census.log_counts > plain + 1e-9) < N_ITEMS - 3
    slopes_or_not = some_census(items=ITEMS["features without slopes"])
    assert np.array_equal(slopes_or_not.log_counts, census.log_counts)


@pytest.mark.parametrize("known", ["new items", "features of new items"])
def test_new_items_are_as_popular_as_a_typical_rating(known):
    census = some_census(items=ITEMS[known])
    logs, shares = census.log_counts, census.rating_shares
    assert logs[IS_NEW] == pytest.approx(np.full(2, shares @ logs), abs=1e-3) and shares[IS_NEW].max() < 1e-5
    popularity = user_columns(np.zeros(N_ITEMS), census, Prior())[:, 2]
    assert popularity[IS_NEW] == pytest.approx(np.zeros(2), abs=1e-4)


@pytest.mark.parametrize(("known", "n_slopes"), [("nothing", 0), ("features", 5), ("features without slopes", 0)])
def test_a_round_has_the_offset_alone_or_all_slopes(known, n_slopes):
    releases, asked = make_releases(PEOPLE, N_ITEMS, items=ITEMS[known]), []
    census, total = release_census(releases), releases.total
    releases.total = lambda kernel, state: (asked.append(state), total(kernel, state))[1]
    start = first_means(no_line(census.items))
    first = release_round(releases, census, Prior(), 0.1, start, has_slopes=False)
    second = release_round(releases, census, Prior(), 0.1, first, has_slopes=True)
    models = [state.regression for state in asked]
    assert [model.W.shape[1] for model in models] == [1, OWN_COLUMNS + n_slopes]
    assert (models[0].base == census.center).all() and np.array_equal(models[1].base, census.center + first.means)
    typical = census.count_norm * math.sqrt(Prior().noise)
    clips = (ITEM_MEANS.clip, FEATURES.clip if n_slopes else ITEM_MEANS.clip)
    assert [state.lattice.norm_bound for state in asked] == pytest.approx([clip * typical for clip in clips])
    assert (second.precisions > first.precisions).all() and releases.left == pytest.approx(1 - 0.095 - 0.2)
    assert all(not array.any() for array in (start.means, start.weighted, start.precisions, start.along))


@pytest.mark.parametrize("known", ["nothing", "features"])
def test_means_are_drawn_to_the_line_that_rounds_start_from(known):
    """With noise alone they stay as far from it as from zero; with hardly any they leave it for what people say."""
    n_columns = ITEMS[known].G.shape[1]
    line = Line(np.linspace(-0.5, 0.5, N_ITEMS), np.linspace(0.1, 0.2, n_columns))
    found = {}
    for epsilon in (1e-3, 1e4):
        for start in (line, no_line(ITEMS[known])):  # with the same noise
            releases = make_releases(PEOPLE, N_ITEMS, epsilon=epsilon, items=ITEMS[known], seed=1)
            census = release_census(releases)
            means = release_means(releases, census, Prior(), 0.3, 3, first_means(start))
            found.setdefault(epsilon, []).append(means)
    near, flat = found[1e-3]
    assert near.means - flat.means == pytest.approx(line.values, abs=0.05)
    assert near.along - flat.along == pytest.approx(line.along, abs=0.01) and near.start is line
    left, same = (means.means for means in found[1e4])
    assert np.linalg.norm(left - same) < 0.6 * np.linalg.norm(line.values - same)


def test_rounds_one_by_one_are_all_rounds():
    releases = [make_releases(PEOPLE, N_ITEMS, items=ITEMS["features"], seed=3) for _ in range(2)]
    census, _ = (release_census(each) for each in releases)
    together = release_means(releases[0], census, Prior(), 0.3, 3)
    state = first_means(no_line(census.items))
    for i in range(3):
        state = release_round(releases[1], census, Prior(), 0.3 / 3, state, has_slopes=i > 0)
    assert np.array_equal(together.means, state.means) and np.array_equal(together.along, state.along)


@pytest.mark.parametrize(("total", "factor"), [(-1e9, 0.2), (8.0, 0.2), (40.0, 0.5), (1e9, 1.0)])
def test_the_mean_factor_is_one_that_can_be(total, factor):
    assert mean_factor(make_releases(PEOPLE, N_ITEMS), total) == factor
