"""Parameters of `PrivateRepresentation` and its plan: a cap of which shares are spent, or rounds of pure choices.

The estimator and the command line both use this; nothing here needs numba or scikit-learn.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from hushrank.base import Param, PrivateRelease, Releases, Sizes
from hushrank.bounds.representation import START_DEGRADED, START_HOPELESS, start_noise_ratio
from hushrank.estimators.cluster_times import ClusterWork
from hushrank.estimators.personalization.exponential_options import ExponentialSelection, round_events
from hushrank.estimators.personalization.options import METHODS, PersonalizationMethodParam, to_options
from hushrank.estimators.personalization.resources import RecordWork, cluster_work, fit_resources
from hushrank.estimators.user_budget import USER_PARAMS, SharedBudget, check_user_count, plan_shared_budget
from hushrank.exceptions import InvalidParameter
from hushrank.privacy.events import Pure
from hushrank.privacy.guarantee import Budget, Neighbors, Unit
from hushrank.privacy.guesses import Guess
from hushrank.privacy.planning import Step

LOSSES = ("squared", "logistic")
_RECORDS = "records_per_user"


@dataclass(frozen=True, slots=True)
class Rounds:
    """Rounds of choices among public candidates, each with its share of epsilon."""

    events: tuple[Pure, ...]
    neighbors: Neighbors
    options: ExponentialSelection

    def steps(self) -> tuple[Step, ...]:
        """One step a round."""
        factor = 2.0 if self.neighbors is Neighbors.REPLACE else 1.0
        return tuple(
            Step(
                f"choice among {self.options.candidates} subspaces, round {i + 1}",
                "exponential mechanism, exact over a finite set",
                event,
                {"users of full score that make odds of e": factor / event.epsilon},
            )
            for i, event in enumerate(self.events)
        )


class RepresentationPlanner(PrivateRelease):
    """Parameters and plan of `PrivateRepresentation`."""

    _unit: ClassVar[Unit] = Unit.USER
    _sizes: ClassVar[Mapping[str, Param]] = {
        "n_users": Param(int, minimum=1, option="users", help="Number of users, or a public guess of it."),
        "n_features": Param(int, minimum=1, option="columns", help="Number of features of a record."),
    }
    _guesses: ClassVar[Mapping[str, Guess]] = {
        _RECORDS: Guess(10.0, 10.0, 10.0, "number of records of a typical user", minimum=1.0)
    }
    _params: ClassVar[Mapping[str, Param]] = {
        "n_components": Param(
            int, minimum=1, option="components", help="Directions of the shared representation, at most the features."
        ),
        "method": PersonalizationMethodParam(
            words=tuple(METHODS), default="gradient", help="gradient is the most accurate; exponential is pure."
        ),
        "loss": Param(words=LOSSES, default="squared", help="logistic: answers above 0 are labels 1, others 0."),
        "x_scale": Param(
            float, above=1e-60, below=1e60, default=1.0, help="Public order of magnitude of the features."
        ),
        "y_scale": Param(float, above=1e-60, below=1e60, default=1.0, help="Public order of magnitude of the answers."),
        **USER_PARAMS,
        "delta": Param(float, minimum=0, below=1, help="Far below 1 / number of users; 0 for exponential only."),
    }

    n_components: int
    epsilon: float
    delta: float
    method: Any
    loss: str
    x_scale: float
    y_scale: float
    n_users: int | None
    n_max: int

    @property
    def _is_adaptive(self) -> bool:  # type: ignore[override]  # it depends on the method
        return not to_options(self.method).is_pure

    @property
    def _is_logistic(self) -> bool:
        return self.loss == "logistic"

    def _known_sizes(self) -> dict[str, int]:
        return {} if self.n_users is None else {"n_users": int(self.n_users)}

    def _check_parameters(self) -> Budget:
        budget, owner = super()._check_parameters(), type(self).__name__
        options = to_options(self.method)
        if budget.is_pure != options.is_pure:
            requirement = (
                "0 for method 'exponential', which is pure"
                if options.is_pure
                else "> 0, because sums over users have Gaussian noise (method 'exponential' works with 0)"
            )
            raise InvalidParameter(owner, "delta", requirement, self.delta)
        if self.loss not in options.losses:
            raise InvalidParameter(owner, "loss", f"{options.losses[0]!r} for this method", self.loss)
        check_user_count(self.n_users, budget.neighbors, owner)
        return budget

    def _plan(self, budget: Budget, sizes: Sizes) -> Releases:
        owner, d = type(self).__name__, sizes["n_features"]
        if self.n_components > d:
            requirement = f"at most the number of features, {d}"
            raise InvalidParameter(owner, "n_components", requirement, self.n_components)
        options = to_options(self.method)
        if isinstance(options, ExponentialSelection):
            return Rounds(round_events(budget, options), budget.neighbors, options)
        return plan_shared_budget(budget, owner)

    def _forecast(self, releases: Any, sizes: Sizes, **guesses: float) -> dict[str, float]:
        if isinstance(releases, Rounds):
            # Directions within this angle differ by less than the temperature of the last round.
            users = 2.0 * releases.options.range_bound / (releases.events[-1].epsilon * sizes["n_users"])
            return {"squared sine that noise alone may choose": users * sizes["n_features"] * self.n_components}
        return {"noise of the start over its signal": self._start_noise(releases, sizes, **guesses)}

    def _notes(self, releases: Any, sizes: Sizes) -> Iterator[str]:
        if isinstance(releases, Rounds):
            return
        ratio = self._start_noise(releases, sizes)
        if ratio > START_HOPELESS:
            yield (
                f"too few users for this budget: the noise of the start is {ratio:.2g} of its signal (hopeless above "
                f"{START_HOPELESS:g}); expect nothing beyond what users learn from their own records"
            )
        elif ratio > START_DEGRADED:
            yield f"few users for this budget: the noise of the start is {ratio:.2g} of its signal; expect a loss"

    def _resources(self, releases: Any, sizes: Sizes) -> dict[str, float]:
        n_records = sizes.get("n_records")
        return {} if n_records is None else fit_resources(self._work(sizes, n_records))  # in plans it is not public

    def _cluster_work(self, releases: Any, sizes: Sizes, **guesses: float) -> ClusterWork | None:
        """With as many records as users are guessed to have."""
        each = guesses.get(_RECORDS, self._guesses[_RECORDS].default)
        return cluster_work(self._work(sizes, math.ceil(each * sizes["n_users"])))

    def _work(self, sizes: Sizes, n_records: int) -> RecordWork:
        counts = (sizes["n_users"], sizes["n_features"], n_records, int(self.n_components))
        return RecordWork(*counts, to_options(self.method), self._is_logistic)

    def _default_guesses(self, sizes: Sizes) -> dict[str, float]:
        return super()._default_guesses(sizes) if self._is_adaptive else {}

    def _start_noise(self, releases: SharedBudget, sizes: Sizes, **guesses: float) -> float:
        mu, records = 1.0 / releases.event.noise_multiplier, (self._default_guesses(sizes) | guesses)[_RECORDS]
        return start_noise_ratio(sizes["n_users"], sizes["n_features"], self.n_components, records, mu)
