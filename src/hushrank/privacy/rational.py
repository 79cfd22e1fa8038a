"""Directed rounding of exact rational numbers: constants of a guarantee are rounded to the private side."""

import math
from fractions import Fraction
from functools import lru_cache


def float_at_least(x: Fraction) -> float:
    """Smallest float64 that is not below `x` > 0."""
    nearest = float(x)
    return nearest if Fraction(nearest) >= x else math.nextafter(nearest, math.inf)


def float_at_most(x: Fraction) -> float:
    """Largest float64 that is not above `x` > 0."""
    nearest = float(x)
    return nearest if Fraction(nearest) <= x else math.nextafter(nearest, 0.0)


@lru_cache(maxsize=1024)  # every fit of an estimator asks for the same roots
def sqrt_at_least(x: Fraction) -> float:
    """Smallest float64 whose exact square is not below `x` > 0."""
    # The root is found to 64 bits behind its leading one, so the candidate is at most a step away.
    shift = max(0, x.denominator.bit_length() - x.numerator.bit_length()) // 2 + 64
    root = Fraction(math.isqrt((x.numerator << (2 * shift)) // x.denominator), 1 << shift)
    candidate = float_at_most(root)
    while Fraction(candidate) ** 2 < x:
        candidate = math.nextafter(candidate, math.inf)
    return candidate


def floor_log2(x: Fraction) -> int:
    """Largest integer k with 2^k <= x, x > 0."""
    k = x.numerator.bit_length() - x.denominator.bit_length()
    return k if x >= (Fraction(1 << k) if k >= 0 else Fraction(1, 1 << -k)) else k - 1
