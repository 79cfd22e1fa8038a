"""A model of ratings around factors: variances that follow the data, a check that prefers what predicts better."""

import math
from dataclasses import replace

import numpy as np
import pytest

from completion_support import RELATIONS, Replay, follow_features, largest_loss, make_people, make_releases
from hushrank.estimators.completion.feature_recipe import FEATURES
from hushrank.estimators.completion.feature_slopes import share_of_slopes
from hushrank.estimators.completion.item_means import OWN_COLUMNS, Census, release_census, release_means
from hushrank.estimators.completion.methods import learn_model
from hushrank.estimators.completion.options import to_options
from hushrank.estimators.completion.public_items import PublicItems
from hushrank.estimators.completion.rating_model import (
    RatingState,
    choose_variant,
    estimate_variances,
    learn_ratings_around,
    make_variants,
    map_new_items,
    whole_ratios,
)
from hushrank.estimators.completion.recipes import ITEM_MEANS, RATINGS, Prior

N_ITEMS = 24
PEOPLE = make_people(80, N_ITEMS, seed=3)
COLUMNS = np.random.default_rng(7).standard_normal((N_ITEMS, 3))
KEEN = follow_features(PEOPLE, COLUMNS, seed=8, deviation=0.4)
FEW = PublicItems.of(COLUMNS, N_ITEMS)
MANY = PublicItems.of(np.random.default_rng(9).standard_normal((N_ITEMS, 40)), N_ITEMS)


def state_of(releases, factors=None):
    """What is known after the item means."""
    census = release_census(releases)
    means = release_means(releases, census, Prior(), RATINGS.means_share, RATINGS.mean_rounds)
    factors = np.zeros((N_ITEMS, 0)) if factors is None else factors
    return RatingState(census, Prior(), means.means, factors, means.along)


def learn_around(releases, n_factors=2):
    """Factors that are noise and cost all they may."""

    def learn_factors(model, share):
        assert model.factors.shape == (N_ITEMS, 0) and model.W.shape[1] >= OWN_COLUMNS
        released = releases.release(np.zeros((N_ITEMS, n_factors), np.int64), releases.vector_lattice(1.0, share))
        return 0.1 * released / np.abs(released).max()

    return learn_ratings_around(releases, learn_factors)


# 1. Sensitivity


def learn_with(method):
    """A method that learns factors alone, with new items told by their features."""
    return lambda releases: learn_model(to_options(method), releases, 2, offsets=True, unobserved=None)


WAYS = {
    "few features": (learn_around, FEW),
    "many features": (learn_around, MANY),
    "als": (learn_with("als"), replace(MANY, is_new=np.arange(N_ITEMS) == 5)),
    "factored_gradient": (learn_with("factored_gradient"), replace(FEW, is_new=np.arange(N_ITEMS) == 5)),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("neighbors", RELATIONS)
def test_one_user_stays_within_the_budget_with_features_around_any_factors(monkeypatch, neighbors, way):
    replay, (learn, items) = Replay(monkeypatch), WAYS[way]
    used = largest_loss(replay, learn, KEEN, N_ITEMS, neighbors=neighbors, epsilon=20.0, items=items)
    bounds = {release.terms[0].norm_bound for release in replay.made if release.mechanism == "vector"}
    asked = {FEATURES.check_norm * Prior().noise}
    if items.G.shape[1] > FEATURES.most_slopes:
        asked.add(FEATURES.relevance_norm * math.sqrt(items.G.shape[1]))
    assert asked <= bounds and used > 0.1


# 3. Planted variances: `make_people` draws ratings with noise of variance 0.04 about an offset of variance 0.04.


def test_variances_follow_the_data():
    state = state_of(make_releases(make_people(3000, N_ITEMS, seed=5, rank=0), N_ITEMS, epsilon=1e3))
    releases = make_releases(make_people(3000, N_ITEMS, seed=5, rank=0), N_ITEMS, epsilon=1e3)
    for _ in range(6):
        state = estimate_variances(releases, state)
    assert state.prior.noise == pytest.approx(0.04, rel=0.15)
    assert state.prior.offset == pytest.approx(0.04, rel=0.25)
    assert state.prior.item == Prior().item  # is not estimated


def test_variances_of_slopes_follow_the_data():
    """Users have slopes of deviation 0.2 on two columns as they were given, which are scaled for regressions."""
    people = follow_features(make_people(3000, N_ITEMS, seed=5, rank=0), COLUMNS[:, :2], seed=6, deviation=0.2)
    releases = make_releases(people, N_ITEMS, epsilon=1e3, items=FEW)
    state = state_of(releases)
    releases = make_releases(people, N_ITEMS, epsilon=1e3, items=FEW)
    for _ in range(6):
        state = estimate_variances(releases, state)
    planted = (0.2 / FEW.scales[:2]) ** 2
    assert state.prior.features[:2] == pytest.approx(planted, rel=0.25)
    assert 0 < state.prior.features[2] < 0.05 * planted.min()  # of a column that tells nothing
    assert state.prior.noise == pytest.approx(0.04, rel=0.3) and len(state.prior.features) == 3


@pytest.mark.parametrize("ratio", [0.25, 1.0, 3.0])
def test_whole_ratios_undo_that_coefficients_are_drawn_to_zero(ratio):
    """With one rating, z^2 has the mean told (told ratio + 1 - told): what is found by drawing ratings."""
    rng = np.random.default_rng(3)
    for w, noise in ((1.0, 0.2), (0.3, 0.4)):
        told = w * w / (w * w + noise)
        y = w * np.sqrt(ratio) * rng.standard_normal(400_000) + np.sqrt(noise) * rng.standard_normal(400_000)
        z = w * y / (w * w + noise)
        part = np.array([np.mean(z**2) / told])
        assert whole_ratios(part, np.array([told])) == pytest.approx([ratio], abs=0.06)  # five standard errors
        assert abs(part[0] - 1) <= abs(ratio - 1) * told + 0.02
    assert whole_ratios(np.array([2.0]), np.array([0.0])) == 1 + 1 / FEATURES.least_told


def test_the_first_variances_of_slopes_are_corrected_by_at_most_a_factor_of_five():
    releases = make_releases(KEEN, N_ITEMS, epsilon=1e3, items=FEW)
    state = estimate_variances(releases, state_of(releases))
    ratios = np.array(state.prior.features) / FEATURES.start_variance
    low, high = RATINGS.coefficient_ratios
    assert (ratios >= low - 1e-12).all() and (ratios <= high + 1e-12).all() and np.ptp(ratios) > 0
    assert state.features.shape == (N_ITEMS, OWN_COLUMNS + 3)


def test_factors_that_predict_nothing_shrink():
    rng = np.random.default_rng(1)
    people = make_people(2000, N_ITEMS, seed=6, rank=0)
    releases = make_releases(people, N_ITEMS, epsilon=1e3)
    state = state_of(releases, 0.5 * rng.standard_normal((N_ITEMS, 1)))
    shrunk = estimate_variances(releases, state)
    assert np.linalg.norm(shrunk.factors) < 0.7 * np.linalg.norm(state.factors)


def test_hardly_any_budget_hardly_moves_a_variance():
    releases = make_releases(PEOPLE, N_ITEMS, epsilon=1e-3)
    before = state_of(releases)
    after = estimate_variances(releases, before)
    for name in ("noise", "offset", "slope", "popularity"):
        assert getattr(after.prior, name) == pytest.approx(getattr(before.prior, name), rel=0.2)


def test_wrong_factors_are_left_out_by_the_check():
    """Long factors of noise spoil predictions: a variant without them, or with less of them, is taken."""
    people = make_people(3000, N_ITEMS, seed=7, rank=0, n_ratings=8.0)
    releases = make_releases(people, N_ITEMS, epsilon=1e3)
    wrong = np.random.default_rng(2).standard_normal((N_ITEMS, 3))
    model = choose_variant(releases, state_of(releases, wrong))
    assert releases.left == 0.0
    assert np.linalg.norm(model.factors) < 0.8 * np.linalg.norm(wrong)


# 4. Identities


@pytest.mark.parametrize("items", [PublicItems.of(None, N_ITEMS), FEW, MANY], ids=["no", "few", "many"])
def test_factors_get_all_but_what_comes_after_them(items):
    releases, given = make_releases(KEEN, N_ITEMS, items=items, epsilon=30.0), []

    def learn_factors(model, share):
        given.append(share)
        assert model.factors.shape == (N_ITEMS, 0)
        assert OWN_COLUMNS <= model.W.shape[1] <= OWN_COLUMNS + items.n_slopes
        return np.zeros((N_ITEMS, 2))

    model = learn_ratings_around(releases, learn_factors)
    first = ITEM_MEANS.quantile_share + ITEM_MEANS.counts_share + ITEM_MEANS.center_share
    after = RATINGS.moments_share + RATINGS.check_share
    before = first + RATINGS.means_share + share_of_slopes(items) + RATINGS.moments_share
    assert given == [pytest.approx(1 - before - after)]
    assert model.factors.shape == (N_ITEMS, 2) and releases.left == 0.0


@pytest.mark.parametrize(("n_factors", "n_variants"), [(0, 6), (3, 9)])
def test_variants_begin_with_the_model_itself(n_factors, n_variants):
    variants = make_variants(3, n_factors, 0.2)
    whole = 3 + n_factors
    assert (variants.widths[0], variants.ridges[0]) == (whole, 0.2) and (variants.scales[0] == 1.0).all()
    assert variants.widths.shape == variants.ridges.shape == (n_variants,)
    assert variants.scales.shape == (n_variants, whole)
    assert {int(width) for width in variants.widths} == {1, 3, whole}
    if n_factors:
        assert variants.scales[-2:, -1].tolist() == [math.sqrt(0.5), math.sqrt(2.0)]


def test_the_state_predicts_by_center_means_and_factors():
    counts, items = np.arange(1.0, 6.0), PublicItems.of(None, 5)
    census = Census(4.0, counts, np.ones(5), 0.25, items, counts, 1.0)
    state = RatingState(census, Prior(), np.arange(5.0), np.ones((5, 2)), np.zeros(0))
    model = state.regression
    assert model.base == pytest.approx(0.25 + np.arange(5.0)) and model.W.shape == (5, 5)
    assert (model.W[:, 3:] == 1.0).all() and model.ridge == Prior().noise


# New items


def state_with_new_items(n_slopes, seed=1):
    """A state in which the means of new items lie on the line, at the popularity of a typical rating."""
    rng = np.random.default_rng(seed)
    items = PublicItems.of(COLUMNS, N_ITEMS, np.isin(np.arange(N_ITEMS), [2, 9]))
    items = items if n_slopes else items.without_slopes()
    counts = np.where(items.is_new, 1e-9, rng.uniform(1.0, 80.0, N_ITEMS))
    census = Census(4.0, counts, np.ones(N_ITEMS), 0.3, items, counts, 1e-6)
    means, along = 0.3 * rng.standard_normal(N_ITEMS), 0.3 * rng.standard_normal(3)
    shares = census.rating_shares
    on_line = shares @ means + (items.G - shares @ items.G) @ along
    prior = Prior(features=(0.02, 0.03, 0.01)[:n_slopes])
    means = np.where(items.is_new, on_line, means)
    return RatingState(census, prior, means, 0.1 * rng.standard_normal((N_ITEMS, 2)), along)


@pytest.mark.parametrize("n_slopes", [0, 3])
def test_a_new_item_is_told_what_an_item_on_the_line_of_typical_popularity_has(n_slopes):
    state = state_with_new_items(n_slopes)
    items, table = state.census.items, map_new_items(state)
    assert table.shape == (1 + 3, 1 + OWN_COLUMNS + n_slopes)
    told, is_new = table[0] + items.G @ table[1:], items.is_new
    assert told[is_new, 0] == pytest.approx(state.base[is_new], abs=1e-9)
    assert told[is_new, 1:] == pytest.approx(state.features[is_new], abs=1e-7)
    assert not told[:, 3].any()  # popularity is typical
    others = told[~is_new]
    assert others[:, 0] != pytest.approx(state.base[~is_new], abs=0.1)
    assert others[:, 4:] == pytest.approx(state.features[~is_new, 3:], abs=1e-9)  # known of every item


def test_without_features_a_new_item_has_the_mean_of_a_typical_rating():
    counts, items = np.arange(1.0, 6.0), PublicItems.of(None, 5)
    census = Census(4.0, counts, np.ones(5), 0.25, items, counts, 1.0)
    means = np.array([0.1, -0.2, 0.3, 0.0, 0.5])
    table = map_new_items(RatingState(census, Prior(), means, np.zeros((5, 0)), np.zeros(0)))
    typical = 0.25 + census.rating_shares @ means
    assert table == pytest.approx(np.array([[typical, math.sqrt(Prior().offset), 0.0, 0.0]]), abs=1e-12)


@pytest.mark.parametrize("chosen", range(9))
def test_the_map_of_new_items_follows_the_variant_that_was_chosen(monkeypatch, chosen):
    """As it is, other ridges, the offset alone, without factors, other scales of them."""
    state, releases = state_with_new_items(3), make_releases(KEEN, N_ITEMS)
    answers = np.where(np.arange(8) == chosen - 1, -1e9, 0.0)
    monkeypatch.setattr(releases, "release", lambda total, lattice: answers)
    model, variants = choose_variant(releases, state), make_variants(6, 2, state.prior.noise)
    assert model.ridge == variants.ridges[chosen]
    is_new, width = state.census.items.is_new, variants.widths[chosen]
    scales = np.where(np.arange(8) < width, variants.scales[chosen], 0.0)
    assert model.W == pytest.approx(state.regression.W * scales)
    changed = model.with_new(state.census.items.G, is_new)
    assert changed.features == pytest.approx(model.features, abs=1e-7)
    assert changed.base == pytest.approx(model.base, abs=1e-9)
    assert not changed.factors[is_new].any() and np.array_equal(changed.factors[~is_new], model.factors[~is_new])
