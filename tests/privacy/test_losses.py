"""Loss distributions against enumeration and closed forms; approximations raise delta, and by little."""

import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrank.privacy.gdp import epsilon_of_mu, gaussian_delta
from hushrank.privacy.losses import (
    MAX_ATOMS,
    MAX_COUNT,
    LossDistribution,
    coarsen,
    compose,
    connect_the_dots,
    convolve,
    power,
    randomized_response,
)

AT = (0.0, 0.3, 1.0, 2.5, 4.0)


def near(value, rel):
    """Relative closeness alone: pytest's own default also forgives any difference below 1e-12."""
    return pytest.approx(value, rel=rel, abs=0.0)


def random_law(seed, atoms, spread=2.0):
    """A proper pair: the masses under P sum to one, those under Q to at most one."""
    rng = np.random.default_rng(seed)
    losses = np.sort(rng.normal(0.0, spread, atoms))
    masses = rng.exponential(size=atoms) * np.exp(-(losses**2) / spread)
    masses /= masses.sum()
    return LossDistribution(losses + max(0.0, math.log(float(masses @ np.exp(-losses)))), masses)


def enumerate_delta(epsilons, at, mu):
    """All outcomes of independent randomized responses, one by one."""
    total = 0.0
    for signs in itertools.product((1, -1), repeat=len(epsilons)):
        chances = [1.0 / (1.0 + math.exp(-s * e)) for s, e in zip(signs, epsilons, strict=True)]
        loss = sum(s * e for s, e in zip(signs, epsilons, strict=True))
        total += math.prod(chances) * float(gaussian_delta(at - loss, mu))
    return total


# Randomized response


@pytest.mark.parametrize("mu", [0.0, 0.4, 2.0])
def test_composition_of_distinct_responses_equals_enumeration(mu):
    epsilons = [0.05, 0.31, 0.7, 1.1, 0.2, 0.2, 2.3, 0.013]
    law = compose([randomized_response(e, epsilons.count(e)) for e in set(epsilons)])
    for at in AT:
        assert law.delta(at, mu) == near(enumerate_delta(epsilons, at, mu), 1e-11)
    assert law.largest == near(sum(epsilons), 1e-14)


@pytest.mark.parametrize(("epsilon", "count"), [(0.1, 100), (3.0, 40), (0.002, 30000), (40.0, 5000)])
def test_binomial_masses_equal_high_precision(epsilon, count):
    law = randomized_response(epsilon, count)
    assert (0.0 < law.infinity < 1e-300) == (law.losses.size < count + 1)
    with mpmath.workdps(50):
        chance = 1 / (1 + mpmath.exp(-mpmath.mpf(epsilon)))
        for i in np.linspace(0, law.losses.size - 1, 40).astype(int):
            successes = round((law.losses[i] / epsilon + count) / 2)
            failures = count - successes
            exact = mpmath.binomial(count, successes) * chance**successes * (1 - chance) ** failures
            if exact > 1e-290:
                assert law.masses[i] == near(float(exact), 1e-11)


def test_many_responses_are_cut_and_coarsened_but_stay_close():
    law = randomized_response(1e-3, MAX_COUNT)
    assert law.losses.size == MAX_ATOMS
    assert 0.0 < law.infinity < 1e-20
    assert law.masses.sum() + law.infinity == near(1.0, 1e-14)
    # The central limit: a sum of many small responses is Gaussian with mu = epsilon sqrt(count).
    assert law.epsilon(1e-6) == near(epsilon_of_mu(1e-3 * math.sqrt(MAX_COUNT), 1e-6), 1e-5)


def test_huge_epsilon_puts_all_mass_on_the_largest_loss():
    assert randomized_response(800.0, 3).delta(2399.0) == near(-math.expm1(-1.0), 1e-9)
    assert randomized_response(1e308, 3).delta(1e300) == 1.0


# Profiles


def test_dots_of_a_pure_profile_are_randomized_response():
    law, response = connect_the_dots([0.0, 1.5], [math.tanh(0.75), 0.0]), randomized_response(1.5, 1)
    assert (law.losses[0], law.losses[-1]) == (-1.5, 1.5)
    for at in np.linspace(-2.0, 1.4, 18):
        assert law.delta(at, 0.3) == near(response.delta(at, 0.3), 1e-12)


@pytest.mark.parametrize(("points", "closeness"), [(30, 1.5), (200, 0.03), (3000, 1e-4)])
def test_table_of_a_gaussian_dominates_it_and_is_close(points, closeness):
    mu, table = 0.7, np.linspace(0.0, 6.0, points)
    law = connect_the_dots(table, gaussian_delta(table, mu))
    for at in np.linspace(-4.0, 5.9, 61):
        exact = float(gaussian_delta(at, mu))
        assert exact * (1 - 1e-12) <= law.delta(at) <= exact * (1 + closeness)
    for at in table[::10]:
        assert law.delta(at) == near(float(gaussian_delta(at, mu)), 1e-10)
    assert law.delta(50.0) == near(float(gaussian_delta(6.0, mu)), 1e-12)


@pytest.mark.parametrize("own", [0.05, 0.6, 3.0])
@pytest.mark.parametrize("count", [1, 2, 13])
def test_table_composed_with_gaussians_equals_the_closed_form(own, count):
    table = np.linspace(0.0, 3.5, 3000)
    law = power(connect_the_dots(table, gaussian_delta(table, 0.4)), count)
    mu = math.hypot(own, 0.4 * math.sqrt(count))
    for at in (0.0, mu, 3.0 * mu):
        exact = float(gaussian_delta(at, mu))
        assert exact * (1 - 1e-11) <= law.delta(at, own) <= exact * (1 + 2e-3)


def test_infinite_mass_composes():
    law = power(connect_the_dots([0.0], [0.01]), 5)
    assert law.infinity == near(1.0 - 0.99**5, 1e-13)
    finite = 0.99**5 * float(gaussian_delta(1.0, 0.5))
    assert law.delta(1.0, 0.5) == near(law.infinity + finite, 1e-9)
    assert law.epsilon(0.04) == math.inf
    nothing = connect_the_dots([0.0, 1.0], [1.0, 1.0])
    assert convolve(nothing, law).delta(3.0) == 1.0
    assert nothing.epsilon(0.5) == math.inf


def test_points_above_the_convex_minorant_do_not_matter():
    table, heights = np.array([-2.0, -1.0, 0.0, 0.5, 1.0, 2.0]), np.array([1.0, 1.0, 0.2, 0.2, 0.02, 0.01])
    tight = connect_the_dots(table[[2, 4, 5]], heights[[2, 4, 5]])
    loose = connect_the_dots(table, heights)
    for at in np.linspace(-3.0, 3.0, 31):
        assert loose.delta(at) == near(tight.delta(at), 1e-12)
    assert loose.delta(0.5) < 0.2


def test_negative_epsilons_are_used_and_impossible_claims_raised():
    mu, positive = 0.5, np.linspace(0.0, 4.0, 400)
    both = np.concatenate([-positive[:0:-1], positive])
    one_sided = connect_the_dots(positive, gaussian_delta(positive, mu))
    two_sided = connect_the_dots(both, gaussian_delta(both, mu))
    assert two_sided.delta(1.0, 1.0) == near(one_sided.delta(1.0, 1.0), 1e-9)
    raised = connect_the_dots([-1.0, 0.0], [0.1, 0.1])  # no pair is below 1 - 1/e at epsilon = -1
    assert raised.delta(-1.0) == near(-math.expm1(-1.0), 1e-12)
    assert float(raised.masses @ np.exp(-raised.losses)) <= 1.0 + 1e-12


def test_large_gamma_does_not_overflow():
    table = np.linspace(0.0, 900.0, 4000)
    law = connect_the_dots(table, gaussian_delta(table, 20.0))
    for at in (0.0, 100.0, 300.0, 500.0):
        exact = float(gaussian_delta(at, 20.0))
        assert exact * (1 - 1e-10) <= law.delta(at) <= exact * 1.1


# Convolution and coarsening


@given(st.integers(0, 10**6), st.integers(50, 400), st.integers(20, 49), st.sampled_from([0.0, 0.1, 1.0]))
@settings(deadline=None, max_examples=60)
def test_coarsening_never_lowers_delta(seed, atoms, grid, mu):
    law = random_law(seed, atoms)
    rough = coarsen(law, grid)
    assert rough.losses.size == grid
    for at in np.linspace(-8.0, 8.0, 81):
        # Grid points are rounded, so the claim is made after the allowance for that, against the law without it.
        without_allowance = float(law.masses @ gaussian_delta(at - law.losses, mu)) + law.infinity
        assert rough.delta(at, mu) >= without_allowance * (1 - 1e-12) - 1e-300


def test_coarsening_keeps_both_masses_and_changes_delta_little():
    law = random_law(1, 30000)
    rough = coarsen(law, 4000)
    assert rough.masses.sum() + rough.infinity == near(1.0, 1e-13)
    under_q = [float(each.masses @ np.exp(-each.losses)) for each in (law, rough)]
    assert under_q[1] == near(under_q[0], 1e-12)
    for at in AT:
        assert law.delta(at, 0.1) <= rough.delta(at, 0.1) <= law.delta(at, 0.1) * (1 + 1e-4)
    assert coarsen(law, 30000) is law


def test_light_tails_are_cut_to_the_private_side():
    masses = np.full(100, 1e-26)
    masses[38], masses[40:60] = 1e-23, 0.05
    losses = np.linspace(-5.0, 5.0, 100)
    cut = coarsen(LossDistribution(losses, masses), 15)
    assert cut.infinity == near(40 * 1e-26, 1e-9)  # the upper tail
    assert cut.masses[0] == near(1e-23 + 38 * 1e-26, 2e-3)  # the lower tail, moved up
    assert (cut.losses[0], cut.largest) == (losses[38], losses[59])


def test_convolution_equals_the_double_sum():
    first, second = random_law(2, 40), LossDistribution(np.array([-1.0, 0.5]), np.array([0.2, 0.5]), 0.3)
    joined = convolve(first, second)
    for at in AT:
        total = 0.3
        for loss, mass in ((-1.0, 0.2), (0.5, 0.5)):
            total += mass * float(gaussian_delta(at - loss - first.losses, 0.2) @ first.masses)
        assert joined.delta(at, 0.2) == near(total, 1e-11)


def test_convolution_on_a_grid_dominates_the_exact_one_and_is_close():
    first, second = random_law(3, 1500), random_law(4, 1500, spread=0.5)
    exact_losses = np.add.outer(first.losses, second.losses).ravel()
    exact_masses = np.multiply.outer(first.masses, second.masses).ravel()
    joined = convolve(first, second)
    assert joined.losses.size <= MAX_ATOMS
    for at in AT:
        exact = float(np.maximum(-np.expm1(at - exact_losses), 0.0) @ exact_masses)
        assert exact * (1 - 1e-11) <= joined.delta(at) <= exact * (1 + 1e-4) + 3e-24


@pytest.mark.parametrize("count", [1, 2, 3, 10, 37])
def test_powers_equal_randomized_response_with_that_count(count):
    law = power(randomized_response(0.3, 1), count)
    binomial = randomized_response(0.3, count)
    for at in AT:
        assert law.delta(at, 0.3) == near(binomial.delta(at, 0.3), 1e-10)


def test_composition_of_hundreds_of_distinct_responses_stays_tight():
    epsilons = np.linspace(0.02, 0.06, 200)
    law = compose([randomized_response(float(e), 1) for e in epsilons])
    low, high = randomized_response(0.02, 200), randomized_response(0.06, 200)
    assert low.epsilon(1e-6) < law.epsilon(1e-6) < high.epsilon(1e-6)
    same = randomized_response(math.sqrt(float(np.mean(epsilons**2))), 200)
    assert law.epsilon(1e-6) == near(same.epsilon(1e-6), 2e-3)


def test_single_atoms_and_unresolved_steps_still_convolve():
    sure = randomized_response(100.0, 2000)
    assert convolve(sure, sure).delta(399999.0) == near(-math.expm1(-1.0), 1e-6)
    for count in (100, 3000, 20000):  # the sums differ by less than floats of their size resolve
        tiny = convolve(randomized_response(1e-12, count), randomized_response(500.0, 300))
        assert tiny.delta(149999.0) == near(-math.expm1(-1.0), 1e-6)


@pytest.mark.parametrize("mu", [0.0, 0.05, 1.0])
def test_epsilon_inverts_delta_on_the_private_side(mu):
    law = compose([randomized_response(0.1, 60), randomized_response(0.37, 5)])
    for target in (0.2, 1e-3, 1e-9, 1e-30):
        epsilon = law.epsilon(target, mu)
        assert law.delta(epsilon, mu) <= target
        assert law.delta(epsilon * (1 - 1e-6), mu) > target
    assert law.epsilon(0.99, mu) == 0.0
