"""Whether a guarantee that comes from a file can be true: it must agree with its event, its parameters and the plan.

Nothing here proves that noise was drawn; no file can. It keeps a file from saying two things at once: a small epsilon
beside an event that costs more, an exact claim for an idealized mechanism, another relation than its parameters.
Work       an event from a stranger is measured before it is accounted for: at most some tenths of a second.
"""

import math

from hushrank.privacy import accountant
from hushrank.privacy.events import MAX_COUNT, Event, Gaussian, Mixture, NonPrivate, leaves
from hushrank.privacy.guarantee import Budget, Guarantee

TOLERANCE = 1e-9
"""Relative difference of epsilons between versions of SciPy and of libm."""

_LEAST_SPENT = 0.5  # of what the parameters ask for: another version may split a budget otherwise, not leave it unused
_MORE_THAN_ITS_EVENT = "its guarantee promises more than its event gives"
_LARGEST_LOSS = 1e100  # of a leaf: sums of larger ones leave the range of float64
_MAX_LEAVES, _MAX_POINTS, _MAX_CONVOLUTIONS = 1024, 4096, 8


def check_claim(given: Guarantee, planned: Guarantee, budget: Budget) -> None:
    """Raise ValueError unless a stored guarantee can be that of a fit.

    Parameters
    ----------
    given : Guarantee
        What the file says.
    planned : Guarantee
        What a fit with the parameters of the file would give.
    budget : Budget
        What these parameters ask for.
    """
    _check_terms(given, budget)
    if planned.numerics == "idealized" and given.numerics == "exact":
        raise ValueError("its guarantee covers arithmetic that its mechanism does not")
    if given.event == planned.event and given.delta == planned.delta:
        is_true, is_spent = is_at_most(planned.epsilon, given.epsilon), True
    else:
        check_work(given.event, is_pure=given.delta == planned.delta == 0.0)
        is_true = is_at_most(accountant.epsilon(given.event, given.delta), given.epsilon)
        is_spent = accountant.epsilon(given.event, planned.delta) >= _LEAST_SPENT * planned.epsilon
    if not is_true:
        raise ValueError(_MORE_THAN_ITS_EVENT)
    if not is_spent:
        raise ValueError("its event costs far less than its parameters ask for")


def check_stated(given: Guarantee, budget: Budget) -> None:
    """Raise ValueError unless a guarantee can be true that stands beside its event and the budget asked, and no model.

    Of what it was made by nothing is known: neither the plan nor whether the arithmetic is covered.
    """
    _check_terms(given, budget)
    check_work(given.event, is_pure=given.delta == 0.0)
    if not is_at_most(accountant.epsilon(given.event, given.delta), given.epsilon):
        raise ValueError(_MORE_THAN_ITS_EVENT)


def _check_terms(given: Guarantee, budget: Budget) -> None:
    """Raise ValueError unless relation, unit, premise and bound are those asked for, and the numbers within."""
    if (given.neighbors, given.unit) != (budget.neighbors, budget.unit):
        raise ValueError("its guarantee has another relation or unit than its parameters")
    if given.premise != budget.premise:
        raise ValueError("its guarantee takes something else for granted than its parameters")
    if given.bound != budget.bound:
        raise ValueError("its guarantee hides changes of another size than its parameters")
    if not (is_at_most(given.epsilon, budget.epsilon) and is_at_most(given.delta, budget.delta)):
        raise ValueError("its guarantee is weaker than its parameters ask for")


def is_at_most(value: float, limit: float) -> bool:
    """Whether `value` is finite and not above `limit`, within the tolerance."""
    return math.isfinite(value) and value <= limit * (1 + TOLERANCE)


def check_work(event: Event, *, is_pure: bool) -> None:
    """Refuse an event whose accounting would take long; those of estimators are far smaller."""
    counts = leaves(event)
    if any(isinstance(leaf, NonPrivate) for leaf in counts):
        raise ValueError("its event is not private")
    if not is_pure and any(_largest_loss(leaf) > _LARGEST_LOSS for leaf in counts):
        raise ValueError("its event is of no use: it hides nothing")
    points = sum(len(leaf.epsilons) for leaf in counts if isinstance(leaf, Mixture))
    # A pure release is one law to convolve with the others, a table is squared for each bit of its count.
    convolutions = sum(
        2 * count.bit_length() if isinstance(leaf, Mixture) else not isinstance(leaf, Gaussian)
        for leaf, count in counts.items()
    )
    is_small = len(counts) <= _MAX_LEAVES and points <= _MAX_POINTS and max(counts.values(), default=0) <= MAX_COUNT
    if not is_small or (convolutions > _MAX_CONVOLUTIONS and not is_pure):
        raise ValueError("its event is too large to account for")


def _largest_loss(leaf: Event) -> float:
    """How much the most revealing result of one release tells; of Gaussian noise the order of it."""
    if isinstance(leaf, Mixture):
        return max(map(abs, leaf.epsilons))
    return 1.0 / leaf.noise_multiplier if isinstance(leaf, Gaussian) else float(getattr(leaf, "epsilon", 0.0))
