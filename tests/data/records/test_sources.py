"""Sources of records: blocks of bounded size, whole users, read when asked, and sums that no order can change."""

import logging
import threading
import tracemalloc

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hushrank.data.records import grouping, out_of_core, sources
from hushrank.data.records.blocks import RecordBlock, UserRecordBlock
from hushrank.data.records.features import Features, read_features
from hushrank.data.records.in_memory import MemoryOrigin
from hushrank.data.records.record_files import ParquetOrigin
from hushrank.data.records.record_streams import StreamOrigin
from hushrank.data.records.sources import Records, UserRecords
from hushrank.engine.local import LocalEngine
from hushrank.exceptions import InvalidParameter
from piece_support import sent

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((60, 3)), RNG.standard_normal(60)
USERS = RNG.choice(np.array(["ann", "bob", "eve", "joe", "zoe"]), 60)


def records(data=X, y=Y):
    return Records(MemoryOrigin(Features(data), y))


def user_records(data=X, y=Y, users=USERS):
    return UserRecords(MemoryOrigin(Features(data), y, pa.array(users)))


def streamed(data=X, y=Y, users=USERS, step=7):
    parts = [slice(start, start + step) for start in range(0, len(y), step)] or [slice(0)]
    blocks = ((data[part], y[part], users[part]) for part in parts)
    return UserRecords(StreamOrigin(blocks, None, None, None, "A"))


@pytest.fixture
def low_limits(monkeypatch):
    """Everything in files, in small pieces."""
    for name in ("GROUPED_IN_MEMORY", "GROUPED_BESIDE_DATA", "PARTED_IN_MEMORY"):
        monkeypatch.setattr(out_of_core, name, 0)
    for name in ("CHUNK_BYTES", "PART_BYTES"):
        monkeypatch.setattr(out_of_core, name, 200)
    monkeypatch.setattr(sources, "BATCH_RECORDS", 3)


# One record a person.


@pytest.mark.parametrize("max_rows", [1, 7, 60, 10**6])
def test_blocks_of_records(max_rows):
    source = records()
    assert (source.n_samples, source.sizes, source.columns, source.can_repeat) == (60, {"n_features": 3}, None, True)
    for _ in range(2):
        blocks = list(source.blocks(max_rows))
        assert all(isinstance(block, RecordBlock) and 0 < len(block) <= max_rows for block in blocks)
        assert np.array_equal(np.concatenate([block.X for block in blocks]), X)
        assert np.array_equal(np.concatenate([block.y for block in blocks]), Y)


def test_records_are_not_copied():
    [block] = records().blocks()
    assert np.shares_memory(block.X, X) and np.shares_memory(block.y, Y)


def test_answers_of_other_dtypes_and_layouts_stay_with_their_records():
    y = np.arange(120, dtype=">i2")[::2]
    blocks = list(records(X.astype(np.float32), y).blocks(7))
    assert [block.y.tolist() for block in blocks] == [y[i : i + 7].tolist() for i in range(0, 60, 7)]


def test_matrices_and_tables():
    matrices = records(X.reshape(60, 1, 3))
    assert matrices.sizes == {"n_rows": 1, "n_columns": 3}
    assert next(matrices.blocks(4)).X.shape == (4, 1, 3) and matrices.empty_block().X.shape == (0, 1, 3)
    table = Records(MemoryOrigin(read_features(pl.DataFrame(X, ["a", "b", "c"]), "A"), Y))
    assert table.columns == ("a", "b", "c") and table.n_samples == 60
    assert np.array_equal(np.concatenate([block.X for block in table.blocks(7)]), X)


def test_records_are_not_looked_at_before_they_are_read():
    data = np.zeros((2, 1))
    source = records(data, np.zeros(2))
    data[:] = 5.0
    assert next(source.blocks()).X.tolist() == [[5], [5]]


# Users.


@pytest.mark.parametrize("max_rows", [1, 2, 10**6])
def test_blocks_of_whole_users(max_rows):
    source = user_records()
    assert (source.n_samples, source.sizes, source.columns, source.can_repeat) == (None, {"n_features": 3}, None, True)
    blocks = list(source.blocks(max_rows))
    assert all(isinstance(block, UserRecordBlock) and 0 < len(block) <= max_rows for block in blocks)
    assert source.n_users == source.n_samples == sum(map(len, blocks)) == 5
    counts = [n for block in blocks for n in np.diff(block.indptr)]
    assert counts == [np.sum(user == USERS) for user in dict.fromkeys(USERS)]
    assert sum(len(block.y) for block in blocks) == 60
    owners = {(*x, y): user for x, y, user in zip(X, Y, USERS, strict=True)}
    for block in blocks:
        for user in range(len(block)):
            part = slice(*block.indptr[user : user + 2])
            assert len({owners[(*x, y)] for x, y in zip(block.X[part], block.y[part], strict=True)}) == 1


def test_blocks_hold_few_records(monkeypatch):
    monkeypatch.setattr(grouping, "MAX_BLOCK_RECORDS", 4)
    source = user_records(X[:8], Y[:8], ["a", "b", "b", "c", "c", "c", "c", "c"])
    assert [(len(block), len(block.y)) for block in source.blocks()] == [(2, 3), (1, 5)]


def test_a_user_of_many_records_is_a_block_alone():
    users = np.array(["a", "b", "c"])[np.minimum(np.arange(100_002), 2)]
    users[1:-1] = "b"
    source = user_records(np.ones((100_002, 2)), np.ones(100_002), users)
    assert [(len(block), len(block.y)) for block in source.blocks()] == [(1, 1), (1, 100_000), (1, 1)]


def test_blocks_are_views_of_one_copy():
    source = user_records()
    first, again = next(source.blocks(1)), next(source.blocks(1))
    assert np.shares_memory(first.X, again.X) and np.shares_memory(first.y, again.y)
    assert not np.shares_memory(first.X, X)


@pytest.mark.parametrize("first", [lambda source: source.n_users, lambda source: list(source.blocks())])
def test_users_are_grouped_once_and_only_when_asked(monkeypatch, first):
    calls = []

    def counted(origin):
        calls.append(origin)
        return group(origin)

    group = sources._group
    monkeypatch.setattr(sources, "_group", counted)
    source = user_records()
    assert source.sizes and source.empty_block() is not None and source.n_samples is None and calls == []
    first(source)
    assert len(calls) == 1 and source._origin is None  # ids are let go of
    assert source.n_users == 5 and sum(map(len, source.blocks())) == 5 and len(calls) == 1


def test_matrices_of_users_and_no_users():
    source = user_records(X.reshape(60, 3, 1))
    assert source.sizes == {"n_rows": 3, "n_columns": 1} and next(source.blocks()).X.shape == (60, 3, 1)
    assert source.empty_block().X.shape == (0, 3, 1) and len(source.empty_block()) == 0
    nobody = user_records(X[:2], Y[:2], [None, ""])
    assert nobody.n_users == 0 and list(nobody.blocks()) == []


# Files and streams.


def bits_of(source, max_rows=8192):
    blocks = list(source.blocks(max_rows))
    return [b"".join(getattr(block, name).tobytes() for block in blocks) for name in ("X", "y")] + [
        [n for block in blocks for n in np.diff(block.indptr)]
    ]


@pytest.mark.parametrize("data", [X, X.astype(np.float32), X.reshape(60, 3, 1)], ids=["double", "single", "matrices"])
@pytest.mark.parametrize("make", [user_records, streamed])
def test_files_hold_the_same_bits(request, data, make):
    expected = bits_of(user_records(data if make is user_records else data.astype(np.float64)))
    request.getfixturevalue("low_limits")
    source = make(data)
    for max_rows in (1, 2, 8192):
        assert bits_of(source, max_rows) == expected
    assert source.n_users == 5 and type(source._grouped).__name__ == "FileStore"


def test_single_precision_is_kept_single(request):
    single = user_records(X.astype(np.float32))
    assert next(single.blocks()).X.dtype == np.float32 == single.empty_block().X.dtype
    assert next(user_records().blocks()).X.dtype == np.float64 == user_records().empty_block().X.dtype
    assert next(records(X.astype(np.float32)).blocks()).X.dtype == np.float64  # one a person
    stream = streamed(X.astype(np.float32))
    assert next(stream.blocks()).X.dtype == np.float64 == stream.empty_block().X.dtype  # whatever a block is


def test_two_iterations_at_once_and_many(low_limits):
    source = streamed()
    expected = bits_of(source, 1)
    first, second = source.blocks(1), source.blocks(2)
    seen = [next(first), next(second), *first, *second]
    assert len(seen) == 5 + 3
    assert b"".join(block.X.tobytes() for block in (seen[0], *seen[2:6])) == expected[0]
    for _ in range(3):
        assert bits_of(source, 1) == expected
    wrong = []
    threads = [threading.Thread(target=lambda: wrong.extend(bits_of(source, 1) != expected for _ in range(20)))]
    threads += [threading.Thread(target=lambda: wrong.extend(bits_of(source, 1) != expected for _ in range(20)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [False] * 40


def test_blocks_of_files_are_the_callers(low_limits):
    source = streamed()
    expected = bits_of(source)
    for block in source.blocks():
        block.X[:] = 0.0  # nobody should, and nobody else would see it
    assert bits_of(source) == expected


def test_memory_of_blocks_and_not_of_the_data(monkeypatch):
    for name in ("GROUPED_IN_MEMORY", "PARTED_IN_MEMORY"):
        monkeypatch.setattr(out_of_core, name, 0)
    for name in ("CHUNK_BYTES", "PART_BYTES"):
        monkeypatch.setattr(out_of_core, name, 2**17)
    monkeypatch.setattr(grouping, "MAX_BLOCK_BYTES", 2**17)
    rng = np.random.default_rng(1)
    data, y = rng.standard_normal((1000, 10), dtype=np.float32), np.zeros(1000)

    def blocks():
        for k in range(100):  # eight megabytes, as float64
            yield data, y, np.arange(1000) * 37 % 250 + 250 * (k % 40)

    list(streamed(data[:9], y[:9], np.arange(9)).blocks())  # compiles
    tracemalloc.start()
    source = UserRecords(StreamOrigin(blocks, None, None, None, "A"))
    assert source.n_users == 10_000
    grouped = tracemalloc.get_traced_memory()[1]
    tracemalloc.reset_peak()
    assert sum(len(block.y) for block in source.blocks()) == 100_000
    read = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert grouped < 4 * 2**20 and read < 2 * 2**20


def test_streams_without_users_are_records_read_once():
    source = Records(StreamOrigin(((X[k : k + 9], Y[k : k + 9]) for k in range(0, 60, 9)), None, None, None, "A"))
    assert not source.can_repeat and source.n_samples is None and source.sizes == {"n_features": 3}
    assert np.array_equal(np.concatenate([block.X for block in source.blocks(4)]), X)
    with pytest.raises(InvalidParameter, match="data that can be read again"):
        source.blocks()


# Sums.


def float_sums(block, digits):
    """What a kernel may do: add up a user's numbers in floating point, one after the other, then round."""
    total = np.zeros(block.X.shape[1], np.int64)
    for user in range(len(block)):
        part = slice(*block.indptr[user : user + 2])
        numbers = np.nan_to_num(block.X[part] * block.y[part, np.newaxis], posinf=0.0, neginf=0.0)
        sums = np.zeros(block.X.shape[1])
        for row in np.clip(numbers, -1e3, 1e3):
            sums += row
        total += np.rint(sums * 2.0**digits).astype(np.int64)
    return total


@pytest.mark.parametrize("engine", [LocalEngine(1), LocalEngine(2, block_rows=1)])
def test_sums_over_users_have_the_same_bits_in_every_order(engine):
    # Numbers of many magnitudes, of which every order of addition makes another sum.
    odd = X * 10.0 ** RNG.integers(-8, 9, X.shape)
    odd[3], odd[4, 1], odd[5] = np.nan, np.inf, -0.0
    expected = engine.total(user_records(odd), float_sums, 45)
    totals = set()
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(60)
        assert np.array_equal(engine.total(user_records(odd[order], Y[order], USERS[order]), float_sums, 45), expected)
        unordered = UserRecordBlock(np.array([0, 60]), odd[order], Y[order])
        totals.add(tuple(float_sums(unordered, 45)))
    assert len(totals) > 1  # the order matters, where it is not canonical


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf, 1.7e308, -0.0])
def test_one_person_reaches_one_contribution_only(odd):
    """Everybody else's bits stay as they are, whatever one user brings."""
    order = np.argsort(USERS == "eve", kind="stable")  # eve comes last, among the users as well
    data, y, users = X[order], Y[order], USERS[order]
    last = users == "eve"
    changed, answers = data.copy(), y.copy()
    changed[last], answers[last] = odd, -odd
    for other, own in ((changed, answers), (data, answers), (np.where(last[:, None], -data, data), y)):
        [before], [after] = user_records(data, y, users).blocks(), user_records(other, own, users).blocks()
        ends = before.indptr[4]
        assert after.X[:ends].tobytes() == before.X[:ends].tobytes()
        assert after.y[:ends].tobytes() == before.y[:ends].tobytes()


def test_no_records_make_an_empty_block_for_the_engine():
    def count(block, state):
        return np.array([len(block), len(block.y)])

    assert LocalEngine(1).total(records(X[:0], Y[:0]), count, None).tolist() == [0, 0]
    assert LocalEngine(1).total(user_records(X[:0], Y[:0], pa.nulls(0)), count, None).tolist() == [0, 0]
    assert LocalEngine(2, block_rows=9).total(records(), count, None).tolist() == [60, 60]
    assert LocalEngine(2, block_rows=2).total(user_records(), count, None).tolist() == [5, 60]


# The log.


def test_what_was_left_out_is_for_the_data_holder_alone(caplog, capfd):
    signaling = np.full((60, 3), 0x7FA00000, np.uint32).view(np.float32)  # a conversion would warn
    users = [None, "", *USERS[2:]]
    with caplog.at_level(logging.INFO, "hushrank"):
        source = user_records(signaling, Y, users)
        assert caplog.records == []
        list(source.blocks())
        list(source.blocks())
        list(records(signaling).blocks())
    messages = [(record.levelname, record.getMessage()) for record in caplog.records]
    assert messages == [("INFO", "Not private: 60 records read; 2 without a user were left out.")]
    assert capfd.readouterr() == ("", "")


# Pieces.


def test_pieces_are_records_of_the_pieces_of_files(tmp_path):
    table = pa.table({"a": X[:, 0], "b": X[:, 1], "target": Y})
    pq.write_table(table, tmp_path / "x.parquet", row_group_size=7)
    source = Records(ParquetOrigin([tmp_path / "x.parquet"], None, None, None, "A", "features"))
    parts = sent(source.pieces(10))
    assert [part.n_samples for part in parts] == [14, 14, 14, 14, 4] and {part.columns for part in parts} == {
        ("a", "b")
    }
    blocks = [block for part in parts for block in part.blocks(4)]
    assert np.array_equal(np.concatenate([block.X for block in blocks]), X[:, :2])
    assert np.array_equal(np.concatenate([block.y for block in blocks]), Y)
    assert records().pieces() is None  # what lies in memory has none
