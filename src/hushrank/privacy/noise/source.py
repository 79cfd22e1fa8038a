"""Where a release gets its noise: one fresh key stream per event, and a log of the events executed."""

import hashlib
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from hushrank.exceptions import InvalidParameter, KeystreamMisuse, PlanBroken
from hushrank.parameters import check_integer
from hushrank.privacy import accountant
from hushrank.privacy.events import Event, Gaussian, Pure, check_event, leaves, together
from hushrank.privacy.guarantee import NUMERICS, Budget, Guarantee, Neighbors, parse_neighbors
from hushrank.privacy.noise.keystream import Keystream
from hushrank.privacy.ownership import SingleOwner


@dataclass(frozen=True, slots=True)
class _Release:
    event: Event
    neighbors: Neighbors
    numerics: str


class NoiseSource(SingleOwner):
    """Hands a fresh key stream to every release and remembers which events were executed.

    Noise cannot be drawn without naming the event that is being executed, so the log is complete. It would not be with
    a second log: a source cannot be copied or pickled, and a forked child can neither draw from the source of its
    parent nor state its guarantee.

    Parameters
    ----------
    seed : int >= 0 or None, default None
        None takes every key from the operating system. A seed makes all draws repeatable and sets `reproducible`:
        such a result is for tests and teaching, because whoever knows the seed can subtract the noise.

    Examples
    --------
    >>> from hushrank.privacy.events import Pure
    >>> noise = NoiseSource(seed=7)
    >>> words = noise.begin(Pure(0.5), Neighbors.REPLACE).words(2)
    >>> noise.executed
    (Pure(epsilon=0.5, bounded_range=False),)
    >>> noise.guarantee(Budget(1.0)).epsilon
    0.5
    """

    _owned, _danger, _misuse = "noise source", "one charge would pay for two releases", KeystreamMisuse

    def __init__(self, seed: int | None = None) -> None:
        self._root: bytes | None = None
        if seed is not None:
            number = check_integer(seed, "seed", "NoiseSource", minimum=0)
            self._root = hashlib.sha256(b"hushrank seed %d" % number).digest()
        self._take_ownership()
        self._lock = threading.Lock()
        self._log: list[_Release] = []
        self._repeated: set[tuple[int, int]] = set()

    @property
    def reproducible(self) -> bool:
        """Whether the keys come from a seed rather than from the operating system."""
        return self._root is not None

    @property
    def executed(self) -> tuple[Event, ...]:
        """The events of all releases so far, in order."""
        return tuple(release.event for release in self._log)

    def begin(self, event: Event, neighbors: Neighbors | str, *, numerics: str = "exact") -> Keystream:
        """Log the release that is being made and return a fresh key stream for its noise.

        `neighbors` is the relation under which the noise suffices for `event`; `numerics` is "exact" or "idealized".
        """
        self._check_owner()  # before the lock
        owner = "NoiseSource.begin"
        if numerics not in NUMERICS:
            raise InvalidParameter(owner, "numerics", "'exact' or 'idealized'", numerics)
        release = _Release(check_event(event, owner), parse_neighbors(neighbors, owner), numerics)
        with self._lock:
            stream = self._fresh_stream(len(self._log))
            self._log.append(release)
        return stream

    def begin_again(
        self, number: int, part: int, event: Event, neighbors: Neighbors | str, *, numerics: str = "exact"
    ) -> Keystream:
        """A fresh key stream for a release that is in the log, made once more for another part of the people.

        Nobody may be in two parts: then it costs nothing that the log does not have (docs/privacy/personalization.md,
        Theorem 3). `number` counts releases from 0; a part, counted from 1, can repeat each of them once.
        """
        self._check_owner()
        owner = "NoiseSource.begin_again"
        release = _Release(check_event(event, owner), parse_neighbors(neighbors, owner), numerics)
        with self._lock:
            is_new = part >= 1 and (number, part) not in self._repeated
            if not (is_new and 0 <= number < len(self._log) and self._log[number] == release):
                raise PlanBroken(f"part {part} repeats a release that was not made, or repeats it again: {event}.")
            self._repeated.add((number, part))
            return self._fresh_stream(number, part)

    def check_cap(self, planned: Iterable[Event]) -> None:
        """Refuse a plan that no filter can keep with InvalidParameter, before anything is charged or released."""
        self._check_owner()
        _covers(together(planned), together(()))

    def is_within(self, planned: Iterable[Event]) -> bool:
        """Whether the releases so far, of which a filter may have chosen one after another, cost at most the plan.

        The plan of such a fit is its guarantee, so it must be one that a filter can keep: Gaussian releases, or a
        single pure one that is not of bounded range.
        """
        self._check_owner()
        return _covers(together(planned), together(self.executed))

    def guarantee(self, budget: Budget, planned: Event | None = None) -> Guarantee:
        """What all releases so far give together, at the delta of `budget` and under its relation and unit.

        Everything else comes from the log: the events, whether the arithmetic is covered, whether a seed was used.
        Where the releases were chosen one after another, the event is the one that was `planned` for all of them:
        composition of what was executed holds for events that are fixed beforehand. A plan that does not cover them
        is refused with PlanBroken.
        """
        self._check_owner()
        log = tuple(self._log)
        made_for = {release.neighbors for release in log} - {budget.neighbors}
        if made_for:
            requirement = f"the relation that the noise was made for, {' and '.join(sorted(made_for))}"
            raise InvalidParameter("NoiseSource.guarantee", "neighbors", requirement, budget.neighbors.value)
        executed = together(release.event for release in log)
        if planned is not None and planned != executed and not _covers(planned, executed):
            raise PlanBroken(f"the plan {planned} does not cover what was executed, {executed}.")
        numerics = "idealized" if any(release.numerics == "idealized" for release in log) else "exact"
        event = executed if planned is None else planned
        return accountant.guarantee(event, budget, numerics=numerics, reproducible=self.reproducible)

    def _fresh_stream(self, release: int, part: int = 0) -> Keystream:
        if self._root is None:
            return Keystream()
        place = release.to_bytes(8, "big") + (b"" if part == 0 else part.to_bytes(8, "big"))
        return Keystream.from_key(hashlib.sha256(b"hushrank release" + self._root + place).digest())


def _covers(planned: Event, executed: Event) -> bool:
    """Whether releases that were chosen one after another cost at most a plan that a filter can keep.

    They are known to be private as one Gaussian release of their sum of mu^2, or as one pure release of their sum of
    epsilons, and no better. Several pure releases, a bounded range, a profile, or pure releases beside Gaussian ones
    have a smaller curve than that sum, which they earn by being fixed beforehand: no plan of chosen ones can be such.
    Proof: docs/privacy/accounting.md, section 8.
    """
    owner = "NoiseSource.is_within"
    plan, made = leaves(planned, owner), leaves(executed, owner)
    if all(isinstance(leaf, Gaussian) for leaf in plan):
        is_known = all(isinstance(leaf, Gaussian | Pure) for leaf in made)
        return is_known and accountant.squared_mu(executed, owner) <= accountant.squared_mu(planned, owner)
    cap = next(iter(plan))
    if isinstance(cap, Pure) and not cap.bounded_range and plan == {cap: 1}:
        spent = accountant.summed_epsilon(made)
        return spent is not None and spent <= Fraction(cap.epsilon)
    requirement = "made of Gaussian releases, or one Pure(epsilon), where releases are chosen one after another"
    raise InvalidParameter(owner, "planned", requirement, planned)
