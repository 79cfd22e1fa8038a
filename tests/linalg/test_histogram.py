"""Counts in half-open cells, of every value whatever it is."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hushrank.linalg.histogram import geometric_grid, integer_histogram


@given(
    arrays(np.float64, st.integers(0, 30), elements=st.floats() | st.sampled_from([-1.0, 0.0, 0.5])),
    st.lists(st.sampled_from([-1.0, 0.0, 0.5]) | st.floats(-1e9, 1e9), min_size=1, max_size=6, unique=True),
)
@example(np.array([np.nan, np.inf, -np.inf, 0.0, -0.0]), [0.0])
def test_histogram_counts_half_open_cells(values, grid):
    grid = sorted(grid)
    edges = [-math.inf, *grid, math.inf]
    expected = [sum(low < v <= high for v in values) for low, high in pairwise(edges)]
    expected[0] += sum(v == -math.inf for v in values)
    expected[-1] += sum(v != v for v in values)
    assert integer_histogram(values, grid).tolist() == expected


def test_unsuitable_grids_and_values_are_refused():
    for grid in ([], [1.0, 1.0], [2.0, 1.0], [0.0, math.nan], [0.0, math.inf]):
        with pytest.raises(ValueError, match=r"grid of integer_histogram must be finite, strictly increasing"):
            integer_histogram([1.0], grid)
    for values in ([[1.0]], [1j], ["a"], [None]):
        with pytest.raises(ValueError, match=r"values of integer_histogram must be a vector of real numbers; got"):
            integer_histogram(values, [0.0])


@pytest.mark.parametrize(
    ("low", "high", "n"), [(1.0, 40.0, 128), (1e-9, 1e9, 64), (0.3, 0.9, 2), (2.0**-20, 2.0**20, 9)]
)
def test_a_geometric_grid_has_equal_ratios_and_its_ends(low, high, n):
    grid = geometric_grid(low, high, n)
    assert (grid[0], grid[-1], len(grid)) == (low, high, n) and (np.diff(grid) > 0).all()
    assert np.allclose(np.diff(np.log(grid)), math.log(high / low) / (n - 1), rtol=1e-9)


def test_a_geometric_grid_is_made_of_single_powers():
    # Powers of whole arrays differ in their last bit between processors, and a point of a grid is released.
    grid = geometric_grid(1.0, 40.0, 128)
    exponents = np.linspace(0.0, math.log10(40.0), 128)
    assert [point.hex() for point in grid.tolist()[1:-1]] == [math.pow(10.0, float(e)).hex() for e in exponents[1:-1]]
