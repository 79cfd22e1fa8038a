"""The rates of trace regression with private answers: against formulas written out, beside the others, and misused."""

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
from hushrank.bounds.trace_start import (
    StartSensitivity,
    required_start_records,
    start_error_rate,
    start_sensitivity_rate,
)
from hushrank.bounds.trace_weak import (
    printed_weak_start_sensitivity_rate,
    required_weak_start_records,
    required_weak_step_records,
    weak_estimate_error_rate,
    weak_gradient_sensitivity_rate,
    weak_start_error_rate,
    weak_start_sensitivity_rate,
)
from hushrank.exceptions import InvalidParameter

RNG = np.random.default_rng(20240326)
SETTING = TraceSetting(10**6, 60, 40, 3, 5.0, 2.0, 0.7, least_variance=0.25, most_variance=4.0)
EPSILON, DELTA = 0.5, 1e-6
LOG_N = math.log(10**6)
NOISE = 0.7 / math.sqrt(0.25)  # sigma_xi / sqrt(C_l)


def changed(**fields):
    return dataclasses.replace(SETTING, **fields)


# Theorem 6 and Corollary 2


def test_the_sensitivities_as_printed_and_corrected():
    printed, corrected = (NOISE * math.sqrt(3) / 1e6 * log for log in (LOG_N, math.sqrt(LOG_N * (60 + 40 + LOG_N))))
    found = printed_weak_start_sensitivity_rate(SETTING)
    assert found == pytest.approx(StartSensitivity(printed / 2.0, printed), rel=1e-12)
    found = weak_start_sensitivity_rate(SETTING)
    assert found == pytest.approx(StartSensitivity(corrected / 2.0, corrected), rel=1e-12)


def test_other_noise_in_one_answer_changes_the_estimate_by_the_corrected_rate_and_not_by_the_printed_one():
    """The spectral norm of (xi - xi') X, which Lemma 15 takes for a constant and logarithms."""
    n, found = 300, {}
    noise = np.abs(0.5 * np.diff(RNG.standard_normal((2, n)), axis=0))
    for d in (8, 64):
        norms = np.linalg.norm(RNG.standard_normal((n, d, d)), 2, axis=(1, 2))
        found[d] = (noise * norms).max() / n
        setting = TraceSetting(n, d, d, 1, 1.0, 1.0, 0.5)
        assert 0.5 < found[d] / weak_start_sensitivity_rate(setting).core < 3.5
    assert found[64] > 1.5 * found[8]  # the printed rate is the same for both


def test_the_error_of_the_start():
    log_delta = math.sqrt(math.log(3.75 / DELTA))
    e_1 = start_error_rate(SETTING, EPSILON, DELTA).statistical
    e_2 = NOISE * (2.5 * math.sqrt(3 * 60) + 3) / (1e6 * 0.5) * LOG_N * log_delta
    printed = printed_weak_start_sensitivity_rate(SETTING)
    found = weak_start_error_rate(SETTING, EPSILON, DELTA, sensitivity=printed)
    assert found == pytest.approx(ErrorRate(e_1, e_2), rel=1e-12)
    corrected = weak_start_error_rate(SETTING, EPSILON, DELTA)
    assert corrected == pytest.approx(ErrorRate(e_1, e_2 * math.sqrt((100 + LOG_N) / LOG_N)), rel=1e-12)


def test_records_of_the_start():
    log_delta = math.sqrt(math.log(3.75 / DELTA))
    n_1 = required_start_records(SETTING, EPSILON, DELTA).statistical
    n_2 = NOISE / 2.0 * (2.5 * 3 * math.sqrt(60) + 3**1.5) * LOG_N * log_delta / 0.5
    printed = printed_weak_start_sensitivity_rate(SETTING)
    found = required_weak_start_records(SETTING, EPSILON, DELTA, sensitivity=printed)
    assert found == pytest.approx(RequiredRecords(n_1, n_2), rel=1e-12)
    corrected = required_weak_start_records(SETTING, EPSILON, DELTA)
    assert corrected == pytest.approx(RequiredRecords(n_1, n_2 * math.sqrt((100 + LOG_N) / LOG_N)), rel=1e-12)


# Theorem 7


def test_the_sensitivity_of_a_gradient():
    assert weak_gradient_sensitivity_rate(SETTING) == pytest.approx(0.7 * math.sqrt(4.0 * 3 * 100 * LOG_N) / 1e6)


def test_the_error_of_the_steps():
    u_1 = estimate_error_rate(SETTING, EPSILON, DELTA).statistical
    log_delta = math.sqrt(math.log(1.25 * LOG_N / DELTA))
    u_2 = 2.0 * 0.7 * 3 * 100 / (1e6 * 0.5) * LOG_N**1.5 * log_delta
    assert weak_estimate_error_rate(SETTING, EPSILON, DELTA) == pytest.approx(ErrorRate(u_1, u_2), rel=1e-12)
    assert weak_estimate_error_rate(SETTING, 2 * EPSILON, DELTA).privacy == pytest.approx(u_2 / 2)


def test_records_of_the_steps():
    strict = required_step_records(SETTING, EPSILON, DELTA, step_size=0.25)
    found = required_weak_step_records(SETTING, EPSILON, DELTA, step_size=0.25)
    log_delta = math.sqrt(math.log(1.25 * LOG_N / DELTA))
    n_5 = 0.25 * 2.0 * 0.35 * 3 * 100 * LOG_N**1.5 * log_delta / 0.5
    assert found == pytest.approx(RequiredRecords(strict.statistical, n_5, 300.0), rel=1e-12)


# Beside ordinary privacy


@pytest.mark.parametrize("smallest", [0.01, 1.0, 100.0])
def test_the_gap_to_the_lower_rate_is_closed(smallest):
    setting = TraceSetting(10**6, 50, 50, 3, 100.0, smallest, 0.7)
    upper, lower = weak_estimate_error_rate(setting, EPSILON, DELTA), minimax_error_rate(setting, EPSILON)
    logs = LOG_N**1.5 * math.sqrt(math.log(1.25 * LOG_N / DELTA))
    assert upper.privacy / lower.privacy == pytest.approx(2 * logs)


def test_public_matrices_help_most_where_the_signal_is_strong():
    pairs = [
        (weak_start_sensitivity_rate, start_sensitivity_rate, 0.7 / (math.sqrt(4.0 * 3) * 5.0 + 0.7)),
        (
            lambda setting: [weak_gradient_sensitivity_rate(setting)],
            lambda setting: [gradient_sensitivity_rate(setting)],
            0.7 / (0.7 + 2.0 * 2.0),
        ),
    ]
    for weak, strict, share in pairs:
        assert np.divide(weak(SETTING), strict(SETTING)) == pytest.approx(share)
        loud = changed(noise=1e9)
        assert np.divide(weak(loud), strict(loud)) == pytest.approx(1.0, rel=1e-6)
        assert list(weak(changed(noise=0.0))) == [0.0] * len(weak(SETTING))


def test_the_signal_does_not_matter():
    strong = changed(largest=50.0, smallest=20.0)
    assert weak_gradient_sensitivity_rate(strong) == pytest.approx(weak_gradient_sensitivity_rate(SETTING))
    assert weak_start_sensitivity_rate(strong).core == pytest.approx(weak_start_sensitivity_rate(SETTING).core)
    expected = weak_start_sensitivity_rate(SETTING).subspace / 10
    assert weak_start_sensitivity_rate(strong).subspace == pytest.approx(expected)


# Misuse


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: weak_start_error_rate(SETTING, 0.0, DELTA), "epsilon of start_error_rate must be a finite float > 0"),
        (
            lambda: required_weak_start_records(SETTING, 1.0, 1.0),
            "delta of start_error_rate must be a finite float > 0",
        ),
        (lambda: weak_estimate_error_rate(SETTING, -1.0, DELTA), "epsilon of estimate_error_rate must be a finite"),
        (
            lambda: required_weak_step_records(SETTING, 1.0, DELTA, step_size=1.5),
            "step_size of required_step_records must be a finite float > 0 and < 1; got 1.5.",
        ),
        (
            lambda: weak_start_error_rate(SETTING, 1.0, DELTA, sensitivity=StartSensitivity(math.nan, 0.0)),
            "sensitivity of start_error_rate must be a finite float >= 0; got nan.",
        ),
    ],
)
def test_parameters_are_checked(call, message):
    with pytest.raises(InvalidParameter, match=re.escape(message)):
        call()
