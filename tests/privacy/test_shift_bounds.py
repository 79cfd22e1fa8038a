"""Bounds of the mean of the Gaussian curve: the curve against 50 digits, laws against exact integrals."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from hushrank.privacy import gdp
from hushrank.privacy.shift_bounds import (
    LARGEST_SIZE,
    ROOM,
    ShiftLaw,
    chi_square_law,
    combine,
    convex_bound,
    curve,
    exponential_bound,
    fixed_law,
    inflection,
    line_bound,
    reach,
)

EPSILONS = [0.0, 1e-6, 0.01, 0.3, 1.0, 8.0, 50.0, 700.0]
MUS = [1e-5, 1e-3, 0.03, 0.24, 1.0, 3.0, 10.0, 40.0]


def exact_log_delta(epsilon, mu):
    """The Gaussian curve with 50 digits or more."""
    with mpmath.workdps(60):
        e, m = mpmath.mpf(epsilon), mpmath.mpf(mu)
        first, second = mpmath.ncdf(m / 2 - e / m), mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)
        return float(mpmath.log(first - second)) if first > second else -math.inf


# The curve.


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_curve_agrees_with_fifty_digits_and_is_rounded_up(epsilon):
    compared = 0
    for mu in MUS:
        exact = exact_log_delta(epsilon, mu)
        if exact < -1e5:  # far below the smallest float
            continue
        error = float(curve(epsilon, mu * mu)[0]) - exact
        cancelled = 2.0**-46 * (1.0 + epsilon / mu**2 + 1.0 / mu)  # of the difference of two Mills ratios
        assert -1e-12 * (1.0 + abs(exact)) <= error <= cancelled + 1e-12 * (1.0 + abs(exact))
        compared += 1
    assert compared >= 2


@given(st.floats(0.0, 100.0), st.floats(-3.0, 1.5))
@settings(deadline=None)
def test_curve_agrees_with_the_accountant(epsilon, exponent):
    mu = 10.0**exponent
    expected = float(gdp.log_delta(epsilon, mu))
    if expected > -600.0:
        slack = 2.0**-46 * (1.0 + epsilon / mu**2 + 1.0 / mu) + 1e-11
        assert float(curve(epsilon, mu * mu)[0]) == pytest.approx(expected, abs=slack)


@pytest.mark.parametrize("epsilon", [0.0, 0.01, 1.0, 50.0])
def test_derivative_of_the_curve(epsilon):
    x = np.geomspace(max(epsilon, 0.1) ** 2 / 100.0, 4.0 * epsilon + 20.0, 50)
    step = 1e-5 * x
    numeric = (curve(epsilon, x + step)[0] - curve(epsilon, x - step)[0]) / (2.0 * step)
    np.testing.assert_allclose(curve(epsilon, x)[1], numeric, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.0, 8.0, 50.0])
def test_curve_is_convex_up_to_its_inflection_only(epsilon):
    turn = float(inflection(epsilon))
    assert turn == pytest.approx(2.0 * math.sqrt(1.0 + epsilon**2) - 2.0, rel=1e-10)
    log_value, log_slope = curve(epsilon, turn * np.linspace(0.2, 3.0, 400))
    slopes = np.exp(log_value) * log_slope
    assert abs(int(np.argmax(slopes)) - int(0.8 / 2.8 * 399)) <= 1
    assert np.all(np.diff(log_slope) < 0.0)  # the logarithm is concave everywhere


# Laws on grids.


def call(law, strike):
    """E (X - strike)_+, with what lies beyond the last point; larger for all strikes is larger in convex order."""
    return float(law.masses @ np.maximum(law.points - strike, 0.0)) + law.excess


@pytest.mark.parametrize("size", [1, 2, 5, 32, 1000, 10**5])
def test_law_of_chi_square_is_slightly_larger_in_convex_order(size):
    law = chi_square_law(size)
    assert np.all(law.masses >= 0.0) and np.all(np.diff(law.points) > 0.0)
    assert law.masses.sum() == pytest.approx(1.0, abs=1e-13)
    assert law.masses @ law.points + law.excess == pytest.approx(1.0, abs=1e-13)
    assert 0.0 < law.excess < 1e-32
    for strike in (0.0, *stats.chi2.isf([1 - 1e-9, 0.9, 0.5, 0.1, 1e-3, 1e-6, 1e-9, 1e-15], size) / size):
        with mpmath.workdps(50):
            upper = [mpmath.gammainc(size / 2 + k, size * strike / 2, regularized=True) for k in (1, 0)]
            exact = float(upper[0] - mpmath.mpf(strike) * upper[1])
        assert exact * (1.0 - 1e-10) - 1e-14 * (strike < 1.0) <= call(law, strike) <= exact * 1.01


def test_sizes_beyond_the_largest_count_as_the_largest():
    law, largest = chi_square_law(10 * LARGEST_SIZE), chi_square_law(LARGEST_SIZE)
    assert all(np.array_equal(one, other) for one, other in zip(law, largest, strict=True))
    assert float(law.masses @ np.square(law.points - 1.0)) >= 2.0 / LARGEST_SIZE


@pytest.mark.parametrize("size", [1, 2, 3, 10, 100, 10**4])
def test_reach_leaves_little(size):
    low, high = reach(size)
    assert stats.chi2.logsf(size * high, size) <= -80.0
    assert low == 0.0 or stats.chi2.logcdf(size * low, size) <= -80.0


def moments(law):
    return [float(law.masses @ law.points**power) for power in (1, 2)]


def test_sums_and_products_keep_means_and_hardly_widen():
    first, second = chi_square_law(8), chi_square_law(50)
    total = combine(first.scaled(3.0), second.scaled(0.5), np.add)
    product = combine(first, second, np.multiply)
    variance = 9.0 * 2 / 8 + 0.25 * 2 / 50
    squares = (1 + 2 / 8) * (1 + 2 / 50)
    for law, mean, square in ((total, 3.5, 3.5**2 + variance), (product, 1.0, squares)):
        assert law.masses.sum() == pytest.approx(1.0, abs=1e-12)
        assert moments(law)[0] + law.excess == pytest.approx(mean, rel=1e-12)
        assert square <= moments(law)[1] <= square * 1.0001
        assert law.points.size <= 1025 and law.excess < 1e-29
    for operation in (np.add, np.multiply):
        beyond = combine(first._replace(excess=0.125), second._replace(excess=0.25), operation).excess
        assert beyond == pytest.approx(0.375, rel=1e-12)


def test_adding_a_number_moves_the_points():
    law = combine(fixed_law(2.0), chi_square_law(4), np.add)
    assert np.array_equal(law.points, 2.0 + chi_square_law(4).points)


def test_what_is_cut_off_is_paid_for():
    """Most of the mean beyond the last point: the bound does not lose it."""
    law = ShiftLaw(np.array([0.0, 0.01]), np.array([0.0, 1.0]), 0.49)
    height, slope = math.exp(curve(1.0, inflection(1.0))[0]), float(curve(1.0, inflection(1.0))[1])
    assert convex_bound(law, 0.5, 1.0) == pytest.approx(0.49 * height * slope, rel=1e-6)


# Bounds.


def two_points(low, high, mean):
    share = (mean - low) / (high - low)
    return ShiftLaw(np.array([low, high]), np.array([1.0 - share, share]), 0.0)


@given(
    st.floats(0.0, 20.0), st.floats(0.0, 1.0), st.floats(-3.0, 1.5), st.floats(-0.99, 0.0), st.floats(0.0, 1.5)
)  # fmt: skip
@settings(deadline=None, max_examples=300)
def test_lines_and_convex_functions_lie_above_the_curve(epsilon, shrink, exponent, below, above):
    """At a number that is not random, and at any law of two points with its mean or less."""
    mean = 10.0**exponent
    law = two_points(mean * (1.0 + below) * 0.999, mean * 10.0**above * 1.001, mean)
    truth = float(law.masses @ np.exp(curve(epsilon, law.points)[0]))
    assert truth <= convex_bound(law, mean, epsilon) * (1.0 + ROOM)
    eps = np.array([epsilon])
    assert truth <= line_bound(mean, eps)[0] * (1.0 + ROOM)
    smaller = float(np.exp(curve(epsilon, shrink * mean)[0]))
    assert smaller <= convex_bound(fixed_law(mean), mean, epsilon) * (1.0 + ROOM)


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 20.0])
def test_a_tangent_that_cuts_the_curve_is_no_bound(epsilon):
    """Just above the inflection, zero or far away is worse than the mean itself."""
    mean = 1.05 * float(inflection(epsilon))
    far = mean * np.geomspace(1.1, 100.0, 200)
    worst = np.max(np.exp(curve(epsilon, far)[0]) * mean / far)
    assert worst > 1.05 * math.exp(curve(epsilon, mean)[0])
    assert line_bound(mean, np.array([epsilon])) == [1.0]


def test_bounds_are_the_curve_where_nothing_is_random():
    eps = np.array([0.0, 0.01, 0.3, 1.0, 5.0, 50.0])
    for mean in (1e-4, 0.05, 1.0, 10.0):
        truth = np.exp(curve(eps, mean)[0])
        bound = exponential_bound(np.array([mean]), np.array([math.inf]), eps)
        large = truth > 1e-250
        np.testing.assert_allclose(bound[large], truth[large], rtol=1e-9)
        reached = truth == line_bound(mean, eps)
        assert reached[0] and np.all(line_bound(mean, eps)[~reached] == 1.0)
        convex = [convex_bound(fixed_law(mean), mean, e) for e in eps.tolist()]
        below = mean <= inflection(eps)
        np.testing.assert_allclose(np.array(convex)[below & large], truth[below & large], rtol=1e-6)


def renyi_delta(weights, sizes, epsilon):
    """The conversion of Canonne, Kamath and Steinke (2020) of the Renyi divergences of signs, at many orders."""
    alphas = 1.0 + np.geomspace(1e-3, 1e4, 20001)
    used = np.minimum(alphas * (alphas - 1.0) * weights[:, None] / sizes[:, None], 1.0)
    with np.errstate(divide="ignore"):
        moments = (-sizes[:, None] / 2.0 * np.log1p(-used)).sum(axis=0)
    return float(
        np.exp(np.min(moments - (alphas - 1.0) * epsilon + alphas * np.log1p(-1 / alphas) - np.log(alphas - 1)))
    )


@pytest.mark.parametrize("sizes", [[1.0], [4.0], [2.0, 8.0], [512.0]])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_exponentials_are_better_than_renyi_divergences(sizes, epsilon):
    for noise in (3.0 / epsilon, 10.0 / epsilon):
        weights = np.full(len(sizes), noise**-2)
        bound = exponential_bound(weights, np.array(sizes), np.array([epsilon]))[0]
        assert 0.0 < bound <= renyi_delta(weights, np.array(sizes), epsilon)


@pytest.mark.parametrize("size", [1, 4, 32])
def test_exponentials_lie_above_a_law_that_attains_the_moments(size):
    """chi^2_s/s has exactly these moments: the bound lies above its mean, and within ten of it."""
    law = chi_square_law(size)
    for epsilon, noise in ((0.3, 10.0), (1.0, 5.0), (8.0, 0.9)):
        truth = float(law.masses @ np.exp(curve(epsilon, law.points / noise**2)[0]))
        bound = exponential_bound(np.array([noise**-2]), np.array([float(size)]), np.array([epsilon]))[0]
        assert truth <= bound * (1.0 + 1e-3) and bound <= 10.0 * truth
