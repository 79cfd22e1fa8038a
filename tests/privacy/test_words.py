"""A guarantee in words: true for every unit and relation, and open about what it does not cover."""

import math
import re

import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st

from hushrank.privacy.events import Composed, Gaussian, NonPrivate, Pure, Repeated
from hushrank.privacy.guarantee import Guarantee, Neighbors, Unit
from hushrank.privacy.words import (
    adjacency_in_words,
    factor_in_words,
    in_words,
    noise_in_words,
    not_hidden_in_words,
    unit_in_words,
)

CHANGES = (Unit.ENTRY, Unit.RANK1, Unit.FROBENIUS)  # of a bounded size, whoever makes them


def make(**changes):
    terms = {"epsilon": 1.0, "delta": 1e-6, "neighbors": "replace", "unit": "user", "event": Gaussian(4.2247)}
    return Guarantee(**{**terms, "numerics": "exact", **changes})


def test_the_sentence():
    assert in_words(make()) == (
        "If everything from any one user were replaced by anything else, the chance of any result would change by at "
        "most a factor of 2.72 (e^1), and beyond that factor by at most 1e-06."
    )


def test_a_pure_guarantee_has_nothing_beyond_the_factor():
    words = in_words(make(delta=0.0, event=Pure(1.0), neighbors="add_remove", unit="row"))
    assert words == (
        "If any one row were added or removed, the chance of any result would change by at most a factor of 2.72 "
        "(e^1). One row is hidden: a person with several rows is not hidden with all of them."
    )


@pytest.mark.parametrize("unit", list(Unit))
@pytest.mark.parametrize(("neighbors", "change"), [("replace", "replaced"), ("add_remove", "added or removed")])
def test_every_unit_and_relation_makes_one_sentence(unit, neighbors, change):
    words = in_words(make(unit=unit, neighbors=neighbors))
    assert words.startswith("If ") and f" were {change}" in words and words.count("If ") == 1
    others = {in_words(make(unit=other, neighbors=neighbors)) for other in Unit if other is not unit}
    assert words not in others


def test_what_neighbors_differ_by():
    replaced = {adjacency_in_words(Neighbors.REPLACE, unit) for unit in Unit}
    removed = {adjacency_in_words(Neighbors.ADD_REMOVE, unit) for unit in Unit}
    assert len(replaced | removed) == 2 * len(Unit)
    of_wholes = {adjacency_in_words(Neighbors.REPLACE, unit) for unit in Unit if unit not in CHANGES}
    assert all(words.endswith(" was replaced by anything else.") for words in of_wholes)
    assert all(words.endswith(" was replaced by another one.") for words in replaced - of_wholes)
    assert "Two data sets are adjacent if everything from any one user was added or removed." in removed


@pytest.mark.parametrize("unit", list(Unit))
def test_what_a_unit_leaves_open_is_said_apart_as_well(unit):
    said = not_hidden_in_words(unit)
    assert said in in_words(make(unit=unit)) and bool(said) == (unit is not Unit.USER)


@pytest.mark.parametrize("neighbors", Neighbors)
@pytest.mark.parametrize("unit", [*CHANGES, Unit.ROW])
def test_a_change_of_bounded_size_is_told_with_its_size(unit, neighbors):
    """A row of a stream is no row of a table: it is hidden as far as its bound goes, and the promise says so."""
    words = in_words(make(unit=unit, neighbors=neighbors, bound=0.30000004))
    assert "at most 0.3 " in words.replace(",", " ") and "one row were" not in words
    assert "more than that" in words and words.endswith("in part only; updates count as they were clipped and rounded.")
    assert words != in_words(make(unit=unit, neighbors=neighbors))
    changed = "replaced by another one" if neighbors is Neighbors.REPLACE else "added or removed"
    assert f" were {changed}, the chance" in words.replace(" update, were", " update were")


def test_a_bound_that_nobody_knows_is_not_made_up():
    assert "by at most the bound of each release in total" in in_words(make(unit="entry"))
    assert in_words(make(unit="row")).startswith("If any one row were replaced by anything else")


def test_a_premise_about_a_bound_is_told_with_the_bound():
    words = in_words(make(premise="no update is larger than the bound", bound=20.0))
    assert words.startswith("If everything from any one user were replaced by anything else")
    assert words.endswith("This holds provided that no update is larger than the bound. The bound is 20.")
    assert unit_in_words(Unit.USER, 20.0) == unit_in_words(Unit.USER)


def test_what_is_not_covered_is_said():
    words = in_words(make(premise="the caller bounds every user", numerics="idealized"))
    assert "This holds provided that the caller bounds every user." in words
    assert "rounding inside the computer is not covered" in words
    assert "provided" not in in_words(make()) and "rounding" not in in_words(make())


def test_a_seed_comes_first():
    words = in_words(make(reproducible=True))
    assert words.startswith("NOT private to release: made with a seed")
    assert words.endswith(f"Made without a seed it would promise: {in_words(make())}")


def test_no_guarantee_promises_nothing():
    words = in_words(make(epsilon=math.inf, event=NonPrivate(), premise="nothing"))
    assert words == "NOT private: nothing is promised to anybody."


@drawn(st.floats(min_value=0.0, max_value=1e6))
def test_the_factor_is_never_below_the_truth(epsilon):
    factor, _, power = factor_in_words(epsilon).partition(" (")
    if power:
        assert float(factor) >= math.exp(epsilon) * (1 - 1e-12)
        assert float(power.removeprefix("e^").rstrip(")")) >= epsilon
    else:
        assert epsilon > 25 and float(factor.removeprefix("e^")) >= epsilon


def test_noise_is_told_beside_what_one_can_change():
    assert noise_in_words(Gaussian(0.9800490003829367), Unit.USER) == "noise of 0.98 times what one user can change"
    assert "one update changes the chance of any result by at most a factor of 2.72 (e^1)" in noise_in_words(
        Pure(1.0), Unit.ENTRY
    )
    assert noise_in_words(Repeated(Gaussian(4.0), 3), Unit.ROW).startswith("3 times, each with noise of 4 times")
    assert noise_in_words(Gaussian(4.0), Unit.ROW, 2.0) == "noise of 4 times what one row within the bound can change"
    assert noise_in_words(Composed([Gaussian(1.0)]), Unit.ROW) == noise_in_words(NonPrivate(), Unit.ROW) == ""
    assert noise_in_words(Repeated(NonPrivate(), 3), Unit.ROW) == ""


@pytest.mark.parametrize("unit", list(Unit))
def test_units_are_words_and_not_identifiers(unit):
    assert not re.search(r"rank1|_", in_words(make(unit=unit)) + noise_in_words(Gaussian(1.0), unit))
