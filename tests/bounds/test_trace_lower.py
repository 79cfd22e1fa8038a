"""The lower rates of trace regression: against formulas written out, their exponents, an oracle, and misused."""

import dataclasses
import math
import re

import numpy as np
import pytest

from hushrank.bounds.trace import ErrorRate, TraceSetting, estimate_error_rate
from hushrank.bounds.trace_lower import minimax_error_rate, score_attack_risk_rate
from hushrank.exceptions import InvalidParameter

RNG = np.random.default_rng(20240326)
SETTING = TraceSetting(10**6, 60, 40, 4, 5.0, 2.0, 0.7, least_variance=0.25, most_variance=4.0)


def changed(**fields):
    return dataclasses.replace(SETTING, **fields)


# Theorem 2


@pytest.mark.parametrize(("order", "power"), [(1, 1.0), (2, 0.5), (4.0, 0.25), (math.inf, 0.0)])
def test_the_rate_is_that_of_the_theorem(order, power):
    l_1 = 0.7 / 2.0 * 4**power * math.sqrt(60 / 1e6)
    l_2 = 0.7 / 2.0 * 4 ** (0.5 + power) * 60 / (1e6 * 0.1)
    assert minimax_error_rate(SETTING, 0.1, order=order) == pytest.approx(ErrorRate(l_1, l_2, 4**power * 2.0))


def test_frobenius_is_the_default_and_norms_fall_with_their_order():
    assert minimax_error_rate(SETTING, 0.1) == minimax_error_rate(SETTING, 0.1, order=2)
    totals = [minimax_error_rate(SETTING, 0.1, order=order).total for order in (1, 1.5, 2, 3, math.inf)]
    assert totals == sorted(totals, reverse=True) and len(set(totals)) == 5


@pytest.mark.parametrize(
    ("fields", "statistical", "privacy", "ceiling"),
    [
        ({"n_records": 4 * 10**6}, -0.5, -1.0, 0.0),
        ({"rank": 16}, 0.5, 1.0, 0.5),
        ({"n_rows": 240}, 0.5, 1.0, 0.0),
        ({"n_rows": 40, "n_columns": 240}, 0.5, 1.0, 0.0),
        ({"noise": 2.8}, 1.0, 1.0, 0.0),
        ({"largest": 20.0, "smallest": 8.0}, 0.0, 0.0, 1.0),
        ({"most_variance": 16.0}, -0.5, -0.5, 0.0),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else None,
)
def test_exponents(fields, statistical, privacy, ceiling):
    """Every change is by a factor of 4."""
    ratios = np.divide(minimax_error_rate(changed(**fields), 0.1), minimax_error_rate(SETTING, 0.1))
    assert np.log(ratios) / math.log(4) == pytest.approx([statistical, privacy, ceiling], abs=1e-12)


def test_only_privacy_pays_for_epsilon():
    little, much = (minimax_error_rate(SETTING, epsilon) for epsilon in (0.1, 0.4))
    assert little.privacy == pytest.approx(4 * much.privacy) and little.statistical == much.statistical


def test_nothing_is_worse_than_a_matrix_of_zeros():
    assert minimax_error_rate(SETTING, 1e-9).total == 4.0  # r^(1/2) sigma_r
    few = changed(n_records=3, noise=100.0)
    assert minimax_error_rate(few, 1.0, order=math.inf).total == 2.0


def test_the_statistical_part_is_the_error_of_someone_who_knows_one_side():
    """Least squares for the r d numbers of U, given V: the family in which the repaired proof looks for M."""
    n, d, r, noise = 4000, 40, 3, 0.7
    V = np.linalg.qr(RNG.standard_normal((d, r)))[0]
    X = RNG.standard_normal((n, d, d))
    U = np.linalg.qr(RNG.standard_normal((d, r)))[0]
    Z = (X @ V).reshape(n, -1)
    y = Z @ U.ravel() + noise * RNG.standard_normal(n)
    error = np.linalg.norm(np.linalg.lstsq(Z, y)[0] - U.ravel())
    rate = minimax_error_rate(TraceSetting(n, d, d, r, 1.0, 1.0, noise), 1.0).statistical
    assert 0.7 < error / rate < 1.4


def test_the_lower_rate_is_below_the_upper_one():
    for n in (10**3, 10**6, 10**9):
        for noise in (0.0, 0.1, 10.0):
            setting = changed(n_records=n, noise=noise)
            upper, lower = estimate_error_rate(setting, 0.1, 1e-6), minimax_error_rate(setting, 0.1)
            assert lower.statistical <= upper.statistical and lower.privacy <= upper.privacy


# Theorem 5


def test_the_score_attack_gives_the_squares():
    risk = score_attack_risk_rate(SETTING, 0.1, 1e-7)
    ratio = 4 * 60 / 1e6
    assert risk == pytest.approx(ErrorRate(0.7**2 / 4.0 * ratio, 0.7**2 / 4.0 * ratio**2 / 0.1**2), rel=1e-12)
    error = minimax_error_rate(SETTING, 0.1)
    assert risk[:2] == pytest.approx((error.statistical**2, error.privacy**2), rel=1e-12)
    assert risk.ceiling == math.inf


def test_the_score_attack_takes_deltas_that_are_used():
    assert score_attack_risk_rate(SETTING, 0.1, 0.0) == score_attack_risk_rate(SETTING, 0.1, 9e-7)
    edge = changed(n_records=1000)  # r d = 240
    assert score_attack_risk_rate(edge, 0.24, 1e-6).privacy == pytest.approx(0.7**2 / 4.0)


# Misuse


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: minimax_error_rate(SETTING, 0.0),
            "epsilon of minimax_error_rate must be a finite float > 0; got 0.0.",
        ),
        *(
            (
                lambda order=order: minimax_error_rate(SETTING, 1.0, order=order),
                f"order of minimax_error_rate must be a float >= 1, or infinity; got {order!r}.",
            )
            for order in (0.5, -math.inf, math.nan, "inf")
        ),
        (
            lambda: score_attack_risk_rate(SETTING, 1.0, 1e-7),
            "epsilon of score_attack_risk_rate must be a finite float > 0 and < 1; got 1.0.",
        ),
        (
            lambda: score_attack_risk_rate(SETTING, 0.5, 1e-6),
            "delta of score_attack_risk_rate must be a finite float >= 0 and < 1e-06; got 1e-06.",
        ),
        (
            lambda: score_attack_risk_rate(changed(n_records=1000), 0.2, 1e-6),
            "epsilon of score_attack_risk_rate must be at least r d / n = 0.24; got 0.2.",
        ),
    ],
)
def test_parameters_are_checked(call, message):
    with pytest.raises(InvalidParameter, match=re.escape(message)):
        call()
