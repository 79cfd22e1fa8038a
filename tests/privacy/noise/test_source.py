"""Every release gets its own stream, and no noise is drawn without an event in the log."""

import copy
import pickle
import sys
import threading

import numpy as np
import pytest

from fork_support import in_child
from hushrank.exceptions import InvalidParameter, KeystreamMisuse, PlanBroken
from hushrank.privacy import accountant
from hushrank.privacy.events import Composed, Gaussian, Mixture, NonPrivate, Pure, Repeated
from hushrank.privacy.guarantee import Budget
from hushrank.privacy.noise.source import NoiseSource


def test_events_are_logged_in_order():
    noise = NoiseSource()
    noise.begin(Gaussian(2.0), "replace")
    noise.begin(Pure(0.1), "replace")
    assert noise.executed == (Gaussian(2.0), Pure(0.1))
    assert not noise.reproducible


def test_every_release_has_its_own_words():
    for noise in (NoiseSource(), NoiseSource(seed=1)):
        assert not np.array_equal(
            noise.begin(Pure(1.0), "replace").words(4), noise.begin(Pure(1.0), "replace").words(4)
        )


def test_a_seed_repeats_the_words_and_says_so():
    first, second, other = NoiseSource(seed=0), NoiseSource(seed=0), NoiseSource(seed=1)
    words = [noise.begin(Pure(1.0), "replace").words(4).tolist() for noise in (first, second, other)]
    assert words[0] == words[1] != words[2]
    assert first.reproducible


@pytest.mark.parametrize("seed", [-1, 1.5, "1", True])
def test_bad_seeds_are_refused(seed):
    with pytest.raises(InvalidParameter, match=r"^seed of NoiseSource must be an integer >= 0"):
        NoiseSource(seed)


def test_an_unknown_event_draws_nothing():
    noise = NoiseSource()
    with pytest.raises(InvalidParameter, match="event"):
        noise.begin("epsilon = 1", "replace")
    assert noise.executed == ()


def test_unknown_relations_and_numerics_draw_nothing():
    noise = NoiseSource()
    with pytest.raises(InvalidParameter, match=r"neighbors of NoiseSource\.begin"):
        noise.begin(Pure(1.0), "swap")
    with pytest.raises(InvalidParameter, match=r"numerics of NoiseSource\.begin"):
        noise.begin(Pure(1.0), "replace", numerics="float")
    assert noise.executed == ()


def test_concurrent_releases_from_a_seed_have_their_own_words():
    noise, words = NoiseSource(seed=1), []
    release = lambda: words.extend(int(noise.begin(Pure(1.0), "replace").words(1)[0]) for _ in range(200))  # noqa: E731
    threads = [threading.Thread(target=release) for _ in range(8)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert len(set(words)) == len(words) == len(noise.executed) == 1600


def test_the_guarantee_comes_from_the_log():
    noise = NoiseSource(seed=4)
    noise.begin(Gaussian(8.0), "add_remove")
    noise.begin(Gaussian(6.0), "add_remove", numerics="idealized")
    budget = Budget(1.0, 1e-6, "add_remove", "user")
    given = noise.guarantee(budget)
    both = Composed([Gaussian(8.0), Gaussian(6.0)])
    assert given.epsilon == accountant.epsilon(both, 1e-6) and given.event == both
    assert (given.neighbors, given.unit, given.numerics, given.reproducible) == (
        "add_remove",
        "user",
        "idealized",
        True,
    )
    fresh = NoiseSource()
    fresh.begin(Pure(0.5), "replace")
    given = fresh.guarantee(Budget(1.0))
    assert (given.epsilon, given.event, given.numerics, given.reproducible) == (0.5, Pure(0.5), "exact", False)


def test_a_guarantee_under_another_relation_is_refused():
    noise = NoiseSource()
    noise.begin(Pure(0.5), "add_remove")
    with pytest.raises(
        InvalidParameter, match=r"neighbors of NoiseSource\.guarantee must be the relation .* add_remove"
    ):
        noise.guarantee(Budget(1.0, neighbors="replace"))


def source_after(*events):
    noise = NoiseSource()
    for event in events:
        noise.begin(event, "replace")
    return noise


def test_releases_are_compared_with_the_plan_exactly():
    """Squared mu: 1 for the plan, and 0.64 + 0.36 for noise multipliers of 5/4 and 5/3, which floats round."""
    assert source_after().is_within([Gaussian(1.0)]) and source_after().is_within([])
    assert source_after(Gaussian(2.0), Gaussian(2.0), Gaussian(2.0), Gaussian(2.0)).is_within([Gaussian(1.0)])
    assert source_after(Gaussian(1.25), Gaussian(5 / 3 + 1e-15)).is_within([Gaussian(1.0)])
    assert not source_after(Gaussian(1.25), Gaussian(5 / 3 - 1e-15)).is_within([Gaussian(1.0)])
    assert not source_after(*[Gaussian(2.0)] * 5).is_within([Gaussian(1.0)])
    assert not source_after(Gaussian(2.0)).is_within([])
    assert source_after(Gaussian(0.5)).is_within([Gaussian(1.0), Repeated(Gaussian(1.0), 3)])


def test_pure_releases_take_part_in_the_comparison():
    mu = accountant.gdp.mu_of_pure(0.5)
    assert source_after(Pure(0.5)).is_within([Gaussian(1 / mu / (1 + 1e-9))])
    assert not source_after(Pure(0.5)).is_within([Gaussian(1 / mu * (1 + 1e-9))])


def test_a_pure_plan_is_kept_by_the_exact_sum_of_epsilons():
    """Ten releases of 0.31 have a sum of mu^2 below that of one of epsilon 1, and three times its epsilon."""
    assert accountant.mu(Repeated(Pure(0.31), 10)) < accountant.mu(Pure(1.0))
    assert not source_after(*[Pure(0.31)] * 10).is_within([Pure(1.0)])
    assert source_after(*[Pure(0.25)] * 4).is_within([Pure(1.0)])
    assert source_after(Pure(0.5), Repeated(Pure(0.125, bounded_range=True), 4)).is_within([Pure(1.0)])
    assert source_after().is_within([Pure(1.0)])
    tenths = [Pure(0.1)] * 10  # float64 tenths are a little more than tenths
    assert not source_after(*tenths).is_within([Pure(1.0)])
    assert source_after(*tenths[1:], Pure(0.1 - 2e-16)).is_within([Pure(1.0)])
    assert not source_after(Pure(1.0), Pure(5e-324)).is_within([Pure(1.0)])


def test_gaussian_noise_keeps_no_pure_plan():
    assert not source_after(Gaussian(1e6)).is_within([Pure(0.5)])
    assert not source_after(Pure(0.25), Gaussian(1e6)).is_within([Pure(0.5)])


def test_releases_of_unknown_cost_are_within_no_plan():
    for event in (NonPrivate(), Mixture([0.0], [0.1]), Composed([Gaussian(9.0), NonPrivate()])):
        assert not source_after(event).is_within([Gaussian(1.0)])
        assert not source_after(event).is_within([Pure(1.0)])


@pytest.mark.parametrize(
    "planned",
    [
        [Pure(0.5), Pure(0.5)],
        [Repeated(Pure(0.5), 2)],
        [Pure(0.5), Pure(0.25)],
        [Pure(1.0, bounded_range=True)],
        [Gaussian(1.0), Pure(0.5)],
        [Pure(0.5), Gaussian(1.0)],
        [Mixture([0.0], [0.1])],
        [Gaussian(1.0), Mixture([0.0], [0.1])],
        [NonPrivate()],
    ],
)
def test_a_plan_that_no_filter_can_keep_is_refused(planned):
    """Each has a smaller curve than what is known of releases that are chosen along the way."""
    requirement = "planned of NoiseSource.is_within must be made of Gaussian releases, or one Pure"
    for noise in (source_after(), source_after(Pure(1e-3))):
        with pytest.raises(InvalidParameter, match=requirement):
            noise.is_within(iter(planned))


def test_why_such_plans_are_refused():
    """At delta > 0 the curves of these plans lie below the one that holds for chosen releases."""
    one = accountant.epsilon(Pure(1.0), 1e-6)
    assert accountant.epsilon(Repeated(Pure(0.125), 8), 1e-6) < one
    draws = Repeated(Pure(0.1, bounded_range=True), 100)
    assert accountant.epsilon(draws, 1e-6) < accountant.epsilon(Repeated(Pure(0.1), 100), 1e-6)
    mixed = Composed([Gaussian(4.0), Pure(0.5)])
    assert accountant.epsilon(mixed, 1e-6) < accountant.gdp.epsilon_of_mu(accountant.mu(mixed), 1e-6)


def test_the_guarantee_of_chosen_releases_is_that_of_the_plan():
    """Fewer or other releases than planned, chosen one after another, do not lower the stated cost."""
    noise, budget, planned = NoiseSource(seed=5), Budget(1.0, 1e-6), Gaussian(5.0)
    noise.begin(Gaussian(20.0), "replace", numerics="idealized")
    given = noise.guarantee(budget, planned)
    assert given.event == planned and given.epsilon == accountant.epsilon(planned, 1e-6)
    assert given.epsilon > noise.guarantee(budget).epsilon
    assert (given.numerics, given.reproducible) == ("idealized", True)
    with pytest.raises(InvalidParameter, match=r"neighbors of NoiseSource\.guarantee must be the relation"):
        noise.guarantee(Budget(1.0, 1e-6, "add_remove"), planned)


def test_a_plan_that_does_not_cover_the_releases_gives_no_guarantee():
    noise, budget = source_after(Gaussian(5.0), Pure(0.1)), Budget(1.0, 1e-6)
    with pytest.raises(PlanBroken, match=r"the plan Gaussian\(.*=6.0\) does not cover what was executed, Composed"):
        noise.guarantee(budget, Gaussian(6.0))
    fixed = Composed([Gaussian(5.0), Pure(0.1)])  # of any kinds, if it is just what was executed
    assert noise.guarantee(budget, fixed) == noise.guarantee(budget)


@pytest.mark.parametrize("seed", [None, 3])
@pytest.mark.parametrize("duplicate", [pickle.dumps, copy.copy, copy.deepcopy])
def test_copies_are_refused(duplicate, seed):
    with pytest.raises(KeystreamMisuse, match="a noise source cannot be copied or pickled"):
        duplicate(NoiseSource(seed))


@pytest.mark.parametrize("seed", [None, 3])
@pytest.mark.parametrize(
    "use",
    [
        lambda noise: noise.begin(Pure(0.25), "replace"),
        lambda noise: noise.is_within([Pure(1.0)]),
        lambda noise: noise.guarantee(Budget(1.0)),
        lambda noise: noise.guarantee(Budget(1.0), Pure(1.0)),
    ],
)
def test_a_forked_child_can_neither_draw_nor_state_a_guarantee(seed, use):
    noise = NoiseSource(seed)
    noise.begin(Pure(0.25), "replace")
    assert in_child(lambda: use(noise)).startswith("KeystreamMisuse: this noise source was made before a fork")
    use(noise)
