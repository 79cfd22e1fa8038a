"""From a budget to the least noise that meets it, always on the private side.

Release    none; the result is the event to execute.
Privacy    docs/privacy/accounting.md, section 9: the target is met with room for every rounding error, and
           the accountant confirms the event that is returned.
"""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar, overload

from hushrank.exceptions import InvalidParameter
from hushrank.privacy import accountant, gdp
from hushrank.privacy.events import Event, Gaussian, Pure, leaves
from hushrank.privacy.guarantee import Budget

EventT = TypeVar("EventT", bound=Event)

_MOST_NOISE = 2.0**100


@overload
def calibrate(budget: Budget) -> Gaussian: ...
@overload
def calibrate(budget: Budget, make_event: Callable[[float], EventT]) -> EventT: ...
def calibrate(budget: Budget, make_event: Callable[[float], Event] = Gaussian) -> Event:
    """The event make_event(x) for the smallest noise parameter x that meets `budget`.

    Parameters
    ----------
    budget : Budget
    make_event : callable
        Turns a noise parameter x > 0 into an event that costs less the larger x is. The default makes x the
        noise multiplier of one Gaussian release.

    Returns
    -------
    Event
        x is smallest to nine digits or more; `accountant.delta` and `accountant.epsilon` of the event are at
        most what the budget allows.

    Examples
    --------
    >>> from hushrank.privacy.events import Repeated
    >>> calibrate(Budget(1.0, 1e-6))
    Gaussian(noise_multiplier=4.2246...)
    >>> calibrate(Budget(1.0, 1e-6), lambda x: Repeated(Gaussian(x), 4))
    Repeated(event=Gaussian(noise_multiplier=8.449...), count=4)
    """
    if budget.is_pure and not all(isinstance(leaf, Pure) for leaf in leaves(make_event(1.0), "calibrate")):
        requirement = "> 0, because only pure releases meet delta = 0"
        raise InvalidParameter("calibrate", "delta", requirement, budget.delta)
    if make_event is Gaussian:
        return _gaussian_for(budget)
    return _confirmed(budget, make_event, _smallest_noise(budget, make_event))


def event_for(budget: Budget) -> Gaussian | Pure:
    """One release that spends the whole budget: Gaussian if delta > 0, else Pure(epsilon)."""
    return Pure(budget.epsilon) if budget.is_pure else calibrate(budget)


@lru_cache(maxsize=256)
def _gaussian_for(budget: Budget) -> Event:
    """One Gaussian release; kept, because plan, fit and file ask for the same one, and finding it takes a while."""
    return _confirmed(budget, Gaussian, math.nextafter(1.0 / gdp.mu_of_budget(budget.epsilon, budget.delta), math.inf))


def _confirmed(budget: Budget, make_event: Callable[[float], Event], noise: float) -> Event:
    """The event of the first noise from `noise` on that the accountant confirms."""
    step = 2.0**-50
    while not _is_met(budget, make_event(noise)):
        noise, step = noise * (1.0 + step), 2.0 * step
    return make_event(noise)


def _smallest_noise(budget: Budget, make_event: Callable[[float], Event]) -> float:
    """Noise parameter next to the change from failing to meeting the budget."""

    def excess(noise: float) -> float:
        event = make_event(noise)
        if budget.is_pure:
            return accountant.epsilon(event) / budget.epsilon - 1.0
        value = accountant.delta(event, budget.epsilon)
        return math.log(value) - gdp.log_target(budget.delta, margins=2) if value > 0.0 else -math.inf

    failing = passing = 1.0
    while excess(passing) > 0.0:
        if passing > _MOST_NOISE:
            requirement = "so large that some amount of noise meets the budget"
            raise InvalidParameter("calibrate", "epsilon", requirement, budget.epsilon)
        failing, passing = passing, 4.0 * passing
    while excess(failing) <= 0.0:
        if failing < 1.0 / _MOST_NOISE:
            return passing
        failing, passing = failing / 4.0, failing
    return gdp.crossing(excess, failing, passing)


def _is_met(budget: Budget, event: Event) -> bool:
    """Whether the accountant confirms the budget, both ways of asking."""
    if accountant.epsilon(event, budget.delta) > budget.epsilon:
        return False
    return accountant.delta(event, budget.epsilon) <= budget.delta
