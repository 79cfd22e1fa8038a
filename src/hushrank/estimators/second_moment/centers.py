"""A private center: the mean of the rows within a first radius, bought where it is worth its price.

Release    1 a radius; 2 the length of the mean of the rows within it; 3, where a center of such a length makes the
           second moment less noisy, the mean itself. Pure means have Laplace noise, whose rows are bounded in sums of
           absolute values: they take a radius of their own.
Post       the mean is shrunk toward the origin by what the noise adds to it.
Privacy    docs/privacy/second_moment.md, Theorem 2; docs/privacy/length.md.
"""

from dataclasses import dataclass

import numpy as np

from hushrank.estimators.second_moment.augmented import james_stein
from hushrank.estimators.second_moment.releases import Norms, RowReleases, deviation_of
from hushrank.estimators.second_moment.spending import Setting, Spending, is_center_worth
from hushrank.estimators.second_moment.sums import shorten
from hushrank.linalg.quantize import FloatArray
from hushrank.linalg.row_frames import Frame
from hushrank.privacy.mechanisms.length import LARGEST_LENGTH_BOUND, LENGTH_BITS
from hushrank.privacy.mechanisms.vector import GaussianLattice, VectorLattice
from hushrank.privacy.noise.deviates import Integers


@dataclass(frozen=True, slots=True, eq=False)
class Center:
    """What is known of the mean.

    Attributes
    ----------
    point : ndarray or None
        In the frame; None where it was not worth its price.
    squared_length : float
        Of the mean, in squared radii; infinite where nobody asked.
    """

    point: FloatArray | None
    squared_length: float = np.inf


def find_center(
    releases: RowReleases, frame: Frame, bound: float, norms: Norms, setting: Setting, spending: Spending
) -> Center:
    """Buy a center, or find out that it is not worth its price."""
    find = _find_pure if releases.is_pure else _find_gaussian
    return find(releases, frame, bound, norms, setting, spending)


def _find_gaussian(
    releases: RowReleases, frame: Frame, bound: float, norms: Norms, setting: Setting, spending: Spending
) -> Center:
    """One sum serves for the length and for the mean."""
    radius = releases.first_radius(norms, frame, bound, setting, spending.center_radius, 2)
    lattice = releases.plan_vector(radius, spending.center, bits=LENGTH_BITS)
    assert isinstance(lattice, GaussianLattice)
    secret = releases.sum_within(frame, radius, lattice.squared_bound, "the center")
    found = _look(releases, secret, lattice.squared_bound, setting, spending)
    return found or Center(_shrunk_mean(releases, secret, lattice, setting, min(radius, bound)))


def _find_pure(
    releases: RowReleases, frame: Frame, bound: float, norms: Norms, setting: Setting, spending: Spending
) -> Center:
    """A sum of rows within a Euclidean norm for the length, another of rows within a sum of absolute values."""
    if spending.length:
        radius = releases.first_radius(norms, frame, bound, setting, spending.center_radius, 2)
        secret = releases.sum_within(frame, radius, LARGEST_LENGTH_BOUND, "the length of the mean")
        found = _look(releases, secret, LARGEST_LENGTH_BOUND, setting, spending)
        if found is not None:
            return found
    radius = releases.first_radius(norms, frame, bound, setting, spending.sum_radius, 1)
    lattice = releases.plan_vector(radius, spending.center)
    secret = releases.sum_entries(frame, lattice, "all", "the center, in sums of absolute values")
    return Center(_shrunk_mean(releases, secret, lattice, setting, min(radius, bound)))


def _look(
    releases: RowReleases, secret: Integers, squared_bound: int, setting: Setting, spending: Spending
) -> Center | None:
    """The length of the mean, if it says that the mean is not worth its price."""
    if not spending.length:
        return None
    squared = (releases.length(secret, squared_bound, spending.length) / setting.n_samples) ** 2
    return None if is_center_worth(setting, spending, squared) else Center(None, squared)


def _shrunk_mean(
    releases: RowReleases, secret: Integers, lattice: VectorLattice, setting: Setting, longest: float
) -> FloatArray:
    mean = releases.planned_vector(secret, lattice) / setting.n_samples
    noise = len(mean) * (deviation_of(lattice) / setting.n_samples) ** 2
    return np.asarray(shorten(james_stein(mean, noise) * mean, longest), np.float64)
