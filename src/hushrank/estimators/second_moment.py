"""The releases that private PCA and private covariance share: a count, a center, and a second moment around it.

Statistic  A = sum over rows of (x - c)(x - c)^T, rows shortened to |x - c| <= row_norm, c public or released before.
Release    1 under add_remove, the number of rows: 2 % of the budget;
           2 with center="private", the sum of the rows shortened to |x| <= center_norm: 10 % of the budget;
           3 A, with the rest: GOE-shaped Gaussian noise (delta > 0) or two-sided Wishart noise (delta = 0).
Privacy    docs/privacy/second_moment.md, Theorem 1.
"""

import logging
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hushrank.base import Param, PrivateEstimator
from hushrank.engine.rows import Rows
from hushrank.exceptions import InvalidParameter
from hushrank.linalg.lattice import integer_gram, integer_sum, integer_sum_l1, new_tally
from hushrank.privacy.events import Event
from hushrank.privacy.guarantee import Budget, Neighbors
from hushrank.privacy.mechanisms.counts import release_counts
from hushrank.privacy.mechanisms.gram import GramLattice, gram_lattice, release_gram
from hushrank.privacy.mechanisms.symmetric import SymmetricLattice
from hushrank.privacy.mechanisms.vector import GaussianLattice, VectorLattice, release_vector, vector_lattice
from hushrank.privacy.noise.source import NoiseSource
from hushrank.privacy.planning import Step, counts_step, gram_step, vector_step
from hushrank.privacy.shares import split_budget
from hushrank.validation import check_vector

FloatArray = NDArray[np.float64]

COUNT_SHARE, CENTER_SHARE = Fraction(2, 100), Fraction(10, 100)

log = logging.getLogger("hushrank")


@dataclass(frozen=True, slots=True, eq=False)
class SecondMomentReleases:
    """Public numbers of all releases of one fit; None for a release that is not made."""

    neighbors: Neighbors
    n_features: int
    count: Event | None
    center: VectorLattice | None
    gram: GramLattice
    public_center: FloatArray | None

    def steps(self) -> tuple[Step, ...]:
        """The releases in the order of their execution."""
        steps = [gram_step("second moment", self.gram, self.n_features)]
        if self.center is not None:
            steps.insert(0, vector_step("sum of rows, for the center", self.center))
        if self.count is not None:
            steps.insert(0, counts_step("number of rows", 1, self.count, self.neighbors))
        return tuple(steps)


@dataclass(frozen=True, slots=True)
class SecondMoment:
    """What was released: everything computed from it is post-processing."""

    matrix: FloatArray  # A + noise
    n_samples: int  # exact under replace, where it is public; a noisy count of at least 1 under add_remove
    center: FloatArray


def sum_rows(block: Any, lattice: VectorLattice) -> tuple[Any, Any]:
    """Kernel: sum of the rows as lattice integers, and the tally of rows."""
    tally = new_tally()
    if isinstance(lattice, GaussianLattice):
        return integer_sum(block, lattice.norm_bound, lattice.squared_bound, tally=tally), tally
    return integer_sum_l1(block, lattice.norm_bound, lattice.l1_bound, tally=tally), tally


def sum_products(block: Any, state: tuple[FloatArray | None, GramLattice]) -> tuple[Any, Any]:
    """Kernel: Gram matrix of the centered rows as lattice integers, and the tally of rows."""
    center, lattice = state
    tally = new_tally()
    if center is not None:
        with np.errstate(all="ignore"):  # values are never an error: what overflows becomes a row of zeros
            block = np.subtract(block, center, dtype=np.float64)
    return integer_gram(block, lattice.row_norm, lattice.squared_bound, tally=tally), tally


def shorten(vector: FloatArray, bound: float) -> FloatArray:
    """The vector, or the multiple of it that has norm `bound` if it is longer."""
    largest = float(np.abs(vector).max())
    if largest == 0.0:
        return vector
    norm = float(np.linalg.norm(vector / largest))  # times largest; the product may overflow, this does not
    return vector * min(1.0, bound / largest / norm)


def noise_edge(lattice: GramLattice, n_features: int) -> float:
    """Limit of the largest eigenvalue of the noise matrix as the number of columns grows.

    2 sqrt(d) deviations for the GOE; for C (W1 - W2), a difference of two free Poisson laws, C d times the root of
    (11 + 5 sqrt 5) / 2 (the edge of the tetilla law).
    """
    if isinstance(lattice, SymmetricLattice):
        return 2.0 * lattice.scale * math.sqrt(n_features)
    return math.sqrt((11 + 5 * math.sqrt(5)) / 2) * lattice.scale * n_features


def signal_threshold(lattice: GramLattice, n_features: int) -> float:
    """Eigenvalue of A above which its eigenvector shows in that of A + noise, as the number of columns grows.

    1 / G(edge) with the Cauchy transform G of the limit law: sqrt(d) deviations for the GOE, C d / sqrt(sqrt 5 - 2) for
    two-sided Wishart noise (Benaych-Georges and Nadakuditi 2011, Theorem 2.1).
    """
    if isinstance(lattice, SymmetricLattice):
        return lattice.scale * math.sqrt(n_features)
    return lattice.scale * n_features / math.sqrt(math.sqrt(5) - 2)


class SecondMomentEstimator(PrivateEstimator):
    """Base of the estimators that see the rows through one noisy second-moment matrix only."""

    _params: ClassVar[Mapping[str, Param]] = {
        "row_norm": Param(float, above=0),
        "center": Param(np.ndarray, words=("private",), optional=True),
        "center_norm": Param(float, above=0, optional=True),
        "n_max": Param(int, minimum=1, maximum=2**60),
    }

    def _plan(self, budget: Budget, n_features: int) -> SecondMomentReleases:
        public_center = self._check_center(n_features)
        try:
            return self._plan_releases(budget, n_features, public_center)
        except InvalidParameter as error:  # of a lattice: say it in terms of this estimator
            name = {"event": "epsilon", "norm_bound": "center_norm"}.get(error.name, error.name)
            raise InvalidParameter(type(self).__name__, name, error.requirement, getattr(self, name)) from error

    def _plan_releases(self, budget: Budget, n_features: int, public_center: FloatArray | None) -> SecondMomentReleases:
        relation, is_private = budget.neighbors, isinstance(self.center, str)
        shares = {"count": COUNT_SHARE} if relation is Neighbors.ADD_REMOVE else {}
        shares |= {"center": CENTER_SHARE} if is_private else {}
        events = split_budget(budget, shares | {"gram": 1 - sum(shares.values(), Fraction(0))})
        lattice = None
        if is_private:
            # A row within center_norm in L2 is within sqrt(d) center_norm in L1: pure noise shortens no other rows.
            bound = self._center_norm() * (math.sqrt(n_features) if budget.is_pure else 1.0)
            lattice = vector_lattice(bound, events["center"], relation, n_max=self.n_max)
        gram = gram_lattice(float(self.row_norm), events["gram"], relation, n_max=self.n_max)
        return SecondMomentReleases(relation, n_features, events.get("count"), lattice, gram, public_center)

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
            summed, tally = total(sum_rows, releases.center)
            count = self._count(tally, releases, noise)
            self._report(tally, f"longer than {releases.center.norm_bound:g} for the center")
            center = shorten(release_vector(summed, releases.center, noise) / count, self._center_norm())
        S, tally = total(sum_products, (center, releases.gram))
        if count is None:
            count = self._count(tally, releases, noise)
        self._report(tally, f"longer than row_norm = {releases.gram.row_norm:g}")
        matrix = release_gram(S, releases.gram, noise)
        return SecondMoment(matrix, count, np.zeros(len(S)) if center is None else center)

    def _forecast(self, releases: SecondMomentReleases, n_samples: int, n_features: int) -> dict[str, float]:
        if releases.neighbors is Neighbors.REPLACE:
            self._check_count(n_samples)
        edge, threshold = (f(releases.gram, n_features) / n_samples for f in (noise_edge, signal_threshold))
        return {
            "spectral error of the covariance": edge,
            "the same over row_norm^2": edge / releases.gram.row_norm**2,
            "variance a direction needs to show": threshold,
        }

    def _count(self, tally: Any, releases: SecondMomentReleases, noise: NoiseSource) -> int:
        """Number of rows: public under replace, released with noise under add_remove."""
        if releases.count is None:
            self._check_count(int(tally[0]))
            return int(tally[0])
        return max(1, int(release_counts(tally[:1], releases.count, noise, releases.neighbors)[0]))

    def _check_count(self, n_samples: int) -> None:
        """Refuse, under replace, what is public anyway: no rows, or more than n_max."""
        owner = type(self).__name__
        if n_samples == 0:
            requirement = "at least 1 row (an empty data set is released under neighbors='add_remove' only)"
            raise InvalidParameter(owner, "X", requirement, "Found array with 0 sample(s)")
        if n_samples > self.n_max:
            raise InvalidParameter(owner, "n_max", f"at least the number of rows, {n_samples}", self.n_max)

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
        log.log(
            logging.WARNING if lost or shortened else logging.INFO,
            message, type(self).__name__, lost, rows, shortened, too_long,
        )  # fmt: skip
