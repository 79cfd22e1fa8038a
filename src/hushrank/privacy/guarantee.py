"""What is promised: the neighboring relation, the unit of privacy, the budget asked, the guarantee given."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

from hushrank.exceptions import InvalidParameter
from hushrank.parameters import check_real
from hushrank.privacy.events import Event, check_event, from_dict, to_dict
from hushrank.privacy.figures import at_least, at_most, show_event
from hushrank.privacy.records import from_fields, later, to_fields

NUMERICS = ("exact", "idealized")
_LONGEST_PREMISE = 500


class Neighbors(StrEnum):
    """How two neighboring data sets differ."""

    REPLACE = "replace"
    ADD_REMOVE = "add_remove"


class Unit(StrEnum):
    """What one neighboring step changes."""

    ROW = "row"
    USER = "user"
    RECORD = "record"
    LABEL = "label"
    ENTRY = "entry"
    RANK1 = "rank1"
    FROBENIUS = "frobenius"


_Choice = TypeVar("_Choice", Neighbors, Unit)


def parse_neighbors(value: Any, owner: str) -> Neighbors:
    """The relation named by `value`, a Neighbors or its string, or InvalidParameter with the choices."""
    return _parse(Neighbors, value, "neighbors", owner)


def parse_unit(value: Any, owner: str) -> Unit:
    """The unit named by `value`, a Unit or its string, or InvalidParameter with the choices."""
    return _parse(Unit, value, "unit", owner)


def _parse(kind: type[_Choice], value: Any, name: str, owner: str) -> _Choice:
    if isinstance(value, str) and value in list(kind):
        return kind(value)
    raise InvalidParameter(owner, name, "one of " + ", ".join(repr(choice.value) for choice in kind), value)


def _check_premise(value: Any, owner: str) -> None:
    if not isinstance(value, str) or len(value) > _LONGEST_PREMISE or not value.isprintable():
        requirement = f"a text in one line, of at most {_LONGEST_PREMISE} characters"
        raise InvalidParameter(owner, "premise", requirement, value if isinstance(value, str) else type(value))


def _check_bound(value: Any, owner: str) -> float | None:
    return None if value is None else check_real(value, "bound", owner, above=0)


@dataclass(frozen=True, slots=True)
class Budget:
    """A guarantee that is asked for.

    Parameters
    ----------
    epsilon : float > 0
    delta : float in [0, 1)
        Zero asks for a pure guarantee.
    neighbors : Neighbors or str
    unit : Unit or str
    premise : str
        What the relation takes for granted and no code enforces; empty where nothing is.
    bound : float > 0 or None
        How large a change of the data one unit is, in the norm of the unit; None where a unit is hidden as a whole.

    Examples
    --------
    >>> Budget(1.0, 1e-6, neighbors="add_remove", unit="user").unit
    <Unit.USER: 'user'>
    """

    epsilon: float
    delta: float = 0.0
    neighbors: Neighbors = Neighbors.REPLACE
    unit: Unit = Unit.ROW
    premise: str = later("")
    bound: float | None = later(None)

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_real(self.epsilon, "epsilon", "Budget", above=0))
        object.__setattr__(self, "delta", check_real(self.delta, "delta", "Budget", minimum=0, below=1))
        object.__setattr__(self, "neighbors", parse_neighbors(self.neighbors, "Budget"))
        object.__setattr__(self, "unit", parse_unit(self.unit, "Budget"))
        _check_premise(self.premise, "Budget")
        object.__setattr__(self, "bound", _check_bound(self.bound, "Budget"))

    @property
    def is_pure(self) -> bool:
        """Whether delta = 0 is asked for."""
        return self.delta == 0.0


@dataclass(frozen=True, slots=True, repr=False)
class Guarantee:
    """A guarantee that was given; `hushrank.privacy.accountant.guarantee` makes it from an event.

    Parameters
    ----------
    epsilon : float >= 0
        Infinite for a release that is not private.
    delta : float in [0, 1)
    neighbors : Neighbors or str
    unit : Unit or str
    event : Event
        What was executed.
    numerics : {"exact", "idealized"}
        Whether the claim covers the arithmetic ("exact") or treats noise as real numbers ("idealized").
    reproducible : bool
        Whether the noise came from a seed; then the result must not be released.
    premise : str
        What the claim takes for granted and no code enforces; empty where nothing is.
    bound : float > 0 or None
        How large a change of the data one unit is, in the norm of the unit; None where a unit is hidden as a whole.
    """

    epsilon: float
    delta: float
    neighbors: Neighbors
    unit: Unit
    event: Event
    numerics: str
    reproducible: bool = False
    premise: str = later("")
    bound: float | None = later(None)

    def __post_init__(self) -> None:
        if self.epsilon != math.inf:
            object.__setattr__(self, "epsilon", check_real(self.epsilon, "epsilon", "Guarantee", minimum=0))
        object.__setattr__(self, "delta", check_real(self.delta, "delta", "Guarantee", minimum=0, below=1))
        object.__setattr__(self, "neighbors", parse_neighbors(self.neighbors, "Guarantee"))
        object.__setattr__(self, "unit", parse_unit(self.unit, "Guarantee"))
        check_event(self.event, "Guarantee")
        if self.numerics not in NUMERICS:
            raise InvalidParameter("Guarantee", "numerics", "'exact' or 'idealized'", self.numerics)
        if not isinstance(self.reproducible, bool):
            raise InvalidParameter("Guarantee", "reproducible", "True or False", self.reproducible)
        _check_premise(self.premise, "Guarantee")
        object.__setattr__(self, "bound", _check_bound(self.bound, "Guarantee"))

    def __str__(self) -> str:
        within = "" if self.bound is None else f", bound={at_least(self.bound)}"
        terms = (
            f"epsilon={at_most(self.epsilon)}, delta={at_most(self.delta)}, neighbors={self.neighbors}, "
            f"unit={self.unit}{within}, event={show_event(self.event)}, numerics={self.numerics}, "
            f"reproducible={self.reproducible}"
        )
        if self.premise:
            terms = f"{terms}, PROVIDED THAT {self.premise}"
        if not self.reproducible:
            return terms
        return f"{terms}; MUST NOT BE RELEASED: anyone who knows the seed can remove the noise"

    def __repr__(self) -> str:
        return f"Guarantee({self})"

    def to_dict(self) -> dict[str, Any]:
        """A JSON-safe description; an infinite epsilon becomes the string "inf"."""
        values = {**to_fields(self), "neighbors": str(self.neighbors), "unit": str(self.unit)}
        return values | {"epsilon": "inf" if self.epsilon == math.inf else self.epsilon, "event": to_dict(self.event)}

    @classmethod
    def from_dict(cls, description: Mapping[str, Any]) -> "Guarantee":
        """The guarantee described by `to_dict`, of this version or an older one; anything else is refused."""
        if not isinstance(description, Mapping):
            raise InvalidParameter("Guarantee", "description", "a dict of its fields", description)
        values = from_fields(cls, description, "Guarantee")
        if values["epsilon"] == "inf":
            values["epsilon"] = math.inf
        values["event"] = from_dict(values["event"])
        return cls(**values)
