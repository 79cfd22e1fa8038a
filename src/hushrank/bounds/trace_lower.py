r"""What private low-rank trace regression cannot beat: the paper's lower rates (Theorems 2 and 5).

Model      that of `hushrank.bounds.trace`.
Rates      both: lower bounds up to a constant factor that the paper does not give and that is 1 here. A value proves
           nothing about one data set, and an estimator may have less error than it.

The statement of Theorem 2 stands; its proof does not, and is repaired in docs/privacy/trace_bounds.md. Theorem 5 has
gaps that are named there.

References
----------
Zha: Near-optimal differentially private low-rank trace regression with guaranteed private initialization, 2024.
"""

import math

from hushrank.bounds.trace import ErrorRate, TraceSetting
from hushrank.exceptions import InvalidParameter
from hushrank.parameters import check_real


def minimax_error_rate(setting: TraceSetting, epsilon: float, *, order: float = 2.0) -> ErrorRate:
    """Rate: the least largest mean error in Schatten norm of any private estimator, l_1 and l_2 (Theorem 2).

    sigma_xi / sqrt(C_u) times r^(1/q) sqrt(d / n) and r^(1/2 + 1/q) d / (n epsilon), at most r^(1/q) sigma_r, about
    the error of the matrix zero. For singular values of one order, r <= d / 3 and delta <= e^-n: for other deltas it
    says nothing. It holds as well where only answers are private.

    Parameters
    ----------
    setting, epsilon
    order : float, default 2
        q of the norm, from 1 (nuclear) over 2 (Frobenius) to infinity (spectral).

    Examples
    --------
    >>> setting = TraceSetting(10**6, 50, 50, 2, largest=2.0, smallest=1.0, noise=0.5)
    >>> error = minimax_error_rate(setting, 0.1)
    >>> round(error.statistical, 6), round(error.privacy, 6), round(error.ceiling, 3)
    (0.005, 0.0005, 1.414)
    """
    owner = "minimax_error_rate"
    epsilon = check_real(epsilon, "epsilon", owner, above=0)
    power = setting.rank ** (1 / _check_order(order, owner))
    unit = power * setting.noise / math.sqrt(setting.most_variance)
    ratio = setting.longer_side / setting.n_records
    return ErrorRate(
        unit * math.sqrt(ratio), unit * math.sqrt(setting.rank) * ratio / epsilon, power * setting.smallest
    )


def score_attack_risk_rate(setting: TraceSetting, epsilon: float, delta: float) -> ErrorRate:
    """Rate: the least largest mean squared Frobenius error of any private estimator, by the score attack (Theorem 5).

    sigma_xi^2 / C_u times r d / n and (r d / (n epsilon))^2: the squares of l_1 and l_2. For epsilon < 1,
    delta < 1 / n and r d <= n epsilon, over matrices of rank at most r and any size. The proof has C_u, the statement
    left it out.

    Examples
    --------
    >>> setting = TraceSetting(10**6, 50, 50, 2, largest=2.0, smallest=1.0, noise=0.5)
    >>> risk = score_attack_risk_rate(setting, 0.1, 1e-7)
    >>> round(math.sqrt(risk.statistical), 6), round(math.sqrt(risk.privacy), 6)
    (0.005, 0.0005)
    """
    owner = "score_attack_risk_rate"
    epsilon = check_real(epsilon, "epsilon", owner, above=0, below=1)
    check_real(delta, "delta", owner, minimum=0, below=1 / setting.n_records)
    ratio = setting.rank * setting.longer_side / setting.n_records
    if epsilon < ratio:
        raise InvalidParameter(owner, "epsilon", f"at least r d / n = {ratio:g}", epsilon)
    unit = setting.noise**2 / setting.most_variance
    return ErrorRate(unit * ratio, unit * (ratio / epsilon) ** 2)


def _check_order(order: float, owner: str) -> float:
    if isinstance(order, float) and order == math.inf:
        return order
    try:
        return check_real(order, "order", owner, minimum=1)
    except InvalidParameter:
        raise InvalidParameter(owner, "order", "a float >= 1, or infinity", order) from None
