r"""The error of private low-rank trace regression by descent from a private start: the paper's rates (Theorem 3).

Model      y_i = <X_i, M> + xi_i for n records, M of shape (d1, d2) and rank r with singular values sigma_1 .. sigma_r,
           vec(X_i) Gaussian with a covariance between C_l and C_u, xi_i of standard deviation sigma_xi. d is the larger
           of d1 and d2.
Rates      everything: nothing here is exact and nothing is a bound. Logarithms are as printed; constants that the paper
           does not give are 1. A value proves nothing about one data set; it shows how error and records grow.
Caution    what the paper calls a sensitivity is the largest change when one record is replaced by another draw from the
           model, with high probability. That is not differential privacy: never calibrate noise to it.

`hushrank.bounds.trace_start` has the rates of the start, `trace_lower` what nobody can beat, and `trace_weak` the rates
where only answers are private. Each error of the paper is corrected or named in docs/privacy/trace_bounds.md.

References
----------
Zha: Near-optimal differentially private low-rank trace regression with guaranteed private initialization, 2024.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

from hushrank.parameters import check_integer, check_real


@dataclass(frozen=True, slots=True)
class TraceSetting:
    """Public guesses of the numbers of the model and of Assumption 1.

    Parameters
    ----------
    n_records, n_rows, n_columns, rank : int
        n, d1, d2 and r.
    largest, smallest : float
        sigma_1 and sigma_r, singular values of M.
    noise : float
        sigma_xi, standard deviation of an answer about its mean.
    least_variance, most_variance : float, default 1
        C_l and C_u, limits of the eigenvalues of the covariance of vec(X).
    """

    n_records: int
    n_rows: int
    n_columns: int
    rank: int
    largest: float
    smallest: float
    noise: float
    least_variance: float = 1.0
    most_variance: float = 1.0

    def __post_init__(self) -> None:
        owner = "TraceSetting"
        check_integer(self.n_records, "n_records", owner, minimum=3)  # log n >= 1
        check_integer(self.n_rows, "n_rows", owner, minimum=1)
        check_integer(self.n_columns, "n_columns", owner, minimum=1)
        check_integer(self.rank, "rank", owner, minimum=1, maximum=min(self.n_rows, self.n_columns))
        check_real(self.smallest, "smallest", owner, above=0)
        check_real(self.largest, "largest", owner, minimum=self.smallest)
        check_real(self.noise, "noise", owner, minimum=0)
        check_real(self.least_variance, "least_variance", owner, above=0)
        check_real(self.most_variance, "most_variance", owner, minimum=self.least_variance)

    @property
    def longer_side(self) -> int:
        """d, the larger of d1 and d2."""
        return max(self.n_rows, self.n_columns)

    @property
    def both_sides(self) -> int:
        """d1 + d2."""
        return self.n_rows + self.n_columns


class ErrorRate(NamedTuple):
    """An error in its parts: what it is without privacy, what privacy adds, and what it is at most."""

    statistical: float
    privacy: float
    ceiling: float = math.inf

    @property
    def total(self) -> float:
        """The sum of the parts, at most the ceiling."""
        return min(self.statistical + self.privacy, self.ceiling)


class RequiredRecords(NamedTuple):
    """Records that each part of an error asks for; logarithms of n are those of the setting's own n."""

    statistical: float
    privacy: float
    isometry: float = 0.0

    @property
    def largest(self) -> float:
        """What all parts together ask for."""
        return max(self)


def gradient_sensitivity_rate(setting: TraceSetting) -> float:
    """Rate Delta_l / eta: change of a projected gradient when one record is replaced by one of the model (Theorem 3).

    (sigma_xi + sigma_r sqrt(C_u)) sqrt(C_u r (d1 + d2) log n) / n, for d1 + d2 > log n; a step of size eta changes by
    eta times that. One number for all steps: sigma_r stands for the error of the first of them. Not a sensitivity in
    the sense of privacy.

    Examples
    --------
    >>> setting = TraceSetting(10**6, 50, 50, 2, largest=2.0, smallest=1.0, noise=0.5)
    >>> round(1e6 * gradient_sensitivity_rate(setting), 2)
    78.85
    """
    residual = setting.noise + setting.smallest * math.sqrt(setting.most_variance)
    return residual * _projected_norm(setting) * math.sqrt(math.log(setting.n_records)) / setting.n_records


def estimate_error_rate(
    setting: TraceSetting, epsilon: float, delta: float, *, sensitivity: float | None = None
) -> ErrorRate:
    """Rate: Frobenius error of the last of log n steps, u_1 and u_2 (Theorem 3).

    u_1 = sigma_xi sqrt(C_u r (d1 + d2) log(d1 + d2) / n), and u_2 = sensitivity sqrt(r (d1 + d2)) log n
    sqrt(log(1.25 log(n) / delta)) / epsilon. Start and steps have this budget each: together it is twice that.

    Parameters
    ----------
    setting, epsilon, delta
    sensitivity : float, optional
        Of a step of size 1; that of `gradient_sensitivity_rate` if not given.

    Examples
    --------
    >>> setting = TraceSetting(10**6, 50, 50, 2, largest=2.0, smallest=1.0, noise=0.5)
    >>> error = estimate_error_rate(setting, 1.0, 1e-6)
    >>> round(error.statistical, 4), round(error.privacy, 4)
    (0.0152, 0.0629)
    """
    owner = "estimate_error_rate"
    epsilon = check_real(epsilon, "epsilon", owner, above=0)
    delta = check_real(delta, "delta", owner, above=0, below=1)
    given = gradient_sensitivity_rate(setting) if sensitivity is None else sensitivity
    change = check_real(given, "sensitivity", owner, minimum=0)
    steps = math.log(setting.n_records)
    sampling = math.sqrt(math.log(setting.both_sides) / setting.n_records)
    noise = change * math.sqrt(setting.rank * setting.both_sides) * steps
    private = noise * math.sqrt(math.log(1.25 * steps / delta)) / epsilon
    return ErrorRate(setting.noise * _projected_norm(setting) * sampling, private)


def required_step_records(
    setting: TraceSetting, epsilon: float, delta: float, *, step_size: float, sensitivity: float | None = None
) -> RequiredRecords:
    """Rates n_3, n_4 and n_5: records with which every step comes nearer (Theorem 3).

    r (d1 + d2) for the isometry, and those for which eta u_1 and eta u_2 are sigma_r. Those of the start are
    needed as well.

    Examples
    --------
    >>> setting = TraceSetting(10**6, 50, 50, 2, largest=2.0, smallest=1.0, noise=0.5)
    >>> required_step_records(setting, 1.0, 1e-6, step_size=0.5)
    RequiredRecords(statistical=57.5..., privacy=31443.9..., isometry=200.0)
    """
    eta = check_real(step_size, "step_size", "required_step_records", above=0, below=1)
    error = estimate_error_rate(setting, epsilon, delta, sensitivity=sensitivity)
    n, unit = setting.n_records, eta / setting.smallest
    statistical, privacy = n * (unit * error.statistical) ** 2, n * unit * error.privacy
    return RequiredRecords(statistical, privacy, float(setting.rank * setting.both_sides))


def _projected_norm(setting: TraceSetting) -> float:
    """sqrt(C_u r (d1 + d2)): the Frobenius norm of X on the tangent space."""
    return math.sqrt(setting.most_variance * setting.rank * setting.both_sides)
