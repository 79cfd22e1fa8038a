"""Ratings: one entry for all sources, read once and only when asked, with a log for the data holder."""

import logging
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

from hushrank.data.ratings import grouping
from hushrank.data.ratings.catalogue import Catalogue
from hushrank.data.ratings.reading import Ratings, UserBlock, read_ratings
from hushrank.data.rows.reading import read_rows
from hushrank.engine.local import LocalEngine
from hushrank.exceptions import InvalidParameter
from rating_support import all_users, user, users_of

NAN = math.nan
X = np.array([[1, NAN, 5], [NAN, NAN, NAN], [2, 3, NAN]])
USERS = sorted([user(i0=-1, i2=1), user(), user(i0=-0.5, i1=0)])
COLUMNS = {"user": [4, 9, 4, 9, 7], "item": [2, 0, 0, 1, -3], "rating": [5.0, 2.0, 1.0, 3.0, 1.0]}


def ratings_of(data, **options):
    return read_ratings(data, **{"owner": "A", "rating_range": (1, 5), **options})


def refusal_of(data, **options):
    with pytest.raises(InvalidParameter) as refusal:
        ratings_of(data, **options)
    return str(refusal.value)


@pytest.fixture
def sources(tmp_path):
    pq.write_table(pa.table(COLUMNS), tmp_path / "x.parquet")
    pl.DataFrame(COLUMNS).write_csv(tmp_path / "x.csv")
    matrices = [X, X.tolist(), sp.csr_array(np.nan_to_num(X)), sp.coo_matrix(np.nan_to_num(X))]
    tables = [pd.DataFrame(COLUMNS), pl.DataFrame(COLUMNS), pa.table(COLUMNS)]
    return matrices, [*tables, tmp_path / "x.parquet", str(tmp_path / "x.csv"), tmp_path]


def test_every_source_gives_the_same_users(sources):
    matrices, tables = sources
    for data in matrices:
        for items in (None, 3, ["a", "b", "c"], Catalogue(3)):
            ratings = ratings_of(data, items=items)
            assert isinstance(ratings, Ratings) and ratings.n_items == 3 and ratings.n_samples == 3
            assert all_users(ratings) == USERS and ratings.n_users == 3
    for data in tables:
        ratings = ratings_of(data, items=3)
        assert ratings.n_items == 3 and ratings.n_samples is None  # only reading tells
        assert all_users(ratings) == USERS and ratings.n_users == 3 and ratings.n_samples == 3


def test_implicit_feedback_from_every_source(sources):
    expected = sorted([user(i0=1, i2=1), user(), user(i0=1, i1=1)])
    matrices, tables = sources
    for data in [*matrices, *tables]:
        assert all_users(ratings_of(data, items=3, is_implicit=True, rating_range=None)) == expected


@pytest.mark.parametrize("max_rows", [1, 2, 7, 8192, 10**6])
def test_blocks_hold_whole_users(max_rows):
    rng = np.random.default_rng(0)
    many = sp.csr_array(np.where(rng.uniform(size=(9000, 40)) < 0.1, rng.uniform(size=(9000, 40)), 0))
    ratings = ratings_of(many, rating_range=(0, 1))
    blocks = list(ratings.blocks(max_rows))
    assert max(map(len, blocks)) == min(max_rows, 8192) and sum(map(len, blocks)) == 9000
    together = [users for block in blocks for users in users_of(block)]
    assert together == users_of(next(iter(ratings.blocks()))) + together[8192:]
    assert np.array_equal(np.concatenate([block.items for block in blocks]), many.indices)


def test_blocks_hold_few_ratings(monkeypatch):
    monkeypatch.setattr(grouping, "MAX_BLOCK_RATINGS", 4)
    blocks = list(ratings_of(np.ones((5, 3))).blocks())
    assert [len(block) for block in blocks] == [1] * 5  # two users have six ratings
    assert [len(block) for block in ratings_of(np.tile(X, (2, 1))).blocks()] == [3, 3]


def test_no_users_make_an_empty_block_for_the_engine():
    ratings = ratings_of(np.empty((0, 3)))
    assert list(ratings.blocks()) == [] and ratings.n_users == 0
    empty = ratings.empty_block()
    assert isinstance(empty, UserBlock) and users_of(empty) == []

    def count(block, state):
        return np.array([len(block), len(block.items)]) + 0 * np.bincount(block.items, minlength=2)[:2]

    assert LocalEngine(1).total(ratings, count, None).tolist() == [0, 0]
    assert LocalEngine(2, block_rows=1).total(ratings_of(X), count, None).tolist() == [3, 4]


# Reading.


class Recorded:
    """A source that counts how often it is read."""

    n_users = None

    def __init__(self):
        self.n_reads = 0

    def read(self, tally):
        self.n_reads += 1
        return UserBlock(np.array([0, 1, 1]), np.array([4], np.int32), np.ones(1, np.float32))


@pytest.mark.parametrize("first", [lambda ratings: ratings.n_users, lambda ratings: list(ratings.blocks())])
def test_ratings_are_read_once_and_only_when_asked(first):
    source = Recorded()
    ratings = Ratings(source, 9)
    assert (ratings.n_items, ratings.n_samples, ratings.can_repeat, ratings.columns) == (9, None, True, None)
    assert ratings.empty_block() is not None and source.n_reads == 0
    first(ratings)
    assert source.n_reads == 1 and ratings.n_users == ratings.n_samples == 2
    assert list(map(len, ratings.blocks())) == list(map(len, ratings.blocks())) == [2] and source.n_reads == 1


def test_a_public_number_of_users_is_not_read_off_the_data():
    source = Recorded()
    ratings = Ratings(source, 9, n_users=np.int64(70))
    assert ratings.n_users == 70 and type(ratings.n_users) is int and source.n_reads == 0
    assert sum(map(len, ratings.blocks())) == 2 and ratings.n_users == 70


def test_files_are_not_read_before_blocks_are(tmp_path):
    path = tmp_path / "x.csv"
    pl.DataFrame(COLUMNS).write_csv(path)
    ratings = ratings_of(path, items=3)
    path.write_text("user,item,rating\n1,0,3\n")
    assert all_users(ratings) == [user(i0=0)]
    path.unlink()
    assert all_users(ratings) == [user(i0=0)]


def test_the_data_are_left_alone_and_let_go():
    matrix = sp.csr_array(([1.0, 9.0, 2.0], [2, 0, 2], [0, 3]), (1, 3))
    before = [array.copy() for array in (matrix.data, matrix.indices, matrix.indptr)]
    ratings = ratings_of(matrix)
    assert all_users(ratings) == [user(i0=1, i2=-0.75)] and ratings._origin is None
    for array, copy in zip((matrix.data, matrix.indices, matrix.indptr), before, strict=True):
        assert np.array_equal(array, copy)


def test_ratings_are_passed_through_and_rows_are_refused():
    ratings = ratings_of(X)
    assert read_ratings(ratings, owner="A") is ratings
    assert refusal_of(read_rows(X, owner="A")).startswith("X of A must be ratings")


# The log.


def logged(caplog, ratings):
    with caplog.at_level(logging.INFO, "hushrank"):
        list(ratings.blocks())
        list(ratings.blocks())
    return [(record.levelname, record.getMessage()) for record in caplog.records]


def test_ratings_as_they_should_be_are_information(caplog):
    assert logged(caplog, ratings_of(X)) == [("INFO", str(grouping.Tally(n_read=4)))]


ODD = {
    "n_not_finite": [[math.inf, 1]],
    "n_clipped": [[6, 1]],
    "n_repeated": sp.csr_array(([1, 2], [0, 0], [0, 2]), (1, 2)),
}


@pytest.mark.parametrize("count", ODD)
def test_whatever_does_not_count_as_it_stands_is_for_the_data_holder_alone(caplog, count):
    assert logged(caplog, ratings_of(ODD[count])) == [("INFO", str(grouping.Tally(n_read=2, **{count: 1})))]


def test_unknown_items_and_missing_users_are_for_the_data_holder_alone(caplog):
    table = pa.table({"user": [1, None], "item": [7, 0], "rating": [1, 1]})
    expected = grouping.Tally(n_read=2, n_without_user=1, n_unknown=1)
    assert logged(caplog, ratings_of(table, items=2)) == [("INFO", str(expected))]


@pytest.mark.parametrize("data", [X, pa.table(COLUMNS)])
def test_more_users_than_stated_are_noted_and_all_of_them_count(caplog, data):
    ratings = ratings_of(data, items=3, n_users=2)
    assert logged(caplog, ratings)[-1] == ("INFO", "Not private: 3 users found, more than n_users = 2; all were kept.")
    assert all_users(ratings) == USERS and ratings.n_users == 2
    caplog.clear()
    assert not any("users found" in message for _, message in logged(caplog, ratings_of(data, items=3, n_users=3)))


# Refusals.


def test_tables_and_files_need_a_public_catalogue(sources):
    for data in sources[1]:
        assert refusal_of(data) == (
            "items of A must be the public catalogue of items (ids or a count): which items exist must not be read off "
            "the data; got None."
        )


def test_matrices_need_one_item_a_column():
    for data in (X, sp.csr_array(X)):
        assert refusal_of(data, items=4) == "items of A must be None or 3 ids, one for each column; got '4 ids'."


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([1, 1], "different ids (7, 07 and 7.0 are one); got '1 repeated'"),
        (0, "a count >= 1 and <= 2147483647 or a sequence of ids; got 0"),
    ],
)
def test_unsuitable_catalogues_are_refused_in_the_name_of_the_owner(items, message):
    assert refusal_of(X, items=items) == f"items of A must be {message}."


def test_ranges_that_are_not_pairs_are_refused():
    assert refusal_of(X, rating_range=(5, 1)).startswith("rating_range of A must be a pair (lowest, highest)")


def test_the_widest_range_overflows_nothing():
    ratings = ratings_of([[-1.7e308, 0.0, 1.7e308]], rating_range=(-1.7e308, 1.7e308))
    assert all_users(ratings) == [user(i0=-1, i1=0, i2=1)]


@pytest.mark.parametrize("n_users", [0, -1, 2.0, True, "3"])
def test_unsuitable_numbers_of_users_are_refused(n_users):
    assert refusal_of(X, n_users=n_users) == f"n_users of A must be an integer >= 1 or None; got {n_users!r}."


def test_other_data_are_refused():
    for data in (None, object(), iter([X]), lambda: X, "x.txt", 3.0):
        assert refusal_of(data, items=3).startswith("X of A must be")
