"""Rows around another origin have the norms and integers of the differences, bit for bit."""

import math

import numpy as np
import pytest

from hushrank.linalg.moved_rows import fill_moved_norms, quantize_moved_block
from hushrank.linalg.quantize import new_tally, quantize_block
from hushrank.linalg.row_frames import Frame, row_norms

SIZES = [1, 2, 3, 4, 5, 9, 64]


def odd_rows(d):
    """Ordinary rows, and rows of zeros, tiny, huge and infinite numbers and NaN, and one at the origin."""
    rng = np.random.default_rng(d)
    X = rng.standard_normal((40, d)) * rng.choice([0.1, 1.0, 30.0], (40, 1))
    for row, number in enumerate((0.0, 5e-324, 1e-200, 1e160, 1.7e308, -1.7e308, math.inf, math.nan)):
        X[row] = number
        X[row + 10, row % d] = number
    X[30] = shift_of(d)
    return X


def shift_of(d):
    return np.linspace(-2.0, 3.0, d)


@pytest.mark.parametrize("d", SIZES)
def test_norms_are_those_of_the_differences(d):
    X, shift, norms = odd_rows(d), shift_of(d), np.empty(40)
    fill_moved_norms(X, shift, norms)
    with np.errstate(all="ignore"):
        (expected,) = row_norms(X - shift, Frame(d))
    assert np.array_equal(norms, expected)
    assert norms[30] == 0.0 and norms[6] == norms[7] == 0.0  # at the origin, and not finite


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("d", SIZES)
def test_integers_and_tally_are_those_of_the_differences(d, power):
    X, shift = odd_rows(d), shift_of(d)
    found, expected, tally, counted = np.empty((40, d)), np.empty((40, d)), new_tally(), new_tally()
    quantize_moved_block(X, shift, 2.5, 4.0**12, power, found, tally)
    with np.errstate(all="ignore"):
        quantize_block(X - shift, 2.5, 4.0**12, power, expected, counted)
    assert np.array_equal(found, expected) and np.array_equal(tally, counted)
    assert (np.abs(found) ** power).sum(axis=1).max() <= 4.0**12
    assert tally[0] == 40 and tally[1] >= 4 and tally[2] >= 1
