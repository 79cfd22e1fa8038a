"""One budget divided among the releases of a fit, in fixed shares and without remainder.

Shares are of mu^2 for Gaussian releases (delta > 0) and of epsilon for pure ones (delta = 0); both add up under
composition, so the parts together cost at most the whole (docs/privacy/accounting.md, sections 3 and 5).
"""

from collections.abc import Mapping
from fractions import Fraction

from hushrank.exceptions import InvalidParameter
from hushrank.privacy.calibration import event_for
from hushrank.privacy.events import Gaussian, Pure
from hushrank.privacy.filters import GdpFilter
from hushrank.privacy.guarantee import Budget
from hushrank.privacy.rational import float_at_most


def split_budget(budget: Budget, shares: Mapping[str, Fraction]) -> dict[str, Gaussian | Pure]:
    """One event for every name in `shares`, together at most the budget.

    Parameters
    ----------
    budget : Budget
    shares : mapping of str to Fraction
        Positive, and 1 in all. The last one is rounded so that the whole is never exceeded.

    Examples
    --------
    >>> split_budget(Budget(1.0), {"mean": Fraction(1, 10), "matrix": Fraction(9, 10)})
    {'mean': Pure(epsilon=0.1, bounded_range=False), 'matrix': Pure(epsilon=0.899999..., bounded_range=False)}
    """
    if not shares or min(shares.values()) <= 0 or sum(shares.values()) != 1:
        raise InvalidParameter("split_budget", "shares", "positive fractions that add up to 1", dict(shares))
    whole = event_for(budget)
    if len(shares) == 1:
        return dict.fromkeys(shares, whole)
    names = list(shares)
    if isinstance(whole, Gaussian):
        budget_filter = GdpFilter.from_event(whole)
        parts: dict[str, Gaussian | Pure] = {name: budget_filter.share(shares[name]) for name in names[:-1]}
        return {**parts, names[-1]: budget_filter.rest()}
    epsilons = {name: float(shares[name] * Fraction(whole.epsilon)) for name in names[:-1]}
    left = Fraction(whole.epsilon) - sum(map(Fraction, epsilons.values()))
    return {name: Pure(epsilon) for name, epsilon in (epsilons | {names[-1]: float_at_most(left)}).items()}
