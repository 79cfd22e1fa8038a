"""The formulas, the bound and the rates of shared representations: against simulation, in their limits, and misused."""

import math

import numpy as np
import pytest
from scipy import stats

from hushrank.bounds.representation import (
    START_DEGRADED,
    START_HOPELESS,
    RepresentationSetting,
    excess_risk_rate,
    expected_head_error,
    expected_net_loss,
    lipschitz_risk_rate,
    net_size_log,
    printed_noise_multiplier,
    start_error_rate,
    start_noise_ratio,
    subspace_error_rate,
)
from hushrank.exceptions import InvalidParameter
from hushrank.privacy import gdp
from support import FALSE_ALARM, assert_plausible

RNG = np.random.default_rng(20240601)
SETTING = RepresentationSetting(10**6, 20, 3, 10, noise_to_signal=0.5, incoherence=1.5, condition=2.0)


def basis(d, k):
    return np.linalg.qr(RNG.standard_normal((d, k)))[0]


# Heads


def test_the_risk_of_a_head_is_exact():
    d, k, m, noise, n = 12, 2, 9, 0.3, 40_000
    true, U, v = np.eye(d)[:, :k], basis(d, k), np.array([1.0, -0.5])
    U = np.linalg.qr(true + 0.3 * U)[0]
    theta = true @ v
    sine = np.linalg.norm(theta - U @ (U.T @ theta)) / np.linalg.norm(v)
    X = RNG.standard_normal((n, m, d))
    y = X @ theta + noise * RNG.standard_normal((n, m))
    Z = X @ U
    heads = np.linalg.solve(Z.transpose(0, 2, 1) @ Z, (Z.transpose(0, 2, 1) @ y[:, :, None]))[:, :, 0]
    errors = ((heads @ U.T - theta) ** 2).sum(axis=1)

    def p_value(mean):
        return 2 * stats.norm.sf(abs(errors.mean() - mean) / (errors.std() / math.sqrt(n)))

    terms = {"subspace_error": float(sine), "head_norm": float(np.linalg.norm(v)), "noise": noise}
    assert_plausible(p_value(expected_head_error(k, m, **terms)))
    outside = (terms["subspace_error"] * terms["head_norm"]) ** 2
    assert p_value(outside + noise**2 * k / m) < FALSE_ALARM  # (22) as printed
    assert p_value(outside + noise**2 * k / (m - k - 1)) < FALSE_ALARM  # without the cross term


def test_heads_of_few_records_have_no_mean_error_and_of_many_only_the_angle():
    terms = {"subspace_error": 0.2, "head_norm": 3.0, "noise": 1.0}
    assert [expected_head_error(3, m, **terms) for m in (0, 3, 4)] == [math.inf] * 3
    errors = [expected_head_error(3, m, **terms) for m in range(5, 60)]
    assert errors == sorted(errors, reverse=True) and all(map(math.isfinite, errors))
    assert expected_head_error(3, 10**9, **terms) == pytest.approx(0.36, rel=1e-6)
    # The oracle of two components, five fresh records and noise of 0.01: a population error of 2e-4, not of 1.4e-4.
    assert expected_head_error(2, 5, subspace_error=0.0, head_norm=1.0, noise=0.01) + 1e-4 == pytest.approx(2e-4)


# The start


@pytest.mark.parametrize(
    ("n", "d", "k", "epsilon", "shown"), [(2000, 100, 2, 1.0, 1.8), (5000, 100, 5, 1.0, 1.8), (5000, 20, 2, 1.0, 0.08)]
)
def test_the_ratio_of_the_start(n, d, k, epsilon, shown):
    ratio = start_noise_ratio(n, d, k, 5, gdp.mu_of_budget(epsilon, 1e-6))
    assert ratio == pytest.approx(shown, rel=0.1)


def test_the_ratio_falls_with_users_records_and_budget():
    base = start_noise_ratio(5000, 100, 2, 5, 0.25)
    assert START_HOPELESS < base < 1.0 and START_DEGRADED < START_HOPELESS
    assert start_noise_ratio(10_000, 100, 2, 5, 0.25) == pytest.approx(base / 2)
    assert start_noise_ratio(5000, 100, 2, 5, 0.5) == pytest.approx(base / 2)
    assert start_noise_ratio(5000, 100, 4, 5, 0.25) == pytest.approx(2 * base)
    assert start_noise_ratio(5000, 100, 2, 2.5, 0.25) > base > start_noise_ratio(5000, 50, 2, 5, 0.25)
    assert start_noise_ratio(5000, 100, 2, 1e12, 0.25) == pytest.approx(2 * 2 * 10 / (5000 * 0.25))


def test_the_rate_of_the_start_is_that_of_its_noise():
    """Symmetric noise of the scale of Algorithm 3 on (lambda/d) U U^T, where it is small: first order, constant 1."""
    n, d, k, multiplier = 10**6, 30, 2, 5.0
    setting = RepresentationSetting(n, d, k, 10**9)
    U, zeta = basis(d, k), math.sqrt(k)
    noise = RNG.standard_normal((d, d))
    M = U @ U.T / d + multiplier * zeta**2 / n * (np.triu(noise) + np.triu(noise, 1).T)
    top = np.linalg.eigh(M)[1][:, -k:]
    measured = np.linalg.norm(U - top @ (top.T @ U))
    assert 0.6 < measured / start_error_rate(setting, multiplier) < 1.4
    assert start_error_rate(RepresentationSetting(2, d, k, 1), 1e6) == math.sqrt(k)


# Alternating minimization


def test_the_noise_of_a_step_is_that_of_its_two_releases():
    d, k, n, multiplier, mu, nsr = 15, 2, 10**6, 3.0, 1.2, 0.7
    eta, zeta = mu * math.sqrt(d * k), nsr + mu * math.sqrt(k)  # lambda_k = 1
    G, g = RNG.standard_normal((d * k, d * k)), RNG.standard_normal(d * k)
    G = np.triu(G) + np.triu(G, 1).T
    norm = np.linalg.norm(eta * zeta * g - eta**2 * G @ basis(d, k).ravel()) * multiplier / n
    rate = subspace_error_rate(RepresentationSetting(n, d, k, 10**12, nsr, mu), multiplier, 1, start_error=0.0)
    assert 0.6 < norm / rate < 1.2
    blocks = subspace_error_rate(RepresentationSetting(n, d, k, 10**12, nsr, mu), multiplier, 4, start_error=0.0)
    assert blocks == pytest.approx(4 * rate, rel=1e-4)  # each of four steps sees a quarter of the users


def test_the_printed_number_of_users_lacks_a_factor_of_the_rank():
    """At the printed n = Delta mu^2 k d^(3/2) the error of a step should not grow with k, but it does."""

    def error(k):
        n = round(1e4 * 10 * k * 100**1.5)
        return subspace_error_rate(RepresentationSetting(n, 100, k, 10**9), 10.0, 1, start_error=0.0)

    assert error(16) / error(4) == pytest.approx(4, rel=0.1)


def test_rates_fall_and_grow_as_they_should():
    base = subspace_error_rate(SETTING, 1.0, 3, start_error=0.5)
    assert base == pytest.approx(0.5 / 64 + subspace_error_rate(SETTING, 1.0, 3, start_error=0.0))
    more_users = RepresentationSetting(10**7, 20, 3, 10, 0.5, 1.5, 2.0)
    assert subspace_error_rate(more_users, 1.0, 3, start_error=0.5) < base
    assert subspace_error_rate(SETTING, 2.0, 3, start_error=0.5) > base
    assert subspace_error_rate(SETTING, 1e9, 3, start_error=0.5) == math.sqrt(3)
    assert start_error_rate(more_users, 1.0) < start_error_rate(SETTING, 1.0) < start_error_rate(SETTING, 2.0)
    risks = [excess_risk_rate(SETTING, multiplier, 3, n_fresh=10) for multiplier in (0.0, 1.0, 2.0)]
    assert risks == sorted(set(risks))


def test_the_risk_is_that_of_the_oracle_with_many_users_and_of_nothing_with_few():
    many, few = (RepresentationSetting(n, 20, 3, 10, 0.5, 1.5) for n in (10**15, 2))
    terms = {"head_norm": 1.5 * math.sqrt(3 * 4.0), "noise": 0.5 * 2.0}
    oracle, nothing = (expected_head_error(3, 8, subspace_error=sine, **terms) for sine in (0.0, 1.0))
    assert excess_risk_rate(many, 1.0, 20, n_fresh=8, head_variance=4.0) == pytest.approx(oracle, rel=1e-6)
    assert excess_risk_rate(few, 1.0, 20, n_fresh=8, head_variance=4.0) == pytest.approx(nothing)
    assert excess_risk_rate(many, 1.0, 20, n_fresh=4) == math.inf


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 13.8])
def test_the_printed_noise_suffices_in_renyi_terms(epsilon):
    log, noise = math.log(1e6), printed_noise_multiplier(epsilon, 1e-6)
    assert 1 / noise**2 + 2 * math.sqrt(log) / noise <= epsilon  # Lemma 4.3
    solution = (math.sqrt(log) + math.sqrt(log + epsilon)) / (
        math.sqrt(2) * epsilon
    )  # Lemma 4.5, sqrt(2 epsilon) there
    assert 1 / (2 * solution**2) + math.sqrt(2 * log) / solution == pytest.approx(epsilon)
    assert noise >= solution


# Lipschitz losses


def test_nets():
    for radius in (1.5, 0.5, 0.01):  # unit vectors of the plane: a ball around one of them covers an arc
        needed = math.ceil(math.pi / (2 * math.asin(radius / 2)))
        assert math.log(needed) <= net_size_log(2, 1, radius)
    assert net_size_log(10, 3, 0.1) < 21 * 3 * math.log(9 * math.sqrt(3) / 0.1)  # the paper's


def test_a_draw_from_a_finite_set_loses_at_most_its_log_size():
    for rate in (0.1, 1.0, 30.0):
        losses = RNG.exponential(size=500)
        losses -= losses.min()
        weights = np.exp(-rate * losses)
        assert weights @ losses / weights.sum() <= math.log(500) / rate


def test_the_net_is_the_best_of_its_family():
    n, d, k, epsilon, norm = 10_000, 8, 2, 0.5, 4.0
    radii = np.geomspace(1e-6, 10, 20_001)
    values = [r + 2 * norm / (n * epsilon) * net_size_log(d, k, float(r)) for r in radii]
    assert expected_net_loss(n, d, k, epsilon, feature_norm=norm) == pytest.approx(min(values), rel=1e-6)


def test_users_and_budget_exchange():
    one = expected_net_loss(10_000, 8, 2, 0.5, feature_norm=4.0)
    assert expected_net_loss(5000, 8, 2, 1.0, feature_norm=4.0) == pytest.approx(one)
    assert expected_net_loss(10_000, 8, 2, 1.0, feature_norm=8.0) == pytest.approx(one)
    assert expected_net_loss(10_000, 9, 2, 0.5, feature_norm=4.0) > one
    assert expected_net_loss(10**12, 8, 2, 0.5, feature_norm=4.0) < 1e-6


def test_the_complexity_of_fixed_heads_needs_the_rank_and_that_of_free_heads_does_not_fall_with_users():
    d, k, m = 24, 4, 8
    free = []
    for n in (50, 800):
        V = RNG.standard_normal((n, k))
        V /= np.linalg.norm(V, axis=1, keepdims=True)
        signed = RNG.standard_normal((n, m, d)).sum(axis=1)  # symmetric: the signs change nothing
        fixed = np.linalg.norm(signed.T @ V, "nuc") / (n * m)
        assert 0.8 < fixed / math.sqrt(k * d / (n * m)) <= 1.2
        assert fixed > 1.5 * math.sqrt(d / (n * m))  # as printed
        free.append(np.linalg.norm(signed[:, :k], axis=1).sum() / (n * m))  # one U, best heads: below the supremum
    assert free[1] > 0.8 * free[0]


def test_the_rate_for_lipschitz_losses_is_the_sum_of_three_parts():
    private = expected_net_loss(1000, 8, 2, 1.0, feature_norm=3.0)
    rate = lipschitz_risk_rate(1000, 8, 2, 100, 1.0, feature_norm=3.0)
    assert rate == pytest.approx(private + math.sqrt(2 / 50) + math.sqrt(16 / 50_000))
    assert lipschitz_risk_rate(1000, 8, 2, 200, 1.0, feature_norm=3.0) < rate


# Misuse


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: RepresentationSetting(1, 5, 2, 3), "n_users"),
        (lambda: RepresentationSetting(10, 0, 2, 3), "n_features"),
        (lambda: RepresentationSetting(10, 5, 6, 3), "n_components"),
        (lambda: RepresentationSetting(10, 5, 2, 0), "n_records"),
        (lambda: RepresentationSetting(10, 5, 2, 3, -1.0), "noise_to_signal"),
        (lambda: RepresentationSetting(10, 5, 2, 3, 0.0, 0.5), "incoherence"),
        (lambda: RepresentationSetting(10, 5, 2, 3, 0.0, 1.0, 0.5), "condition"),
        (lambda: expected_head_error(0, 5, subspace_error=0.0, head_norm=1.0, noise=1.0), "n_components"),
        (lambda: expected_head_error(1, -1, subspace_error=0.0, head_norm=1.0, noise=1.0), "n_fresh"),
        (lambda: expected_head_error(1, 5, subspace_error=1.1, head_norm=1.0, noise=1.0), "subspace_error"),
        (lambda: expected_head_error(1, 5, subspace_error=0.0, head_norm=-1.0, noise=1.0), "head_norm"),
        (lambda: expected_head_error(1, 5, subspace_error=0.0, head_norm=1.0, noise=math.nan), "noise"),
        (lambda: start_noise_ratio(0, 5, 2, 3, 1.0), "n_users"),
        (lambda: start_noise_ratio(10, 5, 6, 3, 1.0), "n_components"),
        (lambda: start_noise_ratio(10, 5, 2, 0, 1.0), "n_records"),
        (lambda: start_noise_ratio(10, 5, 2, 3, 0.0), "mu"),
        (lambda: printed_noise_multiplier(1.0, 0.0), "delta"),
        (lambda: printed_noise_multiplier(14.0, 1e-6), "epsilon"),
        (lambda: start_error_rate(SETTING, -1.0), "noise_multiplier"),
        (lambda: subspace_error_rate(SETTING, 1.0, 0, start_error=0.1), "n_steps"),
        (lambda: subspace_error_rate(SETTING, 1.0, 2, start_error=-0.1), "start_error"),
        (lambda: excess_risk_rate(SETTING, 1.0, 2, n_fresh=9, head_variance=0.0), "head_variance"),
        (lambda: net_size_log(3, 1, 0.0), "radius"),
        (lambda: expected_net_loss(10, 3, 4, 1.0, feature_norm=1.0), "n_components"),
        (lambda: expected_net_loss(10, 3, 1, 0.0, feature_norm=1.0), "epsilon"),
        (lambda: expected_net_loss(10, 3, 1, 1.0, feature_norm=0.0), "feature_norm"),
        (lambda: lipschitz_risk_rate(10, 3, 1, 1, 1.0, feature_norm=1.0), "n_records"),
    ],
)
def test_parameters_are_checked(call, name):
    with pytest.raises(InvalidParameter, match=name):
        call()
