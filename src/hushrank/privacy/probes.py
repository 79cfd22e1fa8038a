"""Where a model shows the noise of its releases, so that a check can hold the noise to its plan from both sides.

Level   of noise that was seen: the probability, under the plan, of noise that is smaller in size. If the noise has its
        planned law, levels of independent fits are independent and uniform on [0, 1]; too little noise moves them
        towards 0, too much towards 1.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special, stats

from hushrank.privacy.events import Event, Gaussian
from hushrank.privacy.mechanisms.fields import Field
from hushrank.privacy.mechanisms.wishart import WishartLattice

FloatArray = NDArray[np.float64]

_NODES = 64  # of a quadrature for smooth functions: errors below 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class NoiseProbe:
    """What an estimator says about its noise.

    Attributes
    ----------
    data : anything that `fit` takes
        Chosen so that what a model learns from them is known but for the noise.
    levels : callable
        levels(model): the levels of a model that was fitted to `data`, by the name of the release.
    n_fits : int
        Fits that a check should make. 384 show half and twice the noise of one Laplace deviate a fit, 256 that of one
        normal.
    """

    data: Any
    levels: Callable[[Any], Mapping[str, float]]
    n_fits: int = 384


def normal_level(noise: ArrayLike, scale: ArrayLike = 1.0) -> float:
    """Level of independent normals of these standard deviations; real and imaginary parts count as two numbers."""
    parts = real_parts(np.asarray(noise) / scale)
    return float(stats.chi2.cdf(np.sum(parts**2), parts.size))


def root_mean_square_level(level: float, count: int) -> float:
    """Level of `count` independent standard normals of which only the root mean square is known."""
    return float(stats.chi2.cdf(level * level * count, count))


def laplace_level(noise: ArrayLike, scale: float) -> float:
    """Level of independent Laplace deviates of this scale; real and imaginary parts count as two numbers."""
    parts = real_parts(np.asarray(noise) / scale)
    return float(stats.gamma.cdf(np.sum(np.abs(parts)), parts.size))


def laplace_sum_level(total: float, scale: float, count: int) -> float:
    """Level of the sum of `count` Laplace deviates of this scale."""
    # It is the difference of two gamma variates of this shape: P(|G - G'| > x) = 2 E P(G > x + G').
    size = abs(total) / scale
    return float(1.0 - 2.0 * _gamma_mean(lambda other: stats.gamma.sf(size + other, count), count))


def count_level(noise: int, scale: float, event: Event) -> float:
    """Level of noise that was rounded to an integer: the middle of the levels that round to it."""
    ends = (max(abs(noise) - 0.5, 0.0) / scale, (abs(noise) + 0.5) / scale)
    if isinstance(event, Gaussian):
        return sum(math.erf(end / math.sqrt(2)) for end in ends) / 2
    return sum(-math.expm1(-end) for end in ends) / 2


def wishart_row_level(row: ArrayLike, lattice: WishartLattice) -> float:
    """Level of the noise of one row of a two-sided Wishart release, without its diagonal entry.

    With N = C (A B^T + B A^T), entry j of row i is, given rows i of A and B, a normal of variance C^2 (|a_i|^2 +
    |b_i|^2). So its squared norm is C^2 times a product of independent chi-squares, with 2 (d + 1) and d - 1 degrees of
    freedom; for complex rows it is C^2 / 4 times one with 4 d and 2 (d - 1).
    """
    parts = real_parts(row) / lattice.scale
    squares, is_real = float(np.sum(parts**2)), lattice.field is Field.REAL
    d = parts.size + 1 if is_real else parts.size // 2 + 1
    mixing, unit = (2 * (d + 1), 1.0) if is_real else (4 * d, 0.25)
    # A chi-square is twice a gamma variate of half the shape.
    return _gamma_mean(lambda half: stats.chi2.cdf(squares / (unit * 2.0 * half), parts.size), mixing / 2)


def _gamma_mean(function: Callable[[FloatArray], FloatArray], shape: float) -> float:
    """Mean of a function of a gamma variate, by Gauss-Laguerre quadrature."""
    nodes, weights = special.roots_genlaguerre(_NODES, shape - 1.0)
    return float(weights @ function(nodes) / weights.sum())


def real_parts(values: ArrayLike) -> FloatArray:
    """All real and imaginary parts in one row."""
    numbers = np.ravel(np.asarray(values))
    if np.iscomplexobj(numbers):
        return np.concatenate([numbers.real, numbers.imag]).astype(np.float64)
    return numbers.astype(np.float64)
