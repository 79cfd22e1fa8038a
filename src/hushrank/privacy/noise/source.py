"""Where a release gets its noise: one fresh key stream per event, and a log of the events executed."""

import hashlib
import os
from typing import Any, NoReturn

from hushrank.exceptions import KeystreamMisuse
from hushrank.privacy.events import Event, check_event
from hushrank.privacy.noise.keystream import Keystream
from hushrank.privacy.parameters import check_integer


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
    >>> words = noise.begin(Pure(0.5)).words(2)
    >>> noise.executed
    (Pure(epsilon=0.5, bounded_range=False),)
    """

    def __init__(self, seed: int | None = None) -> None:
        self._root: bytes | None = None
        if seed is not None:
            number = check_integer(seed, "seed", "NoiseSource", minimum=0)
            self._root = hashlib.sha256(b"hushrank seed %d" % number).digest()
        self._pid = os.getpid()
        self._executed: list[Event] = []

    @property
    def reproducible(self) -> bool:
        """Whether the keys come from a seed rather than from the operating system."""
        return self._root is not None

    @property
    def executed(self) -> tuple[Event, ...]:
        """The events of all releases so far, in order."""
        return tuple(self._executed)

    def begin(self, event: Event) -> Keystream:
        """Log `event` and return a fresh key stream for its noise."""
        check_event(event, "NoiseSource.begin")
        if self._root is None:
            stream = Keystream()
        else:
            if os.getpid() != self._pid:
                raise KeystreamMisuse("this seeded noise source was made before a fork: the noise would repeat.")
            release = len(self._executed).to_bytes(8, "big")
            stream = Keystream.from_key(hashlib.sha256(b"hushrank release" + self._root + release).digest())
        self._executed.append(event)
        return stream

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise KeystreamMisuse("a noise source cannot be copied or pickled: the copy would repeat the noise.")

    def __copy__(self) -> NoReturn:
        self.__reduce_ex__(2)

    def __deepcopy__(self, memo: dict[int, Any]) -> NoReturn:
        self.__reduce_ex__(2)
