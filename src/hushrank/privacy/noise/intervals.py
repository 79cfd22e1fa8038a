"""Integer intervals: a pair (low, high) of Python integers encloses a real number times 2^precision.

Nothing here is approximate: both ends are proved bounds, checked against ball arithmetic in the tests.
"""

import math
from fractions import Fraction

Interval = tuple[int, int]


def exp_neg(t: Fraction, precision: int) -> Interval:
    """Enclose 2^precision * exp(-t), t >= 0.

    t = 2^k s with s < 1/8; exp(-s) by its Taylor series in integers, then k squarings with directed rounding. A term
    e_i = floor(floor(e_{i-1} s) / i) is low by at most err_{i-1}/(8i) + 1/i + 1 <= 2 units, the series is cut at the
    first zero term, and 2k + 24 guard bits keep the result within 3 units.
    """
    k = (t.numerator // t.denominator).bit_length() + 4
    guard = precision + 2 * k + 24
    s = (t.numerator << guard) // (t.denominator << k)  # s <= 2^guard t / 2^k < s + 1
    low, high = _exp_neg_small(s + 1, guard)[0], _exp_neg_small(s, guard)[1]
    for _ in range(k):
        low = low * low >> guard
        high = (high * high >> guard) + 1
    return low >> (guard - precision), (high >> (guard - precision)) + 1


def _exp_neg_small(s: int, guard: int) -> Interval:
    """Enclose 2^guard * exp(-s / 2^guard) for s / 2^guard <= 1/8 + 2^-guard."""
    total = term = 1 << guard
    i = 0
    while term:
        i += 1
        term = (term * s >> guard) // i
        total += -term if i & 1 else term
    slack = 4 * i + 4
    return max(total - slack, 0), total + slack


def root_two_over_pi(precision: int) -> Interval:
    """Enclose 2^precision * sqrt(2 / pi), pi by Machin's formula 4 (4 arctan(1/5) - arctan(1/239))."""
    guard = precision + 16
    a, a_slack = _arctan_inverse(5, guard)
    b, b_slack = _arctan_inverse(239, guard)
    pi, slack = 4 * (4 * a - b), 4 * (4 * a_slack + b_slack)
    low = math.isqrt((2 << (3 * guard)) // (pi + slack))
    high = math.isqrt((2 << (3 * guard)) // (pi - slack)) + 1
    return low >> 16, (high >> 16) + 1


def _arctan_inverse(x: int, guard: int) -> tuple[int, int]:
    """Return 2^guard * arctan(1/x) and a bound of its error: three units per term."""
    total, power, odd, terms = 0, (1 << guard) // x, 1, 0
    while power:
        total += -(power // odd) if odd & 2 else power // odd
        power //= x * x
        odd += 2
        terms += 1
    return total, 3 * terms
