"""What is bought about columns: which of them to keep, and their scales.

Keep       the sums of the magnitudes of the entries of rows within a first radius; columns whose sum stands above the
           noise are kept, at most 2000. Sums of magnitudes tell more than sums of squares where entries are small.
Scales     the sums of the squares of the entries of rows within a radius.
Privacy    docs/privacy/second_moment.md, Lemma 3 and Theorem 2.
"""

import math

import numpy as np

from hushrank.estimators.second_moment.recipe import RADIUS_RECIPE
from hushrank.estimators.second_moment.releases import Norms, RowReleases, deviation_of
from hushrank.estimators.second_moment.spending import Setting, Spending, first_level
from hushrank.estimators.second_moment.sums import sum_squares
from hushrank.linalg.quantize import FloatArray
from hushrank.linalg.row_frames import Frame
from hushrank.privacy.mechanisms.vector import GaussianLattice, VectorLattice, release_vector

_LEAST_SCALE = 1e-4  # of a column, over the geometric mean of all: a smaller one is taken for that


def select_columns(
    releases: RowReleases, frame: Frame, bound: float, norms: Norms, setting: Setting, spending: Spending, fewest: int
) -> Frame:
    """The frame of the columns whose sums of magnitudes stand above the noise, `fewest` of them at least."""
    power = 1 if releases.is_pure else 2
    radius = releases.first_radius(norms, frame, bound, setting, spending.columns_radius, power)
    lattice = releases.book_vector(radius, spending.columns)
    secret = releases.sum_entries(frame, lattice, "magnitudes", "the choice of columns")
    sums = release_vector(secret, lattice, releases.noise)
    n_clear = int(np.count_nonzero(sums > RADIUS_RECIPE.clear_column * deviation_of(lattice)))
    n_kept = min(max(n_clear, RADIUS_RECIPE.least_columns), RADIUS_RECIPE.most_columns)
    largest = np.argsort(-sums, kind="stable")[: max(n_kept, fewest)]
    return frame.keeping(np.sort(largest))


def find_scales(
    releases: RowReleases, frame: Frame, bound: float, norms: Norms, setting: Setting, spending: Spending
) -> FloatArray:
    """Root mean squares of the columns around the origin of the frame, over their geometric mean."""
    level = first_level(setting, spending.scales_radius)
    radius = releases.radius(norms, frame, bound, level, setting.n_samples, spending.scales_radius)
    lattice = releases.book_vector(radius**2, spending.scales)
    limit = squares_bound(lattice)
    secret, tally = releases.total(sum_squares, (frame, radius, limit))
    releases.report(tally, f"longer than {radius:g} for the scales of the columns")
    unit = radius**2 / limit / lattice.unit  # the integer root of a bound is a little smaller than the root
    squares = np.maximum(release_vector(secret, lattice, releases.noise) * unit, deviation_of(lattice))
    scales = np.exp(0.5 * (np.log(squares) - np.mean(np.log(squares))))
    return np.asarray(np.maximum(scales, _LEAST_SCALE))


def squares_bound(lattice: VectorLattice) -> int:
    """Bound b on |y|^2 of integer rows y for which the vector of their squared entries is within the lattice.

    It has no negative entry and a sum of at most b, hence a Euclidean norm of at most b.
    """
    return math.isqrt(lattice.squared_bound) if isinstance(lattice, GaussianLattice) else lattice.l1_bound
