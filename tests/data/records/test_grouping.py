"""Grouping by user: the bits of a user's records depend on these records alone, in any order of the table."""

import itertools
import tracemalloc

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrank.data.records import features as features_module
from hushrank.data.records import grouping
from hushrank.data.records.blocks import UserRecordBlock
from hushrank.data.records.features import Features
from hushrank.data.records.grouping import code_users, cut_users, group_records, user_spans
from hushrank.data.records.stores import MemoryStore
from hushrank.data.vectors import to_float64

# Numbers whose bits differ though they are equal, that equal nothing, or that no calculation survives.
ODD = [0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 5e-324, -5e-324, 1.7e308, 1.0, np.nextafter(1.0, 2.0)]
NUMBERS = st.sampled_from(ODD) | st.floats()
ROWS = st.lists(st.tuples(st.sampled_from(["a", "b", "c", "d", None, ""]), NUMBERS, NUMBERS, NUMBERS), max_size=30)


def group(users, X, y):
    """All users, and how many records were left out."""
    ids, features, y = pa.array(users), Features(np.asarray(X)), np.asarray(y)
    codes, n_users = code_users(ids if pa.types.is_integer(ids.type) else ids.cast(pa.string()))
    starts = itertools.accumulate((len(X) for X in features.blocks()), initial=0)
    blocks = zip(features.blocks(dtype=features.dtype), starts, strict=False)
    records = ((X, to_float64(y[start : start + len(X)])) for X, start in blocks)
    return group_records(codes, n_users, records, features.shape, features.dtype), int((codes < 0).sum())


def group_rows(rows):
    users = [row[0] for row in rows]
    numbers = np.array([row[1:] for row in rows], np.float64).reshape(-1, 3)
    return group(users, numbers[:, :2], numbers[:, 2])


def users_of(block):
    """The bits of each user's records in their order."""
    spans = [slice(*block.indptr[i : i + 2]) for i in range(len(block))]
    return [[x.tobytes() + y.tobytes() for x, y in zip(block.X[s], block.y[s], strict=True)] for s in spans]


def by_id(rows, block):
    """The users of a block under their ids, which come in the order of their first appearance."""
    return dict(zip(dict.fromkeys(row[0] for row in rows if row[0]), users_of(block), strict=True))


@given(ROWS, st.randoms(use_true_random=False))
@settings(deadline=None)
def test_every_order_of_the_rows_gives_the_same_bits(rows, random):
    block, n_left_out = group_rows(rows)
    assert n_left_out == sum(not row[0] for row in rows)
    found = by_id(rows, block)
    for user, records in found.items():  # all of them, none twice
        assert sorted(records) == sorted(np.array(row[1:]).tobytes() for row in rows if row[0] == user)
    shuffled = rows.copy()
    random.shuffle(shuffled)
    assert by_id(shuffled, group_rows(shuffled)[0]) == found


@given(ROWS)
@settings(deadline=None)
def test_other_users_change_nothing(rows):
    found = by_id(rows, group_rows(rows)[0])
    for user, records in found.items():
        alone, _ = group_rows([row for row in rows if row[0] == user])
        assert users_of(alone) == [records]
        crowd = [("x", 1.0, 2.0, 3.0), ("", 0.0, 0.0, 0.0), *rows, ("d", 0.5, 0.5, 0.5)]
        assert user == "d" or by_id(crowd, group_rows(crowd)[0])[user] == records


@given(ROWS)
@settings(deadline=None)
def test_the_order_is_that_of_the_bytes_of_x_and_then_of_y(rows):
    for records in users_of(group_rows(rows)[0]):
        keys = [(record[:16], int.from_bytes(record[16:], "little", signed=True)) for record in records]
        assert keys == sorted(keys)


@given(ROWS)
@settings(deadline=None)
def test_small_batches_change_nothing(rows):
    expected, n_left_out = group_rows(rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grouping, "BATCH_IDS", 2)
        for name, limit in {"MAX_BLOCK_ROWS": 2, "MAX_BLOCK_BYTES": 32}.items():
            patch.setattr(features_module, name, limit)
        block, n_left_out_as_well = group_rows(rows)
    assert users_of(block) == users_of(expected) and n_left_out_as_well == n_left_out
    assert np.array_equal(block.indptr, expected.indptr)


def test_zero_and_negative_zero_have_an_order():
    rows = [("a", 0.0, 1.0, 0.0), ("a", -0.0, 1.0, 0.0), ("a", 0.0, 1.0, -0.0), ("a", -0.0, 1.0, -0.0)]
    expected = users_of(group_rows(rows)[0])
    assert len(set(expected[0])) == 4
    for order in ([3, 2, 1, 0], [1, 3, 0, 2], [2, 0, 3, 1]):
        assert users_of(group_rows([rows[i] for i in order])[0]) == expected


def test_users_come_as_they_first_appear():
    users = ["z", "m", None, "z", "a", "m"]
    block, n_left_out = group(users, np.arange(12.0).reshape(6, 2), np.arange(6.0))
    assert block.indptr.tolist() == [0, 2, 4, 5] and n_left_out == 1
    assert [sorted(block.y[slice(*block.indptr[i : i + 2])]) for i in range(3)] == [[0, 3], [1, 5], [4]]
    assert np.array_equal(block.X, np.column_stack([2 * block.y, 2 * block.y + 1]))


@pytest.mark.parametrize("dtype", ["bool", "int8", "int16", "uint64", "float32", ">f8"])
def test_the_order_does_not_depend_on_the_dtype(dtype):
    """A column of integers may be one of floats because of another person's record."""
    rng = np.random.default_rng(1)
    most = 2 if dtype == "bool" else 100
    X, y, users = rng.integers(0, most, (50, 3)), rng.integers(0, 2, 50), rng.choice(["a", "b"], 50)
    expected, _ = group(users, X.astype(np.float64), y.astype(np.float64))
    block, _ = group(users, X.astype(dtype), y.astype(dtype))
    assert block.X.dtype == (np.float64 if np.dtype(dtype).itemsize == 8 else np.float32)
    assert block.X.astype(np.float64).tobytes() == expected.X.tobytes()
    assert block.y.tobytes() == expected.y.tobytes() and np.array_equal(block.indptr, expected.indptr)


def test_matrices_keep_their_shape():
    rng = np.random.default_rng(2)
    X, y, users = rng.standard_normal((9, 2, 3)), rng.standard_normal(9), list("abcabcabc")
    block, _ = group(users, X, y)
    assert block.X.shape == (9, 2, 3)
    assert users_of(block) == users_of(group(users, X.reshape(9, 6), y)[0])


def test_users_without_records_have_none():
    """A part of the users may have a code that only another part's records have."""
    block = group_records(np.array([3, 1], np.int32), 5, [(np.ones((2, 1)), np.ones(2))], (1,), np.dtype(np.float64))
    assert block.indptr.tolist() == [0, 0, 1, 1, 2, 2]


def test_no_records_and_none_with_a_user():
    for users in ([], [None, ""]):
        block, n_left_out = group(users, np.ones((len(users), 2)), np.ones(len(users)))
        assert len(block) == 0 and block.X.shape == (0, 2) and n_left_out == len(users)


def test_one_user_with_many_records():
    rng = np.random.default_rng(3)
    X, y = rng.integers(-2, 3, (100_000, 3)) * 0.5, rng.integers(0, 2, 100_000) * -1.0
    users = np.full(100_000, "z")
    users[[5, 70_000, 99_999]] = "a"
    block, _ = group(users, X, y)
    assert block.indptr.tolist() == [0, 99_997, 100_000]
    order = rng.permutation(100_000)
    shuffled, _ = group(users[order], X[order], y[order])
    assert sorted(users_of(shuffled), key=len) == sorted(users_of(block), key=len)


@pytest.mark.parametrize("n_users", [1, 3, 5000, 10**9])
def test_memory_for_one_copy(monkeypatch, n_users):
    """Besides X itself: its records grouped, places of them, and no more than a block of anything else."""
    monkeypatch.setattr(features_module, "MAX_BLOCK_BYTES", 2**20)
    rng = np.random.default_rng(4)
    X, y, ids = rng.standard_normal((50_000, 20)), rng.standard_normal(50_000), rng.integers(0, n_users, 50_000)
    group(ids[:9], X[:9], y[:9])  # compiles
    tracemalloc.start()
    block, _ = group(ids, X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert block.X.nbytes == X.nbytes and peak < 1.5 * X.nbytes


# Spans.


@given(st.lists(st.integers(1, 9), max_size=30), st.integers(1, 5), st.integers(1, 3))
def test_spans_are_full_and_bounded(counts, max_users, width):
    indptr = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grouping, "MAX_BLOCK_RECORDS", 10)
        patch.setattr(grouping, "MAX_BLOCK_BYTES", 8 * 16)
        spans = list(user_spans(indptr, max_users, 8 * width))
    most = min(10, 16 // width)
    assert [u for start, stop in spans for u in range(start, stop)] == list(range(len(counts)))
    for start, stop in spans:
        assert stop - start == 1 or (stop - start <= max_users and indptr[stop] - indptr[start] <= most)
        more = min(stop + 1, len(counts))
        assert more == stop or stop - start == max_users or indptr[more] - indptr[start] > most


def test_a_record_longer_than_a_block_is_a_block():
    assert list(user_spans(np.array([0, 1, 3, 4]), 8192, 2**26)) == [(0, 1), (1, 2), (2, 3)]
    assert list(user_spans(np.array([0, 1, 10**5, 10**5 + 1]), 8192, 8)) == [(0, 1), (1, 2), (2, 3)]
    assert list(user_spans(np.array([0]), 8192, 8)) == []


@pytest.mark.parametrize("max_users", [1, 2, 10**6])
def test_cut_users_are_whole_users(monkeypatch, max_users):
    monkeypatch.setattr(grouping, "MAX_BLOCK_ROWS", 3)
    users = UserRecordBlock(np.array([0, 2, 3, 7, 8]), np.arange(16.0).reshape(8, 2), np.arange(8.0))
    blocks = list(cut_users(MemoryStore(users), max_users, 16))
    assert [len(block) for block in blocks] == {1: [1] * 4, 2: [2, 2], 10**6: [3, 1]}[max_users]
    assert [user for block in blocks for user in users_of(block)] == users_of(users)
    assert all(block.indptr[0] == 0 and np.shares_memory(block.X, users.X) for block in blocks)
    few = [len(block) for block in cut_users(MemoryStore(users), max_users, 2**24)]  # two records of 2^24 bytes
    assert few == [1, 1, 1, 1]
