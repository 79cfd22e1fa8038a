"""Streams of blocks: forms are refused, values never, and a cell changes its own update only."""

import math
import weakref

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from hushrank.data.updates.block_streams import BlockUpdates
from hushrank.exceptions import InvalidParameter

SHAPE = (3, 4)
GOOD = ([0, 2], [1, 3], [0.5, -1.0])
FOUR = (*GOOD, ["ann", 7])


def stream(blocks, needs_users=False):
    return BlockUpdates(iter(blocks), SHAPE, needs_users, "A")


def updates_of(origin, most=100):
    """Rows, columns, deltas and users of each update."""
    found = []
    for chunk in origin.chunks(most):
        assert 0 < len(chunk) <= most and (chunk.users is not None) == origin.has_users
        users = [None] * len(chunk) if chunk.users is None else chunk.users.to_pylist()
        assert chunk.users is None or chunk.users.type == pa.large_string()
        found += zip(chunk.rows.tolist(), chunk.columns.tolist(), chunk.deltas.tolist(), users, strict=True)
    return found


def refusal_of(blocks, needs_users=False):
    """Of the first block when the stream is made, of a later one when it is read."""
    with pytest.raises(InvalidParameter) as refusal:
        list(stream(blocks, needs_users).chunks(100))
    assert "\n" not in str(refusal.value) and "7.25" not in str(refusal.value)
    return str(refusal.value)


TABLE = pa.table({"row": GOOD[0], "column": GOOD[1], "delta": GOOD[2], "user": ["ann", "7"]})
MATRIX = sp.coo_array((GOOD[2], (GOOD[0], GOOD[1])), SHAPE)
EXPECTED = [(0, 1, 0.5, None), (2, 3, -1.0, None)]


def test_blocks_of_every_kind_one_after_the_other():
    blocks = [GOOD, TABLE, MATRIX, pl.from_arrow(TABLE), TABLE.to_batches()[0], tuple(map(np.array, GOOD))]
    assert updates_of(stream(blocks)) == EXPECTED * len(blocks)
    assert updates_of(stream([FOUR, TABLE], True)) == [(0, 1, 0.5, "ann"), (2, 3, -1.0, "7")] * 2
    assert updates_of(stream(blocks), most=1) == EXPECTED * len(blocks)
    assert updates_of(stream([([], [], []), GOOD])) == EXPECTED
    assert updates_of(stream([([], [], [])])) == []


def test_streams_are_read_once_and_functions_again():
    origin = stream([GOOD, GOOD])
    assert not origin.can_repeat and origin.n_updates is None and len(updates_of(origin)) == 4
    with pytest.raises(InvalidParameter, match="data that can be read again"):
        origin.chunks(1)
    origin = BlockUpdates(lambda: [GOOD], SHAPE, False, "A")
    assert origin.can_repeat and updates_of(origin) == updates_of(origin) == EXPECTED
    with pytest.raises(InvalidParameter, match="blocks, at least one of them"):
        stream([])


ODD_INDICES = [[0, 7.25], [0, None], [0, 2**70], np.array([0.0, math.nan]), [0, "x"], [0, "1.5"], [0, b"?"]]
ODD_INDICES += [[0, [1]], pd.Series([0, None]), pd.Series(["0", "z"], dtype=object), pa.array(["0", None])]
ODD_INDICES += [np.array([0, 1j]), pl.Series([0.0, 7.25]), np.array([0, None], object)]


@pytest.mark.parametrize("indices", ODD_INDICES, ids=lambda value: type(value).__name__)
def test_one_cell_of_a_later_block_changes_its_own_update_only(indices):
    found = updates_of(stream([GOOD, (indices, [1, 3], [0.5, -1.0]), (GOOD[0], indices, GOOD[2]), GOOD]))
    assert found[2:6] == [(0, 1, 0.5, None), (-1, 3, -1.0, None), (0, 0, 0.5, None), (2, -1, -1.0, None)]
    assert found[:2] == found[6:] == EXPECTED


ODD_DELTAS = [[0.5, "x"], [0.5, None], np.array([0.5, 1j]), [0.5, "7.25 and"], pd.Series([0.5, "x"], dtype=object)]
ODD_DELTAS += [pa.array(["0.5", None]), np.array([0.5, None], object), [0.5, [1, 2]]]


@pytest.mark.parametrize("deltas", ODD_DELTAS, ids=lambda value: type(value).__name__)
def test_one_delta_of_a_later_block_likewise(deltas):
    found = updates_of(stream([GOOD, (GOOD[0], GOOD[1], deltas), GOOD]))
    assert found[:3] == [*EXPECTED, EXPECTED[0]] and found[4:] == EXPECTED
    assert found[3][:2] == (2, 3) and math.isnan(found[3][2])


def test_users_of_a_later_block_are_texts_whatever_they_are():
    for users, expected in (
        ([7.0, "x"], ["7", "x"]), ([None, 8], [None, "8"]), (np.array([7.0, math.nan]), ["7", None]),
        (pd.Series(["a", None], dtype=object), ["a", None]), (["a", 7.25], ["a", None]), (pa.nulls(2), [None, None]),
        (np.array([2**64 - 1, 0], np.uint64), [str(2**64 - 1), "0"]),
    ):  # fmt: skip
        found = updates_of(stream([FOUR, (*GOOD, users), FOUR], True))
        assert [update[3] for update in found] == ["ann", "7", *expected, "ann", "7"]
        assert [update[:3] for update in found] == [update[:3] for update in EXPECTED] * 3


def test_tables_and_matrices_of_later_blocks_likewise():
    odd = pd.DataFrame({"row": [0, None], "column": ["1", "x"], "delta": ["0.5", None], "user": [7.0, None]})
    found = updates_of(stream([FOUR, odd, TABLE], True))
    assert found[2] == (0, 1, 0.5, "7") and found[3][:2] == (-1, -1) and math.isnan(found[3][2])
    assert found[3][3] is None and found[4:] == [(0, 1, 0.5, "ann"), (2, 3, -1.0, "7")]
    made = sp.coo_array((np.array([0.5, 1.0j]), (GOOD[0], GOOD[1])), SHAPE)
    found = updates_of(stream([MATRIX, made]))
    assert found[:3] == [*EXPECTED, EXPECTED[0]] and math.isnan(found[3][2])


BLOCKS = "blocks that are tuples (rows, columns, deltas), with users where they are needed, tables or sparse matrices"
FORMS = {
    "a list": (list(GOOD), f"rows of A must be {BLOCKS}; got 'list'."),
    "two vectors": (GOOD[:2], f"rows of A must be {BLOCKS}; got 'a tuple of 2'."),
    "five vectors": ((*FOUR, 1), f"rows of A must be {BLOCKS}; got 'a tuple of 5'."),
    "bytes": (b"0,1,7.25\n", f"rows of A must be {BLOCKS}; got 'bytes'."),
    "users": (FOUR, "users of A must be None where an update needs no user; got 'ids'."),
    "another shape": (MATRIX.T, "rows of A must be a matrix of shape (3, 4); got 'shape (4, 3)'."),
    "other columns": (
        TABLE.rename_columns(["a", "b", "c", "d"]),
        "updates of A must be a table with the columns row, column, delta; got 'one without row, column, delta'.",
    ),
    "lazy": (
        pl.LazyFrame({"row": [1]}),
        "X of A must be data that can be read: collect() the lazy frame, or pass the path of its Parquet file; "
        "got 'LazyFrame'.",
    ),
}


@pytest.mark.parametrize("kind", FORMS)
@pytest.mark.parametrize("before", [[], [GOOD]], ids=["first", "later"])
def test_other_forms_are_refused_wherever_they_are(kind, before):
    block, message = FORMS[kind]
    assert refusal_of([*before, block]) == message


def test_vectors_that_do_not_belong_together_are_refused():
    message = "columns of A must be a vector of 2 numbers, as many as rows; got '1 numbers'."
    assert refusal_of([([0, 1], [1], [0.5, 7.25])]) == message
    later = (
        "rows of A must be blocks whose vectors are of one length; got 'a block of parts that do not belong together'."
    )
    assert refusal_of([GOOD, ([0, 1], [1], [0.5, 7.25])]) == later
    assert refusal_of([GOOD, ([0, 1], [1, 1], [[0.5], [7.25]])]) == later
    assert refusal_of([FOUR, (*GOOD, ["a"])], True) == later
    message = "columns of A must be a vector of integers in every block; got 'list'."
    assert refusal_of([GOOD, ([0, 1], [[1], [2]], [0.5, 7.25])]) == message
    message = "deltas of A must be an array, a list or a column in every block; got 'NoneType'."
    assert refusal_of([GOOD, ([0, 1], [1, 2], None)]) == message


def test_users_are_in_every_block_that_needs_them():
    assert refusal_of([FOUR, GOOD], True) == "users of A must be ids, one for each update; got None."
    message = "rows of A must be updates with users: vectors, a table or a file; a matrix has none; got 'coo'."
    assert refusal_of([FOUR, MATRIX], True) == refusal_of([MATRIX], True) == message
    without = "updates of A must be a table with the columns row, column, delta, user; got 'one without user'."
    assert refusal_of([FOUR, TABLE.drop_columns(["user"])], True) == without


def test_the_first_block_is_checked_when_the_stream_is_made():
    asked = []

    def blocks():
        for block in (([0.5], [1], [1]), GOOD):
            asked.append(block)
            yield block

    with pytest.raises(InvalidParameter, match="rows of A must be a vector of integers"):
        BlockUpdates(blocks(), SHAPE, False, "A")
    assert len(asked) == 1


def test_a_block_is_let_go_of_before_the_next_one_is_made():
    made = []

    def blocks():
        for _ in range(3):
            assert all(rows() is None for rows in made)
            rows = np.arange(5)
            made.append(weakref.ref(rows))
            block = (rows, np.arange(5), np.arange(5.0))
            del rows
            yield block
            del block

    n_updates = 0
    for chunk in BlockUpdates(blocks(), SHAPE, False, "A").chunks(2):
        n_updates += len(chunk)
        assert made[-1]() is not None
        del chunk
    assert n_updates == 15 and len(made) == 3
