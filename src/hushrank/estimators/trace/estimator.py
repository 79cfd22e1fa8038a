"""Private low-rank trace regression: a matrix from answers to measurements of it, one record a person.

Statistic  sums over records of bounded contributions: measurements times answers, gradients in a tangent space, votes.
Release    the matrix of low rank, an intercept, and how well they predict.
Privacy    docs/privacy/trace.md, Theorem 1: for every data set, whatever the law of measurements and answers.
"""

import math
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hushrank.archive.attributes import Attribute
from hushrank.base import Sizes
from hushrank.data.records.forms import record_shape
from hushrank.data.records.measurements import Measurements, read_measurements
from hushrank.data.records.new_measurements import read_new_measurements
from hushrank.data.source import Source
from hushrank.estimator import PrivateEstimator, RegressorMixin
from hushrank.estimators.trace.covariance_forms import read_covariance
from hushrank.estimators.trace.designs import DESIGNS
from hushrank.estimators.trace.learning import Task, learn
from hushrank.estimators.trace.measurement_check import MeasurementCheck
from hushrank.estimators.trace.plan import TracePlanner
from hushrank.estimators.trace.probe import trace_probe
from hushrank.estimators.trace.record_sums import count_records
from hushrank.exceptions import InvalidParameter
from hushrank.linalg.fixed_rank import leading_values
from hushrank.parameters import DEFAULT_N_MAX
from hushrank.privacy.adaptive import AdaptiveReleases
from hushrank.privacy.guarantee import Neighbors
from hushrank.privacy.probes import NoiseProbe

FloatArray = NDArray[np.float64]

_TOL = 1e-6  # of what a file says of singular values, in units of the largest
_TINY = float(np.finfo(float).tiny)


class PrivateTraceRegression(RegressorMixin, MeasurementCheck, TracePlanner, PrivateEstimator):
    """A matrix M of low rank from private records (X, y) with y = <X, M> + intercept + noise.

    X is a matrix of numbers ("dense"), a product x z^T of two vectors ("rank_one": y is then bilinear, x^T M z), or one
    entry ("entry": y is then a noisy entry of M, and M is completed). One record is one person's, and the guarantee
    holds whatever the records are; that measurements are Gaussian or noise is symmetric is assumed for accuracy only.

    Parameters
    ----------
    rank : int
        Rank of M, at most its rows and its columns.
    epsilon, delta : float
        Privacy budget of one record; delta is above 0.
    design : "dense", "rank_one" or "entry", default "dense"
        What is measured.
    shape : pair of int or None, default None
        Public size of M. Needed for entries, and where the form of X does not tell it.
    privacy : "record" or "label", default "record"
        "label" hides answers alone: neighboring data sets have the same measurements, which are taken for public and
        may show in the result. It protects neither who is in the data nor anything in X.
    design_covariance : "private", "identity", pair, array or function, default "private"
        How measurements vary. "private" learns sizes, a center and covariances of rows and columns for 5 % of the
        budget ("label": from the public measurements, exactly). "identity" is for isotropic ones. Known ones are a pair
        (A, B) with E[X_ab X_cd] = A_ac B_bd, each a matrix or a vector of variances; an array of variances of
        independent entries; or a function that maps one measurement to Lambda^-1 X, called for each record alone and
        with no knowledge of others. For entries: how often rows and columns, or all entries, are seen, in any unit.
        Files do not hold what was given.
    intercept : "private" or float, default "private"
        Learned, or a public number that is subtracted from all answers; 0 for none.
    x_scale, y_scale : float, default 1.0
        Public orders of magnitude of measurements and answers. The exact scales are searched for privately: x_scale may
        be wrong by a factor of 256, y_scale by a factor of 1000.
    signal_to_noise : float, default 2.0
        Public guess of the smallest singular value over the standard deviation of an answer about its prediction. It
        serves the forecast of `plan`, and allows more steps where it is above 100.
    neighbors : "replace" or "add_remove", default "replace"
        Data sets are neighbors if one record is replaced, or if one is added or removed; for "label" if one answer is
        replaced, or is known or unknown (NaN). Only for added or removed records is their number secret, and 2 % of the
        budget buy a noisy one.
    n_max : int, default 2**26
        Public bound on the number of records.
    ledger, random_state, engine, verbose
        As in `PrivatePCA`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_rows, n_columns)
        M, of rank at most `rank`; zero where nothing stood above the noise. For entries it is the matrix of expected
        answers, without the intercept.
    intercept_ : float
    singular_values_ : ndarray of shape (rank,)
        Of `coef_`.
    strength_ : ndarray of shape (rank,)
        How far each singular value stands above the noise, where measurements are isotropic: 1 is what noise alone
        exceeds in 5 % of the fits, 0 one that was not kept.
    n_significant_ : int
        Singular values that were kept and have a strength above 1.
    coef_deviation_ : ndarray of shape (n_rows, n_columns)
        Standard deviation of the noise of each coefficient, about; where `coef_` is zero, that of what was given up.
        These three are computed from the release alone; models of older versions do not have them.
    residual_, spread_ : float
        Median size of an answer less its prediction, and less the intercept alone; with noise.
    gain_ : float
        Share of records that `coef_` predicts better than an intercept alone, less the share of those that it predicts
        worse, with noise; within three times `gain_deviation_` it is noise. Where most answers are equal it may be
        below zero: squared errors decide there. Where `coef_` is zero, that of what was given up.
    gain_deviation_ : float
        Standard deviation of the noise of the gain.
    n_rows_, n_columns_ : int
    privacy_ : Guarantee
        What this fit promises; print it.

    References
    ----------
    Zha: Near-optimal differentially private low-rank trace regression with guaranteed private initialization, 2024. The
    guarantee here does not rest on its sensitivities, which hold for data from its model only.

    Examples
    --------
    >>> from hushrank.evaluation.trace_data import trace_records
    >>> data = trace_records(20_000, (8, 6), 1, seed=1, design="rank_one")
    >>> model = PrivateTraceRegression(1, epsilon=1.0, delta=1e-6, design="rank_one").fit(data.X, data.y)
    >>> model.coef_.shape, model.privacy_.unit, data.relative_error(model.coef_) < 0.1
    ((8, 6), <Unit.RECORD: 'record'>, True)
    >>> model.predict(data.X).shape
    (20000,)
    """

    coef_: FloatArray
    intercept_: float
    singular_values_: FloatArray
    strength_: FloatArray
    coef_deviation_: FloatArray
    residual_: float
    spread_: float
    gain_: float
    gain_deviation_: float
    n_rows_: int
    n_columns_: int

    def __init__(
        self,
        rank: int,
        *,
        epsilon: float,
        delta: float,
        design: str = "dense",
        shape: tuple[int, int] | None = None,
        privacy: str = "record",
        design_covariance: Any = "private",
        intercept: float | str = "private",
        x_scale: float = 1.0,
        y_scale: float = 1.0,
        signal_to_noise: float = 2.0,
        neighbors: str = "replace",
        n_max: int = DEFAULT_N_MAX,
        ledger: Any = None,
        random_state: int | None = None,
        engine: Any = None,
        verbose: int = 0,
    ) -> None:
        self.rank = rank
        self.epsilon = epsilon
        self.delta = delta
        self.design = design
        self.shape = shape
        self.privacy = privacy
        self.design_covariance = design_covariance
        self.intercept = intercept
        self.x_scale = x_scale
        self.y_scale = y_scale
        self.signal_to_noise = signal_to_noise
        self.neighbors = neighbors
        self.n_max = n_max
        self.ledger = ledger
        self.random_state = random_state
        self.engine = engine
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from private records and release the matrix.

        Parameters
        ----------
        X : array, tuple, table, path, or iterator of blocks
            "dense": an array (n_records, n_rows, n_columns). "rank_one": a tuple (x, z) of arrays or tables, a row for
            each record. "entry": a tuple (rows, columns) of indices from 0 on. Of all of them, with `shape`, also the
            numbers of a record in the columns of an array or table, or of a CSV, Parquet or npy file: a matrix row
            after row, x and then z, the two indices. Blocks are tuples (X, y) or tables; a function that returns them
            anew is read as often as needed, and what an iterator yields is kept in temporary files. Records that are
            not finite, or no entry of the matrix, count as nothing.
        y : array or column name
            Answers; of a table or file, the name of their column, by default "target"; of an npy file, another one.

        Returns
        -------
        self
        """
        return self._fit_data(X, y)

    def predict(self, X: Any) -> FloatArray:
        """Expected answers to new measurements, in their order; NaN for indices that are no entry.

        Parameters
        ----------
        X : array, tuple, table or path
            As in `fit`. A table may have other columns beside those of the fit.
        """
        self._learned()
        shape, names = (self.n_rows_, self.n_columns_), getattr(self, "feature_names_in_", None)
        new = read_new_measurements(X, design=self.design, shape=shape, columns=names, owner=type(self).__name__)
        return DESIGNS[self.design](shape).predictions(new, self.coef_) + self.intercept_

    @property
    def n_significant_(self) -> int:
        """Singular values that stand above the noise."""
        return int(np.count_nonzero(self.strength_ > 1.0))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False  # records are arrays or tables
        tags.regressor_tags.poor_score = True  # noise hides what few records tell
        return tags

    @property
    def _learns(self) -> Mapping[str, Attribute]:
        return {
            "coef_": Attribute(float, ("n_rows_", "n_columns_")),
            "intercept_": Attribute(float),
            "singular_values_": Attribute(float, ("rank",), minimum=0),
            "residual_": Attribute(float, above=0),
            "spread_": Attribute(float, above=0),
            "gain_": Attribute(float),
            "gain_deviation_": Attribute(float, above=0),
            "strength_": Attribute(float, ("rank",), minimum=0, later=True),
            "coef_deviation_": Attribute(float, ("n_rows_", "n_columns_"), minimum=0, later=True),
        }

    def _read(self, *data: Any) -> Source:
        X, y = data
        shape = None if isinstance(X, Source) else self.shape
        return read_measurements(X, y, design=self.design, shape=shape, owner=type(self).__name__)

    def _check_source(self, source: Any, releases: Any) -> None:
        shape = source.sizes["n_rows"], source.sizes["n_columns"]
        if self.shape is not None and tuple(map(int, self.shape)) != shape:
            raise InvalidParameter(type(self).__name__, "X", f"measurements of the shape {tuple(self.shape)}", shape)
        read_covariance(self.design_covariance, self.design, shape, type(self).__name__)
        if releases.has_public_measurements and not source.fields_stand_alone:
            requirement = "no CSV file for privacy='label': an answer that breaks its record would hide a measurement"
            raise InvalidParameter(type(self).__name__, "X", requirement, "a CSV file")

    def _check_learned(self, learned: Mapping[str, Any]) -> None:
        shape = learned["n_rows_"], learned["n_columns_"]
        width = math.prod(record_shape(self.design, shape))
        if learned["n_features_in_"] != width or (self.shape is not None and tuple(self.shape) != shape):
            raise ValueError("coef_ has another shape than what was measured")
        top = max(float(np.abs(learned["coef_"]).max()), _TINY)  # in its units nothing overflows
        found, rest = leading_values(learned["coef_"] / top, int(self.rank))
        if rest > _TOL:
            raise ValueError("coef_ has a rank above that of the model")
        with np.errstate(over="ignore"):
            values = learned["singular_values_"] / top
        if not np.allclose(values, found, rtol=0.0, atol=_TOL * found[0]) or (np.diff(values) > 0.0).any():
            raise ValueError("singular_values_ are not those of coef_")

    def _noise_probe(self, releases: Any, sizes: Sizes) -> NoiseProbe:
        return trace_probe(self.design, sizes)

    def _fit(self, source: Measurements, releases: Any, noise: Any, total: Any) -> dict[str, Any]:
        shape = source.sizes["n_rows"], source.sizes["n_columns"]
        whitening, precision = read_covariance(self.design_covariance, self.design, shape, type(self).__name__)
        is_public = releases.has_public_measurements
        n_records = None
        if is_public or releases.neighbors is Neighbors.REPLACE:
            n_records = int(total(count_records, None)[0]) if source.n_samples is None else source.n_samples
        task = Task(
            DESIGNS[self.design](shape, precision),
            int(self.rank),
            whitening,
            None if self.intercept == "private" else float(self.intercept),
            float(self.x_scale),
            float(self.y_scale),
            is_public,
        )
        adaptive = AdaptiveReleases(releases.event, releases.neighbors, self.n_max, noise, total, n_people=n_records)
        fitted = learn(adaptive, task, self._recipe)
        check = fitted.check
        return {
            "coef_": fitted.coef,
            "intercept_": float(fitted.intercept),
            "singular_values_": fitted.singular_values,
            "residual_": float(check.residual),
            "spread_": float(check.spread),
            "gain_": float(check.gain),
            "gain_deviation_": float(check.deviation),
            "strength_": fitted.strength,
            "coef_deviation_": fitted.deviation,
        }
