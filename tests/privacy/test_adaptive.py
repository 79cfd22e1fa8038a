"""Adaptive releases: shares make one budget, noise has the scale that is charged, numbers in [0, 1] cost 1."""

import math

import numpy as np
import pytest

from completion_support import RELATIONS, Replay, largest_loss, make_people, make_releases, squared_loss
from hushrank.estimators.completion.user_sums import count_ratings, sum_fractions
from hushrank.exceptions import BudgetExceeded
from hushrank.linalg.scatter import Bound, round_number
from hushrank.privacy.accountant import squared_mu
from hushrank.privacy.adaptive import COUNT_SHARE
from hushrank.privacy.events import together
from hushrank.privacy.guarantee import Neighbors
from support import FALSE_ALARM, assert_plausible, normal_scale_p_value

N_ITEMS = 12
PEOPLE = make_people(40, N_ITEMS, seed=1)


def spent(releases):
    """mu^2 of all that was executed."""
    return squared_mu(together(releases.executed), "test")


# 1. Sensitivity


@pytest.mark.parametrize("neighbors", RELATIONS)
def test_a_number_that_changes_from_zero_to_one_costs_all_of_its_share(neighbors):
    releases = make_releases(PEOPLE, N_ITEMS, neighbors=neighbors)
    lattice = releases.interval_lattice(0.25)
    bound = Bound(lattice.norm_bound, float(lattice.squared_bound), lattice.lowest)
    low, high = (round_number(x - releases.interval_center, bound) for x in (0.0, 1.0))
    # Added or removed: a user at 1. Replaced: one at 0 by one at 1.
    change = high - low if neighbors == "replace" else high
    loss = (change / 2.0**lattice.exponent) ** 2
    assert loss <= squared_mu(lattice.event, "test") and loss == pytest.approx(0.25 * releases.mu**2, rel=1e-5)


def learn_one_of_each(releases):
    """A quantile, a sum of numbers and the rest for a vector."""
    grid = np.geomspace(1.0, N_ITEMS, 16)
    releases.quantile(count_ratings, None, grid, 0.3, 0.2)
    lattice = releases.interval_lattice(0.3)
    total = releases.total(sum_fractions, (float(N_ITEMS), releases.interval_center, lattice))
    releases.release_interval(total, lattice)


@pytest.mark.parametrize("neighbors", RELATIONS)
def test_everybody_who_changes_or_comes_and_goes_stays_within_the_charge(monkeypatch, neighbors):
    replay = Replay(monkeypatch)
    assert largest_loss(replay, learn_one_of_each, PEOPLE, N_ITEMS, neighbors=neighbors) > 0.3
    assert [release.mechanism for release in replay.made][-2:] == ["quantile", "vector"]


def test_under_a_public_number_of_users_somebody_may_be_missing(monkeypatch):
    assert largest_loss(Replay(monkeypatch), learn_one_of_each, PEOPLE, N_ITEMS, n_users=40) > 0.2


@pytest.mark.parametrize("neighbors", RELATIONS)
def test_the_replay_notices_a_user_who_counts_twice(monkeypatch, neighbors):
    def count_twice(block, state):
        return 2 * sum_fractions(block, state)

    def learn(releases):
        lattice = releases.interval_lattice(0.3)
        releases.release(releases.total(count_twice, (float(N_ITEMS), releases.interval_center, lattice)), lattice)

    with pytest.raises(AssertionError):
        largest_loss(Replay(monkeypatch), learn, PEOPLE, N_ITEMS, neighbors=neighbors)


def test_the_replay_notices_a_bound_that_depends_on_the_data(monkeypatch):
    def learn(releases):
        n_ratings = releases.total(lambda block, _: np.array([len(block.items)]), None)
        lattice = releases.vector_lattice(1.0 + float(n_ratings[0]), 0.3)
        releases.release(np.zeros(1, np.int64), lattice)

    with pytest.raises(AssertionError):
        largest_loss(Replay(monkeypatch), learn, PEOPLE, N_ITEMS)


def test_the_replay_notices_a_release_that_only_some_data_get(monkeypatch):
    def learn(releases):
        for _ in range(int(releases.total(lambda block, _: np.array([len(block)]), None)[0]) - 39):
            releases.release(np.zeros(1, np.int64), releases.vector_lattice(1.0, 0.01))

    with pytest.raises(AssertionError):
        largest_loss(Replay(monkeypatch), learn, PEOPLE, N_ITEMS, neighbors="add_remove")


# 2. Limit


@pytest.mark.parametrize("neighbors", RELATIONS)
def test_a_huge_budget_gives_the_exact_numbers(neighbors):
    releases = make_releases(PEOPLE, N_ITEMS, neighbors=neighbors, epsilon=1e4)
    assert releases.n_people == pytest.approx(40, abs=3)
    lattice = releases.interval_lattice(0.3)
    total = releases.total(sum_fractions, (float(N_ITEMS), releases.interval_center, lattice))
    expected = sum(len(items) for items, _ in PEOPLE) / N_ITEMS
    assert releases.release_interval(total, lattice) == pytest.approx(
        expected, abs=0.5 * abs(releases.n_people - 40) + 1
    )
    grid = np.arange(1.0, N_ITEMS + 1)
    found = releases.quantile(count_ratings, None, grid, 0.5, 0.3)
    assert found == np.sort([len(items) for items, _ in PEOPLE])[19]


# 3. Noise, from both sides


@pytest.mark.parametrize("neighbors", RELATIONS)
def test_noise_has_the_scale_that_the_share_is_charged_for(neighbors):
    releases = make_releases(PEOPLE, N_ITEMS, neighbors=neighbors)
    vector, matrix = releases.vector_lattice(3.0, 0.25), releases.gram_lattice(2.0, 0.25)
    factor = 2.0 if neighbors == "replace" else 1.0
    assert vector.scale == pytest.approx(factor * 3.0 / (0.5 * releases.mu), rel=1e-5)
    assert matrix.scale == pytest.approx(4.0 * math.sqrt(factor / 2) / (0.5 * releases.mu), rel=1e-5)
    upper, below = np.triu_indices(80, 1), np.not_equal(*np.tril_indices(5))
    stack = releases.release_symmetric_stack(np.zeros((300, 15), np.int64), matrix)
    full = releases.release_symmetric(np.zeros((80, 80), np.int64), matrix)
    samples = [
        (releases.release(np.zeros((80, 40), np.int64), vector), vector.scale),
        (releases.release_hollow(np.zeros((80, 80), np.int64), matrix)[upper], matrix.scale),
        (full[upper], matrix.scale),
        (stack[:, below], matrix.scale),
        (np.concatenate([full.diagonal(), stack[:, ~below].reshape(-1)]), math.sqrt(2) * matrix.scale),
    ]
    assert np.array_equal(full, full.T)
    assert set(releases.executed) >= {vector.event, matrix.event}
    for sample, scale in samples:
        assert_plausible(normal_scale_p_value(sample, scale))
        for wrong in (0.7, 1.3):
            assert normal_scale_p_value(sample, wrong * scale) < FALSE_ALARM


def test_a_secret_number_of_people_costs_its_share_and_is_never_below_one():
    public = make_releases(PEOPLE, N_ITEMS)
    assert (public.n_people, public.left, public.executed) == (40.0, 1.0, ())
    counts = [make_releases(PEOPLE, N_ITEMS, neighbors="add_remove", epsilon=5.0) for _ in range(32)]
    scale = 1.0 / (counts[0].mu * math.sqrt(COUNT_SHARE))
    assert 40 > 5 * scale > 25  # so large that rounding, so small that the cut at 1 does not show
    assert_plausible(normal_scale_p_value([made.n_people - 40 for made in counts], scale))
    assert all(made.left == pytest.approx(1 - COUNT_SHARE) and made.n_people >= 1 for made in counts)
    empty = [make_releases([], N_ITEMS, neighbors="add_remove", epsilon=0.1).n_people for _ in range(32)]
    assert min(empty) == 1.0 < max(empty)


# 4. One budget


def test_shares_add_up_to_the_whole_and_no_further():
    releases = make_releases(PEOPLE, N_ITEMS)
    assert releases.left == 1.0
    for share in (0.1, 0.2, 0.3):
        releases.vector_lattice(1.0, share)
    assert releases.left == pytest.approx(0.4)
    for too_much in (releases.vector_lattice, releases.gram_lattice):
        with pytest.raises(BudgetExceeded):
            too_much(1.0, 0.41)
    assert releases.left == pytest.approx(0.4)  # a refused share is not booked
    releases.gram_lattice(1.0)
    assert releases.left == 0.0
    for call in (lambda: releases.vector_lattice(1.0), lambda: releases.interval_lattice(1e-9)):
        with pytest.raises(BudgetExceeded):
            call()
    grid = np.array([1.0, 2.0])
    with pytest.raises(BudgetExceeded):
        releases.quantile(count_ratings, None, grid, 0.5, 0.1)
    assert releases.executed == ()


def test_float_shares_of_what_is_left_use_it_up():
    releases = make_releases(PEOPLE, N_ITEMS)
    for share in (0.1, 0.7, 0.01):
        releases.vector_lattice(1.0, share)
    for _ in range(3):
        releases.vector_lattice(1.0, releases.left / 3)
    releases.vector_lattice(1.0, releases.left)
    assert releases.left == 0.0


@pytest.mark.parametrize("neighbors", RELATIONS)
def test_what_is_executed_costs_what_was_booked(neighbors):
    releases = make_releases(PEOPLE, N_ITEMS, neighbors=neighbors)
    learn_one_of_each(releases)
    lattice = releases.vector_lattice(1.0)
    releases.release(np.zeros(3, np.int64), lattice)
    assert lattice.neighbors is Neighbors(neighbors)
    whole = releases.mu**2
    assert whole * (1 - 1e-9) <= float(spent(releases)) <= whole * (1 + 1e-12)


def test_replayed_values_are_the_recorded_ones(monkeypatch):
    replay = Replay(monkeypatch)
    recorded = replay.run(learn_one_of_each, PEOPLE, N_ITEMS, seed=3)
    again = replay.run(learn_one_of_each, PEOPLE, N_ITEMS, recorded)
    assert sum(squared_loss(*pair) for pair in zip(recorded, again, strict=True)) == 0.0
