"""Ratings through parcels: each user has the bits of the local reading, wherever the rows lay and however they came."""

import itertools
import logging
import math
from collections import Counter

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrank.data.pieces import hold
from hushrank.data.ratings import out_of_core
from hushrank.data.ratings.catalogue import Catalogue
from hushrank.data.ratings.grouping import Tally
from hushrank.data.ratings.rating_columns import RatingTable
from hushrank.data.ratings.reading import DistantRatings, Ratings, read_ratings
from hushrank.data.ratings.regrouping import PartRatings, RatingGrouping
from hushrank.engine.local import LocalEngine
from piece_support import sent
from rating_support import all_users, users_of
from regrouping_support import IDS, SPELLINGS, Places, group_at, rows_of, write_files

N_ITEMS = 6
ODD = [math.nan, math.inf, -math.inf, 1e300, -1e300, 5e-324, -0.0, 0.1, 1 / 3, 1.0, 4.7, 5.0, 5.0000001]


def table_of(ids, n_rows=240, seed=0):
    """Ratings by these users in any order, many of them of one item, unknown, or no number."""
    rng = np.random.default_rng(seed)
    users = ids.take(pa.array(rng.integers(0, len(ids), n_rows)))
    ratings = np.where(rng.random(n_rows) < 0.3, rng.choice(ODD, n_rows), rng.uniform(1, 5, n_rows))
    return pa.table({"user": users, "item": rng.integers(-1, N_ITEMS + 1, n_rows), "rating": ratings})


def ratings_of(data, is_implicit=False, **options):
    bounds = None if is_implicit else (1, 5)
    return read_ratings(data, owner="A", items=N_ITEMS, rating_range=bounds, is_implicit=is_implicit, **options)


def told(caplog, ratings):
    """What the log is told while blocks are read, twice."""
    caplog.clear()
    with caplog.at_level(logging.INFO, "hushrank"):
        list(ratings.blocks())
        list(ratings.blocks())
    return [record.getMessage() for record in caplog.records]


# Files.


@pytest.mark.parametrize("kind", ["parquet", "csv"])
@pytest.mark.parametrize("ids", IDS)
@pytest.mark.parametrize("is_implicit", [False, True])
def test_users_have_the_bits_of_the_local_reading(tmp_path, caplog, kind, ids, is_implicit):
    if kind == "csv" and ids != "str":
        ids_of_file = IDS[ids].cast(pa.large_string())
    else:
        ids_of_file = IDS[ids]
    folder = write_files(tmp_path / "x", table_of(ids_of_file), kind)
    local = ratings_of(folder, is_implicit)
    expected, message = all_users(local), told(caplog, ratings_of(folder, is_implicit))
    assert len(message) == 1
    for n_places, most, enough in ((1, 10**6, 10**6), (3, 1, 1), (50, 17, 20)):
        source = ratings_of(folder, is_implicit).regrouped(group_at(n_places, most, seed=n_places), enough)
        assert isinstance(source, DistantRatings) and source.n_samples == ratings_of(folder).n_samples
        assert all_users(source) == expected and source.n_users == source.n_samples == local.n_users
        assert all_users(source, 1) == expected
        assert told(caplog, ratings_of(folder, is_implicit).regrouped(group_at(n_places, most), enough)) == message


def test_all_spellings_are_one_user(tmp_path):
    table = table_of(IDS["str"], 2000)
    source = ratings_of(write_files(tmp_path / "x", table, "csv")).regrouped(group_at(4, 9))
    assert source.n_users == len(SPELLINGS) - 1


def test_repeated_ratings_that_are_spread_over_pieces_are_one_mean(tmp_path):
    values = [0.1, 0.2, 0.3, 1e-9, 4.7, 3.3, 2.9, 1.7, 1.1, 4.9]
    table = pa.table({"user": ["a"] * 10, "item": [2] * 10, "rating": values})
    folder = write_files(tmp_path / "x", table, "csv", n_files=10)
    expected = all_users(ratings_of(folder))
    assert len(expected) == 1 and expected[0][0] == [2]
    for seed in range(10):
        assert all_users(ratings_of(folder).regrouped(group_at(2, 1, seed))) == expected


def test_pieces_have_the_users_of_each_place(tmp_path):
    folder = write_files(tmp_path / "x", table_of(IDS["int64"]), "parquet")
    source = ratings_of(folder).regrouped(group_at(50), 1)
    parts = sent(source.pieces())
    assert all(isinstance(part, PartRatings) and part.n_samples for part in parts)  # more places than users
    assert sorted(user for part in parts for user in all_users(part)) == all_users(ratings_of(folder))
    assert sum(part.n_samples for part in parts) == source.n_users and parts[0].empty_block().items.dtype == np.int32


def test_no_rows_and_no_pieces(tmp_path):
    table = table_of(IDS["str"])[:0]
    for kind in ("csv", "parquet"):
        source = ratings_of(write_files(tmp_path / kind, table, kind)).regrouped(group_at(3))
        assert (source.n_users, source.n_samples, list(source.blocks()), source.pieces()) == (0, 0, [], [])
        assert LocalEngine(1).total(source, lambda block, _: np.array([len(block)]), None).tolist() == [0]


# Distant ratings.


def test_nothing_is_read_before_it_is_asked_for(tmp_path):
    made = []

    def group(grouping, pieces):
        made.append(Places(grouping, pieces))
        return made[0]

    local = ratings_of(write_files(tmp_path / "x", table_of(IDS["str"]), "csv"))
    source = local.regrouped(group)
    assert (source.n_samples, source.sizes, source.n_items, source.can_repeat) == (None, {"n_items": N_ITEMS}, 6, True)
    assert source.rating_range == (1, 5) and source.catalogue is local.catalogue and len(source.empty_block()) == 0
    assert source.regrouped(group) is source and len(made) == 1 and made[0].n_makings == 0
    assert source.n_users and list(source.blocks()) and source.pieces() and made[0].n_makings == 1
    source.forget()
    assert made[0].n_makings == 1 and all_users(source) == all_users(local) and made[0].n_makings == 2


def test_the_log_is_told_once(tmp_path, caplog):
    folder = write_files(tmp_path / "x", table_of(IDS["int64"]), "parquet")
    source = ratings_of(folder, n_users=2).regrouped(group_at(5))
    assert source.n_users == 2  # public: nothing was read for it
    messages = told(caplog, source)
    assert messages == told(caplog, ratings_of(folder, n_users=2)) and len(messages) == 2
    assert messages[1] == "Not private: 8 users found, more than n_users = 2; all were kept."
    source.forget()
    assert told(caplog, source) == []


@pytest.mark.parametrize("data", [pa.table({"user": [1], "item": [2], "rating": [3.0]}), np.ones((2, N_ITEMS))])
def test_what_lies_in_memory_stays_here(data):
    source = ratings_of(data)
    assert source.regrouped(None) is source
    list(source.blocks())
    assert source.regrouped(None) is source and type(source) is Ratings


def test_what_was_read_here_stays_here(tmp_path):
    source = ratings_of(write_files(tmp_path / "x", table_of(IDS["int64"]), "parquet"))
    assert source.n_users and source.regrouped(None) is source


# Rows of any kind.

USERS = ["7", "07", " 7.0 ", "a", "b", "c\n", "", None]
ROWS = st.lists(
    st.tuples(st.sampled_from(USERS), st.integers(-1, N_ITEMS), st.sampled_from(ODD) | st.floats(0, 6)), max_size=30
)
EDGES = st.lists(st.integers(0, 30), max_size=6)


def origins(rows, edges, rating_range):
    """Origins of consecutive rows, cut at the edges."""
    edges = sorted([0, len(rows), *(edge for edge in edges if edge <= len(rows))])
    schema = {"user": pl.String, "item": pl.Int64, "rating": pl.Float64}
    tables = [pl.DataFrame(rows[a:b], schema, orient="row") for a, b in itertools.pairwise(edges)]
    return [RatingTable(table.to_arrow(), Catalogue(N_ITEMS), rating_range, "A") for table in tables]


class Batches:
    """An origin that can be pickled."""

    def __init__(self, origin):
        self._batches = list(origin.batches())

    def batches(self):
        return iter(self._batches)


def grouped(rows, edges, rating_range, n_places=3, most=10**6, seed=0):
    pieces = [hold(Batches(origin)) for origin in origins(rows, edges, rating_range)]
    return Places(RatingGrouping(N_ITEMS, rating_range), pieces, n_places, most, seed)


def users_at(groups):
    return sorted(user for part in groups.parts() for user in users_of(part.users))


@given(
    ROWS,
    EDGES,
    st.sampled_from([(1.0, 5.0), None]),
    st.sampled_from([1, 3, 50]),
    st.sampled_from([1, 4, 10**6]),
    st.integers(0, 9),
)
@settings(deadline=None, max_examples=100)
def test_any_rows_in_any_pieces_make_the_users_and_the_tally_of_all_at_once(rows, edges, bounds, n_places, most, seed):
    tally = Tally()
    [whole] = origins(rows, [], bounds)
    expected = whole.read(tally)
    groups = grouped(rows, edges, bounds, n_places, most, seed)
    assert users_at(groups) == sorted(users_of(expected)) and groups.n_people() == len(expected)
    assert groups.notes() == tally


@given(ROWS, ROWS, EDGES, st.sampled_from(["7", "a", "c\n"]), st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=100)
def test_one_person_changes_nothing_of_what_others_become(rows, others, edges, person, random):
    """A million more ratings, others or none at all: at most one user is another one."""

    def is_own(row):
        return row[0] is not None and row[0].strip().removesuffix(".0").removeprefix("0") == person.strip()

    kept = [row for row in rows if not is_own(row)]
    before = rows
    after = [*kept, *((person, item, rating) for _, item, rating in others)]
    random.shuffle(after)
    found = [
        Counter((tuple(items), values) for items, values in users_at(grouped(data, edges, (1.0, 5.0))))
        for data in (before, after)
    ]
    assert (found[0] - found[1]).total() <= 1 and (found[1] - found[0]).total() <= 1


def test_more_ratings_than_fit_into_memory(monkeypatch):
    table = table_of(IDS["int64"], 500)
    [whole] = [RatingTable(table, Catalogue(N_ITEMS), (1, 5), "A")]
    expected = sorted(users_of(whole.read(Tally())))
    monkeypatch.setattr(out_of_core, "CHUNK_RATINGS", 7)
    for name in ("PARTED_IN_MEMORY", "GROUPED_IN_MEMORY"):
        monkeypatch.setattr(out_of_core, name, 0)
    groups = Places(RatingGrouping(N_ITEMS, (1, 5)), [hold(Batches(whole))], 2)
    assert users_at(groups) == expected


def test_single_precision_is_sent_where_it_holds_the_ratings():
    """Stars take half of the bytes, and become what they would be as doubles."""
    [origin] = origins([("a", 0, 3.5), ("b", 1, 4.0)], [], (1.0, 5.0))
    grouping = RatingGrouping(N_ITEMS, (1.0, 5.0))
    [(_, [items, ratings])] = grouping.rows(origin)
    assert items.dtype == np.int16 and ratings.dtype == np.float32
    [(_, arrays)] = RatingGrouping(N_ITEMS, None).rows(origin)
    assert len(arrays) == 1
    part = grouping.join(rows_of([]), 4)
    assert part.notes() == Tally(n_read=4, n_without_user=4) and part.n_people == 0
