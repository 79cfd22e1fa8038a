"""Private principal component analysis from one noisy second-moment matrix, or by one draw of the components.

Statistic  A = sum over rows of (x - c)(x - c)^*, rows shortened to a radius around c.
Release    A + Gaussian noise (delta > 0) or two-sided Wishart noise (delta = 0); or, with mechanism="exponential", a
           projection P of rank n_components with density exp(rate <A, P>).
Post       the top eigenvectors, and how sure they are.
Privacy    docs/privacy/second_moment.md, Theorems 1 and 2; docs/privacy/orbit.md, Theorem 5.
"""

from typing import Any

import numpy as np

from hushrank.archive.attributes import COLUMNS, Attribute, number_kind
from hushrank.estimator import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from hushrank.estimators.second_moment.axes import column_units, find_axes, sureness
from hushrank.estimators.second_moment.estimator import SecondMomentEstimator
from hushrank.estimators.second_moment.orbit_draw import OrbitSample
from hushrank.estimators.second_moment.plan import MomentPlan
from hushrank.estimators.second_moment.planners import PCAPlanner
from hushrank.linalg.spectral import Matrix
from hushrank.parameters import DEFAULT_N_MAX


class PrivatePCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, PCAPlanner, SecondMomentEstimator):
    """Principal components of private rows.

    Parameters
    ----------
    n_components : int
        Number of components, at most the number of columns.
    row_norm : float or None, default None
        Public bound on the norm of a row, chosen without looking at the data. A loose one will do: where rows are
        shortened is found privately, and a bound 100 times too large costs next to nothing. With radius="public", rows
        (after centering) are shortened to it, and noise grows with its square.
        With `column_bounds` it is in units of their half widths, and None takes sqrt(n_features), which no row exceeds.
    radius : "private" or "public", default "private"
        "private" finds the norm to which longer rows are shortened with 5 % of the budget (10 % for few rows), as a
        quantile at a public level; the rows are then read at least twice. "public" takes `row_norm`.
    epsilon : float
        Privacy budget, > 0.
    delta : float, default 0.0
        0 asks for pure privacy; more allows Gaussian noise, which is smaller.
    center : None, vector or "private", default None
        What is subtracted from every row: nothing (components of the second moment), a public real vector, or a mean
        that is estimated privately: its length and a radius first (up to 7 % of the budget), then, where that makes the
        noise smaller, the mean itself (5 to 20 %, as much as its error asks for). Where the budget is too small for a
        center, none is bought, and `plan` says so beforehand. What the center missed is released together with the
        second moment and subtracted (not with mechanism="exponential").
    center_norm : float or None, default None
        With center="private" and radius="public" (then 10 % of the budget), the public bound on the norm of a row
        before centering; None takes `row_norm`.
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
    column_bounds : pair, array of shape (n_features, 2), dict of names to pairs or None, default None
        Public low and high of each column, in their order or by name, or one pair for all. Entries are clipped to them
        and measured from the middle in half widths, so that columns of different units count alike. Needs
        radius="private".
    standardize : None, "after" or "private", default None
        "after" divides by the released deviation of each column: components of the correlation matrix, at no cost.
        "private" buys scales of the columns before (10 % of the budget, and 2.5 % for a radius), for bounds that are
        guesses, and divides after as well.
    select_columns : None or "private", default None
        "private" chooses at most 2000 columns with the largest sums of magnitudes (20 % of the budget, and 1 to 5 % for
        a radius): for wide tables, such as words or clicks, of which most columns are nearly empty. Components are zero
        in all others, and no matrix of all columns is ever made.
    neighbors : "replace" or "add_remove", default "replace"
        Data sets are neighbors if one row is replaced, or if one is added or removed. In the second case the number
        of rows is secret as well, and 2 % of the budget buy a noisy one (with radius="public" and
        mechanism="exponential" only for a private center).
    n_samples : int or None, default None
        Public number of rows, or a guess of it, that the shares of the budget follow from. None takes the number of
        rows, which is public under "replace"; under "add_remove" a noisy count, which is bought.
    n_max : int, default 2**26
        Public bound on the number of rows.
    ledger : account of a ledger, optional
        Charged with the planned event before any noise is drawn, e.g. ``Ledger("budget.db")["patients"]``.
    random_state : int or None, default None
        None draws keys from the operating system. A seed makes the model repeatable and therefore not releasable:
        `privacy_` says so.
    engine : LocalEngine, DaskEngine, "dask" or None, default None
        Where sums over rows are computed; None uses all cores. The result has the same bits for any engine.
    verbose : int, default 0
        On stderr: 1 shows what share is done and the time left, 2 the numbers of rows as well, which are not private.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal rows in falling order of released variance; the entry of largest magnitude in each is positive. With
        mechanism="exponential" their span is released and not their variances: a joint draw has no order by variance.
    explained_variance_ : ndarray of shape (n_components,)
        Expected variance along each component of the rows as they were shortened, without what the noise adds; never
        below 0. Not with mechanism="exponential".
    explained_variance_ratio_ : ndarray of shape (n_components,)
        The same over the released total variance. Not with mechanism="exponential".
    alignment_ : ndarray of shape (n_components,)
        Expected squared cosine of each component with the true direction: 1 is sure, below .5 is mostly noise.
    explained_variance_interval_ : ndarray of shape (n_components, 2)
        95 % intervals of the largest variances of the rows as they were shortened, around `center_`.
    n_significant_ : int
        How many of the first components stand above the noise. Of noise alone, one or more would with probability at
        most .05. The last three are computed from the release alone; not with mechanism="exponential".
    radius_ : float
        The norm to which rows were shortened, in the units of `scale_`. Only with radius="private".
    scale_ : ndarray of shape (n_features,)
        What columns are divided by before they are multiplied by components. Only with `column_bounds` or
        `standardize`.
    selected_columns_ : ndarray of int
        Numbers of the columns that were chosen. Only with `select_columns`.
    center_ : ndarray of shape (n_features,)
        What `transform` subtracts.
    n_ : int
        Number of rows under "replace", where it is public; a noisy count under "add_remove". Not with
        mechanism="exponential".
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
    >>> pca = PrivatePCA(5, row_norm=128.0, center="private", epsilon=1.0, delta=1e-6).fit(load_digits())
    >>> pca.components_.shape, pca.alignment_.shape
    ((5, 64), (5,))
    >>> pca.privacy_.epsilon <= 1.0, pca.privacy_.numerics
    (True, 'exact')
    """

    def __init__(
        self,
        n_components: int,
        *,
        row_norm: float | None = None,
        epsilon: float,
        delta: float = 0.0,
        radius: str = "private",
        center: Any = None,
        center_norm: float | None = None,
        mechanism: str = "auto",
        field: str = "real",
        strategy: str = "auto",
        column_bounds: Any = None,
        standardize: str | None = None,
        select_columns: str | None = None,
        neighbors: str = "replace",
        n_samples: int | None = None,
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
        self.radius = radius
        self.center = center
        self.center_norm = center_norm
        self.mechanism = mechanism
        self.field = field
        self.strategy = strategy
        self.column_bounds = column_bounds
        self.standardize = standardize
        self.select_columns = select_columns
        self.neighbors = neighbors
        self.n_samples = n_samples
        self.n_max = n_max
        self.ledger = ledger
        self.random_state = random_state
        self.engine = engine
        self.verbose = verbose

    @property
    def _learns(self) -> dict[str, Attribute]:
        has_scale = self.column_bounds is not None or self.standardize is not None
        columns = {"selected_columns_": Attribute(int | str, (range(1, 2**31),))} if self.select_columns else {}
        drawn = {
            "components_": Attribute(number_kind(self._is_complex), ("n_components", COLUMNS)),
            "center_": self._center_attribute,
            **({"scale_": Attribute(float, (COLUMNS,), above=0)} if has_scale else {}),
            **columns,
            **self._radius_attribute,
        }
        if self._is_exponential:
            return drawn
        variances = Attribute(float, ("n_components",), minimum=0)
        names = ("explained_variance_", "explained_variance_ratio_")
        sure = sureness("n_components", "explained_variance_interval_")
        return {**drawn, **dict.fromkeys(names, variances), **sure, "n_": Attribute(int, minimum=1)}

    def _fit(self, source: Any, releases: MomentPlan, noise: Any, total: Any) -> dict[str, Any]:
        released = self._release(releases, noise, total, source.columns)  # bound and release
        d, frame = releases.n_features, released.frame  # post-process
        learned: dict[str, Any] = {"center_": released.center}
        if released.radius is not None:
            learned["radius_"] = released.radius
        if self.select_columns is not None and frame is not None:
            learned["selected_columns_"] = np.asarray(frame.columns, np.int64)
        units = None if self.standardize is None else column_units(released)
        if "scale_" in self._learns:
            learned["scale_"] = released.to_columns((1.0 if units is None else units) / released.gains(), d, rest=1.0)
        if isinstance(released.matrix, OrbitSample):
            return {**learned, "components_": released.matrix.vectors}
        n = released.n_samples
        axes = find_axes(released, self.n_components, n, units)
        # The trace has little noise, but may come out below the variances that were found, or below zero.
        whole = float(np.sum(np.diagonal(released.matrix).real / (1.0 if units is None else units**2))) / n
        whole = max(whole, float(axes.variances.sum()), np.finfo(float).tiny)
        return {
            **learned,
            "components_": released.to_columns(axes.vectors, d),
            "explained_variance_": axes.variances,
            "explained_variance_ratio_": axes.variances / whole,
            "explained_variance_interval_": axes.intervals,
            "alignment_": axes.alignment,
            "n_significant_": axes.n_significant,
            "n_": n,
        }

    def transform(self, X: Any) -> Matrix:
        """Coordinates of rows along the components.

        They are about the people in `X`, one line each, and no part of the private release.
        """
        new = self._check_new_rows(X)
        directions = (self.components_ / getattr(self, "scale_", 1.0)).conj().T
        return np.asarray(new @ directions - self.center_ @ directions)

    def inverse_transform(self, scores: Any) -> Matrix:
        """Rows from their coordinates."""
        self._learned()
        return np.asarray(np.asarray(scores) @ self.components_ * getattr(self, "scale_", 1.0) + self.center_)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)
