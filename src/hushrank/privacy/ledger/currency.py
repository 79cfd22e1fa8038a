"""Caps and costs of one data set as exact rational numbers, in one of two currencies.

pure       epsilons add up; only Pure releases are accepted.
gdp        mu^2 adds up; Gaussian and Pure releases are accepted, the latter at mu_of_pure.
reserve    a gdp budget may set aside a part whose epsilons add up: it pays the Pure releases of an event if all of them
           fit, and nothing of it otherwise.
Privacy    docs/privacy/ledger.md, sections 1 (filters), 2 (decimal rounding), 3 (grains) and 8 (the reserved part).
"""

import json
import math
import re
import sys
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from hushrank.exceptions import BudgetExceeded, InvalidParameter, LedgerError
from hushrank.parameters import check_real
from hushrank.privacy import gdp
from hushrank.privacy.accountant import squared_mu
from hushrank.privacy.events import Event, Gaussian, Pure, leaves
from hushrank.privacy.guarantee import Budget
from hushrank.privacy.rational import float_at_least, float_at_most, sqrt_at_least
from hushrank.privacy.records import NEWER, to_fields

GRAIN = Fraction(1, 2**256)
"""Costs in mu^2 are rounded up to a multiple of this, so that running totals keep a bounded size."""

SMALLEST_MU = 2.0**-76
"""The square of a float64 from here on is a multiple of GRAIN: rounding up never passes an exact cap."""

DECIMAL_ROUNDING = 1 + Fraction(1, 2**52)
"""Sums of decimals that fit as decimals exceed the cap by less than this factor when all are read as float64."""

VERSION_TOLERANCE = Fraction(1, 10**11)
"""Relative difference of mu_of_pure and mu_of_budget, squared, between versions of SciPy and of libm."""

_NOTHING = Fraction(0)
_FRACTION, _LONGEST_FRACTION = re.compile("-?[0-9]+/[0-9]+"), 8192  # characters; digits of each part: see int


@dataclass(frozen=True, slots=True)
class Amount:
    """Part of a budget: `amount` counts mu^2 ("gdp") or epsilon ("pure"), worth (epsilon, delta).

    `pure` is the epsilon of the part that is reserved for pure releases, beside that.
    """

    epsilon: float
    delta: float
    currency: str
    amount: float
    pure: float = 0.0


@dataclass(frozen=True, slots=True)
class Cost:
    """Exact sums by what pays: `main` in the currency of the account, `pure` epsilons of its reserved part."""

    main: Fraction = Fraction(0)
    pure: Fraction = Fraction(0)

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(self.main + other.main, self.pure + other.pure)


@dataclass(frozen=True, slots=True)
class Terms:
    """What was fixed when a data set was created: relation, unit, currency and caps.

    Parameters
    ----------
    budget : Budget
        delta = 0 makes the currency "pure", anything else "gdp".
    cap : Fraction
        The whole budget in its currency, less what is reserved; `Terms.of` computes it.
    pure : float
        Epsilon that is reserved for pure releases.
    """

    budget: Budget
    cap: Fraction
    pure: float = 0.0

    @classmethod
    def of(cls, budget: Budget, pure: float = 0.0) -> "Terms":
        """Terms of a new data set."""
        reserved = check_real(pure, "pure", "Ledger.create", minimum=0)
        if reserved and (budget.is_pure or reserved >= budget.epsilon):
            requirement = "0 where delta = 0: all of it is pure then" if budget.is_pure else "less than epsilon"
            raise InvalidParameter("Ledger.create", "pure", requirement, pure)
        if budget.is_pure:
            return cls(budget, Fraction(budget.epsilon))
        mu = gdp.mu_of_budget(_rest(budget, reserved), budget.delta)
        if mu < SMALLEST_MU:
            requirement = f"so large that mu of the budget is at least {SMALLEST_MU:.0e}"
            raise InvalidParameter("Ledger.create", "epsilon", requirement, budget.epsilon)
        return cls(budget, Fraction(mu) ** 2, reserved)

    @property
    def currency(self) -> str:
        """What adds up: "gdp" or "pure"."""
        return "pure" if self.budget.is_pure else "gdp"

    @property
    def limit(self) -> Fraction:
        """What the exact sum of all costs may reach."""
        return self.cap * DECIMAL_ROUNDING if self.budget.is_pure else self.cap

    @property
    def pure_limit(self) -> Fraction:
        """What the exact sum of all that the reserved part paid may reach."""
        return Fraction(self.pure) * DECIMAL_ROUNDING

    @property
    def main_epsilon(self) -> float:
        """What the cap is worth at the delta of the budget: epsilon, less what is reserved."""
        return _rest(self.budget, self.pure)

    def price(self, event: Event, spent: Cost) -> Cost:
        """What each part pays for `event` after `spent`, whether it has that much left or not."""
        reserved = self.from_reserve(event, spent.pure)
        return Cost(self.cost(event, has_reserve=reserved > 0), reserved)

    def from_reserve(self, event: Event, spent: Fraction) -> Fraction:
        """Sum of the epsilons of the Pure releases of `event` if the reserved part has that left, else 0."""
        if not self.pure:
            return Fraction(0)
        found = leaves(event, "Account.charge").items()
        asked = sum((n * Fraction(leaf.epsilon) for leaf, n in found if isinstance(leaf, Pure)), Fraction(0))
        return asked if spent + asked <= self.pure_limit else Fraction(0)

    def cost(self, event: Event, has_reserve: bool = False) -> Fraction:
        """Exact cost of `event` in this currency, or InvalidParameter where it has none.

        With `has_reserve` its Pure releases are paid for by the reserved part, and the others are left.
        """
        if not self.budget.is_pure:
            total = squared_mu(event, "Account.charge")
            if has_reserve:
                found = [(leaf, n) for leaf, n in leaves(event).items() if isinstance(leaf, Gaussian)]
                if not found:
                    return Fraction(0)
                total = sum((n / Fraction(leaf.noise_multiplier) ** 2 for leaf, n in found), Fraction(0))
            return GRAIN * max(1, math.ceil(total / GRAIN))  # at least one grain, so that no release is free
        total = Fraction(0)
        for leaf, count in leaves(event, "Account.charge").items():
            if not isinstance(leaf, Pure):
                requirement = "made of Pure releases, because the budget of the data set has delta = 0"
                raise InvalidParameter("Account.charge", "event", requirement, leaf)
            total += count * Fraction(leaf.epsilon)
        return total

    def is_cost(self, cost: Fraction, event: Event, has_reserve: bool = False) -> bool:
        """Whether `cost` is what `event` cost, on this computer or on another one."""
        expected = self.cost(event, has_reserve)
        if self.budget.is_pure or has_reserve or not any(isinstance(leaf, Pure) for leaf in leaves(event)):
            return cost == expected
        return abs(cost - expected) <= VERSION_TOLERANCE * expected + GRAIN

    def is_consistent(self) -> bool:
        """Whether the cap is what the budget is worth."""
        expected = Terms.of(self.budget, self.pure).cap
        return self.cap == expected if self.budget.is_pure else _is_close(self.cap, expected)

    def total_after(self, spent: Fraction, cost: Fraction) -> Fraction:
        """spent + cost, or BudgetExceeded if that is above the limit."""
        total = spent + cost
        if total > self.limit:
            unit = "epsilon" if self.budget.is_pure else "mu^2"
            raise BudgetExceeded(_float_up(cost), self._left(spent), unit)
        return total

    def total(self, spent: Cost, cost: Cost) -> Cost:
        """spent + cost, or BudgetExceeded if a part is then above its limit."""
        after = spent + cost
        if after.pure > self.pure_limit:
            raise BudgetExceeded(_float_up(cost.pure), self._pure_left(spent.pure), "epsilon")
        return Cost(self.total_after(spent.main, cost.main), after.pure)

    def spent_amount(self, spent: Fraction, pure: Fraction = _NOTHING) -> Amount:
        """`spent` in numbers to show: epsilon to the nearest float64, mu^2 rounded up."""
        if self.budget.is_pure:
            amount = float(min(spent, Fraction(sys.float_info.max)))
            return Amount(amount, 0.0, self.currency, amount)
        mu = sqrt_at_least(spent) if spent else 0.0
        return Amount(self._epsilon(mu), self.budget.delta, self.currency, float_at_least(spent), float(pure))

    def left_amount(self, spent: Fraction, pure: Fraction = _NOTHING) -> Amount:
        """What is left after `spent`: `amount` is rounded down and never negative, epsilon is what it is worth.

        The allowance for decimal rounding is not counted in.
        """
        amount = self._left(spent)
        if self.budget.is_pure:
            return Amount(amount, 0.0, self.currency, amount)
        epsilon = self._epsilon(math.sqrt(amount))
        return Amount(epsilon, self.budget.delta, self.currency, amount, self._pure_left(pure))

    def _pure_left(self, spent: Fraction) -> float:
        left = Fraction(self.pure) - spent
        return float_at_most(left) if left > self.pure_limit - Fraction(self.pure) else 0.0

    def _left(self, spent: Fraction) -> float:
        left = self.cap - spent
        # Shares of one budget are rounded down; what that leaves over is nobody's to spend, and would look odd.
        return float_at_most(left) if left > self.cap * (DECIMAL_ROUNDING - 1) else 0.0

    def _epsilon(self, mu: float) -> float:
        return gdp.epsilon_of_mu(mu, self.budget.delta)

    def to_text(self) -> str:
        """Canonical JSON."""
        stored = to_fields(self.budget)
        stored |= {"neighbors": str(self.budget.neighbors), "unit": str(self.budget.unit)}
        reserved = {"pure": self.pure} if self.pure else {}  # ledgers of old have no such word
        return canonical({**stored, **reserved, "currency": self.currency, "cap": write_fraction(self.cap)})

    @classmethod
    def from_text(cls, text: str) -> "Terms":
        """The terms that `to_text` wrote, in this version or an older one.

        Raises
        ------
        LedgerError
            If a newer version wrote them.
        ValueError
            For any other text.
        """
        try:
            values = json.loads(text)
        except RecursionError:
            raise ValueError("not the terms of a data set") from None
        if not isinstance(values, dict) or not {"cap", "currency"} <= set(values):
            raise ValueError("not the terms of a data set")
        cap, _, pure = read_fraction(values.pop("cap")), values.pop("currency"), values.pop("pure", 0.0)
        unknown = [name for name in values if name not in Budget.__slots__]
        if unknown:
            raise LedgerError(f"the terms of a data set were {NEWER}: {unknown[0]!r:.40} is not known to this one.")
        try:
            budget = Budget(**values)
            terms = cls(budget, cap, check_real(pure, "pure", "Terms", minimum=0, below=budget.epsilon))
        except TypeError:  # a field too few
            raise ValueError("not the terms of a data set") from None
        if terms.pure and budget.is_pure:
            raise ValueError("not the terms of a data set")
        if terms.to_text() != text:  # one spelling only; later fields at their defaults are not in it
            raise ValueError("not the terms of a data set")
        return terms


def canonical(value: Any) -> str:
    """JSON with one spelling for each value, the text that is hashed and compared."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def write_fraction(value: Fraction) -> str:
    """Exact text "numerator/denominator"."""
    return f"{value.numerator}/{value.denominator}"


def read_fraction(text: str) -> Fraction:
    """The number that `write_fraction` wrote; ValueError for any other text."""
    # Fraction itself takes 1e999999999, and works on it for hours.
    if not (isinstance(text, str) and len(text) <= _LONGEST_FRACTION and _FRACTION.fullmatch(text)):
        raise ValueError(f"not a fraction: {text!r:.80}")
    try:
        value = Fraction(text)
    except ZeroDivisionError:
        raise ValueError(f"not a fraction: {text!r:.80}") from None
    if write_fraction(value) != text:
        raise ValueError(f"not a fraction in lowest terms: {text!r}")
    return value


def _rest(budget: Budget, pure: float) -> float:
    """Epsilon that is not reserved, rounded down."""
    return float_at_most(Fraction(budget.epsilon) - Fraction(pure))


def _is_close(value: Fraction, expected: Fraction) -> bool:
    return abs(value - expected) <= VERSION_TOLERANCE * expected


def _float_up(x: Fraction) -> float:
    return float_at_least(x) if x <= Fraction(sys.float_info.max) else math.inf
