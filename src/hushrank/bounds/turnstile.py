r"""The error and space of private factorization of a stream: one bound, the paper's rates, and a forecast.

Setting    A of shape (m, n) is known by its updates; sketches of widths t and v, target rank k, A_k the best matrix of
           that rank, and `residual` the Frobenius norm of A - A_k.
Exact      words of a sketch, and what the paper's noise really gives (`delta_of_printed_noise` and its like).
Bound      `two_sketch_error_bound`, Theorem 28 with its proof repaired.
Rates      what ends in `_rate` holds up to constants that the paper does not give. They are set to 1, so a value proves
           nothing about one matrix; it shows how error and space grow.
Forecast   `predicted_error` and `smallest_recoverable` are heuristics that were measured.

References
----------
Upadhyay: Fast and space-optimal low-rank factorization in the streaming model with application in differential privacy.
"""

import math
from typing import NamedTuple

from scipy.special import log_ndtr

from hushrank.parameters import check_integer, check_real


class ErrorBound(NamedTuple):
    """Frobenius error of at most `multiplicative` times that of the best matrix of the rank, plus `additive`."""

    multiplicative: float
    additive: float

    def at(self, residual: float) -> float:
        """The bound for a matrix whose best approximation has this error."""
        return self.multiplicative * residual + self.additive


def printed_noise_multiplier(epsilon: float, delta: float) -> float:
    """sqrt(log(1/delta)) / epsilon, Theorem 11's noise for a change of norm 1: it is NOT (epsilon, delta)-private.

    Examples
    --------
    >>> round(printed_noise_multiplier(1.0, 1e-6), 3)  # 4.225 is enough, and needed
    3.717
    """
    owner = "printed_noise_multiplier"
    epsilon, delta = _check_budget(epsilon, delta, owner)
    return math.sqrt(math.log(1 / delta)) / epsilon


def delta_of_printed_noise(epsilon: float, delta: float) -> float:
    """The smallest delta for which Theorem 11's noise is private at this epsilon.

    Examples
    --------
    >>> f"{delta_of_printed_noise(1.0, 1e-6):.2e}"
    '1.06e-05'
    """
    return _gaussian_delta(epsilon, 1 / printed_noise_multiplier(epsilon, delta))


def delta_of_printed_sketches(epsilon: float, delta: float, alpha: float) -> float:
    """A lower bound on the delta of Figure 3 with the noise of Lemma 29, sqrt((1 + alpha) log(1/delta)) / epsilon.

    Each of its two sketches gets the noise that Theorem 11 asks for one of them. Here both keep norms exactly; sketches
    that lengthen a change by 1 + alpha, which the lemma allows, give more.

    Examples
    --------
    >>> f"{delta_of_printed_sketches(1.0, 1e-6, 0.25):.1e}"
    '2.6e-04'
    """
    alpha = _check_alpha(alpha, "delta_of_printed_sketches")
    noise = math.sqrt(1 + alpha) * printed_noise_multiplier(epsilon, delta)
    return _gaussian_delta(epsilon, math.sqrt(2) / noise)


def two_sketch_words(n_rows: int, n_columns: int, t: int, v: int) -> int:
    """Numbers that two sketches hold: m t + n v. The proof of Theorem 28 has m t^2 + n v^2."""
    m, n, t, v = _positive("two_sketch_words", n_rows=n_rows, n_columns=n_columns, t=t, v=v)
    return m * t + n * v


def three_sketch_words(n_rows: int, n_columns: int, t: int, v: int) -> int:
    """Numbers that two sketches of width t and a core hold: (m + n) t + v^2."""
    m, n, t, v = _positive("three_sketch_words", n_rows=n_rows, n_columns=n_columns, t=t, v=v)
    return (m + n) * t + v * v


def optimal_widths_rate(rank: int, alpha: float) -> tuple[float, float]:
    """Rates of t and v for which Figure 1 without noise has (1 + alpha) times the smallest error (Theorem 12).

    k log k / alpha and k log k / alpha^2. The space of the theorem, (m + n) t, leaves out the core: it is the larger
    part where k log k > (m + n) alpha^3.

    Examples
    --------
    >>> [round(width) for width in optimal_widths_rate(10, 0.1)]
    [230, 2303]
    """
    owner = "optimal_widths_rate"
    k, alpha = check_integer(rank, "rank", owner, minimum=1), _check_alpha(alpha, owner)
    width = k * max(math.log(k), 1.0) / alpha
    return width, width / alpha


def printed_identity_scale(epsilon: float, delta: float, alpha: float, t: int) -> float:
    """sigma_min of Figure 2, the multiple of the identity that is appended to A to hide it.

    Its proof asks of a square sketch what only a longer one can have (Claims 18 and 19), and with one of the sketches
    that it allows the algorithm is not private for any such number: hushrank has no Figure 2.

    Examples
    --------
    >>> round(printed_identity_scale(1.0, 1e-6, 0.25, 32))
    6000
    """
    owner = "printed_identity_scale"
    epsilon, delta = _check_budget(epsilon, delta, owner)
    alpha, t = _check_alpha(alpha, owner), check_integer(t, "t", owner, minimum=1)
    log = math.log(1 / delta)
    return 16 * log * math.sqrt(t * (1 + alpha) / (1 - alpha) * log) / epsilon


def figure2_error_rate(
    n_rows: int, n_columns: int, rank: int, v: int, *, alpha: float, identity: float, noise: float
) -> ErrorBound:
    """Rate, not a bound: error of Figure 2 (Theorem 15, Lemma 27) with s I appended and `noise` in sketches and core.

    1 + alpha, and s sqrt(m + n) + noise (v + sqrt(k (m + n)) / (1 - alpha)): the identity is approximated as well.

    Examples
    --------
    >>> figure2_error_rate(2000, 1600, 10, 160, alpha=0.0, identity=6.0, noise=6.0)
    ErrorBound(multiplicative=1.0, additive=2458.4...)
    """
    owner = "figure2_error_rate"
    m, n, k, v = _positive(owner, n_rows=n_rows, n_columns=n_columns, rank=rank, v=v)
    alpha, noise = _check_alpha(alpha, owner), check_real(noise, "noise", owner, minimum=0)
    appended = check_real(identity, "identity", owner, minimum=0) * math.sqrt(m + n)
    return ErrorBound(1 + alpha, appended + noise * (v + math.sqrt(k * (m + n)) / (1 - alpha)))


def printed_two_sketch_error_rate(
    n_rows: int, n_columns: int, rank: int, *, alpha: float, noise_multiplier: float
) -> ErrorBound:
    """Rate, not a bound: error of Figure 3 as Theorem 28 prints it, for any noise multiplier in the place of its own.

    Examples
    --------
    >>> printed_two_sketch_error_rate(100, 100, 1, alpha=0.5, noise_multiplier=0.0)
    ErrorBound(multiplicative=1.5, additive=0.0)
    """
    owner = "printed_two_sketch_error_rate"
    m, n, k = _positive(owner, n_rows=n_rows, n_columns=n_columns, rank=rank)
    alpha = check_real(alpha, "alpha", owner, above=0, below=1)
    noise = check_real(noise_multiplier, "noise_multiplier", owner, minimum=0)
    rows, columns = (1 + alpha) * math.sqrt(k * m), math.sqrt(n * (1 + alpha) / alpha**3 * (k + 1 / alpha))
    return ErrorBound(1 + alpha, noise * (rows + columns))


def two_sketch_error_bound(n_rows: int, n_columns: int, rank: int, v: int, *, alpha: float, noise: float) -> ErrorBound:
    """Bound on the mean error of Figure 3 over its noise, given sketches that embed with alpha (Theorem 28, repaired).

    The paper has B = A + S^+ N for a matrix that S embeds; it depends on S, and no sketch embeds it. Instead, X~ is
    the best matrix of rank k in the sketched space, so that for any X of that rank, with N the noise of S A,
    |S(U X~ - A)| <= |S U X~ - S A - N| + |N| <= |S(U X - A)| + 2 |N|. The rest is as printed.

    Parameters
    ----------
    n_rows, n_columns, rank, v : int
    alpha : float
        For all X: |S(U X - A)|^2 is within 1 +- alpha of |U X - A|^2. Regression of A on A_k by the other sketch Phi
        has at most 1 + alpha times the smallest error, and squared singular values of V_k^T Phi are at least 1 - alpha.
    noise : float
        Standard deviation of the noise of both sketches.

    Examples
    --------
    >>> two_sketch_error_bound(100, 100, 4, 25, alpha=0.0, noise=1.0)
    ErrorBound(multiplicative=1.0, additive=120.0)
    """
    owner = "two_sketch_error_bound"
    m, n, k, v = _positive(owner, n_rows=n_rows, n_columns=n_columns, rank=rank, v=v)
    alpha, noise = _check_alpha(alpha, owner), check_real(noise, "noise", owner, minimum=0)
    stretch = math.sqrt((1 + alpha) / (1 - alpha))
    of_columns, of_rows = noise * math.sqrt(m * k / (1 - alpha)), 2 * noise * math.sqrt(v * n / (1 - alpha))
    return ErrorBound(stretch * (1 + alpha), stretch * of_columns + of_rows)


def predicted_error(
    residual: float, noise: float, n_rows: int, n_columns: int, rank: int, sketch_sizes: tuple[int, int]
) -> float:
    """Forecast of the Frobenius error of our two-sketch factorization where all k components stand above the noise.

    The root of residual^2 (1 + k/(t-k-1) + k/(v-k-1)) + noise^2 k (m + n); infinite for widths of at most k + 1.
    Measured, not proved: within 7 % in seven settings with rank 10 and 2000 x 1500 matrices. Noise does not grow with
    the widths. Where components are lost in the noise, the error is smaller than this, and at most about that of zero.

    Examples
    --------
    >>> round(predicted_error(1722.0, 6.138, 2000, 1500, 10, (64, 128)) / 1722.0, 3)  # 1.328 was measured
    1.311
    """
    owner = "predicted_error"
    residual = check_real(residual, "residual", owner, minimum=0)
    noise = check_real(noise, "noise", owner, minimum=0)
    m, n, k = _positive(owner, n_rows=n_rows, n_columns=n_columns, rank=rank)
    t, v = _positive(owner, t=sketch_sizes[0], v=sketch_sizes[1])
    if min(t, v) <= k + 1:
        return math.inf
    return math.sqrt(residual**2 * (1 + k / (t - k - 1) + k / (v - k - 1)) + noise**2 * k * (m + n))


def smallest_recoverable(noise: float, n_rows: int, n_columns: int) -> float:
    """About the smallest singular value whose component is recovered: 2 noise sqrt(max(m, n)). Measured, not proved.

    Examples
    --------
    >>> smallest_recoverable(6.0, 2500, 100)
    600.0
    """
    owner = "smallest_recoverable"
    m, n = _positive(owner, n_rows=n_rows, n_columns=n_columns)
    return 2 * check_real(noise, "noise", owner, minimum=0) * math.sqrt(max(m, n))


def _gaussian_delta(epsilon: float, mu: float) -> float:
    """Delta of Gaussian noise for a change of `mu` standard deviations, exactly."""
    gained = math.exp(log_ndtr(mu / 2 - epsilon / mu))
    return max(gained - math.exp(epsilon + log_ndtr(-mu / 2 - epsilon / mu)), 0.0)


def _check_budget(epsilon: float, delta: float, owner: str) -> tuple[float, float]:
    return check_real(epsilon, "epsilon", owner, above=0), check_real(delta, "delta", owner, above=0, below=1)


def _check_alpha(alpha: float, owner: str) -> float:
    return check_real(alpha, "alpha", owner, minimum=0, below=1)


def _positive(owner: str, **sizes: int) -> list[int]:
    """The sizes in their order, all of them integers of at least 1."""
    return [check_integer(value, name, owner, minimum=1) for name, value in sizes.items()]
