"""Updates in blocks: inside the public shape and finite; what was left out is counted for the data holder."""

import logging

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrank.data.source import MAX_BLOCK_ROWS
from hushrank.data.updates.entries import Entries
from hushrank.data.updates.reading import read_updates
from hushrank.data.updates.source import UpdateBlock, UpdateChunk, Updates, has_user
from hushrank.engine.local import LocalEngine
from hushrank.exceptions import InvalidParameter
from piece_support import sent

SHAPE = (3, 5)
INT64 = np.iinfo(np.int64)


def updates(rows, columns, deltas, shape=SHAPE, dtype=np.int64):
    return Updates(Entries(np.array(rows, dtype), np.array(columns, dtype), np.array(deltas, np.float64)), shape)


def triples(source, max_rows=MAX_BLOCK_ROWS):
    """Updates of all blocks, whose form is checked."""
    found = []
    for block in source.blocks(max_rows):
        assert isinstance(block, UpdateBlock) and 0 < len(block) <= max_rows
        found += zip(block.rows.tolist(), block.columns.tolist(), block.deltas.tolist(), strict=True)
    return found


INDICES = st.integers(-2, 6) | st.sampled_from([INT64.min, INT64.max])
ENTRIES = st.lists(st.tuples(INDICES, INDICES, st.floats()), max_size=30)


@given(ENTRIES, st.integers(1, 7))
@settings(deadline=None)
def test_what_is_inside_and_finite_is_kept_in_its_order(entries, max_rows):
    rows, columns, deltas = ([entry[k] for entry in entries] for k in range(3))
    source = updates(rows, columns, deltas)
    expected = [(i, j, d) for i, j, d in entries if 0 <= i < 3 and 0 <= j < 5 and np.isfinite(d)]
    assert triples(source, max_rows) == triples(source) == expected
    assert source.n_samples == len(entries)


@given(ENTRIES, INDICES, INDICES, st.floats())
@settings(deadline=None)
def test_one_update_changes_no_other(entries, row, column, delta):
    def kept(entries):
        return triples(updates(*([entry[k] for entry in entries] for k in range(3))), 4)

    before, after = kept(entries), kept([*entries, (row, column, delta)])
    assert after[: len(before)] == before and len(after) - len(before) in (0, 1)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int64", "uint64", ">i4"])
def test_indices_of_every_dtype_are_compared_as_they_are(dtype):
    info = np.iinfo(dtype)
    rows, columns = [0, info.max, 2, info.min, 1], [4, 1, 5, 0, 2]
    expected = [(0, 4, 1.0), (1, 2, 5.0)] if info.min else [(0, 4, 1.0), (0, 0, 4.0), (1, 2, 5.0)]
    assert triples(updates(rows, columns, [1, 2, 3, 4, 5], dtype=dtype)) == expected
    wide = updates(rows, columns, [1, 2, 3, 4, 5], shape=(2**62, 2**62), dtype=dtype)
    assert len(triples(wide)) == 5 - (info.min < 0) - (info.max > 2**62)


def test_deltas_of_other_dtypes_are_converted_without_a_word(capfd):
    signaling = np.array([0x7FA00000, 0x3F800000], np.uint32).view(np.float32)
    zeros = np.zeros(2, np.int64)
    assert triples(Updates(Entries(zeros, zeros, signaling), SHAPE)) == [(0, 0, 1.0)]
    assert triples(Updates(Entries(zeros, zeros, np.array([2**64 - 1, 1], np.uint64)), SHAPE))[0][2] == 2.0**64
    assert triples(Updates(Entries(zeros, zeros, np.array([True, False])), SHAPE)) == [(0, 0, 1.0), (0, 0, 0.0)]
    assert capfd.readouterr() == ("", "")


def test_sizes_are_public_and_blocks_are_bounded():
    source = updates(np.zeros(20_000), np.zeros(20_000), np.ones(20_000))
    assert (source.sizes, source.n_samples) == ({"n_rows": 3, "n_columns": 5}, 20_000)
    assert (source.columns, source.can_repeat) == (None, True)
    assert [len(block) for block in source.blocks(10**9)] == [8192, 8192, 3616]
    empty = source.empty_block()
    assert isinstance(empty, UpdateBlock) and len(empty) == 0


def test_updates_are_neither_copied_nor_looked_at_before_they_are_read():
    entries = Entries(np.zeros(2, np.int64), np.zeros(2, np.int64), np.zeros(2))
    source = Updates(entries, SHAPE)
    entries.deltas[:] = 5.0
    assert triples(source) == [(0, 0, 5.0)] * 2


def scatter(block, state):
    total = np.zeros(state, np.int64)
    np.add.at(total, (block.rows, block.columns), np.rint(block.deltas).astype(np.int64))
    return total


def test_sums_have_the_same_bits_in_every_order():
    rng = np.random.default_rng(0)
    rows, columns, deltas = rng.integers(-1, 4, 500), rng.integers(-1, 6, 500), rng.integers(-9, 9, 500) * 1.0
    deltas[::7] = np.nan
    expected = LocalEngine(1).total(updates(rows, columns, deltas), scatter, SHAPE)
    assert np.any(expected)
    order = rng.permutation(500)
    shuffled = updates(rows[order], columns[order], deltas[order])
    assert np.array_equal(LocalEngine(2, block_rows=7).total(shuffled, scatter, SHAPE), expected)
    nothing = updates([9], [9], [1.0])
    assert not LocalEngine(1).total(nothing, scatter, SHAPE).any()


def test_what_was_left_out_is_for_the_data_holder_alone(caplog):
    source = updates([0, 9, 1, 9, 2], [0, 0, 0, -1, 0], [1, 1, np.nan, np.inf, -np.inf])
    with caplog.at_level(logging.INFO, "hushrank"):
        assert triples(source) == triples(source, 1) == [(0, 0, 1.0)]
    messages = [(record.levelname, record.getMessage()) for record in caplog.records]
    expected = "Not private: 5 updates read; 2 outside the matrix and 2 not finite were left out."
    assert messages == [("INFO", expected)]


@pytest.mark.parametrize(
    "arrays",
    [
        (np.zeros(2, np.int32), np.zeros(2, np.int64), np.zeros(2)),
        (np.zeros(2, np.int64), np.zeros(2, np.int64), np.zeros(2, np.float32)),
        (np.zeros(2, np.int64), np.zeros(3, np.int64), np.zeros(2)),
        (np.zeros((2, 2), np.int64), np.zeros((2, 2), np.int64), np.zeros((2, 2))),
        ([0], [0], [1.0]),
    ],
)
@pytest.mark.parametrize("form", [UpdateBlock, UpdateChunk])
def test_blocks_and_chunks_check_their_own_form(arrays, form):
    message = "must be int64 rows and columns and float64 deltas, vectors of one length; got"
    with pytest.raises(InvalidParameter, match=f"^arrays of {form.__name__} {message}"):
        form(*arrays)


# Chunks.


def make_chunk(n, users=None):
    return UpdateChunk(np.arange(n), -np.arange(n), np.arange(n) / 2, users)


def test_chunks_are_contiguous_and_have_a_user_for_each_update():
    with pytest.raises(InvalidParameter, match=r"^arrays of UpdateChunk must be contiguous"):
        UpdateChunk(np.arange(6)[::2], np.arange(3), np.zeros(3))
    with pytest.raises(InvalidParameter, match=r"^users of UpdateChunk must be 3 ids; got '2 ids'"):
        make_chunk(3, pa.array([725, 1]))


@pytest.mark.parametrize("most", [1, 2, 3, 5, 7, 100])
def test_parts_of_a_chunk_are_views_of_it(most):
    for users in (None, pa.array(["a", None, "", "b", "c"])):
        chunk = make_chunk(5, users)
        parts = list(chunk.split(most))
        assert [len(part) for part in parts] == [most] * (5 // most) + [5 % most] * (5 % most > 0)
        for name in ("rows", "columns", "deltas"):
            assert np.array_equal(np.concatenate([getattr(part, name) for part in parts]), getattr(chunk, name))
            assert all(np.shares_memory(getattr(part, name), getattr(chunk, name)) for part in parts)
        if users is None:
            assert all(part.users is None for part in parts)
        else:
            assert [cell for part in parts for cell in part.users.to_pylist()] == users.to_pylist()
    assert list(make_chunk(0).split(most)) == []


def test_chunks_show_no_values():
    assert "725" not in repr(make_chunk(3, pa.array([725, 725, 725])))
    assert "725" not in repr(Entries(np.full(2, 725), np.full(2, 725), np.full(2, 725.0)))


USERS = {
    "texts": (pa.array(["ann", None, "", " \t", "7"], pa.large_string()), [0, 4]),
    "integers": (pa.array([0, None, 1, -1, None]), [0, 2, 3]),
    "unsigned": (pa.array([0, None, 1, 2**64 - 1, None], pa.uint64()), [0, 2, 3]),
    "nobody": (pa.nulls(5), []),
}


@pytest.mark.parametrize("kind", USERS)
def test_updates_without_a_user_are_left_out_of_blocks_and_counted(kind, caplog):
    users, kept = USERS[kind]
    entries = Entries(
        np.append(np.zeros(5, np.int64), 9), np.arange(6), np.arange(6.0), pa.concat_arrays([users, users[:1]])
    )
    source = Updates(entries, (1, 6))
    assert source.has_users and source.n_samples == 6
    with caplog.at_level(logging.INFO, "hushrank"):
        assert [column for _, column, _ in triples(source, 2)] == kept
    counts = f"1 outside the matrix, 0 not finite and {5 - len(kept)} without a user were left out."
    assert [record.getMessage() for record in caplog.records] == [f"Not private: 6 updates read; {counts}"]
    [chunk] = source.chunks()
    assert len(chunk) == 6 and chunk.users.slice(0, 5).equals(users)


def test_ids_of_nothing_but_white_space_are_nobodys():
    for dtype in (pa.string(), pa.large_string(), pa.large_binary()):
        assert has_user(pa.array(["0", "", None, " \n", "x "]).cast(dtype)).tolist() == [
            True,
            False,
            False,
            False,
            True,
        ]
    assert has_user(pa.array([0, None])).tolist() == [True, False] and has_user(pa.nulls(1)).tolist() == [False]


class Once:
    """An origin of two chunks that can be read once."""

    n_updates, has_users, can_repeat = None, False, False

    def __init__(self):
        self.asked = []

    def chunks(self, most):
        self.asked.append(most)
        if len(self.asked) > 1:
            raise InvalidParameter("A", "X", "data that can be read again", "an iterator read before")
        return iter([make_chunk(2), make_chunk(1)])


def test_what_the_origin_says_is_what_the_source_says():
    source = Updates(Once(), (2, 2))
    assert (source.n_samples, source.can_repeat, source.has_users) == (None, False, False)
    assert triples(source) == [(0, 0, 0.0), (0, 0, 0.0)]
    with pytest.raises(InvalidParameter, match="that can be read again"):
        source.blocks()  # at once, not when the first block is asked for


def test_chunks_are_as_large_as_asked_for():
    origin = Once()
    assert [len(chunk) for chunk in Updates(origin, (2, 2)).chunks()] == [2, 1] and origin.asked == [2**20]
    large = updates(np.zeros(2**20 + 5), np.zeros(2**20 + 5), np.ones(2**20 + 5))
    assert [len(chunk) for chunk in large.chunks()] == [2**20, 5]
    assert [len(chunk) for chunk in large.chunks(2**21)] == [2**20 + 5]


def test_pieces_are_updates_of_the_pieces_of_files(tmp_path):
    table = pa.table({"row": [0, 9, 1, 2], "column": [0, 0, 1, 1], "delta": [1.0, 2.0, 3.0, 4.0]})
    pq.write_table(table, tmp_path / "x.parquet", row_group_size=2)
    source = read_updates(tmp_path / "x.parquet", shape=(3, 4), owner="A")
    parts = sent(source.pieces(1))
    assert [(part.n_samples, part.shape, part.has_users) for part in parts] == [(2, (3, 4), False)] * 2
    assert [triple for part in parts for triple in triples(part)] == triples(source) != []
    assert updates([0], [0], [1.0]).pieces() is None  # what lies in memory has none
