"""The registry: every line leads to what it names, planners are the estimators' own, and importing it is no work."""

import inspect
import subprocess
import sys

import pytest

import hushrank
from hushrank.base import PrivateRelease
from hushrank.estimator import PrivateEstimator
from hushrank.registry import COMMANDS, PUBLIC, RELEASES, find, planner

SECOND_MOMENT = {"row_norm": 2.0, "epsilon": 1.0, "center": "private", "neighbors": "add_remove", "n_max": 5000}
SKETCH = {"shape": (500, 40), "rank": 3, "epsilon": 1.0, "delta": 1e-6}
PLANNED = {
    "PrivatePCA": ({"n_components": 2, **SECOND_MOMENT}, (1000, 6)),
    "PrivateCovariance": ({"rank": 3, **SECOND_MOMENT}, (1000, 6)),
    "PrivateLowRank": ({"rank": 2, "mechanism": "exponential", **SECOND_MOMENT}, (1000, 6)),
    "PrivateCompletion": ({"rank": 2, "epsilon": 1.0, "delta": 1e-6, "rating_range": (1, 5), "items": 40}, (500, 40)),
    "PrivateEvaluation": ({"epsilon": 1.0, "delta": 1e-6, "k": 5, "baselines": False}, (500,)),
    "PrivateRepresentation": ({"n_components": 2, "epsilon": 1.0, "delta": 1e-6, "loss": "logistic"}, (500, 40)),
    "PrivateTraceRegression": (
        {"rank": 2, "epsilon": 1.0, "delta": 1e-6, "design": "entry", "shape": (9, 7), "privacy": "label"},
        (500, 9, 7),
    ),
    "TurnstileSketch": ({**SKETCH, "pan_private": True}, (10**5, 500, 40)),
    "Factorization": ({**SKETCH, "unit": "row"}, (10**5, 500, 40)),
}


@pytest.mark.parametrize("name", PUBLIC)
def test_every_name_leads_to_an_object_of_this_name(name):
    found = find(name)
    assert found.__name__ == name and found is getattr(hushrank, name)
    assert name in hushrank.__all__ and name in dir(hushrank)


def test_other_names_are_unknown():
    with pytest.raises(KeyError):
        find("os")
    with pytest.raises(AttributeError, match="no attribute 'PrivateNothing'"):
        hushrank.PrivateNothing  # noqa: B018


@pytest.mark.parametrize("name", RELEASES)
def test_a_planner_has_the_parameters_of_what_it_plans(name):
    release, plans = find(name), planner(name)
    assert issubclass(release, plans.__base__) and plans.__name__ == name
    table = plans.parameter_table()
    of_estimators = set(PrivateEstimator.parameter_table()) - set(PrivateRelease.parameter_table())
    assert {key: line for key, line in release.parameter_table().items() if key not in of_estimators} == table
    assert plans.size_table() == release.size_table()
    if "__init__" in vars(release):  # else it stores what the table says
        stated = {
            key: ... if parameter.default is inspect.Parameter.empty else parameter.default
            for key, parameter in inspect.signature(release).parameters.items()
        }
        assert stated == {key: line.default for key, line in release.parameter_table().items()}


def test_every_release_is_planned_here():
    assert set(PLANNED) == set(RELEASES), "a new release adds its parameters to PLANNED"


@pytest.mark.parametrize("name", RELEASES)
def test_a_planner_plans_as_the_estimator_does(name):
    parameters, shape = PLANNED[name]
    plan = planner(name)(**parameters).plan(shape)
    assert plan == find(name)(**parameters).plan(shape) and plan.forecast


@pytest.mark.parametrize("name", RELEASES)
def test_errors_of_a_planner_name_what_it_plans(name):
    parameters, shape = PLANNED[name]
    with pytest.raises(ValueError, match=rf"^epsilon of {name} must be a finite float > 0; got 0\."):
        planner(name)(**{**parameters, "epsilon": 0}).plan(shape)


def test_commands_belong_to_one_release_each():
    assert len(COMMANDS) == sum(bool(entry.command) for entry in PUBLIC.values())
    assert all(RELEASES[name].summary.endswith(".") for name in COMMANDS.values())


def test_importing_the_package_does_no_work():
    code = "import hushrank, sys; print(*sys.modules)"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert {name for name in printed if name.split(".")[0] == "hushrank"} == {"hushrank", "hushrank.registry"}
    assert "numpy" not in printed and "dataclasses" not in printed  # the second takes a third of the time
