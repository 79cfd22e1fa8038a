"""The rates of the private start: against formulas written out, their exponents, simulation, and misused."""

import dataclasses
import math
import re

import numpy as np
import pytest

from hushrank.bounds.trace import RequiredRecords, TraceSetting
from hushrank.bounds.trace_start import (
    StartSensitivity,
    printed_start_sensitivity_rate,
    required_expansion_records,
    required_start_records,
    start_error_rate,
    start_sensitivity_rate,
)
from hushrank.exceptions import InvalidParameter
from hushrank.privacy import accountant
from hushrank.privacy.events import Gaussian

RNG = np.random.default_rng(20240326)
SETTING = TraceSetting(10**6, 60, 40, 3, 5.0, 2.0, 0.7, least_variance=0.25, most_variance=4.0)
EPSILON, DELTA = 0.5, 1e-6
ANSWER = (math.sqrt(4.0 * 3) * 5.0 + 0.7) / math.sqrt(0.25)  # (sqrt(C_u r) sigma_1 + sigma_xi) / sqrt(C_l)
LOG_N = math.log(10**6)


def changed(**fields):
    return dataclasses.replace(SETTING, **fields)


def slope(rate, field, factor=2):
    """Exponent of a rate in one number of the setting."""
    base = getattr(SETTING, field)
    moved = changed(**{field: type(base)(base * factor)})
    return math.log(rate(moved) / rate(SETTING)) / math.log(factor)


# Theorem 1


def test_the_printed_sensitivities_are_those_of_the_theorem():
    core = ANSWER * math.sqrt(3) / 1e6 * LOG_N
    assert printed_start_sensitivity_rate(SETTING) == pytest.approx(StartSensitivity(core / 2.0, core), rel=1e-12)


def test_the_corrected_sensitivities_have_the_norm_of_a_matrix():
    core = ANSWER * math.sqrt(3) / 1e6 * math.sqrt(LOG_N * (60 + 40 + LOG_N))
    assert start_sensitivity_rate(SETTING) == pytest.approx(StartSensitivity(core / 2.0, core), rel=1e-12)


def test_the_two_differ_by_the_root_of_the_dimension():
    wide, wider = (changed(n_rows=d, n_columns=d) for d in (10**8, 4 * 10**8))
    assert start_sensitivity_rate(wider).core == pytest.approx(2 * start_sensitivity_rate(wide).core, rel=1e-6)
    assert printed_start_sensitivity_rate(wider) == printed_start_sensitivity_rate(wide)
    tall = changed(n_rows=40, n_columns=60)
    assert start_sensitivity_rate(tall) == start_sensitivity_rate(SETTING)


def model(n, d):
    """Records of a matrix of rank 2 with singular values of 2, in the first two rows and columns."""
    X = RNG.standard_normal((n, d, d))
    return X, 2 * X[:, 0, 0] + 2 * X[:, 1, 1] + 0.5 * RNG.standard_normal(n)


def projector(L):
    U = np.linalg.svd(L)[0][:, :2]
    return U @ U.T


def test_replacement_by_the_model_changes_the_start_by_the_corrected_rate_and_not_by_the_printed_one():
    n, found = 2000, {}
    for d in (10, 40):
        (X, y), (X_new, y_new) = model(n, d), model(100, d)
        L = np.tensordot(y, X, 1) / n
        before = projector(L)
        changes = [(y_new[i] * X_new[i] - y[i] * X[i]) / n for i in range(100)]
        found[d] = max(np.linalg.norm(before - projector(L + change)) for change in changes)
        setting = TraceSetting(n, d, d, 2, 2.0, 2.0, 0.5)
        assert 0.4 < found[d] / start_sensitivity_rate(setting).subspace < 1.8
    assert 1.4 < found[40] / found[10]  # the printed rate is the same for both


def test_a_record_outside_of_the_model_changes_the_start_by_far_more_than_any_rate():
    n, d = 2000, 20
    X, y = model(n, d)
    L, odd = np.tensordot(y, X, 1) / n, np.zeros((d, d))
    odd[5, 0] = 10.0
    assert np.linalg.norm(odd) < np.median(np.linalg.norm(X, axis=(1, 2)))
    rate = start_sensitivity_rate(TraceSetting(n, d, d, 2, 2.0, 2.0, 0.5)).subspace
    assert np.linalg.norm(projector(L) - projector(L + 50.0 * odd / n)) > 4 * rate
    assert np.linalg.norm(projector(L) - projector(L + 1e5 * odd / n)) > 1.0  # as far as one vector can go is 1.41


def test_the_error_of_the_start_is_that_of_the_theorem():
    log_delta = math.sqrt(math.log(3.75 / DELTA))
    printed = start_error_rate(SETTING, EPSILON, DELTA, sensitivity=printed_start_sensitivity_rate(SETTING))
    assert printed.statistical == pytest.approx(ANSWER * 2.5 * math.sqrt(60 * math.log(100) / 1e6), rel=1e-12)
    parts = 2.5 * math.sqrt(3 * 60) / (1e6 * 0.5) + 3 / (1e6 * 0.5)
    assert printed.privacy == pytest.approx(ANSWER * parts * LOG_N * log_delta, rel=1e-12)
    corrected = start_error_rate(SETTING, EPSILON, DELTA)
    assert corrected.statistical == printed.statistical
    assert corrected.privacy == pytest.approx(printed.privacy * math.sqrt((100 + LOG_N) / LOG_N), rel=1e-12)
    assert corrected.total == corrected.statistical + corrected.privacy


def test_noise_in_a_projector_costs_what_the_rate_says():
    """sqrt(d) times its scale."""
    d, scale = 100, 1e-3
    true, noise = np.diag([1.0, 1.0] + [0.0] * (d - 2)), RNG.standard_normal((d, d)) * scale
    top = np.linalg.eigh(true + np.triu(noise) + np.triu(noise, 1).T)[1][:, -2:]
    setting = TraceSetting(10**6, d, d, 2, 1.0, 1.0, 0.0)
    unit = math.sqrt(math.log(3.75 / DELTA))
    rate = start_error_rate(setting, 1.0, DELTA, sensitivity=StartSensitivity(scale / unit, 0.0)).privacy
    assert 0.7 < np.linalg.norm(top @ top.T - true, 2) / rate < 1.5


def test_exponents_of_the_start():
    def statistical(setting):
        return start_error_rate(setting, EPSILON, DELTA).statistical

    assert slope(statistical, "n_records") == pytest.approx(-0.5)
    assert slope(statistical, "smallest") == pytest.approx(-1)
    assert slope(statistical, "least_variance") == pytest.approx(-0.5)
    logs = math.sqrt(math.log(120) / math.log(100))
    assert statistical(changed(n_columns=60)) == pytest.approx(logs * statistical(SETTING))  # d is 60 as before
    assert statistical(changed(n_columns=240, n_rows=60)) > 2 * statistical(SETTING)  # d is 240
    assert slope(lambda setting: start_sensitivity_rate(setting).subspace, "smallest") == pytest.approx(-1)
    assert slope(lambda setting: start_sensitivity_rate(setting).core, "smallest") == pytest.approx(0)
    quiet = changed(noise=0.0)  # of sqrt(r) sigma_1 sqrt(r)
    ranks = start_sensitivity_rate(dataclasses.replace(quiet, rank=12)).core / start_sensitivity_rate(quiet).core
    assert ranks == pytest.approx(4)


def test_the_privacy_part_of_the_start_falls_with_epsilon_and_records():
    at = [start_error_rate(SETTING, epsilon, DELTA) for epsilon in (0.5, 1.0)]
    assert at[0].privacy == pytest.approx(2 * at[1].privacy) and at[0].statistical == at[1].statistical

    def per_log(n):
        logs = math.sqrt(math.log(n) * (100 + math.log(n)))
        return start_error_rate(changed(n_records=n), EPSILON, DELTA).privacy / logs

    assert per_log(10**4) == pytest.approx(10 * per_log(10**5)) == pytest.approx(10**5 * per_log(10**9))


def test_with_the_correction_the_start_pays_for_a_whole_dimension():
    """e_2 grows like sqrt(d) as printed, and like d as corrected."""

    def privacy(d, sensitivity):
        setting = changed(n_rows=d, n_columns=d)
        return start_error_rate(setting, EPSILON, DELTA, sensitivity=sensitivity(setting)).privacy

    d, factor = 10**8, 16
    printed, corrected = (
        math.log(privacy(factor * d, rate) / privacy(d, rate)) / math.log(factor)
        for rate in (printed_start_sensitivity_rate, start_sensitivity_rate)
    )
    assert printed == pytest.approx(0.5, abs=1e-3) and corrected == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0, 10.0])
def test_the_printed_noise_of_the_start_is_enough_for_its_sensitivity_and_that_of_the_steps_in_c1_is_not(epsilon):
    """log(3 / delta) in Algorithm 1 is no break, though the proof has 3.75; the variance of C.1 lacks a factor of 2."""
    third, delta = epsilon / 3, 1e-8 / 3
    start = Gaussian(math.sqrt(2 * math.log(3 / 1e-8)) / third)
    assert accountant.delta(start, epsilon=third) < delta
    step = Gaussian(math.sqrt(math.log(1.25 / delta)) / third)
    assert accountant.delta(step, epsilon=third) > delta


# Records for the start


def test_records_of_the_expansion():
    ratio = ((0.7 + math.sqrt(4.0 * 3) * 5.0) / 2.0) ** 2
    assert required_expansion_records(SETTING) == pytest.approx(4 * 3 * ratio * 60 * math.log(100), rel=1e-12)
    start = required_start_records(SETTING, EPSILON, DELTA).statistical
    assert start == pytest.approx(2.5**2 * required_expansion_records(SETTING), rel=1e-12)


def test_records_of_the_start_are_those_of_the_corollary():
    log_delta = math.sqrt(math.log(3.75 / DELTA))
    printed = printed_start_sensitivity_rate(SETTING)
    found = required_start_records(SETTING, EPSILON, DELTA, sensitivity=printed)
    n_1 = (ANSWER / 2.0) ** 2 * 2.5**2 * 3 * 60 * math.log(100)
    n_2 = ANSWER / 2.0 * (2.5 * 3 * math.sqrt(60) + 3**1.5) * LOG_N * log_delta / 0.5
    assert found == pytest.approx(RequiredRecords(n_1, n_2, 0.0), rel=1e-12)
    corrected = required_start_records(SETTING, EPSILON, DELTA)
    assert corrected.statistical == found.statistical
    assert corrected.privacy == pytest.approx(n_2 * math.sqrt((100 + LOG_N) / LOG_N), rel=1e-12)
    assert corrected.largest == max(corrected)


@pytest.mark.parametrize("n", [10**3, 10**6, 10**9])
def test_that_many_records_bring_the_start_within_the_smallest_singular_value(n):
    """n >= n_1 is the same as sqrt(r) e_1 <= sigma_r, n >= n_2 as sqrt(r) e_2 <= sigma_r."""
    setting = changed(n_records=n)
    records, error = (rate(setting, EPSILON, DELTA) for rate in (required_start_records, start_error_rate))
    near = math.sqrt(3) * np.array(error[:2]) <= 2.0
    assert list(near) == [n >= records.statistical, n >= records.privacy] == [n == 10**9, n >= 10**6]


def test_with_the_correction_both_parts_ask_for_records_in_proportion_to_the_dimension():
    """So the abstract's number of records, r^2 d without logarithms and epsilon, outlives it."""
    small, large = (changed(n_rows=d, n_columns=d) for d in (10**8, 16 * 10**8))
    few, many = (required_start_records(setting, EPSILON, DELTA) for setting in (small, large))
    logs = math.log(32 * 10**8) / math.log(2 * 10**8)
    assert many.statistical / few.statistical == pytest.approx(16 * logs)
    assert many.privacy / few.privacy == pytest.approx(16, rel=1e-3)


# Misuse


@pytest.mark.parametrize(
    ("name", "value", "requirement"),
    [
        ("epsilon", 0.0, "a finite float > 0"),
        ("epsilon", math.nan, "a finite float > 0"),
        ("delta", 0.0, "a finite float > 0 and < 1"),
        ("delta", 1.0, "a finite float > 0 and < 1"),
    ],
)
def test_parameters_are_checked(name, value, requirement):
    message = f"{name} of start_error_rate must be {requirement}; got {value}."
    for rate in (start_error_rate, required_start_records):
        with pytest.raises(InvalidParameter, match=re.escape(message)):
            rate(SETTING, **{"epsilon": EPSILON, "delta": DELTA, name: value})


def test_both_sensitivities_of_a_start_are_checked():
    for given in (StartSensitivity(1.0, -1.0), StartSensitivity(-1.0, 1.0)):
        with pytest.raises(InvalidParameter, match="sensitivity of start_error_rate must be a finite float >= 0; got"):
            start_error_rate(SETTING, EPSILON, DELTA, sensitivity=given)
