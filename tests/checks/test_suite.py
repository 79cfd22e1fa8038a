"""The conformance suite over all estimators, scikit-learn's own checks beside it, and proof that the suite can fail."""

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from hushrank.checks.measurement_samples import AnswerSample, MeasurementSample
from hushrank.checks.noise import NOISE_CHECKS
from hushrank.checks.samples import RatingSample, RowSample, UserRecordSample
from hushrank.checks.sketch_samples import SketchSample, UserSketchSample
from hushrank.checks.suite import CHECKS, conformance_checks
from hushrank.data.records.measurements import read_measurements
from hushrank.engine import local
from hushrank.engine.local import LocalEngine
from hushrank.estimators.completion.estimator import PrivateCompletion
from hushrank.estimators.completion.evaluation import PrivateEvaluation
from hushrank.estimators.completion.options import AlternatingLeastSquares, FactoredGradient
from hushrank.estimators.personalization.estimator import PrivateRepresentation
from hushrank.estimators.personalization.exponential_options import ExponentialSelection
from hushrank.estimators.personalization.options import AlternatingMinimization, GradientSteps
from hushrank.estimators.second_moment.covariance import PrivateCovariance
from hushrank.estimators.second_moment.low_rank import PrivateLowRank
from hushrank.estimators.second_moment.pca import PrivatePCA
from hushrank.estimators.trace.estimator import PrivateTraceRegression
from hushrank.estimators.turnstile.sketch import TurnstileSketch
from hushrank.exceptions import ModelFileError

X = np.random.default_rng(1).standard_normal((37, 5))
PURE, APPROXIMATE = {"row_norm": 1.0, "epsilon": 1.0}, {"row_norm": 1.0, "epsilon": 1.0, "delta": 1e-6}
PUBLIC, PUBLIC_APPROXIMATE = {**PURE, "radius": "public"}, {**APPROXIMATE, "radius": "public"}
RATINGS = {"rating_range": (-3, 3), "epsilon": 1.0, "delta": 1e-6}
FACTS = np.array([[1.0, 0.0], [2.0, 1.0], [5.0, np.nan], [3.0, 1.0], [9.0, 0.0]])  # about the five columns of X

BUDGET = {"epsilon": 1.0, "delta": 1e-6}
# No value stops a sketch that leaves invalid updates out, and one update is hidden where it is clipped to the bound.
SKETCH = {"shape": (12, 9), "rank": 2, "epsilon": 1.0, "delta": 1e-6, "on_invalid": "skip"}
CORE = {"kind": "three_sketch", "sketch_sizes": (6, 8)}
FEW_CHOICES = {"epsilon": 1.0, "delta": 0.0, "method": ExponentialSelection(rounds=2, candidates=6)}


@pytest.fixture(autouse=True)
def one_thread(monkeypatch):
    """Threads of thousands of small fits take more time than they save; the suite has a check of other numbers."""
    monkeypatch.setattr(local, "available_cores", lambda: 1)


def of_users(X):
    """The same numbers as records of 23 users, with an answer each."""
    users = np.repeat(np.arange(23), 1 + np.arange(23) % 3)
    X = np.resize(X, (len(users), 4))
    return UserRecordSample(X, X[:, 0] - 0.5 * X[:, 1] * (users % 2), users)


def measurements(X, estimator):
    """The same numbers as 29 measurements of a matrix of 4 rows and 3 columns, with an answer each."""
    width = {"dense": (4, 3), "rank_one": (7,), "entry": (2,)}[estimator.design]
    numbers = np.resize(X, (29, *width))
    if estimator.design == "entry":
        numbers = np.column_stack([np.arange(29) * 5 % 4, np.arange(29) * 7 % 3])
    kind = AnswerSample if estimator.privacy == "label" else MeasurementSample
    return kind(numbers, np.resize(X[::-1], 29), (4, 3), is_entry=estimator.design == "entry")


def updates(X):
    """The same numbers as 41 updates of a matrix."""
    return SketchSample(np.arange(41) * 5 % 12, np.arange(41) * 7 % 9, np.resize(X, 41), np.array(SKETCH["shape"]))


def updates_of_users(X):
    """The same as updates of 23 users."""
    return UserSketchSample(*updates(X).data, np.arange(41) % 23)


def sample_of(estimator, X):
    """Data of the kind that an estimator learns from."""
    if isinstance(estimator, TurnstileSketch):
        return (updates_of_users if estimator._counts_users else updates)(X)
    if isinstance(estimator, PrivateTraceRegression):
        return measurements(X, estimator)
    return SAMPLES.get(type(estimator), RowSample)(X)


class MeasuredSample(RatingSample):
    """An array of ratings, and a public recommender that is measured on them: `fit(X, model)`."""

    def __init__(self, X, model=None):
        super().__init__(X, PUBLIC_MODEL if model is None else model)

    def run(self, model, *data):
        return model.fit(*data)

    def copy(self):
        return type(self)(self.data[0].copy())

    def is_equal(self, other):
        return np.array_equal(self.data[0], other.data[0], equal_nan=True)

    def people(self, chosen):
        return type(self)(self.data[0][chosen])

    def other(self):
        return type(self)(2.0 * self.data[0][:-7] + 1.0)

    def spoiled(self):
        return type(self)(RatingSample(self.data[0]).spoiled().data[0])

    def extreme_neighbors(self, neighbors):
        return tuple(type(self)(one.data[0]) for one in RatingSample(self.data[0]).extreme_neighbors(neighbors))

    @property
    def sizes(self):
        return {"n_users": len(self.data[0])}


PUBLIC_MODEL = PrivateCompletion(2, **RATINGS, random_state=1).fit(X)

# A new estimator adds its lines here, and its kind of data if that is not rows.
SAMPLES = {PrivateCompletion: RatingSample, PrivateEvaluation: MeasuredSample, PrivateRepresentation: of_users}
ESTIMATORS = [
    PrivatePCA(2, **PUBLIC),
    PrivatePCA(2, **PUBLIC_APPROXIMATE, neighbors="add_remove", center="private", center_norm=3.0),
    PrivateCovariance(**PUBLIC_APPROXIMATE, center=[0.5] * 5, rank=3),
    PrivateCovariance(**PUBLIC, neighbors="add_remove", center="private"),
    PrivatePCA(1, **PUBLIC, mechanism="exponential"),
    PrivatePCA(2, **PUBLIC, mechanism="exponential", neighbors="add_remove", field="complex", center="private"),
    PrivatePCA(2, **PUBLIC_APPROXIMATE, field="complex", center="private"),
    PrivateCovariance(**PUBLIC, mechanism="exponential"),
    PrivateCovariance(**PUBLIC, mechanism="exponential", strategy="sequential", rank=2, field="complex"),
    PrivateLowRank(2, **PUBLIC),
    PrivateLowRank(**PUBLIC_APPROXIMATE, eigenvalues=[1.0, 2.0], neighbors="add_remove", field="complex"),
    PrivateLowRank(**PUBLIC, eigenvalues=[2.0, 1.0, 0.0], mechanism="exponential", strategy="joint"),
    PrivateLowRank(2, **PUBLIC, mechanism="exponential", neighbors="add_remove", share=0.25, center="private"),
    PrivatePCA(2, **PURE, center="private"),
    PrivatePCA(2, **APPROXIMATE, center="private"),
    PrivatePCA(2, **APPROXIMATE, select_columns="private", column_bounds=(-2.0, 3.0)),
    PrivateCovariance(**PURE, neighbors="add_remove", standardize="private"),
    PrivateCovariance(**APPROXIMATE, neighbors="add_remove", center=[0.5] * 5, rank=3),
    PrivateLowRank(2, **PURE, mechanism="exponential", neighbors="add_remove", share=0.25),
    PrivateCompletion(2, **RATINGS),
    PrivateCompletion(2, **{**RATINGS, "epsilon": 20.0}, offsets=False, neighbors="add_remove"),
    PrivateCompletion(2, **RATINGS, feedback="implicit"),
    PrivateCompletion(2, **RATINGS, method=AlternatingLeastSquares(sweeps=1)),
    PrivateCompletion(2, **RATINGS, method=FactoredGradient(steps=2)),
    PrivateCompletion(2, **RATINGS, item_features=FACTS),
    PrivateCompletion(2, **RATINGS, item_features=FACTS, feedback="implicit", neighbors="add_remove"),
    PrivateEvaluation(**BUDGET, k=2),
    PrivateEvaluation(epsilon=1.0, neighbors="add_remove", baselines=False),
    PrivateRepresentation(2, **BUDGET),
    PrivateRepresentation(1, **BUDGET, loss="logistic", method=GradientSteps(1), neighbors="add_remove"),
    PrivateRepresentation(2, **BUDGET, method=AlternatingMinimization(1), neighbors="add_remove"),
    PrivateRepresentation(1, **FEW_CHOICES),
    PrivateRepresentation(1, **FEW_CHOICES, loss="logistic", neighbors="add_remove"),
    PrivateTraceRegression(2, **BUDGET),
    PrivateTraceRegression(1, **BUDGET, design="rank_one", shape=(4, 3), neighbors="add_remove"),
    PrivateTraceRegression(1, **BUDGET, design="entry", shape=(4, 3), intercept=0.5),
    PrivateTraceRegression(2, **BUDGET, privacy="label", neighbors="add_remove"),
    # Random sketches are refused a ledger, which checks rest on: tests/estimators/turnstile/test_open_sketch.py.
    TurnstileSketch(**SKETCH),
    TurnstileSketch(**SKETCH, **CORE, operator="srht", neighbors="replace"),
    TurnstileSketch(**{**SKETCH, "delta": 0.0}, kind="figure3"),
    TurnstileSketch(**SKETCH, unit="user"),
    TurnstileSketch(**SKETCH, unit="user", user_totals="promised", kind="figure1", sketch_sizes=(6, 8)),
    TurnstileSketch(**SKETCH, unit="frobenius", kind="full", clip=1.0),
    TurnstileSketch(**SKETCH, pan_private=True),
    TurnstileSketch(**SKETCH, integers="int32"),
]


def marks_of(estimator):
    """Models in other units than the data show no noise: tests/estimators/second_moment/test_columns.py has its law."""
    has_units = any(getattr(estimator, name, None) for name in ("column_bounds", "standardize", "select_columns"))
    return [pytest.mark.filterwarnings("ignore:Private(PCA|Covariance) has no _noise_probe")] if has_units else []


OF_FACTS = {
    "check_values_never_raise": pytest.mark.skip(
        reason="the check compares shapes, and whether users have slopes on features is itself a noisy choice"
    ),
}


def marks_of_facts(estimator, name):
    """The check has its own tests with features: tests/estimators/completion/test_public_facts.py."""
    return [OF_FACTS[name]] if getattr(estimator, "item_features", None) is not None and name in OF_FACTS else []


LAWS = {check.__name__: [pytest.mark.law] for check in NOISE_CHECKS}

CASES = [
    pytest.param(
        check,
        id=f"{type(estimator).__name__}-{i}-{name}",
        marks=[*marks_of(estimator), *marks_of_facts(estimator, name), *LAWS.get(name, [])],
    )
    for i, estimator in enumerate(ESTIMATORS)
    for name, check in conformance_checks(estimator, sample_of(estimator, X))
]


# A choice has no scale: its law is compared with whole fits in tests/estimators/personalization/test_probe.py. Laplace
# noise of sketches is compared with its law in tests/estimators/turnstile/test_open_sketch.py.
@pytest.mark.filterwarnings("ignore:(PrivateRepresentation|TurnstileSketch) has no _noise_probe")
@pytest.mark.parametrize("check", CASES)
def test_estimators_conform(check):
    check()


EXPECTED_FAILURES = {
    "check_dtype_object": "object columns are refused: they can hold strings, and no value may raise after the charge"
}
NOT_SPARSE = "sparse records are refused, in other words than scikit-learn's"
EXPECTED_OF_RECORDS = {
    **EXPECTED_FAILURES,
    **dict.fromkeys(("check_estimator_sparse_tag", "check_estimator_sparse_array"), NOT_SPARSE),
    "check_estimator_sparse_matrix": NOT_SPARSE,
}
EXPECTED_OF_MEASUREMENTS = {
    **EXPECTED_OF_RECORDS,
    "check_estimators_empty_data_messages": "no numbers are refused, in other words than scikit-learn's",
    "check_n_features_in_after_fitting": "another number of columns is refused, in other words than scikit-learn's",
    "check_requires_y_none": "records without answers are refused, in other words than scikit-learn's",
    "check_supervised_y_2d": "answers are a vector: a column of them is refused",
    "check_supervised_y_no_nan": "no value raises, and an answer that is not finite counts as nothing",
}


class OneRecordEach(PrivateRepresentation):
    """Scikit-learn's checks know no users: every record is of another one."""

    def fit(self, X, y=None):
        return super().fit(X, y, None if y is None else np.arange(len(np.asarray(y))))


class OneRowEach(PrivateTraceRegression):
    """Scikit-learn's checks know no matrices: every measurement has one row."""

    def _read(self, X, y):
        numbers = np.asarray(X)
        shape = (1, numbers.shape[1]) if numbers.ndim == 2 else None
        return read_measurements(X, y, design=self.design, shape=shape, owner=type(self).__name__)


EXPECTED = {OneRecordEach: EXPECTED_OF_RECORDS, OneRowEach: EXPECTED_OF_MEASUREMENTS}


@parametrize_with_checks(
    [
        PrivatePCA(1, **PURE),
        PrivateCovariance(**APPROXIMATE),
        PrivateLowRank(1, **PURE),
        PrivatePCA(1, **PURE, mechanism="exponential"),
        OneRecordEach(1, **BUDGET, method=GradientSteps(1)),
        OneRowEach(1, **BUDGET),
    ],
    expected_failed_checks=lambda one: EXPECTED.get(type(one), EXPECTED_FAILURES),
)
def test_scikit_learn_agrees(estimator, check):
    check(estimator)


# Estimators that break one promise each; the check of that promise must notice.

LEARNED = PrivatePCA(2, **PURE)._learns


class EditsParameter(PrivatePCA):
    def fit(self, X, y=None):
        self.row_norm = float(np.float64(self.row_norm) + 0.0)
        return super().fit(X)


class WritesToData(PrivatePCA):
    def fit(self, X, y=None):
        super().fit(X)
        X[0, 0] = 0.0
        return self


class KeepsScores(PrivatePCA):
    _learns = (*LEARNED, "scores_")

    def _fit(self, source, releases, noise, total):
        learned = super()._fit(source, releases, noise, total)
        return {**learned, "scores_": np.vstack(list(source.blocks())) @ learned["components_"].T}


class KeepsRowsElsewhere(PrivatePCA):
    def _fit(self, source, releases, noise, total):
        self._cache = {"rows": [np.vstack([np.empty((0, source.n_features)), *source.blocks()])]}
        return super()._fit(source, releases, noise, total)


class KeepsTheSource(PrivatePCA):
    def _fit(self, source, releases, noise, total):
        self._source = source
        return super()._fit(source, releases, noise, total)


class KeepsTheExactCount(PrivatePCA):
    def _fit(self, source, releases, noise, total):
        return {**super()._fit(source, releases, noise, total), "n_": sum(len(block) for block in source.blocks())}


class KeepsExactSums(PrivatePCA):
    _learns = (*LEARNED, "sums_")

    def _fit(self, source, releases, noise, total):
        learned = super()._fit(source, releases, noise, total)
        return {**learned, "sums_": sum(block.sum(axis=0) for block in source.blocks())}


class ReadsFirst(PrivatePCA):
    def _check_source(self, source, releases):
        super()._check_source(source, releases)
        if not np.isfinite(sum(block.sum() for block in source.blocks())):
            raise ValueError("not finite")


class ChargesNothing(PrivatePCA):
    def fit(self, X, y=None):
        ledger, self.ledger = self.ledger, None
        try:
            return super().fit(X)
        finally:
            self.ledger = ledger


class ForgetsATableLine(PrivatePCA):
    _params: ClassVar = {name: line for name, line in PrivatePCA._params.items() if name != "n_max"}

    def __init__(self, n_components, *, row_norm, epsilon, delta=0.0, n_max=2**26, **others):
        PrivatePCA.__init__(self, n_components, row_norm=row_norm, epsilon=epsilon, delta=delta, n_max=n_max, **others)


class HasAnotherDefault(PrivatePCA):
    _params: ClassVar = {**PrivatePCA._params, "mechanism": replace(PrivatePCA._params["mechanism"], default="wishart")}

    __init__ = PrivatePCA.__init__


class PlansAnotherEvent(PrivatePCA):
    def plan(self, shape=None, **sizes):
        return PrivatePCA(self.n_components, row_norm=1.0, epsilon=0.5).plan(shape, **sizes)


class FixedNoise(PrivatePCA):
    def _fit(self, source, releases, noise, total):
        seeded = PrivatePCA(2, **PURE, random_state=7).fit(np.vstack(list(source.blocks())))
        super()._fit(source, releases, noise, total)
        return {name: getattr(seeded, name) for name in self._learns}


class SortsByBlock(PrivatePCA):
    _learns = (*LEARNED, "first_")

    def _fit(self, source, releases, noise, total):
        first = next(iter(source.blocks()))[0]
        return {**super()._fit(source, releases, noise, total), "first_": first}


class HidesTheGuarantee(PrivatePCA):
    def __repr__(self, N_CHAR_MAX=700):
        return "HidesTheGuarantee()"


class KeepsStaleAttributes(PrivatePCA):
    def _keep(self, learned):
        for name, value in learned.items():
            setattr(self, name, value)


class RefusesNaN(PrivatePCA):
    def _fit(self, source, releases, noise, total):
        if any(np.isnan(block).any() for block in source.blocks()):
            raise ValueError("NaN")
        return super()._fit(source, releases, noise, total)


class DividesByTheNumberOfRows(PrivatePCA):
    def _prepare(self, budget, *data):
        source = self._read(*data)
        return source, self._plan(budget, source.sizes), LocalEngine(1)

    def _check_count(self, n_samples):
        pass

    def _fit(self, source, releases, noise, total):
        with np.errstate(all="ignore"):
            return super()._fit(source, releases, noise, total)


PLANTED = [
    ("check_empty_data_are_refused_or_released_under_replace", DividesByTheNumberOfRows),
    ("check_fit_changes_no_parameter", EditsParameter),
    ("check_fit_leaves_the_data_alone", WritesToData),
    ("check_no_attribute_is_about_single_rows", KeepsScores),
    ("check_no_attribute_is_about_single_rows", KeepsRowsElsewhere),
    ("check_no_attribute_is_about_single_rows", KeepsTheSource),
    ("check_what_depends_on_the_data_carries_noise", KeepsTheExactCount),
    ("check_what_depends_on_the_data_carries_noise", KeepsExactSums),
    ("check_an_empty_budget_refuses_before_the_data_are_read", ReadsFirst),
    ("check_two_fits_charge_twice", ChargesNothing),
    ("check_parameter_table", ForgetsATableLine),
    ("check_parameter_table", HasAnotherDefault),
    ("check_executed_events_are_the_planned_ones", PlansAnotherEvent),
    ("check_seeds", FixedNoise),
    ("check_same_bits_in_any_order", SortsByBlock),
    ("check_repr_shows_the_guarantee", HidesTheGuarantee),
    ("check_a_second_fit_forgets_the_first", KeepsStaleAttributes),
    ("check_values_never_raise", RefusesNaN),
]


@pytest.mark.parametrize(("name", "broken"), PLANTED)
def test_a_broken_promise_is_noticed(name, broken):
    check = next(check for check in CHECKS if check.__name__ == name)
    check(PrivatePCA(2, **PURE), RowSample(X.copy()))
    with pytest.raises((AssertionError, ValueError, ArithmeticError, ModelFileError)):
        check(broken(2, **PURE), RowSample(X.copy()))


def test_every_check_says_what_it_checks():
    assert {check.__name__ for check in CHECKS} > {name for name, _ in PLANTED}
    assert all(check.__doc__ for check in CHECKS)
