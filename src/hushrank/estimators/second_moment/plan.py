"""Parameters and plans of the estimators that see rows through their second moment, apart from what learns.

With a private radius the plan is one event, of which a fit spends shares (`radius_plan`, `spending`); with a public one
it is a count, a center and a second moment (`public_plan`). Nothing here needs numba or scikit-learn.
"""

import math
from abc import abstractmethod
from collections.abc import Hashable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from hushrank.base import Param, PrivateRelease, Sizes
from hushrank.estimators.cluster_times import ClusterWork
from hushrank.estimators.second_moment.forecast import (
    NOT_CENTERED,
    NOT_CENTERED_IN_LIMITS,
    draw_forecast,
    noise_forecast,
    radius_draw_forecast,
    radius_forecast,
    radius_notes,
    wide_notes,
)
from hushrank.estimators.second_moment.orbit_plan import OrbitPlan, has_joint_draw, plan_orbit
from hushrank.estimators.second_moment.parameters import ROW_PARAMS, FloatArray, limits_of, read_bounds
from hushrank.estimators.second_moment.public_plan import SecondMomentPlan, Spectrum
from hushrank.estimators.second_moment.radius_plan import LARGEST_NORM, SMALLEST_NORM, RadiusBudget, plan_radius_budget
from hushrank.estimators.second_moment.recipe import CLIPPED_FOR_MATRIX, RADIUS_RECIPE, RECIPE
from hushrank.estimators.second_moment.resources import Work, cluster_work, fit_resources
from hushrank.estimators.second_moment.spending import Setting, Spending, Wanted, spend
from hushrank.exceptions import InvalidParameter
from hushrank.parameters import check_vector
from hushrank.privacy.events import Event
from hushrank.privacy.filters import filter_for
from hushrank.privacy.guarantee import Budget, Neighbors
from hushrank.privacy.mechanisms.fields import Field
from hushrank.privacy.mechanisms.gram import GramLattice, gram_lattice
from hushrank.privacy.mechanisms.vector import VectorLattice, vector_lattice
from hushrank.privacy.shares import split_budget

MomentPlan = SecondMomentPlan | RadiusBudget


class SecondMomentPlanner(PrivateRelease):
    """Parameters and plan of the estimators that see the rows through one second-moment matrix only."""

    _params: ClassVar[Mapping[str, Param]] = ROW_PARAMS
    _clipped: ClassVar[float] = CLIPPED_FOR_MATRIX

    row_norm: float | None
    radius: str
    center: Any
    center_norm: float | None
    delta: float
    mechanism: str
    field: str
    strategy: str
    n_samples: int | None
    n_max: int
    column_bounds: Any = None
    standardize: str | None = None
    select_columns: str | None = None

    @property
    def _is_adaptive(self) -> bool:  # type: ignore[override]
        return self._has_private_radius

    @property
    def _has_private_radius(self) -> bool:
        return bool(self.radius == "private")

    @property
    def _is_complex(self) -> bool:
        return bool(self.field == Field.COMPLEX)

    @property
    def _is_exponential(self) -> bool:
        return bool(self.mechanism == "exponential")

    @property
    def _needs_count(self) -> bool:
        """Whether the number of rows enters the result where the radius is public."""
        return True

    @abstractmethod
    def _spectrum(self, n_features: int) -> Spectrum:
        """The eigenvalues of the matrix that the exponential mechanism draws."""

    def _known_sizes(self) -> dict[str, int]:
        return {} if self.n_samples is None else {"n_samples": int(self.n_samples)}

    def _plan(self, budget: Budget, sizes: Sizes) -> MomentPlan:
        n_features, owner = sizes["n_features"], type(self).__name__
        self._check_mechanism(budget)
        self._check_columns(n_features)
        self._bound(n_features)
        public_center = self._check_center(n_features)
        if self._has_private_radius:
            return self._plan_radius(budget, n_features)
        try:
            plan = self._plan_releases(budget, n_features, public_center)
            plan.steps()  # their scales may be refused as well
            return plan
        except InvalidParameter as error:  # of a lattice: say it in terms of this estimator
            name = {"event": "epsilon", "norm_bound": "center_norm"}.get(error.name, error.name)
            raise InvalidParameter(owner, name, error.requirement, getattr(self, name, error.got)) from error

    def _plan_radius(self, budget: Budget, n_features: int) -> RadiusBudget:
        """The cap; nothing of what a fit may do within it is refused after the charge."""
        owner, field = type(self).__name__, Field(self.field)
        terms: dict[str, Any] = {"n_max": self.n_max, "is_drawn": self._is_exponential, "owner": owner}
        plan = plan_radius_budget(budget, n_features, field=field, **terms)
        self._frame_bound(n_features)
        if not self._is_exponential:
            return plan
        for share in (RADIUS_RECIPE.least_length, Fraction(1)):
            event = filter_for(plan.event).share(share)
            try:
                self._plan_draw({"vectors": event, "eigenvalues": event}, row_norm=1.0, n_features=n_features).steps()
            except InvalidParameter as error:
                name = error.name if hasattr(self, error.name) else "epsilon"
                raise InvalidParameter(owner, name, error.requirement, getattr(self, name)) from error
        return plan

    def _plan_releases(self, budget: Budget, n_features: int, public_center: FloatArray | None) -> SecondMomentPlan:
        relation, is_private = budget.neighbors, isinstance(self.center, str)
        is_counted = relation is Neighbors.ADD_REMOVE and (is_private or self._needs_count)
        shares = ({"count": RECIPE.count} if is_counted else {}) | ({"center": RECIPE.center} if is_private else {})
        rest = 1 - sum(shares.values(), Fraction(0))
        matrix: GramLattice | OrbitPlan
        if self._is_exponential:
            spectrum = self._spectrum(n_features)
            shares |= {"eigenvalues": rest * spectrum.share} if spectrum.share else {}
            events = split_budget(budget, shares | {"vectors": rest * (1 - spectrum.share)})
            matrix = self._plan_draw(events, row_norm=self._bound(n_features), n_features=n_features)
        else:
            events = split_budget(budget, shares | {"gram": rest})
            terms: dict[str, Any] = {"field": Field(self.field), "n_max": self.n_max}
            matrix = gram_lattice(self._bound(n_features), events["gram"], relation, **terms)
        center = self._plan_center(events["center"], budget, n_features) if is_private else None
        return SecondMomentPlan(relation, n_features, events.get("count"), center, matrix, public_center)

    def _plan_center(self, event: Event, budget: Budget, n_features: int) -> VectorLattice:
        # A row within center_norm in L2 is within sqrt(d) center_norm in L1: pure noise shortens no other rows.
        numbers = n_features * (2 if self._is_complex else 1)
        bound = self._center_norm() * (math.sqrt(numbers) if budget.is_pure else 1.0)
        return vector_lattice(bound, event, budget.neighbors, n_max=self.n_max)

    def _plan_draw(self, events: Mapping[str, Event], *, row_norm: float, n_features: int) -> OrbitPlan:
        """The draw of the exponential mechanism, of rows within a norm."""
        spectrum = self._spectrum(n_features)
        return plan_orbit(
            events, levels=spectrum.levels, rank=spectrum.rank, strategy=self.strategy, row_norm=row_norm,
            neighbors=Neighbors(self.neighbors), n_features=n_features, field=Field(self.field), n_max=self.n_max,
        )  # fmt: skip

    def _wanted(self) -> Wanted:
        """What a private radius is accompanied by."""
        has_center, has_scales = isinstance(self.center, str), self.standardize == "private"
        is_matrix = self._clipped == CLIPPED_FOR_MATRIX
        return Wanted(has_center, has_scales, self.select_columns is not None, self._clipped, mean=is_matrix)

    def _setting(self, releases: RadiusBudget, n_samples: int) -> Setting:
        """The public numbers of a fit of so many rows, with as many columns as may be left after a choice."""
        n_features = releases.n_features
        if self.select_columns is not None:
            n_features = min(n_features, RADIUS_RECIPE.most_columns)
        return Setting(releases.event, releases.neighbors, n_samples, n_features, self._is_complex)

    def _spending(self, releases: RadiusBudget, sizes: Sizes) -> tuple[Setting, Spending]:
        setting = self._setting(releases, sizes["n_samples"])
        return setting, spend(setting, self._wanted())

    def _forecast(self, releases: MomentPlan, sizes: Sizes, **guesses: float) -> dict[str, float]:
        n_samples, n_features = sizes["n_samples"], sizes["n_features"]
        if releases.neighbors is Neighbors.REPLACE:
            self._check_count(n_samples)
        if isinstance(releases, RadiusBudget):
            setting, spending = self._spending(releases, sizes)
            if self._is_exponential:
                spectrum = self._spectrum(setting.n_features)
                return radius_draw_forecast(setting, spending, spectrum.share, self._plan_draw)
            wanted = self._wanted()
            return radius_forecast(setting, spending, has_mean=wanted.center and wanted.mean)
        if isinstance(releases.matrix, OrbitPlan):
            return draw_forecast(releases.matrix, n_samples, n_features)
        return noise_forecast(releases.matrix, n_samples, n_features)

    def _shares(self, releases: MomentPlan, sizes: Sizes) -> dict[str, float]:
        return self._spending(releases, sizes)[1].named() if isinstance(releases, RadiusBudget) else {}

    def _resources(self, releases: MomentPlan, sizes: Sizes) -> dict[str, float]:
        return fit_resources(sizes["n_samples"], self._work(sizes["n_features"]))

    def _cluster_work(self, releases: MomentPlan, sizes: Sizes, **guesses: float) -> ClusterWork:
        return cluster_work(sizes["n_samples"], self._work(sizes["n_features"]))

    def _work(self, n_features: int) -> Work:
        """What a fit computes, as far as memory and time depend on it."""
        wanted = self._wanted()
        width = min(n_features, RADIUS_RECIPE.most_columns) if wanted.columns else n_features
        passes = 1 + (2 * wanted.center + 2 * wanted.columns + 2 * wanted.scales if self._has_private_radius else 0)
        passes += self._has_private_radius or wanted.center
        passes += self._has_private_radius and wanted.center and self.delta == 0  # a sum for the length of the mean
        is_drawn = self._is_exponential and has_joint_draw(self._spectrum(width).rank, width, self.strategy)
        return Work(n_features, width, passes, self._is_complex, is_pure=self.delta == 0, is_drawn=is_drawn)

    def _notes(self, releases: MomentPlan, sizes: Sizes) -> Iterator[str]:
        if isinstance(releases, RadiusBudget):
            yield from radius_notes(*self._spending(releases, sizes), self._wanted())
            can_select = "select_columns" in self.parameter_table() and self.select_columns is None
            yield from wide_notes(sizes["n_features"], can_select=can_select)
        if self.center is None and "standardize" in self.parameter_table():
            yield NOT_CENTERED if self.column_bounds is None else NOT_CENTERED_IN_LIMITS

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

    def _check_columns(self, n_features: int) -> None:
        """Refuse options of columns that do not fit the others."""
        owner = type(self).__name__
        if self.column_bounds is not None:
            bounds = read_bounds(self.column_bounds, "column_bounds", owner)
            if bounds.ndim == 2 and len(bounds) != n_features:
                requirement = f"(low, high) for all columns, or {n_features} pairs, one for a column"
                raise InvalidParameter(owner, "column_bounds", requirement, f"{len(bounds)} pairs")
        for name in ("column_bounds", "standardize", "select_columns"):
            value = getattr(self, name)
            if value is None:
                continue
            value = value if isinstance(value, str) else "limits"
            if self._is_complex:
                requirement = "None for field='complex', whose columns are pairs of numbers"
                raise InvalidParameter(owner, name, requirement, value)
            if self._is_exponential and name != "column_bounds":
                requirement = "None for mechanism='exponential', which releases no matrix to scale"
                raise InvalidParameter(owner, name, requirement, value)
            if value != "after" and not self._has_private_radius:
                raise InvalidParameter(owner, name, "None unless radius='private', which it builds on", value)

    def _check_center(self, n_features: int) -> FloatArray | None:
        """A copy of the public center, if there is one."""
        owner = type(self).__name__
        if self.center_norm is not None and (self._has_private_radius or not isinstance(self.center, str)):
            requirement = "None unless center='private' and radius='public', which it serves"
            raise InvalidParameter(owner, "center_norm", requirement, self.center_norm)
        if self.center is None or isinstance(self.center, str):
            return None
        center = check_vector(self.center, "center", owner)
        if len(center) != n_features:
            raise InvalidParameter(owner, "center", f"a vector of {n_features} numbers, one for a column", self.center)
        return center

    def _bound(self, n_features: int) -> float:
        """The public bound on a row: row_norm, or sqrt(n_features) half widths of limited columns."""
        owner, bound = type(self).__name__, math.inf if self.row_norm is None else float(self.row_norm)
        if self.column_bounds is not None:  # in half widths, of which no row has more
            return min(bound, math.sqrt(n_features))
        if self.row_norm is None:
            raise InvalidParameter(owner, "row_norm", "a finite float > 0 unless column_bounds are given", None)
        if self._has_private_radius and not SMALLEST_NORM <= bound <= LARGEST_NORM:
            requirement = f"between {SMALLEST_NORM:g} and {LARGEST_NORM:g} where radius='private'"
            raise InvalidParameter(owner, "row_norm", requirement, self.row_norm)
        return bound

    def _frame_bound(self, n_features: int, columns: Sequence[Hashable] | None = None) -> float:
        """The public bound on a row in the coordinates in which a private radius is searched for."""
        bound, center = self._bound(n_features), self._check_center(n_features)
        if self.column_bounds is not None and center is not None:
            low, high = limits_of(self.column_bounds, n_features, columns, type(self).__name__).T
            with np.errstate(over="ignore"):
                bound += float(np.linalg.norm((center - (low + high) / 2) / ((high - low) / 2)))
        if not bound <= LARGEST_NORM:
            requirement = f"within {LARGEST_NORM:g} half widths of the limits of the columns"
            raise InvalidParameter(type(self).__name__, "center", requirement, "one farther away")
        return bound

    def _center_norm(self) -> float:
        return float(self.center_norm or self.row_norm or 0.0)  # limited columns have a private radius, and no norm
