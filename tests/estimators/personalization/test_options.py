"""Options of the methods: what is refused and in which words, names, and no heavy import."""

import subprocess
import sys
from dataclasses import FrozenInstanceError, fields

import pytest

from hushrank.estimators.personalization.options import (
    METHODS,
    AlternatingMinimization,
    GradientSteps,
    PersonalizationMethodParam,
    to_options,
)
from hushrank.exceptions import InvalidParameter

WITH_TABLES = (GradientSteps, AlternatingMinimization)
WRONG = [
    (kind, name, value) for kind in WITH_TABLES for name, line in kind._params.items() for value in line.wrong_values()
]


@pytest.mark.parametrize(
    ("kind", "name", "value"), WRONG, ids=[f"{kind.__name__}-{name}-{i}" for i, (kind, name, _) in enumerate(WRONG)]
)
def test_wrong_options_are_refused_in_the_name_of_their_class(kind, name, value):
    with pytest.raises(InvalidParameter, match=f"^{name} of {kind.__name__} must be "):
        kind(**{name: value})


@pytest.mark.parametrize("kind", METHODS.values())
def test_every_option_has_a_line_in_the_table_and_none_changes(kind):
    assert set(kind._params) == {field.name for field in fields(kind)}
    with pytest.raises(FrozenInstanceError):
        setattr(kind(), fields(kind)[0].name, 3)


def test_names_of_methods_are_their_options():
    assert list(METHODS) == ["gradient", "altmin", "exponential"]
    assert [kind.is_pure for kind in METHODS.values()] == [False, False, True]
    assert ["logistic" in kind.losses for kind in METHODS.values()] == [True, False, True]
    changed = GradientSteps(3)
    assert to_options(changed) is changed and to_options("altmin") == AlternatingMinimization()


@pytest.mark.parametrize("method", ["altmin", GradientSteps(7), AlternatingMinimization(2, participation="blocks")])
def test_options_survive_a_file(method):
    line = PersonalizationMethodParam(words=tuple(METHODS), default="gradient")
    assert line.from_json(line.to_json(method)) == method


def test_nothing_heavy_is_imported():
    code = (
        "import sys, hushrank.estimators.personalization.options;"
        "sys.exit(any(name in sys.modules for name in ('numba', 'sklearn', 'pyarrow', 'scipy')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
