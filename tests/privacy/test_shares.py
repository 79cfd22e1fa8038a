"""Shares of a budget: exact, ordered, and never more than the whole."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushrank.exceptions import InvalidParameter
from hushrank.privacy import accountant
from hushrank.privacy.calibration import event_for
from hushrank.privacy.events import Composed, Gaussian, Pure
from hushrank.privacy.filters import GdpFilter
from hushrank.privacy.guarantee import Budget
from hushrank.privacy.shares import split_budget

SHARES = {"count": Fraction(1, 50), "center": Fraction(1, 10), "matrix": Fraction(22, 25)}


@given(st.floats(1e-3, 100.0), st.sampled_from([0.0, 1e-9, 1e-6, 1e-2]))
def test_parts_cost_at_most_the_whole_and_nearly_all_of_it(epsilon, delta):
    budget = Budget(epsilon, delta)
    events = split_budget(budget, SHARES)
    assert list(events) == list(SHARES)
    given_epsilon = accountant.epsilon(Composed(events.values()), delta)
    assert (1 - 1e-6) * epsilon <= given_epsilon <= epsilon
    if delta == 0:
        assert sum(Fraction(event.epsilon) for event in events.values()) <= Fraction(epsilon)
    else:
        handed_out = GdpFilter.from_event(event_for(budget))
        handed_out.spend(Composed(events.values()))
        assert handed_out.left >= 0


def test_shares_are_of_epsilon_or_of_squared_mu():
    assert split_budget(Budget(2.0), SHARES)["center"] == Pure(0.2)
    parts = split_budget(Budget(2.0, 1e-6), SHARES)
    whole = event_for(Budget(2.0, 1e-6)).noise_multiplier
    for name, share in SHARES.items():
        assert parts[name].noise_multiplier == pytest.approx(whole / float(share) ** 0.5, rel=1e-12)


def test_one_share_is_the_whole():
    for budget in (Budget(1.0), Budget(1.0, 1e-6)):
        assert split_budget(budget, {"matrix": Fraction(1)}) == {"matrix": event_for(budget)}
    assert isinstance(split_budget(Budget(1.0, 1e-6), {"matrix": Fraction(1)})["matrix"], Gaussian)


@pytest.mark.parametrize(
    "shares",
    [{}, {"a": Fraction(1, 2)}, {"a": Fraction(0), "b": Fraction(1)}, {"a": Fraction(3, 2), "b": Fraction(-1, 2)}],
)
def test_shares_that_do_not_make_a_whole_are_refused(shares):
    with pytest.raises(InvalidParameter, match="shares of split_budget must be positive fractions that add up to 1"):
        split_budget(Budget(1.0), shares)
