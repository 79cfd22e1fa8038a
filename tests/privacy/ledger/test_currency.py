"""Caps and costs: exact sums, decimal rounding forgiven and no more, every rounding on the private side."""

import json
import math
import sys
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrank.exceptions import BudgetExceeded, InvalidParameter, LedgerError
from hushrank.privacy import accountant, gdp
from hushrank.privacy.accountant import squared_mu
from hushrank.privacy.calibration import event_for
from hushrank.privacy.events import Composed, Gaussian, Mixture, NonPrivate, Pure, Repeated
from hushrank.privacy.filters import GdpFilter
from hushrank.privacy.guarantee import Budget
from hushrank.privacy.ledger.currency import (
    DECIMAL_ROUNDING,
    GRAIN,
    Cost,
    Terms,
    canonical,
    read_fraction,
    write_fraction,
)
from hushrank.privacy.shares import split_budget

PURE, GDP = Terms.of(Budget(1.0)), Terms.of(Budget(3.0, 1e-6, "add_remove", "user"))


def spend(terms, events):
    """Exact total after all `events`."""
    total = Fraction(0)
    for event in events:
        total = terms.total_after(total, terms.cost(event))
    return total


# Pure: decimals


@pytest.mark.parametrize(("epsilon", "count", "cap"), [(0.1, 10, 1.0), (0.01, 800, 8.0), (0.3, 10, 3), (0.7, 3, 2.1)])
def test_decimals_that_fit_on_paper_fit(epsilon, count, cap):
    terms = Terms.of(Budget(cap))
    total = spend(terms, [Pure(epsilon)] * count)
    assert total == count * Fraction(epsilon)
    with pytest.raises(BudgetExceeded) as refusal:
        terms.total_after(total, terms.cost(Pure(epsilon)))
    assert (refusal.value.asked, refusal.value.currency) == (epsilon, "epsilon")
    assert 0.0 <= refusal.value.left < 1e-15


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(1, 10**9), st.integers(0, 12)), min_size=1, max_size=40))
def test_any_decimals_that_sum_to_the_cap_fit(parts):
    decimals = [Fraction(digits, 10**places) for digits, places in parts]
    terms = Terms.of(Budget(float(sum(decimals))))
    spend(terms, [Pure(float(decimal)) for decimal in decimals])


def test_the_allowance_is_the_smallest_that_does():
    # All but one charge lie just above the middle between 1 and the next float, the cap just below such a middle.
    count, middle, tiny = 2**10, 1 + Fraction(1, 2**53), Fraction(1, 2**80)
    decimals = [middle + tiny] * (count - 1) + [middle - (count - 1) * tiny]
    assert sum(decimals) == count * middle
    terms = Terms.of(Budget(float(sum(decimals))))
    total = spend(terms, [Pure(float(decimal)) for decimal in decimals])
    assert total > terms.cap * (1 + (DECIMAL_ROUNDING - 1) * Fraction(998, 1000))


@pytest.mark.parametrize("cap", [1.0, 0.1, 8.0, 1e-5, 1e300])
def test_nothing_more_than_decimal_rounding_is_forgiven(cap):
    above = cap
    for _ in range(3):
        above = math.nextafter(above, math.inf)
    with pytest.raises(BudgetExceeded):
        spend(Terms.of(Budget(cap)), [Pure(above)])
    with pytest.raises(BudgetExceeded):
        spend(Terms.of(Budget(cap)), [Pure(cap), Pure(1e-15 * cap)])


@settings(deadline=None)
@given(st.lists(st.floats(1e-300, 10.0), max_size=30), st.floats(1e-3, 10.0))
def test_a_pure_sum_is_exact_and_never_above_the_limit(epsilons, cap):
    terms, total = Terms.of(Budget(cap)), Fraction(0)
    for epsilon in epsilons:
        try:
            total = terms.total_after(total, terms.cost(Pure(epsilon)))
        except BudgetExceeded:
            assert total + Fraction(epsilon) > Fraction(cap) * (1 + Fraction(1, 2**52))
    assert total <= Fraction(cap) * (1 + Fraction(1, 2**52))


def test_nested_events_cost_the_sum_of_their_leaves():
    assert PURE.cost(Composed([Repeated(Pure(0.25), 3), Pure(0.1)])) == Fraction(3, 4) + Fraction(0.1)
    assert PURE.cost(Composed([])) == 0


# gdp


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 3.0, 20.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.1])
def test_one_release_calibrated_to_the_budget_fits_once(epsilon, delta):
    budget = Budget(epsilon, delta)
    terms = Terms.of(budget)
    assert terms.cap == Fraction(gdp.mu_of_budget(epsilon, delta)) ** 2
    total = spend(terms, [event_for(budget)])
    assert terms.cap * (1 - Fraction(1, 10**8)) < total <= terms.cap
    with pytest.raises(BudgetExceeded, match=r"mu\^2"):
        terms.total_after(total, terms.cost(event_for(budget)))
    assert terms.spent_amount(total).epsilon <= epsilon


def test_a_pure_budget_fits_its_own_event_once():
    assert spend(PURE, [event_for(PURE.budget)]) == 1
    with pytest.raises(BudgetExceeded):
        spend(PURE, [event_for(PURE.budget)] * 2)


@settings(deadline=None)
@given(st.lists(st.floats(1.0, 1e200).map(Gaussian) | st.floats(1e-9, 2.0).map(Pure), max_size=12))
def test_the_account_decides_like_the_filter(events):
    account, reference = Fraction(0), GdpFilter(math.sqrt(GDP.cap))
    for event in events:
        try:
            reference.spend(event)
        except BudgetExceeded:
            with pytest.raises(BudgetExceeded):
                GDP.total_after(account, GDP.cost(event))
        else:
            account = GDP.total_after(account, GDP.cost(event))
    assert reference.spent <= account <= reference.spent + GRAIN * len(events)
    assert account <= GDP.cap


def test_a_gdp_cap_has_no_allowance():
    assert GDP.total_after(GDP.cap - GRAIN, GRAIN) == GDP.cap
    with pytest.raises(BudgetExceeded):
        GDP.total_after(GDP.cap, GRAIN)


def test_ten_shares_of_a_filter_fill_the_account():
    shares = GdpFilter(gdp.mu_of_budget(3.0, 1e-6))
    total = spend(GDP, [shares.share(0.1) for _ in range(10)])
    assert GDP.cap * (1 - Fraction(1, 10**12)) < total <= GDP.cap


@pytest.mark.parametrize("event", [Gaussian(3.0), Pure(0.3), Repeated(Gaussian(1e70), 7), Gaussian(1e300)])
def test_a_cost_is_rounded_up_to_a_grain(event):
    exact, cost = squared_mu(event, "test"), GDP.cost(event)
    assert exact <= cost < exact + GRAIN and (cost / GRAIN).denominator == 1


def test_a_pure_release_costs_its_square_of_mu():
    assert GDP.cost(Pure(0.5)) >= Fraction(gdp.mu_of_pure(0.5)) ** 2 > GDP.cost(Gaussian(1 / gdp.mu_of_pure(0.4999)))


def test_no_release_is_free():
    assert 0 < squared_mu(Pure(5e-324), "test") < GRAIN
    assert GDP.cost(Pure(5e-324)) == GRAIN


def test_an_absurd_cost_is_refused_without_overflow():
    for terms, event in ((PURE, Repeated(Pure(1e308), 2**53)), (GDP, Gaussian(1e-300))):
        with pytest.raises(BudgetExceeded) as refusal:
            terms.total_after(Fraction(0), terms.cost(event))
        assert refusal.value.asked == math.inf


# Refusals


@pytest.mark.parametrize("event", [Gaussian(1.0), Composed([Pure(0.1), Gaussian(1e9)]), NonPrivate()])
def test_a_pure_budget_accepts_pure_releases_only(event):
    with pytest.raises(InvalidParameter, match=r"event of Account.charge .* because the budget .* has delta = 0"):
        PURE.cost(event)


@pytest.mark.parametrize("event", [NonPrivate(), Mixture([0.0, 1.0], [0.1, 0.0]), Composed([NonPrivate()])])
def test_a_gdp_budget_accepts_gaussian_and_pure_releases_only(event):
    with pytest.raises(InvalidParameter, match=r"event of Account.charge must be made of Gaussian and Pure releases"):
        GDP.cost(event)


def test_a_budget_below_the_grains_is_refused():
    with pytest.raises(InvalidParameter, match=r"epsilon of Ledger.create must be so large"):
        Terms.of(Budget(1e-40, 1e-40))


# Amounts


def test_pure_amounts():
    spent = PURE.spent_amount(10 * Fraction(0.1))
    assert (spent.epsilon, spent.delta, spent.currency, spent.amount) == (1.0, 0.0, "pure", 1.0)
    assert PURE.left_amount(10 * Fraction(0.1)).epsilon == 0.0  # not negative
    left = PURE.left_amount(Fraction(1, 3))
    assert Fraction(left.amount) < Fraction(2, 3) < Fraction(math.nextafter(left.amount, 1.0))


@settings(deadline=None)
@given(st.fractions(0, 1))
def test_gdp_amounts_are_rounded_to_the_private_side(part):
    spent = math.floor(part * GDP.cap / GRAIN) * GRAIN  # as many digits as a total has
    used, left = GDP.spent_amount(spent), GDP.left_amount(spent)
    assert Fraction(used.amount) >= spent and Fraction(left.amount) <= GDP.cap - spent
    assert used.amount <= float(spent) * (1 + 1e-15)
    assert left.amount >= float(GDP.cap - spent) * (1 - 1e-15) or GDP.cap - spent <= GDP.cap / 2**52
    assert used.delta == left.delta == 1e-6 and used.currency == left.currency == "gdp"
    assert max(used.epsilon, left.epsilon) <= 3.0
    assert used.epsilon == pytest.approx(gdp.epsilon_of_mu(math.sqrt(float(spent)), 1e-6), rel=1e-9)


def test_an_empty_and_a_full_account():
    assert (GDP.spent_amount(Fraction(0)).epsilon, GDP.left_amount(GDP.cap).epsilon) == (0.0, 0.0)
    assert GDP.spent_amount(GDP.cap).epsilon == pytest.approx(3.0, rel=1e-6)


# Texts and recomputation


@pytest.mark.parametrize("terms", [PURE, GDP])
def test_terms_survive_their_text(terms):
    assert Terms.from_text(terms.to_text()) == terms


@pytest.mark.parametrize(
    "change",
    [
        {"cap": "2/2"},
        {"cap": "1/0"},
        {"cap": 1},
        {"currency": "gdp"},
        {"epsilon": -1},
        {"epsilon": 1},
        {"unit": "planet"},
        {"unit": None},
    ],
)
def test_other_texts_are_no_terms(change):
    values = {"epsilon": 1.0, "delta": 0.0, "neighbors": "replace", "unit": "row", "currency": "pure", "cap": "1/1"}
    assert Terms.from_text(canonical(values)) == PURE
    with pytest.raises(ValueError):
        Terms.from_text(canonical({**values, **change}))


def test_terms_have_the_text_they_always_had():
    """Hashes of old ledgers are over it."""
    text = '{"cap":"1/1","currency":"pure","delta":0.0,"epsilon":1.0,"neighbors":"replace","unit":"row"}'
    assert PURE.to_text() == text


def test_terms_of_a_newer_version_are_refused_as_such():
    values = json.loads(PURE.to_text())
    with pytest.raises(LedgerError, match=r"were made by a newer version of hushrank: 'more' is not known"):
        Terms.from_text(canonical({**values, "more": 1}))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"cap":"1/1"}', "null"])
def test_texts_of_another_kind_are_no_terms(text):
    with pytest.raises(ValueError):
        Terms.from_text(text)


def test_fractions_have_one_text():
    assert read_fraction(write_fraction(Fraction(-3, 7))) == Fraction(-3, 7)
    others = ("2/4", "1", "0.5", "1/0", "x", None, " 1/2", "1_0/1")
    endless = ("1e1000000000", "1e999999999/1", "1/" + "9" * 9000)
    for text in (*others, *endless):
        with pytest.raises(ValueError):
            read_fraction(text)


def test_costs_are_recomputed_exactly_where_no_special_function_enters():
    for terms, event in ((GDP, Gaussian(3.0)), (PURE, Pure(0.1))):
        cost = terms.cost(event)
        assert terms.is_cost(cost, event) and not terms.is_cost(cost - GRAIN, event)
    # mu_of_pure may differ in its last digits between versions of SciPy, and no more.
    cost = GDP.cost(Pure(0.5))
    assert GDP.is_cost(cost * (1 + Fraction(1, 10**12)), Pure(0.5))
    assert not GDP.is_cost(cost * (1 - Fraction(1, 10**10)), Pure(0.5))


def test_a_cap_that_is_not_that_of_the_budget_is_noticed():
    assert PURE.is_consistent() and GDP.is_consistent()
    assert Terms(GDP.budget, GDP.cap * (1 + Fraction(1, 10**13))).is_consistent()
    for terms in (PURE, GDP):
        assert not Terms(terms.budget, terms.cap * (1 + Fraction(1, 10**9))).is_consistent()


def test_what_rounding_leaves_of_shares_is_shown_as_nothing():
    terms = Terms.of(Budget(1.0))
    parts = [
        event.epsilon for event in split_budget(Budget(1.0), {"a": Fraction(1, 10), "b": Fraction(9, 10)}).values()
    ]
    spent = sum(map(Fraction, parts))
    assert 0 < 1 - spent < Fraction(1, 2**52)
    assert terms.left_amount(spent).epsilon == 0.0
    assert terms.left_amount(1 - Fraction(1, 2**51)).epsilon == 2.0**-51


def test_amounts_at_the_end_of_float64():
    terms = Terms.of(Budget(sys.float_info.max))
    spent = Fraction(sys.float_info.max) + Fraction(2) ** 970
    assert spent <= terms.limit and terms.spent_amount(spent).epsilon == sys.float_info.max


def test_many_tiny_releases_are_not_free():
    event = Pure(5e-324)
    for _ in range(41):
        event = Repeated(event, 2**53)
    with pytest.raises(BudgetExceeded):
        GDP.total_after(Fraction(0), GDP.cost(event))


# A reserved part

RESERVED = Terms.of(Budget(3.0, 1e-6), pure=1.0)


def test_what_is_not_reserved_is_worth_the_rest():
    assert RESERVED.cap == Fraction(gdp.mu_of_budget(2.0, 1e-6)) ** 2 == Terms.of(Budget(2.0, 1e-6)).cap
    assert (RESERVED.main_epsilon, RESERVED.currency, RESERVED.is_consistent()) == (2.0, "gdp", True)
    assert not Terms(RESERVED.budget, GDP.cap, 1.0).is_consistent()
    assert Fraction(Terms.of(Budget(1.1, 1e-6), pure=0.1).main_epsilon) + Fraction(0.1) <= Fraction(1.1)


def test_both_parts_are_exact_to_the_last_grain():
    full = Cost(RESERVED.cap - GRAIN, Fraction(0))
    assert RESERVED.total(full, Cost(GRAIN)).main == RESERVED.cap
    with pytest.raises(BudgetExceeded) as refusal:
        RESERVED.total(full, Cost(2 * GRAIN))
    assert refusal.value.currency == "mu^2"
    assert RESERVED.pure_limit == DECIMAL_ROUNDING
    last = Fraction(1) - Fraction(1, 2**60)
    assert RESERVED.from_reserve(Pure(2.0**-60), last) == Fraction(1, 2**60)
    assert RESERVED.from_reserve(Pure(2.0**-50), last) == 0
    with pytest.raises(BudgetExceeded) as refusal:
        RESERVED.total(Cost(), Cost(pure=RESERVED.pure_limit + GRAIN))
    assert refusal.value.currency == "epsilon"


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.floats(2.0, 50.0).map(Gaussian)
        | st.sampled_from([0.1, 0.25, 0.3, 0.01]).map(Pure)
        | st.tuples(st.floats(2.0, 50.0).map(Gaussian), st.sampled_from([0.1, 0.2]).map(Pure)).map(Composed),
        max_size=25,
    )
)
def test_no_sequence_of_charges_passes_either_part(events):
    spent = Cost()
    for event in events:
        cost = RESERVED.price(event, spent)
        pure = sum(leaf.epsilon for leaf in getattr(event, "events", (event,)) if isinstance(leaf, Pure))
        fits = spent.pure + Fraction(pure) <= RESERVED.pure_limit
        assert cost.pure == (Fraction(pure) if fits else 0)
        if not fits or not pure:
            assert cost.main == RESERVED.cost(event)
        try:
            spent = RESERVED.total(spent, cost)
        except BudgetExceeded:
            assert spent.main + cost.main > RESERVED.cap
    assert spent.main <= RESERVED.cap and spent.pure <= DECIMAL_ROUNDING


@pytest.mark.parametrize(("epsilon", "pure"), [(3.0, 1.0), (1.0, 0.5), (6.0, 0.1), (2.0, 1.9)])
@pytest.mark.parametrize("delta", [1e-6, 1e-3])
def test_the_worst_pair_of_both_parts_keeps_the_promise(epsilon, pure, delta):
    """All of both parts at once, by the exact law of a Gaussian release beside randomized response."""
    terms = Terms.of(Budget(epsilon, delta), pure=pure)
    noise = math.nextafter(1.0 / math.sqrt(terms.cap), math.inf)
    assert accountant.delta(Composed([Gaussian(noise), Pure(pure)]), epsilon) <= delta
    planted = Gaussian(1.0 / gdp.mu_of_budget(epsilon, delta))  # as if the whole budget were left for Gaussian releases
    assert accountant.delta(Composed([planted, Pure(pure)]), epsilon) > delta


def test_a_reserved_part_survives_its_text_and_is_unknown_to_older_versions():
    text = RESERVED.to_text()
    assert Terms.from_text(text) == RESERVED and '"pure":1.0' in text
    assert "pure" not in Budget.__slots__  # the names that older versions know: they refuse any other as a newer one's
    for change in ({"pure": 0.0}, {"pure": 3.0}, {"pure": -1.0}, {"pure": 1}, {"pure": "1"}, {"pure": None}):
        with pytest.raises(ValueError):
            Terms.from_text(canonical({**json.loads(text), **change}))
    with pytest.raises(ValueError):
        Terms.from_text(canonical({**json.loads(PURE.to_text()), "pure": 0.5}))
