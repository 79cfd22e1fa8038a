"""The Gaussian curve against 50-digit arithmetic; its inverses are on the private side and tight."""

import math
import os
import subprocess
import sys

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushrank.exceptions import InvalidParameter
from hushrank.privacy import gdp
from hushrank.privacy.gdp import (
    crossing,
    epsilon_of_mu,
    gaussian_delta,
    log_delta,
    mu_of_budget,
    mu_of_pure,
    zcdp_epsilon,
    zcdp_log_delta,
)

EPSILONS = np.geomspace(1e-3, 100.0, 11)
DELTAS = (0.9, 0.5, 0.1, 1e-3, 1e-6, 1e-10, 1e-15, 1e-40, 1e-120, 1e-300)


def exact_delta(epsilon, mu):
    """The definition, with 50 digits left after the cancellation of its two terms."""
    with mpmath.workdps(60 + int(max(0.0, -2.0 * math.log10(mu)))):
        epsilon, mu = mpmath.mpf(epsilon), mpmath.mpf(mu)
        first = mpmath.erfc((epsilon / mu - mu / 2) / mpmath.sqrt(2)) / 2
        second = mpmath.erfc((epsilon / mu + mu / 2) / mpmath.sqrt(2)) / 2
        return first - mpmath.exp(epsilon) * second


def relative_error(got, expected):
    return abs(float((mpmath.mpf(float(got)) - expected) / expected))


# The curve


@pytest.mark.parametrize("target", DELTAS)
def test_delta_equals_the_definition_for_every_size_of_delta(target):
    for epsilon in EPSILONS:
        mu = mu_of_budget(epsilon, target)
        assert relative_error(gaussian_delta(epsilon, mu), exact_delta(epsilon, mu)) < 1e-12


@pytest.mark.parametrize("mu", [1e-5, 1e-3, 0.1, 0.999, 1.001, 3.0, 12.0, 50.0])
def test_delta_equals_the_definition_in_the_corners(mu):
    checked = 0
    for epsilon in [0.0, 1e-9, 1e-5, *EPSILONS, mu * mu / 2, mu * (mu / 2 + 11.99), mu * (mu / 2 + 12.01)]:
        for signed in (epsilon, -epsilon):
            expected = exact_delta(signed, mu)
            if expected > 1e-300:
                assert relative_error(gaussian_delta(signed, mu), expected) < 1e-12
                checked += 1
    assert checked >= 16


@pytest.mark.parametrize(("epsilon", "mu"), [(100.0, 1e-5), (1.0, 1e-3), (5.0, 0.01), (700.0, 3.0)])
def test_logarithm_reaches_below_the_smallest_float(epsilon, mu):
    with mpmath.workdps(40):
        a = mpmath.mpf(epsilon) / mu - mpmath.mpf(mu) / 2
        ratios = [mpmath.hyperu(0.5, 0.5, x * x / 2) / mpmath.sqrt(2) for x in (a, a + mpmath.mpf(mu))]
        expected = -a * a / 2 - mpmath.log(2 * mpmath.pi) / 2 + mpmath.log(ratios[0] - ratios[1])
    assert expected < -5000
    assert relative_error(log_delta(epsilon, mu), expected) < 1e-12


def test_limits_of_the_curve():
    epsilons = np.array([-2.0, 0.0, 2.0])
    np.testing.assert_array_equal(gaussian_delta(epsilons, math.inf), [1.0, 1.0, 1.0])
    np.testing.assert_allclose(gaussian_delta(epsilons, 0.0), [1.0 - math.exp(-2.0), 0.0, 0.0], rtol=1e-15)
    assert gaussian_delta(1e300, 1e-10) == 0.0
    assert gaussian_delta(-1e300, 1e-10) == 1.0
    assert gaussian_delta(math.inf, 2.0) == 0.0


def test_arrays_of_any_shape_give_the_values_of_scalars():
    epsilons = np.linspace(-30.0, 90.0, 24).reshape(2, 3, 4)
    for mu in (0.02, 0.8, 4.0):
        values = log_delta(epsilons, mu)
        assert values.shape == epsilons.shape
        for index in np.ndindex(epsilons.shape):
            assert values[index] == pytest.approx(float(log_delta(epsilons[index], mu)), rel=1e-13)


def test_curve_falls_in_epsilon_and_rises_in_mu_across_all_branches():
    epsilons = np.linspace(-20.0, 60.0, 4001)
    mus = np.geomspace(1e-4, 50.0, 60)
    table = np.array([log_delta(epsilons, mu) for mu in mus])
    with np.errstate(invalid="ignore"):
        assert np.nanmax(np.diff(table, axis=1)) < 1e-14
        assert np.nanmin(np.diff(table, axis=0)) > -1e-14


# The inverses


@pytest.mark.parametrize("target", DELTAS)
def test_mu_of_budget_is_private_and_tight(target):
    for epsilon in [0.0, *EPSILONS]:
        mu = mu_of_budget(epsilon, target)
        assert exact_delta(epsilon, mu) <= target
        assert exact_delta(epsilon, mu * (1 + 1e-8)) > target


@pytest.mark.parametrize("mu", [1e-5, 0.01, 0.3, 1.0, 4.0, 50.0])
def test_epsilon_of_mu_is_private_and_tight(mu):
    for target in DELTAS:
        epsilon = epsilon_of_mu(mu, target)
        assert exact_delta(epsilon, mu) <= target
        if epsilon > 0.0:
            assert exact_delta(epsilon * (1 - 1e-7), mu) > target


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_inverses_agree_and_never_exceed_the_budget(epsilon):
    for target in DELTAS:
        back = epsilon_of_mu(mu_of_budget(epsilon, target), target)
        assert back <= epsilon
        assert back == pytest.approx(epsilon, rel=1e-7, abs=1e-7)


def test_nodes_and_weights_are_those_of_gauss_and_legendre():
    """To the last bit, and exact for polynomials of degree 23."""
    with mpmath.workdps(40):
        for node, weight in zip(gdp._HALF_NODES, gdp._HALF_WEIGHTS, strict=True):
            root = mpmath.findroot(lambda x: mpmath.legendre(12, x), node)
            slope = 12 * (root * mpmath.legendre(12, root) - mpmath.legendre(11, root)) / (root**2 - 1)
            assert (float(root), float(2 / ((1 - root**2) * slope**2))) == (node, weight)
    powers = gdp._NODES[:, np.newaxis] ** np.arange(24)
    assert gdp._integral(powers.T) == pytest.approx(1 / np.arange(1.0, 25.0), rel=1e-14)


def test_mu_of_budget_has_the_same_bits_with_every_kernel_of_a_product():
    """OpenBLAS takes its kernels by the processor; the names are of x86, elsewhere there is nothing to choose."""
    program = """if True:
        from hushrank.privacy.gdp import mu_of_budget
        print([mu_of_budget(1.06**k * 1e-3, 10.0 ** -(k % 9 + 1)).hex() for k in range(120)])"""

    def bits(kernels):
        run = subprocess.run([sys.executable, "-c", program], env=os.environ | kernels, capture_output=True, check=True)
        return run.stdout

    here = bits({})
    assert here.count(b"0x") == 120 and bits({"OPENBLAS_CORETYPE": "Prescott"}) == here


def test_limits_of_epsilon_of_mu():
    assert epsilon_of_mu(0.0, 0.0) == 0.0
    assert epsilon_of_mu(1.0, 0.0) == math.inf
    assert epsilon_of_mu(math.inf, 0.5) == math.inf
    assert epsilon_of_mu(0.1, 0.9) == 0.0
    assert epsilon_of_mu(1e4, 1e-6) < epsilon_of_mu(1.0001e4, 1e-6) < 1.001 * epsilon_of_mu(1e4, 1e-6)


@pytest.mark.parametrize("epsilon", [1e-300, 1e-12, 1e-5, 0.1, 0.999, 1.001, 5.0, 100.0, 700.0, 3000.0])
def test_mu_of_pure_is_rounded_up_and_tight(epsilon):
    def corner(mu):  # positive if mu is large enough; the last form does not cancel for small epsilon
        if epsilon > 1:
            return -mpmath.log(mpmath.erfc(mu / mpmath.sqrt(8)) / 2) - mpmath.log1p(mpmath.exp(epsilon))
        return mpmath.erf(mu / mpmath.sqrt(8)) - mpmath.tanh(mpmath.mpf(epsilon) / 2)

    with mpmath.workdps(60):
        mu = mpmath.mpf(mu_of_pure(epsilon))
        assert corner(mu) > 0
        assert corner(mu * (1 - mpmath.mpf("1e-11"))) < 0


def test_mu_of_pure_dominates_randomized_response():
    for epsilon in (0.01, 0.5, 2.0, 8.0):
        chance = 1.0 / (1.0 + math.exp(-epsilon))
        for at in np.linspace(0.0, epsilon, 9):
            pure = chance * -math.expm1(at - epsilon)
            assert gaussian_delta(at, mu_of_pure(epsilon)) >= pure


@given(st.floats(1e-6, 1e6), st.floats(1e-3, 10.0), st.booleans())
def test_crossing_lands_on_the_passing_side(root, steepness, falls):
    sign = -1.0 if falls else 1.0
    found = crossing(lambda x: sign * steepness * (x - root), *((0.0, 1e7) if falls else (1e7, 0.0)))
    assert sign * (found - root) <= 0.0
    assert found == pytest.approx(root, rel=1e-13)


# zCDP


@pytest.mark.parametrize("rho", [1e-4, 0.02, 0.5, 8.0])
def test_zcdp_minimizes_over_alpha_and_dominates_the_gaussian(rho):
    alphas = 1.0 + np.geomspace(1e-6, 1e6, 20001)
    for epsilon in rho + np.sqrt(rho) * np.array([0.5, 2.0, 6.0, 12.0]):
        values = (alphas - 1) * (alphas * rho - epsilon) - np.log(alphas - 1) + alphas * np.log1p(-1 / alphas)
        assert zcdp_log_delta(epsilon, rho) == pytest.approx(values.min(), abs=1e-4)
        assert zcdp_log_delta(epsilon, rho) >= log_delta(epsilon, math.sqrt(2.0 * rho))


def test_zcdp_epsilon_is_private_and_tight():
    for rho in (1e-4, 0.3, 5.0):
        for target in (0.1, 1e-6, 1e-20):
            epsilon = zcdp_epsilon(rho, target)
            assert zcdp_log_delta(epsilon, rho) <= math.log(target)
            if epsilon > 0.0:
                assert zcdp_log_delta(epsilon * (1 - 1e-6), rho) > math.log(target)


# Refusals


@pytest.mark.parametrize("value", [0.0, 1.0, -0.1, math.nan])
def test_mu_of_budget_refuses_delta(value):
    with pytest.raises(InvalidParameter, match=r"^delta of mu_of_budget must be a finite float > 0 and < 1"):
        mu_of_budget(1.0, value)


def test_negative_epsilons_are_refused():
    with pytest.raises(InvalidParameter, match=r"^epsilon of mu_of_budget must be a finite float >= 0; got"):
        mu_of_budget(-1.0, 0.1)
    with pytest.raises(InvalidParameter, match=r"^epsilon of mu_of_pure must be a finite float > 0; got 0"):
        mu_of_pure(0.0)
