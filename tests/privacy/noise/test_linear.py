"""Exact rounding of linear forms equals a big-integer reference, with every stage forced."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrank.privacy.noise.deviates import wrap_int64
from hushrank.privacy.noise.extensible import ExtensibleDeviates
from hushrank.privacy.noise.keystream import Keystream
from hushrank.privacy.noise.laws import exponential_law, normal_law
from hushrank.privacy.noise.linear import exact_entry, round_linear

DEPTH = 6


def reference(L, Z, offset):
    R = np.zeros(offset.shape, object)
    for j in range(Z.shape[0]):
        z = [Fraction(x, 1 << (Z.bits + 1 + 64 * DEPTH)) for x in Z.row(j, DEPTH)]
        for i in range(len(L)):
            form = sum(Fraction(c) * x for c, x in zip(L[i].tolist(), z, strict=True))
            R[i, j] = wrap_int64(math.floor(form + Fraction(1, 2)) + int(offset[i, j]))
    return R


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([normal_law, exponential_law]), st.sampled_from([1, 2, 7, 130]))
def test_equals_the_reference(seed, make_law, n):
    rng = np.random.default_rng(seed)
    scale = 2.0 ** rng.integers(0, 51)
    L = np.clip(rng.standard_normal((3, n)) * scale, -(2.0**51), 2.0**51)
    Z = ExtensibleDeviates(make_law(), 4, n, Keystream())
    offset = rng.integers(-(2**62), 2**62, (3, 4))
    assert (round_linear(L, Z, offset) == reference(L, Z, offset)).all()


@pytest.mark.parametrize("make_law", [normal_law, exponential_law])
def test_entries_near_a_boundary_are_settled_exactly(make_law):
    """At these scales the float value alone would round a few entries in a thousand wrongly."""
    wrong = 0
    for exponent in (44, 46, 48, 50):
        L = np.array([[1.7 * 2.0**exponent]])
        Z = ExtensibleDeviates(make_law(), 500, 1, Keystream())
        R = round_linear(L, Z, np.zeros((1, 500), np.int64))[0]
        assert R.tolist() == [exact_entry(L[0].tolist(), Z, j) for j in range(500)]
        wrong += np.count_nonzero(np.floor(L[0, 0] * Z.floats()[:, 0] + 0.5) != R)
    assert wrong > 0


def test_digits_already_drawn_are_used():
    Z = ExtensibleDeviates(normal_law(), 200, 1, Keystream())
    for index in range(200):
        Z._drawn[index] = (index * 2**90 + 1, 100)
    L = np.array([[2.0**51]])  # rounds to 2^-51: a few entries need the digits behind the first 55
    offset = np.zeros((1, 200), np.int64)
    assert (round_linear(L, Z, offset) == reference(L, Z, offset)).all()


def test_rows_beyond_int64_are_settled_exactly():
    Z = ExtensibleDeviates(normal_law(), 3, 2, Keystream())
    Z._wide[2] = 5 << 62  # row 1
    offset = np.zeros((1, 3), np.int64)
    L = np.array([[1000.5, 3.25]])
    R = round_linear(L, Z, offset)
    assert (R == reference(L, Z, offset)).all()
    assert R[0, 1] > 600_000


@pytest.mark.parametrize("L", [np.ones((1, 3)), np.ones(2), np.array([[np.nan, 1.0]]), np.array([[2.0**52, 1.0]])])
def test_unfit_coefficients_are_refused(L):
    Z = ExtensibleDeviates(normal_law(), 4, 2, Keystream())
    with pytest.raises(ValueError, match="L must be"):
        round_linear(L, Z, np.zeros((1, 4), np.int64))
