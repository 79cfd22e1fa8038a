"""Guarantees in words: every unit and relation, what is not promised, and what notebooks show."""

import math
from dataclasses import replace

import pytest

from hushrank.privacy.events import Gaussian
from hushrank.privacy.guarantee import Guarantee, Neighbors, Unit
from hushrank.privacy.words import Promising, say_factor, say_guarantee

GIVEN = Guarantee(1.0, 1e-6, "replace", "user", Gaussian(4.2), "exact")


def said(**changes):
    return " ".join(say_guarantee(replace(GIVEN, **changes)))


@pytest.mark.parametrize("unit", list(Unit))
@pytest.mark.parametrize("neighbors", list(Neighbors))
def test_every_unit_and_relation_has_its_words(unit, neighbors):
    text = said(unit=unit, neighbors=neighbors)
    assert "the probability of any result would be at most e^1 = 2.72 times as large, plus 1e-06." in text
    assert ("replaced" in text) == (neighbors is Neighbors.REPLACE)
    assert ("hidden" in text) == (unit is not Unit.USER)  # what the unit does not cover


def test_numbers_are_those_of_the_guarantee():
    assert say_factor(replace(GIVEN, delta=0.0)) == "e^1 = 2.72 times as large"
    assert say_factor(replace(GIVEN, epsilon=4.999999999785676)) == "e^5 = 148 times as large, plus 1e-06"
    assert say_factor(replace(GIVEN, epsilon=100.0)) == "e^100 times as large, plus 1e-06"


def test_what_is_not_promised_is_said():
    assert said(epsilon=math.inf) == "Nothing is promised: this result is not private."
    assert "MUST NOT BE RELEASED" in said(reproducible=True) and "MUST NOT" not in said()
    assert "Provided that nobody lies." in said(premise="nobody lies")
    assert "idealized" in said(numerics="idealized") and "idealized" not in said()


def test_notebooks_see_the_guarantee_open_and_no_markup_of_strangers():
    class Thing(Promising):
        def __repr__(self):
            return "Thing('<b>')" + (f" with {self.privacy_!r}" if hasattr(self, "privacy_") else "")

    thing = Thing()
    assert thing._repr_html_() == "<pre>Thing(&#x27;&lt;b&gt;&#x27;)</pre>"
    thing.privacy_ = replace(GIVEN, premise="a < b & c")
    shown = thing._repr_html_()
    assert "Any one person&#x27;s data" in shown and "a &lt; b &amp; c" in shown and "<b>" not in shown
    assert "details" not in shown and shown.count("epsilon=1.0") == 1
