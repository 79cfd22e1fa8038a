"""Tasks of workers: errors are returned, results of others stay as they are, pieces are opened one after the other."""

import pickle

import numpy as np
import pytest

from hushrank.data.rows.reading import read_rows
from hushrank.engine.dask_tasks import (
    Chain,
    Failure,
    Frozen,
    HeldBlocks,
    Job,
    check_versions,
    from_sums,
    kernel_job,
    own_versions,
    sum_pieces,
    telling,
    thaw,
    to_sums,
)
from hushrank.exceptions import HushrankError, InvalidParameter


def count_rows(block, state):
    return np.array([len(block), int(block.sum())])


def read_part(X):
    return read_rows(X, owner="test")


def test_pieces_are_summed_up_as_one_source():
    X = np.arange(20.0).reshape(10, 2)
    sums = sum_pieces(kernel_job(count_rows, None), [read_part] * 3, [0, 2], [[X[:4]], [X[4:]]])
    assert from_sums(sums).tolist() == [10, 190]


def test_a_task_returns_what_it_raises():
    failed = sum_pieces(kernel_job(count_rows, None), [read_part], [0], [[object()]])
    assert isinstance(failed, Failure) and isinstance(failed.error, InvalidParameter)


def test_a_failure_is_handed_on():
    failure = Failure(ValueError("told"))
    assert sum_pieces(kernel_job(count_rows, None), [read_part], [0], [[failure]]) is failure


def test_an_error_that_cannot_be_sent_is_told_by_its_kind():
    class Local(Exception):
        pass

    @telling
    def task():
        raise Local("secret")

    error = task().error
    assert type(error) is HushrankError and str(error) == "a worker of the cluster raised Local."


def test_the_form_of_a_kernel_is_kept():
    array = np.arange(3)
    assert from_sums(to_sums(array)) is array and from_sums(to_sums((array,))) == (array,)


def test_nothing_of_the_data_is_printed():
    secret = np.full(2, 12345)
    shown = [repr(one) for one in (Failure(ValueError("12345")), Frozen(b"12345"))]
    shown.append(repr(Job(count_rows, secret, False, own_versions())))
    assert not any("12345" in text for text in shown)


def test_a_chain_opens_a_piece_when_its_turn_comes():
    opened = []

    def read(X):
        opened.append(len(X))
        return read_part(X)

    blocks = Chain([(read, [np.zeros((n, 2))]) for n in (3, 4)]).blocks()
    assert opened == []
    next(blocks)
    assert opened == [3]
    assert [len(block) for block in blocks] == [4] and opened == [3, 4]


def test_a_chain_has_the_empty_block_of_its_pieces():
    assert Chain([(read_part, [np.zeros((3, 2))])]).empty_block().shape == (0, 2)


def test_held_blocks_are_a_source():
    source = HeldBlocks([np.zeros((2, 1)), np.zeros((3, 1))], np.zeros((0, 1)))
    assert source.n_samples == 5 and [len(block) for block in source.blocks()] == [2, 3]
    assert source.empty_block().shape == (0, 1) and source.sizes == {} and Chain([]).sizes == {}


def test_other_versions_are_refused():
    check_versions(own_versions())
    with pytest.raises(HushrankError, match="instead of numpy 1: sums might have other bits"):
        check_versions((own_versions()[0], "numpy 1", own_versions()[2]))


def test_what_is_frozen_comes_back():
    assert thaw(Frozen(pickle.dumps({"a": 1}))) == {"a": 1}
