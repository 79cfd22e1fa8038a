"""Differentially private low-rank matrix learning with guarantees that hold for every data set."""

from importlib import import_module
from typing import Any

__version__ = "0.1.0.dev0"

# Public name -> module. Importing hushrank does no work: a module is loaded when one of its names is first used.
_PUBLIC = {
    "PrivateCompletion": "hushrank.estimators.completion.estimator",
    "PrivateCovariance": "hushrank.estimators.second_moment.covariance",
    "PrivateLowRank": "hushrank.estimators.second_moment.low_rank",
    "PrivatePCA": "hushrank.estimators.second_moment.pca",
    "load": "hushrank.loading",
    "LocalEngine": "hushrank.engine.local",
    "inspect": "hushrank.data.inspection",
    "Ledger": "hushrank.privacy.ledger",
}

__all__ = ["__version__", *_PUBLIC]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'hushrank' has no attribute {name!r}")
    return getattr(import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
