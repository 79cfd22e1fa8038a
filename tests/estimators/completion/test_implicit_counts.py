"""How much of the budget counts need: averages of releases, true counts behind noise, worth of a list, the gate."""

import math
from dataclasses import replace

import numpy as np
import pytest

from completion_support import RELATIONS, Replay, make_people, make_releases, squared_loss
from hushrank.estimators.completion import implicit_counts
from hushrank.estimators.completion.implicit_counts import (
    Spectrum,
    count_again,
    count_for_factors,
    enough_share,
    find_spectrum,
    is_visible,
    listed_counts,
)
from hushrank.estimators.completion.implicit_recipe import IMPLICIT
from hushrank.estimators.completion.item_means import release_census
from hushrank.estimators.completion.public_items import PublicItems
from hushrank.estimators.completion.recipes import ITEM_MEANS
from support import normal_scale_p_value

N_ITEMS = 24
PEOPLE = make_people(80, N_ITEMS, seed=3, n_ratings=6.0)


def census_of(people=PEOPLE, n_items=N_ITEMS, **terms):
    releases = make_releases(people, n_items, is_implicit=True, **terms)
    return releases, release_census(releases, with_center=False)


def with_counts(census, counts, deviation=1.0, count_norm=1.0):
    counts = np.asarray(counts, float)
    terms = {"released": counts, "deviation": deviation, "count_norm": count_norm}
    return replace(census, counts=np.maximum(counts, deviation / 2), items=PublicItems.of(None, len(counts)), **terms)


# 1. Sensitivity: counts are bought again by the same sum.


@pytest.mark.parametrize("neighbors", RELATIONS)
def test_users_without_a_common_item_use_up_the_counts_again(monkeypatch, neighbors):
    replay, half = Replay(monkeypatch), np.arange(N_ITEMS // 2)
    terms = {"is_implicit": True, "neighbors": neighbors, "epsilon": 5.0}

    def learn(releases):
        count_again(releases, release_census(releases, with_center=False))

    first, other = (half, np.ones(12)), (half + 12, np.ones(12))
    after = [other, *PEOPLE] if neighbors == "replace" else PEOPLE
    recorded = replay.run(learn, [first, *PEOPLE], N_ITEMS, seed=1, **terms)
    replayed = replay.run(learn, after, N_ITEMS, recorded, **terms)
    assert [release.mechanism for release in recorded][-2:] == ["vector", "vector"]
    lattice = recorded[-1].terms[0]
    assert lattice.nonnegative
    charged = float(lattice.event.noise_multiplier) ** -2
    assert charged * (1 - 1e-3) < squared_loss(recorded[-1], replayed[-1]) <= charged * (1 + 1e-9)


# 2. Limit


def test_counts_that_were_bought_again_are_averaged_by_precision():
    releases, first = census_of(epsilon=5.0)
    again = count_again(releases, first, 0.24)
    assert releases.left == pytest.approx(0.91 - 0.24)
    assert again.deviation == pytest.approx(first.deviation * math.sqrt(0.08 / 0.32), rel=1e-6)
    total = count_again(releases, again)
    assert releases.left == 0.0
    assert total.deviation == pytest.approx(first.deviation * math.sqrt(0.08 / 0.99), rel=1e-6)
    assert np.array_equal(total.counts, np.maximum(total.released, total.deviation / 2))


def test_bought_counts_have_the_noise_that_they_state():
    people = [(np.arange(6) + 6 * (i % 4), np.ones(6)) for i in range(200)]  # a search finds that all have six items
    _, truth = census_of(people, epsilon=1e6)
    errors = []
    for _ in range(40):
        releases, census = census_of(people, epsilon=20.0)
        again = count_again(releases, census)
        assert again.count_norm == truth.count_norm
        errors.append((again.released - truth.released) / again.deviation)
    assert normal_scale_p_value(np.ravel(errors), 1.0) > 1e-9
    assert all(normal_scale_p_value(np.ravel(errors), scale) < 1e-9 for scale in (0.7, 1.3))


def test_new_items_stay_unpopular_when_counts_are_bought_again():
    releases = make_releases(PEOPLE, N_ITEMS, is_implicit=True)
    releases.items = PublicItems.of(None, N_ITEMS, np.arange(N_ITEMS) < 3)
    again = count_again(releases, release_census(releases, with_center=False))
    assert again.counts[:3].max() < 0.01 * again.counts[3:].min()


# 3. Planted counts


@pytest.mark.parametrize("seed", range(5))
def test_true_counts_are_found_behind_noise(seed):
    rng = np.random.default_rng(seed)
    true = np.concatenate([np.zeros(1500), np.full(400, 3.0), np.full(100, 6.0), [40.0, 90.0]])
    spectrum = find_spectrum(10 * (true + rng.standard_normal(len(true))), 10.0)
    assert spectrum.n_items.sum() == pytest.approx(len(true))
    assert spectrum.n_items @ spectrum.counts == pytest.approx(10 * true.sum(), rel=0.15)
    shares = [spectrum.n_items[(low <= spectrum.counts) & (spectrum.counts < high)].sum()
              for low, high in ((0, 15), (15, 45), (45, 75), (75, np.inf))]  # fmt: skip
    assert shares == pytest.approx([1500, 400, 100, 2], abs=60)


def test_counts_far_out_of_the_noise_are_taken_as_they_are():
    counts = np.array([1e3, 5e3, 2e3])
    spectrum = find_spectrum(counts, 1.0)
    assert np.array_equal(spectrum.counts[spectrum.n_items == 1.0], np.sort(counts))
    assert spectrum.n_items.sum() == 3.0


def test_a_list_is_worth_what_simulations_say():
    rng = np.random.default_rng(0)
    counts = 100.0 * np.arange(1, 301.0) ** -0.8
    for deviation in (1.0, 10.0, 60.0):
        noisy = counts + deviation * rng.standard_normal((4000, len(counts)))
        best = np.argpartition(-noisy, 19, axis=1)[:, :20]
        expected = listed_counts(Spectrum(counts, np.ones(300)), deviation, 20)
        assert expected == pytest.approx(counts[best].sum(axis=1).mean(), rel=0.02)
    assert listed_counts(Spectrum(counts, np.ones(300)), 1e-9, 20) == pytest.approx(counts[:20].sum(), rel=1e-3)
    assert listed_counts(Spectrum(counts, np.ones(300)), 1e9, 20) == pytest.approx(20 * counts.mean(), rel=1e-3)


@pytest.mark.parametrize(
    ("deviation", "share"), [(1e-3, 0.0), (5.0, 0.0), (10.0, 0.1), (15.0, 0.2), (30.0, None), (1e4, None)]
)
def test_the_noisier_counts_are_the_more_is_bought(deviation, share):
    releases, census = census_of()
    true = 2000.0 * np.arange(1, 2001.0) ** -1.0
    releases.n_items = len(true)
    noisy = true + deviation * np.random.default_rng(0).standard_normal(len(true))
    assert enough_share(releases, with_counts(census, noisy, deviation)) == share


def test_where_features_could_help_more_counts_are_bought():
    releases, census = census_of()
    true = 2000.0 * np.arange(1, 2001.0) ** -1.0
    releases.n_items, noise = len(true), np.random.default_rng(0).standard_normal(len(true))
    plain = with_counts(census, true + 5.0 * noise, 5.0)
    featured = replace(plain, items=PublicItems.of(noise[:, None], len(true)))
    assert enough_share(releases, plain) == 0.0 and enough_share(releases, featured) > 0.0


def test_a_list_that_keeps_its_worth_has_lost_no_more_than_allowed():
    """By simulation, for what `enough_share` allows: the worst list of 60 over the best."""
    rng, true = np.random.default_rng(1), 2000.0 * np.arange(1, 2001.0) ** -1.0
    releases, census = census_of()
    releases.n_items, first, whole = len(true), ITEM_MEANS.counts_share, ITEM_MEANS.counts_share + releases.left
    for deviation in (5.0, 10.0, 15.0, 20.0):
        lost = []
        for _ in range(20):
            share = enough_share(releases, with_counts(census, true + deviation * rng.standard_normal(2000), deviation))
            if share is None:
                continue
            worths = [
                true[np.argsort(-(true + deviation * math.sqrt(first / part) * rng.standard_normal(2000)))[:60]].sum()
                for part in (first + share, whole)
            ]
            lost.append((worths[1] - worths[0]) / true.sum())
        assert np.mean(lost) < 2 * IMPLICIT.most_lost


# 4. Identities of the gate


def test_many_users_with_tastes_are_visible_and_few_are_not():
    releases, census = census_of(make_people(400, N_ITEMS, seed=1), epsilon=50.0)
    assert is_visible(releases, census, N_ITEMS, 0.8)
    assert not is_visible(releases, census, N_ITEMS, 1e-7)
    assert not is_visible(releases, census, N_ITEMS, 0.0)
    assert not is_visible(releases, replace(census, released=-census.released), N_ITEMS, 0.8)
    assert not is_visible(releases, replace(census, deviation=1e9), N_ITEMS, 0.8)


def test_one_item_of_every_user_makes_no_second_moment():
    people = [(np.array([i % 4]), np.ones(1)) for i in range(4000)]
    for seed in range(20):
        releases, census = census_of(people, 4, epsilon=10.0, seed=seed)
        assert not is_visible(releases, census, 4, 0.8)


def test_under_add_remove_less_is_visible_enough():
    """The noise of the second moment is sqrt(2) smaller."""
    smallest = {}
    for neighbors in RELATIONS:
        releases, census = census_of(neighbors=neighbors)
        releases.n_people = 1000.0
        smallest[neighbors] = next(
            scale for scale in np.geomspace(1, 1e5, 2000)
            if is_visible(releases, with_counts(census, scale * np.arange(1.0, 101.0), 1e-9, 10.0), 100, 0.5)
        )  # fmt: skip
    assert smallest["replace"] / smallest["add_remove"] == pytest.approx(2**0.25, rel=0.03)


def test_what_is_visible_has_its_first_eigenvalue_above_the_edge():
    """The bound by Cauchy and Schwarz, less the diagonal, is below the first eigenvalue of the hollow matrix."""
    rng = np.random.default_rng(0)
    rows = rng.random((500, 30)) < np.linspace(0.05, 0.5, 30)
    rows = rows[rows.any(axis=1)]
    Y = rows / np.sqrt(rows.sum(axis=1, keepdims=True))
    S = Y.T @ Y
    first = np.linalg.eigvalsh(S - np.diag(np.diag(S)))[-1]
    people = [(np.flatnonzero(row), np.ones(int(row.sum()))) for row in rows]
    _, census = census_of(people, 30, epsilon=1e6)
    c, n = census.released, len(rows)
    bound = c @ c / (census.count_norm**2 * n) - n * (c**3).sum() / (c @ c * c.sum())
    assert 0.5 * first < bound <= first


@pytest.mark.parametrize("epsilon", [0.01, 1.0])
def test_a_gate_that_is_shut_buys_nothing(epsilon):
    releases, census = census_of(epsilon=epsilon)
    left = releases.left
    assert count_for_factors(releases, census, N_ITEMS) is None and releases.left == left


def test_a_gate_that_is_open_buys_what_is_needed(monkeypatch):
    for share in (0.0, 0.2):
        monkeypatch.setattr(implicit_counts, "enough_share", lambda releases, census, share=share: share)
        monkeypatch.setattr(implicit_counts, "is_visible", lambda *terms: True)
        releases, census = census_of()
        counted = count_for_factors(releases, census, N_ITEMS)
        assert releases.left == pytest.approx(0.91 - share)
        assert (counted is census) == (share == 0.0)
        monkeypatch.setattr(implicit_counts, "is_visible", lambda *terms: False)
        assert count_for_factors(releases, census, N_ITEMS) is None


def test_choices_do_not_depend_on_the_order_of_the_catalogue():
    releases, census = census_of(epsilon=20.0)
    order = np.random.default_rng(0).permutation(N_ITEMS)
    turned = replace(census, released=census.released[order], counts=census.counts[order])
    assert enough_share(releases, turned) == enough_share(releases, census)
    assert is_visible(releases, turned, N_ITEMS, 0.5) == is_visible(releases, census, N_ITEMS, 0.5)
