"""Normalizing constants and means against closed forms, symmetries, Haar averages and limits."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from hushrank.exceptions import InvalidParameter
from hushrank.orbit import partition
from hushrank.orbit.law import OrbitLaw
from hushrank.orbit.partition import log_partition, mean_diagonal
from orbit_support import haar_bases, power_law
from support import FALSE_ALARM, assert_plausible


def complex_law(tilts, levels):
    return OrbitLaw(tilts, levels, is_complex=True)


@st.composite
def laws(draw, most=5):
    d = draw(st.integers(1, most))
    number = st.one_of(st.integers(-4, 4).map(float), st.floats(-20, 20))  # integers make ties
    tilts = sorted(draw(st.lists(number, min_size=d, max_size=d)), reverse=True)
    level = st.one_of(st.integers(1, 3).map(float), st.floats(0.01, 3))
    levels = sorted(draw(st.lists(level, min_size=1, max_size=d)), reverse=True)
    return complex_law(tilts, levels)


# Closed forms


@pytest.mark.parametrize("levels", [[2.0], [1.0, 1.0], [3.0, 1.0, 0.25]])
def test_without_tilts_it_is_zero(levels):
    law = complex_law(np.zeros(4), levels)
    assert log_partition(law) == 0.0
    assert mean_diagonal(law) == pytest.approx(sum(levels) / 4)


@settings(deadline=None)
@given(st.floats(-50, 50), st.floats(0.01, 50))
def test_rank_one_in_the_plane(low, gap):
    law = complex_law([low + gap, low], [1.0])
    gap = law.tilts[0] - law.tilts[1]
    assert log_partition(law) == pytest.approx(low + math.log(math.expm1(gap) / gap), rel=1e-12, abs=1e-12)


def test_rank_one_is_a_divided_difference():
    g, level = np.array([5.0, 3.0, 0.5, -1.0]), 1.5
    terms = [math.exp(level * x) / np.prod([level * (x - y) for y in g if y != x]) for x in g]
    assert log_partition(complex_law(g, [level])) == pytest.approx(math.log(6 * sum(terms)), rel=1e-12)


def test_full_rank_is_the_determinant_formula():
    g, b = np.array([2.0, 0.5, -1.0]), np.array([1.5, 1.0, 0.25])
    delta = [np.prod([x[i] - x[j] for i in range(3) for j in range(i + 1, 3)]) for x in (g, b)]
    expected = math.log(2 * np.linalg.det(np.exp(np.outer(g, b))) / (delta[0] * delta[1]))
    assert log_partition(complex_law(g, b)) == pytest.approx(expected, rel=1e-11)


@settings(deadline=None)
@given(st.lists(st.floats(-10, 10), min_size=1, max_size=5), st.floats(0.1, 3))
def test_a_multiple_of_the_identity_is_no_random_matrix(tilts, level):
    law = complex_law(sorted(tilts, reverse=True), [level] * len(tilts))
    assert log_partition(law) == pytest.approx(level * math.fsum(tilts), rel=1e-12, abs=1e-13)
    assert mean_diagonal(law) == pytest.approx(level)


def test_concentrated_rank_one_is_its_leading_term():
    law = power_law(6, 1e6, [1.0])
    expected = 1e6 + math.log(120) - np.log(law.tilts[0] - law.tilts[1:]).sum()
    assert log_partition(law) == pytest.approx(expected, rel=1e-14)
    assert mean_diagonal(law)[1:] == pytest.approx(1 / (law.tilts[0] - law.tilts[1:]), rel=1e-12)


# Symmetries


@settings(deadline=None)
@given(laws(), st.floats(-30, 30))
def test_adding_to_all_tilts_adds_a_multiple_of_the_trace(law, t):
    moved = complex_law(law.tilts + t, law.levels)
    expected = log_partition(law) + t * law.levels.sum()
    assert log_partition(moved) == pytest.approx(expected, rel=1e-11, abs=1e-11)


@settings(deadline=None)
@given(laws(), st.sampled_from([0.25, 2.0, 8.0]))
def test_tilts_and_levels_may_trade_a_factor(law, factor):
    traded = complex_law(law.tilts * factor, law.levels / factor)
    assert log_partition(traded) == pytest.approx(log_partition(law), rel=1e-13, abs=1e-15)
    assert mean_diagonal(traded) == pytest.approx(mean_diagonal(law) / factor, rel=1e-13)


@settings(deadline=None)
@given(laws(), st.data())
def test_a_projection_and_its_complement(law, data):
    d = law.dimension
    k = data.draw(st.integers(1, max(1, d - 1)))
    if d > 1:
        one, other = complex_law(law.tilts, np.ones(k)), complex_law(-law.tilts[::-1], np.ones(d - k))
        expected = law.tilts.sum() + log_partition(other)
        assert log_partition(one) == pytest.approx(expected, rel=1e-11, abs=1e-11)
        assert mean_diagonal(one) == pytest.approx(1 - mean_diagonal(other)[::-1], abs=1e-12)


# Averages over the unitary group


def haar_p_value(law, rng):
    U = haar_bases(200_000, law.dimension, law.is_complex, rng)[:, :, : law.rank]
    weights = np.exp((np.abs(U) ** 2 @ law.levels) @ law.tilts - log_partition(law))
    return 2 * stats.norm.sf(abs(weights.mean() - 1) / (weights.std() / math.sqrt(len(weights))))


HAAR_CASES = [
    ([2.0, 1.0, 0.0], [1.0]),
    ([2.0, 1.0, 0.0], [1.0, 1.0]),
    ([2.0, 2.0, -0.5], [1.5, 0.5]),
    ([1.0, -0.5, -0.5], [1.0, 0.5, 0.5]),
]


@pytest.mark.parametrize(("tilts", "levels"), HAAR_CASES)
def test_haar_averages_agree(tilts, levels):
    assert_plausible(haar_p_value(complex_law(tilts, levels), np.random.default_rng()))


@pytest.mark.parametrize(("tilts", "levels"), HAAR_CASES[:2])
def test_haar_averages_expose_a_wrong_tilt(tilts, levels, monkeypatch):
    """Planted bug: the second tilt is used twice, the first one never."""
    right = partition._shifted_tilts
    monkeypatch.setattr(partition, "_shifted_tilts", lambda law: [right(law)[i] for i in (1, 1, 2)])
    assert haar_p_value(complex_law(tilts, levels), np.random.default_rng()) < FALSE_ALARM


# Real laws of rank 1


def real_law(tilts, level=1.0):
    return OrbitLaw(tilts, [level], is_complex=False)


@pytest.mark.parametrize("gap", [1e-3, 1.0, 100.0, 9000.0])
def test_real_rank_one_in_the_plane_is_a_bessel_function(gap):
    law = real_law([gap - 2.0, -2.0])
    gap = law.tilts[0] - law.tilts[1]
    expected = -2.0 + gap + math.log(special.ive(0, gap / 2))
    assert log_partition(law) == pytest.approx(expected, rel=1e-12)
    ratio = special.ive(1, gap / 2) / special.ive(0, gap / 2)
    assert mean_diagonal(law) == pytest.approx([(1 + ratio) / 2, (1 - ratio) / 2], rel=1e-10)


def test_real_rank_one_with_one_large_tilt_is_a_kummer_function():
    law = real_law([3.0, 0.0, 0.0, 0.0], 2.0)
    assert log_partition(law) == pytest.approx(math.log(special.hyp1f1(0.5, 2.0, 6.0)), rel=1e-12)


@settings(deadline=None)
@given(st.lists(st.one_of(st.integers(-4, 4).map(float), st.floats(-20, 20)), min_size=2, max_size=5))
def test_real_means_are_derivatives_and_sum_to_the_trace(tilts):
    tilts, h = np.sort(tilts)[::-1], 1e-5
    mean = mean_diagonal(real_law(tilts))
    assert mean.sum() == pytest.approx(1.0, rel=1e-13)
    ends = [log_partition(real_law(np.sort(tilts + s * h * np.eye(len(tilts))[0])[::-1])) for s in (1, -1)]
    assert mean[0] == pytest.approx((ends[0] - ends[1]) / (2 * h), abs=1e-8)


def test_real_haar_averages_agree():
    law = real_law([2.0, 1.0, 0.0, 0.0], 1.5)
    assert_plausible(haar_p_value(law, np.random.default_rng()))


# Derivatives


@settings(deadline=None)
@given(laws(), st.data())
def test_it_is_convex(law, data):
    steps = st.lists(st.floats(-3, 3), min_size=law.dimension, max_size=law.dimension)
    other = complex_law(sorted(law.tilts + data.draw(steps), reverse=True), law.levels)
    middle = complex_law((law.tilts + other.tilts) / 2, law.levels)
    ends = log_partition(law), log_partition(other)
    assert log_partition(middle) <= sum(ends) / 2 + 1e-11 * max(1.0, *map(abs, ends))


@settings(deadline=None)
@given(laws())
def test_means_are_bounded_ordered_and_sum_to_the_trace(law):
    mean = mean_diagonal(law)
    lowest = law.levels[-1] if law.rank == law.dimension else 0.0
    assert (mean >= lowest - 1e-12).all() and (mean <= law.levels[0] + 1e-12).all()
    assert (np.diff(mean) <= 1e-12).all()
    assert mean.sum() == pytest.approx(law.levels.sum(), rel=1e-13)
    assert all(mean[i] == mean[i + 1] for i in np.flatnonzero(np.diff(law.tilts) == 0))


@pytest.mark.parametrize("levels", [[1.0], [1.0, 1.0], [2.0, 0.5, 0.25], [1.0, 1.0, 0.5, 0.5]])
def test_means_are_derivatives(levels):
    law, h = complex_law([4.0, 3.0, 1.5, 0.0], levels), 1e-4
    slopes = []
    for unit in np.eye(4):
        up, down = (log_partition(complex_law(law.tilts + sign * h * unit, levels)) for sign in (1, -1))
        slopes.append((up - down) / (2 * h))
    assert mean_diagonal(law) == pytest.approx(np.array(slopes), abs=1e-8)


# Ties


@pytest.mark.parametrize("tilts", [[3.0, 3.0, 1.0, 1.0], [2.0, 2.0, 2.0, 0.0], [5.0, 1.0, 1.0, 1.0]])
@pytest.mark.parametrize("levels", [[1.0], [1.0, 1.0], [2.0, 1.0, 1.0]])
def test_ties_are_limits(tilts, levels):
    tied = complex_law(tilts, levels)
    near = complex_law(np.array(tilts) - 1e-11 * np.arange(4), np.array(levels) - 1e-11 * np.arange(len(levels)))
    assert log_partition(near) == pytest.approx(log_partition(tied), abs=1e-9)
    assert mean_diagonal(near) == pytest.approx(mean_diagonal(tied), abs=1e-9)


# Extremes


@settings(deadline=None, max_examples=20)
@given(st.sampled_from([1e-12, 1e-6, 1e6, 1e9]), st.sampled_from([[1.0], [1.0, 1.0], [1.0, 0.5, 1e-4]]))
def test_weak_and_strong_tilts(scale, levels):
    law = power_law(5, scale, levels)
    mean, value = mean_diagonal(law), log_partition(law)
    k = len(levels)
    assert law.tilts.mean() * sum(levels) * (1 - 1e-9) <= value <= law.tilts[:k] @ law.levels  # Jensen; the maximum
    assert mean.sum() == pytest.approx(sum(levels))


def test_opposite_tilts_can_cancel_exactly():
    assert log_partition(complex_law([1.0, -1.0], [1.0, 1.0])) == 0.0


# Refusals


@pytest.mark.parametrize("function", [log_partition, mean_diagonal])
@pytest.mark.parametrize("law", [([1.0, 0.0], [1.0, 0.5]), ([1e5, 0.0], [1.0])])
def test_other_real_laws_are_refused(function, law):
    with pytest.raises(InvalidParameter, match="must be complex, or real of rank 1 with levels_1"):
        function(OrbitLaw(*law, is_complex=False))


@pytest.mark.parametrize("function", [log_partition, mean_diagonal])
def test_a_missing_package_is_named(function, monkeypatch):
    monkeypatch.setattr(partition, "flint_is_available", lambda: False)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'hushrank\[orbit\]'"):
        function(complex_law([1.0, 0.0], [1.0]))


def test_spectra_beyond_the_precision_are_refused(monkeypatch):
    monkeypatch.setattr(partition, "_MOST_BITS", 200)
    with pytest.raises(InvalidParameter, match="200 bits"):
        log_partition(power_law(30, 100.0, [1.0, 0.5]))
