"""Rounded recommenders: nearest codes, the same predictions but for the rounding, and an honest measure of it."""

from functools import cache

import numpy as np
import pytest

import hushrank
from hushrank.estimators.completion.rounding import PRECISIONS, RoundedColumns, measure_rounding, round_model
from hushrank.evaluation.synthetic import synthetic_ratings
from hushrank.exceptions import InvalidParameter, NotFitted
from model_support import fitted

STEP = {"float16": 2.0**-11, "int8": 0.5 / 127}


@cache
def implicit():
    table = synthetic_ratings(800, 30, seed=2).table().drop(columns="rating")
    return hushrank.PrivateCompletion(2, epsilon=20.0, delta=1e-6, items=30, feedback="implicit").fit(table)


def matrix():
    rng = np.random.default_rng(5)
    return rng.standard_normal((200, 6)) * np.array([1.0, 1e-30, 1e30, 0.0, 1e-3, 7.0])


@pytest.mark.parametrize("precision", PRECISIONS)
def test_codes_are_the_nearest_ones(precision):
    columns = matrix()
    rounded = RoundedColumns.of(columns, precision)
    assert rounded.codes.dtype == precision and rounded.values.shape == columns.shape
    sizes = np.abs(columns).max(axis=0)
    errors = np.abs(rounded.values - columns).max(axis=0)
    assert (errors <= STEP[precision] * sizes * (1 + 1e-9)).all() and not errors[3]
    assert (errors[[0, 1, 2, 4, 5]] > STEP[precision] * sizes[[0, 1, 2, 4, 5]] / 8).all()  # it does round
    largest = np.abs(columns).argmax(axis=0)
    kept = np.take_along_axis(rounded.values, largest[None], axis=0)[0]
    assert kept == pytest.approx(np.take_along_axis(columns, largest[None], axis=0)[0], rel=1e-12)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_second_rounding_changes_nothing(precision):
    once = RoundedColumns.of(matrix(), precision)
    again = RoundedColumns.of(once.values, precision)
    assert (once.codes == again.codes).all() and again.values == pytest.approx(once.values, rel=1e-14, abs=0)


def test_no_columns():
    rounded = RoundedColumns.of(np.zeros((4, 0)), "int8")
    assert rounded.values.shape == (4, 0) and rounded.scales.shape == (0,)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("make", [lambda: fitted("PrivateCompletion"), implicit])
def test_a_rounded_model_is_a_model(make, precision, tmp_path):
    model = make()
    before = {name: np.copy(value) for name, value in model._learned().items() if isinstance(value, np.ndarray)}
    rounded = round_model(model, precision)
    assert all(np.array_equal(model._learned()[name], value) for name, value in before.items())
    assert rounded.model.privacy_ == model.privacy_ and rounded.model.ridge_ == model.ridge_
    W = np.hstack([rounded.model.item_features_, rounded.model.item_factors_])
    assert np.array_equal(W, rounded.columns.values)
    assert rounded.model.item_means_ == pytest.approx(model.item_means_, rel=1e-6, abs=1e-6)
    rounded.model.save(tmp_path / "rounded.hush")
    assert np.array_equal(hushrank.load(tmp_path / "rounded.hush").item_factors_, rounded.model.item_factors_)


def test_the_error_is_that_of_predictions():
    model = fitted("PrivateCompletion")
    found = {precision: measure_rounding(model, round_model(model, precision).model) for precision in PRECISIONS}
    assert 0 < found["float16"].typical < found["float16"].largest < 0.01
    assert 4 * found["float16"].typical < found["int8"].typical < found["int8"].largest < 0.2
    assert found["float16"].visitors == 64 and 0.9 < found["float16"].kept <= 1.0
    own = {3: 5.0, 9: 1.0, 17: 4.0}
    gap = np.abs(round_model(model, "int8").model.predict(own) - model.predict(own)).max()
    assert 0 < gap < 3 * found["int8"].largest
    assert measure_rounding(model, model) == (0.0, 0.0, 1.0, 64)


def test_the_error_of_implicit_feedback():
    found = measure_rounding(implicit(), round_model(implicit(), "int8").model)
    assert 0 < found.typical < found.largest < 0.05 and found.kept > 0.7


def test_refusals():
    with pytest.raises(InvalidParameter, match="precision of round_model must be one of 'float16', 'int8'; got 'int4'"):
        round_model(fitted("PrivateCompletion"), "int4")
    with pytest.raises(NotFitted):
        round_model(hushrank.PrivateCompletion(2, epsilon=1.0, delta=1e-6, rating_range=(1, 5), items=3))
