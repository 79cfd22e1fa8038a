"""Estimators that see private rows through their second moment: the releases, in the order of the plan.

Statistic  A = sum over rows of (x - c)(x - c)^*, rows shortened to a radius, c public or released before.
Release    with a private radius, `learning`; with a public one a count, a center and a second moment, or a draw.
Privacy    docs/privacy/second_moment.md, Theorems 1 and 2; docs/privacy/orbit.md, Theorem 5.
"""

import logging
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from hushrank.archive.attributes import COLUMNS, Attribute, number_kind
from hushrank.base import Sizes
from hushrank.data.findings import Look
from hushrank.data.rows.arrays import Rows
from hushrank.data.rows.checking import RowTerms, look_at_rows
from hushrank.estimator import PrivateEstimator, Total
from hushrank.estimators.second_moment.learning import Task, learn_moment
from hushrank.estimators.second_moment.orbit_draw import release_orbit
from hushrank.estimators.second_moment.orbit_plan import OrbitPlan
from hushrank.estimators.second_moment.parameters import check_names, limits_of
from hushrank.estimators.second_moment.plan import MomentPlan, SecondMomentPlanner
from hushrank.estimators.second_moment.probe import second_moment_probe
from hushrank.estimators.second_moment.public_plan import SecondMomentPlan
from hushrank.estimators.second_moment.radius_plan import RadiusBudget
from hushrank.estimators.second_moment.radius_probe import radius_probe
from hushrank.estimators.second_moment.released import SecondMoment, noise_law_of
from hushrank.estimators.second_moment.releases import RowReleases
from hushrank.estimators.second_moment.resources import memory_bytes
from hushrank.estimators.second_moment.sums import (
    join_words,
    shorten,
    sum_complex_rows,
    sum_products,
    sum_rows,
    sum_wide_products,
)
from hushrank.exceptions import InvalidParameter
from hushrank.linalg.row_frames import Frame
from hushrank.linalg.spectral import Matrix
from hushrank.privacy.guarantee import Neighbors
from hushrank.privacy.mechanisms.counts import release_counts
from hushrank.privacy.mechanisms.fields import Field
from hushrank.privacy.mechanisms.gram import release_gram
from hushrank.privacy.mechanisms.vector import VectorLattice, release_vector
from hushrank.privacy.noise.source import NoiseSource
from hushrank.privacy.probes import NoiseProbe

log = logging.getLogger("hushrank")


class SecondMomentEstimator(SecondMomentPlanner, PrivateEstimator):
    """Base of the estimators that see the rows through one second-moment matrix only."""

    @property
    def _center_attribute(self) -> Attribute:
        """Complex where a mean of complex rows was estimated; public centers are real."""
        return Attribute(number_kind(self._is_complex and isinstance(self.center, str)), (COLUMNS,))

    @property
    def _radius_attribute(self) -> dict[str, Attribute]:
        return {"radius_": Attribute(float, above=0)} if self._has_private_radius else {}

    def _read(self, *data: Any) -> Any:
        source = super()._read(*data)
        check_names(self.column_bounds, source.columns, type(self).__name__)
        return source

    def _check_source(self, source: Rows, releases: MomentPlan) -> None:
        owner = type(self).__name__
        if self.column_bounds is not None:  # now that their order is known
            self._frame_bound(source.n_features, source.columns)
        if not source.can_repeat and (self._has_private_radius or isinstance(self.center, str)):
            option = "radius='private'" if self._has_private_radius else "center='private'"
            requirement = f"data that can be read several times (a function that returns the iterator) for {option}"
            raise InvalidParameter(owner, "X", requirement, "an iterator")
        if releases.neighbors is Neighbors.REPLACE and source.n_samples is not None:
            self._check_count(source.n_samples)

    def _check_learned(self, learned: Mapping[str, Any]) -> None:
        """Refuse sureness, choices of columns and limits by name that no fit gives."""
        check_names(self.column_bounds, learned.get("feature_names_in_"), type(self).__name__)
        alignment = learned.get("alignment_")
        if alignment is not None and alignment.max() > 1:
            raise ValueError("alignment_ has numbers above 1")
        if alignment is not None and learned.get("n_significant_", 0) > len(alignment):
            raise ValueError("n_significant_ is larger than the number of components")
        intervals = learned.get("explained_variance_interval_", learned.get("eigenvalue_interval_"))
        if intervals is not None and (intervals[:, 0] > intervals[:, 1]).any():
            raise ValueError("an interval ends before it begins")
        if "selected_columns_" in learned:
            columns = learned["selected_columns_"]
            is_inside = columns.dtype == np.int64 and columns.min() >= 0 and columns.max() < learned[COLUMNS]
            if not is_inside or (np.diff(columns) <= 0).any():
                raise ValueError("selected_columns_ are no columns of the data in their order")

    def _look(self, source: Rows, releases: MomentPlan) -> Look:
        d, limits = source.n_features, None
        if self.column_bounds is not None:
            limits = limits_of(self.column_bounds, d, source.columns, type(self).__name__)
        # No row within limits is longer than its bound, but for rounding.
        bound = math.inf
        if self.row_norm is not None:
            bound = self._frame_bound(d, source.columns) if self._has_private_radius else self._bound(d)
        n_max = self.n_max if releases.neighbors is Neighbors.REPLACE else None
        is_scaled = self.standardize is not None
        return look_at_rows(source, RowTerms(bound, self._check_center(d), limits, is_scaled, n_max))

    def _memory_bytes(self, source: Rows, threads: int) -> float:
        return memory_bytes(self._work(source.n_features), threads)

    def _release(
        self, plan: MomentPlan, noise: NoiseSource, total: Total, columns: Sequence[Hashable] | None = None
    ) -> SecondMoment:
        """Bound and release; `columns` are the names that limits of columns may be for."""
        if isinstance(plan, RadiusBudget):
            releases = RowReleases(plan.event, plan.neighbors, self.n_max, noise, total, self._report)
            return learn_moment(self._task(plan, columns), releases, self._check_count)
        return self._release_within_public_radius(plan, noise, total)

    def _task(self, plan: RadiusBudget, columns: Sequence[Hashable] | None = None) -> Task:
        """What a private radius is searched for in: limits and center of the rows, and the budget."""
        d = plan.n_features
        frame = Frame(d * (2 if self._is_complex else 1))
        if self.column_bounds is not None:
            low, high = limits_of(self.column_bounds, d, columns, type(self).__name__).T
            frame = frame.limited(low.copy(), high.copy()).moved((low + high) / 2).scaled(2.0 / (high - low))
        center = self._check_center(d)
        if center is not None:
            frame = frame.moved((np.hstack([center, np.zeros(frame.width - d)]) - frame.shifts()) * frame.gains())
        spectrum = self._spectrum(d)
        return Task(
            setting=replace(self._setting(plan, self.n_samples or 0), n_features=d),
            wanted=self._wanted(),
            frame=frame,
            row_norm=self._frame_bound(d, columns),
            field=Field(self.field),
            n_max=self.n_max,
            least_columns=spectrum.rank,
            draw=self._plan_draw if self._is_exponential else None,
            eigenvalues=spectrum.share if self._is_exponential else Fraction(0),
        )

    def _release_within_public_radius(self, plan: SecondMomentPlan, noise: NoiseSource, total: Total) -> SecondMoment:
        """In the order of `plan.steps()`."""
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
        self._report(tally, f"longer than row_norm = {self._bound(plan.n_features):g}")
        if center is None:
            center = np.zeros(plan.n_features)
        if isinstance(matrix, OrbitPlan):
            sample = release_orbit(join_words(tuple(words), matrix.draws), matrix, noise)
            return SecondMoment(sample, count, center, None)
        secret: Any = words[0] if len(words) == 1 else tuple(words)
        released = release_gram(secret, matrix, noise)
        return SecondMoment(released, count, center, noise_law_of(matrix, plan.n_features))

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

    def _noise_probe(self, releases: MomentPlan, sizes: Sizes) -> NoiseProbe | None:
        if isinstance(releases, RadiusBudget):
            return None if self.standardize is not None else radius_probe(self._task(releases))
        return second_moment_probe(releases, self._bound(releases.n_features), self._center_norm())

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
