"""Options of the choice of a representation by the exponential mechanism, and how its budget is shared by the rounds.

Plans, the command line and model files need these alone: nothing here reads data, and nothing here needs the modules
that learn.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from hushrank.estimators.method_param import check_options
from hushrank.exceptions import InvalidParameter
from hushrank.parameters import Param
from hushrank.privacy.events import Pure
from hushrank.privacy.guarantee import Budget
from hushrank.privacy.rational import float_at_most


@dataclass(frozen=True)
class ExponentialSelection:
    """Options of method="exponential": pure privacy, for few features and small rank.

    The first round chooses among candidates that are spread over all subspaces. Every later round chooses among the
    last choice and candidates around it, within a radius that shrinks from round to round, so that the grid becomes
    finer where it matters. The finer the grid, the smaller the differences between scores: later rounds have larger
    shares of epsilon. In units where x is divided by `x_scale` and y by `y_scale`.

    Radius and shares were chosen on synthetic data of 2000 to 50000 users with 5 records, mostly of 8 features and rank
    1 or 2, at epsilon from 0.25 to 4 (one generator, draws 100 to 109), among radii that shrink by 0.5 to 0.7 and
    shares that grow by 1 to 3.

    Parameters
    ----------
    rounds : int, default 6
    candidates : int, default 1200
        Of each round. A fit costs rounds x candidates x records x features x rank operations.
    range_bound : float, default 1.5
        Largest score of a user, which is the mean squared answer that a candidate explains; larger ones are clipped.
        The logistic loss has the range log 2, or row_norm head_norm, if that is smaller.
    ridge : float, default 0.05
        Of the users' regressions: the variance of the noise over that of heads.
    growth : float, default 1.5
        Share of epsilon of a round over that of the round before.
    shrinkage : float, default 0.7
        Radius of a round over that of the round before. Candidates of round t >= 1 lie within 2 shrinkage^t of the
        choice before (root mean square of the tangents of the angles).
    row_norm : float, default 4.0
        Bound on the features U^T x in the logistic loss (L_f of the paper).
    head_norm : float, default 4.0
        Bound on heads in the logistic loss (C of the paper).
    """

    rounds: int = 6
    candidates: int = 1200
    range_bound: float = 1.5
    ridge: float = 0.05
    growth: float = 1.5
    shrinkage: float = 0.7
    row_norm: float = 4.0
    head_norm: float = 4.0

    is_pure: ClassVar[bool] = True
    losses: ClassVar[tuple[str, ...]] = ("squared", "logistic")
    _params: ClassVar[dict[str, Param]] = {
        "rounds": Param(int, minimum=1, maximum=100),
        "candidates": Param(int, minimum=2, maximum=1 << 20),
        "range_bound": Param(float, above=1e-6, below=1e6),
        "ridge": Param(float, above=1e-6, below=1e6),
        "growth": Param(float, above=0.1, below=10),
        "shrinkage": Param(float, above=0.01, below=1),
        "row_norm": Param(float, above=1e-6, below=1e6),
        "head_norm": Param(float, above=1e-6, below=1e6),
    }

    def __post_init__(self) -> None:
        check_options(self, self._params)

    def check_size(self, n_features: int, rank: int) -> None:
        """Refuse a rank that does not fit the number of features; reads nothing private."""
        if not 1 <= rank <= n_features:
            requirement = f"between 1 and the number of features, {n_features}"
            raise InvalidParameter(type(self).__name__, "rank", requirement, rank)

    def radius(self, number: int) -> float:
        """Radius of the candidates of a round, the first of which is round 0."""
        return float(2.0 * self.shrinkage**number)


def round_events(budget: Budget, options: ExponentialSelection) -> tuple[Pure, ...]:
    """One event of bounded range for every round; as real numbers, the epsilons add up to at most that of the budget.

    Examples
    --------
    >>> [round(event.epsilon, 3) for event in round_events(Budget(1.0), ExponentialSelection(rounds=3, growth=2.0))]
    [0.143, 0.286, 0.571]
    """
    if not budget.is_pure:
        raise InvalidParameter("round_events", "delta", "0, because choices are pure", budget.delta)
    weights = [Fraction(options.growth) ** number for number in range(options.rounds)]
    whole = Fraction(budget.epsilon)
    shares = [float_at_most(whole * weight / sum(weights)) for weight in weights[:-1]]
    last = float_at_most(whole - sum(map(Fraction, shares)))
    return tuple(Pure(epsilon, bounded_range=True) for epsilon in (*shares, last))
