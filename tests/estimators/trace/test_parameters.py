"""The parameter of covariances: every form that is taken, every form that is refused, and what a file holds of it."""

import json
import math

import numpy as np
import pytest

from hushrank.estimators.trace.parameters import GIVEN, CovarianceParam
from hushrank.exceptions import InvalidParameter

LINE = CovarianceParam(words=("private", "identity"), default="private")
NAME, OWNER = "design_covariance", "owner"


class Callable:
    def __call__(self, X):
        return X


TAKEN = {
    "word": "private",
    "another word": "identity",
    "what a file says": GIVEN,
    "function": lambda X: X,
    "object that can be called": Callable(),
    "two vectors": ([1.0, 2.0], np.array([3.0])),
    "two matrices": (np.array([[2.0, 1.0], [1.0, 2.0]]), np.eye(3)),
    "lists of lists": [[[2.0, 1.0], [1.0, 2.0]], [1.0, 2.0]],
    "a vector and a matrix": (np.ones(2, np.float32), np.eye(3, dtype=int)),
    "integers": ([1, 2], [3, 4, 5]),
    "one number each": ([1.0], [[1.0]]),
    "variances of all entries": np.array([[1.0, 2.0, 3.0], [1e-119, 1e119, 1.0]]),
    "a covariance of tiny numbers": (1e-119 * np.eye(2), 1e119 * np.eye(2)),
    "rounded by its owner": (np.array([[1.0, 0.1], [0.1 * (1 + 1e-12), 1.0]]), [1.0]),
}
REFUSED = {
    "a class": Callable,
    "another word": "none",
    "three parts": (np.eye(2), np.eye(2), np.eye(2)),
    "one part": (np.eye(2),),
    "no parts": (),
    "not symmetric": (np.array([[1.0, 0.5], [0.4, 1.0]]), [1.0]),
    "not definite": (np.array([[1.0, 2.0], [2.0, 1.0]]), [1.0]),
    "singular": (np.ones((2, 2)), [1.0]),
    "negative": (-np.eye(2), [1.0]),
    "not square": (np.ones((2, 3)), [1.0]),
    "zeros": (np.zeros((2, 2)), [1.0]),
    "a variance of zero": ([1.0, 0.0], [1.0]),
    "an infinite variance": ([1.0, math.inf], [1.0]),
    "no number": ([1.0, math.nan], [1.0]),
    "an infinite matrix": (np.full((2, 2), math.inf), [1.0]),
    "empty": ([], [1.0]),
    "an empty matrix": (np.empty((0, 0)), [1.0]),
    "ragged": ([[1.0, 2.0], [1.0]], [1.0]),
    "complex": (np.eye(2) * (1 + 0j), [1.0]),
    "texts": (["1.0", "2.0"], [1.0]),
    "truth values": ([True, True], [1.0]),
    "objects": (np.array([1.0, 2.0], object), [1.0]),
    "three axes": (np.ones((2, 2, 2)), [1.0]),
    "array of one axis": np.ones(4),
    "array of three axes": np.ones((2, 2, 2)),
    "empty array": np.empty((0, 3)),
    "array with zeros": np.array([[1.0, 0.0]]),
    "array of infinities": np.full((2, 2), math.inf),
    "array of texts": np.array([["a", "b"]]),
    "a dictionary": {"rows": [1.0], "columns": [1.0]},
    "a set": {1.0, 2.0},
    "a number": 2.0,
    "nothing": None,
}


@pytest.mark.parametrize("name", TAKEN)
def test_what_is_taken(name):
    LINE.check(TAKEN[name], NAME, OWNER)


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_by_name_and_in_one_line(name):
    with pytest.raises(
        InvalidParameter, match=r"^design_covariance of owner must be 'private', 'identity', a pair"
    ) as e:
        LINE.check(REFUSED[name], NAME, OWNER)
    assert len(str(e.value)) < 700


@pytest.mark.parametrize("size", [5e-324, 1e-121, 1e121, 1e308])
def test_variances_of_no_measurements_are_refused(size):
    """Roots and means of such numbers overflow."""
    for part in ([size, 1.0], size * np.eye(2), np.diag([1.0, size])):
        with pytest.raises(InvalidParameter):
            LINE.check((part, [1.0]), NAME, OWNER)
    with pytest.raises(InvalidParameter):
        LINE.check(np.array([[size, 1.0]]), NAME, OWNER)


def test_arrays_are_told_by_their_shape_and_not_shown():
    with pytest.raises(InvalidParameter, match=r"got 'an array of shape \(2, 2, 2\)'\.$"):
        LINE.check(np.full((2, 2, 2), 7.25), NAME, OWNER)


def test_all_wrong_values_are_wrong():
    values = list(LINE.wrong_values())
    assert len(values) > 8
    for value in values:
        with pytest.raises(InvalidParameter):
            LINE.check(value, NAME, OWNER)


@pytest.mark.parametrize("name", TAKEN)
def test_files_hold_a_word_and_no_numbers(name):
    value = TAKEN[name]
    saved = LINE.to_json(value)
    assert json.loads(json.dumps(saved)) == (value if isinstance(value, str) else GIVEN)
    LINE.check(LINE.from_json(saved), NAME, OWNER)
