"""Options of the methods of private personalization, and their names.

Plans, the command line and model files need these alone: nothing here reads data, and nothing here needs the modules
that learn.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from hushrank.estimators.method_param import MethodParam, check_options
from hushrank.estimators.personalization.exponential_options import ExponentialSelection
from hushrank.parameters import Param


class MethodOptions(Protocol):
    """What a fit asks of the options of any method before it reads data.

    `is_pure` says whether the method works with delta = 0, and no other; `losses` are those it has.
    """

    is_pure: ClassVar[bool]
    losses: ClassVar[tuple[str, ...]]


@dataclass(frozen=True)
class GradientSteps:
    """Options of the default method.

    Parameters
    ----------
    steps : int, default 6
        Newton steps on the subspace; two where there are few users for the budget. Each is shrunk by its noise, so that
        more of them cost little and rarely help.
    """

    steps: int = 6

    is_pure: ClassVar[bool] = False
    losses: ClassVar[tuple[str, ...]] = ("squared", "logistic")
    _params: ClassVar[dict[str, Param]] = {"steps": Param(int, minimum=1, maximum=100)}

    def __post_init__(self) -> None:
        check_options(self, self._params)


@dataclass(frozen=True)
class AlternatingMinimization:
    """Options of alternating minimization: Algorithms 1 to 3 of the paper, with tight constants.

    Parameters
    ----------
    steps : int, default 4
        Alternations between heads and subspace.
    right_side : {"residual", "seed"}, default "residual"
        Solve for the change of the subspace from what the current one leaves of the answers, or for the subspace itself
        from the answers, as the paper does. The noise of the second form does not shrink as the subspace improves.
    participation : {"full", "blocks"}, default "full"
        Whether all users take part in every step, each paying for all of them, or the users are parted and each part
        pays for one step, as in the paper.
    start_share : float, default 0.25
        Share of the budget for the start, below 0.8.
    """

    steps: int = 4
    right_side: str = "residual"
    participation: str = "full"
    start_share: float = 0.25

    is_pure: ClassVar[bool] = False
    losses: ClassVar[tuple[str, ...]] = ("squared",)
    _params: ClassVar[dict[str, Param]] = {
        "steps": Param(int, minimum=1, maximum=100),
        "right_side": Param(words=("residual", "seed")),
        "participation": Param(words=("full", "blocks")),
        "start_share": Param(float, above=1e-3, below=0.8),
    }

    def __post_init__(self) -> None:
        check_options(self, self._params)


METHODS: dict[str, type[MethodOptions]] = {
    "gradient": GradientSteps,
    "altmin": AlternatingMinimization,
    "exponential": ExponentialSelection,
}


class PersonalizationMethodParam(MethodParam):
    """A method of personalization by name, or its options."""

    __slots__ = ()

    methods = METHODS


def to_options(method: Any) -> MethodOptions:
    """Options of a method given by name or by its options."""
    options: MethodOptions = METHODS[method]() if isinstance(method, str) else method
    return options
