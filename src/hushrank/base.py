"""What every estimator shares: one order of work in `fit`, one guarantee, one file format.

fit        check parameters -> check the schema of the data -> plan -> charge the ledger -> read, bound and sum
           the data -> release -> post-process -> confirm that the executed events are the planned ones.
Charge     durable before any noise is drawn: a crash after it loses budget, never privacy.
Imports    this is the only module that imports scikit-learn, and it uses public names only.
"""

import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from os import PathLike
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import validate_data

from hushrank.archive.attributes import Attribute
from hushrank.archive.container import read_archive, write_archive
from hushrank.archive.models import NEVER_SAVED, describe_model, restore_model
from hushrank.data.rows.arrays import Rows
from hushrank.data.rows.reading import read_rows
from hushrank.engine.local import Engine, LocalEngine
from hushrank.exceptions import HushrankError, InvalidParameter, PlanBroken
from hushrank.parameters import Param, check_integer, check_parameters
from hushrank.privacy.events import Event, together
from hushrank.privacy.guarantee import Budget, Neighbors, Unit
from hushrank.privacy.noise.source import NoiseSource
from hushrank.privacy.planning import Plan, Step, make_plan
from hushrank.privacy.probes import NoiseProbe

__all__ = [
    "NEVER_SAVED", "Attribute", "ClassNamePrefixFeaturesOutMixin", "NotFitted", "Param", "PrivateEstimator",
    "TransformerMixin", "clone",
]  # fmt: skip


class NotFitted(HushrankError, NotFittedError):
    """The estimator was asked for a result before `fit`."""


@runtime_checkable
class Account(Protocol):
    """What `fit` needs of a ledger; `hushrank.Ledger(path)["name"]` is one."""

    def charge(
        self, event: Event, key: str | None = None, neighbors: Any = None, unit: Any = None, note: str = ""
    ) -> Any:
        """Commit the cost of `event` durably, or raise."""


class Releases(Protocol):
    """What `_plan` returns: the public numbers of all releases of one fit."""

    def steps(self) -> tuple[Step, ...]:
        """The releases in the order of their execution."""


class PrivateEstimator(BaseEstimator, ABC):
    """Base of all estimators.

    A subclass states `_params` (a table of its own parameters), `_learns` (a table of its learned attributes, which may
    depend on its parameters) and `_unit`, stores its parameters in `__init__` and nothing else, and defines

    - `_plan(budget, n_features)`: parameters -> the public numbers of all releases; reads no data;
    - `_fit(rows, releases, noise, total)`: bound, release, post-process -> a dict of learned attributes, where
      `total(kernel, public_state)` is the exact sum of an integer kernel over all blocks of rows;
    - `_forecast(releases, n_samples, n_features)`: the error to expect, from public numbers;
    - `_check_rows(rows, releases)`, where the schema of the data must fit the plan;
    - `_is_complex`, whether rows may be complex (False unless it is overridden);
    - `_read(X)`, where the data are something else than rows of numbers;
    - `_noise_probe(releases, n_features)`, how the conformance suite can see the noise of a model (None: not at all);
    - `_is_adaptive`, True where `_plan` states one Gaussian release as the cap of releases whose shares are chosen
      from released values, by a `GdpFilter`; the executed releases may then cost less than the cap, and the guarantee
      is that of the cap.
    """

    _params: ClassVar[Mapping[str, Param]] = {}
    _unit: ClassVar[Unit] = Unit.ROW
    _is_adaptive: ClassVar[bool] = False
    _common: ClassVar[Mapping[str, Param]] = {
        "epsilon": Param(float, above=0),
        "delta": Param(float, minimum=0, below=1),
        "neighbors": Param(words=tuple(relation.value for relation in Neighbors)),
        "ledger": Param(Account, optional=True, description='an account of a ledger, as Ledger("budget.db")["name"],'),
        "random_state": Param(int, minimum=0, optional=True),
        "engine": Param(Engine, optional=True, description="an engine such as LocalEngine()"),
        "verbose": Param(int, minimum=0),
    }

    @classmethod
    def parameter_table(cls) -> dict[str, Param]:
        """What every parameter must be; the conformance suite makes its tests from it."""
        return {**cls._params, **cls._common}

    def plan(self, shape: tuple[int, int]) -> Plan:
        """Event, noise scales, guarantee and error forecast of a fit, from parameters and public shape alone.

        Parameters
        ----------
        shape : (n_samples, n_features)
            The number of rows serves the forecast only: under "add_remove" give a public guess.
        """
        budget, owner = self._check_parameters(), type(self).__name__
        if not isinstance(shape, tuple) or len(shape) != 2:
            raise InvalidParameter(owner, "shape", "a pair (n_samples, n_features)", shape)
        n_samples = check_integer(shape[0], "n_samples", owner, minimum=1)
        n_features = check_integer(shape[1], "n_features", owner, minimum=1)
        releases = self._plan(budget, n_features)
        return replace(make_plan(budget, *releases.steps()), forecast=self._forecast(releases, n_samples, n_features))

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from private rows and release the result.

        Parameters
        ----------
        X : array, sparse matrix, DataFrame, path of a Parquet, CSV, npy or npz file or of a folder of Parquet files, \
iterator of blocks, or function that returns such an iterator
            Rows of shape (n_samples, n_features). Rows that are not finite count as zero; their number goes to the
            log "hushrank", which is for the data holder only. An iterator is used up even by a fit that is refused.
        y : ignored

        Returns
        -------
        self
        """
        budget, owner = self._check_parameters(), type(self).__name__
        rows = self._read(X)
        releases = self._plan(budget, rows.n_features)
        self._check_rows(rows, releases)
        planned = tuple(step.event for step in releases.steps())
        noise = NoiseSource(self.random_state)
        if self._is_adaptive:
            noise.is_within(planned)  # nothing yet; refuses, before the charge, a plan that no filter can keep
        if self.ledger is not None:
            # The key makes a charge that is retried over a bad connection count once; every fit has its own.
            terms = {"neighbors": budget.neighbors, "unit": self._unit, "note": owner}
            self.ledger.charge(together(planned), key=uuid.uuid4().hex, **terms)
        engine = LocalEngine() if self.engine is None else self.engine
        total = partial(engine.total, rows, verbose=self.verbose, label=owner)
        learned = self._fit(rows, releases, noise, total)
        if not (noise.is_within(planned) if self._is_adaptive else noise.executed == planned):
            raise PlanBroken(f"{owner} planned {planned} and executed {noise.executed}; nothing was kept.")
        if set(learned) != set(self._learns):
            raise PlanBroken(f"{owner} learns {tuple(self._learns)} and returned {tuple(learned)}; nothing was kept.")
        self._learn({**learned, **_schema(rows), "privacy_": noise.guarantee(budget, together(planned))})
        return self

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to one file, without pickle; `hushrank.load` reads it.

        The ledger, the engine and the seed stay behind. The file is replaced as a whole or not at all.
        """
        write_archive(path, *describe_model(self))

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a model of this class that `save` wrote; anything else is refused with ModelFileError."""
        return restore_model(cls, path, *read_archive(path))

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        shown = super().__repr__(N_CHAR_MAX)
        return f"{shown} with {self.privacy_!r}" if hasattr(self, "privacy_") else shown

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True  # values never raise in fit
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "privacy_")

    @property
    @abstractmethod
    def _learns(self) -> Mapping[str, Attribute]:
        """What is learned, by name: kind, shape and limits; a constant of the class, or a property."""

    @property
    def _is_complex(self) -> bool:
        """Whether rows may be complex."""
        return False

    def _read(self, X: Any) -> Rows:
        """The data, with their schema checked and no value read."""
        return read_rows(X, owner=type(self).__name__, allow_complex=self._is_complex)

    @abstractmethod
    def _plan(self, budget: Budget, n_features: int) -> Releases:
        """The public numbers of all releases."""

    @abstractmethod
    def _fit(self, rows: Rows, releases: Any, noise: NoiseSource, total: Callable[..., Any]) -> dict[str, Any]:
        """Learned attributes by name."""

    @abstractmethod
    def _forecast(self, releases: Any, n_samples: int, n_features: int) -> dict[str, float]:
        """The error to expect, from public numbers alone."""

    @abstractmethod
    def _check_rows(self, rows: Rows, releases: Any) -> None:
        """Refuse data whose public schema does not fit the plan; called before the charge."""

    def _noise_probe(self, releases: Any, n_features: int) -> NoiseProbe | None:
        """Data on which a model shows its noise, and how to read it off; None where nothing is said about it."""
        return None

    def _check_parameters(self) -> Budget:
        """Check all parameters against the table and fold the common ones into the budget that is asked for."""
        owner = type(self).__name__
        check_parameters(self.parameter_table(), self.get_params(deep=False), owner)
        if self.ledger is not None and self.random_state is not None:
            requirement = "None where a ledger is charged, because noise from a seed can be subtracted"
            raise InvalidParameter(owner, "random_state", requirement, self.random_state)
        return Budget(float(self.epsilon), float(self.delta), self.neighbors, self._unit)

    def _check_learned(self, learned: Mapping[str, Any]) -> None:
        """Raise ValueError where learned attributes from a file contradict the parameters or each other."""

    def _check_new_rows(self, X: Any) -> Any:
        """New rows, checked by scikit-learn's rules against the columns of the fit; NaN is allowed."""
        self._learned()
        if self._is_complex:  # scikit-learn refuses complex numbers
            return self._check_new_complex_rows(X)
        rules = {"accept_sparse": "csr", "dtype": np.float64, "ensure_all_finite": "allow-nan"}
        return validate_data(self, X, reset=False, **rules)

    def _check_new_complex_rows(self, X: Any) -> Any:
        owner = type(self).__name__
        rows = read_rows(X, owner=owner, allow_complex=True)
        if rows.n_features != self.n_features_in_:
            got = f"{rows.n_features} columns"
            raise InvalidParameter(owner, "X", f"rows of {self.n_features_in_} columns", got)
        names = getattr(self, "feature_names_in_", None)
        if names is not None and rows.columns is not None and tuple(names) != rows.columns:
            raise InvalidParameter(owner, "X", "a table with the columns of the fit, in their order", rows.columns)
        return np.vstack([np.empty((0, rows.n_features), np.complex128), *rows.blocks()])

    def _learned(self) -> dict[str, Any]:
        """Learned attributes by name, or NotFitted."""
        if not hasattr(self, "privacy_"):
            raise NotFitted(f"this {type(self).__name__} is not fitted yet; call fit first.")
        return {name: value for name, value in vars(self).items() if _is_learned(name)}

    def _learn(self, learned: Mapping[str, Any]) -> None:
        """Replace all learned attributes at once, so that no attribute of an earlier fit survives."""
        for name in [name for name in vars(self) if _is_learned(name)]:
            delattr(self, name)
        for name, value in learned.items():
            setattr(self, name, value)


def _is_learned(name: str) -> bool:
    return name.endswith("_") and not name.startswith("_")


def _schema(rows: Rows) -> dict[str, Any]:
    """The public schema of the data, under scikit-learn's names."""
    if rows.columns is None:
        return {"n_features_in_": rows.n_features}
    return {"n_features_in_": rows.n_features, "feature_names_in_": np.asarray(rows.columns, object)}
