"""Normalizing constant of an orbit law, complex or real of rank 1, and the mean of diag(H), in ball arithmetic.

Formula    Harish-Chandra, Itzykson and Zuber: with g the tilts and b = (levels, 0, ..., 0), of length d,
           E exp(sum_ij g_i b_j |U_ij|^2) = prod_{i<d} i! det[exp(g_i b_j)] / (Delta(g) Delta(b)). Row operations turn
           exp(g_i b) / Delta(g) into exp_b[g_i, ..., g_d], and the zeros of b leave a k x k determinant:

               Z = prod_{i=d-k}^{d-1} i! det[exp_{levels_j}[g_i, ..., g_d]] / (Delta(levels) prod_j levels_j^(d-k)).

           Of tied levels, the s-th column (s = 0, 1, ...) is the s-th derivative over s!; tied tilts need nothing.
Mean       E H_ii = d log Z / d g_i = tr(B^{-1} dB/dg_i), where d/dg_i repeats the node g_i.
Real       Of rank 1 (Bingham's law), for tilts >= 0: Z = sum_j levels_1^j a_j Gamma(d/2) / Gamma(d/2 + j), with a_j the
           coefficient of t^j in A(t) = prod_i (1 - g_i t)^(-1/2). And d/dg_i multiplies A by t / (2 (1 - g_i t)).
Use        References for tests and for the choice of a sampler. Both are exact functions of the tilts: for the data
           holder only.
"""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from hushrank.exceptions import InvalidParameter
from hushrank.orbit.differences import (
    divided_differences,
    flint_is_available,
    multiplicities,
    series_terms,
    spread_of,
    working_bits,
)
from hushrank.orbit.law import FloatArray, OrbitLaw

if TYPE_CHECKING:
    from flint import arb, arb_mat, arb_series

_FIRST_BITS = 128
_MOST_BITS = 1 << 17
_MOST_SPREAD = 10_000  # of a real law: its series have more terms than that
_RELATIVE_BITS = 56  # of the ball that is rounded to double
_NEGLIGIBLE_BITS = 400  # below 2^-400 a value that may be zero is taken for zero


def log_partition(law: OrbitLaw) -> float:
    """Logarithm of E exp(sum_i tilts_i H_ii) over the invariant law of H, to the last digit or two.

    Less than 2^-400 in size may be returned as 0.

    Parameters
    ----------
    law : OrbitLaw
        Complex, or real of rank 1: other real laws have no closed form.

    Examples
    --------
    >>> round(log_partition(OrbitLaw([1.0, 0.0], [1.0], is_complex=True)), 12)  # log(e - 1)
    0.541324854613
    """
    _check(law, "log_partition")
    if law.tilts[0] == law.tilts[-1]:
        return float(law.tilts[0]) * math.fsum(law.levels)
    return _refine(law, "log_partition", _log_partition_ball if law.is_complex else _sphere_log_partition_ball)[0]


def mean_diagonal(law: OrbitLaw) -> FloatArray:
    """E H_ii for i = 1..d under a complex law; equal for tied tilts, and sums to the sum of the levels.

    Examples
    --------
    >>> mean_diagonal(OrbitLaw([1.0, 0.0], [1.0], is_complex=True)).round(6)  # (1 / (e - 1)) and its complement
    array([0.581977, 0.418023])
    """
    _check(law, "mean_diagonal")
    if law.tilts[0] == law.tilts[-1]:
        return np.full(law.dimension, math.fsum(law.levels) / law.dimension)
    means = _refine(law, "mean_diagonal", _mean_balls if law.is_complex else _sphere_mean_balls)
    return np.repeat(means, [length for _, length in multiplicities(law.tilts)])


def _check(law: OrbitLaw, owner: str) -> None:
    if not law.is_complex and (law.rank > 1 or spread_of(law) > _MOST_SPREAD):
        requirement = f"complex, or real of rank 1 with levels_1 (tilts_1 - tilts_d) <= {_MOST_SPREAD}"
        raise InvalidParameter(owner, "law", requirement, law)
    if not flint_is_available():
        raise ModuleNotFoundError(f"{owner} needs python-flint: pip install 'hushrank[orbit]'.")


def _refine(law: OrbitLaw, owner: str, compute: "Callable[[OrbitLaw], list[arb]]") -> list[float]:
    """Values of balls, computed with twice the bits until each has enough of them."""
    bits = _FIRST_BITS
    while bits <= _MOST_BITS:
        terms = 10 if law.is_complex else series_terms(spread_of(law), law.dimension, bits)
        with working_bits(bits, terms):
            balls = compute(law)
            if all(_is_sharp(ball) for ball in balls):
                return [0.0 if ball.contains(0) else float(ball) for ball in balls]
        bits *= 2
    raise InvalidParameter(owner, "law", f"one that {_MOST_BITS} bits of precision suffice for", law)


def _is_sharp(ball: "arb") -> bool:
    if not ball.is_finite():
        return False
    return ball.rel_accuracy_bits() >= _RELATIVE_BITS or bool(ball.abs_upper() < 2.0**-_NEGLIGIBLE_BITS)


def _log_partition_ball(law: OrbitLaw) -> "list[arb]":
    from flint import arb

    d, k = law.dimension, law.rank
    levels = [arb(level) for level in law.levels]
    value = abs(_columns(law, _shifted_tilts(law)).det()).log()
    for i in range(k):
        value += arb.fac_ui(d - 1 - i).log() - (d - k) * levels[i].log() + arb(law.tilts[-1]) * levels[i]
        for j in range(i + 1, k):
            if law.levels[i] != law.levels[j]:
                value -= (levels[i] - levels[j]).log()
    return [value]


def _mean_balls(law: OrbitLaw) -> "list[arb]":
    """E H_ii, one for each run of tied tilts."""
    tilts = _shifted_tilts(law)
    B = _columns(law, tilts)
    balls, i = [], 0
    for _, length in multiplicities(law.tilts):
        derivative = _columns(law, [*tilts, tilts[i]])
        for row in range(i + 1, law.rank):  # where g_i, the first of its run, is no node
            for column in range(law.rank):
                derivative[row, column] = 0
        balls.append(B.solve(derivative, nonstop=True).trace())
        i += length
    return balls


def _sphere_log_partition_ball(law: OrbitLaw) -> "list[arb]":
    from flint import arb

    return [arb(law.tilts[-1]) * arb(law.levels[0]) + _sphere_sum(law, _root_series(law)).log()]


def _sphere_mean_balls(law: OrbitLaw) -> "list[arb]":
    """E H_ii, one for each run of tied tilts."""
    from flint import arb, arb_series

    series = _root_series(law)
    total, half = _sphere_sum(law, series), arb_series([0, arb(0.5)])
    nodes = [arb(tilt) - arb(law.tilts[-1]) for tilt, _ in multiplicities(law.tilts)]
    return [_sphere_sum(law, half * series / arb_series([1, -node])) / total for node in nodes]


def _root_series(law: OrbitLaw) -> "arb_series":
    """A(t), from its logarithmic derivative, whose coefficients are positive too."""
    from flint import arb_series

    slope = arb_series([0])
    for node in _shifted_tilts(law):
        slope += node * (1 / (2 * arb_series([1, -node])))  # python-flint 0.7 cannot divide zero by a series
    return slope.integral().exp()


def _sphere_sum(law: OrbitLaw, series: "arb_series") -> "arb":
    """Sum over j of coefficient j times levels_1^j Gamma(d/2) / Gamma(d/2 + j)."""
    from flint import arb

    level, weight, total, term = arb(law.levels[0]), arb(1), arb(0), arb(0)
    for j, coefficient in enumerate(series.coeffs()):
        term = coefficient * weight
        total += term
        weight *= level / (arb(law.dimension) / 2 + j)
    ratio = level * _shifted_tilts(law)[0] / (len(series) - 1)  # of any later term to the one before it, at most
    return total + term * (arb(0).union(ratio / (1 - ratio)) if ratio < 1 else arb("nan"))


def _shifted_tilts(law: OrbitLaw) -> "list[arb]":
    """Tilts minus the smallest: then every divided difference is a sum of positive terms."""
    from flint import arb

    return [arb(tilt) - arb(law.tilts[-1]) for tilt in law.tilts]


def _columns(law: OrbitLaw, nodes: "list[arb]") -> "arb_mat":
    """Entries exp_{levels_j}[nodes_i, ..., last node] for i, j <= k; derivatives over s! for tied levels."""
    from flint import arb, arb_mat

    k, columns = law.rank, []
    for level, length in multiplicities(law.levels):
        for order, values in enumerate(divided_differences(nodes, arb(level), length)):
            columns.append([value / arb.fac_ui(order) for value in values[:k]])
    return arb_mat(columns).transpose()
