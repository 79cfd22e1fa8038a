"""From events to (epsilon, delta): exact for Gaussian releases, the smallest valid answer for mixtures.

Bounds     1 the Gaussian curve at mu^2 = sum of count/noise_multiplier^2, mixed over the losses of all other
           releases; 2 zCDP, where a bounded range makes it smaller; 3 the sum of epsilons of pure releases.
Privacy    docs/privacy/accounting.md, sections 3 to 7; filters.py has the sums of releases chosen one after another.
"""

import math
import sys
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from hushrank.exceptions import InvalidParameter
from hushrank.parameters import check_real
from hushrank.privacy import gdp, losses
from hushrank.privacy.events import Event, Gaussian, Leaf, Mixture, NonPrivate, Pure, leaves
from hushrank.privacy.guarantee import Budget, Guarantee
from hushrank.privacy.rational import float_at_least


def delta(event: Event, epsilon: float) -> float:
    """Smallest known delta for which `event` is (epsilon, delta)-private.

    Parameters
    ----------
    event : Event
        Its parameters are fixed beforehand; what each release computes may depend on earlier outputs.
    epsilon : float >= 0

    Examples
    --------
    >>> delta(Gaussian(noise_multiplier=5.0), epsilon=1.0)
    1.7546...e-08
    """
    cost = _cost(event, "accountant.delta")
    if epsilon == math.inf:
        return cost.infinity
    epsilon = check_real(epsilon, "epsilon", "accountant.delta", minimum=0)
    if epsilon >= cost.pure:
        return 0.0
    by_zcdp = math.exp(gdp.zcdp_log_delta(epsilon, cost.rho)) if math.isfinite(cost.rho) else 1.0
    if not cost.rest or math.isinf(cost.mu):
        return min(by_zcdp, float(gdp.gaussian_delta(epsilon, cost.mu)))
    return min(by_zcdp, _losses(cost.rest).delta(epsilon, cost.mu))


def epsilon(event: Event, delta: float = 0.0) -> float:
    """Smallest known epsilon for which `event` is (epsilon, delta)-private, rounded up.

    Parameters
    ----------
    event : Event
        As for `delta`.
    delta : float in [0, 1)
        At 0 the answer is the sum of the epsilons if all releases are pure, else infinite.

    Examples
    --------
    >>> from hushrank.privacy.events import Repeated
    >>> epsilon(Repeated(Gaussian(noise_multiplier=10.0), 4), delta=1e-6)
    0.83...
    >>> epsilon(Repeated(Pure(0.5), 4))
    2.0
    """
    delta = check_real(delta, "delta", "accountant.epsilon", minimum=0, below=1)
    cost = _cost(event, "accountant.epsilon")
    if delta == 0.0:
        return cost.pure
    by_zcdp = gdp.zcdp_epsilon(cost.rho, delta) if math.isfinite(cost.rho) else math.inf
    if not cost.rest or math.isinf(cost.mu):
        return min(cost.pure, by_zcdp, gdp.epsilon_of_mu(cost.mu, delta))
    return min(cost.pure, by_zcdp, _losses(cost.rest).epsilon(delta, cost.mu))


def mu(event: Event) -> float:
    """Parameter of one Gaussian release that dominates `event`; pure releases enter by mu_of_pure."""
    counts = leaves(event, "accountant.mu")
    return math.hypot(*(math.sqrt(count) * _leaf_mu(leaf) for leaf, count in counts.items()))


def guarantee(event: Event, budget: Budget, *, numerics: str, reproducible: bool = False) -> Guarantee:
    """What `event` gives under the relation and unit of `budget`; at delta = 0 if that is within epsilon."""
    given = (epsilon(event), 0.0)
    if not budget.is_pure and given[0] > budget.epsilon:
        given = (epsilon(event, budget.delta), budget.delta)
    return Guarantee(
        *given,
        budget.neighbors,
        budget.unit,
        event,
        numerics,
        reproducible,
        premise=budget.premise,
        bound=budget.bound,
    )


@dataclass(frozen=True, slots=True)
class _Cost:
    """What an event costs, by each way of counting; infinite where a way does not apply."""

    mu: float  # Gaussian releases together, and pure ones too many to tabulate
    rest: tuple[tuple[Leaf, int], ...]  # everything else, by loss distributions
    pure: float  # sum of epsilons
    rho: float  # zCDP

    @property
    def infinity(self) -> float:
        """Limit of delta for large epsilon."""
        if math.isinf(self.mu):
            return 1.0
        return _losses(self.rest).infinity if any(isinstance(leaf, Mixture) for leaf, _ in self.rest) else 0.0


def _cost(event: Event, owner: str) -> _Cost:
    counts = leaves(event, owner)
    mus: list[float] = []
    rest: list[tuple[Leaf, int]] = []
    for leaf, count in counts.items():
        if isinstance(leaf, Mixture) or (isinstance(leaf, Pure) and count <= losses.MAX_COUNT):
            rest.append((leaf, count))
        else:
            mus.append(math.sqrt(count) * _leaf_mu(leaf))
    return _Cost(math.hypot(*mus), tuple(rest), _pure_epsilon(counts), _rho(counts))


def _leaf_mu(leaf: Leaf) -> float:
    if isinstance(leaf, Gaussian):
        return 1.0 / leaf.noise_multiplier
    if isinstance(leaf, Pure):
        return gdp.mu_of_pure(leaf.epsilon)
    if isinstance(leaf, NonPrivate):
        return math.inf
    raise InvalidParameter("accountant.mu", "event", "made of Gaussian and Pure releases", leaf)


def summed_epsilon(counts: dict[Leaf, int]) -> Fraction | None:
    """Exact sum of the epsilons, if every release is pure."""
    total = Fraction(0)
    for leaf, count in counts.items():
        if not isinstance(leaf, Pure):
            return None
        total += count * Fraction(leaf.epsilon)
    return total


def _pure_epsilon(counts: dict[Leaf, int]) -> float:
    """Sum of the epsilons, rounded up, if every release is pure."""
    total = summed_epsilon(counts)
    return math.inf if total is None or total > Fraction(sys.float_info.max) else float_at_least(total)


def _rho(counts: dict[Leaf, int]) -> float:
    """zCDP cost where it is known; infinite also without pure releases: the curve alone is never larger."""
    total, has_pure = 0.0, False
    for leaf, count in counts.items():
        if isinstance(leaf, Gaussian):
            total += count / leaf.noise_multiplier / leaf.noise_multiplier / 2.0
        elif isinstance(leaf, Pure):
            total += count * leaf.epsilon * leaf.epsilon / (8.0 if leaf.bounded_range else 2.0)
            has_pure = True
        else:
            return math.inf
    return total * (1.0 + 1e-12) if has_pure and total > 0.0 else math.inf


@lru_cache(maxsize=64)
def _losses(rest: tuple[tuple[Leaf, int], ...]) -> losses.LossDistribution:
    """Loss distribution of all releases in `rest`, which holds Pure and Mixture only."""
    laws = []
    for leaf, count in rest:
        if isinstance(leaf, Pure):
            laws.append(losses.randomized_response(leaf.epsilon, count))
        elif isinstance(leaf, Mixture):
            laws.append(losses.power(losses.connect_the_dots(leaf.epsilons, leaf.deltas), count))
    return losses.compose(laws)


def squared_mu(event: Event, owner: str) -> Fraction:
    """Exact sum of mu^2 over the Gaussian and Pure releases of an event."""
    total = Fraction(0)
    for leaf, count in leaves(event, owner).items():
        if isinstance(leaf, Gaussian):
            total += count / Fraction(leaf.noise_multiplier) ** 2
        elif isinstance(leaf, Pure):
            total += count * Fraction(gdp.mu_of_pure(leaf.epsilon)) ** 2
        else:
            raise InvalidParameter(owner, "event", "made of Gaussian and Pure releases", leaf)
    return total
