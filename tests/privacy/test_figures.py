"""Numbers in print: never more private than the truth, at most 1e-5 away from it, and short."""

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hushrank.privacy.events import Composed, Gaussian, Mixture, NonPrivate, Pure, Repeated
from hushrank.privacy.figures import DIGITS, at_least, at_most, show_event

NUMBERS = st.floats(min_value=1e-300, max_value=1e300)


@given(NUMBERS)
@example(4.999999999785676)
@example(math.nextafter(5.0, 6.0))
@example(0.1)
def test_a_cost_is_rounded_up_and_a_protection_down(value):
    above, below = float(at_most(value)), float(at_least(value))
    assert below <= value <= above
    assert above <= value * (1 + 1e-5) and below >= value * (1 - 1e-5)


@given(st.integers(min_value=1, max_value=10**DIGITS - 1), st.integers(min_value=-20, max_value=20))
def test_short_numbers_stay_as_they_are(digits, power):
    value = float(f"{digits}e{power}")
    assert at_most(value) == at_least(value) == f"{value:.6g}"


def test_what_was_asked_for_is_printed():
    assert (at_most(4.999999999785676), at_most(0.9999999999476437), at_most(1.0)) == ("5", "1", "1")
    assert (at_most(0.0), at_most(math.inf), at_most(1e-6), at_most(2.71828, 3)) == ("0", "inf", "1e-06", "2.72")


@pytest.mark.parametrize(
    ("event", "shown"),
    [
        (Gaussian(4.2246788897372545), "Gaussian(noise_multiplier=4.22467)"),
        (Pure(0.9999999999), "Pure(epsilon=1, bounded_range=False)"),
        (Repeated(Gaussian(8.5), 4), "Repeated(event=Gaussian(noise_multiplier=8.5), count=4)"),
        (Composed([Pure(0.5)]), "Composed(events=(Pure(epsilon=0.5, bounded_range=False),))"),
        (NonPrivate(), "NonPrivate()"),
        (Mixture([0.0, 1.0], [0.5, 0.25]), "Mixture(2 points, epsilon 0 to 1, delta 0.5 to 0.25)"),
    ],
)
def test_events_keep_their_form_with_short_numbers(event, shown):
    assert show_event(event) == shown
