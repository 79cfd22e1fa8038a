"""Private trace regressions as a whole: limit, planted data, identities, hopeless regimes, refusals.

Sensitivity is in tests/system/test_trace_replay.py (whole fits) and in `test_record_sums.py` (single sums). Data have
fixed seeds and, where it says so, fits have too. Fresh noise moves errors on planted data by a tenth or a fifth of what
theory says of them; limits are a quarter of it and three times, which is more than seven deviations.
"""

import logging
import math

import numpy as np
import pandas as pd
import pytest

import hushrank
from hushrank.checks.subjects import unreadable
from hushrank.data.rows.reading import read_rows
from hushrank.engine.local import LocalEngine
from hushrank.estimators.trace.estimator import PrivateTraceRegression
from hushrank.estimators.trace.forecast import Setting, privacy_error, sample_error
from hushrank.evaluation.trace_data import trace_records
from hushrank.exceptions import BudgetExceeded, InvalidParameter, ModelFileError, NotFitted
from hushrank.privacy.guarantee import Neighbors, Unit
from hushrank.privacy.ledger import Ledger
from representation_support import assert_equal_models, release_exactly
from trace_fit_support import regression

SHAPE, NOISE = (10, 8), 0.5
DESIGNS = ("dense", "rank_one", "entry")


def planted(n=8000, shape=SHAPE, rank=2, **terms):
    return trace_records(n, shape, rank, **{"seed": 3, "noise": NOISE, **terms})


def expected_error(model, data):
    """What the forecast says of the truth at hand, which the user of a plan has to guess."""
    norm, mu = float(np.linalg.norm(data.coef)), 1.0 / model.privacy_.event.noise_multiplier
    norm /= math.sqrt(data.coef.size) if data.design == "entry" else 1.0
    signal = norm / math.sqrt(model.rank) / data.noise
    setting = Setting(len(data.y), data.coef.shape, model.rank, mu, Neighbors(model.neighbors), signal)
    return math.hypot(sample_error(setting, model._recipe), privacy_error(setting, model._recipe))


def risk(model, data, intercept=0.0):
    """Mean squared error for new isotropic records, over that of the mean answer."""
    unit = math.sqrt(data.coef.size) if data.design == "entry" else 1.0
    error, signal = (np.linalg.norm(part / unit) ** 2 for part in (model.coef_ - data.coef, data.coef))
    return (error + (model.intercept_ - intercept) ** 2 + data.noise**2) / (signal + data.noise**2)


# 2. Limit: with a huge budget and without noise in the data, the truth, and what a fit without privacy gives


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("noise", [0.0, 1e-3])
def test_a_huge_budget_finds_the_truth(design, noise):
    data = planted(2000, (6, 5), design=design, noise=noise)
    model = regression(2, design=design, shape=(6, 5), epsilon=1e6, intercept=0.0, random_state=1).fit(data.X, data.y)
    assert data.relative_error(model.coef_) < (1e-3 if noise else 1e-5)
    assert model.gain_ == pytest.approx(1.0, abs=0.05) and model.residual_ < 0.02 < model.spread_
    assert model.predict(data.X) == pytest.approx(data.y, abs=0.02)


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("privacy", ["record", "label"])
def test_a_huge_budget_gives_what_a_fit_without_privacy_gives(monkeypatch, design, privacy):
    data = planted(600, (5, 4), design=design)
    terms = {"design": design, "shape": (5, 4), "privacy": privacy, "epsilon": 1e7, "random_state": 1}
    model = regression(2, **terms).fit(data.X, data.y + 0.5)
    release_exactly(monkeypatch)
    exact = regression(2, **terms).fit(data.X, data.y + 0.5)
    for name in ("coef_", "singular_values_", "intercept_", "residual_", "spread_", "gain_"):
        expected = getattr(exact, name)
        assert getattr(model, name) == pytest.approx(expected, abs=1e-3 * max(1.0, np.abs(expected).max())), name
    assert not np.array_equal(model.coef_, exact.coef_)


@pytest.mark.parametrize("design", DESIGNS)
def test_few_records_and_a_huge_budget_are_as_good_as_least_squares(design):
    """Of 300 records the best error is sqrt(D / n) noise / |M| = 0.07."""
    data = planted(300, design=design)
    for epsilon in (1e3, 1e6):
        model = regression(2, design=design, shape=SHAPE, epsilon=epsilon).fit(data.X, data.y)
        error = data.relative_error(model.coef_)
        assert 0.03 < error < {"dense": 0.2, "rank_one": 0.4, "entry": 0.6}[design]


# 3. Planted data: the design, terms of the data, terms of the fit
PLANTED = {
    "dense": ({}, {}),
    "add_remove": ({}, {"neighbors": "add_remove"}),
    "label": ({}, {"privacy": "label"}),
    "a rank too many": ({}, {"rank": 3}),
    "t3 noise": ({"noise_law": "t3"}, {}),
    "condition 10": ({"condition": 10.0}, {}),
    "condition 10, given": ({"condition": 10.0}, {"design_covariance": "given"}),
    "rank_one": ({"design": "rank_one"}, {}),
    "entry": ({"design": "entry", "n": 20_000}, {}),
}


@pytest.mark.parametrize("name", PLANTED)
def test_planted_matrices_are_found_at_the_rate_of_the_forecast(name):
    of_data, terms = PLANTED[name]
    data = planted(**of_data)
    if "design_covariance" in terms:
        terms = {**terms, "design_covariance": data.covariance}
    model = regression(**{"rank": 2, "design": data.design, "shape": SHAPE, **terms}).fit(data.X, data.y + 1.0)
    error, expected = data.relative_error(model.coef_), expected_error(model, data)
    # Entries are no normal measurements: steps are many, and errors twice what is expected, with a long tail.
    assert 0.25 * expected < error < (12.0 if data.design == "entry" else 3.0) * expected
    assert model.intercept_ == pytest.approx(1.0, abs=0.3) and model.privacy_.epsilon <= 1.0
    assert model.privacy_.unit == (Unit.LABEL if "privacy" in terms else Unit.RECORD)
    assert model.gain_ > 20.0 * model.gain_deviation_ and 0.5 < model.residual_ / (0.6745 * NOISE) < 2.0
    assert np.linalg.matrix_rank(model.coef_, tol=1e-6) <= model.rank
    assert model.singular_values_[:2] == pytest.approx(np.linalg.svd(model.coef_)[1][:2], rel=1e-9)


def test_the_matrix_of_the_guide_is_found():
    """20 by 20, 20 000 records, epsilon 1: an error of 0.0185 in the median, and a deviation of 0.0014."""
    data = planted(20_000, (20, 20))
    assert 0.008 < data.relative_error(regression(2, epsilon=1.0, delta=1e-5).fit(data.X, data.y).coef_) < 0.026


def test_a_rank_too_few_keeps_the_leading_part():
    data = planted()
    best = 1.0 / math.sqrt(5.0)  # of singular values 2 and 1
    assert data.relative_error(regression(1).fit(data.X, data.y).coef_) == pytest.approx(best, abs=0.03)


@pytest.mark.parametrize("factors", [(2.0**5, 2.0**-6), (2.0**7, 2.0**9), (2.0**-7, 2.0**-9), (2.0**7, 2.0**-9)])
@pytest.mark.parametrize("design", DESIGNS)
def test_scales_may_be_wrong_by_orders_of_magnitude(design, factors):
    data, (a, b) = planted(4000, (6, 5), design=design), factors
    a = 1.0 if design == "entry" else a
    X = a * data.X if design == "dense" else (a * data.X[0], data.X[1]) if design == "rank_one" else data.X
    model = regression(2, design=design, shape=(6, 5), epsilon=3.0, random_state=3).fit(X, b * data.y)
    assert data.relative_error(model.coef_ * a / b) < 0.2


HOPELESS = [(300, 1e-3), (300, 0.01), (30, 0.1)]  # numbers of records, and epsilon


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize(("n", "epsilon"), HOPELESS)
def test_where_nothing_can_be_learned_nobody_loses(design, n, epsilon):
    """Where the number of records is secret, a noisy one may be so large that noise seems small."""
    for seed in range(3):
        data = planted(n, design=design, seed=seed)
        for terms, most in (({}, 1.01), ({"privacy": "label"}, 1.01), ({"neighbors": "add_remove"}, 1.5)):
            model = regression(2, design=design, shape=SHAPE, epsilon=epsilon, random_state=seed, **terms)
            model.fit(data.X, data.y)
            assert data.relative_error(model.coef_) <= 1.01 and risk(model, data) <= most, terms


@pytest.mark.parametrize("design", DESIGNS)
def test_a_matrix_is_never_much_worse_than_the_intercept_alone(design):
    """Between hopeless and good, where a fit might take noise for a matrix; all fits have seeds."""
    for n, epsilon in ((1000, 0.3), (1000, 1.0), (3000, 0.1), (60, 10.0)):
        for seed in range(2):
            data = planted(n, design=design, seed=seed)
            model = regression(2, design=design, shape=SHAPE, epsilon=epsilon, intercept=0.0, random_state=seed)
            assert risk(model.fit(data.X, data.y), data) <= 1.1


# 4. Identities


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("privacy", ["record", "label"])
def test_order_blocks_threads_and_width_change_no_bit(design, privacy):
    data = planted(60, (5, 4), design=design, dtype=np.float32)
    terms = {"design": design, "shape": (5, 4), "privacy": privacy, "epsilon": 20.0, "random_state": 4}
    numbers = data.X.reshape(60, -1) if design == "dense" else np.column_stack(data.X)
    expected = regression(2, **terms).fit(data.X, data.y)
    order = np.random.default_rng(1).permutation(60)
    for X, block_rows in ((numbers[order], 7), (numbers[order].astype(np.float64), 19)):
        engine = LocalEngine(threads=2, block_rows=block_rows)
        assert_equal_models(expected, regression(2, **terms, engine=engine).fit(X, data.y[order]))


@pytest.mark.parametrize("design", ["dense", "rank_one"])
def test_a_stated_scale_is_the_same_as_a_scaled_fit(design):
    """Powers of two change no bit of a product."""
    data = planted(500, (5, 4), design=design)
    X = data.X.reshape(500, -1) if design == "dense" else np.column_stack(data.X)
    one = regression(2, design=design, shape=(5, 4), epsilon=5.0, random_state=1).fit(X, data.y)
    terms = {"x_scale": 2.0**5, "y_scale": 2.0**-6, "epsilon": 5.0, "random_state": 1}
    other = regression(2, design=design, shape=(5, 4), **terms).fit(2.0**5 * X, 2.0**-6 * data.y)
    unit = 2.0**-6 / (2.0**5 if design == "dense" else 2.0**10)
    assert other.coef_ == pytest.approx(unit * one.coef_, abs=1e-6 * unit * np.abs(one.coef_).max())
    assert other.intercept_ == pytest.approx(2.0**-6 * one.intercept_, abs=1e-9)
    assert (other.gain_, other.residual_) == pytest.approx((one.gain_, 2.0**-6 * one.residual_), rel=1e-6)


@pytest.mark.parametrize("design", DESIGNS)
def test_predictions_are_inner_products_and_a_loaded_model_gives_the_same(design, tmp_path):
    data = planted(400, (5, 4), design=design)
    model = regression(2, design=design, shape=(5, 4), epsilon=20.0, neighbors="add_remove").fit(data.X, data.y + 2.0)
    whole = {"dense": lambda X: X, "rank_one": lambda X: np.einsum("ip,iq->ipq", *X)}
    products = model.coef_[data.X] if design == "entry" else (whole[design](data.X) * model.coef_).sum(axis=(1, 2))
    assert model.predict(data.X) == pytest.approx(products + model.intercept_, abs=1e-9)
    model.save(tmp_path / "model")
    loaded = hushrank.load(tmp_path / "model")
    assert type(loaded) is PrivateTraceRegression and loaded.privacy_ == model.privacy_
    assert np.array_equal(loaded.predict(data.X), model.predict(data.X))
    assert (loaded.n_rows_, loaded.n_columns_, loaded.design) == (5, 4, design)


@pytest.mark.parametrize("given", [lambda X: 0.5 * X, (np.full(5, 2.0), np.eye(4)), np.full((5, 4), 2.0)])
def test_a_file_does_not_hold_a_given_covariance(given, tmp_path):
    data = planted(300, (5, 4))
    model = regression(2, design_covariance=given, epsilon=20.0).fit(math.sqrt(2.0) * data.X, data.y)
    assert data.relative_error(math.sqrt(2.0) * model.coef_) < 0.4
    model.save(tmp_path / "model")
    loaded = hushrank.load(tmp_path / "model")
    assert loaded.design_covariance == "given" and np.array_equal(loaded.coef_, model.coef_)
    with pytest.raises(InvalidParameter, match=r"^design_covariance of .* must be given again, because model files"):
        loaded.fit(data.X, data.y)


@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (3, 1), (3, 3)])
@pytest.mark.parametrize("design", DESIGNS)
def test_every_rank_and_matrices_of_one_row(design, shape):
    data = planted(200, shape, min(shape), design=design)
    for rank in {1, min(shape)}:
        model = regression(rank, design=design, shape=shape, epsilon=5.0).fit(data.X, data.y)
        assert model.coef_.shape == shape and model.singular_values_.shape == (rank,)
        assert np.isfinite(model.predict(data.X)).all()


def test_entries_outside_have_no_prediction():
    data = planted(400, (5, 4), design="entry")
    model = regression(1, design="entry", shape=(5, 4)).fit(data.X, data.y)
    asked = np.array([[0, 0], [4, 3], [5, 0], [0, 4], [-1, 0], [0.5, 0], [np.nan, 1]])
    assert np.isnan(model.predict(asked)).tolist() == [False, False, True, True, True, True, True]


# 5. Refusals; nothing is read or charged

X, Y = np.ones((6, 3, 2)), np.ones(6)
TABLE = pd.DataFrame({"a": Y, "b": Y, "c": Y, "d": Y, "target": Y})


@pytest.mark.parametrize(
    ("terms", "data", "message"),
    [
        ({"delta": 0.0}, (X, Y), r"^delta .* must be > 0, because sums over records have Gaussian noise; got"),
        ({"rank": 3}, (X, Y), r"^rank .* must be at most 2, as rows and columns; got 3"),
        ({"rank": 0}, (X, Y), r"^rank .* must be an integer >= 1; got 0"),
        ({"design": "sparse"}, (X, Y), r"^design .* must be 'dense' or 'rank_one' or 'entry'; got 'sparse'"),
        ({"design": "entry"}, (X, Y), r"^shape .* must be \(rows, columns\) for design 'entry'"),
        ({"design": "entry", "shape": (3, 2)}, (X, Y), r"^X .* must be the row and the column of an entry for each"),
        ({"design": "rank_one", "shape": (4, 2)}, ((X[:, :, 0], X[:, 0]), Y), r"^X .* must be measurements of the sh"),
        ({"shape": (2, 3)}, (X, Y), r"^X .* must be measurements of the shape \(2, 3\); got"),
        ({"shape": (2, 2)}, (X.reshape(6, 6), Y), r"^X .* must be the n_rows \* n_columns entries of a matrix, 4"),
        ({}, (X.reshape(6, 6), Y), r"^shape .* must be \(n_rows, n_columns\), the size of the matrix"),
        ({}, (X, Y[:5]), r"^y .* must be"),
        ({}, (X,), r"^y .* must be"),
        ({}, (X.astype(complex), Y), r"^X .* must be real"),
        ({"shape": (2, 2)}, (TABLE, "nothing"), r"^y .* must be"),
        ({"shape": (2, 2)}, (TABLE.assign(user=1),), r"^X .* must be|^features .* must be"),
        ({}, ("no such file.csv",), r"^X .* must be an existing file"),
        ({}, (read_rows(X[:, 0], owner="A"),), r"^X .* must be measurements"),
        ({"design_covariance": (np.eye(2), np.eye(2))}, (X, Y), r"^design_covariance .* must be covariances of 3 rows"),
        ({"design_covariance": lambda X: X[0]}, (X, Y), r"^design_covariance .* must be a function of one measurement"),
        ({"design_covariance": "given"}, (X, Y), r"^design_covariance .* must be given again"),
        ({"epsilon": 1e-9, "delta": 1e-12}, (X, Y), r"^epsilon .* must be so large that the noise multiplier is at"),
        ({"random_state": 3}, (X, Y), r"^random_state .* must be None where a ledger is charged"),
    ],
)
def test_refusals_say_why_and_charge_nothing(terms, data, message, tmp_path):
    with Ledger(tmp_path / "budget.db") as ledger:
        ledger.create("records", epsilon=10.0, delta=1e-4, neighbors="replace", unit="record")
        model = regression(**{"rank": 1, "ledger": ledger["records"], **terms})
        with pytest.raises(InvalidParameter, match=message.replace(" .* must", " of PrivateTraceRegression must", 1)):
            model.fit(*data)
        assert len(ledger["records"].history()) == 1
    assert not hasattr(model, "privacy_") and not hasattr(model, "coef_")


@pytest.mark.parametrize(("privacy", "other"), [("record", "label"), ("label", "record")])
def test_a_budget_of_records_does_not_pay_for_answers(privacy, other, tmp_path):
    with Ledger(tmp_path / "budget.db") as ledger:
        ledger.create("data", epsilon=1.0, delta=1e-5, neighbors="replace", unit=privacy)
        with pytest.raises(InvalidParameter, match="unit"):
            regression(privacy=other, ledger=ledger["data"]).fit(X, Y)
        model = regression(privacy=privacy, ledger=ledger["data"]).fit(X, Y)
        before = model.coef_.copy()
        with pytest.raises(BudgetExceeded):
            model.fit(unreadable(model._read(X, Y)))
        assert len(ledger["data"].history()) == 2 and np.array_equal(model.coef_, before)


def test_who_is_not_fitted_predicts_and_saves_nothing(tmp_path):
    for ask in (lambda model: model.predict(X), lambda model: model.save(tmp_path / "model")):
        with pytest.raises(NotFitted, match="this PrivateTraceRegression is not fitted yet"):
            ask(regression())
    model = regression(shape=(3, 2)).fit(X, Y)
    model.rank = 2
    with pytest.raises(ModelFileError, match=r"cannot be saved: .*were its parameters changed after its fit"):
        model.save(tmp_path / "model")


def test_counts_go_to_the_log_alone(caplog):
    with caplog.at_level(logging.INFO, "hushrank"):
        regression().fit(X, [1.0, np.nan, 2.0, 3.0, 4.0, 5.0])
    assert all(message.startswith("Not private: ") for message in caplog.messages) and "5 records" in caplog.text
