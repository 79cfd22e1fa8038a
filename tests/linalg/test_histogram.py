"""Counts in half-open cells, of every value whatever it is."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hushrank.linalg.histogram import integer_histogram


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
