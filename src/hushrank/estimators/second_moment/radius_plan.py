"""The plan of a fit with a private radius: one event as the cap of all releases, of which a filter hands out shares."""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from hushrank.estimators.second_moment.recipe import RADIUS_RECIPE
from hushrank.estimators.second_moment.spending import N_GRID
from hushrank.exceptions import InvalidParameter
from hushrank.privacy.calibration import event_for
from hushrank.privacy.events import Gaussian, Pure
from hushrank.privacy.filters import filter_for
from hushrank.privacy.guarantee import Budget, Neighbors
from hushrank.privacy.mechanisms.counts import counts_scale
from hushrank.privacy.mechanisms.fields import Field
from hushrank.privacy.mechanisms.first_above import first_above_scale
from hushrank.privacy.mechanisms.gram import gram_lattice
from hushrank.privacy.mechanisms.length import LARGEST_LENGTH_BOUND, LENGTH_BITS, length_scale
from hushrank.privacy.mechanisms.quantile import quantile_event, rank_scale
from hushrank.privacy.mechanisms.vector import vector_lattice
from hushrank.privacy.planning import Step

# Bounds on a row, and half widths of columns, for which every radius that a search may find is within the arithmetic:
# it may be 2^-16 of the bound, or, after a center and scales of columns, 2e4 of it.
SMALLEST_NORM, LARGEST_NORM = 1e-94, 1e94

_LOWEST, _HIGHEST = 2.0**-16, 2e4
_SMALLEST_SHARE = RADIUS_RECIPE.least_length


@dataclass(frozen=True, slots=True)
class RadiusBudget:
    """The whole budget of a fit as one release.

    Attributes
    ----------
    event : Gaussian or Pure
    neighbors : Neighbors
    n_features : int
    numerics : str
        "idealized" where the last release is a draw.
    """

    event: Gaussian | Pure
    neighbors: Neighbors
    n_features: int
    numerics: str = "exact"

    def steps(self) -> tuple[Step, ...]:
        """One step: what its shares are follows from the number of rows, which may have to be released first."""
        if isinstance(self.event, Pure):
            mechanism, scales = "pure releases, shares of epsilon", {"epsilon of the whole": self.event.epsilon}
        else:
            mechanism = "Gaussian noise, shares of mu^2"
            scales = {"noise multiplier of the whole": self.event.noise_multiplier}
        return (Step("radius and second moment, one after another", mechanism, self.event, scales, self.numerics),)


def plan_radius_budget(
    budget: Budget, n_features: int, *, field: Field, n_max: int, is_drawn: bool, owner: str
) -> RadiusBudget:
    """The cap that meets a budget, or InvalidParameter where it cannot be shared: nothing may fail after the charge."""
    event = event_for(budget)
    for share in (_SMALLEST_SHARE, Fraction(1)):
        try:
            _check_share(event, share, budget.neighbors, field, n_max)
        except InvalidParameter as error:
            requirement = f"such that a share of {float(share):g} of it is within the arithmetic: {error.requirement}"
            raise InvalidParameter(owner, "epsilon", requirement, budget.epsilon) from error
    return RadiusBudget(event, budget.neighbors, n_features, "idealized" if is_drawn else "exact")


@lru_cache(maxsize=256)
def _check_share(event: Gaussian | Pure, share: Fraction, neighbors: Neighbors, field: Field, n_max: int) -> None:
    """Plan every kind of release with this share; reads nothing private. Kept: plan, fit and file ask for the same."""
    part = filter_for(event).share(share)
    counts_scale(1, part, neighbors)
    if isinstance(part, Gaussian):
        rank_scale(RADIUS_RECIPE.middle, quantile_event(part, N_GRID), neighbors)
    else:
        first_above_scale(part)
    length_scale(LARGEST_LENGTH_BOUND, part, neighbors)
    if isinstance(part, Gaussian):
        vector_lattice(1.0, part, neighbors, n_max=n_max, bits=LENGTH_BITS)
    for norm in (SMALLEST_NORM * _LOWEST, LARGEST_NORM * _HIGHEST):
        gram_lattice(norm, part, neighbors, field=field, n_max=n_max)
        for bound in (norm, norm**2):  # of rows, and of their squares
            vector_lattice(bound, part, neighbors, n_max=n_max)
