"""Private principal component analysis from one noisy second-moment matrix, or by one draw of the components.

Statistic  A = sum over rows of (x - c)(x - c)^*, rows shortened to |x - c| <= row_norm.
Release    A + Gaussian noise (delta > 0) or two-sided Wishart noise (delta = 0); or, with mechanism="exponential", a
           projection P of rank n_components with density exp(rate <A, P>).
Post       the top eigenvectors.
Privacy    docs/privacy/second_moment.md, Theorem 1; docs/privacy/orbit.md, Theorem 5.
"""

from typing import Any

import numpy as np

from hushrank.archive.attributes import COLUMNS, Attribute, number_kind
from hushrank.estimator import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from hushrank.estimators.second_moment.estimator import SecondMomentEstimator
from hushrank.estimators.second_moment.orbit_draw import OrbitSample
from hushrank.estimators.second_moment.plan import SecondMomentPlan
from hushrank.estimators.second_moment.planners import PCAPlanner
from hushrank.linalg.spectral import Matrix, top_eigenpairs
from hushrank.parameters import DEFAULT_N_MAX


class PrivatePCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, PCAPlanner, SecondMomentEstimator):
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
        0 asks for pure privacy; more allows Gaussian noise, which is smaller.
    center : None, vector or "private", default None
        What is subtracted from every row: nothing (components of the second moment), a public real vector, or a mean
        that is estimated privately with 10 % of the budget.
    center_norm : float or None, default None
        With center="private", the public bound on the norm of a row before centering; None takes `row_norm`.
    mechanism : "auto", "gaussian", "wishart" or "exponential", default "auto"
        "auto" takes Gaussian noise if delta > 0 and two-sided Wishart noise if delta = 0. "exponential" draws the
        result itself (delta = 0, idealized numerics); docs/guide/orbit.md says where it is better: for one direction
        of a weak signal, and for complex rows. No choice looks at the data.
    field : "real" or "complex", default "real"
        Of the result; "complex" takes complex rows as well.
    strategy : "auto", "joint" or "sequential", default "auto"
        How the exponential mechanism draws several directions: all at once, or one after the other with a part of
        epsilon each. "joint" is more accurate; "auto" takes it where the slowest data take minutes, which is where the
        number of directions times the cube of the number of columns is at most 10^9.
    neighbors : "replace" or "add_remove", default "replace"
        Data sets are neighbors if one row is replaced, or if one is added or removed. In the second case the number
        of rows is secret as well, and 2 % of the budget buy a noisy one (with mechanism="exponential" only for a
        private center).
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
        On stderr: 1 shows what share is done and the time left, 2 the numbers of rows as well, which are not private.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal rows in falling order of released variance; the entry of largest magnitude in each is positive. With
        mechanism="exponential" their span is released and not their variances: a joint draw has no order by variance.
    explained_variance_ : ndarray of shape (n_components,)
        Released variance along each component, never below 0. Not with mechanism="exponential".
    explained_variance_ratio_ : ndarray of shape (n_components,)
        The same over the released total variance. Not with mechanism="exponential".
    center_ : ndarray of shape (n_features,)
        What `transform` subtracts.
    n_ : int
        Number of rows under "replace", where it is public; a noisy count under "add_remove". Not with
        mechanism="exponential", which has no use for it.
    privacy_ : Guarantee
        What this fit promises; print it.
    n_features_in_, feature_names_in_ : the columns of the data

    See Also
    --------
    PrivateCovariance : the whole matrix.
    PrivateLowRank : directions and eigenvalues of the sum.

    Examples
    --------
    >>> from hushrank.evaluation.synthetic import load_digits
    >>> pca = PrivatePCA(5, row_norm=64.0, epsilon=1.0, delta=1e-6).fit(load_digits())
    >>> pca.components_.shape
    (5, 64)
    >>> pca.privacy_.epsilon <= 1.0, pca.privacy_.numerics
    (True, 'exact')
    """

    def __init__(
        self,
        n_components: int,
        *,
        row_norm: float,
        epsilon: float,
        delta: float = 0.0,
        center: Any = None,
        center_norm: float | None = None,
        mechanism: str = "auto",
        field: str = "real",
        strategy: str = "auto",
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
        self.mechanism = mechanism
        self.field = field
        self.strategy = strategy
        self.neighbors = neighbors
        self.n_max = n_max
        self.ledger = ledger
        self.random_state = random_state
        self.engine = engine
        self.verbose = verbose

    @property
    def _learns(self) -> dict[str, Attribute]:
        drawn = {
            "components_": Attribute(number_kind(self._is_complex), ("n_components", COLUMNS)),
            "center_": self._center_attribute,
        }
        if self._is_exponential:
            return drawn
        variances = Attribute(float, ("n_components",), minimum=0)
        names = ("explained_variance_", "explained_variance_ratio_")
        return {**drawn, **dict.fromkeys(names, variances), "n_": Attribute(int, minimum=1)}

    def _fit(self, source: Any, releases: SecondMomentPlan, noise: Any, total: Any) -> dict[str, Any]:
        released = self._release(releases, noise, total)  # bound and release
        if isinstance(released.matrix, OrbitSample):
            return {"components_": released.matrix.vectors, "center_": released.center}
        values, components = top_eigenpairs(released.matrix, self.n_components)  # post-process
        variances = np.maximum(values, 0.0) / released.n_samples
        # The trace has little noise, but may come out below the variances that were found, or below zero.
        whole = max(
            float(np.trace(released.matrix).real) / released.n_samples, float(variances.sum()), np.finfo(float).tiny
        )
        return {
            "components_": components,
            "explained_variance_": variances,
            "explained_variance_ratio_": variances / whole,
            "center_": released.center,
            "n_": released.n_samples,
        }

    def transform(self, X: Any) -> Matrix:
        """Coordinates of rows along the components.

        They are about the people in `X`, one line each, and no part of the private release.
        """
        new = self._check_new_rows(X)
        directions = self.components_.conj().T
        return np.asarray(new @ directions - self.center_ @ directions)

    def inverse_transform(self, scores: Any) -> Matrix:
        """Rows from their coordinates."""
        self._learned()
        return np.asarray(np.asarray(scores) @ self.components_ + self.center_)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)
