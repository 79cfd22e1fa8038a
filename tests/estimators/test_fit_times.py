"""What a fit will take is told for every estimator and method; the test of a new method without a forecast fails."""

import pytest

from hushrank.estimators.fit_times import CPU_TIME, MEMORY, tell_resources
from hushrank.estimators.turnstile.resources import FACTORIZATION_TIME, UPDATE_TIME, stream_resources
from hushrank.registry import RELEASES, planner

APPROXIMATE, USERS = {"epsilon": 1.0, "delta": 1e-6}, {"n_users": 3000, "n_items": 40, "n_ratings": 90_000}
ROWS = ({"row_norm": 2.0, **APPROXIMATE}, {"n_samples": 1000, "n_features": 6})
# Parameters, and the sizes that a check has counted. Those without an entry of their own are not fitted to data of
# their own: an evaluation needs a model, a factorization is what a sketch returns.
CHECKED = {
    "PrivatePCA": ({"n_components": 1, **ROWS[0]}, ROWS[1]),
    "PrivateCovariance": ({"rank": 1, **ROWS[0]}, ROWS[1]),
    "PrivateLowRank": ({"rank": 1, **ROWS[0]}, ROWS[1]),
    "PrivateCompletion": ({"rank": 2, "rating_range": (1, 5), "items": 40, **APPROXIMATE}, USERS),
    "PrivateRepresentation": (
        {"n_components": 2, **APPROXIMATE}, {"n_users": 500, "n_features": 9, "n_records": 4000},
    ),
    "PrivateTraceRegression": (
        {"rank": 2, "shape": (9, 7), **APPROXIMATE}, {"n_samples": 500, "n_rows": 9, "n_columns": 7},
    ),
    "TurnstileSketch": (
        {"shape": (500, 400), "rank": 3, **APPROXIMATE}, {"n_updates": 10**5, "n_rows": 500, "n_columns": 400},
    ),
}  # fmt: skip
CHOICES = ("method", "design", "mechanism", "kind", "operator", "unit", "feedback", "loss")
# What a choice needs beside.
NEEDED = {
    ("mechanism", "wishart"): {"delta": 0.0},
    ("mechanism", "exponential"): {"delta": 0.0},
    ("method", "exponential"): {"delta": 0.0},
}


def choices(name):
    """The defaults of a release, and every word of every choice."""
    table = planner(name).parameter_table()
    words = [(choice, word) for choice in CHOICES if choice in table for word in table[choice].words]
    return [{}, *({choice: word, **NEEDED.get((choice, word), {})} for choice, word in words)]


CASES = [(name, chosen) for name in CHECKED for chosen in choices(name)]


def told(name, **chosen):
    """What a check of these sizes would tell, without data."""
    parameters, sizes = CHECKED[name]
    release = planner(name)(**{**parameters, **chosen})
    releases = release._plan(release._check_parameters(), sizes)
    if name == "TurnstileSketch":
        return stream_resources(release._work(releases), sizes["n_updates"])
    return release._resources(releases, sizes)


def test_every_release_is_here():
    assert set(RELEASES) - set(CHECKED) == {"Factorization", "PrivateEvaluation"}, "a new release adds its sizes"
    assert len(CASES) > 40  # words are found


@pytest.mark.parametrize("name", CHECKED)
def test_memory_and_time_of_every_method_are_told(name):
    for chosen in choices(name):
        found = told(name, **chosen)
        assert found.get(MEMORY, 0.0) > 0.0 and found.get(CPU_TIME, 0.0) > 0.0, chosen


def test_other_combinations_are_told_too():
    matrix = {"offsets": False}
    for chosen in (matrix, {"method": "factored_gradient", **matrix}, {"method": "als", "feedback": "implicit"}):
        assert set(told("PrivateCompletion", **chosen)) == {MEMORY, CPU_TIME}
    both = {"method": "exponential", "loss": "logistic", "delta": 0.0}
    assert told("PrivateRepresentation", **both)[CPU_TIME] > 10 * told("PrivateRepresentation")[CPU_TIME]
    assert told("TurnstileSketch", kind="three_sketch", unit="frobenius")[CPU_TIME] > told("TurnstileSketch")[CPU_TIME]


def test_joint_draws_of_several_directions_have_no_time():
    pure = {"mechanism": "exponential", "delta": 0.0, "rank": 2}
    assert CPU_TIME not in told("PrivateLowRank", **pure)
    assert CPU_TIME in told("PrivateLowRank", strategy="sequential", **pure)


@pytest.mark.parametrize("name", CHECKED)
def test_plans_tell_nothing_that_depends_on_secret_counts(name):
    parameters, sizes = CHECKED[name]
    release = planner(name)(**parameters)
    resources = release.plan(**{size: sizes[size] for size in release.size_table()}).resources
    if name in ("PrivateCompletion", "PrivateRepresentation"):
        assert resources == {}
    elif name == "TurnstileSketch":  # how many updates there will be is a guess
        assert set(resources) == {MEMORY, UPDATE_TIME, FACTORIZATION_TIME}
    else:
        assert {MEMORY, CPU_TIME} <= set(resources)


def test_what_is_not_known_is_left_out():
    assert tell_resources(seconds=1.0) == {CPU_TIME: 1.0} and tell_resources(n_bytes=2e6) == {MEMORY: 2.0}
