"""What a mechanism did, as data: frozen events that the accountant turns into (epsilon, delta).

An event is made where the noise is made. It states the cost of a release between neighboring data sets and
nothing about the data; it prints, compares, hashes and travels through JSON.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from hushrank.exceptions import InvalidParameter
from hushrank.parameters import check_integer, check_real
from hushrank.privacy.records import NEWER, from_fields, to_fields

MAX_COUNT = 2**53

MOST_NESTED = 64
"""Levels of an event that is charged; those of estimators have three or four."""

_DEEPEST = 2 * MOST_NESTED  # that is described or read: what holds charges has levels of its own


@dataclass(frozen=True, slots=True)
class Gaussian:
    """Gaussian noise of scale `noise_multiplier` times the L2 sensitivity; mu = 1/noise_multiplier."""

    noise_multiplier: float

    def __post_init__(self) -> None:
        checked = check_real(self.noise_multiplier, "noise_multiplier", "Gaussian", above=0)
        _set(self, "noise_multiplier", checked)


@dataclass(frozen=True, slots=True)
class Pure:
    """Any release that is epsilon-private with delta = 0.

    `bounded_range` may be True only where the privacy loss of every neighboring pair spans an interval of
    length at most epsilon, as for the exponential mechanism; that of Laplace or Wishart noise is twice that.
    """

    epsilon: float
    bounded_range: bool = False

    def __post_init__(self) -> None:
        _set(self, "epsilon", check_real(self.epsilon, "epsilon", "Pure", above=0))
        if not isinstance(self.bounded_range, bool):
            raise InvalidParameter("Pure", "bounded_range", "True or False", self.bounded_range)


@dataclass(frozen=True, slots=True, repr=False)
class Mixture:
    """A release known by its privacy profile: delta at a list of epsilons.

    Parameters
    ----------
    epsilons : iterable of float
        Finite and strictly increasing; negative ones are allowed.
    deltas : iterable of float
        In [0, 1] and non-increasing. Each bounds the hockey-stick divergence at its epsilon for every
        neighboring pair in both directions, P against Q and Q against P. A rise within rounding error is
        accepted, and removed by raising the earlier values.
    """

    epsilons: tuple[float, ...]
    deltas: tuple[float, ...]

    def __post_init__(self) -> None:
        epsilons = _floats(self.epsilons, "epsilons")
        deltas = _floats(self.deltas, "deltas")
        if not epsilons.size or not np.all(np.isfinite(epsilons)) or np.any(epsilons[1:] <= epsilons[:-1]):
            requirement = "finite, strictly increasing and not empty"
            raise InvalidParameter("Mixture", "epsilons", requirement, self.epsilons)
        if deltas.size != epsilons.size:
            raise InvalidParameter("Mixture", "deltas", f"{epsilons.size} numbers", self.deltas)
        if not np.all((deltas >= 0.0) & (deltas <= 1.0)):
            raise InvalidParameter("Mixture", "deltas", "numbers in [0, 1]", self.deltas)
        raised = np.maximum.accumulate(deltas[::-1])[::-1]
        if np.any(raised - deltas > 1e-9 * deltas + 1e-15):
            raise InvalidParameter("Mixture", "deltas", "non-increasing", self.deltas)
        _set(self, "epsilons", tuple(epsilons.tolist()))
        _set(self, "deltas", tuple(raised.tolist()))

    @classmethod
    def from_profile(cls, function: Callable[[float], float], epsilons: Iterable[float]) -> "Mixture":
        """Tabulate `function`, epsilon -> delta, at `epsilons`; the accountant interpolates safely."""
        points = tuple(epsilons)
        return cls(points, tuple(float(function(point)) for point in points))

    def __repr__(self) -> str:
        epsilons = f"epsilon {self.epsilons[0]:g} to {self.epsilons[-1]:g}"
        deltas = f"delta {self.deltas[0]:g} to {self.deltas[-1]:g}"
        return f"Mixture({len(self.epsilons)} points, {epsilons}, {deltas})"


@dataclass(frozen=True, slots=True)
class Composed:
    """All of `events` (any iterable) on the same data; each mechanism may depend on earlier outputs."""

    events: tuple["Event", ...]

    def __post_init__(self) -> None:
        if not isinstance(self.events, Iterable):
            raise InvalidParameter("Composed", "events", "an iterable of events", self.events)
        _set(self, "events", tuple(check_event(event, "Composed", "events") for event in self.events))


@dataclass(frozen=True, slots=True)
class Repeated:
    """`event` executed `count` times; the same as Composed([event] * count)."""

    event: "Event"
    count: int

    def __post_init__(self) -> None:
        check_event(self.event, "Repeated")
        _set(self, "count", check_integer(self.count, "count", "Repeated", minimum=1, maximum=MAX_COUNT))


@dataclass(frozen=True, slots=True)
class NonPrivate:
    """A release without any guarantee: epsilon is infinite."""


Event: TypeAlias = Gaussian | Pure | Mixture | Composed | Repeated | NonPrivate
Leaf: TypeAlias = Gaussian | Pure | Mixture | NonPrivate

_CLASSES: dict[str, type[Event]] = {
    cls.__name__: cls for cls in (Gaussian, Pure, Mixture, Composed, Repeated, NonPrivate)
}


def check_event(event: Any, owner: str, name: str = "event") -> Event:
    """Return `event` if it is one of the classes above, or raise InvalidParameter: the cost is unknown."""
    if type(event) not in _CLASSES.values():
        raise InvalidParameter(owner, name, f"made of {', '.join(_CLASSES)}", event)
    known: Event = event
    return known


def together(events: Iterable[Event]) -> Event:
    """All of `events` as one: the event itself if there is only one, else Composed."""
    parts = tuple(events)
    return parts[0] if len(parts) == 1 else Composed(parts)


def leaves(event: Event, owner: str = "leaves") -> dict[Leaf, int]:
    """Elementary events inside `event` with their multiplicities, equal ones merged, in order of appearance.

    Examples
    --------
    >>> leaves(Composed([Repeated(Gaussian(2.0), 10**6), Pure(0.5), Gaussian(2.0)]))
    {Gaussian(noise_multiplier=2.0): 1000001, Pure(epsilon=0.5, bounded_range=False): 1}
    """
    found: dict[Leaf, int] = {}
    waiting: list[tuple[Event, int]] = [(check_event(event, owner), 1)]
    while waiting:
        current, count = waiting.pop()
        if isinstance(current, Composed):
            waiting.extend((part, count) for part in reversed(current.events))
        elif isinstance(current, Repeated):
            waiting.append((current.event, count * current.count))
        else:
            found[current] = found.get(current, 0) + count
    return found


def to_dict(event: Event) -> dict[str, Any]:
    """A JSON-safe description: the class name under "type", then its fields."""
    return _to_dict(check_event(event, "to_dict"), _DEEPEST)


def from_dict(description: Mapping[str, Any], most_nested: int = _DEEPEST) -> Event:
    """The event described by `to_dict`, of this version or an older one; anything else is refused."""
    try:
        return _from_dict(description, most_nested)
    except RecursionError:  # most_nested may be more than there is room for
        raise InvalidParameter("from_dict", "description", "nested less deeply", type(description)) from None


def nesting(event: Event) -> int:
    """How many levels an event has: one for each of Gaussian, Pure, Mixture, and one more for what holds others.

    Examples
    --------
    >>> nesting(Gaussian(2.0)), nesting(Composed([Repeated(Pure(0.5), 3), Gaussian(2.0)]))
    (1, 3)
    """
    level, levels = [check_event(event, "nesting")], 0
    while level:
        levels += 1
        level = [part for whole in level for part in _parts(whole)]
    return levels


def _from_dict(description: Mapping[str, Any], depth: int) -> Event:
    if not depth:
        raise InvalidParameter("from_dict", "description", "nested less deeply", type(description))
    kind = description.get("type") if isinstance(description, Mapping) else None
    if not isinstance(kind, str) or kind not in _CLASSES:
        requirement = f"of a type in {', '.join(_CLASSES)}; others were {NEWER}"
        raise InvalidParameter("from_dict", "description", requirement, description)
    cls = _CLASSES[kind]
    values = from_fields(cls, {name: value for name, value in description.items() if name != "type"}, "from_dict")
    if cls is Composed:
        if not isinstance(values["events"], list):
            raise InvalidParameter("from_dict", "description", "a Composed of a list of events", description)
        values["events"] = [_from_dict(part, depth - 1) for part in values["events"]]
    if cls is Repeated:
        values["event"] = _from_dict(values["event"], depth - 1)
    return cls(**values)


def _parts(event: Event) -> tuple[Event, ...]:
    if isinstance(event, Composed):
        return tuple(event.events)
    return (event.event,) if isinstance(event, Repeated) else ()


def _to_dict(event: Event, depth: int) -> dict[str, Any]:
    if not depth:
        raise InvalidParameter("to_dict", "event", "nested less deeply", type(event))
    values = {name: _to_json(value, depth - 1) for name, value in to_fields(event).items()}
    return {"type": type(event).__name__, **values}


def _to_json(value: Any, depth: int) -> Any:
    if isinstance(value, tuple):
        return [_to_json(item, depth) for item in value]
    return _to_dict(value, depth) if type(value) in _CLASSES.values() else value


def _floats(values: Any, name: str) -> Any:
    try:
        return np.array([math.nan if isinstance(value, str) else float(value) for value in values])
    except (TypeError, ValueError, OverflowError):
        raise InvalidParameter("Mixture", name, "an iterable of floats", values) from None


def _set(event: Any, name: str, value: Any) -> None:
    """Store a checked value in a frozen dataclass while it is being made."""
    object.__setattr__(event, name, value)
