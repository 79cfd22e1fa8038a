"""The upper rates of trace regression: against formulas written out, their exponents, simulation, and misused."""

import dataclasses
import math
import re

import numpy as np
import pytest

from hushrank.bounds.trace import (
    ErrorRate,
    RequiredRecords,
    TraceSetting,
    estimate_error_rate,
    gradient_sensitivity_rate,
    required_step_records,
)
from hushrank.bounds.trace_lower import minimax_error_rate
from hushrank.exceptions import InvalidParameter

RNG = np.random.default_rng(20240326)
SETTING = TraceSetting(10**6, 60, 40, 3, 5.0, 2.0, 0.7, least_variance=0.25, most_variance=4.0)
EPSILON, DELTA = 0.5, 1e-6
LOG_N = math.log(10**6)


def changed(**fields):
    return dataclasses.replace(SETTING, **fields)


def slope(rate, field, factor=2):
    """Exponent of a rate in one number of the setting."""
    base = getattr(SETTING, field)
    moved = changed(**{field: type(base)(base * factor)})
    return math.log(rate(moved) / rate(SETTING)) / math.log(factor)


def test_the_sensitivity_of_a_gradient():
    expected = (0.7 + 2.0 * 2.0) * math.sqrt(4.0 * 3 * 100 * LOG_N) / 1e6
    assert gradient_sensitivity_rate(SETTING) == pytest.approx(expected, rel=1e-12)


def test_the_error_of_the_steps_is_that_of_the_theorem():
    error = estimate_error_rate(SETTING, EPSILON, DELTA)
    u_1 = 0.7 * 2.0 * math.sqrt(3 * 100 / 1e6) * math.sqrt(math.log(100))
    u_2 = 2.0 * (0.7 + 2.0 * 2.0) * 3 * 100 / (1e6 * 0.5) * LOG_N**1.5 * math.sqrt(math.log(1.25 * LOG_N / DELTA))
    assert error == pytest.approx(ErrorRate(u_1, u_2), rel=1e-12)


def test_projected_noise_has_the_norm_that_the_rate_has():
    d1, d2, r = 60, 40, 3
    U, V = (np.linalg.qr(RNG.standard_normal((d, r)))[0] for d in (d1, d2))
    noise = RNG.standard_normal((d1, d2))
    projected = U @ (U.T @ noise) + (noise @ V) @ V.T - U @ (U.T @ noise @ V) @ V.T
    scale = LOG_N * math.sqrt(math.log(1.25 * LOG_N / DELTA)) / EPSILON
    rate = estimate_error_rate(SETTING, EPSILON, DELTA, sensitivity=1 / scale).privacy
    assert 0.8 < np.linalg.norm(projected) / rate < 1.2


def test_exponents_of_the_steps():
    def statistical(setting):
        return estimate_error_rate(setting, EPSILON, DELTA).statistical

    def private(setting):
        return estimate_error_rate(setting, EPSILON, DELTA).privacy

    def per_log(setting):
        log = math.log(setting.n_records)
        return private(setting) / (log**1.5 * math.sqrt(math.log(1.25 * log / DELTA)))

    assert slope(statistical, "n_records") == pytest.approx(-0.5) and slope(per_log, "n_records") == pytest.approx(-1)
    assert slope(statistical, "rank") == pytest.approx(0.5) and slope(private, "rank") == pytest.approx(1)
    assert slope(statistical, "noise") == pytest.approx(1) and slope(statistical, "smallest") == pytest.approx(0)
    assert private(changed(n_rows=120, n_columns=80)) == pytest.approx(2 * private(SETTING))
    assert private(changed(n_rows=50, n_columns=50)) == pytest.approx(private(SETTING))  # the sum of both sides
    logs = math.log(200) / math.log(100)
    assert statistical(changed(n_rows=120, n_columns=80)) == pytest.approx(math.sqrt(2 * logs) * statistical(SETTING))
    quiet = changed(noise=0.0)
    assert private(dataclasses.replace(quiet, smallest=4.0)) == pytest.approx(2 * private(quiet))
    assert estimate_error_rate(SETTING, 2 * EPSILON, DELTA).privacy == pytest.approx(private(SETTING) / 2)
    assert estimate_error_rate(SETTING, EPSILON, DELTA**2).privacy > private(SETTING)


@pytest.mark.parametrize("smallest", [0.01, 1.0, 100.0])
def test_the_gap_to_the_lower_rate_is_the_signal_over_the_noise(smallest):
    """u_2 over l_2 is 2 (sigma_xi + sigma_r) / sigma_xi and logarithms; u_1 over l_1 is sqrt(2) and a logarithm."""
    setting = TraceSetting(10**6, 50, 50, 3, 100.0, smallest, 0.7)
    upper, lower = estimate_error_rate(setting, EPSILON, DELTA), minimax_error_rate(setting, EPSILON)
    logs = LOG_N**1.5 * math.sqrt(math.log(1.25 * LOG_N / DELTA))
    assert upper.privacy / lower.privacy / logs == pytest.approx(2 * (0.7 + smallest) / 0.7)
    assert upper.statistical / lower.statistical == pytest.approx(math.sqrt(2 * math.log(100)))


def test_the_variance_of_the_matrices_is_a_gap_too():
    one, four = (TraceSetting(10**6, 50, 50, 3, 2.0, 1.0, 0.7, most_variance=c) for c in (1.0, 4.0))
    ratios = [
        estimate_error_rate(setting, EPSILON, DELTA).statistical / minimax_error_rate(setting, EPSILON).statistical
        for setting in (one, four)
    ]
    assert ratios[1] == pytest.approx(4 * ratios[0])


def test_records_of_the_steps_are_those_of_the_theorem():
    found = required_step_records(SETTING, EPSILON, DELTA, step_size=0.25)
    n_4 = 0.25**2 * 0.35**2 * 4.0 * 3 * 100 * math.log(100)
    log_delta = math.sqrt(math.log(1.25 * LOG_N / DELTA))
    n_5 = 0.25 * 2.0 * (0.35 + 2.0) * 3 * 100 * LOG_N**1.5 * log_delta / 0.5
    assert found == pytest.approx(RequiredRecords(n_4, n_5, 300.0), rel=1e-12)
    assert found.largest == found.privacy
    assert RequiredRecords(1.0, 2.0, 3.0).largest == 3.0 and RequiredRecords(4.0, 2.0).largest == 4.0


def test_without_noise_of_answers_the_steps_still_ask_for_records():
    """The text's (kappa_xi^2 or kappa_xi) r d would be 0."""
    records = required_step_records(changed(noise=0.0), EPSILON, DELTA, step_size=0.25)
    assert records.statistical == 0 and records.privacy > records.isometry > 0


def test_sides():
    assert (SETTING.longer_side, SETTING.both_sides) == (60, 100)
    assert changed(n_rows=20, n_columns=30).longer_side == 30


def test_parts_add_up_to_at_most_the_ceiling():
    assert ErrorRate(1.0, 2.0).total == 3.0 and ErrorRate(1.0, 2.0, 2.5).total == 2.5


# Misuse


@pytest.mark.parametrize(
    ("name", "value", "requirement"),
    [
        ("n_records", 2, "an integer >= 3"),
        ("n_rows", 0, "an integer >= 1"),
        ("n_columns", 1.5, "an integer >= 1"),
        ("rank", 41, "an integer >= 1 and <= 40"),
        ("rank", 0, "an integer >= 1 and <= 40"),
        ("smallest", 0.0, "a finite float > 0"),
        ("largest", 1.9, "a finite float >= 2"),
        ("largest", math.inf, "a finite float >= 2"),
        ("noise", -0.1, "a finite float >= 0"),
        ("least_variance", 0.0, "a finite float > 0"),
        ("most_variance", 0.2, "a finite float >= 0.25"),
    ],
)
def test_a_setting_is_checked(name, value, requirement):
    with pytest.raises(
        InvalidParameter, match=re.escape(f"{name} of TraceSetting must be {requirement}; got {value}.")
    ):
        changed(**{name: value})


@pytest.mark.parametrize(
    ("rate", "name", "value", "requirement"),
    [
        (estimate_error_rate, "epsilon", 0.0, "a finite float > 0"),
        (estimate_error_rate, "epsilon", math.nan, "a finite float > 0"),
        (estimate_error_rate, "delta", 0.0, "a finite float > 0 and < 1"),
        (estimate_error_rate, "delta", 1.0, "a finite float > 0 and < 1"),
        (estimate_error_rate, "sensitivity", -1.0, "a finite float >= 0"),
        (required_step_records, "step_size", 0.0, "a finite float > 0 and < 1"),
        (required_step_records, "step_size", 1.0, "a finite float > 0 and < 1"),
    ],
)
def test_other_parameters_are_checked(rate, name, value, requirement):
    message = f"{name} of {rate.__name__} must be {requirement}; got {value}."
    with pytest.raises(InvalidParameter, match=re.escape(message)):
        rate(SETTING, **{"epsilon": EPSILON, "delta": DELTA, name: value})
