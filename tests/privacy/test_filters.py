"""Filters: no more is handed out than there is, exactly, by any number of threads, and by one owner."""

import copy
import math
import pickle
import threading
import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

from fork_support import in_child
from hushrank.exceptions import BudgetExceeded, InvalidParameter, StateMisuse
from hushrank.privacy import accountant, gdp
from hushrank.privacy.events import Composed, Gaussian, Mixture, NonPrivate, Pure, Repeated, leaves
from hushrank.privacy.filters import GdpFilter, PureFilter, filter_for
from hushrank.privacy.noise.source import NoiseSource

FILTERS = [GdpFilter, PureFilter]


def near(value, rel):
    """Relative closeness alone: pytest's own default also forgives any difference below 1e-12."""
    return pytest.approx(value, rel=rel, abs=0.0)


def cost_of(filter_class, events):
    """Exact cost of events in what a filter counts, without the filter."""
    if filter_class is GdpFilter:
        return accountant.squared_mu(Composed(events), "test")
    return sum((count * Fraction(leaf.epsilon) for leaf, count in leaves(Composed(events)).items()), Fraction(0))


# 1. No more than there is

fractions = st.one_of(
    st.fractions(min_value=Fraction(1, 1000), max_value=1, max_denominator=1000), st.floats(0.001, 1.0)
)
pures = st.builds(Pure, st.floats(0.01, 1.0), st.booleans())
gaussians = st.one_of(
    st.builds(Gaussian, st.floats(0.5, 50.0)),
    st.builds(lambda x, n: Repeated(Gaussian(x), n), st.floats(2.0, 90.0), st.integers(1, 9)),
)
repeated_pures = st.builds(Repeated, pures, st.integers(1, 9))
SPENDS = {GdpFilter: st.one_of(fractions, gaussians, pures), PureFilter: st.one_of(fractions, pures, repeated_pures)}


@pytest.mark.parametrize("filter_class", FILTERS)
@given(data=st.data(), whole=st.floats(0.05, 3.0), finish=st.booleans())
@settings(deadline=None)
def test_a_filter_never_hands_out_more_than_the_whole(filter_class, data, whole, finish):
    budget, handed = filter_class(whole), []
    assert budget.total == (Fraction(whole) ** 2 if filter_class is GdpFilter else Fraction(whole))
    for item in data.draw(st.lists(SPENDS[filter_class], max_size=12)):
        before = (budget.spent, budget.left)
        try:
            if isinstance(item, Fraction | float):
                handed.append(budget.share(item))
            else:
                budget.spend(item)
                handed.append(item)
        except BudgetExceeded as refusal:
            assert (budget.spent, budget.left) == before
            assert refusal.currency == ("mu^2" if filter_class is GdpFilter else "epsilon")
            assert refusal.asked >= refusal.left
        assert budget.spent + budget.left == budget.total >= budget.spent
    if finish and budget.left:
        handed.append(budget.rest())
        assert budget.left == 0
        assert float(cost_of(filter_class, handed)) == near(float(budget.total), 1e-12)
    assert cost_of(filter_class, handed) <= budget.spent


TENTHS = [
    (GdpFilter, r"^budget exceeded: asked for mu\^2 = 0\.049, left 0\.$"),
    (PureFilter, r"^budget exceeded: asked for epsilon = 0\.07, left 0\.$"),
]


@pytest.mark.parametrize("tenth", [Fraction(1, 10), 0.1, np.float64(0.1)])
@pytest.mark.parametrize(("filter_class", "message"), TENTHS)
def test_ten_tenths_fit_exactly_and_an_eleventh_does_not(filter_class, message, tenth):
    budget = filter_class(0.7)
    shares = [budget.share(tenth) for _ in range(10)]
    assert budget.left == 0
    assert (1 - 1e-15) * budget.total <= cost_of(filter_class, shares) <= budget.total
    with pytest.raises(BudgetExceeded, match=message):
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


def test_shares_split_epsilon():
    budget = PureFilter(1.0)
    assert [budget.share(Fraction(1, 4)) for _ in range(3)] == [Pure(0.25)] * 3
    with pytest.raises(BudgetExceeded, match=r"asked for epsilon = 0\.5, left 0\.25\.$"):
        budget.share(0.5)
    assert Fraction(budget.share(Fraction(1, 5)).epsilon) <= Fraction(1, 5) and budget.left == Fraction(1, 20)
    last = budget.rest()  # the nearest float64 of 1/20 is above it
    assert Fraction(last.epsilon) < Fraction(1, 20) < Fraction(math.nextafter(last.epsilon, 1.0))


def test_filter_of_a_planned_event_is_its_exact_cost():
    planned = Gaussian(1.0 / 0.3)
    for made, event in ((GdpFilter.from_event(planned), planned), (PureFilter.from_event(Pure(0.3)), Pure(0.3))):
        made.spend(event)
        assert made.left == 0
    assert GdpFilter.from_event(Repeated(Gaussian(3.0), 18)).total == 2
    assert PureFilter.from_event(Repeated(Pure(0.1), 3)).total == 3 * Fraction(0.1)


def test_each_plan_has_its_filter():
    gaussian, pure = filter_for(Gaussian(2.0)), filter_for(Pure(0.5))
    assert type(gaussian) is GdpFilter and gaussian.total == Fraction(1, 4) and gaussian.rest() == Gaussian(2.0)
    assert type(pure) is PureFilter and pure.total == Fraction(1, 2) and pure.rest() == Pure(0.5)


def test_epsilons_that_are_booked_have_no_allowance_for_decimals():
    """Ten float64 tenths are more than one, by 2^-54 each; a share of a tenth is not."""
    budget = PureFilter(1.0)
    for _ in range(9):
        budget.spend(Pure(0.1))
    with pytest.raises(BudgetExceeded):
        budget.spend(Pure(0.1))
    assert budget.rest().epsilon == near(0.1, 1e-15)


def test_a_share_below_all_floats_is_none():
    budget = PureFilter(math.ulp(0.0))
    for call in (lambda: budget.share(0.5), lambda: budget.spend(Pure(1.0))):
        with pytest.raises(BudgetExceeded):
            call()
    assert budget.spent == 0 and budget.rest() == Pure(math.ulp(0.0))


def test_costs_beyond_all_floats_are_refused_as_others_are():
    for budget, event in ((GdpFilter(1.0), Gaussian(1e-200)), (PureFilter(1.0), Repeated(Pure(1e308), 100))):
        with pytest.raises(BudgetExceeded, match=r"= inf, left 1\.$"):
            budget.spend(event)
        assert budget.spent == 0
    vast = PureFilter.from_event(Repeated(Pure(1e308), 100))
    assert vast.share(0.5).epsilon == vast.rest().epsilon == np.finfo(float).max


# 2. What the whole promises


def gaussian_curve(epsilon, mu):
    """The textbook formula, written here once more."""
    if mu == 0.0:
        return np.maximum(0.0, -np.expm1(epsilon))
    return ndtr(mu / 2 - epsilon / mu) - np.exp(epsilon) * ndtr(-mu / 2 - epsilon / mu)


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


def answers(epsilon):
    """Randomized response, the worst pure release: probabilities of its two answers on two neighbors."""
    likely = 1.0 / (1.0 + math.exp(-epsilon))
    return [(likely, 1.0 - likely), (1.0 - likely, likely)]


def chosen_paths(budget, policy, p=1.0, q=1.0, history=()):
    """Probabilities, on two neighbors, of all sequences of answers to shares that `policy` chooses from the answers."""
    share = policy(history)
    if share is None:
        yield p, q
        return
    at = PureFilter.from_event(Pure(budget))  # what the filter hands out, along this path alone
    for earlier in [policy(history[:k]) for k in range(len(history))]:
        at.share(earlier)
    for answer, (a, b) in enumerate(answers(at.share(share).epsilon)):
        yield from chosen_paths(budget, policy, p * a, q * b, (*history, answer))


POLICIES = [
    lambda history: Fraction(1, 4) if len(history) < 4 else None,
    lambda history: [Fraction(1, 2), Fraction(1, 8) if history[:1] == (0,) else Fraction(1, 2), None][len(history)],
    lambda history: None if sum(history) or len(history) == 5 else Fraction(1, 5),  # stops at the first answer 1
]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_adaptive_pure_releases_are_one_of_the_whole(policy, epsilon):
    paths = np.array(list(chosen_paths(epsilon, policy)))
    assert paths.sum(axis=0) == pytest.approx([1.0, 1.0], rel=1e-12)
    losses = np.log(paths[:, 0] / paths[:, 1])
    assert np.abs(losses).max() == near(epsilon, 1e-12)  # attained: a smaller promise would be false
    for at in (0.0, 0.3 * epsilon, 0.9 * epsilon):  # and the whole curve is below that of Pure(epsilon)
        delta = np.maximum(paths[:, 0] - math.exp(at) * paths[:, 1], 0.0).sum()
        assert delta <= accountant.delta(Pure(epsilon), at) * (1 + 1e-9)


def logged(*events):
    noise = NoiseSource()
    for event in events:
        noise.begin(event, "replace")
    return noise


def test_an_adaptive_pure_fit_that_overspends_is_caught():
    """Ten releases of 0.31 have a sum of mu^2 below that of Pure(1), so that sum would not notice."""
    cap, greedy = Pure(1.0), [Pure(0.31)] * 10
    assert accountant.squared_mu(Composed(greedy), "test") < accountant.squared_mu(cap, "test")
    assert not logged(*greedy).is_within([cap])
    budget, handed = filter_for(cap), []
    for event in greedy:
        try:
            budget.spend(event)
        except BudgetExceeded:
            event = budget.rest()
        handed.append(event)
        if not budget.left:
            break
    assert handed[:3] == greedy[:3] and len(handed) == 4
    assert logged(*handed).is_within([cap]) and not logged(*handed, Pure(1e-17)).is_within([cap])


def test_the_whole_and_no_more_is_within_the_plan():
    budget = filter_for(Pure(1.0))
    quarters = [budget.share(0.25) for _ in range(4)]
    assert sum(Fraction(event.epsilon) for event in quarters) == 1
    assert logged(*quarters).is_within([Pure(1.0)])
    tenths = filter_for(Pure(1.0))
    assert logged(*[tenths.share(0.1) for _ in range(10)]).is_within([Pure(1.0)])


# 3. One filter


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
    return small(budget) if event is None else event


def small(budget):
    """An event that costs one part in 64 of a whole of 1."""
    return Gaussian(8.0) if isinstance(budget, GdpFilter) else Pure(1 / 64)


@pytest.mark.parametrize(
    "request_share",
    [
        lambda budget: budget.share(Fraction(1, 64)),
        lambda budget: budget.rest(),
        lambda budget: budget.spend(small(budget)),
    ],
    ids=["share", "rest", "spend"],
)
@pytest.mark.parametrize("filter_class", FILTERS)
def test_threads_never_get_more_than_there_is(filter_class, request_share):
    budget, barrier, handed = filter_class(1.0), threading.Barrier(12), []
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
    assert cost_of(filter_class, got) == 1 == budget.spent and budget.left == 0


@pytest.mark.parametrize("duplicate", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_filter_is_not_copied(duplicate):
    for budget in (GdpFilter(1.0), PureFilter(1.0), filter_for(Gaussian(2.0)), filter_for(Pure(2.0))):
        with pytest.raises(StateMisuse, match=r"^a budget filter cannot be copied or pickled: what is left would be s"):
            duplicate(budget)


@pytest.mark.parametrize(
    "use",
    [
        lambda budget: budget.share(0.25),
        lambda budget: budget.rest(),
        lambda budget: budget.spend(small(budget)),
        lambda budget: budget.left,
        lambda budget: budget.spent,
    ],
)
@pytest.mark.parametrize("filter_class", FILTERS)
def test_a_forked_child_cannot_spend_its_parents_budget(filter_class, use):
    budget = filter_class(1.0)
    budget.share(0.5)
    assert in_child(lambda: use(budget)).startswith("StateMisuse: this budget filter was made before a fork: what is")
    assert budget.left == Fraction(1, 2)
    use(budget)


@pytest.mark.parametrize("filter_class", FILTERS)
def test_a_filter_of_nothing_hands_out_nothing(filter_class):
    budget = filter_class.from_event(Composed([]))
    for call in (lambda: budget.share(0.5), budget.rest, lambda: budget.spend(Pure(1e-9))):
        with pytest.raises(BudgetExceeded):
            call()


# 4. Refusals


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: GdpFilter(0.0), r"^mu of GdpFilter must be a finite float > 0; got 0\.0\.$"),
        (lambda: GdpFilter(1.0).share(0), r"^fraction of GdpFilter\.share must be in \(0, 1\]; got 0\.$"),
        (lambda: GdpFilter(1.0).share(1.5), r"^fraction of GdpFilter\.share must be in \(0, 1\]; got 1\.5"),
        (lambda: GdpFilter(1.0).share(-0.5), r"^fraction of GdpFilter\.share must be a finite float > 0"),
        (lambda: GdpFilter(1.0).share(True), r"^fraction of GdpFilter\.share must be a finite float > 0"),
        (lambda: GdpFilter(1.0).spend(NonPrivate()), r"^event of GdpFilter\.spend must be made of Gaussian"),
        (lambda: GdpFilter(1.0).spend(Mixture([0], [0])), r"^event of GdpFilter\.spend must be made of Ga"),
        (lambda: GdpFilter(1.0).spend("x"), r"^event of GdpFilter\.spend must be made of Gaussian, Pure"),
        (lambda: PureFilter(0.0), r"^epsilon of PureFilter must be a finite float > 0; got 0\.0\.$"),
        (lambda: PureFilter(math.inf), r"^epsilon of PureFilter must be a finite float > 0; got inf\.$"),
        (lambda: PureFilter(1.0).share(0), r"^fraction of PureFilter\.share must be in \(0, 1\]; got 0\.$"),
        (lambda: PureFilter(1.0).share(math.nan), r"^fraction of PureFilter\.share must be a finite float > 0"),
        (lambda: PureFilter(1.0).spend(Gaussian(9.0)), r"^event of PureFilter\.spend must be made of Pure releases"),
        (lambda: PureFilter(1.0).spend(NonPrivate()), r"^event of PureFilter\.spend must be made of Pure releases"),
        (lambda: PureFilter(1.0).spend(Composed([Pure(0.1), Gaussian(9.0)])), r"^event of PureFilter\.spend must be"),
        (lambda: PureFilter.from_event(Gaussian(9.0)), r"^event of PureFilter\.from_event must be made of Pure rel"),
        (lambda: filter_for(Pure(1.0, bounded_range=True)), r"^event of filter_for must be Gaussian\(noise_multipli"),
        (lambda: filter_for(Repeated(Pure(0.5), 2)), r"^event of filter_for must be Gaussian\(noise_multiplier\) or"),
        (lambda: filter_for("x"), r"^event of filter_for must be Gaussian\(noise_multiplier\) or Pure\(epsilon\)"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(InvalidParameter, match=message):
        call()
