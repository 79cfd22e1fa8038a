"""Parameters of `PrivateTraceRegression` and its plan: a cap of which shares are spent.

The estimator and the command line both use this; nothing here needs numba or scikit-learn.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from hushrank.archive.attributes import COLUMNS
from hushrank.base import Param, PrivateRelease, Sizes
from hushrank.data.records.forms import DESIGNS, MOST_ENTRIES
from hushrank.estimators.cluster_times import ClusterWork
from hushrank.estimators.trace.forecast import (
    START_DEGRADED,
    START_HOPELESS,
    Setting,
    privacy_error,
    sample_error,
    start_error,
    start_ratio,
)
from hushrank.estimators.trace.parameters import CovarianceParam
from hushrank.estimators.trace.recipe import RECIPES, TraceRecipe
from hushrank.estimators.trace.resources import USUAL_THREADS, MeasurementWork, cluster_work, fit_resources
from hushrank.estimators.user_budget import USER_PARAMS, SharedBudget, plan_shared_budget
from hushrank.exceptions import InvalidParameter
from hushrank.parameters import PairParam
from hushrank.privacy.guarantee import Budget, Unit

PRIVACY = {"record": Unit.RECORD, "label": Unit.LABEL}
"""What is hidden: a record with measurement and answer, or an answer alone."""

_ROOM = 2  # powers of ten of signal over noise that the usual number of steps is enough for


@dataclass(frozen=True, slots=True)
class TraceBudget(SharedBudget):
    """The whole budget of a fit, and whether measurements are public: decided once, before anything is charged."""

    has_public_measurements: bool = False


class TracePlanner(PrivateRelease):
    """Parameters and plan of `PrivateTraceRegression`."""

    _is_adaptive: ClassVar[bool] = True
    _sizes: ClassVar[Mapping[str, Param]] = {
        "n_samples": Param(int, minimum=1, option="records", help="Number of records, or a public guess of it."),
        "n_rows": Param(int, minimum=1, option=None),
        "n_columns": Param(int, minimum=1, option=None),
    }
    _schema: ClassVar[Mapping[str, str]] = {COLUMNS: "n_features", "n_rows_": "n_rows", "n_columns_": "n_columns"}
    _params: ClassVar[Mapping[str, Param]] = {
        "rank": Param(int, minimum=1, help="Rank of the matrix, at most its rows and its columns."),
        "design": Param(
            words=DESIGNS,
            default="dense",
            help="What is measured: a matrix of numbers, two vectors x and z (x^T M z), or one entry.",
        ),
        "shape": PairParam(
            int,
            minimum=1,
            optional=True,
            default=None,
            metavars=("ROWS", "COLUMNS"),
            help="Public size of the matrix. Default: that of the measurements, where these have one.",
        ),
        "privacy": Param(
            words=tuple(PRIVACY),
            default="record",
            help="What is hidden: a whole record, or its answer alone (measurements are then public).",
        ),
        "design_covariance": CovarianceParam(
            words=("private", "identity"),
            default="private",
            help="How measurements vary: learned for 5 percent of the budget, or all alike and independent.",
        ),
        "intercept": Param(
            float,
            above=-1e60,
            below=1e60,
            words=("private",),
            default="private",
            help="Subtracted from answers: learned, or a public number.",
        ),
        "x_scale": Param(
            float, above=1e-60, below=1e60, default=1.0, help="Public order of magnitude of the measurements."
        ),
        "y_scale": Param(float, above=1e-60, below=1e60, default=1.0, help="Public order of magnitude of the answers."),
        "signal_to_noise": Param(
            float,
            above=1e-9,
            below=1e9,
            default=2.0,
            help="Guess of the smallest singular value over the deviation of an answer, for forecasts.",
        ),
        "n_max": USER_PARAMS["n_max"],
        "delta": Param(float, minimum=0, below=1, help="Above 0, and far below 1 / number of records."),
    }

    rank: int
    delta: float
    design: str
    shape: Any
    privacy: str
    design_covariance: Any
    intercept: float | str
    x_scale: float
    y_scale: float
    signal_to_noise: float
    n_max: int

    @property
    def _unit(self) -> Unit:  # type: ignore[override]  # the base has one for all objects of a class
        return PRIVACY[self.privacy]

    def _known_sizes(self) -> dict[str, int]:
        return {} if self.shape is None else dict(zip(("n_rows", "n_columns"), map(int, self.shape), strict=True))

    def _check_parameters(self) -> Budget:
        budget, owner = super()._check_parameters(), type(self).__name__
        if budget.is_pure:
            raise InvalidParameter(owner, "delta", "> 0, because sums over records have Gaussian noise", self.delta)
        if self.shape is None and self.design == "entry":
            requirement = "(rows, columns) for design 'entry': which entries exist is not read off the data"
            raise InvalidParameter(owner, "shape", requirement, None)
        if self.shape is not None and math.prod(map(int, self.shape)) > MOST_ENTRIES:
            raise InvalidParameter(owner, "shape", f"of a matrix of at most {MOST_ENTRIES} entries", self.shape)
        return budget

    def _check_sizes(self, shape: Any, sizes: Mapping[str, Any]) -> dict[str, int]:
        if shape is None and self.shape is None and not {"n_rows", "n_columns"} <= set(sizes):
            requirement = "(rows, columns) for a plan, or n_rows and n_columns given to it"
            raise InvalidParameter(type(self).__name__, "shape", requirement, None)
        return super()._check_sizes(shape, sizes)

    def _plan(self, budget: Budget, sizes: Sizes) -> TraceBudget:
        owner, largest = type(self).__name__, min(sizes["n_rows"], sizes["n_columns"])
        if self.rank > largest:
            raise InvalidParameter(owner, "rank", f"at most {largest}, as rows and columns", self.rank)
        whole = plan_shared_budget(budget, owner)
        return TraceBudget(whole.event, whole.neighbors, "records", budget.unit is Unit.LABEL)

    @property
    def _recipe(self) -> TraceRecipe:
        """That of the design, with more and smaller steps where the stated signal is far above the noise."""
        recipe = RECIPES[self.design]
        steps = recipe.most_steps + max(0, math.ceil(math.log10(self.signal_to_noise)) - _ROOM)
        return replace(recipe, most_steps=steps, first_share=recipe.first_share * recipe.most_steps / steps)

    def _forecast(self, releases: SharedBudget, sizes: Sizes, **guesses: float) -> dict[str, float]:
        setting, recipe = self._setting(releases, sizes), self._recipe
        sample, noise = sample_error(setting, recipe), privacy_error(setting, recipe)
        return {
            f"relative error, at signal over noise {self.signal_to_noise:g}": math.hypot(
                sample, noise, start_error(setting, recipe)
            ),
            "  of which without privacy": sample,
            "noise of the start over the signal": start_ratio(setting, recipe),
        }

    def _notes(self, releases: SharedBudget, sizes: Sizes) -> Iterator[str]:
        ratio = start_ratio(self._setting(releases, sizes), self._recipe)
        if ratio > START_HOPELESS:
            yield (
                f"too few records for this budget: the noise of the start is {ratio:.2g} times the signal (hopeless "
                f"above {START_HOPELESS:g}); expect the intercept alone"
            )
        elif ratio > START_DEGRADED:
            yield f"few records for this budget: the noise of the start is {ratio:.2g} times the signal; expect a loss"
        if self.privacy == "label":
            yield "answers alone are hidden: who is in the data, and what was measured, is taken for public"

    def _resources(self, releases: SharedBudget, sizes: Sizes) -> dict[str, float]:
        return fit_resources(self._work(sizes), sizes.get("n_threads", USUAL_THREADS))

    def _cluster_work(self, releases: SharedBudget, sizes: Sizes, **guesses: float) -> ClusterWork:
        return cluster_work(self._work(sizes), self._recipe.most_steps)

    def _work(self, sizes: Sizes) -> MeasurementWork:
        shape = (sizes["n_rows"], sizes["n_columns"])
        return MeasurementWork(sizes["n_samples"], *shape, int(self.rank), self.design)

    def _setting(self, releases: SharedBudget, sizes: Sizes) -> Setting:
        mu, shape = 1.0 / releases.event.noise_multiplier, (sizes["n_rows"], sizes["n_columns"])
        return Setting(sizes["n_samples"], shape, int(self.rank), mu, releases.neighbors, self.signal_to_noise)
