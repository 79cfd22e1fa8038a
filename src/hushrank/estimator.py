"""Estimators: private releases that are fitted to data, and that scikit-learn's tools can work with.

fit        check parameters -> check the schema of the data -> plan -> charge the ledger -> read, bound and sum the
           data -> release -> post-process (`hushrank.base`). Values never raise.
Imports    this is the only module that imports scikit-learn, and it uses public names only.
"""

import itertools
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, RegressorMixin, TransformerMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import validate_data

from hushrank.base import Attribute, Param, PrivateRelease
from hushrank.data.column_counts import cautions_of_names
from hushrank.data.findings import Check, Finding, Look
from hushrank.data.rows.reading import Rows, read_rows
from hushrank.data.source import Source
from hushrank.engine.finding import find_engine, find_folding_engine
from hushrank.engine.local import LocalEngine
from hushrank.engine.memory import check_memory, memory_cautions, threads_of
from hushrank.engine.naming import called, name_of
from hushrank.engine.progress import show_fit
from hushrank.engine.protocol import Engine, PlacingEngine
from hushrank.exceptions import DataWarning, InvalidParameter, NotFitted
from hushrank.privacy.cautions import budget_cautions, people_of, warn_before_charge
from hushrank.privacy.charging import findings_of
from hushrank.privacy.events import together
from hushrank.privacy.guarantee import Budget, Neighbors
from hushrank.privacy.noise.source import NoiseSource

__all__ = [
    "Attribute", "ClassNamePrefixFeaturesOutMixin", "NotFittedEstimator", "Param", "PrivateEstimator",
    "RegressorMixin", "TransformerMixin", "called", "clone", "find_folding_engine",
]  # fmt: skip

Total = Callable[..., Any]


class NotFittedEstimator(NotFitted, NotFittedError):
    """The estimator was asked for a result before `fit`."""


class PrivateEstimator(PrivateRelease, BaseEstimator):
    """Base of all estimators.

    A subclass is a release (`PrivateRelease` says what that states), stores its parameters in `__init__` and nothing
    else, and defines

    - `_fit(source, releases, noise, total)`: bound, release, post-process -> a dict of learned attributes, where
      `total(kernel, public_state)` is the exact sum of an integer kernel over all blocks of the source;
    - `_read(*data)`, where the data are something else than rows of numbers: it gives a `Source`, or takes one;
    - `fit`, where the data are more than `X`: `fit(X, y)` or `fit(X, y, users)` that calls `_fit_data` with all of it;
    - `_look(source, releases)`, what `check` tells the data holder about such data;
    - `_check_source(source, releases)`, where the schema of the data must fit the plan;
    - `_memory_bytes(source, threads)`, where a fit may not fit into memory: it is refused before the charge;
    - `_noise_probe(releases, sizes)`, how the conformance suite can see the noise of a model (None: not at all).
    """

    _common: ClassVar[Mapping[str, Param]] = {
        **PrivateRelease._common,
        "engine": Param(
            Engine,
            words=("dask",),
            optional=True,
            description="an engine such as LocalEngine() or DaskEngine(client)",
            default=None,
            option=None,
        ),
        "verbose": Param(int, minimum=0, default=0, option=None),
    }

    engine: Any
    verbose: int

    def __init__(self) -> None:
        """Estimators store their own parameters."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from private rows and release the result.

        Parameters
        ----------
        X : array, sparse matrix, DataFrame, path or address of a Parquet, CSV, npy or npz file or of a folder of \
Parquet or CSV files, iterator of blocks, function that returns such an iterator, or dask DataFrame or array
            Rows of shape (n_samples, n_features). Rows that are not finite count as zero; their number goes to the
            log "hushrank", which is for the data holder only. An iterator is used up even by a fit that is refused.
        y : ignored

        Returns
        -------
        self
        """
        return self._fit_data(X)

    def check(self, X: Any, y: Any = None) -> Check:
        """Try `fit` on these data without spending anything, and tell the data holder what it would do. NOT PRIVATE.

        What `fit` would refuse before its charge is refused with the same error. Then all data are read once. Nothing
        is charged, no noise is drawn, and the estimator stays as it is.

        Parameters
        ----------
        X, y : as in `fit`
            An iterator is used up.

        Returns
        -------
        check : Check
            Print it, or look at its `findings`; do not publish it.
        """
        return self._check_data(X)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        shown: str = BaseEstimator.__repr__(self, N_CHAR_MAX)
        return f"{shown} with {self.privacy_!r}" if hasattr(self, "privacy_") else shown

    def _repr_html_(self) -> str:
        """What a notebook shows: scikit-learn's diagram of the parameters, and below it the guarantee, open."""
        shown: str = estimator_html_repr(self)
        return shown + self._promise_html()

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True  # values never raise in fit
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "privacy_")

    @property
    def _is_complex(self) -> bool:
        """Whether rows may be complex."""
        return False

    @property
    def _threads(self) -> int:
        """Threads that queries may use: those of the engine."""
        return threads_of(self.engine if isinstance(self.engine, LocalEngine) else LocalEngine())

    @abstractmethod
    def _fit(self, source: Any, releases: Any, noise: NoiseSource, total: Total) -> dict[str, Any]:
        """Learned attributes by name."""

    def _read(self, *data: Any) -> Source:
        """The data, with their schema checked and no value read."""
        (X,) = data
        return read_rows(X, owner=type(self).__name__, allow_complex=self._is_complex)

    def _check_source(self, source: Any, releases: Any) -> None:
        """Refuse data whose public schema does not fit the plan; called before the charge."""

    def _memory_bytes(self, source: Any, threads: int) -> float:
        """Memory that a fit takes beyond the data, with totals for so many threads; 0 where nobody measured it."""
        return 0.0

    def _public_count(self, source: Any) -> int | None:
        """The number of people, where it is public and known without reading a value."""
        stated = getattr(self, "n_users", getattr(self, "n_samples", None))
        is_public = self.neighbors == Neighbors.REPLACE
        return stated if stated is not None or not is_public else source.n_samples

    def _look(self, source: Any, releases: Any) -> Look:
        """Counts and findings of all data, for `check` alone; nothing where nobody says what to look for."""
        return Look(dict(source.sizes))

    def _prepare(self, budget: Budget, *data: Any) -> tuple[Any, Any, Any]:
        """All that comes before the charge: source of the data, releases, engine; or a refusal."""
        owner = type(self).__name__
        source = self._read(*data)
        releases = self._plan(budget, source.sizes)
        self._check_source(source, releases)
        if source.n_samples == 0 and budget.neighbors is Neighbors.REPLACE:  # public, as the number of people is
            requirement = "data of at least one person (none are released under neighbors='add_remove' only)"
            raise InvalidParameter(owner, "X", requirement, "none: a header alone, or no rows")
        engine = find_engine(self.engine)
        check_memory(self._memory_bytes(source, threads_of(engine)), owner)
        return source, releases, engine

    def _check_data(self, *data: Any) -> Check:
        """What `check` does with the data of `fit`, in an object of its own: what that keeps for later is let go of."""
        trial = object.__new__(type(self))
        trial.__dict__.update(self.__dict__)
        return trial._try_data(*data)

    def _try_data(self, *data: Any) -> Check:
        budget = self._check_parameters()
        source, releases, engine = self._prepare(budget, *data)
        look = self._look(source, releases)
        sizes = {name: size for name, size in {**source.sizes, **look.counts}.items() if name in self._sizes}
        cautions = [*budget_cautions(budget, people_of(look.counts)), *self._cautions(source, engine)]
        findings = [*look.findings, *(Finding("warning", "caution", text) for text in cautions)]
        event = together(step.event for step in releases.steps())
        findings += [Finding(*told) for told in findings_of(self.ledger, event, budget, self._unit)]
        notes, resources = [], {}
        if set(sizes) == set(self._sizes) and min(sizes.values()) > 0:
            plan = self.plan(**sizes)
            notes = [note for note in plan.notes if note not in cautions]
            known = {**sizes, **look.counts, "n_threads": threads_of(engine)}
            resources = {**plan.resources, **self._resources(releases, known)}
        findings += [Finding("note", "plan", note) for note in notes]
        nouns = {name: line.option for name, line in self._sizes.items() if line.option}
        return Check(type(self).__name__, look.counts, tuple(findings), resources, nouns)

    def _cautions(self, source: Any, engine: Any) -> Iterator[str]:
        """What speaks against a fit, from public facts alone: names of columns, and memory."""
        yield from cautions_of_names(source.columns or (), "row" if isinstance(source, Rows) else "record")
        yield from memory_cautions(self._memory_bytes(source, threads_of(engine)))

    def _fit_data(self, *data: Any) -> Self:
        """The life of a fit; what `fit` does with its data."""
        budget, owner = self._check_parameters(), type(self).__name__
        with show_fit(owner, self.verbose, n_is_secret=budget.neighbors is Neighbors.ADD_REMOVE):
            source, releases, engine = self._prepare(budget, *data)
            warn_before_charge(budget, self._public_count(source))
            for caution in self._cautions(source, engine):
                warnings.warn(caution, DataWarning, stacklevel=3)
            source = engine.place(source, owner) if isinstance(engine, PlacingEngine) else source
            total = self._named_total(engine, source)
            learned = self._execute(budget, releases, lambda noise: self._fit(source, releases, noise, total))
        self._keep({**learned, **self._schema_of(source)})
        return self

    def _named_total(self, engine: Engine, source: Source) -> Total:
        """Exact sums over the source, each of which tells the engine what it is for and the how manieth it is."""
        passes, owner = itertools.count(1), type(self).__name__

        def total(kernel: Any, public_state: Any) -> Any:
            label = f"{owner}: {name_of(kernel, public_state)} ({next(passes)})"
            return engine.total(source, kernel, public_state, verbose=self.verbose, label=label)

        return total

    def _schema_of(self, source: Source) -> dict[str, Any]:
        """The public schema of the data, under scikit-learn's names."""
        schema: dict[str, Any] = {name: source.sizes[size] for name, size in self._schema.items()}
        if source.columns is not None:
            schema["feature_names_in_"] = np.asarray(source.columns, object)
        return schema

    def _not_fitted(self) -> NotFitted:
        return NotFittedEstimator(f"this {type(self).__name__} is not fitted yet; call fit first.")

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
