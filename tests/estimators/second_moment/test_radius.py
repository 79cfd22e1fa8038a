"""The search for a radius: its grid, thresholds, levels on planted norms, and events."""

import math
from fractions import Fraction

import numpy as np
import pytest

from hushrank.estimators.second_moment import radius
from hushrank.estimators.second_moment.radius import release_radius, search_grid
from hushrank.linalg.histogram import integer_histogram
from hushrank.privacy.accountant import squared_mu
from hushrank.privacy.events import Composed, Gaussian, Pure, Repeated
from hushrank.privacy.guarantee import Neighbors
from hushrank.privacy.noise.source import NoiseSource

RELATIONS = list(Neighbors)


# Grid


def test_the_grid_has_eight_points_to_a_factor_of_two_and_exact_powers_of_two():
    grid = search_grid(3.0, 128)
    assert len(grid) == 128 and grid[-1] == 3.0 and np.all(np.diff(grid) > 0)
    assert [grid[-1 - 8 * k] for k in range(16)] == [3.0 * 2.0**-k for k in range(16)]
    assert grid[1:] / grid[:-1] == pytest.approx(2 ** (1 / 8), rel=1e-14)
    assert search_grid(3.0, 96).tolist() == grid[-96:].tolist()


def test_the_grid_has_the_documented_bits():
    """Made of `math.pow` one by one: NumPy's powers of arrays differ between processors."""
    expected = [(7.5 * math.pow(2.0, -j / 8)).hex() for j in reversed(range(128))]
    assert [point.hex() for point in search_grid(7.5, 128).tolist()] == expected
    assert search_grid(1.0, 9).tolist()[-2].hex() == "0x1.d5818dcfba487p-1"
    assert search_grid(1.0, 9).tolist()[4].hex() == "0x1.6a09e667f3bcdp-1"  # the root of a half


@pytest.mark.parametrize("top", [1e-110, 1e-100, 1.0, 1e100, 1e105])
def test_the_grid_of_any_bound_rises(top):
    assert np.all(np.diff(search_grid(top, 128)) > 0) and np.isfinite(search_grid(top, 128)).all()


# Levels on planted norms


@pytest.mark.parametrize("neighbors", RELATIONS)
@pytest.mark.parametrize("event", [Gaussian(0.05), Pure(20.0)])
@pytest.mark.parametrize("level", [0.5, 0.75, 0.95, 0.999])
def test_about_the_share_that_was_asked_for_is_not_longer(level, event, neighbors):
    norms = np.exp(np.random.default_rng(0).standard_normal(20_000))
    grid = search_grid(1000.0, 128)
    histogram = integer_histogram(norms, grid)
    found = [release_radius(histogram, grid, level, 20_000, event, NoiseSource(), neighbors) for _ in range(10)]
    reached = [np.mean(norms <= point) for point in found]
    before = [np.mean(norms <= point / 2 ** (1 / 8)) for point in found]
    # Off by 20 rows: deviations of the noise are below 0.3, so this is beyond 40 of them.
    assert min(reached) >= level - 1e-3 and max(before) <= level + 1e-3
    assert set(found) <= set(grid.tolist())


@pytest.mark.parametrize("event", [Gaussian(1e-3), Pure(1e4)])
def test_rows_of_one_norm_get_the_next_point_of_the_grid(event):
    grid = search_grid(64.0, 128)
    for norm in (64.0, 1.0, 3.3, 0.1):
        histogram = integer_histogram(np.full(50, norm), grid)
        found = release_radius(histogram, grid, 0.5, 50, event, NoiseSource(), Neighbors.REPLACE)
        assert norm <= found < norm * 2 ** (1 / 8)


@pytest.mark.parametrize("event", [Gaussian(1e-3), Pure(1e4)])
def test_norms_beyond_the_grid_get_its_ends(event):
    grid = search_grid(1.0, 128)
    for norm, end in ((1e9, grid[-1]), (0.0, grid[0]), (1e-30, grid[0]), (math.inf, grid[-1])):
        histogram = integer_histogram(np.full(50, norm), grid)
        assert release_radius(histogram, grid, 0.9, 50, event, NoiseSource(), Neighbors.REPLACE) == end


# Thresholds and events


def test_a_pure_search_has_the_threshold_of_the_count_that_it_is_given(monkeypatch):
    """Not of the number of people in the histogram, which may be secret."""
    seen = []
    monkeypatch.setattr(radius, "release_first_above", lambda *terms: seen.append(terms[2]) or 1.0)
    grid, histogram = search_grid(1.0, 128), np.ones(129, np.int64)
    for level, count in ((0.5, 7), (0.75, 1000), (0.999, 129), (0.5, 1)):
        release_radius(histogram, grid, level, count, Pure(1.0), NoiseSource(), Neighbors.ADD_REMOVE)
        release_radius(10 * histogram, grid, level, count, Pure(1.0), NoiseSource(), Neighbors.ADD_REMOVE)
    assert seen == [4, 4, 750, 750, 129, 129, 1, 1]


@pytest.mark.parametrize("neighbors", RELATIONS)
def test_a_search_executes_its_event_and_no_more(neighbors):
    grid, histogram = search_grid(1.0, 128), np.ones(129, np.int64)
    noise = NoiseSource()
    release_radius(histogram, grid, 0.5, 129, Pure(0.7), noise, neighbors)
    assert noise.executed == (Pure(0.7),)
    noise = NoiseSource()
    release_radius(histogram, grid, 0.5, 129, Gaussian(3.0), noise, neighbors)
    [event] = noise.executed
    assert isinstance(event, Repeated) and event.count == 7
    spent, whole = squared_mu(Composed([event]), "test"), Fraction(1, 9)
    assert whole * (1 - Fraction(1, 10**12)) <= spent <= whole
