"""The plan of a recommender: one cap, from parameters and public sizes alone; the same with and without what learns."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import hushrank as hr
from hushrank import registry
from hushrank.data.ratings.catalogue import Catalogue
from hushrank.exceptions import InvalidParameter
from hushrank.privacy.calibration import calibrate
from hushrank.privacy.guarantee import Budget

TERMS = {"rank": 2, "epsilon": 1.0, "delta": 1e-6, "rating_range": (1, 5)}
SIZES = {"n_users": 1000, "n_items": 50}
Planner = registry.planner("PrivateCompletion")


FACTS = pa.table({"item": [1, 2], "genre": ["Drama", "Comedy"]})


@pytest.mark.parametrize(
    "terms",
    [
        {},
        {"item_features": np.zeros((50, 2)), "new_items": [3]},
        {"item_features": FACTS, "feedback": "implicit", "neighbors": "add_remove"},
        {"neighbors": "add_remove", "offsets": False},
        {"feedback": "implicit", "rating_range": None, "method": "als"},
        {"method": hr.FactoredGradient(start="random"), "items": 50},
    ],
)
def test_a_planner_plans_what_the_estimator_does(terms):
    plan = Planner(**{**TERMS, **terms}).plan(**SIZES)
    assert plan == hr.PrivateCompletion(**{**TERMS, **terms}).plan((1000, 50))
    [step] = plan.steps
    assert step.event == calibrate(Budget(1.0, 1e-6, terms.get("neighbors", "replace"), "user"))
    assert plan.guarantee.unit == "user" and all(0 < value < 10 for value in plan.forecast.values())


def test_facts_about_items_change_no_plan():
    """They are public: event, noise and guarantee are those of a fit without them."""
    expected = Planner(**TERMS).plan(**SIZES)
    assert expected.notes == ()
    for terms in ({"item_features": np.zeros((50, 2))}, {"item_features": FACTS, "new_items": [3]}):
        planned = Planner(**TERMS, **terms).plan(**SIZES)
        assert planned.notes == ("the forecast is without item features; those that tell about tastes lower the error",)
        assert replace(planned, notes=()) == expected


@pytest.mark.parametrize("method", ["als", hr.FactoredGradient()])
def test_a_forecast_says_whose_it_is(method):
    [note] = Planner(**TERMS, method=method).plan(**SIZES).notes
    assert note == "the forecast is that of method 'spectral': others have none of their own"


@pytest.mark.parametrize("items", [50, np.int64(50), [f"film {j}" for j in range(50)], Catalogue(50)])
def test_sizes_that_parameters_tell_need_not_be_said(items):
    expected = Planner(**TERMS).plan(**SIZES)
    assert Planner(**TERMS, items=items).plan(n_users=1000) == expected
    assert Planner(**TERMS, items=items, n_users=1000).plan() == expected
    with pytest.raises(InvalidParameter, match="n_users of PrivateCompletion must be an integer >= 1; got None"):
        Planner(**TERMS, items=items).plan()


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ({"delta": 0.0}, "delta of PrivateCompletion must be > 0, because its sums over users have Gaussian noise"),
        ({"rank": 51}, "rank of PrivateCompletion must be at most the number of items, 50"),
        ({"epsilon": 1e-9, "delta": 1e-12}, "epsilon of PrivateCompletion must be so large that the noise multiplier"),
        ({"rating_range": (5, 1)}, "rating_range of PrivateCompletion must be a pair"),
        ({"n_users": 3, "neighbors": "add_remove"}, "n_users of PrivateCompletion must be None under add_remove"),
        ({"method": "factored_gradient", "feedback": "implicit"}, "method of PrivateCompletion must be 'spectral' or"),
        ({"item_features": [[1.0]]}, "item_features of PrivateCompletion must be a 2-D array or sparse matrix of real"),
        ({"item_features": FACTS, "offsets": False}, "item_features of PrivateCompletion must be None without offsets"),
        ({"new_items": [1], "offsets": False}, "new_items of PrivateCompletion must be None without offsets, unless"),
        ({"new_items": 5}, "new_items of PrivateCompletion must be ids of the catalogue in a list"),
    ],
)
def test_refusals(terms, message):
    for make in (Planner, hr.PrivateCompletion):
        with pytest.raises(InvalidParameter, match=message):
            make(**{**TERMS, **terms}).plan(**SIZES)
