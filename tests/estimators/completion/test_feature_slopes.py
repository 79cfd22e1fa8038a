"""Slopes on public features: bounds of both questions, shares on every way, slopes that help and others."""

import math
from dataclasses import replace

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
from hushrank.estimators.completion import feature_slopes
from hushrank.estimators.completion.feature_recipe import FEATURES
from hushrank.estimators.completion.feature_slopes import release_means_and_slopes, share_of_slopes
from hushrank.estimators.completion.item_means import first_means, no_line, release_census
from hushrank.estimators.completion.public_items import PublicItems
from hushrank.estimators.completion.recipes import ITEM_MEANS, RATINGS, Prior

N_ITEMS = 24
RNG = np.random.default_rng(5)
COLUMNS = RNG.standard_normal((N_ITEMS, 3))
INDIFFERENT = make_people(80, N_ITEMS, seed=3, rank=0)
KEEN = follow_features(INDIFFERENT, COLUMNS, seed=4, deviation=0.4)
FEW = PublicItems.of(COLUMNS, N_ITEMS)
MANY = PublicItems.of(np.hstack([COLUMNS, RNG.standard_normal((N_ITEMS, 47))]), N_ITEMS)
HALVES = np.where(np.arange(N_ITEMS) < N_ITEMS // 2, 1.0, -1.0)
EVERY = np.arange(N_ITEMS)
WITH_IT, AGAINST = (EVERY, HALVES), (EVERY[:2], np.array([1.0, -1.0]))  # two items that features call alike
CONTRARY = [(np.array([i % 12, (i + 1) % 12]) + i // 12 % 2 * 12, np.array([1.0, -1.0])) for i in range(80)]
ALIKE = PublicItems.of(np.repeat(HALVES[:, None], 40, axis=1), N_ITEMS)
FIRST = ITEM_MEANS.quantile_share + ITEM_MEANS.counts_share + ITEM_MEANS.center_share
SHARE = 0.4


def settle(releases):
    """What is known about the items in the end, and their means."""
    census, means = release_means_and_slopes(releases, release_census(releases), Prior(), SHARE)
    return census.items, means


# Ways: (people, items, epsilon, questions asked (what is liked in common, whether slopes help, along what), whether
# slopes are kept).
WAYS = {
    "no features": (KEEN, PublicItems.of(None, N_ITEMS), 5.0, 0, False),
    "features without slopes": (KEEN, FEW.without_slopes(), 5.0, 0, False),
    "kept": (KEEN, FEW, 50.0, 2, True),
    "dropped": (INDIFFERENT, FEW, 200.0, 2, False),
    "many, kept": (KEEN, MANY, 50.0, 3, True),
    "many, dropped": (CONTRARY, ALIKE, 50.0, 3, False),
}


# 1. Sensitivity


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("neighbors", RELATIONS)
def test_one_user_stays_within_the_budget_on_every_way(monkeypatch, neighbors, way):
    people, items, epsilon, n_questions, has_slopes = WAYS[way]
    replay, found = Replay(monkeypatch), []

    def learn(releases):
        found.append(settle(releases))
        return found[-1]

    people = [adverse_people(N_ITEMS)["opposed"], *people[1:]]
    used = largest_loss(replay, learn, people, N_ITEMS, neighbors=neighbors, epsilon=epsilon, items=items)
    n_rounds = 1 + FEATURES.more_rounds if has_slopes else RATINGS.mean_rounds
    n_vectors = len([release for release in replay.made if release.mechanism == "vector"])
    assert n_vectors == 2 + n_questions + 2 * n_rounds  # counts and center; sums and factors of every round
    assert (found[0][0].n_slopes > 0) == has_slopes
    assert used > 0.25


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("neighbors", RELATIONS)
def test_bounds_hold_whatever_was_released_before(monkeypatch, neighbors, seed):
    replay = Replay(monkeypatch, distortion=10.0 ** (2 * seed - 2), seed=seed)
    people, epsilon = make_people(20, N_ITEMS, seed=seed), (0.1, 5.0, 100.0)[seed]
    items = replace((FEW, MANY, MANY)[seed], is_new=np.arange(N_ITEMS) < seed)
    terms = {"neighbors": neighbors, "epsilon": epsilon, "items": items, "seed": seed}
    assert largest_loss(replay, settle, people, N_ITEMS, **terms) > 0.1


def changes(monkeypatch, one, other, items, neighbors="replace"):
    """By the bound of each question: the change of the sum that answers it, in bounds."""
    replay, terms = Replay(monkeypatch), {"items": items, "neighbors": neighbors, "seed": 1, "epsilon": 5.0}
    recorded = replay.run(settle, [*one, *INDIFFERENT], N_ITEMS, **terms)
    replayed = replay.run(settle, [*other, *INDIFFERENT], N_ITEMS, recorded, **terms)
    found = {}
    for before, after in zip(recorded, replayed, strict=True):
        if before.mechanism == "vector" and before.terms[0].norm_bound in bounds_of(items):
            [lattice] = before.terms
            squares = int(((after.total - before.total).astype(object) ** 2).sum())
            found[lattice.norm_bound] = math.sqrt(squares / lattice.squared_bound)
    return [found.get(bound) for bound in bounds_of(items)]


def bounds_of(items):
    """Of the question whether slopes help, and of the one along what."""
    return FEATURES.check_norm * Prior().noise, FEATURES.relevance_norm * math.sqrt(items.G.shape[1])


@pytest.mark.parametrize(("neighbors", "sensitivity"), [("replace", 2.0), ("add_remove", 1.0)])
def test_worst_neighbors_attain_the_bound_of_the_check(monkeypatch, neighbors, sensitivity):
    items = PublicItems.of(HALVES[:, None], N_ITEMS)
    one, other = ([WITH_IT], [AGAINST] if neighbors == "replace" else [])
    change, _ = changes(monkeypatch, one, other, items, neighbors)
    assert sensitivity * (1 - 1e-5) <= change <= sensitivity


@pytest.mark.parametrize("n_columns", [40, 200])
def test_a_worst_user_attains_the_bound_of_relevances(monkeypatch, n_columns):
    """One whose ratings are what all features say, against nobody; against anybody else less than twice as much."""
    items = PublicItems.of(np.repeat(HALVES[:, None], n_columns, axis=1), N_ITEMS)
    _, change = changes(monkeypatch, [WITH_IT], [], items, "add_remove")
    assert 1 - 1e-4 <= change <= 1.0


def test_relevances_of_opposed_users_stay_below_twice_the_bound(monkeypatch):
    across = np.where(EVERY % 2, 1.0, -1.0)
    _, change = changes(monkeypatch, [WITH_IT], [(EVERY, across)], ALIKE)
    # -1 for every column, of 1.5: what a residual explains is not negative.
    assert 1 + 0.9 / FEATURES.relevance_norm < change <= 1 + 1 / FEATURES.relevance_norm + 1e-4


# Shares


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("neighbors", RELATIONS)
def test_the_questions_cost_their_shares_and_no_more(neighbors, way):
    people, items, epsilon, *_ = WAYS[way]
    releases = make_releases(people, N_ITEMS, neighbors=neighbors, epsilon=epsilon, items=items)
    before = releases.left
    settle(releases)
    assert before - releases.left == pytest.approx(FIRST + SHARE + share_of_slopes(items), rel=1e-9)


def test_without_slopes_no_question_is_asked_and_relevance_only_of_many_columns():
    assert share_of_slopes(PublicItems.of(None, 4)) == share_of_slopes(FEW.without_slopes()) == 0.0
    of_few = FEATURES.common_share + FEATURES.check_share
    assert share_of_slopes(FEW) == of_few
    assert share_of_slopes(MANY) == of_few + FEATURES.relevance_share
    width = FEATURES.most_slopes
    assert share_of_slopes(PublicItems.of(np.eye(60)[:, :width], 60)) == of_few
    assert share_of_slopes(PublicItems.of(np.eye(60)[:, : width + 1], 60)) > of_few


# 2. Limit: with hardly any noise the gain is that of NumPy.


def test_the_gain_is_the_difference_of_leave_one_out_errors():
    """Bounded by 0.05 for every user, who have eight ratings at most here."""
    people = [(items[:8], y[:8]) for items, y in KEEN]
    releases = make_releases(people, N_ITEMS, epsilon=1e5, items=FEW)
    census, prior = release_census(releases), Prior()
    gain = feature_slopes._release_gain(releases, census, prior, first_means(no_line(FEW)))
    W, expected = feature_slopes.user_columns(np.zeros(N_ITEMS), census, prior), 0.0
    for items, y in people:
        errors = []
        for width in (3, W.shape[1]):
            left = []
            for t in range(len(items)):
                own, others = items[t], np.delete(items, t)
                K = W[others, :width] @ W[others, :width].T + prior.noise * np.eye(len(others))
                weights = np.linalg.solve(K, W[others, :width] @ W[own, :width])
                left.append(y[t] - census.center - weights @ (np.delete(y, t) - census.center))
            errors.append(np.minimum(np.square(left), 4.0).sum() / max(len(left), 1))
        expected += np.clip(errors[0] - errors[1], -0.05, 0.05)
    assert gain == pytest.approx(expected, abs=0.01) and expected > 0.3


# 3. Planted slopes. Over 40 fits, released gains are 23.1 (2.3) of 1000 keen users at epsilon 1 and -2.7 (0.33) of
# indifferent ones at epsilon 10: zero is ten and eight standard deviations away.


@pytest.fixture(scope="module")
def thousand():
    rng, n_items = np.random.default_rng(5), 40
    columns = rng.standard_normal((n_items, 3))
    indifferent = make_people(1000, n_items, seed=3, rank=0)
    keen = follow_features(indifferent, columns / math.sqrt(3), seed=4, deviation=0.3)
    return keen, indifferent, columns, rng.standard_normal((n_items, 60))


def test_slopes_that_help_are_kept_and_others_dropped(thousand):
    keen, indifferent, columns, _ = thousand
    items = PublicItems.of(columns, 40)
    kept, _ = settle(make_releases(keen, 40, epsilon=1.0, items=items))
    assert kept is items
    dropped, means = settle(make_releases(indifferent, 40, epsilon=10.0, items=items))
    assert dropped.n_slopes == 0 and dropped.G is items.G and means.along.shape == (3,)


# Over 40 fits at epsilon 5, the three have 0.90 (0.04) of the squared weights, and 9 (2) columns have any. Their
# relevances are 13 deviations of the noise and more, of which 2 are asked for.
def test_features_that_tell_about_users_are_found_among_many(thousand):
    keen, _, columns, others = thousand
    items, _ = settle(make_releases(keen, 40, epsilon=5.0, items=PublicItems.of(np.hstack([columns, others]), 40)))
    weights = (items.projection**2).sum(axis=1)
    assert 3 <= items.n_slopes <= FEATURES.most_slopes and weights[:3].min() > 0
    assert weights[:3].sum() > 0.5 * weights.sum()
    assert np.count_nonzero(weights) < 40


# 4. What follows from released numbers


def answer(monkeypatch, *answers):
    """Releases that answer the questions so, and all others with zeros."""
    releases, asked = make_releases(KEEN, N_ITEMS, items=MANY if len(answers) == 2 else FEW), list(answers)
    census = release_census(releases)

    def release(total, lattice):
        if lattice.norm_bound in bounds_of(releases.items):
            return np.asarray(asked.pop(0), float) * lattice.scale
        return np.zeros(np.shape(total))

    monkeypatch.setattr(releases, "release", release)
    items, _ = feature_slopes.release_means_and_slopes(releases, census, Prior(), SHARE)
    assert not asked
    return items.items


@pytest.mark.parametrize(("gain", "n_slopes"), [(1e-9, 3), (40.0, 3), (0.0, 0), (-1e-9, 0), (-40.0, 0)])
def test_slopes_stay_if_the_released_gain_is_positive(monkeypatch, gain, n_slopes):
    assert answer(monkeypatch, [gain]).n_slopes == n_slopes


def test_slopes_lie_along_what_stands_out_by_two_deviations_the_more_the_further(monkeypatch):
    relevance = np.zeros(50)
    relevance[[4, 9, 30, 31]] = 3.0, 6.0, 1.99, -5.0
    items = answer(monkeypatch, relevance, [1.0])
    weights = np.sqrt(np.where(np.arange(50) == 9, 1.0, np.where(np.arange(50) == 4, 0.25, 0.0)))
    assert np.array_equal(items.projection, MANY.weighted(weights).projection) and items.n_slopes == 2


@pytest.mark.parametrize("relevance", [np.zeros(50), np.full(50, 2.0), np.linspace(-9.0, 1.0, 50)], ids=["0", "2", "1"])
def test_where_nothing_stands_out_slopes_lie_along_the_leading_directions(monkeypatch, relevance):
    assert answer(monkeypatch, relevance, [1.0]) is MANY
    assert answer(monkeypatch, relevance, [-1.0]).n_slopes == 0
