"""Candidates for implicit feedback: columns of public features, what they tell about new items, who wins the check."""

from dataclasses import replace

import numpy as np
import pytest

from completion_support import RELATIONS, Replay, make_people, make_releases, squared_loss
from hushrank.estimators.completion import implicit_candidates
from hushrank.estimators.completion.implicit_candidates import POPULARITY, Candidates, Kind, popularity_of
from hushrank.estimators.completion.implicit_recipe import IMPLICIT
from hushrank.estimators.completion.item_means import Census
from hushrank.estimators.completion.public_items import PublicItems

N_ITEMS = 30
RNG = np.random.default_rng(0)
FEATURES, COUNTS = RNG.standard_normal((N_ITEMS, 3)), RNG.uniform(1.0, 90.0, N_ITEMS)
FACTORS = RNG.standard_normal((N_ITEMS, 2))


def census_of(counts=COUNTS, features=FEATURES, is_new=None, deviation=0.5):
    items = PublicItems.of(features, len(counts), is_new)
    return Census(2.0, np.maximum(counts, deviation / 2), np.ones(len(counts)), 0.0, items, counts, deviation)


def candidates_of(factors=None, unobserved=1.0, ridge=1.0, **terms):
    return Candidates.of(census_of(**terms), unobserved, ridge, factors)


# 1. Sensitivity: of the check as a release


@pytest.mark.parametrize(("features", "factors"), [(FEATURES, None), (None, FACTORS), (FEATURES, FACTORS)])
@pytest.mark.parametrize("neighbors", RELATIONS)
def test_one_user_moves_the_check_by_no_more_than_it_was_charged_for(monkeypatch, neighbors, features, factors):
    candidates = candidates_of(factors, features=features)
    people, replay = make_people(20, N_ITEMS, seed=1), Replay(monkeypatch)
    terms = {"neighbors": neighbors, "is_implicit": True, "epsilon": 3.0}
    recorded = replay.run(candidates.choose, people, N_ITEMS, seed=2, **terms)
    worst = 0.0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        own = rng.permutation(N_ITEMS)[: int(rng.integers(0, N_ITEMS + 1))]
        other = [(own, np.ones(len(own))), *(people if neighbors == "add_remove" else people[1:])]
        replayed = replay.run(candidates.choose, other, N_ITEMS, recorded, **terms)
        worst = max(worst, squared_loss(recorded[-1], replayed[-1]))
    assert worst > 0.0
    lattice = recorded[-1].terms[0]
    assert lattice.norm_bound == pytest.approx(IMPLICIT.check_norm * np.sqrt(len(candidates.kinds) - 1))
    assert not lattice.nonnegative


# 2. Limit


@pytest.mark.parametrize("kind", [POPULARITY, Kind(True, False), Kind(False, True), Kind(True, True)])
def test_the_check_scores_items_as_the_model_does(kind):
    candidates = candidates_of(FACTORS, unobserved=0.6, ridge=0.8)
    model, ranked, v = candidates.model(kind), candidates.ranked(100.0), candidates.kinds.index(kind)
    U = ranked.U[:, ranked.firsts[v] : ranked.stops[v]]
    assert np.array_equal(U, model.W) and np.array_equal(ranked.base, model.base)
    assert np.array_equal(ranked.columns, ranked.U[ranked.listed].T)
    W, penalty = model.W, ranked.penalty[ranked.firsts[v] : ranked.stops[v], ranked.firsts[v] : ranked.stops[v]]
    assert penalty == pytest.approx(model.unobserved * W.T @ W)
    assert (ranked.ridge, ranked.length, ranked.one_in) == (model.ridge, IMPLICIT.length_of_list(N_ITEMS), 1)


def test_features_span_popularity_times_each_of_them():
    candidates = candidates_of()
    features, scale = candidates.features, IMPLICIT.feature_scale
    assert features.T @ features == pytest.approx(scale**2 * np.eye(4), abs=1e-12)
    popularity, slopes = popularity_of(candidates.census)[:, None], candidates.census.items.slopes
    wanted = popularity * np.column_stack([np.ones(N_ITEMS), FEATURES])
    Q = features / scale
    assert Q @ (Q.T @ wanted) == pytest.approx(wanted, abs=1e-9)
    rows = popularity * np.column_stack([np.ones(N_ITEMS), slopes])
    assert rows @ candidates.from_public == pytest.approx(features, abs=1e-12)


# 3. Planted tastes


def planted_people(n_users, seed=0):
    """Everybody likes one half of the catalogue, which a feature tells; items are equally popular."""
    rng = np.random.default_rng(seed)
    return [((2 * rng.permutation(N_ITEMS // 2)[:8] + i % 2), np.ones(8)) for i in range(n_users)]


def test_what_finds_more_wins():
    halves, flat = np.where(np.arange(N_ITEMS) % 2, 1.0, -1.0)[:, None], np.full(N_ITEMS, 50.0)
    candidates = candidates_of(features=halves, counts=flat)
    chosen = candidates.choose(make_releases(planted_people(200), N_ITEMS, is_implicit=True, epsilon=5.0))
    assert chosen.features.shape[1] == 2
    useless = candidates_of(features=FEATURES, counts=flat + np.arange(N_ITEMS, 0, -1), factors=None)
    by_popularity = [(np.arange(i % 3, 12 + i % 3), np.ones(12)) for i in range(200)]
    chosen = useless.choose(make_releases(by_popularity, N_ITEMS, is_implicit=True, epsilon=5.0))
    assert chosen.W.shape[1] == 0


class Told:
    """Releases that say what they are told."""

    def __init__(self, gains, scale=10.0, n_people=50.0):
        self.gains, self.scale, self.n_people, self.norms = np.asarray(gains), scale, n_people, []

    def vector_lattice(self, norm, share=None):
        self.norms.append((norm, share))
        return self

    def total(self, kernel, state):
        return None

    def release(self, total, lattice):
        return self.gains


@pytest.mark.parametrize(
    ("gains", "kind"),
    [
        ((9.9, 5.0, -3.0), POPULARITY),
        ((10.1, 5.0, -3.0), Kind(True, False)),
        ((11.0, 12.0, -3.0), Kind(False, True)),
        ((11.0, 12.0, 13.0), Kind(True, True)),
        ((-11.0, -12.0, -13.0), POPULARITY),
    ],
)
def test_the_best_is_chosen_if_it_wins_by_more_than_the_noise(gains, kind):
    told, candidates = Told(gains), candidates_of(FACTORS)
    chosen = candidates.choose(told)
    assert (chosen.features.shape[1] > 0, chosen.factors.shape[1] > 0) == kind
    assert told.norms == [(pytest.approx(IMPLICIT.check_norm * np.sqrt(3)), None)]


def test_without_a_choice_nothing_is_asked():
    told = Told(())
    assert candidates_of(features=None).choose(told).W.shape == (N_ITEMS, 0)
    assert not told.norms


# 4. Identities


def test_kinds_are_what_there_is():
    assert candidates_of(features=None).kinds == (POPULARITY,)
    assert candidates_of().kinds == (POPULARITY, Kind(True, False))
    assert candidates_of(FACTORS, features=None).kinds == (POPULARITY, Kind(False, True))
    assert candidates_of(FACTORS).kinds == (POPULARITY, Kind(True, False), Kind(False, True), Kind(True, True))
    assert candidates_of(features=np.ones((N_ITEMS, 2))).kinds == (POPULARITY,)


def test_popularity_is_the_base_and_small():
    model = candidates_of(FACTORS).model(Kind(True, True))
    assert model.base == pytest.approx(IMPLICIT.popularity_weight * COUNTS / COUNTS.max())
    assert model.base.max() == IMPLICIT.popularity_weight < 0.01
    assert model.counts is not None and (model.ridge, model.unobserved) == (1.0, 1.0)


def test_an_item_of_typical_popularity_is_like_a_new_one_with_its_features():
    counts = np.full(N_ITEMS, 40.0)
    model = candidates_of(counts=counts).model(Kind(True, False))
    items = PublicItems.of(FEATURES, N_ITEMS)
    told = model.new_item_map[0] + items.G @ model.new_item_map[1:]
    assert told[:, 0] == pytest.approx(model.base) and told[:, 1:] == pytest.approx(model.features, abs=1e-12)
    assert model.new_item_map.shape == (1 + items.G.shape[1], 1 + model.features.shape[1])


@pytest.mark.parametrize("features", [None, FEATURES])
def test_new_items_have_the_popularity_of_a_typical_one(features):
    is_new = np.arange(N_ITEMS) % 7 == 0
    candidates = candidates_of(features=features, is_new=is_new)
    assert not popularity_of(candidates.census)[is_new].any()
    model = candidates.model(candidates.kinds[-1])
    filled = model.with_new(candidates.census.items.G, is_new)
    assert filled.base[is_new] == pytest.approx(model.base[~is_new].mean())
    assert np.array_equal(filled.base[~is_new], model.base[~is_new])
    if features is not None:
        typical = popularity_of(candidates.census)[~is_new].mean()
        rows = np.column_stack([np.ones(N_ITEMS), candidates.census.items.slopes]) * typical
        assert filled.features[is_new] == pytest.approx((rows @ candidates.from_public)[is_new])


def test_if_all_items_are_new_nothing_breaks():
    candidates = candidates_of(is_new=np.ones(N_ITEMS, bool))
    assert candidates.kinds == (POPULARITY,)
    assert np.isfinite(candidates.model(POPULARITY).new_item_map).all()


def test_more_features_than_items_and_columns_that_depend_are_no_problem():
    few = candidates_of(counts=COUNTS[:5], features=np.random.default_rng(1).standard_normal((5, 40)))
    assert few.features.shape[1] <= 5
    twice = candidates_of(features=np.hstack([FEATURES, FEATURES]))
    assert twice.features.shape[1] == 4
    assert candidates_of(features=np.random.default_rng(1).standard_normal((N_ITEMS, 300))).features.shape[1] <= 33


def test_noise_alone_makes_no_item_popular():
    census = census_of(counts=np.array([-5.0, 0.0, 0.9, 3.0]), features=None, deviation=1.0)
    assert popularity_of(census) == pytest.approx([0.01, 0.01, 0.01, 2.0])


def test_lists_have_the_most_counted_items_and_all_with_factors(monkeypatch):
    monkeypatch.setattr(implicit_candidates, "IMPLICIT", replace(IMPLICIT, most_listed=4))
    factors = np.zeros((N_ITEMS, 1))
    factors[[2, 5]] = 1.0
    ranked = candidates_of(factors).ranked(100.0)
    wanted = sorted({2, 5, *np.argsort(-COUNTS)[:4].tolist()})
    assert ranked.listed.tolist() == wanted
    assert [ranked.places[j] for j in wanted] == list(range(len(wanted))) and (ranked.places >= 0).sum() == len(wanted)


@pytest.mark.parametrize(
    ("n_people", "width", "n_items", "low", "high"),
    [(6040, 54, 3706, 1, 1), (10**6, 54, 8192, 20, 120), (10**6, 10, 50, 1, 1), (10**6, 500, 8192, 100, 250)],
)
def test_how_many_are_asked_depends_on_public_numbers(n_people, width, n_items, low, high):
    one_in = implicit_candidates._one_in(float(n_people), np.array([0, 21, width - 21, width]), n_items)
    assert low <= one_in <= high
    assert n_people / one_in >= IMPLICIT.fewest_asked * 0.9
