"""Gaussian second-moment releases: sensitivity attained, GOE shape from both sides, an audit, identities."""

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hushrank.evaluation.audit import delta_lower_bound
from hushrank.exceptions import InvalidParameter
from hushrank.privacy import accountant
from hushrank.privacy.events import Gaussian, Pure
from hushrank.privacy.guarantee import Neighbors
from hushrank.privacy.mechanisms.symmetric import (
    release_symmetric,
    second_moment_frobenius_sensitivity,
    symmetric_lattice,
)
from hushrank.privacy.noise.source import NoiseSource
from support import FALSE_ALARM, assert_plausible, four_squares, normal_scale_p_value, plant

RELATIONS = list(Neighbors)


# Sensitivity


@given(st.floats(1e-3, 1e4), st.sampled_from(RELATIONS), st.sampled_from([1, 1000, 2**26, 2**40]))
def test_bound_is_the_largest_that_the_event_allows(noise_multiplier, neighbors, n_max):
    lattice = symmetric_lattice(3.0, Gaussian(noise_multiplier), neighbors, n_max=n_max)
    squared_factor = {Neighbors.REPLACE: 2, Neighbors.ADD_REMOVE: 1}[neighbors]

    def mu_squared(bound):  # squared Frobenius sensitivity over squared Frobenius noise scale, 2 4^k
        return Fraction(squared_factor * bound**2, 2 * 4**lattice.exponent)

    allowed = 1 / Fraction(noise_multiplier) ** 2
    assert mu_squared(lattice.squared_bound) <= allowed
    assert mu_squared(lattice.squared_bound + 1) > allowed or lattice.exponent == 0
    assert lattice.squared_bound <= 4**18 and n_max * lattice.squared_bound <= 2**62


@pytest.mark.parametrize("neighbors", RELATIONS)
def test_a_worst_pair_attains_the_sensitivity(neighbors):
    lattice = symmetric_lattice(2.5, Gaussian(1.7), neighbors)
    y = np.array([*four_squares(lattice.squared_bound), 0, 0, 0, 0])
    change = np.outer(y, y)
    if neighbors is Neighbors.REPLACE:
        change = change - np.outer(np.roll(y, 4), np.roll(y, 4))
    size = np.linalg.norm(change * lattice.step)
    assert size == pytest.approx(second_moment_frobenius_sensitivity(2.5, neighbors), rel=1e-12)
    assert size / (math.sqrt(2) * lattice.scale) == pytest.approx(1 / 1.7, rel=1e-8)


# Noise


def test_noise_is_goe_shaped_from_both_sides():
    lattice, d = symmetric_lattice(1.0, Gaussian(3.0)), 1500
    noise = release_symmetric(np.zeros((d, d), np.int64), lattice, NoiseSource())
    assert np.array_equal(noise, noise.T)
    above, diagonal = noise[np.triu_indices(d, 1)], np.diag(noise)
    assert_plausible(normal_scale_p_value(above, lattice.scale))
    assert_plausible(normal_scale_p_value(diagonal, math.sqrt(2) * lattice.scale))
    for wrong in (0.7, 1.3):
        assert normal_scale_p_value(above, wrong * lattice.scale) < FALSE_ALARM
        assert normal_scale_p_value(diagonal, wrong * math.sqrt(2) * lattice.scale) < FALSE_ALARM


def test_stated_scale_is_that_of_the_design():
    # replace: off-diagonal standard deviation row_norm^2 / mu; add_remove: a factor sqrt(2) less
    assert symmetric_lattice(2.0, Gaussian(1.3)).scale == pytest.approx(4.0 * 1.3, rel=1e-8)
    assert symmetric_lattice(2.0, Gaussian(1.3), "add_remove").scale == pytest.approx(8**0.5 * 1.3, rel=1e-8)


# Audit: the projection on the worst change is a scalar Gaussian; diag(+1, -1, +1, ...) holds d/2 independent copies


@pytest.mark.parametrize(("halvings", "threshold"), [(0, 1.5), (1, 0.75)])
def test_audit_notices_halved_noise(halvings, threshold):
    event, epsilon, d = Gaussian(1.0), 1.0, 200
    lattice = symmetric_lattice(1.0, event)
    planted = plant(lattice, exponent=lattice.exponent - halvings)
    pair = np.tile([lattice.squared_bound, -lattice.squared_bound], d // 2)  # replacing e2 by e1, in every 2 x 2 block
    hits = []
    for change in (pair, 0 * pair):
        released = np.stack(
            [np.diag(release_symmetric(np.diag(change), planted, NoiseSource())) for _ in range(200)]
        )  # fmt: skip
        projected = (released[:, ::2] - released[:, 1::2]) / 2 / (lattice.squared_bound * lattice.step)
        hits.append(int(np.count_nonzero(projected > threshold)))
    trials = 200 * d // 2
    bound = delta_lower_bound(hits[0], trials, hits[1], trials, epsilon, confidence=1 - FALSE_ALARM)
    claimed = accountant.delta(event, epsilon)
    assert bound > 3 * claimed if halvings else 0.3 * claimed < bound < claimed


# Identities


def test_the_matrix_comes_through_when_the_noise_is_small():
    lattice = symmetric_lattice(1.0, Gaussian(1e-9))
    total = np.array([[5, -3], [-3, 2**40]])
    released = release_symmetric(total, lattice, NoiseSource())
    assert np.abs(released - total * lattice.step).max() < 12 * lattice.scale < 1e-6


def test_only_the_upper_triangle_is_read():
    lattice = symmetric_lattice(1.0, Gaussian(1.0))
    total = np.array([[5, -3], [10**9, 7]])
    mirrored = np.array([[5, -3], [-3, 7]])
    first, second = (release_symmetric(t, lattice, NoiseSource(seed=1)) for t in (total, mirrored))
    assert np.array_equal(first, second)


def test_entries_are_independent_of_each_other_and_between_releases():
    lattice, d = symmetric_lattice(1.0, Gaussian(1.0)), 600
    first, second = (release_symmetric(np.zeros((d, d), np.int64), lattice, NoiseSource()) for _ in range(2))
    above = first[np.triu_indices(d, 1)]
    diagonal = np.diag(first)
    for a, b in (
        (diagonal, np.diag(second)),
        (diagonal[1:], diagonal[:-1]),
        (diagonal[1:], np.diag(first, 1)),
        (above[1:], above[:-1]),
        (above, second[np.triu_indices(d, 1)]),
    ):
        assert_plausible(stats.pearsonr(a, b).pvalue)


# Refusals


@pytest.mark.parametrize("row_norm", [1e-160, 1e160])
def test_bounds_that_float64_cannot_hold_are_refused(row_norm):
    with pytest.raises(InvalidParameter, match="row_norm of symmetric_lattice must be a bound whose lattice fits"):
        symmetric_lattice(row_norm, Gaussian(1.0))


def test_a_lattice_with_too_little_noise_cannot_be_made():
    lattice = symmetric_lattice(1.0, Gaussian(1.0))
    with pytest.raises(InvalidParameter, match="event of symmetric_lattice must be one that the noise"):
        dataclasses.replace(lattice, exponent=lattice.exponent - 1)


@pytest.mark.parametrize("row_norm", [0, -1.0, math.nan, math.inf])
def test_the_bound_must_be_positive_and_finite(row_norm):
    with pytest.raises(InvalidParameter, match=r"^row_norm of symmetric_lattice must be a finite float > 0"):
        symmetric_lattice(row_norm, Gaussian(1.0))


def test_other_events_and_totals_are_refused_and_nothing_is_logged():
    noise = NoiseSource()
    with pytest.raises(InvalidParameter, match=r"^event of symmetric_lattice must be Gaussian"):
        symmetric_lattice(1.0, Pure(1.0))
    with pytest.raises(InvalidParameter, match="at least one lattice unit"):
        symmetric_lattice(1.0, Gaussian(1e17))
    lattice = symmetric_lattice(1.0, Gaussian(1.0))
    for total in (np.zeros((2, 2)), np.zeros((2, 3), np.int64)):
        with pytest.raises(InvalidParameter, match="total of release_symmetric"):
            release_symmetric(total, lattice, noise)
    assert noise.executed == ()
    release_symmetric(np.zeros((2, 2), np.int64), lattice, noise)
    assert noise.executed == (Gaussian(1.0),)
