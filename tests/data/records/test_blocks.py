"""Blocks of records check their own form: compiled kernels would read foreign memory where indices contradict."""

import dataclasses

import numpy as np
import pytest

from hushrank.data.records.blocks import RecordBlock, UserRecordBlock
from hushrank.exceptions import InvalidParameter

X, Y = np.arange(6.0).reshape(3, 2), np.arange(3.0)


def ends(*indptr, dtype=np.int64):
    return np.array(indptr, dtype)


def test_blocks_count_people():
    assert len(RecordBlock(X, Y)) == 3 and len(RecordBlock(X.reshape(3, 1, 2), Y)) == 3
    assert len(UserRecordBlock(ends(0, 1, 1, 3), X, Y)) == 3
    assert len(UserRecordBlock(ends(0), X[:0], Y[:0])) == 0 == len(RecordBlock(X[:0], Y[:0]))


def test_blocks_cannot_be_changed():
    for block in (RecordBlock(X, Y), UserRecordBlock(ends(0, 3), X, Y)):
        with pytest.raises(dataclasses.FrozenInstanceError):
            block.y = Y[:2]


def test_any_values_are_fine():
    odd = np.full((3, 2), np.nan)
    odd[0] = np.inf, -0.0
    assert RecordBlock(odd, np.array([np.inf, -np.inf, np.nan])).X is odd


NO_FEATURES = [
    X.astype(np.float16), X.astype(np.int64), X.astype(">f8"), X.T, X[:, :1], X[0], X.reshape(3, 1, 1, 2), X.tolist(),
    None,
]  # fmt: skip
NO_ANSWERS = [Y.astype(np.int64), Y[:2], Y[:, np.newaxis], np.arange(6.0)[::2], Y.tolist(), None]
NO_ENDS = [
    ends(0, 3, dtype=np.int32),
    ends(0, 2),
    ends(0, 4),
    ends(1, 3),
    ends(0, 2, 1, 3),
    ends(0, 2**63 - 1, -(2**63), -1, 3),  # differences would wrap around
    ends(),
    ends(0, 3)[np.newaxis],
    ends(0, 1, 3, 3)[::2],
    [0, 3],
]


@pytest.mark.parametrize("features", NO_FEATURES, ids=repr)
def test_features_of_another_form_are_refused(features):
    form = r"a float32 or float64 array of shape \(n, d\) or \(n, d1, d2\) in C order"
    with pytest.raises(InvalidParameter, match=rf"^X of RecordBlock must be {form}; got '[^\[]*'\.$"):
        RecordBlock(features, Y)
    with pytest.raises(InvalidParameter, match=rf"^X of UserRecordBlock must be {form}; got '[^\[]*'\.$"):
        UserRecordBlock(ends(0, 3), features, Y)


def test_single_precision_is_fine_and_stays_so():
    single = X.astype(np.float32)
    assert UserRecordBlock(ends(0, 3), single, Y).X is single is RecordBlock(single, Y).X
    with pytest.raises(InvalidParameter, match=r"^y of RecordBlock must be a float64 vector"):
        RecordBlock(single, Y.astype(np.float32))


@pytest.mark.parametrize("answers", NO_ANSWERS, ids=repr)
def test_answers_of_another_form_are_refused(answers):
    message = r"^y of {} must be a float64 vector, one number for each record; got '[^\[]*'\.$"
    with pytest.raises(InvalidParameter, match=message.format("RecordBlock")):
        RecordBlock(X, answers)
    with pytest.raises(InvalidParameter, match=message.format("UserRecordBlock")):
        UserRecordBlock(ends(0, 3), X, answers)


@pytest.mark.parametrize("indptr", NO_ENDS, ids=repr)
def test_ends_that_contradict_each_other_are_refused(indptr):
    message = "must be an int64 vector that starts with 0, never falls and ends with the number of records; got '"
    with pytest.raises(InvalidParameter, match=f"^indptr of UserRecordBlock {message}"):
        UserRecordBlock(indptr, X, Y)
