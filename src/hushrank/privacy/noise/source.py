"""Where a release gets its noise: one fresh key stream per event, and a log of the events executed."""

import hashlib
import os
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NoReturn

from hushrank.exceptions import InvalidParameter, KeystreamMisuse
from hushrank.privacy import accountant
from hushrank.privacy.events import Event, check_event, together
from hushrank.privacy.guarantee import NUMERICS, Budget, Guarantee, Neighbors, parse_neighbors
from hushrank.privacy.noise.keystream import Keystream
from hushrank.privacy.parameters import check_integer


@dataclass(frozen=True, slots=True)
class _Release:
    event: Event
    neighbors: Neighbors
    numerics: str


class NoiseSource:
    """Hands a fresh key stream to every release and remembers which events were executed.

    Noise cannot be drawn without naming the event that is being executed, so the log is complete.

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

    def __init__(self, seed: int | None = None) -> None:
        self._root: bytes | None = None
        if seed is not None:
            number = check_integer(seed, "seed", "NoiseSource", minimum=0)
            self._root = hashlib.sha256(b"hushrank seed %d" % number).digest()
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._log: list[_Release] = []

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
        owner = "NoiseSource.begin"
        if numerics not in NUMERICS:
            raise InvalidParameter(owner, "numerics", "'exact' or 'idealized'", numerics)
        release = _Release(check_event(event, owner), parse_neighbors(neighbors, owner), numerics)
        with self._lock:
            stream = self._fresh_stream(len(self._log))
            self._log.append(release)
        return stream

    def is_within(self, planned: Iterable[Event]) -> bool:
        """Whether the releases so far, of which a filter may have chosen one after another, cost at most the plan."""
        owner = "NoiseSource.is_within"
        return accountant.squared_mu(together(self.executed), owner) <= accountant.squared_mu(together(planned), owner)

    def guarantee(self, budget: Budget, planned: Event | None = None) -> Guarantee:
        """What all releases so far give together, at the delta of `budget` and under its relation and unit.

        Everything else comes from the log: the events, whether the arithmetic is covered, whether a seed was used.
        Where the releases were chosen one after another, the event is the one that was `planned` for all of them:
        composition of what was executed holds for events that are fixed beforehand.
        """
        made_for = {release.neighbors for release in self._log} - {budget.neighbors}
        if made_for:
            requirement = f"the relation that the noise was made for, {' and '.join(sorted(made_for))}"
            raise InvalidParameter("NoiseSource.guarantee", "neighbors", requirement, budget.neighbors.value)
        numerics = "idealized" if any(release.numerics == "idealized" for release in self._log) else "exact"
        event = together(self.executed) if planned is None else planned
        return accountant.guarantee(event, budget, numerics=numerics, reproducible=self.reproducible)

    def _fresh_stream(self, release: int) -> Keystream:
        if self._root is None:
            return Keystream()
        if os.getpid() != self._pid:
            raise KeystreamMisuse("this seeded noise source was made before a fork: the noise would repeat.")
        return Keystream.from_key(
            hashlib.sha256(b"hushrank release" + self._root + release.to_bytes(8, "big")).digest()
        )

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise KeystreamMisuse("a noise source cannot be copied or pickled: the copy would repeat the noise.")

    def __copy__(self) -> NoReturn:
        self.__reduce_ex__(2)

    def __deepcopy__(self, memo: dict[int, Any]) -> NoReturn:
        self.__reduce_ex__(2)
