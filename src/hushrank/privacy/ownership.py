"""State that has one owner, in one process: noise and budgets must not come twice from one charge.

A copy, a pickle or a forked child holds what its original holds: the same words of a key stream, the same share of a
budget, a log without the releases of the other. So there are none: whoever needs more makes a new one, and pays for it.
"""

import os
from typing import Any, NoReturn

from hushrank.exceptions import StateMisuse

_forks = 0


def _count_fork() -> None:
    global _forks
    _forks += 1


if hasattr(os, "register_at_fork"):  # where processes can fork
    os.register_at_fork(after_in_child=_count_fork)


def current_process() -> tuple[int, int]:
    """Number of this process, and how many forks lie between it and the start of Python.

    The system gives the number of an ended process to a new one, which may be a child of a child; the count differs.
    """
    return os.getpid(), _forks


class SingleOwner:
    """Base of state that works in the process that made it, and cannot be copied or pickled.

    A subclass names itself in `_owned`, says in `_danger` what a second one would do, calls `_take_ownership` where it
    is made and `_check_owner` before it hands anything out: also before it takes a lock, because one that another
    thread held during a fork is never free in the child.
    """

    _owned = "this state"
    _danger = "what it hands out would be handed out twice"
    _misuse: type[StateMisuse] = StateMisuse

    def _take_ownership(self) -> None:
        self._process = current_process()

    def _check_owner(self) -> None:
        """Raise StateMisuse in any other process than the one that made this object."""
        if self._process != current_process():
            raise self._misuse(
                f"this {self._owned} was made before a fork: {self._danger}. Make a new one in the child process."
            )

    def _refuse_copy(self) -> NoReturn:
        raise self._misuse(f"a {self._owned} cannot be copied or pickled: {self._danger}.")

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        self._refuse_copy()

    def __copy__(self) -> NoReturn:
        self._refuse_copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> NoReturn:
        self._refuse_copy()
