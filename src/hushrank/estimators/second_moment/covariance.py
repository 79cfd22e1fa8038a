"""Private covariance matrix, whole or of low rank, from one noisy second-moment matrix, or by a draw of one.

Statistic  A = sum over rows of (x - c)(x - c)^*, rows shortened to a radius around c.
Release    A + Gaussian noise (delta > 0) or two-sided Wishart noise (delta = 0); or, with mechanism="exponential", the
           eigenvalues of A with Laplace noise and a matrix H that has them, with density exp(rate <A, H>).
Post       division by n, and eigenvalues shrunk by what the noise adds to them, as many as the rank asked for.
Privacy    docs/privacy/second_moment.md, Theorems 1 and 2; docs/privacy/orbit.md, Theorem 6.
"""

from typing import Any

import numpy as np

from hushrank.archive.attributes import COLUMNS, Attribute, number_kind
from hushrank.estimators.second_moment.axes import column_units, find_axes, shrunk_matrix, sureness, to_correlations
from hushrank.estimators.second_moment.estimator import SecondMomentEstimator
from hushrank.estimators.second_moment.orbit_draw import OrbitSample
from hushrank.estimators.second_moment.plan import MomentPlan
from hushrank.estimators.second_moment.planners import CovariancePlanner
from hushrank.linalg.spectral import all_eigenvalues, project_psd
from hushrank.parameters import DEFAULT_N_MAX


class PrivateCovariance(CovariancePlanner, SecondMomentEstimator):
    """Covariance, or second moment, of private rows.

    Parameters
    ----------
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
    rank : int or None, default None
        Rank of `covariance_`; None keeps every direction of positive variance.
    center : None, vector or "private", default None
        What is subtracted from every row: nothing (second moment), a public real vector, or a mean that is estimated
        privately: its length and a radius first (up to 7 % of the budget), then, where that makes the noise smaller,
        the mean itself (5 to 20 %, as much as its error asks for). Where the budget is too small for that, `plan` says
        so beforehand, and the mean comes from the release of the second moment alone. What the center missed is
        released together with the second moment and subtracted.
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
        "after" divides by the released deviation of each column: `covariance_` becomes the correlation matrix, at no
        cost. "private" buys scales of the columns before (10 % of the budget, and 2.5 % for a radius), for bounds that
        are guesses, and divides after as well.
    neighbors : "replace" or "add_remove", default "replace"
        Data sets are neighbors if one row is replaced, or if one is added or removed. In the second case the number
        of rows is secret as well, and 2 % of the budget buy a noisy one.
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
    covariance_ : ndarray of shape (n_features, n_features)
        (1/n) sum (x - c)(x - c)^T, in the units of the data, from `released_` with its eigenvalues shrunk toward what
        they were before the noise: positive semidefinite, of no larger trace. With `standardize`, the correlations.
    eigenvalues_ : ndarray of shape (n_features,) or (rank,)
        Those of `covariance_`, in falling order.
    released_ : ndarray of shape (n_features, n_features)
        The same before anything is shrunk: noise of mean zero, so averages of several are unbiased. With
        mechanism="exponential", the matrix that was drawn, or its real part.
    alignment_ : ndarray of shape (n_features,) or (rank,)
        Expected squared cosine of each eigenvector of `released_` with the true direction: 1 is sure, below .5 is
        mostly noise.
    eigenvalue_interval_ : ndarray of shape (n_features or rank, 2)
        95 % intervals of the largest eigenvalues of the matrix of the rows as they were shortened, around `center_`.
    n_significant_ : int
        How many of the first eigenvectors stand above the noise. Of noise alone, one or more would with probability at
        most .05. The last three are computed from the release alone; not with mechanism="exponential".
    radius_ : float
        The norm to which rows were shortened, in half widths of `column_bounds` if there are any. Only with
        radius="private".
    scale_ : ndarray of shape (n_features,)
        Released deviations of the columns. Only with `standardize`.
    center_ : ndarray of shape (n_features,)
        What was subtracted.
    n_ : int
        Number of rows under "replace", where it is public; a noisy count under "add_remove".
    privacy_ : Guarantee
        What this fit promises; print it.
    n_features_in_, feature_names_in_ : the columns of the data

    See Also
    --------
    PrivatePCA : the top eigenvectors only, from the same release.
    PrivateLowRank : the sum instead of the mean, and public eigenvalues.

    Examples
    --------
    >>> from hushrank.evaluation.synthetic import load_digits
    >>> model = PrivateCovariance(row_norm=128.0, epsilon=1.0, rank=10).fit(load_digits())
    >>> model.covariance_.shape, model.eigenvalues_.shape
    ((64, 64), (10,))
    """

    def __init__(
        self,
        *,
        row_norm: float | None = None,
        epsilon: float,
        delta: float = 0.0,
        rank: int | None = None,
        radius: str = "private",
        center: Any = None,
        center_norm: float | None = None,
        mechanism: str = "auto",
        field: str = "real",
        strategy: str = "auto",
        column_bounds: Any = None,
        standardize: str | None = None,
        neighbors: str = "replace",
        n_samples: int | None = None,
        n_max: int = DEFAULT_N_MAX,
        ledger: Any = None,
        random_state: int | None = None,
        engine: Any = None,
        verbose: int = 0,
    ) -> None:
        self.row_norm = row_norm
        self.epsilon = epsilon
        self.delta = delta
        self.rank = rank
        self.radius = radius
        self.center = center
        self.center_norm = center_norm
        self.mechanism = mechanism
        self.field = field
        self.strategy = strategy
        self.column_bounds = column_bounds
        self.standardize = standardize
        self.neighbors = neighbors
        self.n_samples = n_samples
        self.n_max = n_max
        self.ledger = ledger
        self.random_state = random_state
        self.engine = engine
        self.verbose = verbose

    @property
    def _learns(self) -> dict[str, Attribute]:
        matrix, size = Attribute(number_kind(self._is_complex), (COLUMNS, COLUMNS)), self._kept
        return {
            "covariance_": matrix,
            "eigenvalues_": Attribute(float, (size,), minimum=0),
            "released_": matrix,
            **({} if self._is_exponential else sureness(size, "eigenvalue_interval_")),
            **({"scale_": Attribute(float, (COLUMNS,), above=0)} if self.standardize is not None else {}),
            "center_": self._center_attribute,
            "n_": Attribute(int, minimum=1),
            **self._radius_attribute,
        }

    @property
    def _kept(self) -> str:
        """The size that says how many eigenvalues there are."""
        return COLUMNS if self.rank is None else "rank"

    def _fit(self, source: Any, releases: MomentPlan, noise: Any, total: Any) -> dict[str, Any]:
        released = self._release(releases, noise, total, source.columns)  # bound and release
        n, d = released.n_samples, releases.n_features  # post-process
        learned: dict[str, Any] = {"center_": released.center, "n_": n}
        if released.radius is not None:
            learned["radius_"] = released.radius
        if isinstance(released.matrix, OrbitSample):
            units = released.gains()
            matrix = released.matrix.matrix() / n / np.outer(units, units)
            covariance, eigenvalues = project_psd(matrix, self.rank)
            return {**learned, "covariance_": covariance, "eigenvalues_": eigenvalues, "released_": matrix}
        units = released.gains() if self.standardize is None else column_units(released)
        if self.standardize is not None:
            learned["scale_"] = units / released.gains()
        rank = d if self.rank is None else self.rank
        axes = find_axes(released, rank, n, None if np.all(units == 1.0) else units)
        covariance = shrunk_matrix(released, self.rank, n) / np.outer(units, units)
        if self.standardize is not None:
            covariance = to_correlations(covariance)
        return {
            **learned,
            "covariance_": covariance,
            "eigenvalues_": np.maximum(all_eigenvalues(covariance)[:rank], 0.0),
            "released_": released.matrix / n / np.outer(units, units),
            "eigenvalue_interval_": axes.intervals,
            "alignment_": axes.alignment,
            "n_significant_": axes.n_significant,
        }
