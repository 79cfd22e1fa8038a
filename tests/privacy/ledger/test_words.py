"""What is left, in words: what is said can be charged, and hardly more could."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrank.exceptions import BudgetExceeded
from hushrank.privacy.calibration import calibrate, event_for
from hushrank.privacy.events import Composed, Gaussian, Pure, Repeated
from hushrank.privacy.guarantee import Budget
from hushrank.privacy.ledger import words
from hushrank.privacy.ledger.chain import Entry
from hushrank.privacy.ledger.currency import GRAIN, Cost, Terms
from hushrank.privacy.shares import split_budget

PURE, GDP = Terms.of(Budget(1.0)), Terms.of(Budget(3.0, 1e-6))
RESERVED = Terms.of(Budget(3.0, 1e-6), pure=1.0)


NOTHING = Cost()


def entry(terms, event=None, spent=NOTHING):
    pure = (Fraction(0), spent.pure) if terms.pure else (None, None)
    return Entry(0 if event is None else 1, "", "", event, Fraction(0), spent.main, None, "", "", "", *pure)


def part_of(cap, share):
    return math.floor(share * cap / GRAIN) * GRAIN


@settings(deadline=None, max_examples=40)
@given(st.fractions(0, 1), st.sampled_from([GDP, RESERVED, Terms.of(Budget(0.83, 1e-5)), Terms.of(Budget(20, 1e-9))]))
def test_a_gaussian_release_of_the_epsilon_that_is_said_is_accepted(share, terms):
    spent = Cost(part_of(terms.cap, share))
    most = words.largest_epsilon(terms, spent.main)
    if most:
        budget = Budget(most, terms.budget.delta)
        events = [
            event_for(budget),
            Composed(split_budget(budget, {"a": Fraction(1, 10), "b": Fraction(9, 10)}).values()),
        ]
        if spent.main:  # a plan that rounds on its own has room there
            events.append(calibrate(budget, lambda noise: Repeated(Gaussian(noise), 7)))
        for event in events:
            assert terms.total(spent, terms.price(event, spent)).main <= terms.cap
        more = most * 1.02  # two units of the third digit
        assert not spent.main or terms.cost(event_for(Budget(more, terms.budget.delta))) > terms.cap - spent.main
    else:
        assert terms.left_amount(spent.main).epsilon < 1e-3


@settings(deadline=None, max_examples=60)
@given(st.lists(st.sampled_from([0.1, 0.01, 0.3, 0.07, 1e-3]), max_size=12), st.sampled_from([1.0, 2.1, 0.1, 0.83]))
def test_a_pure_release_of_the_epsilon_that_is_said_is_accepted(epsilons, cap):
    pure, reserved = Terms.of(Budget(cap)), Terms.of(Budget(cap + 1, 1e-6), pure=cap)
    spent = Fraction(0)
    for epsilon in epsilons:
        if spent + Fraction(epsilon) <= pure.limit:
            spent += Fraction(epsilon)
    most = words.largest_epsilon(pure, spent)
    assert most == words.largest_pure(reserved, spent)
    if most:
        assert pure.total_after(spent, Fraction(most)) and reserved.from_reserve(Pure(most), spent) == Fraction(most)
        assert spent + Fraction(most) * Fraction(102, 100) > pure.cap * Fraction(99999, 100000)
    else:
        assert pure.left_amount(spent).epsilon == 0.0


def test_an_empty_account_says_its_cap():
    for epsilon in (0.83, 3.0, 1.25, 0.1):
        assert words.largest_epsilon(Terms.of(Budget(epsilon, 1e-6)), Fraction(0)) == epsilon
        assert words.largest_epsilon(Terms.of(Budget(epsilon)), Fraction(0)) == epsilon
    assert words.largest_epsilon(Terms.of(Budget(1.23456, 1e-6)), Fraction(0)) == 1.23


def brute_force(terms, spent, event):
    count = 0
    while True:
        try:
            spent = terms.total(spent, terms.price(event, spent))
        except BudgetExceeded:
            return count
        count += 1


@pytest.mark.parametrize(
    ("terms", "event"),
    [
        (PURE, Pure(0.1)),
        (PURE, Pure(0.3)),
        (PURE, Pure(1.01)),
        (GDP, Gaussian(3.0)),
        (GDP, Gaussian(1.0)),
        (GDP, Pure(0.1)),
        (RESERVED, Gaussian(3.0)),
        (RESERVED, Pure(0.3)),
        (RESERVED, Pure(1.5)),
        (RESERVED, Composed([Pure(0.1), Gaussian(20.0)])),
        (RESERVED, Composed([Pure(0.1), Gaussian(4.0)])),
        (RESERVED, Composed([Pure(0.4), Gaussian(9.0)])),
    ],
)
def test_how_many_more_like_the_last(terms, event):
    spent = Cost()
    for _ in range(4):
        count = words.more_like(terms, spent, event)
        assert count == brute_force(terms, spent, event)
        if not count:
            break
        spent = terms.total(spent, terms.price(event, spent))


def test_left_in_words():
    assert words.say_left(PURE, entry(PURE)) == "at most epsilon = 1 for one more release"
    spent = Cost(Fraction(3, 4))
    assert words.say_left(PURE, entry(PURE, Pure(0.75), spent)).endswith(
        "0.25 for one more release, none like the last"
    )
    assert words.say_left(PURE, entry(PURE, Pure(1.0), Cost(Fraction(1)))) == "nothing"
    said = words.say_left(GDP, entry(GDP, Gaussian(3.0), Cost(GDP.cost(Gaussian(3.0)))))
    assert said == "at most epsilon = 2.53 at delta = 1e-6 for one more release, two more fits like the last"
    both = "at most epsilon = 2 at delta = 1e-6 for one more release, and epsilon = 1 reserved for pure releases"
    assert words.say_left(RESERVED, entry(RESERVED)) == both
    said = words.say_left(RESERVED, entry(RESERVED, Pure(1.0), Cost(Fraction(0), Fraction(1))))
    assert said.endswith("and nothing reserved for pure releases, none like the last, a pure one")


def test_counts_and_numbers_as_people_say_them():
    said = [words.say_count(count) for count in (0, 1, 3, 12, 13, 4000, 10**6 + 1)]
    assert said[:2] == ["none like the last", "one more fit like the last"]
    assert said[2:4] == ["three more fits like the last", "twelve more fits like the last"]
    assert said[4:6] == ["13 more fits like the last", "4,000 more fits like the last"]
    assert said[6] == "more than a million more fits like the last"
    assert [words.say_number(x) for x in (1e-6, 0.83, 3.0, 1e-12, 2.5e20)] == ["1e-6", "0.83", "3", "1e-12", "2.5e20"]


def test_a_cost_in_words_is_rounded_up():
    event = event_for(Budget(1.0, 1e-6))
    assert words.say_cost(GDP, GDP.price(event, Cost())) == "epsilon = 1 at delta = 1e-6"
    assert words.say_cost(PURE, Cost(Fraction(0.12301))) == "epsilon = 0.124"
    assert words.say_cost(RESERVED, Cost(Fraction(0), Fraction(0.1))) == "epsilon = 0.1 of the reserved pure part"
    mixed = RESERVED.price(Composed([event, Pure(0.5)]), Cost())
    said = "epsilon = 1 at delta = 1e-6 and epsilon = 0.5 of the reserved pure part"
    assert words.say_cost(RESERVED, mixed) == said
    assert words.say_cost(GDP, Cost(Fraction(10) ** 400)) == "epsilon = inf at delta = 1e-6"


def test_what_a_pure_release_costs_is_said_where_a_gaussian_one_is_cheaper():
    said = words.say_dear("rows", GDP, Pure(1.0), Cost())
    assert "a pure release of epsilon = 1 costs data set 'rows' as much as a Gaussian one of epsilon = 6.2" in said
    assert "Cheaper: delta = 1e-6, not 0" in said and "reserved for pure releases" in said
    assert words.say_dear("rows", PURE, Pure(1.0), Cost()) is None
    assert words.say_dear("rows", GDP, Gaussian(1.0), Cost()) is None
    assert words.say_dear("rows", GDP, Composed([Pure(0.1), Gaussian(1.0)]), Cost()) is None
    assert words.say_dear("rows", Terms.of(Budget(3.0, 0.4)), Pure(1.0), Cost()) is None  # no dearer there
    assert words.say_dear("rows", RESERVED, Pure(1.0), Cost()) is None
    said = words.say_dear("rows", RESERVED, Pure(0.6), Cost(Fraction(0), Fraction(1, 2)))
    assert said.endswith("what is left of the part reserved for pure releases, epsilon = 0.5")
    assert words.say_dear("rows", GDP, Repeated(Pure(1e300), 2**53), Cost()) is None  # refused by any budget


def test_a_refusal_in_words():
    last = entry(GDP, Gaussian(4.0), Cost(GDP.cost(Gaussian(4.0))))
    said = words.say_refusal("rows", GDP, last, words.Asked(Gaussian(1.0), GDP.price(Gaussian(1.0), last.total)))
    assert said == (
        "asked for epsilon = 4.89 at delta = 1e-6 of 'rows', left at most epsilon = 2.74 at delta = 1e-6 for one more "
        "release, five more fits like the last (mu^2: asked 1, left 0.35705)"
    )
    assert words.say_refusal("rows", PURE, entry(PURE), words.Asked(Pure(2.0), Cost(Fraction(2)))) == (
        "asked for epsilon = 2 of 'rows', left at most epsilon = 1 for one more release"
    )
    said = words.say_refusal("rows", GDP, last, words.Asked(Pure(1.0), GDP.price(Pure(1.0), last.total), Budget(1.0)))
    assert "asked for epsilon = 1, which costs epsilon = 6.2" in said
    assert "fits like the last, one with Gaussian noise (mu^2" in said and "; accepted: epsilon = 0.4" in said


def test_a_refusal_of_a_part_names_the_budget_that_was_typed():
    typed = Budget(4.6, 1e-6)
    whole = event_for(typed)
    part = Gaussian(whole.noise_multiplier * math.sqrt(2))
    for terms, event, budget, said in (
        (GDP, part, typed, "asked for epsilon = 3.12 at delta = 1e-6, a part of epsilon = 4.6, of 'rows', left"),
        (GDP, whole, typed, "asked for epsilon = 4.6 at delta = 1e-6 of 'rows', left"),
        (GDP, Gaussian(whole.noise_multiplier * 1.01), typed, "asked for epsilon = 4.55 at delta = 1e-6 of 'rows',"),
        (PURE, Pure(1.5), Budget(3.0), "asked for epsilon = 1.5, a part of epsilon = 3, of 'rows', left"),
    ):
        asked = words.Asked(event, terms.price(event, Cost()), budget)
        assert words.say_refusal("rows", terms, entry(terms), asked).startswith(said)


def test_what_would_be_accepted():
    spent = Cost(RESERVED.cost(event_for(Budget(1.9, 1e-6))))
    assert words.most_accepted(RESERVED, spent, Pure(2.0), Budget(2.0)) == 1.0  # the reserved part
    assert words.most_accepted(PURE, Cost(), Pure(3.0), Budget(3.0, 1e-6)) == 1.0  # a pure event, whatever delta
    two = Composed([Gaussian(0.5), Gaussian(0.5)])
    assert words.most_accepted(GDP, Cost(), two, Budget(1.0, 1e-6)) == 0.0  # more than one release: nobody can say
    assert words.most_accepted(GDP, Cost(GDP.cap), Gaussian(1.0), Budget(5.0, 1e-6)) == 0.0
