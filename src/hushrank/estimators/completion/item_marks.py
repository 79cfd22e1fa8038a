"""How far a recommender stands above its noise: counts, means and factors, from what was released alone.

Counts     the deviation of their noise is known.
Means      a mean is drawn to a line as far as its noise asks for; the deviation of what is then left is known.
Factors    eigenvalues of a second moment, over the level that noise alone exceeds in 5 % of the cases. Where a method
           has no such spectrum, how much better users' ratings are predicted with all of its factors than with none,
           over the level of the noise of that number.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hushrank.estimators.completion.recipes import Prior
from hushrank.linalg.noise_levels import above_edge, hollow_strength, symmetric_level

FloatArray = NDArray[np.float64]

_LEVEL = 1.645  # deviations that a normal number exceeds in 5 % of the cases
_MOST_NOISE = 0.5  # of the variance of item means: above it a mean tells more about its line than about its item


@dataclass(frozen=True, slots=True)
class Marks:
    """What a fit knows of its noise.

    Attributes
    ----------
    count_deviation : float
        Of the noise of a count; 0 where none were released.
    mean_deviation : ndarray of shape (n_items,) or None
        How far a mean may be from that of the ratings, in units where ratings lie in [-1, 1].
    strength : ndarray of shape (n_factors,) or None
        How far each factor stands above the noise: 1 is what noise alone exceeds in 5 % of the cases. None where
        nothing tells.
    """

    count_deviation: float = 0.0
    mean_deviation: FloatArray | None = None
    strength: FloatArray | None = None

    def mean_deviations(self, n_items: int, half_range: float) -> FloatArray:
        """Of all items in the units of the ratings; zeros where no means were released."""
        return np.zeros(n_items) if self.mean_deviation is None else half_range * self.mean_deviation

    def strengths(self, factors: FloatArray) -> FloatArray:
        """Of all columns of the factors, 0 for those that were not kept; an empty array where nothing tells."""
        if self.strength is None:
            return np.zeros(0 if factors.any() else factors.shape[1])
        strength = np.zeros(factors.shape[1])
        strength[: len(self.strength)] = self.strength
        return np.asarray(np.where(factors.any(axis=0), strength, 0.0))


NO_MARKS = Marks()


def spectral_strength(
    vectors: FloatArray, S: FloatArray, values: FloatArray, deviation: float, edge: float | None = None
) -> FloatArray:
    """Strength of eigenpairs of `top_hollow_eigenpairs`, after which S has its imputed diagonal.

    `edge` is that of noise and chance together, where it is not that of noise of this deviation.
    """
    n = len(S)
    seen = values + n * deviation**2 / np.maximum(values, np.finfo(float).tiny)
    level = symmetric_level(deviation, n) if edge is None else above_edge(edge, n)
    return hollow_strength(vectors, S, seen, level)


def check_strength(
    sums: FloatArray, about: NDArray[np.bool_], deviation: float, n_factors: int, chance: float = 0.0
) -> FloatArray:
    """The same number for all factors: the largest of the sums `about` them over the level of its noise.

    `chance` is what factors that mean nothing explain of the ratings they were fitted to.
    """
    return np.full(n_factors, max(float(sums[about].max(initial=0.0)), 0.0) / (_LEVEL * deviation + chance))


def chance_gain(n_factors: int, counts: FloatArray, noise: float, n_people: float) -> float:
    """What factors fitted to ratings of this variance explain by chance, as a sum over users of mean squared errors.

    A number for every item and factor explains the variance of about one rating, and leave-one-out errors, which leave
    out a rating for the user and not for the item, have that twice: once in the item, once in the user's factor.
    """
    return float(2.0 * noise * n_people * n_factors * len(counts) / counts.sum())


def mean_deviations(precisions: FloatArray, chance: FloatArray, variance: float) -> FloatArray:
    """Deviations of means that were drawn to a line: `variance` about it, and noise of these `precisions`.

    `chance` is the variance that a mean of so many ratings has by itself.
    """
    errors = 1.0 / precisions + chance
    return np.asarray(np.sqrt(variance * errors / (variance + errors)))


def unknown_deviation(mean_deviation: FloatArray, half_range: float) -> float:
    """That of an item that nobody has rated, beside these; 0 where no means were released."""
    return half_range * math.sqrt(Prior().item) if mean_deviation.any() else 0.0


def are_own(mean_deviation: FloatArray, half_range: float) -> NDArray[np.bool_]:
    """Which item means tell about their items: those whose noise is smaller than what items differ by.

    Examples
    --------
    >>> are_own(np.array([0.05, 0.19]), 1.0)
    array([ True, False])
    """
    with np.errstate(over="ignore"):  # deviations of a stranger's file; first the quotient, for ranges that are huge
        return np.asarray((mean_deviation / half_range) ** 2 < _MOST_NOISE * Prior().item)
