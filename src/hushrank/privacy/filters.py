"""Budgets of releases that are chosen one after another, each share from released values.

Filters    GdpFilter hands out shares of one mu^2, PureFilter shares of one epsilon.
Privacy    docs/privacy/accounting.md, section 8: all that was handed out is as private as one release of the whole.
"""

import math
import sys
import threading
from abc import ABC, abstractmethod
from fractions import Fraction
from numbers import Rational
from typing import Generic, Self, TypeVar

from hushrank.exceptions import BudgetExceeded, InvalidParameter
from hushrank.parameters import check_real
from hushrank.privacy.accountant import squared_mu, summed_epsilon
from hushrank.privacy.events import Event, Gaussian, Pure, leaves
from hushrank.privacy.ownership import SingleOwner
from hushrank.privacy.rational import float_at_least, float_at_most, sqrt_at_least

ShareT = TypeVar("ShareT", Gaussian, Pure)

_LARGEST = Fraction(sys.float_info.max)


class BudgetFilter(SingleOwner, ABC, Generic[ShareT]):
    """What both filters share: one exact sum of costs that never exceeds a total fixed beforehand.

    The size of every share, and whether there is a next one, may depend on released values and on public ones, never on
    the data otherwise. Sums are exact rational numbers, and events are rounded to the private side of what is booked.

    A filter is one for all threads of the process that made it: it cannot be copied or pickled, and refuses to work in
    a forked child. A subclass names what it counts in `_currency`.
    """

    _owned, _danger = "budget filter", "what is left would be spent twice"
    _currency: str

    @staticmethod
    @abstractmethod
    def _cost_of(event: Event, owner: str) -> Fraction:
        """Exact cost of an event, or InvalidParameter if it has none here."""

    @staticmethod
    @abstractmethod
    def _event_of(cost: Fraction) -> ShareT:
        """The release that costs at most this, or BudgetExceeded if that is nothing."""

    @classmethod
    def from_event(cls, event: Event) -> Self:
        """Filter whose whole is exactly what a planned event costs."""
        made = cls.__new__(cls)
        made._start(cls._cost_of(event, f"{cls.__name__}.from_event"))
        return made

    def _start(self, total: Fraction) -> None:
        self._take_ownership()
        self._lock = threading.Lock()
        self._total, self._spent = total, Fraction(0)

    @property
    def total(self) -> Fraction:
        """The whole."""
        return self._total

    @property
    def spent(self) -> Fraction:
        """What was handed out so far."""
        self._check_owner()
        return self._spent

    @property
    def left(self) -> Fraction:
        """What can still be handed out, unless another thread is faster."""
        return self._total - self.spent

    def share(self, fraction: Fraction | float) -> ShareT:
        """A release that costs at most `fraction` of the whole, or BudgetExceeded.

        A float is read as the simplest fraction that rounds to it, so that ten shares of 0.1 make a whole.
        """
        cost = _read_fraction(fraction, f"{type(self).__name__}.share") * self._total
        event = self._event_of(cost)  # made first: if this fails nothing is booked
        self._book(cost)
        return event

    def rest(self) -> ShareT:
        """One release that costs all that is left, or BudgetExceeded if nothing is."""
        self._check_owner()
        with self._lock:  # no other thread spends between what is read and what is booked
            event = self._event_of(self._total - self._spent)
            self._spent = self._total
        return event

    def spend(self, event: Event) -> None:
        """Book an event that somebody else made, or raise BudgetExceeded."""
        self._book(self._cost_of(event, f"{type(self).__name__}.spend"))

    def _book(self, cost: Fraction) -> None:
        self._check_owner()  # before the lock
        with self._lock:
            left = self._total - self._spent
            if cost > left:
                asked = float_at_least(cost) if cost <= _LARGEST else math.inf
                raise BudgetExceeded(asked, float_at_most(min(left, _LARGEST)), self._currency)
            self._spent += cost


class GdpFilter(BudgetFilter[Gaussian]):
    """Hands out shares of one mu^2 to releases that are chosen one after another.

    All that was handed out is mu-GDP: with mu^2 = sum mu_k^2 fixed in advance, what a release leaves over is known
    before it is drawn, so by induction from the last release to the first the whole is dominated by one Gaussian
    release of parameter mu (docs/privacy/accounting.md, Theorem 7; the GDP filter of Smith and Thakurta 2022). An event
    to book may hold Gaussian and Pure releases, the latter at mu_of_pure.

    Parameters
    ----------
    mu : float > 0

    Examples
    --------
    >>> budget = GdpFilter(mu=0.5)
    >>> budget.share(Fraction(1, 4))
    Gaussian(noise_multiplier=4.0)
    >>> budget.spend(Gaussian(4.0))
    >>> budget.rest(), budget.left
    (Gaussian(noise_multiplier=2.8284271247461903), Fraction(0, 1))
    """

    _currency = "mu^2"

    def __init__(self, mu: float) -> None:
        self._start(Fraction(check_real(mu, "mu", "GdpFilter", above=0)) ** 2)

    @staticmethod
    def _cost_of(event: Event, owner: str) -> Fraction:
        return squared_mu(event, owner)

    @staticmethod
    def _event_of(cost: Fraction) -> Gaussian:
        if not cost:
            raise BudgetExceeded(math.ulp(0.0), 0.0, GdpFilter._currency)
        return Gaussian(sqrt_at_least(1 / cost))


class PureFilter(BudgetFilter[Pure]):
    """Hands out shares of one epsilon to pure releases that are chosen one after another.

    All that was handed out is epsilon-private with delta = 0, as one Pure(epsilon) and no better: several pure releases
    have a smaller curve than that only where they are fixed beforehand (docs/privacy/accounting.md, Theorem 8). An
    event to book holds Pure releases only, of bounded range or not.

    Parameters
    ----------
    epsilon : float > 0

    Examples
    --------
    >>> budget = PureFilter(epsilon=2.0)
    >>> budget.share(0.25)
    Pure(epsilon=0.5, bounded_range=False)
    >>> budget.spend(Pure(0.25, bounded_range=True))
    >>> budget.rest(), budget.left
    (Pure(epsilon=1.25, bounded_range=False), Fraction(0, 1))
    """

    _currency = "epsilon"

    def __init__(self, epsilon: float) -> None:
        self._start(Fraction(check_real(epsilon, "epsilon", "PureFilter", above=0)))

    @staticmethod
    def _cost_of(event: Event, owner: str) -> Fraction:
        total = summed_epsilon(leaves(event, owner))
        if total is None:
            raise InvalidParameter(owner, "event", "made of Pure releases", event)
        return total

    @staticmethod
    def _event_of(cost: Fraction) -> Pure:
        epsilon = float_at_most(min(cost, _LARGEST))
        if not epsilon:  # nothing, or less than the smallest float
            raise BudgetExceeded(math.ulp(0.0), 0.0, PureFilter._currency)
        return Pure(epsilon)


def filter_for(event: Gaussian | Pure) -> GdpFilter | PureFilter:
    """The filter over the budget of one planned release: Gaussian, or pure and not of bounded range.

    Shares need not have a bounded range, so a plan that claims one cannot be kept.
    """
    if isinstance(event, Gaussian):
        return GdpFilter.from_event(event)
    if isinstance(event, Pure) and not event.bounded_range:
        return PureFilter.from_event(event)
    raise InvalidParameter("filter_for", "event", "Gaussian(noise_multiplier) or Pure(epsilon)", event)


def _read_fraction(value: Fraction | float, owner: str) -> Fraction:
    if isinstance(value, Rational) and not isinstance(value, bool):
        exact = Fraction(value)
    else:
        number = check_real(value, "fraction", owner, above=0)
        simple = Fraction(number).limit_denominator(10**6)
        exact = simple if float(simple) == number else Fraction(number)
    if not 0 < exact <= 1:
        raise InvalidParameter(owner, "fraction", "in (0, 1]", value)
    return exact
