"""A line of a parameter table: what it accepts, what it refuses, and that it can list its own wrong values."""

import json
import math

import numpy as np
import pytest

from hushrank.exceptions import InvalidParameter
from hushrank.parameters import (
    PairParam,
    Param,
    check_integer,
    check_parameters,
    check_real,
    check_vector,
    did_you_mean,
)

LINES = {
    "real": Param(float, above=0, below=1),
    "real or word": Param(float, minimum=0, words=("private",)),
    "count": Param(int, minimum=1, maximum=5),
    "optional count": Param(int, minimum=0, optional=True),
    "words": Param(words=("replace", "add_remove")),
    "flag": Param(bool),
    "vector": Param(np.ndarray, words=("private",), optional=True),
    "object": Param(dict, description="a dictionary"),
    "pair": PairParam(tuple, minimum=1, maximum=100),
    "optional pair": PairParam(tuple, minimum=3, optional=True),
}


@pytest.mark.parametrize("name", LINES)
def test_every_wrong_value_is_refused_by_name(name):
    line, count = LINES[name], 0
    for value in line.wrong_values():
        with pytest.raises(InvalidParameter, match=r"^x of Owner must be .*; got "):
            line.check(value, "x", "Owner")
        count += 1
    assert count >= 4


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("real", [0.5, 1e-300, np.float32(0.25)]),
        ("real or word", [0, 0.0, 7, "private"]),
        ("count", [1, 5, np.int64(3)]),
        ("optional count", [None, 0, 2**200]),
        ("words", ["replace", "add_remove"]),
        ("flag", [True, False]),
        ("vector", [[1, 2.5], (3,), np.zeros(4, np.float32), "private", None]),
        ("object", [{}]),
        ("pair", [(1, 100), [5, 7], np.array([2, 3]), (np.int16(4), 5)]),
        ("optional pair", [None, (3, 2**200)]),
    ],
)
def test_right_values_pass(name, values):
    for value in values:
        LINES[name].check(value, "x", "Owner")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("real", 1.0, "x of Owner must be a finite float > 0 and < 1; got 1.0."),
        ("real or word", "none", "x of Owner must be a finite float >= 0 or 'private'; got 'none'."),
        ("count", 6, "x of Owner must be an integer >= 1 and <= 5; got 6."),
        ("optional count", -1, "x of Owner must be an integer >= 0 or None; got -1."),
        ("words", "both", "x of Owner must be 'replace' or 'add_remove'; got 'both'."),
        ("flag", 1, "x of Owner must be a bool; got 1."),
        ("vector", [math.inf], "x of Owner must be a vector of finite real numbers or 'private' or None; got [inf]."),
        ("object", 3, "x of Owner must be a dictionary; got 3."),
        ("pair", (0, 5), "x of Owner must be a pair of integers >= 1 and <= 100; got (0, 5)."),
        ("pair", (5, 101), "x of Owner must be a pair of integers >= 1 and <= 100; got (5, 101)."),
        ("optional pair", 5, "x of Owner must be a pair of integers >= 3 or None; got 5."),
    ],
)
def test_messages_say_what_is_accepted(name, value, message):
    with pytest.raises(InvalidParameter) as error:
        LINES[name].check(value, "x", "Owner")
    assert str(error.value) == message


@pytest.mark.parametrize(
    "value", [[[1, 2]], {1, 2}, "12", range(1, 3), np.array([1.0, 2.0]), np.array(5), [1, None], ([1], 2)]
)
def test_what_is_no_pair_is_refused(value):
    with pytest.raises(InvalidParameter, match=r"^x of Owner must be a pair of integers >= 1"):
        LINES["pair"].check(value, "x", "Owner")


def test_a_pair_comes_back_from_a_file():
    line = LINES["optional pair"]
    for value in ((5, 7), [5, 7], np.array([5, 7], np.int16)):
        saved = json.loads(json.dumps(line.to_json(value)))
        assert saved == [5, 7] and line.from_json(saved) == (5, 7)
    assert line.from_json(line.to_json(None)) is None
    for damaged in ("57", 5, [5], [5, "7"], {"5": 7}):  # what a file holds is checked like any other value
        with pytest.raises(InvalidParameter, match="must be a pair"):
            line.check(line.from_json(damaged), "x", "Owner")


def test_limits_are_sharp():
    Param(float, minimum=0).check(0.0, "x", "Owner")
    for line, value in ((Param(float, above=0), 0.0), (Param(float, below=1), 1.0), (Param(int, maximum=3), 4)):
        assert value in list(line.wrong_values())
        with pytest.raises(InvalidParameter):
            line.check(value, "x", "Owner")


@pytest.mark.parametrize("value", [[[1.0], [2.0, 3.0]], np.zeros((2, 2)), ["1"], [1j], None, 3.0, [math.nan]])
def test_what_is_not_a_vector_is_refused(value):
    with pytest.raises(InvalidParameter, match="center of Owner must be a vector of finite real numbers"):
        check_vector(value, "center", "Owner")


def test_tables_are_checked_in_their_order():
    table = {"a": Param(int, minimum=0), "b": Param(int, minimum=0)}
    check_parameters(table, {"b": 1, "a": 2}, "Owner")
    with pytest.raises(InvalidParameter, match=r"^a of Owner"):
        check_parameters(table, {"b": -1, "a": -2}, "Owner")


@pytest.mark.parametrize("value", [0, -1.0, float("nan"), float("inf"), 10**400, "1", None, True, 1 + 0j])
def test_check_real_refuses(value):
    with pytest.raises(InvalidParameter, match=r"^epsilon of plan must be a finite float > 0; got .*\.$"):
        check_real(value, "epsilon", "plan", above=0)


def test_check_real_accepts_any_real_type_and_names_all_limits():
    assert check_real(np.float32(0.5), "delta", "plan", minimum=0, below=1) == 0.5
    assert check_real(0, "delta", "plan", minimum=0, below=1) == 0.0
    with pytest.raises(InvalidParameter, match=r"a finite float >= 0 and < 1; got 1\."):
        check_real(1, "delta", "plan", minimum=0, below=1)


@pytest.mark.parametrize("value", [0, 2.0, "2", True, None, 9])
def test_check_integer_refuses(value):
    with pytest.raises(InvalidParameter, match=r"^count of Repeated must be an integer >= 1 and <= 8; got"):
        check_integer(value, "count", "Repeated", minimum=1, maximum=8)


def test_check_integer_accepts_numpy_integers():
    assert check_integer(np.int64(3), "count", "Repeated", minimum=1) == 3


# Names that somebody probably meant


@pytest.mark.parametrize(
    ("name", "known", "meant"),
    [
        ("housage", ["rooms", "houseage", "age"], "houseage"),
        ("Age", ["age", "cage"], "age"),
        ("user id", ["item_id", "user_id"], "user_id"),
        ("users", ["user", "uses"], "user"),
        ("pac", ["pca", "plan"], "pca"),
        ("aa", ["a"], "a"),
        ("uid", ["age", "user_id"], "user_id"),
    ],
)
def test_the_nearest_name_is_named(name, known, meant):
    assert did_you_mean(name, known) == f"; did you mean {meant!r}?"


@pytest.mark.parametrize(
    ("name", "known"),
    [("weight", ["age", "rooms"]), ("target", ["Age"]), ("a", []), ("a", [1, ("a",)]), (7, ["7"]), ("", ["b"])],
)
def test_nothing_is_said_where_nothing_is_like_it(name, known):
    assert did_you_mean(name, known) == ""


def test_a_header_of_a_million_names_takes_no_time():
    assert did_you_mean("x1", (f"column {i}" for i in range(1_000_000))) == ""


def test_odd_characters_are_shown_as_escapes():
    assert did_you_mean("aage\x1b", ["age\x1b"]) == "; did you mean 'age\\x1b'?"
