"""What a budget promises too little for: told from parameters and public numbers, before anything is charged."""

import warnings
from collections.abc import Iterator, Mapping

from hushrank.exceptions import BudgetWarning
from hushrank.privacy.guarantee import Budget, Unit

LARGE_EPSILON, LARGE_DELTA = 20.0, 1e-2
_NOUNS = {Unit.RANK1: "change", Unit.FROBENIUS: "change"}  # others are called what they are


def budget_cautions(budget: Budget, n_people: int | None = None) -> Iterator[str]:
    """Sentences about a budget that hides hardly anything; `n_people` is the public number of those it protects.

    Examples
    --------
    >>> from hushrank.privacy.guarantee import Neighbors, Unit
    >>> list(budget_cautions(Budget(1.0, 1e-3, Neighbors.REPLACE, Unit.USER), n_people=1000))
    ['delta = 0.001 is at least 1 / 1,000, one over the number of users: it allows to publish all about one user']
    """
    unit = _NOUNS.get(budget.unit, budget.unit.value)
    if budget.epsilon > LARGE_EPSILON:
        odds = f"what is known of one {unit} may change by a factor of e^{budget.epsilon:g}"
        yield f"epsilon = {budget.epsilon:g} promises next to nothing ({odds}); usual budgets are 0.1 to 10"
    yield from delta_cautions(budget, n_people)


def delta_cautions(budget: Budget, n_people: int | None) -> Iterator[str]:
    """The same about delta alone, which says little before the number of people is known."""
    unit = _NOUNS.get(budget.unit, budget.unit.value)
    if n_people and budget.delta * n_people >= 1.0:
        number = f"1 / {n_people:,}, one over the number of {unit}s"
        yield f"delta = {budget.delta:g} is at least {number}: it allows to publish all about one {unit}"


def cap_cautions(budget: Budget) -> Iterator[str]:
    """The same about a cap that is fixed for life, before anybody says how many people there are.

    Examples
    --------
    >>> list(cap_cautions(Budget(1.0, 0.5)))
    ['delta = 0.5 allows to publish all about one row in 2; it should be far below one over the number of rows']
    """
    yield from budget_cautions(budget)
    if budget.delta > LARGE_DELTA:
        unit = _NOUNS.get(budget.unit, budget.unit.value)
        allowed = f"allows to publish all about one {unit} in {1 / budget.delta:.2g}"
        yield f"delta = {budget.delta:g} {allowed}; it should be far below one over the number of {unit}s"


def warn_before_charge(budget: Budget, n_people: int | None = None) -> None:
    """Say so as warnings; where warnings are errors, nothing is charged."""
    for caution in budget_cautions(budget, n_people):
        warnings.warn(caution, BudgetWarning, stacklevel=4)


def people_of(sizes: Mapping[str, int]) -> int | None:
    """How many people there are, among sizes by name; None where these do not tell."""
    return sizes.get("n_users", sizes.get("n_samples"))
