"""Records through parcels: each user has the bits of the local grouping, wherever the records lay."""

import itertools
import logging
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrank.data.pieces import hold
from hushrank.data.records import out_of_core, regrouping
from hushrank.data.records.features import Features
from hushrank.data.records.in_memory import MemoryOrigin
from hushrank.data.records.reading import read_records
from hushrank.data.records.regrouping import PartRecords, RecordGrouping, RecordNotes
from hushrank.data.records.sources import DistantRecords, UserRecords
from hushrank.engine.local import LocalEngine
from piece_support import sent
from regrouping_support import IDS, SPELLINGS, Places, group_at, write_files

QUIET, SIGNALING = 0x7FC00000, 0x7FA00000  # of float32, to which any payload can be added


def table_of(ids, dtype=np.float64, n_rows=150, seed=0):
    """Records of these users in any order; numbers may be of any bits."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, 2)).astype(dtype)
    X[:30] = [[0.0, -0.0]]
    if dtype == np.float32:
        X[30:60] = (
            (rng.choice([QUIET, SIGNALING], (30, 2)) + rng.integers(1, 99, (30, 2))).astype(np.uint32).view(dtype)
        )
    else:
        X[30:60] = (rng.integers(0, 99, (30, 2)) + 0x7FF8000000000000).view(dtype)
    y = np.where(rng.random(n_rows) < 0.2, np.inf, rng.standard_normal(n_rows))
    users = ids.take(pa.array(rng.integers(0, len(ids), n_rows)))
    return pa.table({"user": users, "a": X[:, 0], "b": X[:, 1], "target": y})


def users_of(source, max_rows=8192):
    """Bits of the records of each user, sorted: the order of users carries no meaning."""
    found = []
    for block in source.blocks(max_rows):
        spans = [slice(*block.indptr[user : user + 2]) for user in range(len(block))]
        found += [(block.X.dtype.name, block.X[span].tobytes(), block.y[span].tobytes()) for span in spans]
    return sorted(found)


def records_of(data, **options):
    return read_records(data, owner="A", **options)


def told(caplog, source):
    caplog.clear()
    with caplog.at_level(logging.INFO, "hushrank"):
        list(source.blocks())
        list(source.blocks())
    return [record.getMessage() for record in caplog.records]


# Files.


@pytest.mark.parametrize("kind", ["parquet", "csv"])
@pytest.mark.parametrize("ids", IDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_users_have_the_bits_of_the_local_grouping(tmp_path, caplog, kind, ids, dtype):
    ids_of_file = IDS[ids].cast(pa.large_string()) if kind == "csv" and ids != "str" else IDS[ids]
    folder = write_files(tmp_path / "x", table_of(ids_of_file, dtype), kind)
    local = records_of(folder)
    expected, message = users_of(local), told(caplog, records_of(folder))
    assert {name for name, _, _ in expected} <= {"float32" if dtype == np.float32 and kind == "parquet" else "float64"}
    for n_places, most, enough in ((1, 10**6, 10**6), (3, 1, 1), (50, 17, 20)):
        source = records_of(folder).regrouped(group_at(n_places, most, seed=n_places), enough)
        assert isinstance(source, DistantRecords) and isinstance(source, UserRecords)
        assert users_of(source) == users_of(source, 1) == expected
        assert source.n_users == source.n_samples == local.n_users and source.n_left_out == local.n_left_out
        assert told(caplog, records_of(folder).regrouped(group_at(n_places, most), enough)) == message
        assert source.empty_block().X.dtype == local.empty_block().X.dtype
    assert len(message) == 1


def test_all_spellings_are_one_user(tmp_path):
    folder = write_files(tmp_path / "x", table_of(IDS["str"], n_rows=1500), "csv")
    assert records_of(folder).regrouped(group_at(4, 9)).n_users == len(SPELLINGS) - 1


def test_pieces_have_the_users_of_each_place(tmp_path):
    folder = write_files(tmp_path / "x", table_of(IDS["int64"], np.float32), "parquet")
    source = records_of(folder).regrouped(group_at(50), 1)
    parts = sent(source.pieces())
    assert all(isinstance(part, PartRecords) and part.n_samples for part in parts)
    assert sorted(user for part in parts for user in users_of(part)) == users_of(records_of(folder))
    empty = parts[0].empty_block()
    assert empty.X.shape == (0, 2) and empty.X.dtype == np.float32 and len(empty) == 0


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_no_records(tmp_path, kind):
    source = records_of(write_files(tmp_path / "x", table_of(IDS["str"])[:0], kind)).regrouped(group_at(3))
    assert (source.n_users, source.n_samples, list(source.blocks()), source.pieces()) == (0, 0, [], [])
    assert LocalEngine(1).total(source, lambda block, _: np.array([len(block)]), None).tolist() == [0]


# Distant records.


def test_nothing_is_read_before_it_is_asked_for(tmp_path):
    made = []

    def group(grouping, pieces):
        made.append(Places(grouping, pieces))
        return made[0]

    local = records_of(write_files(tmp_path / "x", table_of(IDS["str"]), "parquet"))
    source = local.regrouped(group)
    assert (source.n_samples, source.sizes, source.columns) == (None, {"n_features": 2}, ("a", "b"))
    assert source.can_repeat and source.empty_block().X.shape == (0, 2)
    assert records_of(source, needs_users=True) is source
    assert source.regrouped(group) is source and len(made) == 1 and made[0].n_makings == 0
    assert source.n_users and list(source.blocks()) and source.pieces() and made[0].n_makings == 1
    source.forget()
    assert made[0].n_makings == 1 and users_of(source) == users_of(local) and made[0].n_makings == 2


def test_the_log_is_told_once(tmp_path, caplog):
    source = records_of(write_files(tmp_path / "x", table_of(IDS["int64"]), "parquet")).regrouped(group_at(5))
    with caplog.at_level(logging.INFO, "hushrank"):
        assert source.n_users == 8
        source.pieces()
        list(source.blocks())
        source.forget()
        list(source.blocks())
    [record] = caplog.records
    expected = f"Not private: 150 records read; {source.n_left_out} without a user were left out."
    assert record.getMessage() == expected and source.n_left_out > 0


def test_what_lies_in_memory_or_was_read_stays_here(tmp_path):
    source = records_of(np.ones((2, 3)), y=np.ones(2), users=["a", "b"])
    assert source.regrouped(None) is source
    assert list(source.blocks()) and source.regrouped(None) is source
    source = records_of(write_files(tmp_path / "x", table_of(IDS["int64"]), "parquet"))
    assert source.n_users and source.regrouped(None) is source


# Records of any kind.

NUMBERS = st.sampled_from([0.0, -0.0, np.nan, -np.nan, np.inf, 1.7e308, 5e-324, 1.0]) | st.floats()
ROWS = st.lists(st.tuples(st.sampled_from(["7", "07", " 7.0 ", "a", "b", "", None]), NUMBERS, NUMBERS), max_size=30)
EDGES = st.lists(st.integers(0, 30), max_size=6)


def origin_of(rows, shape=(2,), dtype=np.float64):
    """Matrices or vectors, made of one number."""
    with np.errstate(all="ignore"):
        X = np.array([row[1] for row in rows], np.float64).astype(dtype).repeat(int(np.prod(shape)))
    ids = pa.array([row[0] for row in rows], pa.large_string())
    return MemoryOrigin(Features(X.reshape(len(rows), *shape)), np.array([row[2] for row in rows], np.float64), ids)


def grouped(rows, edges, n_places=3, most=10**6, seed=0, shape=(2,), dtype=np.float64):
    edges = sorted([0, len(rows), *(edge for edge in edges if edge <= len(rows))])
    pieces = [hold(origin_of(rows[a:b], shape, dtype)) for a, b in itertools.pairwise(edges)]
    return Places(RecordGrouping(shape, np.dtype(dtype)), pieces, n_places, most, seed)


def users_at(groups):
    return sorted(user for part in groups.parts() for user in users_of(part.source()))


@given(
    ROWS,
    EDGES,
    st.sampled_from([1, 3, 50]),
    st.sampled_from([1, 4, 10**6]),
    st.integers(0, 9),
    st.sampled_from([((2,), np.float64), ((1,), np.float32), ((2, 3), np.float32)]),
)
@settings(deadline=None, max_examples=60)
def test_any_records_in_any_pieces_make_the_users_of_all_at_once(rows, edges, n_places, most, seed, form):
    expected = UserRecords(origin_of(rows, *form))
    groups = grouped(rows, edges, n_places, most, seed, *form)
    assert users_at(groups) == users_of(expected) and groups.n_people() == expected.n_users
    assert groups.notes() == RecordNotes(len(rows), expected.n_left_out)


@given(ROWS, ROWS, EDGES, st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=60)
def test_one_person_changes_nothing_of_what_others_become(rows, others, edges, random):
    after = [row for row in rows if row[0] != "a"] + [("a", *row[1:]) for row in others]
    random.shuffle(after)
    found = [Counter(users_at(grouped(data, edges))) for data in (rows, after)]
    assert (found[0] - found[1]).total() <= 1 and (found[1] - found[0]).total() <= 1


def test_more_records_than_fit_into_memory(monkeypatch):
    rows = [(str(i % 7), float(i), -float(i)) for i in range(300)]
    expected = users_of(UserRecords(origin_of(rows)))
    for name in ("GROUPED_IN_MEMORY", "PARTED_IN_MEMORY"):
        monkeypatch.setattr(out_of_core, name, 0)
    for name in ("CHUNK_BYTES", "PART_BYTES"):
        monkeypatch.setattr(out_of_core, name, 200)
    monkeypatch.setattr(regrouping, "BATCH_RECORDS", 11)
    assert users_at(grouped(rows, [50, 100])) == expected


def test_notes_add_up_and_are_no_longer_tuple():
    assert RecordNotes(3, 1) + RecordNotes(4, 2) == RecordNotes(7, 3)
    part = RecordGrouping((2, 1), np.dtype(np.float32)).join(iter([]), 4)
    assert part.notes() == (4, 4) and part.n_people == 0 and part.users.X.shape == (0, 2, 1)
    assert part.source().empty_block().X.shape == (0, 2, 1) and list(part.source().blocks()) == []
