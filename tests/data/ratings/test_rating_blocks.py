"""Ratings of a dask DataFrame: types are checked before anything is computed, and no cell of a partition raises."""

import logging

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("dask.dataframe", reason="needs the extra dask")

import dask
import dask.array as da
import dask.dataframe as dd

from hushrank.data.lazy_blocks import LazyBlocks
from hushrank.data.ratings.catalogue import Catalogue
from hushrank.data.ratings.grouping import Tally
from hushrank.data.ratings.rating_blocks import RatingBlocks
from hushrank.data.ratings.reading import read_ratings
from hushrank.exceptions import InvalidParameter
from rating_support import all_users, user, users_of
from regrouping_support import group_at, travel

TABLE = pd.DataFrame({"user": [4, 9, 4, 9, 7], "item": [2, 0, 0, 1, -3], "rating": [5.0, 2.0, 1.0, 3.0, 1.0]})
USERS = sorted([user(i0=-1, i2=1), user(), user(i0=-0.5, i1=0)])


@pytest.fixture(autouse=True)
def objects_as_they_are():
    # Dask itself makes texts of objects, which fails for bytes that are none.
    with dask.config.set({"scheduler": "synchronous", "dataframe.convert-string": False}):
        yield


def lazy(*tables, meta=TABLE):
    """Partitions as they are, with types that are stated for all."""
    return dd.from_map(lambda k: tables[k], range(len(tables)), meta=meta.iloc[:0])


def blocks_of(data, items=3, bounds=(1, 5), **options):
    return RatingBlocks(LazyBlocks(data, owner="A"), Catalogue(items), bounds, "A", **options)


def ratings_of(data, items=3, **options):
    return read_ratings(data, **{"owner": "A", "items": items, "rating_range": (1, 5), **options})


def everywhere(data, **options):
    """Users as they are read here, and as they are grouped elsewhere at one place and at many; all are the same."""
    found = [all_users(ratings_of(data, **options))]
    found += [all_users(ratings_of(data, **options).regrouped(group_at(n, 2))) for n in (1, 50)]
    assert found[0] == found[1] == found[2]
    return found[0]


HALVES = TABLE.iloc[:2], TABLE.iloc[:0], TABLE.iloc[2:]


def test_partitions_are_one_table():
    assert everywhere(lazy(*HALVES)) == everywhere(lazy(TABLE)) == USERS == all_users(ratings_of(TABLE))
    source = ratings_of(lazy(*HALVES))
    assert source.n_samples is None and source.n_users == 3 and source.sizes == {"n_items": 3}


def test_ids_are_texts_whatever_they_are():
    origin = blocks_of(lazy(*HALVES))
    assert [ids.to_pylist() for ids, _, _ in origin.batches()] == [["4", "9"], ["4", "9", "7"]]
    with pytest.raises(InvalidParameter):
        list(blocks_of(lazy(TABLE.drop(columns="user"))).batches())


TEXTS = {
    "user": [" 4.0 ", "9", "04", "+9", "7"],
    "item": ["2", "0", " 0", "1.0", "-3"],
    "rating": ["5", "2", "1e0", "3", "1"],
}


@pytest.mark.parametrize("column", TEXTS)
@pytest.mark.parametrize("dtype", [object, "string"])
def test_a_partition_of_another_type_is_read_cell_by_cell(column, dtype):
    other = TABLE.assign(**{column: pd.array(TEXTS[column], dtype=dtype)})
    for parts in ((other,), (TABLE.iloc[:3], other.iloc[3:]), (other.iloc[:3], TABLE.iloc[3:])):
        assert everywhere(lazy(*parts)) == USERS


def test_one_missing_cell_makes_floats_of_integers():
    other = TABLE.astype({"user": float, "item": float})
    other.loc[5] = [np.nan, 1.0, 3.0]
    other.loc[6] = [4.0, np.nan, 3.0]
    assert everywhere(lazy(TABLE.iloc[:3], other.iloc[3:])) == USERS


@pytest.mark.parametrize("cell", ["seven", None, float("nan"), 2**80, b"\xff", [1], {}, object(), 1j, True, pd.NaT])
@pytest.mark.parametrize("column", TEXTS)
def test_no_cell_raises_or_changes_what_others_become(cell, column):
    other = TABLE.astype(object)
    other.loc[5] = [3, 1, 2.0]
    other.at[5, column] = cell
    found = everywhere(lazy(TABLE.iloc[:2], other.iloc[2:]))
    for one in USERS:
        found.remove(one)
    assert len(found) <= 1


def test_catalogues_of_texts_and_other_names():
    table = TABLE.rename(columns={"user": "who", "item": "what"}).assign(what=["c", "a", "a", "b", "z"])
    options = {"items": ["a", "b", "c"], "columns": {"user": "who", "item": "what"}}
    assert everywhere(lazy(table.iloc[:2], table.iloc[2:], meta=table), **options) == USERS
    odd = table.assign(what=[7] * 5)  # integers where the catalogue has texts
    assert everywhere(lazy(table, odd, meta=table), **options) == USERS


def test_implicit_feedback_needs_no_ratings():
    expected = sorted([user(i0=1, i2=1), user(), user(i0=1, i1=1)])
    for table in (TABLE, TABLE.drop(columns="rating"), TABLE.assign(rating="x")):
        data = lazy(table.iloc[:2], table.iloc[2:], meta=table)
        assert everywhere(data, is_implicit=True, rating_range=None) == expected


def test_pieces_are_the_partitions():
    pieces = blocks_of(lazy(*HALVES)).pieces()
    origins = [travel(piece.read)(*travel(dask.compute(*piece.needs))) for piece in pieces]
    assert all(isinstance(origin, RatingBlocks) for origin in origins)
    assert [sum(len(items) for _, items, _ in origin.batches()) for origin in origins] == [2, 0, 3]
    tallies = [Tally(), Tally()]
    users = [users_of(origin.read(tallies[0])) for origin in (origins[0], origins[2])]
    whole = blocks_of(lazy(*HALVES)).read(tallies[1])
    assert tallies[0] == tallies[1] and len(whole) == 3 and sum(map(len, users)) == 5  # two are in both
    assert origins[0].pieces() is None


def test_the_log_is_that_of_pandas(caplog):
    messages = []
    table = pd.concat([TABLE, pd.DataFrame({"user": [4], "item": [2], "rating": [np.inf]})])
    for source in (
        ratings_of(table),
        ratings_of(lazy(table[:2], table[2:])),
        ratings_of(lazy(table)).regrouped(group_at(3)),
    ):
        caplog.clear()
        with caplog.at_level(logging.INFO, "hushrank"):
            list(source.blocks())
        messages.append([record.getMessage() for record in caplog.records])
    assert messages[0] == messages[1] == messages[2] and len(messages[0]) == 1


# Refusals.


def refusal_of(data, **options):
    with pytest.raises(InvalidParameter) as refusal:
        ratings_of(data, **options)
    assert "\n" not in str(refusal.value)
    return str(refusal.value)


def test_types_and_columns_are_refused_before_anything_is_computed():
    def never(number):
        raise AssertionError("computed")

    def stated(meta):
        return dd.from_map(never, [0, 1], meta=meta.iloc[:0])

    assert refusal_of(stated(TABLE.drop(columns="item"))) == refusal_of(TABLE.drop(columns="item"))
    text = pd.array(["x"] * len(TABLE), dtype="string")  # a list is a column of objects before pandas 3
    for other in ({"user": 1.5}, {"item": text}, {"rating": text}, {"user": pd.Timestamp("2020-01-01")}):
        assert refusal_of(stated(TABLE.assign(**other))) == refusal_of(TABLE.assign(**other))
    assert refusal_of(stated(TABLE), items=None) == refusal_of(TABLE, items=None)
    assert ratings_of(stated(TABLE)).n_items == 3


def test_arrays_are_refused():
    expected = "X of A must be a dask DataFrame with the columns user, item and rating; got 'a dask array'."
    assert refusal_of(da.ones((4, 3), chunks=2)) == expected
    assert refusal_of(lazy(TABLE)["user"]).startswith("X of A must be a dask DataFrame with the columns")
