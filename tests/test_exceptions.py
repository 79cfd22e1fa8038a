"""Errors are one readable line, carry their parts and survive pickling between processes."""

import pickle

import numpy as np
import pytest

from hushrank.exceptions import (
    BudgetExceeded,
    CheckpointError,
    HushrankError,
    InvalidParameter,
    KeystreamMisuse,
    SamplingFailed,
    StateMisuse,
    UnsuitableArithmetic,
)


def test_invalid_parameter_names_what_must_be_and_what_was():
    error = InvalidParameter("PrivatePCA", "row_norm", "a float > 0", -1)
    assert str(error) == "row_norm of PrivatePCA must be a float > 0; got -1."
    assert isinstance(error, ValueError)


def test_long_values_are_shortened_to_one_line():
    error = InvalidParameter("plan", "grid", "increasing", np.arange(1000.0))
    assert len(str(error)) < 200 and "\n" not in str(error)


def test_budget_exceeded_separates_asked_and_left():
    error = BudgetExceeded(2.0, 0.5, "mu^2")
    assert (error.asked, error.left) == (2.0, 0.5)
    assert str(error) == "budget exceeded: asked for mu^2 = 2, left 0.5."
    assert str(BudgetExceeded(2.0, 0.5, "mu^2", "too much")) == "budget exceeded: too much."


@pytest.mark.parametrize(
    "error",
    [
        InvalidParameter("a", "b", "c", 1),
        BudgetExceeded(1.0, 2.0, "epsilon"),
        BudgetExceeded(1.0, 2.0, "epsilon", "asked for more"),
        CheckpointError("w"),
        KeystreamMisuse("x"),
        StateMisuse("z"),
        SamplingFailed("ball", "none of 10 tries was accepted"),
        UnsuitableArithmetic("y"),
    ],
)
def test_errors_travel_between_processes(error):
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error) and str(copy) == str(error) and isinstance(copy, HushrankError)
