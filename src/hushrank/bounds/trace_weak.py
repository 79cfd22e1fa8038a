r"""The error of private trace regression where only answers are private: the paper's rates under weak privacy.

Model      that of `hushrank.bounds.trace`. Neighbors share all X_i and differ in one answer y_i: label privacy.
Rates      everything, as there: logarithms as printed, constants 1, nothing is proved about one data set.
Caution    the paper's neighbor has an answer of the model, y' - y = xi' - xi. Someone's answer may be any number, so
           that is not even label privacy: never calibrate noise to these values.

Of an answer, or of a residual, only its noise changes. So what privacy adds to the error is multiplied by the
share of the noise, and the gap between the upper and the lower rate in sigma_r closes. The factor that Theorem 1 lost
is lost in Theorem 6 as well (Lemma 15). The lower rate is `hushrank.bounds.trace_lower.minimax_error_rate`: its proof
changes answers only, which the paper does not say. docs/privacy/trace_bounds.md has each correction.

References
----------
Zha: Near-optimal differentially private low-rank trace regression with guaranteed private initialization, 2024.
"""

import math

from hushrank.bounds.trace import (
    ErrorRate,
    RequiredRecords,
    TraceSetting,
    estimate_error_rate,
    gradient_sensitivity_rate,
    required_step_records,
)
from hushrank.bounds.trace_start import (
    StartSensitivity,
    printed_start_sensitivity_rate,
    required_start_records,
    start_error_rate,
    start_sensitivity_rate,
)


def weak_start_sensitivity_rate(setting: TraceSetting) -> StartSensitivity:
    """Rate: change of the spectral start when one answer gets other noise of the model (Theorem 6, corrected).

    The core changes by sigma_xi sqrt(r (d1 + d2 + log n) log n / C_l) / n, the projectors by that over sigma_r.

    Examples
    --------
    >>> setting = TraceSetting(10**6, 50, 50, 2, largest=2.0, smallest=1.0, noise=0.5)
    >>> round(1e6 * weak_start_sensitivity_rate(setting).core, 2)
    28.04
    """
    return _weakened(setting, start_sensitivity_rate(setting))


def printed_weak_start_sensitivity_rate(setting: TraceSetting) -> StartSensitivity:
    """Theorem 6 as printed: log n in the place of sqrt((d1 + d2 + log n) log n). Too small, even for data of the model.

    Examples
    --------
    >>> setting = TraceSetting(10**6, 50, 50, 2, largest=2.0, smallest=1.0, noise=0.5)
    >>> round(1e6 * printed_weak_start_sensitivity_rate(setting).core, 2)
    9.77
    """
    return _weakened(setting, printed_start_sensitivity_rate(setting))


def weak_start_error_rate(
    setting: TraceSetting, epsilon: float, delta: float, *, sensitivity: StartSensitivity | None = None
) -> ErrorRate:
    """Rate: spectral error of the start, e_1 and the weak e_2; sqrt(2 r) times that in Frobenius norm (Theorem 6).

    `start_error_rate` with `weak_start_sensitivity_rate`, or with the sensitivity that is given. e_1 stays.

    Examples
    --------
    >>> setting = TraceSetting(10**6, 50, 50, 2, largest=2.0, smallest=1.0, noise=0.5)
    >>> error = weak_start_error_rate(setting, 1.0, 1e-6)
    >>> round(error.statistical, 4), round(error.privacy, 4)
    (0.101, 0.0017)
    """
    given = weak_start_sensitivity_rate(setting) if sensitivity is None else sensitivity
    return start_error_rate(setting, epsilon, delta, sensitivity=given)


def required_weak_start_records(
    setting: TraceSetting, epsilon: float, delta: float, *, sensitivity: StartSensitivity | None = None
) -> RequiredRecords:
    """Rates n_1 and weak n_2: records with which the start comes as near as sigma_r in Frobenius norm (Corollary 2).

    Examples
    --------
    >>> setting = TraceSetting(10**6, 50, 50, 2, largest=2.0, smallest=1.0, noise=0.5)
    >>> [round(part) for part in required_weak_start_records(setting, 1.0, 1e-6)[:2]]
    [20407, 2400]
    """
    given = weak_start_sensitivity_rate(setting) if sensitivity is None else sensitivity
    return required_start_records(setting, epsilon, delta, sensitivity=given)


def weak_gradient_sensitivity_rate(setting: TraceSetting) -> float:
    """Rate: change of a projected gradient when one answer gets other noise of the model (Theorem 7).

    sigma_xi sqrt(C_u r (d1 + d2) log n) / n, for d1 + d2 > log n: without sigma_r.

    Examples
    --------
    >>> setting = TraceSetting(10**6, 50, 50, 2, largest=2.0, smallest=1.0, noise=0.5)
    >>> round(1e6 * weak_gradient_sensitivity_rate(setting), 2)
    26.28
    """
    signal = setting.smallest * math.sqrt(setting.most_variance)
    return gradient_sensitivity_rate(setting) * setting.noise / (setting.noise + signal)


def weak_estimate_error_rate(setting: TraceSetting, epsilon: float, delta: float) -> ErrorRate:
    """Rate: Frobenius error of the last of log n steps, u_1 and the weak u_2 (Theorem 7).

    `estimate_error_rate` with `weak_gradient_sensitivity_rate`. Start and steps have this budget each.

    Examples
    --------
    >>> setting = TraceSetting(10**6, 50, 50, 2, largest=2.0, smallest=1.0, noise=0.5)
    >>> error = weak_estimate_error_rate(setting, 1.0, 1e-6)
    >>> round(error.statistical, 4), round(error.privacy, 4)
    (0.0152, 0.021)
    """
    return estimate_error_rate(setting, epsilon, delta, sensitivity=weak_gradient_sensitivity_rate(setting))


def required_weak_step_records(
    setting: TraceSetting, epsilon: float, delta: float, *, step_size: float
) -> RequiredRecords:
    """Rates n_3, n_4 and weak n_5: records with which every step comes nearer (Theorem 7).

    Examples
    --------
    >>> setting = TraceSetting(10**6, 50, 50, 2, largest=2.0, smallest=1.0, noise=0.5)
    >>> round(required_weak_step_records(setting, 1.0, 1e-6, step_size=0.5).privacy)
    10481
    """
    change = weak_gradient_sensitivity_rate(setting)
    return required_step_records(setting, epsilon, delta, step_size=step_size, sensitivity=change)


def _weakened(setting: TraceSetting, sensitivity: StartSensitivity) -> StartSensitivity:
    """That part of a change which is due to the noise of an answer."""
    signal = math.sqrt(setting.most_variance * setting.rank) * setting.largest
    share = setting.noise / (signal + setting.noise)
    return StartSensitivity(sensitivity.subspace * share, sensitivity.core * share)
