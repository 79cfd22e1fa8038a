"""Accounting is exact for Gaussians, never under-charges mixtures, and the filter keeps its laws."""

import copy
import json
import math
import pickle
import threading
import time
from fractions import Fraction
from pathlib import Path

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

from fork_support import in_child
from hushrank.exceptions import BudgetExceeded, InvalidParameter, StateMisuse
from hushrank.privacy import accountant, gdp
from hushrank.privacy.accountant import GdpFilter, guarantee
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


# The filter

spends = st.one_of(
    st.fractions(min_value=Fraction(1, 1000), max_value=1, max_denominator=1000),
    st.floats(0.001, 1.0),
    st.builds(Gaussian, st.floats(0.5, 50.0)),
    st.builds(Pure, st.floats(0.01, 1.0)),
    st.builds(lambda x, n: Repeated(Gaussian(x), n), st.floats(2.0, 90.0), st.integers(1, 9)),
)


@given(st.floats(0.05, 3.0), st.lists(spends, max_size=12), st.booleans())
@settings(deadline=None)
def test_filter_never_hands_out_more_than_its_mu(mu, asked, finish):
    budget, handed = GdpFilter(mu), []
    for item in asked:
        before = (budget.spent, budget.left)
        try:
            if isinstance(item, Fraction | float):
                handed.append(budget.share(item))
            else:
                budget.spend(item)
                handed.append(item)
        except BudgetExceeded as refusal:
            assert (budget.spent, budget.left) == before
            assert refusal.currency == "mu^2" and refusal.asked >= refusal.left
        assert budget.spent + budget.left == budget.total == Fraction(mu) ** 2 >= budget.spent
    if finish and budget.left:
        handed.append(budget.rest())
        assert budget.left == 0
        assert accountant.mu(Composed(handed)) == near(mu, 1e-12)
    cost = sum((GdpFilter.from_event(event).total for event in handed), Fraction(0))
    assert cost <= budget.spent


@pytest.mark.parametrize("tenth", [Fraction(1, 10), 0.1, np.float64(0.1)])
def test_ten_tenths_fit_exactly(tenth):
    budget = GdpFilter(0.7)
    for _ in range(10):
        assert budget.share(tenth).noise_multiplier == near(math.sqrt(10.0) / 0.7, 1e-15)
    assert budget.left == 0
    with pytest.raises(BudgetExceeded, match=r"^budget exceeded: asked for mu\^2 = 0\.049, left 0\.$"):
        budget.share(tenth)
    with pytest.raises(BudgetExceeded, match=r"left 0\.$"):
        budget.rest()


def test_shares_split_the_square_of_mu():
    budget = GdpFilter(1.0)
    assert [budget.share(Fraction(1, 4)) for _ in range(3)] == [Gaussian(2.0)] * 3
    with pytest.raises(BudgetExceeded, match=r"asked for mu\^2 = 0\.5, left 0\.25\.$"):
        budget.share(0.5)
    assert budget.share(Fraction(1, 5)).noise_multiplier ** 2 >= 5.0
    assert budget.rest().noise_multiplier == near(math.sqrt(20.0), 1e-15)


def test_filter_of_a_planned_event_is_its_exact_cost():
    planned = Gaussian(1.0 / 0.3)
    budget = GdpFilter.from_event(planned)
    budget.spend(planned)
    assert budget.left == 0
    assert GdpFilter.from_event(Repeated(Gaussian(3.0), 18)).total == 2


def test_adaptive_choice_of_shares_does_not_exceed_the_curve():
    # The second release is large, small or absent depending on the first output, which is integrated out.
    budget = GdpFilter(1.0)
    first, rest = 1.0 / budget.share(0.3).noise_multiplier, math.sqrt(budget.left)
    y, step = np.linspace(-12.0, 12.0, 20001, retstep=True)
    density, loss = np.exp(-((y - first) ** 2) / 2) / math.sqrt(2 * math.pi), first * y - first**2 / 2
    for at in (0.2, 1.0, 2.5):
        for levels in ((0.0, rest), (rest, 0.0), (0.4 * rest, rest)):
            values = np.where(y < 0.5, *(gaussian_curve(at - loss, level) for level in levels))
            adaptive = float(np.sum(density * values) * step)
            assert adaptive <= float(gdp.gaussian_delta(at, 1.0))
        whole = float(np.sum(density * gaussian_curve(at - loss, rest)) * step)
        assert whole == near(float(gdp.gaussian_delta(at, 1.0)), 1e-7)


# One filter


class SlowFraction(Fraction):
    """Lets every other thread run between what is left and what is booked."""

    def __sub__(self, other):
        left = Fraction(self) - other
        time.sleep(0.002)
        return left


def take(budget, request):
    try:
        event = request(budget)
    except BudgetExceeded:
        return None
    return Gaussian(8.0) if event is None else event


@pytest.mark.parametrize(
    "request_share",
    [
        lambda budget: budget.share(Fraction(1, 64)),
        lambda budget: budget.rest(),
        lambda budget: budget.spend(Gaussian(8.0)),
    ],
    ids=["share", "rest", "spend"],
)
def test_threads_never_get_more_than_there_is(request_share):
    budget, barrier, handed = GdpFilter(1.0), threading.Barrier(12), []
    budget._total = SlowFraction(budget.total)

    def work():
        barrier.wait()
        for _ in range(8):
            handed.append(take(budget, request_share))

    threads = [threading.Thread(target=work) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    got = [event for event in handed if event is not None]
    assert len(handed) == 96 and len(got) in (1, 64)
    assert accountant.squared_mu(Composed(got), "test") == 1 == budget.spent and budget.left == 0


@pytest.mark.parametrize("duplicate", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_filter_is_not_copied(duplicate):
    for budget in (GdpFilter(1.0), GdpFilter.from_event(Gaussian(2.0))):
        with pytest.raises(StateMisuse, match=r"^a budget filter cannot be copied or pickled: what is left would be s"):
            duplicate(budget)


@pytest.mark.parametrize(
    "use",
    [
        lambda budget: budget.share(0.25),
        lambda budget: budget.rest(),
        lambda budget: budget.spend(Gaussian(9.0)),
        lambda budget: budget.left,
        lambda budget: budget.spent,
    ],
)
def test_a_forked_child_cannot_spend_its_parents_budget(use):
    budget = GdpFilter(1.0)
    budget.share(0.5)
    assert in_child(lambda: use(budget)).startswith("StateMisuse: this budget filter was made before a fork: what is")
    assert budget.left == Fraction(1, 2)
    use(budget)


def test_a_filter_of_nothing_hands_out_nothing():
    budget = GdpFilter.from_event(Composed([]))
    for call in (lambda: budget.share(0.5), budget.rest, lambda: budget.spend(Pure(1e-9))):
        with pytest.raises(BudgetExceeded):
            call()


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
        (lambda: GdpFilter(0.0), r"^mu of GdpFilter must be a finite float > 0; got 0\.0\.$"),
        (lambda: GdpFilter(1.0).share(0), r"^fraction of GdpFilter\.share must be in \(0, 1\]; got 0\.$"),
        (lambda: GdpFilter(1.0).share(1.5), r"^fraction of GdpFilter\.share must be in \(0, 1\]; got 1\.5"),
        (lambda: GdpFilter(1.0).share(-0.5), r"^fraction of GdpFilter\.share must be a finite float > 0"),
        (lambda: GdpFilter(1.0).share(True), r"^fraction of GdpFilter\.share must be a finite float > 0"),
        (lambda: GdpFilter(1.0).spend(NonPrivate()), r"^event of GdpFilter\.spend must be made of Gaussian"),
        (lambda: GdpFilter(1.0).spend(Mixture([0], [0])), r"^event of GdpFilter\.spend must be made of Ga"),
        (lambda: GdpFilter(1.0).spend("x"), r"^event of GdpFilter\.spend must be made of Gaussian, Pure"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(InvalidParameter, match=message):
        call()
