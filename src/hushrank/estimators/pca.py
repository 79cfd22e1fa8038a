"""Private principal component analysis from one noisy second-moment matrix.

Statistic  A = sum over rows of (x - c)(x - c)^T, rows shortened to |x - c| <= row_norm.
Release    A + symmetric Gaussian noise (delta > 0) or two-sided Wishart noise (delta = 0).
Post       the top eigenvectors.
Privacy    docs/privacy/second_moment.md, Theorem 1.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hushrank.base import ClassNamePrefixFeaturesOutMixin, Param, TransformerMixin
from hushrank.estimators.second_moment import SecondMomentEstimator, SecondMomentReleases
from hushrank.exceptions import InvalidParameter
from hushrank.linalg.spectral import top_eigenpairs
from hushrank.privacy.guarantee import Budget
from hushrank.privacy.parameters import DEFAULT_N_MAX


class PrivatePCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, SecondMomentEstimator):
    """Principal components of private rows.

    Parameters
    ----------
    n_components : int
        Number of components, at most the number of columns.
    row_norm : float
        Public bound on the norm of a row after centering; longer rows are shortened to it. Choose it without
        looking at the data: it has no default because a bound read off the data would leak.
    epsilon : float
        Privacy budget, > 0.
    delta : float, default 0.0
        0 asks for pure privacy and two-sided Wishart noise; more allows the smaller Gaussian noise.
    center : None, vector or "private", default None
        What is subtracted from every row: nothing (components of the second moment), a public vector, or a mean
        that is estimated privately with 10 % of the budget.
    center_norm : float or None, default None
        With center="private", the public bound on the norm of a row before centering; None takes `row_norm`.
    neighbors : "replace" or "add_remove", default "replace"
        Data sets are neighbors if one row is replaced, or if one is added or removed. In the second case the number
        of rows is secret as well, and 2 % of the budget buy a noisy one.
    n_max : int, default 2**26
        Public bound on the number of rows.
    ledger : account of a ledger, optional
        Charged with the planned event before any noise is drawn, e.g. ``Ledger("budget.db")["patients"]``.
    random_state : int or None, default None
        None draws keys from the operating system. A seed makes the model repeatable and therefore not releasable:
        `privacy_` says so.
    engine : LocalEngine or None, default None
        Where sums over rows are computed; None uses all cores. The result has the same bits for any engine.
    verbose : int, default 0
        1 shows progress.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal rows in falling order of variance; the entry of largest magnitude in each is positive.
    explained_variance_ : ndarray of shape (n_components,)
        Released variance along each component, never below 0.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        The same over the released total variance.
    center_ : ndarray of shape (n_features,)
        What `transform` subtracts.
    n_ : int
        Number of rows under "replace", where it is public; a noisy count under "add_remove".
    privacy_ : Guarantee
        What this fit promises; print it.
    n_features_in_, feature_names_in_ : the columns of the data

    See Also
    --------
    PrivateCovariance : the whole matrix.

    Examples
    --------
    >>> from hushrank.evaluation.synthetic import load_digits
    >>> pca = PrivatePCA(5, row_norm=64.0, epsilon=1.0, delta=1e-6).fit(load_digits())
    >>> pca.components_.shape
    (5, 64)
    >>> pca.privacy_.epsilon <= 1.0, pca.privacy_.numerics
    (True, 'exact')
    """

    _learns = ("components_", "explained_variance_", "explained_variance_ratio_", "center_", "n_")
    _params: ClassVar[Mapping[str, Param]] = {"n_components": Param(int, minimum=1), **SecondMomentEstimator._params}

    def __init__(
        self,
        n_components: int,
        *,
        row_norm: float,
        epsilon: float,
        delta: float = 0.0,
        center: Any = None,
        center_norm: float | None = None,
        neighbors: str = "replace",
        n_max: int = DEFAULT_N_MAX,
        ledger: Any = None,
        random_state: int | None = None,
        engine: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.row_norm = row_norm
        self.epsilon = epsilon
        self.delta = delta
        self.center = center
        self.center_norm = center_norm
        self.neighbors = neighbors
        self.n_max = n_max
        self.ledger = ledger
        self.random_state = random_state
        self.engine = engine
        self.verbose = verbose

    def _plan(self, budget: Budget, n_features: int) -> SecondMomentReleases:
        if self.n_components > n_features:
            requirement = f"at most the number of columns, {n_features}"
            raise InvalidParameter(type(self).__name__, "n_components", requirement, self.n_components)
        return super()._plan(budget, n_features)

    def _fit(self, rows: Any, releases: SecondMomentReleases, noise: Any, total: Any) -> dict[str, Any]:
        released = self._release(releases, noise, total)  # bound and release
        values, components = top_eigenpairs(released.matrix, self.n_components)  # post-process
        variances = np.maximum(values, 0.0) / released.n_samples
        # The trace has little noise, but may come out below the variances that were found, or below zero.
        whole = max(float(np.trace(released.matrix)) / released.n_samples, float(variances.sum()), np.finfo(float).tiny)
        return {
            "components_": components,
            "explained_variance_": variances,
            "explained_variance_ratio_": variances / whole,
            "center_": released.center,
            "n_": released.n_samples,
        }

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Coordinates of rows along the components.

        They are about the people in `X`, one line each, and no part of the private release.
        """
        new = self._check_new_rows(X)
        return np.asarray(new @ self.components_.T - self.center_ @ self.components_.T)

    def inverse_transform(self, scores: Any) -> NDArray[np.float64]:
        """Rows from their coordinates."""
        self._learned()
        return np.asarray(np.asarray(scores, np.float64) @ self.components_ + self.center_)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)
