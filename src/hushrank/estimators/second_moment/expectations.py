"""How much of the variance components will capture, and how many will stand above the noise, for guessed variances.

The variances of the directions are guessed to fall like a power. A released matrix A + N, N free of A, has the Cauchy
transform G(z) = mean of 1 / (z - R(G(z)) - lambda_j) with the R-transform R of the noise, and direction j has the
density -Im 1 / (x - R(G(x)) - lambda_j) / pi over the eigenvalues x of the release (free additive convolution: Pastur
1972; overlaps: Allez and Bouchaud 2014). What the k largest capture is the mass of each direction above the place where
k eigenvalues lie. Exact as the number of columns grows.
"""

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushrank.estimators.second_moment.forecast import signal_threshold
from hushrank.privacy.guesses import Guess
from hushrank.privacy.mechanisms.gram import GramLattice
from hushrank.privacy.mechanisms.symmetric import SymmetricLattice

FloatArray = NDArray[np.float64]
ComplexArray = NDArray[np.complex128]

GUESSES: Mapping[str, Guess] = {
    "decay": Guess(1.0, 1.0, 1.0, "how fast variances of directions fall: their rank^-decay"),
    "spread": Guess(
        0.7,
        0.7,
        0.7,
        "mean squared length of a row, about its center, over the radius squared",
        minimum=1e-6,
        below=1.0,
    ),
}
CAPTURED = "share of the best components' variance"

_ALONE = 48  # directions that are followed one by one, and groups of the others
_POINTS, _ROUNDS, _HALVINGS = 48, 40, 15


def guessed_variances(n_features: int, guesses: Mapping[str, float]) -> tuple[FloatArray, FloatArray]:
    """Numbers of directions in groups, and the variance of one of each, over the radius squared."""
    decay, spread = (guesses.get(name, GUESSES[name].default) for name in ("decay", "spread"))
    edges = np.unique(np.append(np.arange(min(n_features, _ALONE)), np.geomspace(1, n_features, _ALONE).astype(int)))
    edges = np.append(edges[edges < n_features], n_features)
    sizes = np.diff(edges).astype(np.float64)
    variances = (edges[:-1] + (sizes + 1) / 2) ** -decay
    return sizes, variances * spread / float(sizes @ variances)


class Noise(NamedTuple):
    """Noise of a released second moment, in variances over the radius squared.

    Attributes
    ----------
    threshold : float
        Variance that a direction needs to show.
    level : float
        Scale of the noise: the threshold for Gaussian noise, C d for two-sided Wishart noise.
    is_gaussian : bool
    """

    threshold: float
    level: float
    is_gaussian: bool

    @classmethod
    def of(cls, lattice: GramLattice, n_samples: int, n_features: int, radius: float) -> "Noise":
        """That of a lattice."""
        unit, is_gaussian = n_samples * radius**2, isinstance(lattice, SymmetricLattice)
        threshold = signal_threshold(lattice, n_features) / unit
        return cls(threshold, threshold if is_gaussian else lattice.scale * n_features / unit, is_gaussian)

    def transform(self, g: ComplexArray) -> ComplexArray:
        """R-transform: of a semicircle law, or of a difference of two free Poisson laws of rate 1."""
        square = self.level**2
        return square * g if self.is_gaussian else 2.0 * square * g / (1.0 - square * g**2)


def count_components(noise: Noise, n_features: int, guesses: Mapping[str, float]) -> float:
    """How many directions have the variance that they need to show."""
    sizes, variances = guessed_variances(n_features, guesses)
    return float(sizes[variances > noise.threshold].sum())


def captured_share(noise: Noise, n_features: int, n_components: int, guesses: Mapping[str, float]) -> float:
    """What the leading components of the release capture, over the variance of as many best ones."""
    sizes, variances = guessed_variances(n_features, guesses)
    masses = _masses_above(sizes, variances, noise, n_components)
    best = float(variances @ np.clip(n_components - (np.cumsum(sizes) - sizes), 0.0, sizes))
    return min(float(masses @ variances) / best, 1.0)


def _masses_above(sizes: FloatArray, variances: FloatArray, noise: Noise, n_components: int) -> FloatArray:
    """How many directions of every group lie in the span of the `n_components` largest of the release."""
    reach = 4.0 * noise.threshold
    low, high = float(variances[-1]) - reach, float(variances[0]) + reach
    heights = np.geomspace(1e-5, 1e4, _POINTS) * (high - low)
    g: ComplexArray = np.asarray(1.0 / (high + 1j * heights), np.complex128)
    for _ in range(_HALVINGS):
        place = (low + high) / 2
        masses, g = _masses_at(place, heights, sizes, variances, noise, g)
        low, high = (place, high) if masses.sum() > n_components else (low, place)
    return masses * (n_components / max(float(masses.sum()), 1e-300))


def _masses_at(
    place: float, heights: FloatArray, sizes: FloatArray, variances: FloatArray, noise: Noise, start: ComplexArray
) -> tuple[FloatArray, ComplexArray]:
    """The same above one place, and G on the line above it, from which the next search starts.

    The integral of the density along the real axis, which is rough, is one up the line, where all is smooth.
    """
    z, weights, g = place + 1j * heights, sizes / sizes.sum(), start
    for _ in range(_ROUNDS):
        g = 0.5 * (g + (weights / ((z - noise.transform(g))[:, None] - variances)).sum(axis=1))
    real = (1.0 / ((z - noise.transform(g))[:, None] - variances)).real
    # From height 0 to the first one the integrand hardly moves; in between heights are even in their logarithm.
    area = real[0] * heights[0] + _integrate(real * heights[:, None], np.log(heights))
    return sizes * np.clip(0.5 - area / math.pi, 0.0, 1.0), g


def _integrate(values: FloatArray, places: FloatArray) -> FloatArray:
    """By trapezoids, along the first axis."""
    return np.asarray(((values[1:] + values[:-1]) / 2 * np.diff(places)[:, None]).sum(axis=0))
