"""The releases that private PCA, covariance and low-rank approximation share: a count, a center, a second moment.

Statistic  A = sum over rows of (x - c)(x - c)^*, rows shortened to |x - c| <= row_norm, c public or released before.
Release    1 under add_remove, the number of rows where it is needed: 2 % of the budget;
           2 with center="private", the sum of the rows shortened to |x| <= center_norm: 10 % of the budget;
           3 with the rest, by `mechanism`: A with Gaussian or two-sided Wishart noise, or a matrix drawn with
             density exp(rate <A, H>) (`orbit_release`).
Privacy    docs/privacy/second_moment.md, Theorem 1; docs/privacy/orbit.md, Theorem 5.
"""

import logging
import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hushrank.base import Param, PrivateEstimator
from hushrank.data.rows.arrays import Rows
from hushrank.estimators.second_moment.forecast import draw_forecast, noise_edge, signal_threshold
from hushrank.estimators.second_moment.orbit_draw import OrbitReleases, OrbitSample, plan_orbit, release_orbit
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
from hushrank.parameters import check_vector
from hushrank.privacy.events import Event
from hushrank.privacy.guarantee import Budget, Neighbors
from hushrank.privacy.mechanisms.counts import release_counts
from hushrank.privacy.mechanisms.fields import Field
from hushrank.privacy.mechanisms.gram import GramLattice, gram_lattice, release_gram
from hushrank.privacy.mechanisms.vector import VectorLattice, release_vector, vector_lattice
from hushrank.privacy.noise.source import NoiseSource
from hushrank.privacy.planning import Step, counts_step, gram_step, vector_step
from hushrank.privacy.probes import NoiseProbe
from hushrank.privacy.shares import split_budget

FloatArray = NDArray[np.float64]

COUNT_SHARE, CENTER_SHARE = Fraction(2, 100), Fraction(10, 100)
MECHANISMS = ("auto", "gaussian", "wishart", "exponential")
STRATEGIES = ("auto", "joint", "sequential")

log = logging.getLogger("hushrank")


@dataclass(frozen=True, slots=True, eq=False)
class SecondMomentReleases:
    """Public numbers of all releases of one fit; None for a release that is not made."""

    neighbors: Neighbors
    n_features: int
    count: Event | None
    center: VectorLattice | None
    matrix: GramLattice | OrbitReleases
    public_center: FloatArray | None

    def steps(self) -> tuple[Step, ...]:
        """The releases in the order of their execution."""
        steps = []
        if self.count is not None:
            steps.append(counts_step("number of rows", 1, self.count, self.neighbors))
        if self.center is not None:
            steps.append(vector_step("sum of rows, for the center", self.center))
        if isinstance(self.matrix, OrbitReleases):
            return (*steps, *self.matrix.steps())
        return (*steps, gram_step("second moment", self.matrix, self.n_features))


@dataclass(frozen=True, slots=True)
class Spectrum:
    """What an orbit estimator asks for: the rank, public eigenvalues, or the share of the budget for private ones."""

    rank: int
    levels: FloatArray | None = None
    share: Fraction = Fraction(0)


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


class SecondMomentEstimator(PrivateEstimator):
    """Base of the estimators that see the rows through one second-moment matrix only."""

    _params: ClassVar[Mapping[str, Param]] = {
        "row_norm": Param(float, above=0),
        "center": Param(np.ndarray, words=("private",), optional=True),
        "center_norm": Param(float, above=0, optional=True),
        "mechanism": Param(words=MECHANISMS),
        "field": Param(words=tuple(field.value for field in Field)),
        "strategy": Param(words=STRATEGIES),
        "n_max": Param(int, minimum=1, maximum=2**60),
    }

    @property
    def _is_complex(self) -> bool:
        return bool(self.field == Field.COMPLEX)

    @property
    def _is_exponential(self) -> bool:
        return bool(self.mechanism == "exponential")

    @property
    def _needs_count(self) -> bool:
        """Whether the number of rows enters the result."""
        return True

    @abstractmethod
    def _spectrum(self, n_features: int) -> Spectrum:
        """The eigenvalues of the matrix that the exponential mechanism draws."""

    def _plan(self, budget: Budget, n_features: int) -> SecondMomentReleases:
        self._check_mechanism(budget)
        public_center = self._check_center(n_features)
        try:
            releases = self._plan_releases(budget, n_features, public_center)
            releases.steps()  # their scales may be refused as well
            return releases
        except InvalidParameter as error:  # of a lattice: say it in terms of this estimator
            name = {"event": "epsilon", "norm_bound": "center_norm"}.get(error.name, error.name)
            raise InvalidParameter(type(self).__name__, name, error.requirement, getattr(self, name)) from error

    def _plan_releases(self, budget: Budget, n_features: int, public_center: FloatArray | None) -> SecondMomentReleases:
        relation, is_private = budget.neighbors, isinstance(self.center, str)
        counts = relation is Neighbors.ADD_REMOVE and (is_private or self._needs_count)
        shares = ({"count": COUNT_SHARE} if counts else {}) | ({"center": CENTER_SHARE} if is_private else {})
        rest = 1 - sum(shares.values(), Fraction(0))
        terms: dict[str, Any] = {"field": Field(self.field), "n_max": self.n_max}
        matrix: GramLattice | OrbitReleases
        if self._is_exponential:
            spectrum = self._spectrum(n_features)
            shares |= {"eigenvalues": rest * spectrum.share} if spectrum.share else {}
            events = split_budget(budget, shares | {"vectors": rest * (1 - spectrum.share)})
            matrix = plan_orbit(
                events, levels=spectrum.levels, rank=spectrum.rank,
                strategy=self.strategy, row_norm=float(self.row_norm), neighbors=relation, n_features=n_features,
                **terms,
            )  # fmt: skip
        else:
            events = split_budget(budget, shares | {"gram": rest})
            matrix = gram_lattice(float(self.row_norm), events["gram"], relation, **terms)
        center = self._plan_center(events["center"], budget, n_features) if is_private else None
        return SecondMomentReleases(relation, n_features, events.get("count"), center, matrix, public_center)

    def _plan_center(self, event: Event, budget: Budget, n_features: int) -> VectorLattice:
        # A row within center_norm in L2 is within sqrt(d) center_norm in L1: pure noise shortens no other rows.
        numbers = n_features * (2 if self._is_complex else 1)
        bound = self._center_norm() * (math.sqrt(numbers) if budget.is_pure else 1.0)
        return vector_lattice(bound, event, budget.neighbors, n_max=self.n_max)

    def _check_rows(self, rows: Rows, releases: SecondMomentReleases) -> None:
        owner = type(self).__name__
        if releases.center is not None and not rows.can_repeat:
            requirement = "data that can be read twice (a function that returns the iterator) where center='private'"
            raise InvalidParameter(owner, "X", requirement, "an iterator")
        if releases.neighbors is Neighbors.REPLACE and rows.n_samples is not None:
            self._check_count(rows.n_samples)

    def _release(self, releases: SecondMomentReleases, noise: NoiseSource, total: Callable[..., Any]) -> SecondMoment:
        """Bound and release, in the order of `releases.steps()`."""
        count, center = None, releases.public_center
        if releases.center is not None:
            count, center = self._release_center(releases, releases.center, noise, total)
        plan = releases.matrix
        if isinstance(plan, OrbitReleases):
            *words, tally = total(sum_wide_products, (center, plan.draws))
        else:
            *words, tally = total(sum_products, (center, plan))
        if count is None:
            count = self._count(tally, releases, noise)
        self._report(tally, f"longer than row_norm = {float(self.row_norm):g}")
        if center is None:
            center = np.zeros(releases.n_features)
        if isinstance(plan, OrbitReleases):
            return SecondMoment(release_orbit(join_words(tuple(words), plan.draws), plan, noise), count, center)
        secret: Any = words[0] if len(words) == 1 else tuple(words)
        return SecondMoment(release_gram(secret, plan, noise), count, center)

    def _release_center(
        self, releases: SecondMomentReleases, lattice: VectorLattice, noise: NoiseSource, total: Callable[..., Any]
    ) -> tuple[int, Matrix]:
        """The number of rows and their mean, moved into the ball of radius center_norm."""
        summed, tally = total(sum_complex_rows if self._is_complex else sum_rows, lattice)
        count = self._count(tally, releases, noise)
        assert count is not None  # a private center plans for it
        self._report(tally, f"longer than {lattice.norm_bound:g} for the center")
        mean = release_vector(summed, lattice, noise) / count
        if self._is_complex:
            half = len(mean) // 2
            return count, shorten(mean[:half] + 1j * mean[half:], self._center_norm())
        return count, shorten(mean, self._center_norm())

    def _forecast(self, releases: SecondMomentReleases, n_samples: int, n_features: int) -> dict[str, float]:
        if releases.neighbors is Neighbors.REPLACE:
            self._check_count(n_samples)
        if isinstance(releases.matrix, OrbitReleases):
            return draw_forecast(releases.matrix, n_samples, n_features)
        edge, threshold = (f(releases.matrix, n_features) / n_samples for f in (noise_edge, signal_threshold))
        return {
            "spectral error of the covariance": edge,
            "the same over row_norm^2": edge / self.row_norm**2,
            "variance a direction needs to show": threshold,
        }

    def _noise_probe(self, releases: SecondMomentReleases, n_features: int) -> NoiseProbe:
        return second_moment_probe(releases, float(self.row_norm), self._center_norm())

    def _count(self, tally: Any, releases: SecondMomentReleases, noise: NoiseSource) -> int | None:
        """Number of rows: public under replace, released with noise under add_remove if anything needs it."""
        if releases.neighbors is Neighbors.REPLACE:
            self._check_count(int(tally[0]))
            return int(tally[0])
        if releases.count is None:
            return None
        return max(1, int(release_counts(tally[:1], releases.count, noise, releases.neighbors)[0]))

    def _check_count(self, n_samples: int) -> None:
        """Refuse, under replace, what is public anyway: no rows, or more than n_max."""
        owner = type(self).__name__
        if n_samples == 0:
            requirement = "at least 1 row (an empty data set is released under neighbors='add_remove' only)"
            raise InvalidParameter(owner, "X", requirement, "Found array with 0 sample(s)")
        if n_samples > self.n_max:
            raise InvalidParameter(owner, "n_max", f"at least the number of rows, {n_samples}", self.n_max)

    def _check_mechanism(self, budget: Budget) -> None:
        """Refuse a mechanism that does not fit delta, and options of another mechanism."""
        owner, needs_delta = type(self).__name__, {"gaussian": True, "wishart": False, "exponential": False}
        if needs_delta.get(self.mechanism, not budget.is_pure) == budget.is_pure:
            requirement = "> 0 for Gaussian noise" if budget.is_pure else f"0 for mechanism={self.mechanism!r}"
            raise InvalidParameter(owner, "delta", requirement, self.delta)
        if self.strategy != "auto" and not self._is_exponential:
            requirement = "'auto' unless mechanism='exponential', which it serves"
            raise InvalidParameter(owner, "strategy", requirement, self.strategy)

    def _check_center(self, n_features: int) -> FloatArray | None:
        """A copy of the public center, if there is one."""
        owner = type(self).__name__
        if isinstance(self.center, str):
            return None
        if self.center_norm is not None:
            requirement = "None unless center='private', which it serves"
            raise InvalidParameter(owner, "center_norm", requirement, self.center_norm)
        if self.center is None:
            return None
        center = check_vector(self.center, "center", owner)
        if len(center) != n_features:
            raise InvalidParameter(owner, "center", f"a vector of {n_features} numbers, one for a column", self.center)
        return center

    def _center_norm(self) -> float:
        return float(self.row_norm if self.center_norm is None else self.center_norm)

    def _report(self, tally: Any, too_long: str) -> None:
        """Tell the data holder, and nobody else, how many rows were touched."""
        rows, lost, shortened = (int(number) for number in tally)
        message = "%s: %d of %d rows are not finite and count as zero, %d are %s and were shortened. Not private."
        # Never a warning: Python shows those on stderr to whoever looks on, without being asked.
        log.info(message, type(self).__name__, lost, rows, shortened, too_long)
