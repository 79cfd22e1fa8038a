"""Quotients of two noisy sums, between 0 and 1, with intervals for the noise."""

import math
from dataclasses import dataclass

from scipy import optimize, special

CONFIDENCE = 0.95
_STEPS = 60


@dataclass(frozen=True, slots=True)
class NoisyRatio:
    """A quotient and where it lies without the noise.

    Attributes
    ----------
    value : float
        Between 0 and 1.
    low, high : float
        An interval that holds the quotient of the exact sums with 95 % confidence, whatever it is.
    """

    value: float
    low: float
    high: float

    @property
    def is_noise(self) -> bool:
        """Whether the noise alone could have given it: the interval begins at 0."""
        return self.low <= 0.0


def noisy_ratio(top: float, bottom: float, top_scale: float, bottom_scale: float, *, is_gaussian: bool) -> NoisyRatio:
    """The quotient of two sums that were released with independent noise of these scales.

    If r is the quotient of the exact sums, top - r bottom is noise of a known law. The interval has every r in [0, 1]
    for which that noise is not among its 5 % of largest sizes (Fieller, 1954); it is found from the quotient outwards.

    Examples
    --------
    >>> noisy_ratio(20.0, 100.0, 1.0, 0.0, is_gaussian=True)
    NoisyRatio(value=0.2, low=0.1804..., high=0.2195...)
    >>> noisy_ratio(1.0, -3.0, 5.0, 5.0, is_gaussian=True)
    NoisyRatio(value=1.0, low=0.0, high=1.0)
    """

    def is_outside(ratio: float) -> bool:
        quantile = _normal_quantile if is_gaussian else _laplace_quantile
        return abs(top - ratio * bottom) > quantile(top_scale, ratio * bottom_scale)

    value = min(max(top / bottom, 0.0), 1.0) if bottom > 0.0 else float(top > 0.0)
    if bottom <= 0.0 or is_outside(value):  # no quotient in [0, 1] is likely: say nothing
        return NoisyRatio(value, 0.0, 1.0)
    ends = []
    for end in (0.0, 1.0):
        inside, outside = value, end
        if is_outside(end):
            for _ in range(_STEPS):
                middle = (inside + outside) / 2.0
                inside, outside = (inside, middle) if is_outside(middle) else (middle, outside)
        ends.append(outside)
    return NoisyRatio(value, *ends)


def _normal_quantile(first: float, second: float) -> float:
    """Size that the sum of two independent normals of these deviations exceeds with probability 1 - CONFIDENCE."""
    return float(special.ndtri(0.5 + CONFIDENCE / 2.0)) * math.hypot(first, second)


def _laplace_quantile(first: float, second: float) -> float:
    """The same of two Laplace deviates of these scales."""
    large, small = max(first, second), min(first, second)
    alone = -large * math.log(1.0 - CONFIDENCE)
    if small <= 1e-6 * large:
        return alone + 1e-5 * large
    small = min(small, large * (1.0 - 1e-6))  # equal scales have another formula, and the same limit

    def excess(size: float) -> float:
        tail = large**2 * math.exp(-size / large) - small**2 * math.exp(-size / small)
        return tail / (large**2 - small**2) - (1.0 - CONFIDENCE)

    return float(optimize.brentq(excess, alone / 2.0, 2.0 * alone, xtol=1e-9 * large))
