"""A line of a table of attributes: what it accepts, and that nothing else passes."""

import math

import numpy as np
import pytest

from hushrank.archive.attributes import COLUMNS, Attribute, check_ids

SIZES = {"rank": 2, COLUMNS: 3}


@pytest.mark.parametrize(
    ("shape", "value"),
    [
        ((), 3.0),
        ((), 7),
        (("rank", COLUMNS), np.zeros((2, 3))),
        ((COLUMNS,), np.zeros(3)),
        ((COLUMNS,), ["a", "b", "c"]),
        ((4,), np.zeros(4)),
        ((COLUMNS, range(4)), np.zeros((3, 0))),
        ((COLUMNS, range(4)), np.zeros((3, 3))),
    ],
)
def test_right_shapes_pass(shape, value):
    Attribute(float, shape).check_shape(value, "x_", SIZES)


@pytest.mark.parametrize(
    ("shape", "value"),
    [
        ((), np.zeros(1)),
        ((), [1.0]),
        ((), "1"),
        ((COLUMNS,), 3),
        ((COLUMNS,), np.zeros(())),
        ((COLUMNS,), np.zeros(4)),
        ((COLUMNS,), np.zeros((3, 1))),
        (("rank", COLUMNS), np.zeros((3, 2))),
        (("rank", COLUMNS), np.zeros(6)),
        ((COLUMNS, range(4)), np.zeros((3, 4))),
        ((COLUMNS, range(4)), np.zeros((4, 3))),
    ],
)
def test_other_shapes_are_refused(shape, value):
    with pytest.raises(ValueError, match=r"^x_ has the shape \(.*\) instead of \(.*\)$"):
        Attribute(float, shape).check_shape(value, "x_", SIZES)


def test_a_size_that_is_no_number_fits_nothing():
    """Parameters of a file are not checked yet when shapes are."""
    for size in ("2", None, [2], 2.5):
        with pytest.raises(ValueError, match="x_ has the shape"):
            Attribute(float, ("rank",)).check_shape(np.zeros(2), "x_", {"rank": size})


@pytest.mark.parametrize(
    ("line", "values"),
    [
        (Attribute(float, (3,)), [np.zeros(3), np.array([-1.7e308, 5e-324, 0.0])]),
        (Attribute(float, (0,), above=0), [np.zeros(0)]),
        (Attribute(float, (1,), minimum=0), [np.zeros(1)]),
        (Attribute(complex, (1,)), [np.array([1 + 2j])]),
        (Attribute(float), [0.0, -1.5]),
        (Attribute(float, above=0), [5e-324]),
        (Attribute(int, minimum=1), [1, 2**63 - 1]),
        (Attribute(str, (1,)), [np.array(["a"], object)]),
        (Attribute(int | str, (1,)), [np.array(["a"], object), np.array([-1]), np.array([2**64 - 1], np.uint64)]),
    ],
)
def test_right_values_pass(line, values):
    for value in values:
        line.check(value, "x_")


@pytest.mark.parametrize(
    ("line", "value", "message"),
    [
        (Attribute(float, (1,)), np.array([math.nan]), "x_ has numbers that are not finite"),
        (Attribute(float, (1,)), np.array([-math.inf]), "x_ has numbers that are not finite"),
        (Attribute(complex, (1,)), np.array([complex(0, math.inf)]), "x_ has numbers that are not finite"),
        (Attribute(float, (1,)), np.zeros(1, np.float32), "x_ is no array of float64"),
        (Attribute(float, (1,)), np.zeros(1, ">f8"), "x_ is no array of float64"),
        (Attribute(float, (1,)), np.zeros(1, np.int64), "x_ is no array of float64"),
        (Attribute(float, (1,)), np.zeros(1, np.complex128), "x_ is no array of float64"),
        (Attribute(complex, (1,)), np.zeros(1), "x_ is no array of complex128"),
        (Attribute(float, (1,)), [0.0], "x_ is no array of float64"),
        (Attribute(float, (1,), minimum=0), np.array([-5e-324]), "x_ has numbers below 0"),
        (Attribute(float, (1,), above=0), np.array([0.0]), "x_ has numbers that are not above 0"),
        (Attribute(float), math.inf, "x_ is out of range"),
        (Attribute(float), math.nan, "x_ is out of range"),
        (Attribute(float), 1, "x_ is no float"),
        (Attribute(float), True, "x_ is no float"),
        (Attribute(float), None, "x_ is no float"),
        (Attribute(float, minimum=0), -1e-9, "x_ has numbers below 0"),
        (Attribute(int), 1.0, "x_ is no int"),
        (Attribute(int), True, "x_ is no int"),
        (Attribute(int), 2**63, "x_ is out of range"),
        (Attribute(int), -(10**4000), "x_ is out of range"),
        (Attribute(int, minimum=1), 0, "x_ has numbers below 1"),
    ],
)
def test_other_values_are_refused(line, value, message):
    with pytest.raises(ValueError, match=rf"^{message}$"):
        line.check(value, "x_")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.array([1.0, 2.0]), "x_ is no vector of ids"),
        (np.array([1, 2], np.int32), "x_ is no vector of ids"),
        (np.array([[1], [2]]), "x_ is no vector of ids"),
        (np.array(["a", "b"]), "x_ is no vector of ids"),
        (["a", "b"], "x_ is no vector of ids"),
        (None, "x_ is no vector of ids"),
        (np.array(["a", 1], object), "x_ is no vector of strings"),
        (np.array(["a", None], object), "x_ is no vector of strings"),
        (np.array([1, 2, 1, 1]), "x_ has 2 repeated ids"),
        (np.array(["a", "a"], object), "x_ has 1 repeated ids"),
    ],
)
def test_what_is_no_vector_of_different_ids_is_refused(value, message):
    with pytest.raises(ValueError, match=rf"^{message}$"):
        check_ids(value, "x_")


def test_names_are_text():
    with pytest.raises(ValueError, match="x_ is no vector of strings"):
        Attribute(str, (1,)).check(np.array([1]), "x_")
