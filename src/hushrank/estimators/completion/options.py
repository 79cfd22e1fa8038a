"""Options of the methods of private matrix completion, and their names.

Plans, the command line and model files need these alone: nothing here reads data, and nothing here needs the modules
that learn.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from hushrank.estimators.completion.recipes import FACTORED_GRADIENT
from hushrank.estimators.method_param import check_options
from hushrank.exceptions import InvalidParameter
from hushrank.parameters import Param, check_integer


class MethodOptions(Protocol):
    """What a fit asks of the options of any method before it reads data."""

    supports_implicit: ClassVar[bool]

    def check_size(self, n_items: int, rank: int) -> None:
        """Refuse a number of items or a rank that the method cannot have."""


@dataclass(frozen=True)
class Spectral:
    """Options of the default method.

    Parameters
    ----------
    top_items : int, default 8192
        Most items of the second moment, the most popular by noisy counts; its memory is 8 top_items^2 bytes.
    """

    top_items: int = 8192

    supports_implicit: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_integer(self.top_items, "top_items", "Spectral", minimum=4, maximum=1 << 15)

    def check_size(self, n_items: int, rank: int) -> None:
        """Any number of items will do."""


@dataclass(frozen=True)
class AlternatingLeastSquares:
    """Options of alternating least squares, in units where users regress on factors with the prior N(0, I).

    Parameters
    ----------
    sweeps : int, default 6
        Sweeps over users and items, with equal shares of the budget.
    user_norm : float, default 0.3
        Bound on the factor of a user in the sums; the regressions of the users themselves are not bounded.
    max_ratings : int, default 100
        Bound on the sum of the squared weights of a user's ratings.
    bounding : {"adaptive", "uniform", "tail"}, default "adaptive"
        "adaptive" uses all ratings of a user, with weights proportional to counts^-weight_exponent and of squares that
        add up to `max_ratings`. The others use at most `max_ratings` of them with weight 1: evenly spaced ones, or
        those of the rarest items. Counts are the released ones of the start.
    weight_exponent : float, default 1/3
    residual_bound : float, default 0.5
        Bound on what base and features leave of a rating, in standard deviations of the noise of a rating.
    ridge : float, default 40
        Prior precision of item factors times the variance of the noise of a rating: as many ratings by a user of factor
        1 count as much as the prior.
    gram_share : float, default 0.2
        Share of every sweep's budget for the matrices of the normal equations; their right-hand sides have the rest.

    Examples
    --------
    >>> AlternatingLeastSquares(sweeps=3, bounding="tail").max_ratings
    100
    """

    sweeps: int = 6
    user_norm: float = 0.3
    max_ratings: int = 100
    bounding: str = "adaptive"
    weight_exponent: float = 1 / 3
    residual_bound: float = 0.5
    ridge: float = 40.0
    gram_share: float = 0.2

    supports_implicit: ClassVar[bool] = True
    _params: ClassVar[dict[str, Param]] = {
        "sweeps": Param(int, minimum=1, maximum=1000),
        "user_norm": Param(float, above=1e-6, below=1e6),
        "max_ratings": Param(int, minimum=1, maximum=1 << 31),
        "bounding": Param(words=("uniform", "tail", "adaptive")),
        "weight_exponent": Param(float, minimum=0, below=10),
        "residual_bound": Param(float, above=1e-6, below=1e6),
        "ridge": Param(float, above=1e-6, below=1e12),
        "gram_share": Param(float, above=1e-4, below=1 - 1e-4),
    }

    def __post_init__(self) -> None:
        check_options(self, self._params)

    def check_size(self, n_items: int, rank: int) -> None:
        """Refuse a rank that does not fit the number of items; reads nothing private."""
        _check_rank(self, n_items, rank)


@dataclass(frozen=True)
class FactoredGradient:
    """Options of projected gradient descent on two factors, in units where ratings lie in [-1, 1].

    Parameters
    ----------
    steps : int, default 10
        Steps, each with an equal share of what the start leaves of the budget.
    step_size : float, default 1.0
        In units of 1 / (user_norm item_norm). A random start has a longer way and needs larger steps.
    user_norm, item_norm : float, default 0.45 and 0.8
        Bounds on the rows of the factors (alpha_1 and alpha_2 of the paper).
    residual_norm : float, default 0.7
        Bound on a user's residuals, and on a row of ratings in a private start (G of the paper).
    balance_share : float, default 0.05
        Share of every step's budget for U^T U.
    start : {"private", "random"}, default "private"
        Algorithm 2, for at most 4096 items, or item factors that look random and cost nothing.
    start_share : float, default 0.5
        Share of the budget for a private start.
    user_solve : {"gradient", "ridge"}, default "gradient"
        How a user moves this user's factor: by a local step of Algorithm 1, or to the ridge solution for the current V.
    """

    steps: int = 10
    step_size: float = 1.0
    user_norm: float = 0.45
    item_norm: float = 0.8
    residual_norm: float = 0.7
    balance_share: float = 0.05
    start: str = "private"
    start_share: float = 0.5
    user_solve: str = "gradient"

    supports_implicit: ClassVar[bool] = False
    _params: ClassVar[dict[str, Param]] = {
        "steps": Param(int, minimum=1, maximum=1000),
        "step_size": Param(float, above=1e-6, below=1e6),
        "user_norm": Param(float, above=1e-6, below=1e6),
        "item_norm": Param(float, above=1e-6, below=1e6),
        "residual_norm": Param(float, above=1e-6, below=1e6),
        "balance_share": Param(float, above=1e-4, below=1 - 1e-4),
        "start": Param(words=("private", "random")),
        "start_share": Param(float, above=1e-4, below=1 - 1e-4),
        "user_solve": Param(words=("gradient", "ridge")),
    }

    def __post_init__(self) -> None:
        check_options(self, self._params)

    @property
    def step(self) -> float:
        """The step size in the units of the factors."""
        return self.step_size / (self.user_norm * self.item_norm)

    def check_size(self, n_items: int, rank: int) -> None:
        """Refuse a rank or a start that does not fit the number of items; reads nothing private."""
        _check_rank(self, n_items, rank)
        most = FACTORED_GRADIENT.max_start_items
        if self.start == "private" and n_items > most:
            owner = type(self).__name__
            raise InvalidParameter(owner, "start", f"'random' for more than {most} items", self.start)


METHODS: dict[str, type[MethodOptions]] = {
    "spectral": Spectral,
    "als": AlternatingLeastSquares,
    "factored_gradient": FactoredGradient,
}


def to_options(method: Any) -> MethodOptions:
    """Options of a method given by name or by its options."""
    options: MethodOptions = METHODS[method]() if isinstance(method, str) else method
    return options


def _check_rank(options: MethodOptions, n_items: int, rank: int) -> None:
    if not 1 <= rank <= n_items:
        requirement = f"between 1 and the number of items, {n_items}"
        raise InvalidParameter(type(options).__name__, "rank", requirement, rank)
