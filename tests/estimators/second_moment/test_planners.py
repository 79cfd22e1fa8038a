"""Planners say the same as the estimators of their name, without what learns."""

import pytest

import hushrank as hr
from hushrank import registry
from hushrank.exceptions import InvalidParameter

TERMS = {"row_norm": 2.0, "epsilon": 0.5}
SIZES = {"n_samples": 1000, "n_features": 6}
CASES = [
    ("PrivatePCA", {"n_components": 2}),
    ("PrivatePCA", {"n_components": 2, "mechanism": "exponential", "field": "complex"}),
    ("PrivatePCA", {"n_components": 1, "delta": 1e-6, "neighbors": "add_remove", "center": "private"}),
    ("PrivateCovariance", {"center": [1.0] * 6}),
    ("PrivateCovariance", {"rank": 3, "mechanism": "exponential", "strategy": "sequential"}),
    ("PrivateLowRank", {"rank": 2, "mechanism": "exponential", "share": 0.25}),
    ("PrivateLowRank", {"eigenvalues": [3.0, 1.0], "delta": 1e-6}),
]
WIDE_CASES = [
    ("PrivatePCA", {"n_components": 2, "column_bounds": (-1.0, 2.0), "standardize": "private", "center": "private"}),
    ("PrivatePCA", {"n_components": 2, "select_columns": "private", "delta": 1e-6, "n_samples": 400}),
    ("PrivateCovariance", {"column_bounds": [(0.0, 1.0)] * 6, "standardize": "after"}),
]


@pytest.mark.parametrize(
    ("name", "parameters"),
    [(name, {**parameters, "radius": radius}) for radius in ("private", "public") for name, parameters in CASES]
    + WIDE_CASES,
)
def test_a_planner_plans_what_its_estimator_does(name, parameters):
    planned = registry.planner(name)(**TERMS, **parameters).plan(**SIZES)
    assert planned == getattr(hr, name)(**TERMS, **parameters).plan(tuple(SIZES.values()))
    has_shares = parameters.get("radius") != "public"
    assert bool(planned.shares) == has_shares and planned.resources


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("PrivatePCA", {"n_components": 7}, "n_components of PrivatePCA must be at most the number of columns, 6"),
        ("PrivateCovariance", {"rank": 7}, "rank of PrivateCovariance must be at most the number of columns, 6"),
        ("PrivateLowRank", {}, "rank of PrivateLowRank must be an integer from 1 to 6"),
        ("PrivateLowRank", {"eigenvalues": [0.0]}, "eigenvalues of PrivateLowRank must be 1 to 6 numbers >= 0"),
        ("PrivateLowRank", {"rank": 1, "share": 0.5}, "share of PrivateLowRank must be None unless"),
        ("PrivateCovariance", {"row_norm": -1.0}, "row_norm of PrivateCovariance must be a finite float > 0"),
    ],
)
def test_a_planner_refuses_in_the_name_of_its_estimator(name, parameters, message):
    with pytest.raises(InvalidParameter, match=message):
        registry.planner(name)(**{**TERMS, **parameters}).plan(**SIZES)


def test_a_planner_needs_its_parameters():
    with pytest.raises(TypeError, match="PrivatePCA needs 'n_components'"):
        registry.planner("PrivatePCA")(**TERMS)
    with pytest.raises(TypeError, match="PrivatePCA has no parameter 'rank'"):
        registry.planner("PrivatePCA")(**TERMS, n_components=1, rank=2)
