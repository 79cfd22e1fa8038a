"""Differentially private low-rank matrix learning with guarantees that hold for every data set."""

from typing import Any

from hushrank.registry import PUBLIC, find

__version__ = "0.1.0.dev0"

__all__ = ["__version__", *PUBLIC]


def __getattr__(name: str) -> Any:
    if name not in PUBLIC:
        raise AttributeError(f"module 'hushrank' has no attribute {name!r}")
    return find(name)


def __dir__() -> list[str]:
    return sorted(__all__)
