"""What a release will do and promise, from public numbers alone: event, noise scales and guarantee.

Nothing here reads data. The same lattice functions plan and execute a release, so a plan cannot differ from the deed.
"""

from dataclasses import dataclass
from typing import Any

from hushrank.privacy import accountant
from hushrank.privacy.calibration import event_for
from hushrank.privacy.events import Event, Gaussian, to_dict
from hushrank.privacy.guarantee import Budget, Guarantee
from hushrank.privacy.mechanisms.counts import counts_scale
from hushrank.privacy.mechanisms.gram import gram_lattice
from hushrank.privacy.mechanisms.quantile import quantile_event, rank_scale
from hushrank.privacy.mechanisms.scales import DEFAULT_N_MAX
from hushrank.privacy.mechanisms.symmetric import SymmetricLattice
from hushrank.privacy.mechanisms.vector import GaussianLattice, vector_lattice
from hushrank.privacy.parameters import check_integer


@dataclass(frozen=True, slots=True)
class ReleasePlan:
    """One planned release.

    Attributes
    ----------
    mechanism : str
        In words.
    event : Event
        What will be executed and logged.
    guarantee : Guarantee
        What the event gives at the budget's delta.
    scales : dict of str to float
        Noise scales in the units of the data.
    """

    mechanism: str
    event: Event
    guarantee: Guarantee
    scales: dict[str, float]

    def to_dict(self) -> dict[str, Any]:
        """JSON-safe description."""
        return {
            "mechanism": self.mechanism,
            "event": to_dict(self.event),
            "guarantee": self.guarantee.to_dict(),
            "scales": dict(self.scales),
        }


def plan_vector(
    budget: Budget, norm_bound: float, *, nonnegative: bool = False, n_max: int = DEFAULT_N_MAX
) -> ReleasePlan:
    """Plan the release of a sum of vectors with L2 norm (delta > 0) or L1 norm (delta = 0) at most `norm_bound`."""
    lattice = vector_lattice(norm_bound, event_for(budget), budget.neighbors, nonnegative=nonnegative, n_max=n_max)
    if isinstance(lattice, GaussianLattice):
        scales = {"standard deviation of an entry": lattice.scale}
        return _plan("Gaussian noise, L2 bound", lattice.event, budget, scales)
    return _plan("Laplace noise, L1 bound", lattice.event, budget, {"Laplace scale of an entry": lattice.scale})


def plan_gram(budget: Budget, row_norm: float, n_features: int, *, n_max: int = DEFAULT_N_MAX) -> ReleasePlan:
    """Plan the release of sum x x^T over rows of `n_features` entries with L2 norm at most `row_norm`."""
    d = check_integer(n_features, "n_features", "plan_gram", minimum=1)
    lattice = gram_lattice(row_norm, event_for(budget), budget.neighbors, n_max=n_max)
    if isinstance(lattice, SymmetricLattice):
        off_diagonal, mechanism, extra = lattice.scale, "symmetric Gaussian noise (GOE-shaped)", {}
    else:
        off_diagonal, mechanism = lattice.entry_deviation(d), "two-sided Wishart noise"
        extra = {"Wishart scale C": lattice.scale}
    scales = {
        "standard deviation off the diagonal": off_diagonal,
        "standard deviation on the diagonal": 2**0.5 * off_diagonal,
        **extra,
    }
    return _plan(mechanism, lattice.event, budget, scales)


def plan_counts(budget: Budget, n_cells: int, *, max_cells: int = 1) -> ReleasePlan:
    """Plan the release of `n_cells` counts of which one person adds to at most `max_cells`."""
    event = event_for(budget)
    scale = counts_scale(n_cells, event, budget.neighbors, max_cells=max_cells)
    if isinstance(event, Gaussian):
        return _plan("Gaussian noise, rounded to integers", event, budget, {"standard deviation of a count": scale})
    return _plan("Laplace noise, rounded to integers", event, budget, {"Laplace scale of a count": scale})


def plan_quantile(budget: Budget, probability: float, n_grid: int) -> ReleasePlan:
    """Plan the release of a quantile on a public grid of `n_grid` points."""
    event = quantile_event(event_for(budget), n_grid)
    scale = rank_scale(probability, event, budget.neighbors)
    kind = "standard deviation" if isinstance(event.event, Gaussian) else "Laplace scale"
    return _plan(
        f"noisy binary search, {event.count} steps", event, budget, {f"{kind} of a rank, each step (people)": scale}
    )


def _plan(mechanism: str, event: Event, budget: Budget, scales: dict[str, float]) -> ReleasePlan:
    return ReleasePlan(mechanism, event, accountant.guarantee(event, budget, numerics="exact"), scales)
