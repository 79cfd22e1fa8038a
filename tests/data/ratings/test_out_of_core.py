"""Out of core: the same users as in memory, whatever is kept where, and no file left behind."""

import gc
import os
from contextlib import suppress

import numpy as np
import pytest

from hushrank.data.ratings import out_of_core
from hushrank.data.ratings.grouping import RATING, Tally, UserBlock, group_ratings
from hushrank.data.ratings.out_of_core import MOST_PARTS, Grouper, UserStore
from rating_support import users_of

N_USERS, N_ITEMS = 500, 60


def many_ratings(n=9000):
    rng = np.random.default_rng(3)
    ratings = np.empty(n, RATING)
    ratings["user"], ratings["item"] = rng.integers(0, N_USERS - 100, n), rng.integers(-1, N_ITEMS, n)
    ratings["value"] = rng.uniform(-1, 1, n)
    return ratings


def grouped(ratings, step, n_users=N_USERS):
    tally = Tally()
    with Grouper(N_ITEMS, tally) as grouper:
        for start in range(0, len(ratings), step):
            grouper.add(ratings[start : start + step])
        block = grouper.finish(n_users)
    return block, tally.n_repeated


def open_files():
    """Of files that have no name: others, and the connections of a cluster, open and close at any time."""
    gc.collect()  # files that earlier tests have let go of
    found = 0
    for descriptor in os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else ():
        with suppress(FileNotFoundError):  # that of the listing itself
            found += os.readlink(f"/proc/self/fd/{descriptor}").endswith("(deleted)")
    return found


LIMITS = {
    "one chunk": (10**4, 10**5, 10**5),
    "a full chunk": (9000, 10**5, 10**5),
    "parts in memory": (1000, 10**5, 10**5),
    "parts in a file": (1000, 2500, 10**5),
    "every part in a file": (700, 0, 10**5),
    "all in files": (1000, 2500, 100),
    "grouped in files": (1000, 10**5, 0),
}


@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("step", [1, 997, 9000])
def test_every_way_gives_the_same_users(monkeypatch, limits, step):
    for name, value in zip(("CHUNK_RATINGS", "PARTED_IN_MEMORY", "GROUPED_IN_MEMORY"), LIMITS[limits], strict=True):
        monkeypatch.setattr(out_of_core, name, value)
    ratings = many_ratings(9000 if step > 1 else 2000)
    before = open_files()
    block, n_repeated = grouped(ratings, step)
    expected, expected_repeated = group_ratings(ratings, N_USERS, N_ITEMS)
    assert users_of(block) == users_of(expected) and n_repeated == expected_repeated > 0
    assert type(block.items) is np.ndarray and block.items.flags.writeable  # one type for the compiled kernels
    assert open_files() <= before + 2  # the maps of a block in files


@pytest.mark.parametrize("n_users", [0, 1, MOST_PARTS - 1, MOST_PARTS, MOST_PARTS + 1])
def test_few_users_leave_parts_empty(monkeypatch, n_users):
    monkeypatch.setattr(out_of_core, "CHUNK_RATINGS", 4)
    ratings = np.zeros(20 if n_users else 0, RATING)
    ratings["user"] = np.arange(len(ratings)) % max(n_users, 1)
    block, _ = grouped(ratings, 7, n_users)
    assert len(block) == n_users and len(block.items) == min(20, n_users)


def test_nothing_in_files_is_an_empty_array(monkeypatch):
    monkeypatch.setattr(out_of_core, "CHUNK_RATINGS", 4)
    monkeypatch.setattr(out_of_core, "GROUPED_IN_MEMORY", 0)
    ratings = np.zeros(9, RATING)
    ratings["item"] = -1
    assert users_of(grouped(ratings, 9, 1)[0]) == [([], b"")]


def test_an_error_leaves_no_file_behind(monkeypatch, tmp_path):
    monkeypatch.setattr(out_of_core, "CHUNK_RATINGS", 100)
    monkeypatch.setattr(out_of_core, "PARTED_IN_MEMORY", 100)
    monkeypatch.setattr(out_of_core, "GROUPED_IN_MEMORY", 0)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = open_files()
    grouper = Grouper(N_ITEMS, Tally())
    with pytest.raises(ZeroDivisionError), grouper:
        grouper.add(many_ratings(1000))
        assert open_files() > before or not open_files()
        raise ZeroDivisionError
    monkeypatch.setattr(out_of_core, "group_ratings", lambda *unused: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        grouped(many_ratings(1000), 1000)
    assert open_files() == before and list(tmp_path.iterdir()) == []


def test_a_file_that_lost_its_end_is_noticed(monkeypatch):
    monkeypatch.setattr(out_of_core, "CHUNK_RATINGS", 100)
    monkeypatch.setattr(out_of_core, "PARTED_IN_MEMORY", 0)
    with Grouper(N_ITEMS, Tally()) as grouper:
        grouper.add(many_ratings(1000))
        grouper._chunks._file.truncate(160)
        with pytest.raises(OSError, match="a temporary file is shorter than what was written"):
            grouper.finish(N_USERS)


@pytest.mark.parametrize("in_memory", [0, 100])
def test_a_store_joins_blocks(monkeypatch, in_memory):
    monkeypatch.setattr(out_of_core, "GROUPED_IN_MEMORY", in_memory)
    first = UserBlock(np.array([0, 2, 2]), np.array([3, 5], np.int32), np.array([0.5, 1], np.float32))
    second = UserBlock(np.array([0, 1]), np.array([4], np.int32), np.array([-1], np.float32))
    with UserStore(3, 9) as store:
        store.append(first)
        store.append(second)
        block = store.finish()
    assert block.indptr.tolist() == [0, 2, 2, 3]
    assert block.items.tolist() == [3, 5, 4] and block.values.tolist() == [0.5, 1, -1]
