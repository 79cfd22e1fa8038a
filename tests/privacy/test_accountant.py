"""Accounting is exact for Gaussians and never under-charges mixtures."""

import json
import math
from fractions import Fraction
from pathlib import Path

import mpmath
import numpy as np
import pytest
from scipy.special import ndtr

from hushrank.exceptions import InvalidParameter
from hushrank.privacy import accountant, gdp
from hushrank.privacy.accountant import guarantee
from hushrank.privacy.events import Composed, Gaussian, Mixture, NonPrivate, Pure, Repeated, leaves
from hushrank.privacy.guarantee import Budget
from hushrank.privacy.losses import MAX_COUNT

ORACLE = json.loads((Path(__file__).parents[1] / "stored" / "pld_oracle.json").read_text())


def near(value, rel):
    """Relative closeness alone: pytest's own default also forgives any difference below 1e-12."""
    return pytest.approx(value, rel=rel, abs=0.0)


def gaussian_curve(epsilon, mu):
    """The textbook formula, written here once more."""
    if mu == 0.0:
        return np.maximum(0.0, -np.expm1(epsilon))
    return ndtr(mu / 2 - epsilon / mu) - np.exp(epsilon) * ndtr(-mu / 2 - epsilon / mu)


def fold(masses, count):
    """Masses of the sum of `count` independent copies, by direct convolution."""
    result = np.ones(1)
    for bit in bin(count)[2:]:
        result = np.convolve(np.convolve(result, result), masses if bit == "1" else np.ones(1))
    return result


def laplace_bracket(epsilon, count, mu, at, cells=200):
    """Bounds below and above the true delta of `count` Laplace releases and a Gaussian one.

    The loss of one release is epsilon with probability 1/2, -epsilon with probability e^-epsilon/2, and has
    density e^((l-epsilon)/2)/4 between. The mass of a cell moves to its lower end (below) or is split between
    its ends such that the masses under both hypotheses are kept (above).
    """
    ends = np.linspace(-epsilon, epsilon, cells + 1)
    under_p = np.diff(np.exp((ends - epsilon) / 2)) / 2
    under_q = -np.diff(np.exp(-(ends + epsilon) / 2)) / 2
    low, high = np.exp(-ends[:-1]), np.exp(-ends[1:])
    to_high = (low * under_p - under_q) / (low - high)
    below, above = np.zeros(cells + 1), np.zeros(cells + 1)
    below[:-1] = under_p
    above[:-1] += under_p - to_high
    above[1:] += to_high
    for law in (below, above):
        law[0] += math.exp(-epsilon) / 2
        law[-1] += 0.5
    losses = np.linspace(-count * epsilon, count * epsilon, count * cells + 1)
    values = gaussian_curve(at - losses, mu)
    return float(fold(below, count) @ values), float(fold(above, count) @ values)


# Gaussian releases


def test_gaussian_composition_is_exact():
    event = Composed([Repeated(Gaussian(20.0), 30), Gaussian(4.0), Repeated(Repeated(Gaussian(9.0), 2), 3)])
    with mpmath.workdps(50):
        mu = mpmath.sqrt(mpmath.mpf(30) / 400 + mpmath.mpf(1) / 16 + mpmath.mpf(6) / 81)
        for at in (0.0, 0.5, 1.0, 2.0, 5.0, 8.0):
            first, second = (mpmath.erfc((at / mu + sign * mu / 2) / mpmath.sqrt(2)) / 2 for sign in (-1, 1))
            exact = float(first - mpmath.exp(at) * second)
            assert accountant.delta(event, at) == near(exact, 1e-11)
    assert accountant.mu(event) == near(float(mu), 1e-15)


@pytest.mark.parametrize("row", [row for row in ORACLE["rows"] if not row["laplace"]["count"]])
def test_fifty_gaussians_agree_with_the_oracle_to_four_digits(row):
    event = Repeated(Gaussian(row["gaussian"]["noise_multiplier"]), row["gaussian"]["count"])
    for known in (row["epsilon"], row["claimed"]):
        assert accountant.epsilon(event, row["delta"]) == near(known, 1e-5)


def test_oracle_is_the_pinned_one_and_complete():
    assert (ORACLE["package"], ORACLE["version"]) == ("dp-accounting", "0.6.0")
    assert [row["claimed"] for row in ORACLE["rows"][:6]] == [0.5, 1.0, 2.0, 5.0, 10.0, 20.0]


# Mixtures


@pytest.mark.parametrize("row", [row for row in ORACLE["rows"] if row["laplace"]["count"]])
def test_laplace_with_gaussians_costs_at_least_the_oracle(row):
    parts = [Repeated(Pure(row["laplace"]["epsilon"]), row["laplace"]["count"])]
    if row["gaussian"]["count"]:
        parts.append(Repeated(Gaussian(row["gaussian"]["noise_multiplier"]), row["gaussian"]["count"]))
    epsilon = accountant.epsilon(Composed(parts), row["delta"])
    assert epsilon >= row["epsilon"] - abs(row["epsilon_coarse"] - row["epsilon"])
    assert epsilon <= 1.05 * row["epsilon"]


@pytest.mark.parametrize("noise_multiplier", [None, 10.0, 2.0])
def test_hundred_laplace_releases_are_never_undercharged(noise_multiplier):
    gaussians = [] if noise_multiplier is None else [Repeated(Gaussian(noise_multiplier), 4)]
    event = Composed([Repeated(Pure(0.1), 100), *gaussians])
    mu = 2.0 / noise_multiplier if gaussians else 0.0
    for at in (0.0, 0.5, 1.0, 2.0, 3.0, 4.0):
        low, high = laplace_bracket(0.1, 100, mu, at)
        assert 0.0 < low <= high <= 1.1 * low
        ours = accountant.delta(event, at)
        assert high <= ours <= 1.7 * high


@pytest.mark.parametrize("at", [1.0, 3.0])
@pytest.mark.parametrize("mu", [0.0, 0.5])
def test_bounded_range_releases_are_never_undercharged_and_cost_less(mu, at):
    epsilon, count = 0.2, 60
    gaussians = [Gaussian(1.0 / mu)] if mu else []
    ours = accountant.delta(Composed([Repeated(Pure(epsilon, bounded_range=True), count), *gaussians]), at)
    worst = 0.0
    for top in np.linspace(0.02, 0.98, 25) * epsilon:  # losses top and top - epsilon: a range of epsilon
        chance = math.expm1(epsilon - top) / (math.exp(epsilon - top) - math.exp(-top))
        losses = np.arange(count + 1) * epsilon + count * (top - epsilon)
        masses = fold(np.array([1.0 - chance, chance]), count)
        assert float(masses @ np.exp(-losses)) == near(1.0, 1e-9)
        worst = max(worst, float(masses @ gaussian_curve(at - losses, mu)))
    assert worst <= ours <= 5.0 * worst
    assert ours < 0.6 * accountant.delta(Composed([Repeated(Pure(epsilon), count), *gaussians]), at)


def test_smallest_valid_answer_is_taken():
    few, many = Pure(1.0, bounded_range=True), Repeated(Pure(0.05, bounded_range=True), 500)
    assert accountant.epsilon(few, 1e-6) == near(1.0, 2e-6)  # randomized response, not zCDP
    rho = 500 * 0.05**2 / 8
    assert accountant.epsilon(many, 1e-6) == near(gdp.zcdp_epsilon(rho, 1e-6), 1e-9)
    assert accountant.epsilon(Repeated(Pure(0.1), 5), 1e-30) <= 0.5000000000000001
    large = Repeated(Pure(1e-3), MAX_COUNT + 1)
    assert accountant.epsilon(Repeated(Pure(1e-3), MAX_COUNT), 1e-6) < accountant.epsilon(large, 1e-6) < 15.0
    assert accountant.delta(large, 15.0) < 1e-6


def test_mixture_enters_composition():
    epsilons = np.linspace(0.0, 3.0, 2000)
    table = Mixture.from_profile(lambda at: float(gdp.gaussian_delta(at, 0.3)), epsilons)
    whole = Composed([Repeated(table, 4), Gaussian(2.0)])
    epsilon, closed = accountant.epsilon(whole, 1e-6), gdp.epsilon_of_mu(math.hypot(0.6, 0.5), 1e-6)
    assert closed <= epsilon <= 1.0005 * closed
    assert epsilon < accountant.epsilon(Composed([whole, Pure(0.1)]), 1e-6) < epsilon + 0.1
    assert accountant.delta(table, math.inf) == table.deltas[-1] > 0.0
    assert accountant.epsilon(table, table.deltas[-1] / 2) == math.inf


def test_pure_and_limits():
    thirds = Composed([Repeated(Pure(1.0), 2), Pure(0.5), Pure(0.25, bounded_range=True)])
    assert accountant.epsilon(thirds) == 2.75
    assert Fraction(accountant.epsilon(Repeated(Pure(0.1), 10))) >= 10 * Fraction(0.1)
    assert accountant.delta(thirds, 2.75) == 0.0 < accountant.delta(thirds, 2.7)
    assert accountant.epsilon(Composed([]), 0.1) == accountant.delta(Composed([]), 0.0) == 0.0
    assert accountant.epsilon(Composed([Pure(1.0), Gaussian(1e9)])) == math.inf
    assert accountant.delta(Pure(1.0), math.inf) == accountant.delta(Gaussian(1.0), math.inf) == 0.0
    assert accountant.epsilon(Repeated(Pure(1e308), 100)) == math.inf


def test_non_private_costs_everything():
    for event in (NonPrivate(), Composed([Pure(0.1), NonPrivate()]), Composed([Gaussian(1.0), NonPrivate()])):
        assert accountant.epsilon(event) == accountant.epsilon(event, 0.999) == math.inf
        assert accountant.delta(event, 0.0) == accountant.delta(event, math.inf) == 1.0
        assert accountant.mu(event) == math.inf


def test_mu_adds_squares_and_converts_pure_releases():
    event = Composed([Repeated(Gaussian(2.0), 4), Pure(0.5)])
    assert accountant.mu(event) == near(math.hypot(1.0, gdp.mu_of_pure(0.5)), 1e-14)


def test_guarantee_reports_what_was_given():
    budget = Budget(1.0, 1e-6, "add_remove", "user")
    given = guarantee(Gaussian(4.5), budget, numerics="exact", reproducible=True)
    assert given.epsilon == accountant.epsilon(Gaussian(4.5), 1e-6) <= 1.0
    assert (given.delta, given.neighbors, given.unit) == (1e-6, "add_remove", "user")
    assert (given.event, given.numerics, given.reproducible) == (Gaussian(4.5), "exact", True)
    assert guarantee(Pure(0.7), budget, numerics="idealized").delta == 0.0
    many = guarantee(Repeated(Pure(0.05), 40), budget, numerics="exact")
    assert many.delta == 1e-6 and many.epsilon < 2.0
    assert guarantee(NonPrivate(), budget, numerics="exact").epsilon == math.inf
    assert guarantee(Pure(3.0), Budget(1.0), numerics="exact").epsilon == 3.0


def test_the_sum_of_epsilons_is_exact_and_of_pure_releases_only():
    assert accountant.summed_epsilon(leaves(Repeated(Pure(0.1), 10))) == 10 * Fraction(0.1) != 1
    assert accountant.summed_epsilon({}) == 0
    assert accountant.summed_epsilon(leaves(Composed([Pure(0.1), Gaussian(9.0)]))) is None


# Refusals


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: accountant.epsilon(Pure(1.0), 1.0), r"^delta of accountant\.epsilon must be a finite float"),
        (lambda: accountant.epsilon(Pure(1.0), math.nan), r"^delta of accountant\.epsilon must be a finite"),
        (lambda: accountant.delta(Pure(1.0), -0.1), r"^epsilon of accountant\.delta must be a finite float"),
        (lambda: accountant.delta(Pure(1.0), math.nan), r"^epsilon of accountant\.delta must be a finite"),
        (lambda: accountant.epsilon(None, 0.1), r"^event of accountant\.epsilon must be made of Gaussian"),
        (lambda: accountant.mu(Mixture([0], [0])), r"^event of accountant\.mu must be made of Gaussian and"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(InvalidParameter, match=message):
        call()
