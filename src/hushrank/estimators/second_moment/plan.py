"""What private PCA, covariance and low-rank approximation will release: a count, a center, a second moment.

Release    1 under add_remove, the number of rows where it is needed;
           2 with center="private", the sum of the rows shortened to |x| <= center_norm;
           3 with the rest, by `mechanism`: A with Gaussian or two-sided Wishart noise, or a matrix drawn with
             density exp(rate <A, H>) (`orbit_plan`).
Shares     of the budget: `recipe`.
Privacy    docs/privacy/second_moment.md, Theorem 1; docs/privacy/orbit.md, Theorem 5.
"""

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hushrank.base import Param, PrivateRelease, Sizes
from hushrank.estimators.second_moment.forecast import draw_forecast, noise_forecast
from hushrank.estimators.second_moment.orbit_plan import OrbitPlan, plan_orbit
from hushrank.estimators.second_moment.recipe import RECIPE
from hushrank.exceptions import InvalidParameter
from hushrank.parameters import DEFAULT_N_MAX, check_vector
from hushrank.privacy.events import Event
from hushrank.privacy.guarantee import Budget, Neighbors
from hushrank.privacy.mechanisms.fields import Field
from hushrank.privacy.mechanisms.gram import GramLattice, gram_lattice
from hushrank.privacy.mechanisms.vector import VectorLattice, vector_lattice
from hushrank.privacy.planning import Step, counts_step, gram_step, vector_step
from hushrank.privacy.shares import split_budget

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class SecondMomentPlan:
    """Public numbers of all releases of one fit; None for a release that is not made."""

    neighbors: Neighbors
    n_features: int
    count: Event | None
    center: VectorLattice | None
    matrix: GramLattice | OrbitPlan
    public_center: FloatArray | None

    def steps(self) -> tuple[Step, ...]:
        """The releases in the order of their execution."""
        steps = []
        if self.count is not None:
            steps.append(counts_step("number of rows", 1, self.count, self.neighbors))
        if self.center is not None:
            steps.append(vector_step("sum of rows, for the center", self.center))
        if isinstance(self.matrix, OrbitPlan):
            return (*steps, *self.matrix.steps())
        return (*steps, gram_step("second moment", self.matrix, self.n_features))


@dataclass(frozen=True, slots=True)
class Spectrum:
    """What the exponential mechanism is asked for: the rank, public eigenvalues, or the share for private ones."""

    rank: int
    levels: FloatArray | None = None
    share: Fraction = Fraction(0)


class SecondMomentPlanner(PrivateRelease):
    """Parameters and plan of the estimators that see the rows through one second-moment matrix only."""

    _params: ClassVar[Mapping[str, Param]] = {
        "row_norm": Param(float, above=0, help="Public bound on the L2 norm of a row; longer ones are shortened."),
        "center": Param(
            np.ndarray,
            words=("private",),
            optional=True,
            default=None,
            help="What to subtract from every row: 'private' (a mean that takes 10 % of the budget), numbers separated "
            "by commas, or an .npy file. Default: nothing.",
        ),
        "center_norm": Param(
            float,
            above=0,
            optional=True,
            default=None,
            help="With --center private: bound on a row before centering. Default: --row-norm.",
        ),
        "mechanism": Param(
            words=("auto", "gaussian", "wishart", "exponential"),
            default="auto",
            help="auto: Gaussian noise if delta > 0, else two-sided Wishart noise. exponential: for weak signals.",
        ),
        "field": Param(
            words=tuple(field.value for field in Field),
            default="real",
            help="Of the result; complex takes complex .npy and .npz files as well.",
        ),
        "strategy": Param(
            words=("auto", "joint", "sequential"),
            default="auto",
            help="With --mechanism exponential: all directions at once, or one after the other.",
        ),
        "n_max": Param(
            int,
            minimum=1,
            maximum=2**60,
            default=DEFAULT_N_MAX,
            help="Public bound on the number of people; sets the fineness of the lattice.",
        ),
    }

    row_norm: float
    center: Any
    center_norm: float | None
    delta: float
    mechanism: str
    field: str
    strategy: str
    n_max: int

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

    def _plan(self, budget: Budget, sizes: Sizes) -> SecondMomentPlan:
        self._check_mechanism(budget)
        n_features = sizes["n_features"]
        public_center = self._check_center(n_features)
        try:
            plan = self._plan_releases(budget, n_features, public_center)
            plan.steps()  # their scales may be refused as well
            return plan
        except InvalidParameter as error:  # of a lattice: say it in terms of this estimator
            name = {"event": "epsilon", "norm_bound": "center_norm"}.get(error.name, error.name)
            raise InvalidParameter(
                type(self).__name__, name, error.requirement, getattr(self, name, error.got)
            ) from error

    def _plan_releases(self, budget: Budget, n_features: int, public_center: FloatArray | None) -> SecondMomentPlan:
        relation, is_private = budget.neighbors, isinstance(self.center, str)
        is_counted = relation is Neighbors.ADD_REMOVE and (is_private or self._needs_count)
        shares = ({"count": RECIPE.count} if is_counted else {}) | ({"center": RECIPE.center} if is_private else {})
        rest = 1 - sum(shares.values(), Fraction(0))
        terms: dict[str, Any] = {"field": Field(self.field), "n_max": self.n_max}
        matrix: GramLattice | OrbitPlan
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
        return SecondMomentPlan(relation, n_features, events.get("count"), center, matrix, public_center)

    def _plan_center(self, event: Event, budget: Budget, n_features: int) -> VectorLattice:
        # A row within center_norm in L2 is within sqrt(d) center_norm in L1: pure noise shortens no other rows.
        numbers = n_features * (2 if self._is_complex else 1)
        bound = self._center_norm() * (math.sqrt(numbers) if budget.is_pure else 1.0)
        return vector_lattice(bound, event, budget.neighbors, n_max=self.n_max)

    def _forecast(self, releases: SecondMomentPlan, sizes: Sizes) -> dict[str, float]:
        n_samples, n_features = sizes["n_samples"], sizes["n_features"]
        if releases.neighbors is Neighbors.REPLACE:
            self._check_count(n_samples)
        if isinstance(releases.matrix, OrbitPlan):
            return draw_forecast(releases.matrix, n_samples, n_features)
        return noise_forecast(releases.matrix, n_samples, n_features)

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
