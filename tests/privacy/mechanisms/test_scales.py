"""Public numbers of a release: executable events, lattice sizes, scales rounded up."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from hushrank.exceptions import InvalidParameter
from hushrank.privacy.events import Composed, Gaussian, NonPrivate, Pure
from hushrank.privacy.guarantee import Neighbors
from hushrank.privacy.mechanisms.scales import (
    check_gaussian_or_pure,
    check_lattice,
    check_lattice_kind,
    largest_bound,
    lattice_bits,
    noise_law,
    rows_changed,
    scale_for,
    settle_fields,
)
from hushrank.privacy.noise.laws import exponential_law, normal_law


@pytest.mark.parametrize(
    "event", [Composed([Gaussian(1.0)]), NonPrivate(), Pure(1.0, bounded_range=True), "Gaussian", None]
)
def test_additive_noise_executes_gaussian_and_pure_events_only(event):
    with pytest.raises(InvalidParameter, match=r"^event of release must be Gaussian"):
        check_gaussian_or_pure(event, "release")
    assert check_gaussian_or_pure(Pure(1.0), "release") == Pure(1.0)


def test_lattice_bits_keep_the_largest_total_inside_62_bits():
    for n_max in (1, 1000, 2**26, 2**26 + 1, 2**40):
        for powers in (1, 2):
            bits = lattice_bits(n_max, "plan", most=18, powers=powers)
            assert bits <= 18 and n_max * 2 ** (powers * bits) <= 2**62
            assert bits == 18 or n_max * 2 ** (powers * (bits + 1)) > 2**61
    with pytest.raises(InvalidParameter, match="n_max of plan"):
        lattice_bits(0, "plan", most=18, powers=1)


def test_largest_bound():
    assert largest_bound(lambda k: 3 * 2**k, 100) == (5, 96)
    assert largest_bound(lambda k: 300 * 2**k, 100) == (0, 100)
    assert largest_bound(lambda k: 0, 100) == (50, 0)


@pytest.mark.parametrize("changed", [1, 2, 7])
def test_scale_is_rounded_up_by_less_than_a_float_step(changed):
    for noise_multiplier in (0.3, 1.0, 2.7):
        scale = scale_for(changed, changed, Gaussian(noise_multiplier), "test")
        exact = changed * Fraction(noise_multiplier) ** 2
        assert Fraction(scale) ** 2 >= exact > Fraction(math.nextafter(scale, 0)) ** 2
    for epsilon in (0.3, 1.0, 2.7):
        scale = scale_for(changed, changed, Pure(epsilon), "test")
        assert Fraction(scale) >= changed / Fraction(epsilon) > Fraction(math.nextafter(scale, 0))


@pytest.mark.parametrize("event", [Gaussian(1e20), Gaussian(1e308), Pure(1e-20), Pure(5e-324)])
def test_noise_beyond_the_lattice_is_refused(event):
    with pytest.raises(InvalidParameter, match="event of test must be an event with noise scale below"):
        scale_for(1, 1, event, "test")


@pytest.mark.parametrize(
    ("step", "bound", "is_private", "name"),
    [(1.0, 0, True, "event"), (1.0, 1, False, "event"), (0.0, 1, True, "norm"), (1e300, 1, True, "norm")],
)
def test_unfit_lattices_are_refused(step, bound, is_private, name):
    check_lattice(1.0, 1, True, "plan", Pure(1.0), ("norm", 1.0))
    with pytest.raises(InvalidParameter, match=f"^{name} of plan must be"):
        check_lattice(step, bound, is_private, "plan", Pure(1.0), ("norm", 1.0))


EVENT = Gaussian(1.0)


@dataclass(frozen=True, slots=True)
class HandMade:
    event: Any = EVENT
    neighbors: Any = "replace"
    norm: Any = 1.0
    bound: Any = 5

    def __post_init__(self):
        settle_fields(self, "plan", Gaussian, "norm", bound=10)


def test_fields_of_a_lattice_get_the_types_of_its_arithmetic():
    made = HandMade(bound=np.int64(7), norm=np.float32(0.5))
    assert made.neighbors is Neighbors.REPLACE and type(made.bound) is int and type(made.norm) is float
    assert made == HandMade(bound=7, norm=0.5)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("event", [Pure(1.0), NonPrivate(), Pure(1.0, True), None]),
        ("neighbors", ["twins", None]),
        ("norm", [0.0, -1.0, math.nan, math.inf, "1"]),
        ("bound", [-1, 11, 5.0, math.nan, True]),
    ],
)
def test_fields_that_are_no_such_numbers_are_refused(name, values):
    for value in values:
        with pytest.raises(InvalidParameter, match=f"^{name} of plan must be"):
            HandMade(**{name: value})


def test_a_lattice_has_a_kind():
    check_lattice_kind(HandMade(), HandMade, "release")
    with pytest.raises(InvalidParameter, match=r"^lattice of release must be a HandMade or Pure; got 'Gaussian'\.$"):
        check_lattice_kind(Gaussian(1.0), (HandMade, Pure), "release")


def test_a_relation_in_letters_is_the_relation():
    assert [rows_changed(word) for word in ("replace", "add_remove", *Neighbors)] == [2, 1, 2, 1]


def test_noise_law_follows_the_event():
    assert noise_law(Gaussian(1.0)) is normal_law()
    assert noise_law(Pure(1.0)) is exponential_law()
