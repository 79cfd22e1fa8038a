"""Arrays that somebody fills again and again: what threads still read is not changed under them, in every stream.

An engine reads the next block while its threads work on those before. A maker of blocks who fills the same arrays
again, or a function that returns one and the same array, must not make a record count twice or with somebody else's
numbers.
"""

import time

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse

from hushrank.data.records.measurements import read_measurements
from hushrank.data.records.reading import read_records
from hushrank.data.rows.reading import read_rows
from hushrank.engine.local import LocalEngine
from hushrank.estimators.trace.coordinates import isotropic
from hushrank.estimators.trace.record_sums import StartState, sum_start
from hushrank.exceptions import InvalidParameter
from hushrank.privacy.ledger import Ledger
from record_support import sum_lattice
from trace_fit_support import regression
from trace_support import make_design

ROWS, BLOCKS = 512, 24


def filled_again(make):
    """A function of blocks of one and the same arrays, in each of which all numbers are that of the block."""

    def blocks():
        block = make()
        for k in range(BLOCKS):
            for part in block:
                for array in part if isinstance(part, tuple) else (part,):
                    array[...] = k
            yield block if len(block) > 1 else block[0]

    return blocks


def count_numbers(block, state):
    """How often each number is found: in rows, or in measurements and in answers."""
    parts = (block,) if isinstance(block, np.ndarray) else (block.X, block.y)
    for part in parts:
        np.add.reduce(part, axis=None)  # some time, in which another block may be made
    return np.stack([np.bincount(np.asarray(part, int).ravel(), minlength=BLOCKS) for part in parts]).astype(np.int64)


STREAMS = {
    "rows": (lambda: (np.empty((ROWS, 3)),), lambda blocks: read_rows(blocks, owner="test"), (3,)),
    "records": (
        lambda: (np.empty((ROWS, 3)), np.empty(ROWS)),
        lambda blocks: read_records(blocks, owner="test"),
        (3, 1),
    ),
    "matrices": (
        lambda: (np.empty((ROWS, 3, 2)), np.empty(ROWS)),
        lambda blocks: read_measurements(blocks, design="dense", owner="test"),
        (6, 1),
    ),
    "pairs": (
        lambda: ((np.empty((ROWS, 3)), np.empty((ROWS, 2))), np.empty(ROWS)),
        lambda blocks: read_measurements(blocks, design="rank_one", owner="test"),
        (5, 1),
    ),
}


@pytest.mark.parametrize("kind", STREAMS)
@pytest.mark.parametrize("threads", [1, 3])
def test_blocks_that_are_filled_again_count_once_each(kind, threads):
    make, read, widths = STREAMS[kind]
    expected = np.array([[ROWS * width] * BLOCKS for width in widths])
    for _ in range(3):
        found = LocalEngine(threads).total(read(filled_again(make)), count_numbers, None)
        assert np.array_equal(found, expected)


@pytest.mark.parametrize("threads", [1, 3])
def test_a_function_that_fills_one_array_again_and_again_mixes_no_records_of_several_threads(threads):
    shape, n = (4, 3), 600
    X, y, buffer = np.random.default_rng(1).standard_normal((n, *shape)), np.ones(n), np.empty(shape)

    def doubled(x):
        np.multiply(x, 2.0, out=buffer)
        time.sleep(1e-5)  # another thread may go on
        return buffer

    source, lattice = read_measurements(X, y, design="dense", owner="test"), sum_lattice(1.0)
    one, other = (
        LocalEngine(used, block_rows=20).total(
            source, sum_start, (StartState(make_design("dense", shape, function), isotropic(shape), 0.0), lattice)
        )
        for used, function in ((threads, doubled), (1, lambda x: 2.0 * x))
    )
    assert np.array_equal(one, other)


@pytest.mark.parametrize("cell", [[0.5], (), range(3), {"a": 1}, "text", None, np.ones(2)])
def test_a_cell_that_is_no_number_stops_no_fit_after_the_charge(cell, tmp_path):
    X, y = np.random.default_rng(2).standard_normal((60, 6)), np.zeros(60)
    later = X[30:].tolist()
    later[7][2] = cell
    with Ledger(tmp_path / "budget.db") as ledger:
        account = ledger.create("records", epsilon=2.0, delta=1e-5, unit="record")
        model = regression(1, shape=(3, 2), ledger=account, epsilon=1.0)
        model.fit(iter([(X[:30].tolist(), y[:30]), (later, y[30:])]))
        assert np.isfinite(model.intercept_)


def test_a_function_without_new_blocks_is_refused_before_the_charge(tmp_path):
    blocks = iter([(np.ones((5, 3, 2)), np.ones(5))] * 3)
    with Ledger(tmp_path / "budget.db") as ledger:
        account = ledger.create("records", epsilon=2.0, delta=1e-5, unit="record")
        with pytest.raises(InvalidParameter, match="a function that returns the blocks anew each time"):
            regression(1, ledger=account, epsilon=1.0).fit(lambda: blocks)
        assert len(account.history()) == 1  # that it was created


def arrow_text(raw):
    """A table of one row, whose first cell is these bytes as text."""
    ends = pa.py_buffer(np.array([0, len(raw)], np.int32))
    return pa.table({"a": pa.Array.from_buffers(pa.string(), 1, [None, ends, pa.py_buffer(raw)]), "b": [2.0]})


def sparse_objects(cell):
    """A sparse matrix whose cells are objects, one of them this."""
    matrix = scipy.sparse.csr_matrix(np.array([[1.0, 2.0], [3.0, 4.0]]))
    matrix.data = np.array([cell, 2.0, 3.0, 4.0], object)
    return matrix


TABLE = pa.table({"a": np.arange(5.0), "b": np.ones(5)})
ODD_BLOCKS = {
    "nested cells": (np.ones((5, 2)), [[[1, 2], [3, 4]]]),
    "a nested cell": (np.ones((5, 2)), [[[1, 2], 4.0]]),
    "text that is none": (TABLE, arrow_text(b"\xff")),
    "a time beyond the calendar": (TABLE, pa.table({"a": pa.array([2**62], pa.timestamp("s")), "b": [2.0]})),
    "objects in a sparse matrix": (np.ones((5, 2)), sparse_objects("x")),
    "a masked cell in a list": (np.ones((5, 2)), [[np.ma.masked, 1.0]]),
    "a masked cell in an array": (np.ones((5, 2)), np.array([[np.ma.masked, 1.0]], object)),
}


@pytest.mark.parametrize("name", ODD_BLOCKS)
def test_no_cell_of_a_later_block_stops_a_fit_or_is_told_to_whoever_looks_on(name, capsys, recwarn):
    first, block = ODD_BLOCKS[name]
    rows = read_rows(lambda: iter([first, block]), owner="test")
    *_, last = rows.blocks()
    assert np.isnan(last[0]).any() and last.shape[1] == 2
    assert not recwarn.list and capsys.readouterr() == ("", "")


def test_cells_beside_an_odd_one_are_kept():
    rows = read_rows(lambda: iter([np.ones((5, 2)), [[[1, 2], 4.0], [5.0, "6"]]]), owner="test")
    *_, last = rows.blocks()
    assert np.array_equal(last, [[np.nan, 4.0], [5.0, 6.0]], equal_nan=True)
    rows = read_rows(lambda: iter([np.ones((5, 2)), sparse_objects("x")]), owner="test")
    *_, last = rows.blocks()
    assert np.array_equal(last, [[np.nan, 2.0], [3.0, 4.0]], equal_nan=True)
