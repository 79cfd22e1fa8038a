"""Rows with one more constant entry: one release has the second moment, the sum of the rows and their number.

Statistic  sum over rows of h h^*, h = (y, a), |y| <= radius, a = offset times the radius.
Post       m = (sum of y) / n, shrunk toward 0; second moment around m.
Privacy    docs/privacy/second_moment.md, Lemma 2: h is a row of squared norm at most radius^2 + a^2.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hushrank.linalg.spectral import Matrix
from hushrank.privacy.events import Event
from hushrank.privacy.guarantee import Neighbors
from hushrank.privacy.mechanisms.fields import Field
from hushrank.privacy.mechanisms.gram import GramLattice, gram_lattice
from hushrank.privacy.mechanisms.symmetric import SymmetricLattice


@dataclass(frozen=True, slots=True)
class AugmentedLattice:
    """Public numbers of the release of augmented rows.

    Attributes
    ----------
    gram : GramLattice
        Of the release; its bound is on whole rows.
    radius : float
        Bound on the part y of a row.
    squared_bound : int
        The same, squared, in integer units.
    offset : int
        The constant entry in integer units; 0 for rows that are not augmented.
    """

    gram: GramLattice
    radius: float
    squared_bound: int
    offset: int

    @property
    def length(self) -> float:
        """The constant entry in the units of the data."""
        return self.offset * self.radius / math.sqrt(self.squared_bound)

    def entry_deviation(self, n_features: int) -> float:
        """Standard deviation of the noise off the diagonal (complex: of the real part), of rows of so many entries."""
        if isinstance(self.gram, SymmetricLattice):
            return self.gram.scale
        return self.gram.entry_deviation(n_features + (1 if self.offset else 0))


def augmented_lattice(
    radius: float, event: Event, neighbors: Neighbors, *, field: Field, n_max: int, offset: float
) -> AugmentedLattice:
    """Plan the release of rows of norm at most `radius` with one more entry of `offset` radii; 0 for none.

    A whole row has squared norm at most T in integers: a^2 for its last entry, T - a^2 for the others.
    """
    plain = gram_lattice(radius, event, neighbors, field=field, n_max=n_max)
    T, squared = plain.squared_bound, Fraction(offset) ** 2
    a = math.isqrt(math.floor(T * squared / (1 + squared)))
    if not a:
        return AugmentedLattice(plain, radius, T, 0)
    whole = radius * math.sqrt(T / (T - a * a))
    return AugmentedLattice(gram_lattice(whole, event, neighbors, field=field, n_max=n_max), radius, T - a * a, a)


@dataclass(frozen=True, slots=True, eq=False)
class Centered:
    """A second moment around the mean that was released with it.

    Attributes
    ----------
    matrix : ndarray of shape (n_features, n_features)
        The sum of (y - m)(y - m)^*, with noise.
    mean : ndarray of shape (n_features,)
        m.
    mean_variance : float
        Of the error of m along a direction, as far as is known after the release.
    """

    matrix: Matrix
    mean: Matrix
    mean_variance: float


def around_mean(released: Matrix, lattice: AugmentedLattice, n_samples: int) -> Centered:
    """The second moment around the mean, from the release of augmented rows."""
    d = len(released) - 1
    mean = released[:d, d] / (lattice.length * n_samples)
    deviation = lattice.entry_deviation(d) / (lattice.length * n_samples)
    parts = 2 if np.iscomplexobj(released) else 1
    kept = james_stein(mean, (parts * d - 2) * deviation**2)
    mean = kept * mean
    return Centered(released[:d, :d] - n_samples * np.outer(mean, mean.conj()), mean, kept * parts * deviation**2)


def james_stein(vector: Matrix, noise: float) -> float:
    """The factor between 0 and 1 that shrinks a noisy vector toward zero; `noise` is what noise adds to its square."""
    energy = float(np.sum(np.abs(vector) ** 2))
    return max(0.0, 1.0 - max(noise, 0.0) / energy) if energy > 0 else 0.0
