"""Private covariance matrix, whole or of low rank, from one noisy second-moment matrix, or by a draw of one.

Statistic  A = sum over rows of (x - c)(x - c)^*, rows shortened to |x - c| <= row_norm.
Release    A + Gaussian noise (delta > 0) or two-sided Wishart noise (delta = 0); or, with mechanism="exponential", the
           eigenvalues of A with Laplace noise and a matrix H that has them, with density exp(rate <A, H>).
Post       division by n, and the nearest positive semidefinite matrix of the rank asked for.
Privacy    docs/privacy/second_moment.md, Theorem 1; docs/privacy/orbit.md, Theorem 6.
"""

from typing import Any

from hushrank.archive.attributes import COLUMNS, Attribute, number_kind
from hushrank.estimators.second_moment.estimator import SecondMomentEstimator
from hushrank.estimators.second_moment.orbit_draw import OrbitSample
from hushrank.estimators.second_moment.plan import SecondMomentPlan
from hushrank.estimators.second_moment.planners import CovariancePlanner
from hushrank.linalg.spectral import project_psd
from hushrank.parameters import DEFAULT_N_MAX


class PrivateCovariance(CovariancePlanner, SecondMomentEstimator):
    """Covariance, or second moment, of private rows.

    Parameters
    ----------
    row_norm : float
        Public bound on the norm of a row after centering; longer rows are shortened to it. Choose it without
        looking at the data: it has no default because a bound read off the data would leak.
    epsilon : float
        Privacy budget, > 0.
    delta : float, default 0.0
        0 asks for pure privacy; more allows Gaussian noise, which is smaller.
    rank : int or None, default None
        Rank of `covariance_`; None keeps every direction of positive variance.
    center : None, vector or "private", default None
        What is subtracted from every row: nothing (second moment), a public real vector, or a mean that is estimated
        privately with 10 % of the budget.
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
        On stderr: 1 shows what share is done and the time left, 2 the numbers of rows as well, which are not private.

    Attributes
    ----------
    covariance_ : ndarray of shape (n_features, n_features)
        (1/n) sum (x - c)(x - c)^T with noise, positive semidefinite.
    eigenvalues_ : ndarray of shape (n_features,) or (rank,)
        Those of `covariance_`, in falling order.
    released_ : ndarray of shape (n_features, n_features)
        The same before the projection: noise of mean zero, so averages of several are unbiased. With
        mechanism="exponential", the matrix that was drawn, or its real part.
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
    >>> model = PrivateCovariance(row_norm=64.0, epsilon=1.0, rank=10).fit(load_digits())
    >>> model.covariance_.shape, model.eigenvalues_.shape
    ((64, 64), (10,))
    """

    def __init__(
        self,
        *,
        row_norm: float,
        epsilon: float,
        delta: float = 0.0,
        rank: int | None = None,
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
        self.row_norm = row_norm
        self.epsilon = epsilon
        self.delta = delta
        self.rank = rank
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
        matrix = Attribute(number_kind(self._is_complex), (COLUMNS, COLUMNS))
        return {
            "covariance_": matrix,
            "eigenvalues_": Attribute(float, (COLUMNS if self.rank is None else "rank",), minimum=0),
            "released_": matrix,
            "center_": self._center_attribute,
            "n_": Attribute(int, minimum=1),
        }

    def _fit(self, source: Any, releases: SecondMomentPlan, noise: Any, total: Any) -> dict[str, Any]:
        released = self._release(releases, noise, total)  # bound and release
        total_matrix = released.matrix  # post-process
        if isinstance(total_matrix, OrbitSample):
            total_matrix = total_matrix.matrix()
        matrix = total_matrix / released.n_samples
        covariance, eigenvalues = project_psd(matrix, self.rank)
        return {
            "covariance_": covariance,
            "eigenvalues_": eigenvalues,
            "released_": matrix,
            "center_": released.center,
            "n_": released.n_samples,
        }
