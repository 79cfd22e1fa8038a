"""What the plans of estimators about users share: one release as the cap of all, and parameters about their number.

Nothing here needs numba or scikit-learn.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from hushrank.exceptions import InvalidParameter
from hushrank.parameters import DEFAULT_N_MAX, Param
from hushrank.privacy.calibration import calibrate
from hushrank.privacy.events import Gaussian
from hushrank.privacy.guarantee import Budget, Neighbors
from hushrank.privacy.planning import Step

_MOST_NOISE = 1e6  # with more, small shares of the budget leave no lattice unit to a user

USER_PARAMS: Mapping[str, Param] = {
    "n_users": Param(
        int,
        minimum=1,
        maximum=1 << 40,
        optional=True,
        default=None,
        option="users",
        help="Public number of users. Default: as many as there are, public under replace.",
    ),
    "n_max": Param(
        int,
        minimum=1,
        maximum=1 << 40,
        default=DEFAULT_N_MAX,
        help="Public bound on the number of people; sets the fineness of the lattice.",
    ),
}


@dataclass(frozen=True, slots=True)
class SharedBudget:
    """The whole budget of a fit as one release, of which a filter hands out shares."""

    event: Gaussian
    neighbors: Neighbors
    people: str = "users"

    def steps(self) -> tuple[Step, ...]:
        """One step: what its shares are spent on depends on released values."""
        scales = {"noise multiplier of the whole": self.event.noise_multiplier}
        name = f"sums over {self.people}, one after another"
        return (Step(name, "Gaussian noise, adaptive shares", self.event, scales),)


def plan_shared_budget(budget: Budget, owner: str) -> SharedBudget:
    """The cap that meets a budget, or InvalidParameter where it is too small to be shared."""
    event = calibrate(budget)
    if event.noise_multiplier > _MOST_NOISE:
        requirement = f"so large that the noise multiplier is at most {_MOST_NOISE:g}"
        raise InvalidParameter(owner, "epsilon", requirement, budget.epsilon)
    return SharedBudget(event, budget.neighbors)


def check_user_count(n_users: int | None, neighbors: Neighbors, owner: str) -> None:
    """Refuse a stated number of users where it is secret."""
    if n_users is not None and neighbors is Neighbors.ADD_REMOVE:
        requirement = "None under add_remove, where the number of users is secret and a noisy one is released"
        raise InvalidParameter(owner, "n_users", requirement, n_users)
