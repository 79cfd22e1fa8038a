"""Estimators that see private rows through their second moment: the releases, in the order of the plan.

Statistic  A = sum over rows of (x - c)(x - c)^*, rows shortened to |x - c| <= row_norm, c public or released before.
Release    a count, a center and a second moment, or a draw, as `plan` says.
Privacy    docs/privacy/second_moment.md, Theorem 1; docs/privacy/orbit.md, Theorem 5.
"""

import logging
from dataclasses import dataclass
from typing import Any

import numpy as np

from hushrank.archive.attributes import COLUMNS, Attribute, number_kind
from hushrank.base import Sizes
from hushrank.data.rows.arrays import Rows
from hushrank.estimator import PrivateEstimator, Total
from hushrank.estimators.second_moment.orbit_draw import OrbitSample, release_orbit
from hushrank.estimators.second_moment.orbit_plan import OrbitPlan
from hushrank.estimators.second_moment.plan import SecondMomentPlan, SecondMomentPlanner
from hushrank.estimators.second_moment.probe import second_moment_probe
from hushrank.estimators.second_moment.sums import (
    join_words,
    shorten,
    sum_complex_rows,
    sum_products,
    sum_rows,
    sum_wide_products,
)
from hushrank.exceptions import InvalidParameter
from hushrank.linalg.spectral import Matrix
from hushrank.privacy.guarantee import Neighbors
from hushrank.privacy.mechanisms.counts import release_counts
from hushrank.privacy.mechanisms.gram import release_gram
from hushrank.privacy.mechanisms.vector import VectorLattice, release_vector
from hushrank.privacy.noise.source import NoiseSource
from hushrank.privacy.probes import NoiseProbe

log = logging.getLogger("hushrank")


@dataclass(frozen=True, slots=True)
class SecondMoment:
    """What was released: everything computed from it is post-processing."""

    matrix: Matrix | OrbitSample  # A + noise, or a draw
    count: int | None  # exact under replace, where it is public; noisy, at least 1, or None under add_remove
    center: Matrix

    @property
    def n_samples(self) -> int:
        """The number of rows, for estimators that ask for it."""
        assert self.count is not None
        return self.count


class SecondMomentEstimator(SecondMomentPlanner, PrivateEstimator):
    """Base of the estimators that see the rows through one second-moment matrix only."""

    @property
    def _center_attribute(self) -> Attribute:
        """Complex where a mean of complex rows was estimated; public centers are real."""
        return Attribute(number_kind(self._is_complex and isinstance(self.center, str)), (COLUMNS,))

    def _check_source(self, source: Rows, releases: SecondMomentPlan) -> None:
        owner = type(self).__name__
        if releases.center is not None and not source.can_repeat:
            requirement = "data that can be read twice (a function that returns the iterator) where center='private'"
            raise InvalidParameter(owner, "X", requirement, "an iterator")
        if releases.neighbors is Neighbors.REPLACE and source.n_samples is not None:
            self._check_count(source.n_samples)

    def _release(self, plan: SecondMomentPlan, noise: NoiseSource, total: Total) -> SecondMoment:
        """Bound and release, in the order of `plan.steps()`."""
        count, center = None, plan.public_center
        if plan.center is not None:
            count, center = self._release_center(plan, plan.center, noise, total)
        matrix = plan.matrix
        if isinstance(matrix, OrbitPlan):
            *words, tally = total(sum_wide_products, (center, matrix.draws))
        else:
            *words, tally = total(sum_products, (center, matrix))
        if count is None:
            count = self._count(tally, plan, noise)
        self._report(tally, f"longer than row_norm = {float(self.row_norm):g}")
        if center is None:
            center = np.zeros(plan.n_features)
        if isinstance(matrix, OrbitPlan):
            return SecondMoment(release_orbit(join_words(tuple(words), matrix.draws), matrix, noise), count, center)
        secret: Any = words[0] if len(words) == 1 else tuple(words)
        return SecondMoment(release_gram(secret, matrix, noise), count, center)

    def _release_center(
        self, plan: SecondMomentPlan, lattice: VectorLattice, noise: NoiseSource, total: Total
    ) -> tuple[int, Matrix]:
        """The number of rows and their mean, moved into the ball of radius center_norm."""
        summed, tally = total(sum_complex_rows if self._is_complex else sum_rows, lattice)
        count = self._count(tally, plan, noise)
        assert count is not None  # a private center plans for it
        self._report(tally, f"longer than {lattice.norm_bound:g} for the center")
        mean = release_vector(summed, lattice, noise) / count
        if self._is_complex:
            half = len(mean) // 2
            return count, shorten(mean[:half] + 1j * mean[half:], self._center_norm())
        return count, shorten(mean, self._center_norm())

    def _noise_probe(self, releases: SecondMomentPlan, sizes: Sizes) -> NoiseProbe:
        return second_moment_probe(releases, float(self.row_norm), self._center_norm())

    def _count(self, tally: Any, plan: SecondMomentPlan, noise: NoiseSource) -> int | None:
        """Number of rows: public under replace, released with noise under add_remove if anything needs it."""
        if plan.neighbors is Neighbors.REPLACE:
            self._check_count(int(tally[0]))
            return int(tally[0])
        if plan.count is None:
            return None
        return max(1, int(release_counts(tally[:1], plan.count, noise, plan.neighbors)[0]))

    def _report(self, tally: Any, too_long: str) -> None:
        """Tell the data holder, and nobody else, how many rows were touched."""
        rows, lost, shortened = (int(number) for number in tally)
        message = "%s: %d of %d rows are not finite and count as zero, %d are %s and were shortened. Not private."
        # Never a warning: Python shows those on stderr to whoever looks on, without being asked.
        log.info(message, type(self).__name__, lost, rows, shortened, too_long)
