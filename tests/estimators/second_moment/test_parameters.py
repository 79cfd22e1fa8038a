"""Limits of columns: pairs that are taken, others that are refused, and what goes into a file."""

import json

import numpy as np
import pytest

from hushrank.estimators.second_moment.parameters import (
    COLUMN_PARAMS,
    ROW_PARAMS,
    SCALE_PARAMS,
    BoundsParam,
    read_bounds,
)
from hushrank.estimators.second_moment.pca import PrivatePCA
from hushrank.estimators.second_moment.planners import CovariancePlanner, LowRankPlanner, PCAPlanner
from hushrank.exceptions import InvalidParameter
from hushrank.loading import load

LINE = SCALE_PARAMS["column_bounds"]
GOOD = [
    (0, 1),
    [-1.5, 2],
    np.array([0.0, 1.0]),
    [(0, 1), (-5, 7)],
    np.array([[0, 1], [2, 3]], np.int16),
    ((0.0, 1e50),),
]


@pytest.mark.parametrize("value", GOOD)
def test_pairs_are_read_as_floats(value):
    bounds = read_bounds(value, "column_bounds", "Somebody")
    assert bounds.dtype == np.float64 and bounds.shape == np.shape(value)
    assert bounds.tolist() == np.asarray(value, float).tolist()
    LINE.check(value, "column_bounds", "Somebody")


@pytest.mark.parametrize(
    "value",
    [*BoundsParam(optional=True, default=None).wrong_values(), [(0.0, 1.0), (1.0,)], np.zeros((2, 2, 2)), "0,1", {0: 1},
     (-1.7e308, 1.7e308), (0.0, 1e92), (0.0, 1e-92), (0.0, 5e-324), np.array([True, False]), np.array(["0", "1"]),
     np.zeros((0, 2))],
)  # fmt: skip
def test_others_are_refused_in_words(value):
    message = r"^column_bounds of Somebody must be \(low, high\) for all columns, or a pair with low < high for each"
    with pytest.raises(InvalidParameter, match=message):
        read_bounds(value, "column_bounds", "Somebody")
    with pytest.raises(InvalidParameter, match=message):
        LINE.check(value, "column_bounds", "Somebody")


def test_limits_are_not_changed_and_not_kept():
    value = np.array([[0.0, 1.0], [2.0, 3.0]])
    bounds = read_bounds(value, "column_bounds", "Somebody")
    bounds[:] = 9.0
    assert value.tolist() == [[0.0, 1.0], [2.0, 3.0]]


def test_none_is_taken():
    LINE.check(None, "column_bounds", "Somebody")
    assert LINE.to_json(None) is None and LINE.from_json(None) is None


@pytest.mark.parametrize("value", GOOD)
def test_limits_survive_a_file(value):
    saved = LINE.from_json(json.loads(json.dumps(LINE.to_json(value))))
    assert read_bounds(saved, "column_bounds", "Somebody").tolist() == np.asarray(value, float).tolist()


def test_a_model_with_limits_survives_a_file(tmp_path):
    X = np.random.default_rng(0).random((50, 3))
    model = PrivatePCA(1, epsilon=5.0, column_bounds=[(0, 1), (0, 2), (-1, 1)], standardize="after").fit(X)
    model.save(tmp_path / "model")
    other = load(tmp_path / "model")
    assert np.asarray(other.column_bounds).tolist() == [[0, 1], [0, 2], [-1, 1]]
    assert np.array_equal(other.components_, model.components_) and np.array_equal(other.scale_, model.scale_)


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ({"column_bounds": [(0, 1)] * 4}, r"column_bounds of .* must be \(low, high\) for all columns, or 3 pairs"),
        ({"column_bounds": (0, 1), "field": "complex"}, "column_bounds of .* must be None for field='complex'"),
        ({"column_bounds": (0, 1), "radius": "public"}, "column_bounds of .* must be None unless radius='private'"),
        ({"standardize": "private", "radius": "public"}, "standardize of .* must be None unless radius='private'"),
        ({"select_columns": "private", "radius": "public"}, "select_columns of .* must be None unless"),
        ({"standardize": "after", "mechanism": "exponential"}, "standardize of .* None for mechanism='exponential'"),
        ({"select_columns": "private", "mechanism": "exponential"}, "select_columns of .* None for mechanism="),
        ({"standardize": "before"}, "standardize of PCAPlanner must be"),
        ({"radius": "secret"}, "radius of PCAPlanner must be"),
        ({"center_norm": 1.0, "center": "private"}, "center_norm of .* must be None unless center='private' and"),
        ({"row_norm": None}, "row_norm of PCAPlanner must be a finite float > 0 unless column_bounds are given"),
    ],
)
def test_options_that_do_not_fit_each_other_are_refused_by_the_plan(terms, message):
    with pytest.raises(InvalidParameter, match=message):
        PCAPlanner(**{"n_components": 1, "row_norm": 1.0, "epsilon": 1.0, **terms}).plan((10, 3))


def test_every_estimator_has_the_parameters_of_rows():
    for kind, others in (
        (PCAPlanner, (SCALE_PARAMS, COLUMN_PARAMS)),
        (CovariancePlanner, (SCALE_PARAMS,)),
        (LowRankPlanner, ()),
    ):
        table = kind.parameter_table()
        for lines in (ROW_PARAMS, *others):
            assert all(table[name] is line for name, line in lines.items())
