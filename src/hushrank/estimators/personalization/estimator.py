"""Private personalization: a shared representation under user-level joint differential privacy, heads by the users.

Statistic  sums over users of bounded contributions to a subspace and to the prior of heads in it, chosen by `method`.
Release    the subspace, the prior of heads and the variance of the noise.
Post       a user's own coefficients, from the release and the user's own records; they are never part of the model.
Privacy    docs/privacy/personalization.md, Theorems 1 (adaptive releases) and 2 (joint privacy).
"""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hushrank.archive.attributes import COLUMNS, Attribute
from hushrank.base import Sizes
from hushrank.data.findings import Check, Look
from hushrank.data.frames import is_table
from hushrank.data.records.checking import Scales, look_at_user_records
from hushrank.data.records.histories import Histories, read_histories
from hushrank.data.records.reading import UserRecords, read_records
from hushrank.data.rows.reading import read_rows
from hushrank.data.source import Source
from hushrank.estimator import ClassNamePrefixFeaturesOutMixin, PrivateEstimator, TransformerMixin
from hushrank.estimators.personalization.directions import SharedDirections
from hushrank.estimators.personalization.head_kernels import RecordArrays
from hushrank.estimators.personalization.heads import Head, Heads, local_prior, to_answers
from hushrank.estimators.personalization.local_kernels import local_coefficients
from hushrank.estimators.personalization.methods import learn_representation
from hushrank.estimators.personalization.plan import RepresentationPlanner
from hushrank.estimators.personalization.probe import representation_probe
from hushrank.estimators.personalization.recipe import GRADIENT
from hushrank.exceptions import InvalidParameter
from hushrank.parameters import DEFAULT_N_MAX
from hushrank.privacy.guarantee import Neighbors
from hushrank.privacy.probes import NoiseProbe

FloatArray = NDArray[np.float64]


class PrivateRepresentation(
    SharedDirections, ClassNamePrefixFeaturesOutMixin, TransformerMixin, RepresentationPlanner, PrivateEstimator
):
    """A representation that many users share, learned from their private records.

    Every user j has records (x, y) with y = <x, U v_j> + noise: a few directions U are common to all, and a user's own
    coefficients are a combination v_j of them, the head. What is published, U and how heads are distributed, is
    differentially private for every user with all records. A head is computed by its user, from the published model and
    the user's own records (`personalize`), and never leaves the user (joint differential privacy).

    Parameters
    ----------
    n_components : int
        Number of directions, at most the number of features.
    epsilon, delta : float
        Privacy budget of one user. delta is above 0, but for method "exponential", where it is 0.
    method : "gradient", "altmin", "exponential" or options, default "gradient"
        "gradient" is the most accurate by far. Options are `GradientSteps(...)`, `AlternatingMinimization(...)` or
        `ExponentialSelection(...)`.
    loss : "squared" or "logistic", default "squared"
        "logistic" takes answers above 0 as the label 1 and all others as 0.
    x_scale, y_scale : float, default 1.0
        Public orders of magnitude of features and answers. The exact scales are searched for privately: x_scale may be
        wrong by a factor of 256, y_scale by a factor of 1000 (method "exponential": give them within a factor of 2).
    n_users : int or None, default None
        Public number of users under "replace"; None takes the number of distinct ids.
    neighbors : "replace" or "add_remove", default "replace"
        Data sets are neighbors if one user's records are replaced by any others, or if one user is added or removed. In
        the second case the number of users is secret, and 2 % of the budget buy a noisy one.
    n_max : int, default 2**26
        Public bound on the number of users.
    ledger, random_state, engine, verbose
        As in `PrivatePCA`.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_features, n_components)
        Orthonormal columns that span the shared directions.
    head_mean_ : ndarray of shape (n_components,)
        Mean of the users' heads; `predict` uses it for users without records. Zero for the logistic loss.
    head_covariance_ : ndarray of shape (n_components, n_components)
        Covariance of the heads. Zero where nothing stood above the noise: users then rely on their own records.
    noise_ : float
        Variance of an answer about its prediction; 1 for the logistic loss.
    gains_ : ndarray of shape (5,)
        How much of a user's loss heads explain, when each record is predicted from the user's others: mean over users,
        with noise, for five scales of the covariance. The loss without heads is that of predicting nothing, or the mean
        of the user's other answers, whichever is smaller. 1 is perfect; below three times `gain_deviation_` a gain is
        noise. Not for method "exponential".
    gain_deviation_ : float
        Standard deviation of the noise of the first gain, and of the differences of the others to it.
    directions_ : ndarray of shape (n_features, n_components)
        Orthonormal columns with the span of `embedding_`, turned so that heads vary independently along each, those
        that matter most first.
    strength_ : ndarray of shape (n_components,)
        What each of `directions_` adds to the gain, over what is told from noise: three times `gain_deviation_`, and at
        least .02. Zeros where nothing stood above the noise. Not for method "exponential".
    n_significant_ : int
        Directions with a strength above 1. These three follow from the others, and cost no budget.
    privacy_ : Guarantee
        What this fit promises; print it.

    Examples
    --------
    >>> from hushrank.evaluation.synthetic import shared_representation
    >>> data = shared_representation(3000, 12, 2, n_records=8, noise=0.1, seed=1)
    >>> model = PrivateRepresentation(2, epsilon=2.0, delta=1e-6).fit(data.X, data.y, data.users)
    >>> model.embedding_.shape, model.privacy_.unit
    ((12, 2), <Unit.USER: 'user'>)
    >>> head = model.personalize(data.X[:8], data.y[:8])            # by the user, from the user's own records
    >>> head.predict(data.X[:3]).shape
    (3,)
    """

    embedding_: FloatArray
    head_mean_: FloatArray
    head_covariance_: FloatArray
    noise_: float
    gains_: FloatArray
    gain_deviation_: float

    def __init__(
        self,
        n_components: int,
        *,
        epsilon: float,
        delta: float,
        method: Any = "gradient",
        loss: str = "squared",
        x_scale: float = 1.0,
        y_scale: float = 1.0,
        n_users: int | None = None,
        neighbors: str = "replace",
        n_max: int = DEFAULT_N_MAX,
        ledger: Any = None,
        random_state: int | None = None,
        engine: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.epsilon = epsilon
        self.delta = delta
        self.method = method
        self.loss = loss
        self.x_scale = x_scale
        self.y_scale = y_scale
        self.n_users = n_users
        self.neighbors = neighbors
        self.n_max = n_max
        self.ledger = ledger
        self.random_state = random_state
        self.engine = engine
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, users: Any = None) -> Self:
        """Learn from private records and release the representation.

        Parameters
        ----------
        X : array, table, path, or iterator of blocks
            Features of shape (n_records, n_features); a table, or the path of a CSV or Parquet file or of a folder of
            them, with named columns; an iterator of (X, y, users) or of tables, or a function that returns
            one. Records come in any order. Those that are not finite count as absent.
        y : array or column name
            Answers; of a table or file, the name of their column, by default "target".
        users : array or column name
            Whose record it is: int64, uint64 or str ids; of a table or file, the name of their column, by default
            "user". Every other column is a feature.

        Returns
        -------
        self
        """
        return self._fit_data(X, y, users)

    def check(self, X: Any, y: Any = None, users: Any = None) -> Check:
        """Try `fit` on these records without spending anything, see `PrivateEstimator.check`. NOT PRIVATE."""
        return self._check_data(X, y, users)

    def personalize(self, X: Any, y: Any = None, users: Any = None) -> Head | Heads:
        """Coefficients of one user, or of many, from the released model and their own records; costs no budget.

        Parameters
        ----------
        X : array, table or path
            Own records; a table or file may have other columns beside the features of the fit.
        y : array of n_records answers, or column name
            Of a table or file by default the column "target".
        users : array of n_records ids, or column name, optional
            Whose record it is, where there are several users; of a table or file by default the column "user", if
            there is one.

        Returns
        -------
        Head or Heads
            `head.predict(X)`, or `heads.predict(X, users)` with `heads.users` for many.
        """
        self._learned()
        histories = self._read_own(X, y, users)
        records = RecordArrays(histories.block.indptr, histories.block.X, histories.block.y)
        released = (self.embedding_, self.head_mean_, self.head_covariance_, self.noise_)
        coefficients = local_coefficients(records, local_prior(*released, is_logistic=self._is_logistic))
        if histories.is_single:
            return Head(coefficients[0], self.loss, self._check_features)
        return Heads(histories, coefficients, self.embedding_ @ self.head_mean_, self.loss, self._check_features)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predictions for a user of whom no records are known, by the mean head."""
        rows = self._check_features(X)
        return to_answers(rows @ (self.embedding_ @ self.head_mean_), self.loss)

    def transform(self, X: Any) -> FloatArray:
        """Records in the shared directions, of shape (n_records, n_components)."""
        shared: FloatArray = self._check_features(X) @ self.embedding_
        return shared

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False  # records are arrays or tables
        return tags

    @property
    def _n_features_out(self) -> int:
        return len(self.head_mean_)

    @property
    def _learns(self) -> Mapping[str, Attribute]:
        """What is learned; the check of heads is no part of a pure choice."""
        prior = {
            "embedding_": Attribute(float, (COLUMNS, "n_components")),
            "head_mean_": Attribute(float, ("n_components",)),
            "head_covariance_": Attribute(float, ("n_components", "n_components")),
            "noise_": Attribute(float, above=0),
        }
        check = {"gains_": Attribute(float, (len(GRADIENT.scales),)), "gain_deviation_": Attribute(float, above=0)}
        return prior | (check if self._is_adaptive else {})

    def _read(self, *data: Any) -> Source:
        owner = type(self).__name__
        records = read_records(*data, owner=owner, needs_users=True)
        if "n_features" not in records.sizes:
            raise InvalidParameter(owner, "X", "a vector of features for each record", "a matrix for each")
        return records

    def _look(self, source: UserRecords, releases: Any) -> Look:
        scales = Scales(float(self.x_scale), float(self.y_scale))
        return look_at_user_records(source, scales, self.n_users, is_logistic=self._is_logistic)

    def _check_learned(self, learned: Mapping[str, Any]) -> None:
        U, S = learned["embedding_"], learned["head_covariance_"]
        if not np.allclose(U.T @ U, np.eye(U.shape[1]), atol=1e-6):
            raise ValueError("embedding_ has columns that are not orthonormal")
        size = max(float(np.abs(S).max()), np.finfo(float).tiny)
        if not np.array_equal(S, S.T) or float(np.linalg.eigvalsh(S / size).min()) < -1e-6:
            raise ValueError("head_covariance_ is no covariance")

    def _noise_probe(self, releases: Any, sizes: Sizes) -> NoiseProbe | None:
        return representation_probe(releases, sizes)

    def _fit(self, source: UserRecords, releases: Any, noise: Any, total: Any) -> dict[str, Any]:
        n_users = None
        if releases.neighbors is Neighbors.REPLACE:
            n_users = source.n_users if self.n_users is None else int(self.n_users)
        prior = learn_representation(self, releases, noise, total, source.sizes["n_features"], n_users)
        learned = {
            "embedding_": prior.U,
            "head_mean_": prior.mean,
            "head_covariance_": prior.covariance,
            "noise_": float(prior.noise),
        }
        if prior.check is None:
            return learned
        return {**learned, "gains_": prior.check.gains, "gain_deviation_": float(prior.check.deviation)}

    def _read_own(self, X: Any, y: Any, users: Any) -> Histories:
        """Records of people who ask for heads, with the features of the fit."""
        owner, names = type(self).__name__, getattr(self, "feature_names_in_", None)
        columns = None if names is None else list(names)
        histories = read_histories(X, y, users, columns=columns, owner=owner)
        n_features = histories.block.X.shape[1]
        if n_features != len(self.embedding_):
            requirement = f"records of {len(self.embedding_)} features"
            raise InvalidParameter(owner, "X", requirement, f"{n_features} features")
        return histories

    def _check_features(self, X: Any) -> Any:
        """New records; a table may have other columns beside the features of the fit, in any order."""
        names = getattr(self, "feature_names_in_", None)
        if names is None or not is_table(X):
            return self._check_new_rows(X)
        rows = read_rows(X, owner=type(self).__name__, columns=list(names))
        return np.vstack([np.empty((0, rows.n_features)), *rows.blocks()])
