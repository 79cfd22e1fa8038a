"""Estimators: private releases that are fitted to data, and that scikit-learn's tools can work with.

fit        check parameters -> check the schema of the data -> plan -> charge the ledger -> read, bound and sum the
           data -> release -> post-process (`hushrank.base`). Values never raise.
Imports    this is the only module that imports scikit-learn, and it uses public names only.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, RegressorMixin, TransformerMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import validate_data

from hushrank.base import Attribute, Param, PrivateRelease
from hushrank.data.rows.reading import read_rows
from hushrank.data.source import Source
from hushrank.engine.local import LocalEngine
from hushrank.engine.memory import check_memory, threads_of
from hushrank.engine.protocol import Engine
from hushrank.exceptions import InvalidParameter, NotFitted
from hushrank.privacy.noise.source import NoiseSource

__all__ = [
    "Attribute", "ClassNamePrefixFeaturesOutMixin", "NotFittedEstimator", "Param", "PrivateEstimator",
    "RegressorMixin", "TransformerMixin", "clone",
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
    - `_check_source(source, releases)`, where the schema of the data must fit the plan;
    - `_memory_bytes(source, threads)`, where a fit may not fit into memory: it is refused before the charge;
    - `_noise_probe(releases, sizes)`, how the conformance suite can see the noise of a model (None: not at all).
    """

    _common: ClassVar[Mapping[str, Param]] = {
        **PrivateRelease._common,
        "engine": Param(
            Engine, optional=True, description="an engine such as LocalEngine()", default=None, option=None
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
        X : array, sparse matrix, DataFrame, path of a Parquet, CSV, npy or npz file or of a folder of Parquet files, \
iterator of blocks, or function that returns such an iterator
            Rows of shape (n_samples, n_features). Rows that are not finite count as zero; their number goes to the
            log "hushrank", which is for the data holder only. An iterator is used up even by a fit that is refused.
        y : ignored

        Returns
        -------
        self
        """
        return self._fit_data(X)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        shown: str = BaseEstimator.__repr__(self, N_CHAR_MAX)
        return f"{shown} with {self.privacy_!r}" if hasattr(self, "privacy_") else shown

    def _repr_html_(self) -> str:
        """For notebooks: scikit-learn's picture, and the guarantee in words below it, open."""
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

    def _fit_data(self, *data: Any) -> Self:
        """The life of a fit; what `fit` does with its data."""
        budget, owner = self._check_parameters(), type(self).__name__
        source = self._read(*data)
        releases = self._plan(budget, source.sizes)
        self._check_source(source, releases)
        engine = LocalEngine() if self.engine is None else self.engine
        check_memory(self._memory_bytes(source, threads_of(engine)), owner)
        total = partial(engine.total, source, verbose=self.verbose, label=owner)
        learned = self._execute(budget, releases, lambda noise: self._fit(source, releases, noise, total))
        self._keep({**learned, **self._schema_of(source)})
        return self

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
