"""Private low-rank approximation of sum x x^*, with eigenvalues that are public or released.

Statistic  A = sum over rows of (x - c)(x - c)^*, rows shortened to a radius around c.
Release    A + Gaussian noise (delta > 0) or two-sided Wishart noise (delta = 0); or, with mechanism="exponential",
           Algorithm 1: H with the public eigenvalues and density exp(rate <A, H>), or
           Algorithm 2: the top eigenvalues of A with Laplace noise, then H with those.
Post       the top eigenvectors, with the public eigenvalues or with those that were found, shrunk by what noise adds.
Privacy    docs/privacy/second_moment.md, Theorems 1 and 2; docs/privacy/orbit.md, Theorems 5 and 6.
"""

from typing import Any

import numpy as np

from hushrank.archive.attributes import COLUMNS, Attribute, number_kind
from hushrank.estimators.second_moment.axes import find_axes, shrunk_eigenvalues, sureness
from hushrank.estimators.second_moment.estimator import SecondMomentEstimator
from hushrank.estimators.second_moment.orbit_draw import OrbitSample
from hushrank.estimators.second_moment.plan import MomentPlan
from hushrank.estimators.second_moment.planners import LowRankPlanner
from hushrank.linalg.spectral import gram_of_columns
from hushrank.parameters import DEFAULT_N_MAX


class PrivateLowRank(LowRankPlanner, SecondMomentEstimator):
    """Low-rank approximation of the sum of x x^* over private rows.

    It fits rows and never a ready matrix: only rows have a bound on what one person can change.

    Parameters
    ----------
    rank : int or None, default None
        Rank of the approximation; None takes the number of `eigenvalues`.
    eigenvalues : vector or None, default None
        Public eigenvalues of the approximation, >= 0, chosen without looking at the data: the result is the matrix with
        these eigenvalues that fits the data. None releases eigenvalues as well.
    row_norm : float or None, default None
        Public bound on the norm of a row, chosen without looking at the data. A loose one will do: where rows are
        shortened is found privately, and a bound 100 times too large costs next to nothing. With radius="public", rows
        (after centering) are shortened to it, and noise grows with its square.
        It must be given; the default stands for nothing.
    radius : "private" or "public", default "private"
        "private" finds the norm to which longer rows are shortened with 5 % of the budget (10 % for few rows), as a
        quantile at a public level; the rows are then read at least twice. "public" takes `row_norm`.
    epsilon : float
        Privacy budget, > 0.
    delta : float, default 0.0
        0 asks for pure privacy; more allows Gaussian noise, which is smaller.
    share : float or None, default None
        Part of the budget for the eigenvalues where mechanism="exponential" releases them, and only there; the rest is
        for directions. None takes one half.
    center : None, vector or "private", default None
        What is subtracted from every row: nothing (the second moment), a public real vector, or a mean that is
        estimated privately: its length and a radius first (up to 7 % of the budget), then, where that makes the noise
        smaller, the mean itself (5 to 20 %, as much as its error asks for). Where the budget is too small for that,
        `plan` says so beforehand, and the mean comes from the release of the second moment alone. What the center
        missed is released together with the second moment and subtracted (not with mechanism="exponential").
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
    matrix_ : ndarray of shape (n_features, n_features)
        The approximation of sum (x - c)(x - c)^*: positive semidefinite, of rank at most `rank`.
    eigenvalues_ : ndarray of shape (rank,)
        Those of `matrix_`, in falling order; the public ones if they were given.
    components_ : ndarray of shape (rank, n_features)
        Their eigenvectors as rows v (as columns, v^T); zero where an eigenvalue is.
    noisy_eigenvalues_ : ndarray of shape (rank,)
        With mechanism="exponential" and private eigenvalues only: what the Laplace mechanism released, clipped at 0.
        Those of `matrix_` have a smaller sum where it comes from the real part of a complex draw.
    alignment_ : ndarray of shape (rank,)
        Expected squared cosine of each component with the true direction: 1 is sure, below .5 is mostly noise.
    eigenvalue_interval_ : ndarray of shape (rank, 2)
        95 % intervals of the largest eigenvalues of the sum over the rows as they were shortened, around `center_`.
    n_significant_ : int
        How many of the first components stand above the noise. Of noise alone, one or more would with probability at
        most .05. The last three are computed from the release alone; not with mechanism="exponential".
    radius_ : float
        The norm to which rows were shortened. Only with radius="private".
    center_ : ndarray of shape (n_features,)
        What was subtracted.
    privacy_ : Guarantee
        What this fit promises; print it.
    n_features_in_, feature_names_in_ : the columns of the data

    See Also
    --------
    PrivateCovariance : the mean instead of the sum.

    References
    ----------
    Mangoubi, Wu, Kale, Thakurta, Vishnoi, "Private Matrix Approximation and Geometry of Unitary Orbits", COLT 2022.

    Examples
    --------
    >>> from hushrank.evaluation.synthetic import load_digits
    >>> model = PrivateLowRank(5, row_norm=128.0, epsilon=1.0).fit(load_digits())
    >>> model.matrix_.shape, model.eigenvalues_.shape, model.components_.shape
    ((64, 64), (5,), (5, 64))

    The direction of largest variance, drawn by the exponential mechanism:

    >>> model = PrivateLowRank(eigenvalues=[1.0], row_norm=128.0, epsilon=1.0, mechanism="exponential")
    >>> model.fit(load_digits()).eigenvalues_
    array([1.])
    """

    def __init__(
        self,
        rank: int | None = None,
        *,
        eigenvalues: Any = None,
        row_norm: float | None = None,
        epsilon: float,
        delta: float = 0.0,
        share: float | None = None,
        radius: str = "private",
        center: Any = None,
        center_norm: float | None = None,
        mechanism: str = "auto",
        field: str = "real",
        strategy: str = "auto",
        neighbors: str = "replace",
        n_samples: int | None = None,
        n_max: int = DEFAULT_N_MAX,
        ledger: Any = None,
        random_state: int | None = None,
        engine: Any = None,
        verbose: int = 0,
    ) -> None:
        self.rank = rank
        self.eigenvalues = eigenvalues
        self.row_norm = row_norm
        self.epsilon = epsilon
        self.delta = delta
        self.share = share
        self.radius = radius
        self.center = center
        self.center_norm = center_norm
        self.mechanism = mechanism
        self.field = field
        self.strategy = strategy
        self.neighbors = neighbors
        self.n_samples = n_samples
        self.n_max = n_max
        self.ledger = ledger
        self.random_state = random_state
        self.engine = engine
        self.verbose = verbose

    @property
    def _learns(self) -> dict[str, Attribute]:
        rank = "rank" if self.eigenvalues is None else len(self.eigenvalues)
        values = Attribute(float, (rank,), minimum=0)
        noisy = {"noisy_eigenvalues_": values} if self._is_exponential and self.eigenvalues is None else {}
        return {
            "matrix_": Attribute(number_kind(self._is_complex), (COLUMNS, COLUMNS)),
            "eigenvalues_": values,
            "components_": Attribute(number_kind(self._is_complex), (rank, COLUMNS)),
            **noisy,
            **({} if self._is_exponential else sureness(rank, "eigenvalue_interval_")),
            "center_": self._center_attribute,
            **self._radius_attribute,
        }

    def _fit(self, source: Any, releases: MomentPlan, noise: Any, total: Any) -> dict[str, Any]:
        released = self._release(releases, noise, total, source.columns)  # bound and release
        levels, sample = self._public_levels(), released.matrix  # post-process
        learned: dict[str, Any] = {"center_": released.center}
        if released.radius is not None:
            learned["radius_"] = released.radius
        if isinstance(sample, OrbitSample):
            values, components = np.maximum(sample.values, 0.0), sample.vectors
            learned |= {"noisy_eigenvalues_": sample.levels} if levels is None else {}
        else:
            rank = self._spectrum(releases.n_features).rank
            axes, shrunk = find_axes(released, rank, 1.0), shrunk_eigenvalues(released, 1.0)
            values, components = shrunk[:rank], axes.vectors
            sure = {"alignment_": axes.alignment, "n_significant_": axes.n_significant}
            learned |= {**sure, "eigenvalue_interval_": axes.intervals}
        values = values if levels is None else levels
        components = np.where(values[:, np.newaxis] > 0, components, 0.0)
        matrix = gram_of_columns((components * np.sqrt(values)[:, np.newaxis]).T)
        return {**learned, "matrix_": matrix, "eigenvalues_": values, "components_": components}
