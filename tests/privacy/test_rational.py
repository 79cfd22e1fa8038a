"""Directed rounding is on the stated side, and tight: one float step further would be wrong."""

import math
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from hushrank.privacy.rational import float_at_least, float_at_most, floor_log2, sqrt_at_least

positive = st.fractions(min_value=Fraction(1, 10**25), max_value=Fraction(10**25), max_denominator=10**25)


@given(positive)
def test_floats_enclose_the_rational_tightly(x):
    low, high = float_at_most(x), float_at_least(x)
    assert Fraction(low) <= x <= Fraction(high)
    assert Fraction(math.nextafter(low, math.inf)) > x
    assert Fraction(math.nextafter(high, 0.0)) < x


@given(positive)
def test_square_root_is_rounded_up_by_less_than_one_step(x):
    root = sqrt_at_least(x)
    assert Fraction(root) ** 2 >= x > Fraction(math.nextafter(root, 0.0)) ** 2


@given(positive)
def test_floor_log2(x):
    k = floor_log2(x)
    assert Fraction(2) ** k <= x < Fraction(2) ** (k + 1)
