"""What people like in common: bounds, the limit without noise, planted likings, and no lines of noise alone."""

import math

import numpy as np
import pytest

from completion_support import RELATIONS, Replay, adverse_people, largest_loss, make_people, make_releases
from hushrank.estimators.completion.common_slopes import (
    FIRST_SLOPE,
    draw_to_zero,
    principal_axes,
    release_common_slopes,
)
from hushrank.estimators.completion.feature_recipe import FEATURES
from hushrank.estimators.completion.item_means import release_census, user_columns
from hushrank.estimators.completion.public_items import PublicItems
from hushrank.estimators.completion.recipes import Prior
from user_support import regress, shorten

N_ITEMS = 24
PEOPLE = make_people(80, N_ITEMS, seed=3, rank=0)
COLUMNS = np.random.default_rng(5).standard_normal((N_ITEMS, 3))
FEW = PublicItems.of(COLUMNS, N_ITEMS)
MANY = PublicItems.of(np.random.default_rng(6).standard_normal((N_ITEMS, 40)), N_ITEMS)


def settle(releases):
    return release_common_slopes(releases, release_census(releases), Prior())


def everybody_likes(people, liking):
    """The same people, with the same liking of every item beside their own."""
    return [(items, np.clip(y + liking[items], -1, 1)) for items, y in people]


# 1. Sensitivity


@pytest.mark.parametrize("items", [FEW, MANY], ids=["few", "many"])
@pytest.mark.parametrize("neighbors", RELATIONS)
def test_one_user_stays_within_the_budget(monkeypatch, neighbors, items):
    replay, people = Replay(monkeypatch), [adverse_people(N_ITEMS)["opposed"], *PEOPLE[1:]]
    used = largest_loss(replay, settle, people, N_ITEMS, neighbors=neighbors, epsilon=5.0, items=items)
    [lattice] = replay.made[-1].terms
    width = 1 + items.n_slopes
    assert lattice.norm_bound == FEATURES.common_norm * math.sqrt(width) and not lattice.nonnegative
    assert used > 0.03  # of which quantile, counts and center have most: only a fifth of the shares is this one's


def test_it_costs_its_share():
    releases = make_releases(PEOPLE, N_ITEMS, items=FEW)
    census = release_census(releases)
    before = releases.left
    release_common_slopes(releases, census, Prior())
    assert before - releases.left == pytest.approx(FEATURES.common_share, rel=1e-9)


# 2. Limit: with hardly any noise the line is that of NumPy.


def test_the_line_is_the_ratio_of_bounded_slopes_to_how_far_they_are_told():
    people = everybody_likes(PEOPLE, 0.3 * COLUMNS[:, 0])
    releases = make_releases(people, N_ITEMS, epsilon=1e6, items=FEW)
    census, prior = release_census(releases), Prior()
    line = release_common_slopes(releases, census, prior)
    W, sums = user_columns(np.zeros(N_ITEMS), census, prior), np.zeros(8)
    columns = W[:, FIRST_SLOPE:].copy()
    axes = principal_axes(columns, census.rating_shares)
    W[:, FIRST_SLOPE:] = columns @ axes
    for items, y in people:
        order = np.argsort(items)
        z, _, P = regress((items[order], y[order]), np.full(N_ITEMS, census.center), W, prior.noise)
        own = np.append(z[FIRST_SLOPE:], 1 - np.diag(P)[FIRST_SLOPE:])
        sums += shorten(own, FEATURES.common_norm * 2.0)[0]
    slopes = axes @ (sums[:4] / sums[4:])
    assert line.values == pytest.approx(columns @ slopes, abs=1e-3)
    of_features = np.sqrt(FEATURES.start_variance) * slopes[1:]
    assert line.along == pytest.approx(FEW.projection @ of_features, abs=1e-3)
    centered = FEW.G - census.rating_shares @ FEW.G
    assert line.values - columns[:, 0] * slopes[0] == pytest.approx(centered @ line.along, abs=1e-3)


# 3. Planted likings. Over 40 fits at epsilon 1, the squared cosine of the line with them is 0.95 (0.04, at least 0.80),
# and it has 1.01 (0.20) of their length; without a common liking, 40 of 40 fits have no line at all.


@pytest.fixture(scope="module")
def thousand():
    columns = np.random.default_rng(7).standard_normal((60, 3))
    people = make_people(1000, 60, seed=8, rank=0)
    flat = [(items, np.clip(0.2 * np.random.default_rng(i).standard_normal(len(items)), -1, 1))
            for i, (items, _) in enumerate(people)]  # fmt: skip
    return flat, columns


def test_what_everybody_likes_is_found(thousand):
    flat, columns = thousand
    items = PublicItems.of(columns, 60)
    liking = 0.25 * items.G[:, 0] - 0.15 * items.G[:, 2]
    line = settle(make_releases(everybody_likes(flat, liking), 60, epsilon=1.0, items=items))
    found = items.G @ line.along
    assert (found @ liking) ** 2 > 0.6 * (found @ found) * (liking @ liking)
    assert 0.3 < np.linalg.norm(found) / np.linalg.norm(liking) < 2.0


@pytest.mark.parametrize("copies", [2, 10, 30])
def test_columns_that_say_the_same_say_it_once(thousand, copies):
    """Each of them by itself would be given all that people like: a line so many times too long."""
    flat, columns = thousand
    rng = np.random.default_rng(copies)
    items = PublicItems.of(columns[:, :1] + 1e-3 * rng.standard_normal((60, copies)), 60)
    liking = 0.25 * (columns[:, 0] - columns[:, 0].mean())
    line = settle(make_releases(everybody_likes(flat, liking), 60, epsilon=5.0, items=items))
    found = items.G @ line.along
    assert 0.5 < (found @ liking) / (liking @ liking) < 1.5


def test_axes_are_orthogonal_and_columns_along_them_do_not_vary_together():
    rng = np.random.default_rng(3)
    X, shares = rng.standard_normal((50, 6)) @ rng.standard_normal((6, 6)), rng.dirichlet(np.ones(50))
    axes = principal_axes(X, shares)
    assert axes.T @ axes == pytest.approx(np.eye(6), abs=1e-12)
    gram = (X @ axes).T @ (shares[:, None] * (X @ axes))
    assert gram == pytest.approx(np.diag(np.diag(gram)), abs=1e-10)
    assert (axes[np.abs(axes).argmax(axis=0), np.arange(6)] > 0).all()


@pytest.mark.parametrize("epsilon", [0.02, 0.2, 1.0])
def test_noise_makes_no_line_to_speak_of(thousand, epsilon):
    """The mean square of the line over ten fits, in half ranges: a hundredth of what ratings vary by."""
    flat, columns = thousand
    lines = [settle(make_releases(flat, 60, epsilon=epsilon, items=PublicItems.of(columns, 60), seed=i))
             for i in range(10)]  # fmt: skip
    assert np.mean([line.values**2 for line in lines]) < 0.01


# 4. Shrinking by evidence


def test_sure_numbers_stay_and_unsure_ones_go():
    estimates, variances = np.array([2.0, -2.0, 0.0, 2.0]), np.array([1e-6, 1e-6, 1e-6, 100.0])
    drawn = draw_to_zero(estimates, variances)
    assert drawn[:3] == pytest.approx([2.0, -2.0, 0.0], abs=0.01) and 0 <= drawn[3] < 0.3
    assert np.array_equal(draw_to_zero(-estimates, variances), -drawn)


def test_where_only_some_stand_out_the_others_go_further_than_with_one_variance():
    rng = np.random.default_rng(1)
    estimates, variances = np.append([6.0, -5.0], rng.standard_normal(38)), np.ones(40)
    drawn = draw_to_zero(estimates, variances)
    common = np.mean(estimates**2) - 1
    with_one = estimates * common / (common + 1)
    assert np.abs(drawn[:2]).min() > 3.5 and np.abs(with_one[:2]).min() < 3.5
    assert np.square(drawn[2:]).mean() < 0.6 * np.square(with_one[2:]).mean()


def test_noise_alone_becomes_zero_but_for_few_draws():
    """A gain in evidence of 4 has chance at most exp(-4) where there is nothing, for one alternative; 18 are tried."""
    rng, n_zeros = np.random.default_rng(2), 0
    for _ in range(400):
        variances = 10.0 ** rng.uniform(-3, 3, 20)
        n_zeros += not draw_to_zero(np.sqrt(variances) * rng.standard_normal(20), variances).any()
    assert n_zeros > 385


@pytest.mark.parametrize("size", [1, 20])
@pytest.mark.parametrize("scale", [1e-70, 1e-9, 1.0, 1e9, 1e70])
def test_any_estimates_give_finite_numbers_between_them_and_zero(size, scale):
    rng = np.random.default_rng(size)
    for spread in (1e-6, 1.0, 1e6):
        estimates = scale * rng.standard_normal(size)
        drawn = draw_to_zero(estimates, np.full(size, (scale * spread) ** 2))
        assert np.isfinite(drawn).all()
        assert (np.abs(drawn) <= np.abs(estimates)).all() and (drawn * estimates >= 0).all()
