"""What a check works on: a new estimator with the parameters of another, and data whose values cannot be read."""

from collections.abc import Iterator
from typing import Any, Never, TypeVar

from hushrank.base import PrivateRelease
from hushrank.data.source import Source

Release = TypeVar("Release", bound=PrivateRelease)


def fresh(estimator: Release, **changes: Any) -> Release:
    """A new estimator with the same parameters but for `changes`, and nothing learned."""
    return type(estimator)(**{**estimator._parameters(), **changes})


def unreadable(source: Source) -> Source:
    """The source with its schema and no values: reading one fails the check."""

    def blocks(self: Any, max_rows: int = 1) -> Iterator[Any]:
        raise AssertionError("the data were read although they should not be")

    def n_users(self: Any) -> Never:
        raise AssertionError("the users were counted although they should not be")

    hidden = {"blocks": blocks, **({"n_users": property(n_users)} if hasattr(type(source), "n_users") else {})}
    kind = type(f"Unreadable{type(source).__name__}", (type(source),), hidden)
    copy: Source = object.__new__(kind)
    vars(copy).update({name: value for name, value in vars(source).items() if name != "n_users"})
    return copy
