"""The Gaussian privacy curve and its inverses, to twelve digits and rounded to the private side.

Curve      delta(epsilon; mu) = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu): the cost of a
           Gaussian release of scale sensitivity/mu, and of many with mu^2 the sum of their squares.
Inverses   solve for a delta smaller by MARGIN, which exceeds the error of the curve many times.
Privacy    docs/privacy/accounting.md, sections 2 (curve), 4 (pure releases), 7 (zCDP) and 9 (inverses).
"""

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.special import erfcx, erfinv, log_ndtr, ndtri_exp

from hushrank.parameters import check_real

FloatArray = npt.NDArray[np.float64]

MARGIN = 1e-9
"""Relative part of every target delta that inverses leave unused; it covers all rounding errors."""

_LOG_SQRT_TAU = 0.5 * math.log(2.0 * math.pi)
# Gauss and Legendre, 12 nodes: positive nodes and their weights. They are written down because NumPy finds them by
# eigenvalues, which have other last bits on another processor, and so would noise multipliers and all that is drawn.
_HALF_NODES, _HALF_WEIGHTS = np.array(
    [
        (0.1252334085114689, 0.24914704581340277),
        (0.3678314989981802, 0.2334925365383548),
        (0.5873179542866175, 0.20316742672306592),
        (0.7699026741943047, 0.16007832854334622),
        (0.9041172563704749, 0.10693932599531843),
        (0.9815606342467192, 0.04717533638651183),
    ]
).T
_NODES = (np.concatenate([-_HALF_NODES[::-1], _HALF_NODES]) + 1.0) / 2.0
_WEIGHTS = np.concatenate([_HALF_WEIGHTS[::-1], _HALF_WEIGHTS]) / 2.0
_SERIES = np.cumprod([1.0] + [-(2.0 * k + 1.0) for k in range(1, 17)])


def log_delta(epsilons: npt.ArrayLike, mu: float) -> FloatArray:
    """Logarithm of delta(epsilon; mu) for any real epsilons.

    Parameters
    ----------
    epsilons : array_like of shape (...)
        Any real numbers; negative ones occur when losses of other releases are subtracted.
    mu : float >= 0
        Infinity means no noise (delta = 1), zero means no release (delta = max(0, 1 - e^epsilon)).

    Returns
    -------
    ndarray of shape (...)
        The relative error of exp(result) is below 1e-12 wherever that is a normal float and |epsilon| is at
        most 1000, below MARGIN up to 1e7.
    """
    eps = np.asarray(epsilons, dtype=np.float64)
    if math.isinf(mu):
        return np.zeros(eps.shape)
    size = np.abs(eps)
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        upper = _log_delta_upper(np.atleast_1d(size), mu).reshape(eps.shape)
        # Exchanging P and Q: delta(-e) = 1 - exp(-e) + exp(-e) delta(e), a sum of positive terms.
        mirrored = np.log(-np.expm1(-size) + np.exp(upper - size))
    return np.asarray(np.minimum(np.where(eps >= 0.0, upper, mirrored), 0.0))


def gaussian_delta(epsilons: npt.ArrayLike, mu: float) -> FloatArray:
    """The curve itself, exp(log_delta); see there."""
    with np.errstate(under="ignore"):
        return np.asarray(np.exp(log_delta(epsilons, mu)))


def _log_delta_upper(eps: FloatArray, mu: float) -> FloatArray:
    """log_delta for one-dimensional eps >= 0 and finite mu.

    With a = eps/mu - mu/2, b = eps/mu + mu/2 and the Mills ratio R(x) = Phi(-x)/phi(x),
    delta = phi(a) (R(a) - R(b)) because e^eps phi(b) = phi(a).
    """
    if mu == 0.0:
        return np.full(eps.shape, -np.inf)
    a, b = eps / mu - mu / 2.0, eps / mu + mu / 2.0
    result = -a * a / 2.0 - _LOG_SQRT_TAU
    # Narrow: R(a) - R(b) would cancel, so -R'(x) = 1 - x R(x) > 0 is integrated over [a, b].
    narrow = mu <= np.maximum(1.0, a / 2.0)
    slopes = _mills_slope(a[narrow, None] + mu * _NODES)
    result[narrow] += math.log(mu) + np.log(_integral(slopes))
    # Wide, a > 0: the difference of the Mills ratios loses less than a factor of four.
    wide = ~narrow & (a > 0.0)
    result[wide] += np.log(_mills(a[wide]) - _mills(b[wide]))
    # Wide, a <= 0: delta = Phi(-a) - phi(a) R(b) with Phi(-a) >= 1/2.
    left = ~narrow & (a <= 0.0)
    log_first = log_ndtr(-a[left])
    result[left] = log_first + np.log1p(-np.exp(result[left] - log_first) * _mills(b[left]))
    return result


def _integral(values: FloatArray) -> FloatArray:
    """Sum of the values at the nodes times their weights, one node after the other, so that it has the same last bits
    everywhere, as a product of matrices has not."""
    total = np.zeros(len(values))
    for weight, column in zip(_WEIGHTS, values.T, strict=True):
        total += weight * column
    return total


def _mills(x: FloatArray) -> FloatArray:
    """Mills ratio Phi(-x)/phi(x) for x > -30."""
    return np.asarray(math.sqrt(math.pi / 2.0) * erfcx(x / math.sqrt(2.0)))


def _mills_slope(x: FloatArray) -> FloatArray:
    """1 - x R(x), minus the derivative of the Mills ratio; its asymptotic series from x = 12 on."""
    near = x < 12.0
    y = 1.0 / np.square(x[~near])
    result = np.empty_like(x)
    result[near] = 1.0 - x[near] * _mills(x[near])
    result[~near] = y * np.polynomial.polynomial.polyval(y, _SERIES)
    return result


def crossing(excess: Callable[[float], float], failing: float, passing: float) -> float:
    """A point with excess <= 0 next to the change of sign between excess(failing) > 0 >= excess(passing).

    Brent's method, then steps of a few units in the last place toward `passing` until the test is passed.
    """
    from scipy.optimize import brentq  # a third of a second to import, which pure releases need not wait for

    def bounded(x: float) -> float:
        return min(max(excess(x), -1e4), 1e4)

    root = float(brentq(bounded, failing, passing, xtol=1e-300, rtol=2e-15, maxiter=2000))
    step = math.copysign(2.0**-51 * abs(root), passing - failing)
    while excess(root) > 0.0:
        root, step = root + step, 2.0 * step
        if step == 0.0 or (root - passing) * step > 0.0:
            return passing
    return root


def log_target(delta: float, margins: int = 1) -> float:
    """Logarithm of a target delta > 0 after `margins` times MARGIN is set aside for rounding errors."""
    return math.log(delta) + math.log1p(-margins * MARGIN)


def smallest_epsilon(log_curve: Callable[[float], float], target: float, high: float) -> float:
    """Smallest epsilon >= 0, rounded up, where a falling log(delta) is at most `target`, as at `high`."""
    if log_curve(0.0) <= target:
        return 0.0
    while log_curve(high) > target:  # only where rounding spoiled a bound that is right in exact arithmetic
        high *= 2.0
        if math.isinf(high):  # no finite epsilon will do
            return math.inf
    return crossing(lambda epsilon: log_curve(epsilon) - target, 0.0, high)


@lru_cache(maxsize=256)  # every fit of an estimator asks for the same
def epsilon_of_mu(mu: float, delta: float) -> float:
    """Smallest epsilon >= 0 with delta(epsilon; mu) <= delta, rounded up.

    Infinite when delta is 0 and mu is not, or when mu is infinite.
    """
    if mu == 0.0:
        return 0.0
    if delta == 0.0 or math.isinf(mu):
        return math.inf
    target = log_target(delta)
    # delta <= Phi(-a) <= exp(-a^2/2)/2 for a >= 0, hence a = sqrt(-2 target) is large enough.
    high = mu * mu / 2.0 + mu * math.sqrt(-2.0 * target)
    if mu > 1e4:  # floats no longer resolve a; this closed form has room for that
        return high * (1.0 + 1e-12)
    return smallest_epsilon(lambda epsilon: float(log_delta(epsilon, mu)), target, high)


def mu_of_budget(epsilon: float, delta: float) -> float:
    """Largest mu whose Gaussian release is (epsilon, delta)-private, rounded down.

    Two margins are left, so that `epsilon_of_mu` of the result, which leaves one, is at most epsilon.

    Examples
    --------
    >>> mu = mu_of_budget(1.0, 1e-6)
    >>> round(mu, 6), bool(gaussian_delta(1.0, mu) <= 1e-6)
    (0.236704, True)
    """
    # Meeting a smaller epsilon is safe; beyond 1e7 floats no longer resolve a.
    epsilon = min(check_real(epsilon, "epsilon", "mu_of_budget", minimum=0), 1e7)
    target = log_target(check_real(delta, "delta", "mu_of_budget", above=0, below=1), margins=2)

    def excess(mu: float) -> float:
        return float(log_delta(epsilon, mu)) - target

    # Two values that are small enough: a(mu) = sqrt(-2 target) as in epsilon_of_mu; delta <= mu/sqrt(2 pi).
    root = math.sqrt(-2.0 * target)
    low = 2.0 * epsilon / (root + math.sqrt(root * root + 2.0 * epsilon))
    low = max(low, math.exp(target + _LOG_SQRT_TAU)) * (1.0 - 2.0**-40)
    high = 2.0 * low
    while excess(high) <= 0.0:
        high *= 2.0
    return crossing(excess, high, low)


def mu_of_pure(epsilon: float) -> float:
    """Smallest mu for which every epsilon-private release is mu-GDP, rounded up.

    mu = 2 Phi^{-1}(e^epsilon/(1 + e^epsilon)): the Gaussian trade-off curve through the corner of the pure.
    """
    # Below the clamp erfinv and its square underflow, and a release would be free.
    epsilon = max(check_real(epsilon, "epsilon", "mu_of_pure", above=0), 1e-305)
    if epsilon <= 1.0:  # e^epsilon/(1 + e^epsilon) = (1 + tanh(epsilon/2))/2
        half = math.sqrt(2.0) * float(erfinv(math.tanh(epsilon / 2.0)))
    else:
        half = -float(ndtri_exp(-epsilon - math.log1p(math.exp(-epsilon))))
    return 2.0 * half * (1.0 + 1e-12)


def zcdp_log_delta(epsilon: float, rho: float) -> float:
    """Logarithm of a delta that every rho-zCDP release meets at epsilon.

    The minimum over alpha > 1 of (alpha-1)(alpha rho - epsilon) - log(alpha-1) + alpha log(1-1/alpha)
    (Canonne, Kamath and Steinke 2020). Any alpha is valid; the zero of the derivative is best.
    """

    def slope(alpha: float) -> float:
        return (2.0 * alpha - 1.0) * rho - epsilon + math.log1p(-1.0 / alpha)

    from scipy.optimize import brentq  # as above

    low, high = 1.0 + 1e-9, (epsilon + 1.0) / rho + 2.0
    alpha = low if slope(low) >= 0.0 else float(brentq(slope, low, high, rtol=1e-10))
    rest = alpha * math.log1p(-1.0 / alpha) - math.log(alpha - 1.0)
    return min((alpha - 1.0) * (alpha * rho - epsilon) + rest, 0.0)


@lru_cache(maxsize=256)
def zcdp_epsilon(rho: float, delta: float) -> float:
    """Smallest epsilon with zcdp_log_delta(epsilon, rho) <= log(delta), rounded up."""
    target = log_target(delta)
    high = rho + 2.0 * math.sqrt(-rho * target)
    return smallest_epsilon(lambda epsilon: zcdp_log_delta(epsilon, rho), target, high)
