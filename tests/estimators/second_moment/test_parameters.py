"""Limits of columns: pairs that are taken, others that are refused, and what goes into a file."""

import json

import numpy as np
import pandas as pd
import pytest

from hushrank.estimators.second_moment.parameters import (
    COLUMN_PARAMS,
    ROW_PARAMS,
    SCALE_PARAMS,
    BoundsParam,
    check_names,
    limits_of,
    read_bounds,
)
from hushrank.estimators.second_moment.pca import PrivatePCA
from hushrank.estimators.second_moment.planners import CovariancePlanner, LowRankPlanner, PCAPlanner
from hushrank.exceptions import InvalidParameter, ModelFileError
from hushrank.loading import load
from hushrank.privacy.ledger import Ledger

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


def test_limits_by_name_follow_the_columns_of_the_data():
    named = {"income": (0, 5e5), "age": (0, 120)}
    assert read_bounds(named, "column_bounds", "Somebody").tolist() == [[0.0, 5e5], [0.0, 120.0]]
    assert limits_of(named, 2, ("age", "income"), "Somebody").tolist() == [[0.0, 120.0], [0.0, 5e5]]
    assert limits_of(named, 2, None, "Somebody").tolist() == [[0.0, 5e5], [0.0, 120.0]]  # a plan knows no names
    check_names(named, ("age", "income"), "Somebody")
    check_names((0, 1), None, "Somebody")
    assert limits_of((0, 1), 2, ("a", "b"), "Somebody").tolist() == [[0.0, 1.0]] * 2
    assert limits_of([(0, 1), (2, 3)], 2, ("b", "a"), "Somebody").tolist() == [[0.0, 1.0], [2.0, 3.0]]


@pytest.mark.parametrize(
    ("columns", "got"),
    [
        (("age", "income", "city"), "no limits of 'city'"),
        (("age",), "limits of 'income', which is no column of the data"),
        (("age", "salary"), "no limits of 'salary', but of 'income', which is no column of the data"),
        (("age", "incomes"), "no limits of 'incomes', but of 'income', .*did you mean 'incomes'"),
    ],
)
def test_limits_of_other_columns_are_refused(columns, got):
    with pytest.raises(InvalidParameter, match=rf"column_bounds of Somebody must be .* got .*{got}"):
        check_names({"income": (0, 5e5), "age": (0, 120)}, columns, "Somebody")


def test_limits_by_name_are_refused_where_columns_have_none():
    model = PrivatePCA(1, column_bounds={"a": (0, 1), "b": (0, 1)}, epsilon=5.0)
    message = r"column_bounds of PrivatePCA must be pairs in the order of the columns, where the data have no names"
    for ask in (model.fit, model.check):
        with pytest.raises(InvalidParameter, match=message):
            ask(np.ones((3, 2)))


def test_a_refusal_of_limits_by_name_names_the_column():
    for pair in ((1, 0), 3.0, [(0, 1), (2, 3)], (0, np.nan), "0,1"):
        with pytest.raises(InvalidParameter, match=r"got \{'age': "):
            read_bounds({"income": (0, 5e5), "age": pair}, "column_bounds", "Somebody")


def test_limits_by_name_give_the_fit_that_limits_in_order_give(tmp_path):
    table = pd.DataFrame(np.random.default_rng(0).random((60, 3)) * [1, 2, 3], columns=["a", "b", "c"])
    terms = {"epsilon": 5.0, "center": [0.5, 1.0, 1.0], "random_state": 1}
    in_order = PrivatePCA(2, column_bounds=[(0, 1), (0, 2), (-1, 3)], **terms).fit(table)
    by_name = PrivatePCA(2, column_bounds={"c": (-1, 3), "a": (0, 1), "b": (0, 2)}, **terms)
    assert by_name.fit(table).components_.tolist() == in_order.components_.tolist()
    assert by_name.check(table).to_dict() == in_order.check(table).to_dict()
    by_name.save(tmp_path / "model")
    named = load(tmp_path / "model").column_bounds
    assert named == {"c": (-1.0, 3.0), "a": (0.0, 1.0), "b": (0.0, 2.0)} and list(named) == ["c", "a", "b"]


def test_limits_of_many_names_survive_a_file(tmp_path):
    """A header has room for few bytes and brackets; names may have spaces and line breaks."""
    names = [f"{'[' * 5000} a\n b{j}" for j in range(60)]
    value = {name: (-0.1, 1.0 + j) for j, name in enumerate(names)}
    model = PrivatePCA(1, epsilon=5.0, delta=1e-6, column_bounds=value)
    model.fit(pd.DataFrame(np.zeros((3, 60)), columns=names)).save(tmp_path / "model")
    assert load(tmp_path / "model").column_bounds == value


@pytest.mark.parametrize("saved", [["0.0 1.0 a", "0.0 1.0 a"], ["0.0 a"], ["x 1.0 a"], ["0.0 1.0 a", 3]])
def test_limits_by_name_that_no_file_has_are_refused(saved):
    with pytest.raises((ValueError, AttributeError)):
        LINE.from_json(saved)


def test_a_file_with_limits_of_other_columns_is_refused(tmp_path):
    model = PrivatePCA(1, epsilon=5.0, column_bounds={"a": (0, 1), "b": (0, 2)})
    model.fit(pd.DataFrame(np.ones((5, 2)), columns=["a", "b"]))
    model.feature_names_in_ = np.array(["a", "c"], object)
    with pytest.raises((ModelFileError, InvalidParameter, ValueError), match="no limits of 'c'"):
        model.save(tmp_path / "model")
        load(tmp_path / "model")


def test_limits_of_other_columns_cost_nothing(tmp_path):
    account = Ledger(tmp_path / "budget.db").create("rows", epsilon=9.0, neighbors="replace", unit="row")
    table = pd.DataFrame({"a": [0.5], "b": [0.5]})
    for names, got in (("ax", "no limits of 'b', but of 'x'"), ("a", "no limits of 'b'"), ("abc", "limits of 'c'")):
        model = PrivatePCA(1, column_bounds={name: (0, 1) for name in names}, epsilon=5.0, ledger=account)
        with pytest.raises(InvalidParameter, match=got):
            model.fit(table)
    assert account.spent().amount == 0


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
