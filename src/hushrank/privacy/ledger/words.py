"""What an account holds and what a charge cost, as people say it: epsilon at the delta of the account.

Left       rounded down to three digits, so that a Gaussian release of the epsilon that is said is accepted.
Spent      rounded up to three digits.
"""

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from hushrank.privacy import gdp
from hushrank.privacy.accountant import summed_epsilon
from hushrank.privacy.calibration import event_for
from hushrank.privacy.events import Event, leaves
from hushrank.privacy.guarantee import Budget
from hushrank.privacy.ledger.currency import Cost, Terms
from hushrank.privacy.rational import float_at_most, sqrt_at_least

if TYPE_CHECKING:
    from hushrank.privacy.ledger.chain import Entry

NUMBERS = ("", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
MOST_COUNTED = 10**6

_ROOM = 1 + Fraction(1, 10**9)
"""Plans of several releases may cost more than one release of the same budget by rounding errors, far below this."""

_LEAST_PART, _HALVINGS = 1e-4, 16
"""The epsilon that would be accepted is searched for between this part of what was asked and all of it."""

_MOST_OF_A_PART = Fraction(2, 3)
"""A charge of more than that is all of a budget, but for what its plan leaves over."""

_HUGE = 10**300
_DEARER = 1.1
"""Pure releases are said to be dear where a Gaussian one of the same epsilon costs less by this factor."""


def say_number(value: float) -> str:
    """A number as people write it: 1e-6, not 1e-06."""
    digits, sign, exponent = f"{value:.12g}".partition("e")
    return f"{digits}e{int(exponent)}" if sign else digits


def say_delta(terms: Terms) -> str:
    """The delta of an account, read after an epsilon; nothing where it is 0."""
    return "" if terms.budget.is_pure else f" at delta = {say_number(terms.budget.delta)}"


def say_cost(terms: Terms, cost: Cost) -> str:
    """A cost as an epsilon, rounded up, at the delta of the account."""
    parts = []
    if cost.main or not cost.pure:
        parts.append(f"epsilon = {say_number(_round_up(_main_epsilon(terms, cost.main)))}{say_delta(terms)}")
    if cost.pure:
        parts.append(f"epsilon = {say_number(_round_up(float(cost.pure)))} of the reserved pure part")
    return " and ".join(parts)


class Asked(NamedTuple):
    """A charge that was asked for: its event, what each part would pay, and the budget that it was planned for."""

    event: Event
    cost: Cost
    budget: Budget | None = None


def say_left(terms: Terms, last: "Entry", asked: Event | None = None) -> str:
    """What is left after the entry `last`: for one more release, and for how many like the last one.

    Of what kind that was is said where it was pure, or where what was `asked` for is, and it is no matter of course.
    """
    most = largest_epsilon(terms, last.spent)
    said = f"at most epsilon = {say_number(most)}{say_delta(terms)} for one more release" if most else "nothing"
    if terms.pure:
        pure = largest_pure(terms, last.total.pure)
        said += f", and {f'epsilon = {say_number(pure)}' if pure else 'nothing'} reserved for pure releases"
    count = None if last.event is None else more_like(terms, last.total, last.event)
    if count is None or last.event is None or (not most and not count):
        return said
    return f"{said}, {say_count(count)}{_say_kind(terms, last.event, asked)}"


def _say_kind(terms: Terms, last: Event, asked: Event | None) -> str:
    if terms.budget.is_pure or not (is_pure(last) or (asked is not None and is_pure(asked))):
        return ""
    return ", a pure one" if is_pure(last) else ", one with Gaussian noise"


def say_count(count: int) -> str:
    """How many more fits like the last one there can be."""
    if not count:
        return "none like the last"
    number = NUMBERS[count] if count < len(NUMBERS) else f"{count:,}"
    if count > MOST_COUNTED:
        number = "more than a million"
    return f"{number} more {'fit' if count == 1 else 'fits'} like the last"


def say_refusal(dataset: str, terms: Terms, last: "Entry", asked: Asked) -> str:
    """Why a charge after the entry `last` is refused; read after "budget exceeded: ".

    With the budget that was planned, it also says that one where its delta is another or the charge is a part of it,
    and what would be accepted.
    """
    budget = asked.budget
    wanted = say_cost(terms, asked.cost)
    if budget is not None and budget.delta != terms.budget.delta:
        at = "" if budget.is_pure else f" at delta = {say_number(budget.delta)}"
        wanted = f"epsilon = {say_number(budget.epsilon)}{at}, which costs {wanted},"
    elif budget is not None and _is_part(terms, asked.event, budget):
        wanted += f", a part of epsilon = {say_number(budget.epsilon)},"
    said = f"asked for {wanted} of {dataset!r}, left {say_left(terms, last, asked.event)}"
    if not terms.budget.is_pure:
        said += f" (mu^2: asked {_show(asked.cost.main)}, left {_left_of(terms, last)})"
    most = 0.0 if budget is None else most_accepted(terms, last.total, asked.event, budget)
    return f"{said}; accepted: {say_most(most, budget)}" if budget is not None and most else said


def _is_part(terms: Terms, event: Event, budget: Budget) -> bool:
    """Whether a budget pays for more than one charge like this: nobody typed the epsilon that one of them costs."""
    whole = event_for(Budget(budget.epsilon, 0.0 if is_pure(event) else budget.delta))
    return terms.cost(event) <= _MOST_OF_A_PART * terms.cost(whole)


def say_most(epsilon: float, budget: Budget) -> str:
    """The largest epsilon of a budget, as one says it after "accepted: "."""
    at = "" if budget.is_pure else f" at delta = {say_number(budget.delta)}"
    return f"epsilon = {say_number(epsilon)} or less{at}"


def most_accepted(terms: Terms, spent: Cost, event: Event, budget: Budget) -> float:
    """The largest epsilon of three digits at which a release like `event` is accepted, at the delta of `budget`; or 0.

    0 also where the event costs more than one release of the budget, so that nobody can say.
    """

    delta = 0.0 if is_pure(event) else budget.delta

    def fits(epsilon: float) -> bool:
        price = terms.price(event_for(Budget(epsilon, delta)), spent)
        room = 1 if is_pure(event) else _ROOM
        return spent.pure + price.pure <= terms.pure_limit and spent.main + price.main * room <= terms.limit

    if terms.cost(event) > terms.cost(event_for(Budget(budget.epsilon, delta))) * _ROOM:
        return 0.0
    low, high = budget.epsilon * _LEAST_PART, budget.epsilon
    if not fits(low):
        return 0.0
    for _ in range(_HALVINGS):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if fits(middle) else (low, middle)
    # The number that is meant may lie between the two: from the upper one down.
    return _largest(high, fits)


def is_pure(event: Event) -> bool:
    """Whether all of an event is pure, and something of it is."""
    return bool(summed_epsilon(leaves(event)))


def say_dear(dataset: str, terms: Terms, event: Event, spent: Cost) -> str | None:
    """That a pure release is dear for an account that counts mu^2, and what is cheaper; None where it is not so."""
    if terms.budget.is_pure or terms.from_reserve(event, spent.pure):
        return None
    asked = summed_epsilon(leaves(event))
    if not asked or asked > _HUGE:  # nothing, or Gaussian releases as well; or what no budget has
        return None
    worth = _main_epsilon(terms, terms.cost(event))
    if math.isinf(worth) or worth <= _DEARER * float(asked):
        return None
    delta = say_number(terms.budget.delta)
    other = "an account with a part reserved for pure releases when it is created"
    if terms.pure:
        other = f"what is left of the part reserved for pure releases, epsilon = {largest_pure(terms, spent.pure):g}"
    return (
        f"a pure release of epsilon = {say_number(_round_up(float(asked)))} costs data set {dataset!r} as much as a "
        f"Gaussian one of epsilon = {say_number(_round_up(worth))} at delta = {delta}. Cheaper: delta = {delta}, not "
        f"0, for Gaussian noise; or {other}"
    )


def largest_epsilon(terms: Terms, spent: Fraction) -> float:
    """The largest epsilon of three digits of a release that the main part accepts after `spent`, at its delta; or 0."""
    left = terms.limit - spent
    amount = terms.left_amount(spent)
    if not amount.amount:
        return 0.0
    if terms.budget.is_pure:
        return _largest(float(left), lambda epsilon: Fraction(epsilon) <= left)
    start = amount.epsilon if spent else terms.main_epsilon
    room = _ROOM if spent else Fraction(1)

    def fits(epsilon: float) -> bool:
        return terms.cost(event_for(Budget(epsilon, terms.budget.delta))) * room <= left

    return _largest(start, fits)


def largest_pure(terms: Terms, spent: Fraction) -> float:
    """The same of the reserved part, for a pure release."""
    left = terms.pure_limit - spent
    if not terms.left_amount(Fraction(0), spent).pure:
        return 0.0
    return _largest(float(left), lambda epsilon: Fraction(epsilon) <= left)


def more_like(terms: Terms, spent: Cost, event: Event) -> int:
    """How many more charges of `event` there can be after `spent`."""
    reserved = terms.from_reserve(event, spent.pure)
    count = 0
    if reserved:
        main = terms.cost(event, has_reserve=True)
        count = (terms.pure_limit - spent.pure) // reserved
        if main and (terms.limit - spent.main) // main < count:
            return (terms.limit - spent.main) // main
        spent = Cost(spent.main + count * main, spent.pure + count * reserved)
    cost = terms.cost(event)
    return count + max(0, (terms.limit - spent.main) // cost) if cost else MOST_COUNTED + 1


def _main_epsilon(terms: Terms, cost: Fraction) -> float:
    if terms.budget.is_pure:
        return float(cost) if cost < _HUGE else math.inf
    if cost > _HUGE:
        return math.inf
    return gdp.epsilon_of_mu(sqrt_at_least(cost), terms.budget.delta) if cost else 0.0


def _largest(start: float, fits: Callable[[float], bool]) -> float:
    """The first of the numbers of three digits from `start` down that fits; 0 if that is none of the first few."""
    number, step = _to_digits(start, ROUND_FLOOR)
    for _ in range(5):
        if number <= 0:
            break
        if fits(float(number)):
            return float(number)
        number -= step
    return 0.0


def _round_up(value: float) -> float:
    return value if math.isinf(value) else float(_to_digits(value, ROUND_CEILING)[0])


def _to_digits(value: float, rounding: str) -> tuple[Decimal, Decimal]:
    """A number of three digits beside `value`, as it is written, and the unit of the third one."""
    exact = Decimal(repr(value))
    step = Decimal(1).scaleb(exact.adjusted() - 2) if exact else Decimal(1)
    return exact.quantize(step, rounding=rounding), step


def _show(cost: Fraction) -> str:
    return f"{float(cost):.6g}" if cost < _HUGE else "inf"


def _left_of(terms: Terms, last: "Entry") -> str:
    left = terms.cap - last.spent
    return f"{float_at_most(left):.6g}" if left > 0 else "0"
