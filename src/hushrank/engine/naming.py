"""What a sum is called where people read it, such as in a progress display."""

import re
from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

_NAME = "shown_as"
_VERBS = re.compile(r"^_*(?:sum|count)_")


def called(name: str) -> Callable[[Function], Function]:
    """Give a kernel the name of what is released from its sum, where its own name says something else.

    Examples
    --------
    >>> @called("item means")
    ... def sum_residuals(block, state): ...
    >>> name_of(sum_residuals)
    'item means'
    """

    def mark(kernel: Function) -> Function:
        setattr(kernel, _NAME, name)
        return kernel

    return mark


def name_of(kernel: Any, public_state: Any = None) -> str:
    """The name that a kernel was given, or the words of its own one without the verb.

    A kernel that hands blocks on to another, which comes first in its state, is called like that one.

    Examples
    --------
    >>> def sum_user_means(block, state): ...
    >>> name_of(sum_user_means)
    'user means'
    """
    if isinstance(public_state, tuple) and public_state and callable(public_state[0]):
        return name_of(*public_state[:2])
    given = getattr(kernel, _NAME, None)
    if given is not None:
        return str(given)
    own = getattr(kernel, "__name__", type(kernel).__name__)
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", _VERBS.sub("", own)).lower()
    return " ".join(word for word in apart.split("_") if word)
