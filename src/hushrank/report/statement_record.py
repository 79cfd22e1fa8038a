"""The exact record in a statement of one release: its guarantee with the event, and the budget that was asked for.

What stands in the fields for people follows from the record: reading a statement compares both.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from hushrank.exceptions import StatementError
from hushrank.privacy import accountant
from hushrank.privacy.claims import check_stated
from hushrank.privacy.events import Event, Gaussian, leaves
from hushrank.privacy.figures import at_least, at_most, show_event
from hushrank.privacy.guarantee import Budget, Guarantee, Unit
from hushrank.privacy.records import from_fields, to_fields
from hushrank.privacy.words import factor_in_words

HASH = re.compile("[0-9a-f]{64}")
"""Of SHA-256."""

_OF_STREAMS = ("Factorization", "TurnstileSketch")
_LONGEST_EVENT = 300  # characters of an event that is shown beside the record, which has all of it


class Record(Protocol):
    """What a statement holds exactly."""

    kind: ClassVar[str]

    @property
    def budget(self) -> Budget:
        """What was asked for, or may be spent."""

    @property
    def event(self) -> Event:
        """What was executed, or charged."""

    @property
    def promise(self) -> Guarantee:
        """What is promised."""

    @property
    def head(self) -> str | None:
        """Hash of the last entry of a ledger."""

    def words(self) -> list[str]:
        """The numbers of the record for people, a line each; the same record gives the same words."""

    def objects(self) -> list[dict[str, Any]]:
        """The record as JSON objects."""

    def check(self) -> None:
        """Raise ValueError unless the record can be true."""


@dataclass(frozen=True, slots=True)
class ModelRecord:
    """The record of one release.

    Attributes
    ----------
    release : str
        Class of what was released.
    promise : Guarantee
    budget : Budget
    file_sha256 : str
        Hash of the model file that is published; empty where nobody told it.
    """

    kind: ClassVar[str] = "model"

    release: str
    promise: Guarantee
    budget: Budget
    file_sha256: str = ""

    @property
    def event(self) -> Event:
        """What was executed."""
        return self.promise.event

    @property
    def head(self) -> str | None:
        """None: a release has no chain."""
        return None

    def words(self) -> list[str]:
        """The guarantee, its event and the budget."""
        given, asked = self.promise, self.budget
        lines = [say_promise(given), *say_gaussian(given.event)]
        lines.append(f"{say_unit(given)} Arithmetic: {given.numerics}.")
        if given.premise:
            lines.append(f"Provided that {given.premise}.")
        event = show_event(given.event)
        if len(event) <= _LONGEST_EVENT:
            lines.append(f"Event: {event}.")
        lines.append(f"Asked for: epsilon = {at_most(asked.epsilon)}, delta = {at_most(asked.delta)}.")
        return [*lines, *([f"SHA-256 of the model file: {self.file_sha256}"] if self.file_sha256 else [])]

    def objects(self) -> list[dict[str, Any]]:
        """One object."""
        budget = {**to_fields(self.budget), "neighbors": str(self.budget.neighbors), "unit": str(self.budget.unit)}
        described = {"release": self.release, "guarantee": self.promise.to_dict(), "budget": budget}
        return [{"kind": self.kind, **described, "file_sha256": self.file_sha256}]

    @classmethod
    def from_objects(cls, objects: Sequence[Mapping[str, Any]]) -> "ModelRecord":
        """The record that was described so, or ValueError."""
        values = objects[0]
        if len(objects) != 1 or values.keys() != {"kind", "release", "guarantee", "budget", "file_sha256"}:
            raise ValueError("its record is not that of a model")
        release, digest = values["release"], values["file_sha256"]
        if not (isinstance(release, str) and isinstance(digest, str) and isinstance(values["budget"], Mapping)):
            raise ValueError("its record is not that of a model")
        budget = Budget(**from_fields(Budget, values["budget"], "Budget"))
        return cls(release, Guarantee.from_dict(values["guarantee"]), budget, digest)

    def check(self) -> None:
        """Raise ValueError unless the guarantee is borne out by its event, within the budget, and may be released."""
        if self.file_sha256 and not HASH.fullmatch(self.file_sha256):
            raise ValueError("the hash of its model file is none")
        if self.promise.reproducible:
            raise ValueError("it is about a release that was made with a seed and MUST NOT BE RELEASED")
        check_stated(self.promise, self.budget)
        self._check_bound()

    def _check_bound(self) -> None:
        """Of a stream the size of what is hidden is told; everything else hides what it hides whole."""
        is_change = self.promise.unit in (Unit.ENTRY, Unit.RANK1, Unit.FROBENIUS) or self.release in _OF_STREAMS
        if (self.promise.bound is None) == is_change:
            raise ValueError(f"its guarantee {'does not say' if is_change else 'says'} how large a change it hides")


def model_record(model: Any, file_sha256: str = "") -> ModelRecord:
    """The record of a fitted model; StatementError for one that must not be released."""
    given, release = model.privacy_, type(model).__name__
    if given.reproducible:
        told = "it was made with a seed, and whoever knows the seed can remove the noise; fit it again without one"
        raise StatementError(f"this {release} MUST NOT BE RELEASED, and gets no statement: {told}.")
    if given.epsilon == math.inf:
        raise StatementError(f"this {release} is NOT private, and gets no statement: nothing is promised to anybody.")
    record = ModelRecord(release, given, model._check_parameters(), file_sha256)
    try:
        record.check()
    except ValueError as error:
        raise StatementError(f"this {release} gets no statement: {error}.") from error
    return record


def say_promise(given: Guarantee) -> str:
    """The numbers of a guarantee, and what they mean for the chance of a result."""
    beyond = f", and beyond that factor by at most {at_most(given.delta)}" if given.delta else ""
    numbers = f"epsilon = {at_most(given.epsilon)}, delta = {at_most(given.delta)}"
    factor = factor_in_words(given.epsilon)
    return f"{numbers}: the chance of any result changes by at most a factor of {factor}{beyond}."


def say_unit(given: Guarantee) -> str:
    """Unit, its bound if it has one, and relation."""
    within = "" if given.bound is None else f" Bound: {at_least(given.bound)}."
    return f"Unit: {given.unit}.{within} Neighbors: {given.neighbors}."


def say_gaussian(event: Event) -> Iterator[str]:
    """What Gaussian releases cost in the two other usual units; nothing for events that hold others."""
    rho = rho_of(event)
    if rho is not None:
        costs = f"mu = {at_most(accountant.mu(event))} of Gaussian, rho = {at_most(rho)} of zero-concentrated"
        yield f"As Gaussian noise: {costs} differential privacy."


def rho_of(event: Event) -> float | None:
    """Cost of Gaussian releases in zero-concentrated differential privacy, mu^2 / 2; None for events of other kinds."""
    counts = leaves(event)
    if not counts or not all(isinstance(leaf, Gaussian) for leaf in counts):
        return None
    mu = accountant.mu(event)
    return max(mu**2 / 2.0, math.ulp(0.0)) if mu else 0.0  # never rounded down to nothing


def parameters_of(given: Guarantee) -> dict[str, float]:
    """The numbers of a guarantee under their names in the registry, as people read them: rounded up to six digits."""
    numbers = {"epsilon": given.epsilon, "delta": given.delta, "rho": rho_of(given.event) if given.delta else None}
    return {name: float(at_most(value)) for name, value in numbers.items() if value is not None}
