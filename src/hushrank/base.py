"""What every private release shares: parameters and plan, charge and guarantee, one file format.

Order      check parameters -> plan -> charge the ledger -> work on the data -> confirm that the executed events are
           the planned ones -> keep what was learned, all of it or nothing.
Charge     durable before any noise is drawn: a crash after it loses budget, never privacy.
Floors     estimators that fit data stand on `hushrank.estimator`; objects that are updated and released later stand
           here. This module imports neither scikit-learn nor numba: `hushrank plan` needs no more than it.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, TypeVar

from hushrank.archive.attributes import COLUMNS, Attribute
from hushrank.archive.container import read_archive, write_archive
from hushrank.archive.models import NEVER_SAVED, describe_model, restore_model
from hushrank.exceptions import InvalidParameter, NotFitted, PlanBroken
from hushrank.parameters import Param, check_integer, check_parameters
from hushrank.privacy.cautions import budget_cautions, people_of
from hushrank.privacy.charging import Account, charged
from hushrank.privacy.choosing import Forecasting, Guesses
from hushrank.privacy.events import Event, together
from hushrank.privacy.guarantee import Budget, Guarantee, Neighbors, Unit
from hushrank.privacy.noise.source import NoiseSource
from hushrank.privacy.planning import Plan, Step, make_plan
from hushrank.privacy.words import Promising

if TYPE_CHECKING:  # it needs scipy.stats, which is slow to import
    from hushrank.privacy.probes import NoiseProbe

__all__ = ["NEVER_SAVED", "Account", "Attribute", "Param", "PrivateRelease", "Releases", "Sizes"]

Result = TypeVar("Result")
Sizes = Mapping[str, int]
Work = Callable[[NoiseSource], Mapping[str, Any]]


class Releases(Protocol):
    """What `_plan` returns: the public numbers of everything that will be released."""

    def steps(self) -> tuple[Step, ...]:
        """The releases in the order of their execution."""


class PrivateRelease(Forecasting, Promising, ABC):
    """Base of everything that is released: its parameters, its plan, and what it learned.

    A subclass states `_params` (a table of its own parameters), `_unit`, `_sizes` (public sizes by name, which `plan`
    takes) and defines

    - `_plan(budget, sizes)`: parameters and the sizes of the schema -> the public numbers of all releases;
    - `_forecast(releases, sizes)`: the error to expect, from public numbers.

    One that learns also states `_learns` (a table of its learned attributes, which may depend on its parameters) and
    `_schema` (which learned attributes hold sizes of the data), and calls `_execute` to release; `_repeated` names the
    parameters whose lists a learned attribute repeats, so that a file holds them once. A planner alone, as
    `hushrank plan` makes it, needs no more than the first two.

    `_is_adaptive` is True where `_plan` states one Gaussian release as the cap of releases whose shares are chosen from
    released values by a filter (`hushrank.privacy.adaptive`); the executed releases may then cost less than the cap,
    and the guarantee is that of the cap.
    """

    _params: ClassVar[Mapping[str, Param]] = {}
    _unit: ClassVar[Unit] = Unit.ROW
    _is_adaptive: ClassVar[bool] = False
    _sizes: ClassVar[Mapping[str, Param]] = {
        "n_samples": Param(int, minimum=1, option="rows", help="Number of rows, or a public guess of it."),
        "n_features": Param(int, minimum=1, option="columns", help="Number of columns."),
    }
    _schema: ClassVar[Mapping[str, str]] = {COLUMNS: "n_features"}
    _repeated: ClassVar[Mapping[str, str]] = {}
    _common: ClassVar[Mapping[str, Param]] = {
        "epsilon": Param(float, above=0, help="Privacy budget, > 0."),
        "delta": Param(float, minimum=0, below=1, default=0.0, help="0 asks for pure privacy."),
        "neighbors": Param(
            words=tuple(relation.value for relation in Neighbors),
            default="replace",
            help="Data sets differ by one replaced, or by one added or removed.",
        ),
        "ledger": Param(
            Account,
            optional=True,
            description='an account of a ledger, as Ledger("budget.db")["name"],',
            default=None,
            option=None,
        ),
        "random_state": Param(int, minimum=0, optional=True, default=None, option=None),
    }

    epsilon: float
    delta: float
    neighbors: str
    ledger: Any
    random_state: int | None
    privacy_: Guarantee

    def __init__(self, **parameters: Any) -> None:
        """Store parameters by name; what is not given has the default of the table."""
        table = self.parameter_table()
        missing = [name for name, line in table.items() if line.default is ... and name not in parameters]
        unknown = [name for name in parameters if name not in table]
        if missing or unknown:
            reason = f"needs {missing[0]!r}" if missing else f"has no parameter {unknown[0]!r}"
            raise TypeError(f"{type(self).__name__} {reason}")
        for name, line in table.items():
            setattr(self, name, parameters.get(name, line.default))

    def __repr__(self) -> str:
        table = self.parameter_table()
        values = self._parameters().items()
        given = {name: value for name, value in values if not _is_same(value, table[name].default)}
        shown = f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in given.items())})"
        return f"{shown} with {self.privacy_!r}" if hasattr(self, "privacy_") else shown

    @classmethod
    def parameter_table(cls) -> dict[str, Param]:
        """What every parameter must be; the conformance suite and the command line are made from it.

        A line of the class's own table stands before a common one of the same name.
        """
        return {**cls._params, **{name: line for name, line in cls._common.items() if name not in cls._params}}

    def plan(
        self, shape: tuple[int, ...] | None = None, *, guesses: Guesses = None, workers: int | None = None, **sizes: int
    ) -> Plan:
        """Event, noise scales, guarantee and error forecast of a release, from parameters and public sizes alone.

        Parameters
        ----------
        shape : tuple of int, optional
            All sizes in their order, instead of their names: (n_samples, n_features), or (n_users, n_items).
        guesses : mapping of names to numbers, optional
            For the forecast, public and never from the data: `guess_table` has their names and defaults.
        workers : int, optional
            Of a cluster, each with one thread: time and memory with so many of them are told as well.
        **sizes : int
            The sizes by name. The number of people serves the forecast only: under "add_remove" give a public guess.
        """
        budget, known = self._check_parameters(), self._check_sizes(shape, sizes)
        releases, stated = self._plan(budget, known), self._check_guesses(known, guesses)
        return replace(
            make_plan(budget, *releases.steps()),
            forecast=self._forecast(releases, known, **stated),
            expected=self._expected(releases, known, **stated),
            guesses=self._default_guesses(known) | stated,
            notes=(*budget_cautions(budget, people_of(known)), *self._notes(releases, known)),
            shares=self._shares(releases, known),
            resources=self._resources(releases, known) | self._tell_workers(workers, releases, known, **stated),
        )

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to one file, without pickle; `hushrank.load` reads it.

        The ledger, the engine and the seed stay behind. The file is replaced as a whole or not at all.
        """
        write_archive(path, *describe_model(self))

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a model of this class that `save` wrote; anything else is refused with ModelFileError."""
        return restore_model(cls, path, *read_archive(path))

    @property
    def _learns(self) -> Mapping[str, Attribute]:
        """What is learned, by name: kind, shape and limits; a constant of the class, or a property."""
        raise TypeError(f"{type(self).__name__} does not say what it learns")

    @abstractmethod
    def _plan(self, budget: Budget, sizes: Sizes) -> Releases:
        """The public numbers of all releases; `sizes` has those of the schema at least. Reads no data."""

    @abstractmethod
    def _forecast(self, releases: Any, sizes: Sizes, **guesses: float) -> dict[str, float]:
        """The error to expect, from public numbers and stated guesses of `_guesses` alone."""

    def _notes(self, releases: Any, sizes: Sizes) -> Iterable[str]:
        """What somebody who plans this should know before the charge, from public numbers alone."""
        return ()

    def _shares(self, releases: Any, sizes: Sizes) -> dict[str, float]:
        """What the budget would be spent on, where the shares follow from the number of people."""
        return {}

    def _resources(self, releases: Any, sizes: Sizes) -> dict[str, float]:
        """Memory and time of a fit, by name and unit; nothing where nobody measured them.

        A plan gives public sizes alone. A check, for the data holder, adds what it has counted, and the threads.
        """
        return {}

    def _noise_probe(self, releases: Any, sizes: Sizes) -> "NoiseProbe | None":
        """Data on which a model shows its noise, and how to read it off; None where nothing is said about it."""
        return None

    def _known_sizes(self) -> dict[str, int]:
        """Sizes that the parameters tell."""
        return {}

    def _check_learned(self, learned: Mapping[str, Any]) -> None:  # few have anything to add
        """Raise ValueError where learned attributes from a file contradict the parameters or each other."""

    @classmethod
    def _told_parameters(cls, learned: Mapping[str, Any]) -> dict[str, Any]:
        """Parameters that a file holds as learned attributes alone, or ValueError where these contradict each other."""
        return {}

    def _parameters(self) -> dict[str, Any]:
        """All parameters by name."""
        return {name: getattr(self, name) for name in self.parameter_table()}

    def _check_parameters(self) -> Budget:
        """Check all parameters against the table and fold the common ones into the budget that is asked for."""
        owner, values = type(self).__name__, self._parameters()
        check_parameters(self.parameter_table(), values, owner)
        if self.ledger is not None and self.random_state is not None:
            requirement = "None where a ledger is charged, because noise from a seed can be subtracted"
            raise InvalidParameter(owner, "random_state", requirement, self.random_state)
        return Budget(float(values["epsilon"]), float(values["delta"]), values["neighbors"], self._unit)

    def _check_sizes(self, shape: Any, sizes: Mapping[str, Any]) -> dict[str, int]:
        """All sizes by name, from a shape or by name, with those that the parameters tell."""
        owner, names = type(self).__name__, tuple(self._sizes)
        if shape is not None:
            if not isinstance(shape, tuple) or len(shape) != len(names) or sizes:
                described = f"a tuple ({', '.join(names)}), or None where sizes have names"
                raise InvalidParameter(owner, "shape", described, shape)
            sizes = dict(zip(names, shape, strict=True))
        unknown = [name for name in sizes if name not in names]
        if unknown:
            raise InvalidParameter(owner, unknown[0], f"one of the sizes {', '.join(names)}", sizes[unknown[0]])
        given = {**self._known_sizes(), **sizes}
        return {name: check_integer(given.get(name), name, owner, minimum=1) for name in names}

    def _execute(self, budget: Budget, releases: Releases, work: Work) -> dict[str, Any]:
        """Charge what is planned, let `work` release with a noise source, and confirm that it did as planned.

        Returns what `work` learned and the guarantee; the caller keeps it with `_keep`.
        """
        owner, expected = type(self).__name__, set(self._learns)
        planned = tuple(step.event for step in releases.steps())

        def learn(noise: NoiseSource) -> Mapping[str, Any]:
            learned = work(noise)
            if set(learned) != expected:  # names only: a value may depend on one person, and values never raise
                names = f"learns {tuple(self._learns)} and returned {tuple(learned)}"
                raise PlanBroken(f"{owner} {names}; nothing was kept.")
            return learned

        learned, noise = self._charge_and_run(budget, planned, learn)
        return {**learned, "privacy_": noise.guarantee(budget, together(planned))}

    def _charge_and_run(
        self,
        budget: Budget,
        planned: tuple[Event, ...],
        work: Callable[[NoiseSource], Result],
        noise: NoiseSource | None = None,
    ) -> tuple[Result, NoiseSource]:
        """Charge the planned events, then let `work` draw noise: its result and its noise, if it did as planned.

        An error after the charge carries a note of what was spent.
        """
        noise = NoiseSource(self.random_state) if noise is None else noise
        if self._is_adaptive:
            noise.check_cap(planned)
        with charged(self.ledger, together(planned), budget, self._unit, type(self).__name__):
            result = work(noise)
            if not (noise.is_within(planned) if self._is_adaptive else noise.executed == planned):
                done = f"planned {planned} and executed {noise.executed}"
                raise PlanBroken(f"{type(self).__name__} {done}; nothing was kept.")
        return result, noise

    def _learned(self) -> dict[str, Any]:
        """Learned attributes by name, or NotFitted."""
        if not hasattr(self, "privacy_"):
            raise self._not_fitted()
        return {name: value for name, value in vars(self).items() if _is_learned(name)}

    def _not_fitted(self) -> NotFitted:
        return NotFitted(f"this {type(self).__name__} has released nothing yet.")

    def _keep(self, learned: Mapping[str, Any]) -> None:
        """Replace all learned attributes at once, so that no attribute of an earlier release survives."""
        held = vars(self)
        for name in [name for name in list(held) if _is_learned(name)]:
            held.pop(name, None)  # another thread that fits this object may have been here
        held.update(learned)


def _is_same(value: Any, default: Any) -> bool:
    """Whether a value is the default; arrays and other objects only if they are the very one."""
    is_plain = isinstance(value, str | int | float) and type(value) is type(default)
    return value is default or (is_plain and bool(value == default))


def _is_learned(name: str) -> bool:
    return name.endswith("_") and not name.startswith("_")
