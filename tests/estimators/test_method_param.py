"""A parameter that names a method or gives its options: what is accepted, what is refused, what survives a file."""

import json
from dataclasses import dataclass
from typing import ClassVar

import pytest

from hushrank.estimators.method_param import MethodParam, check_options
from hushrank.exceptions import InvalidParameter
from hushrank.parameters import Param


@dataclass(frozen=True)
class Walk:
    """Options of a method."""

    steps: int = 3
    pace: float = 1.0

    table: ClassVar[dict[str, Param]] = {"steps": Param(int, minimum=1), "pace": Param(float, above=0)}

    def __post_init__(self):
        check_options(self, self.table)


@dataclass(frozen=True)
class Wait:
    """Options of another method, without fields."""


class Method(MethodParam):
    """Two methods."""

    __slots__ = ()

    methods: ClassVar = {"walk": Walk, "wait": Wait}


METHOD = Method(words=("walk", "wait"))


@pytest.mark.parametrize("value", ["walk", "wait", Walk(), Walk(steps=7, pace=0.5), Wait()])
def test_methods_survive_a_file(value):
    METHOD.check(value, "method", "Owner")
    saved = METHOD.to_json(value)
    assert METHOD.from_json(json.loads(json.dumps(saved))) == value
    assert isinstance(value, str) or saved["name"] in METHOD.methods


def test_missing_options_have_their_defaults():
    assert METHOD.from_json({"name": "walk", "pace": 2.0}) == Walk(pace=2.0)


@pytest.mark.parametrize(
    ("saved", "message"),
    [
        ({"name": "fly"}, "^method is none of walk, wait; others were made by a newer version of hushrank$"),
        ({"name": ["walk"]}, "method is none of"),
        ({"name": None}, "method is none of"),
        ({}, "method is none of"),
        ([1], "method is none of"),
        (None, "method is none of"),
        (3, "method is none of"),
        ({"name": "walk", "color": 1}, "'color' was made by a newer version of hushrank"),
        ({"name": "walk", "steps": 0}, "steps of Walk must be an integer >= 1; got 0"),
        ({"name": "walk", "steps": "3"}, "steps of Walk must be"),
    ],
)
def test_options_from_a_file_are_checked(saved, message):
    with pytest.raises(ValueError, match=message):
        METHOD.from_json(saved)


@pytest.mark.parametrize("value", [object(), "WALK", "", None, Walk, 3, {"name": "walk"}, ["walk"]])
def test_other_methods_are_refused_with_a_list(value):
    message = r"^method of Owner must be one of Walk\(...\), Wait\(...\) or 'walk' or 'wait'; got "
    with pytest.raises(InvalidParameter, match=message):
        METHOD.check(value, "method", "Owner")


@pytest.mark.parametrize(
    ("field", "value"), [("steps", 0), ("steps", 1.5), ("steps", True), ("pace", 0.0), ("pace", "fast")]
)
def test_wrong_options_are_refused_by_the_name_of_their_class(field, value):
    with pytest.raises(InvalidParameter, match=f"^{field} of Walk must be "):
        Walk(**{field: value})


def test_options_are_checked_against_every_line_of_the_table():
    with pytest.raises(InvalidParameter, match="pace of Walk"):
        check_options(Walk(), {"steps": Param(int, minimum=1), "pace": Param(float, above=1)})
