r"""The error of a private spectral start of trace regression: the paper's rates (Theorem 1, Corollary 1), corrected.

Model      that of `hushrank.bounds.trace`. The start has the singular vectors and the core of the mean of y_i X_i,
           with X_i whitened, and Gaussian noise on each.
Rates      everything, as there: logarithms as printed, constants 1, nothing is proved about one data set.
Caution    these sensitivities are for records of the model, with high probability. That is not differential privacy:
           never calibrate noise to them.

`start_sensitivity_rate` has a factor of about sqrt(d1 + d2) that the paper lost, and every other rate follows it unless
it is given `printed_start_sensitivity_rate`. docs/privacy/trace_bounds.md has the correction.

References
----------
Zha: Near-optimal differentially private low-rank trace regression with guaranteed private initialization, 2024.
"""

import math
from typing import NamedTuple

from hushrank.bounds.trace import ErrorRate, RequiredRecords, TraceSetting
from hushrank.parameters import check_real


class StartSensitivity(NamedTuple):
    """Frobenius change of the projectors on the singular vectors, and of the small core between them."""

    subspace: float
    core: float


def start_sensitivity_rate(setting: TraceSetting) -> StartSensitivity:
    """Rate: change of the spectral start when one record is replaced by another of the model (Theorem 1, corrected).

    With a = (sqrt(C_u r) sigma_1 + sigma_xi) / sqrt(C_l): the core changes by a sqrt(r (d1 + d2 + log n) log n) / n,
    and the projectors by that over sigma_r. The spectral norm of one X_i is about sqrt(d1) + sqrt(d2), which Lemma 5
    takes for a constant. Not a sensitivity in the sense of privacy.

    Examples
    --------
    >>> setting = TraceSetting(10**6, 50, 50, 2, largest=2.0, smallest=1.0, noise=0.5)
    >>> corrected, printed = start_sensitivity_rate(setting), printed_start_sensitivity_rate(setting)
    >>> round(corrected.subspace / printed.subspace, 2)
    2.87
    """
    log = math.log(setting.n_records)
    return _start_sensitivity(setting, math.sqrt((setting.both_sides + log) * log))


def printed_start_sensitivity_rate(setting: TraceSetting) -> StartSensitivity:
    """Theorem 1 as printed: log n in the place of sqrt((d1 + d2 + log n) log n). Too small, even for data of the model.

    Examples
    --------
    >>> setting = TraceSetting(10**6, 50, 50, 2, largest=2.0, smallest=1.0, noise=0.5)
    >>> printed_start_sensitivity_rate(setting)
    StartSensitivity(subspace=6.5...e-05, core=6.5...e-05)
    """
    return _start_sensitivity(setting, math.log(setting.n_records))


def start_error_rate(
    setting: TraceSetting, epsilon: float, delta: float, *, sensitivity: StartSensitivity | None = None
) -> ErrorRate:
    """Rate: spectral error of the private start, e_1 and e_2; sqrt(2 r) times that in Frobenius norm (Theorem 1).

    e_1 = a (sigma_1 / sigma_r) sqrt(d log(d1 + d2) / n), with a as in `start_sensitivity_rate`, and
    e_2 = (sigma_1 sqrt(d) subspace + sqrt(r) core) sqrt(log(3.75 / delta)) / epsilon.

    Parameters
    ----------
    setting, epsilon, delta
    sensitivity : StartSensitivity, optional
        That of `start_sensitivity_rate` if not given; the printed one gives the printed e_2.

    Examples
    --------
    >>> setting = TraceSetting(10**6, 50, 50, 2, largest=2.0, smallest=1.0, noise=0.5)
    >>> error = start_error_rate(setting, 1.0, 1e-6)
    >>> round(error.statistical, 4), round(error.privacy, 4)
    (0.101, 0.0113)
    """
    owner = "start_error_rate"
    epsilon = check_real(epsilon, "epsilon", owner, above=0)
    delta = check_real(delta, "delta", owner, above=0, below=1)
    given = start_sensitivity_rate(setting) if sensitivity is None else sensitivity
    subspace, core = (check_real(value, "sensitivity", owner, minimum=0) for value in given)
    side = math.sqrt(setting.longer_side)
    sampling = math.sqrt(math.log(setting.both_sides) / setting.n_records)
    statistical = _answer_scale(setting) * setting.largest / setting.smallest * side * sampling
    noise = setting.largest * side * subspace + math.sqrt(setting.rank) * core
    return ErrorRate(statistical, noise * math.sqrt(math.log(3.75 / delta)) / epsilon)


def required_expansion_records(setting: TraceSetting) -> float:
    """Rate n_0: records for which Theorem 1 holds, r (a / sigma_r)^2 d log(d1 + d2).

    The factor r is for a Frobenius norm that the proof gets wrong and does not need.

    Examples
    --------
    >>> round(required_expansion_records(TraceSetting(10**6, 50, 50, 2, largest=2.0, smallest=1.0, noise=0.5)))
    5102
    """
    scale = _answer_scale(setting) / setting.smallest
    return setting.rank * scale**2 * setting.longer_side * math.log(setting.both_sides)


def required_start_records(
    setting: TraceSetting, epsilon: float, delta: float, *, sensitivity: StartSensitivity | None = None
) -> RequiredRecords:
    """Rates n_1 and n_2: records with which the start comes as near as sigma_r in Frobenius norm (Corollary 1).

    Those for which sqrt(r) e_1 and sqrt(r) e_2 of `start_error_rate` are sigma_r. As corrected, n_2 is of the order
    r^1.5 d / epsilon; as printed, of r^1.5 sqrt(d) / epsilon.

    Examples
    --------
    >>> setting = TraceSetting(10**6, 50, 50, 2, largest=2.0, smallest=1.0, noise=0.5)
    >>> [round(part) for part in required_start_records(setting, 1.0, 1e-6)[:2]]
    [20407, 15977]
    """
    error = start_error_rate(setting, epsilon, delta, sensitivity=sensitivity)
    unit = math.sqrt(setting.rank) / setting.smallest
    n = setting.n_records
    return RequiredRecords(n * (unit * error.statistical) ** 2, n * unit * error.privacy)


def _start_sensitivity(setting: TraceSetting, spread: float) -> StartSensitivity:
    """For records whose y X has a largest spectral norm of `spread`, in units of the scale of its entries."""
    core = _answer_scale(setting) * math.sqrt(setting.rank) * spread / setting.n_records
    return StartSensitivity(core / setting.smallest, core)


def _answer_scale(setting: TraceSetting) -> float:
    """(sqrt(C_u r) sigma_1 + sigma_xi) / sqrt(C_l): the scale of an answer times that of a whitened entry."""
    signal = math.sqrt(setting.most_variance * setting.rank) * setting.largest
    return (signal + setting.noise) / math.sqrt(setting.least_variance)
