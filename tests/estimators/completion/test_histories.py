"""Own ratings in every form: the same block, users in their order, other things refused."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

from hushrank.data.id_arrays import bytes_as_text
from hushrank.data.ratings.catalogue import Catalogue
from hushrank.estimators.completion.histories import FORMS, find_items, read_histories, read_pairs, to_array
from hushrank.exceptions import InvalidParameter

CATALOGUE, NAMED = Catalogue(6), Catalogue(["tea", "jam", "rye", "oil"])
RANGE = (1.0, 5.0)
COLUMNS = {"item": [4, 1], "rating": [5.0, 2.0]}
ROW = np.array([[np.nan, 2.0, np.nan, np.nan, 5.0, np.nan]])


def read(own, catalogue=CATALOGUE, rating_range=RANGE):
    return read_histories(own, catalogue, rating_range, "Owner")


def people_of(histories):
    block = histories.block
    spans = [slice(*block.indptr[i : i + 2]) for i in range(len(block))]
    return [dict(zip(block.items[span].tolist(), block.values[span].tolist(), strict=True)) for span in spans]


@pytest.mark.parametrize(
    "own",
    [
        {4: 5.0, 1: 2.0},
        {np.int64(1): 2, np.int32(4): 5},
        ([4, 1], [5.0, 2.0]),
        (np.array([4, 1]), np.array([5, 2], np.int8)),
        (pa.array([4, 1]), (5, 2)),
        pd.DataFrame(COLUMNS),
        pd.DataFrame({"rating": pd.array([5, 2], "Int64"), "item": pd.array([4, 1], "UInt8"), "time": ["a", "b"]}),
        pl.DataFrame(COLUMNS),
        pa.table(COLUMNS),
        pa.record_batch(COLUMNS),
        pa.table({"item": pa.array([4, 1]).dictionary_encode(), "rating": pa.array([5, 2], pa.int8())}),
    ],
    ids=lambda own: type(own).__module__ + "." + type(own).__name__,
)
def test_one_person_in_every_form(own):
    histories = read(own)
    assert people_of(histories) == [{1: -0.5, 4: 1.0}]
    assert histories.is_single and histories.users is None


@pytest.mark.parametrize(
    "own", [ROW, scipy.sparse.csr_array(np.nan_to_num(ROW)), scipy.sparse.coo_matrix(np.nan_to_num(ROW))]
)
def test_matrices_are_several_people_even_if_it_is_one(own):
    histories = read(own)
    assert people_of(histories) == [{1: -0.5, 4: 1.0}] and not histories.is_single


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize("ids", [[7, 3, 7, 5], ["g", "c", "g", "e"], [" 7", "x\0", " 7", "\u00e9"]])
def test_tables_with_users_keep_the_order_in_which_they_appear(kind, ids, caplog):
    with caplog.at_level("INFO", logger="hushrank"):
        histories = read(kind({"user": ids, "item": [0, 1, 2, 99], "rating": [1.0, 3.0, 5.0, 5.0]}))
    assert people_of(histories) == [{0: -1.0, 2: 1.0}, {1: 0.0}, {}]
    assert histories.users.tolist() == [ids[0], ids[1], ids[3]] and not histories.is_single
    assert dict(zip(histories.users, people_of(histories), strict=True))[ids[1]] == {1: 0.0}
    [record] = caplog.records
    assert record.levelname == "INFO" and record.message.startswith("Not private: 1 ratings of items outside")


def test_large_unsigned_users_keep_their_rows():
    ids = np.array([2**64 - 1, 3, 2**63, 2**64 - 1], np.uint64)
    histories = read(pa.table({"user": ids, "item": [0, 1, 2, 3], "rating": [1.0, 3.0, 5.0, 5.0]}))
    assert people_of(histories) == [{0: -1.0, 3: 1.0}, {1: 0.0}, {2: 1.0}]
    assert histories.users.tolist() == [2**64 - 1, 3, 2**63]


def test_users_that_are_no_text_come_back_as_they_were():
    ids = pd.Series(["\ud800", "a"], dtype="string[python]")
    assert read(pd.DataFrame({"user": ids, "item": [0, 1], "rating": [1.0, 1.0]})).users.tolist() == ["\ud800", "a"]
    assert to_array(bytes_as_text([b"\xff", b"b"])).tolist() == ["\udcff", "b"]
    odd = [b"\xff", b"\xed\xb3\xbf"]  # each way of decoding alone tells them apart, both together would not
    assert len(set(to_array(bytes_as_text(odd)).tolist())) == 2


@pytest.mark.parametrize("user", [None, "", " "])
def test_a_row_without_a_user_is_refused_by_name(user):
    table = pa.table({"user": pa.array([user, "a"], pa.string()), "item": [0, 1], "rating": [1.0, 1.0]})
    with pytest.raises(InvalidParameter, match=r"^own_ratings of Owner must be a table with a user in every row; got"):
        read(table)


def test_two_spellings_of_one_user_are_refused():
    """One of the two would look for an answer under the own spelling and find none."""
    table = pa.table({"user": ["7", "07"], "item": [0, 1], "rating": [1.0, 1.0]})
    with pytest.raises(
        InvalidParameter, match=r"^own_ratings of Owner must be a table with one spelling of every user"
    ):
        read(table)


def test_rows_of_a_matrix_are_numbered():
    assert read(np.tile(ROW, (3, 1))).users.tolist() == [0, 1, 2] and read({4: 5.0}).users is None


def test_ratings_are_clipped_repeated_ones_averaged_and_missing_ones_ignored():
    assert people_of(read(([0, 1, 2, 2, 3], [9.0, -1e30, 1.0, 4.0, np.nan]))) == [{0: 1.0, 1: -1.0, 2: -0.25}]
    assert people_of(read(pl.DataFrame({"item": [0, 1], "rating": [3, None]}))) == [{0: 0.0}]


@pytest.mark.parametrize(
    "own",
    [
        ["jam", "oil"],
        ("jam", "oil"),
        np.array(["oil", "jam"]),
        pa.array(["jam", "oil", "jam"]),
        {"jam": 0.0, "oil": 17},
        (["oil", "jam"], [1, 1]),
        pd.DataFrame({"item": ["jam", "oil"]}),
        pl.DataFrame({"item": ["jam", "oil"], "rating": ["not", "read"]}),
    ],
    ids=lambda own: type(own).__module__ + "." + type(own).__name__,
)
def test_implicit_feedback_needs_items_only(own):
    assert people_of(read(own, NAMED, None)) == [{1: 1.0, 3: 1.0}]


@pytest.mark.parametrize("own", [{}, ([], []), pd.DataFrame({"item": [], "rating": []}).astype({"item": "int64"})])
def test_nobody_has_to_have_ratings(own):
    histories = read(own)
    assert people_of(histories) == [{}] and histories.is_single
    assert people_of(read([], CATALOGUE, None)) == [{}]


def test_matrices_without_rows_are_nobody():
    assert len(read(np.empty((0, 6))).block) == 0
    many = np.tile(ROW, (9000, 1))  # more than one block
    assert people_of(read(many)) == [{1: -0.5, 4: 1.0}] * 9000


def test_pairs_are_two_columns():
    users, items = read_pairs(pl.DataFrame({"item": [3, 1], "user": ["a", "b"], "rating": [1.0, 2.0]}), "Owner")
    assert (users.to_pylist(), items.to_pylist()) == (["a", "b"], [3, 1])


def test_items_are_found_by_id():
    assert find_items(["rye", "tea", "gin"], NAMED, "Owner", "items").tolist() == [2, 0, -1]
    with pytest.raises(InvalidParameter, match=r"^items of Owner must be str ids as in the catalogue; got 'int64'"):
        find_items([1], NAMED, "Owner", "items")


TABLE = pd.DataFrame(COLUMNS)


@pytest.mark.parametrize(
    ("own", "requirement"),
    [
        (None, FORMS),
        ({4, 1}, FORMS),
        ("mine.csv", FORMS),
        (np.ones(6), FORMS),
        ([4, 1], FORMS),  # without ratings
        ([1, 2, 3], FORMS),
        (([4, 1], [5.0]), "as many ratings as items"),
        (([4, 1], ["good", "bad"]), "ratings that are numbers"),
        ({4: "good"}, "ratings that are numbers"),
        ({4: 1.0, "tea": 2.0}, "ids of one type, int or str"),
        ({0.5: 1.0}, "ids of one type, int or str"),
        ({2**70: 1.0}, "ids of one type, int or str"),
        ({"tea": 1.0}, "int ids as in the catalogue"),
        (TABLE[["item"]], "a table with the columns item, rating"),
        (TABLE[["rating"]], "a table with the columns item, rating"),
        (TABLE.astype({"rating": str}), "a table with real numbers in the column 'rating'"),
        (TABLE.assign(rating=np.array([5.0, "x"], object)), "a table with real numbers in the column 'rating'"),
        (TABLE.assign(user=np.array(["a", 1], object)), "ids of one type, int or str"),
        (TABLE.assign(user=[0.5, 1.5]), "ids of one type, int or str"),
        ((5.0, [1]), FORMS),
        ((None, None), FORMS),
        ((iter([1]), [1]), FORMS),
        (("4", "1"), FORMS),
        ({1: 10**400}, "ratings that are numbers"),
        (TABLE.assign(rating=np.array([2**70, 1], object)), "a table with real numbers in the column 'rating'"),
        (TABLE.assign(rating=np.array(["\ud800", 1], object)), "a table with real numbers in the column 'rating'"),
        (pd.concat([TABLE, TABLE], axis=1), "a table whose column names differ"),
        (pa.table([[1], [2.0], [3]], names=["item", "rating", "item"]), "a table whose column names differ"),
        (pl.LazyFrame(COLUMNS), "a table in memory: collect() the lazy frame"),
    ],
    ids=lambda part: part[:20] if isinstance(part, str) else type(part).__name__,
)
def test_other_things_are_refused(own, requirement):
    with pytest.raises(InvalidParameter, match=f"^own_ratings of Owner must be {re.escape(requirement)}; got"):
        read(own)


def test_matrices_of_other_columns_are_refused():
    with pytest.raises(
        InvalidParameter, match=r"^items of Owner must be None or 3 ids, one for each column; got '6 ids'"
    ):
        read(np.ones((2, 3)))


@pytest.mark.parametrize(("pairs", "missing"), [(TABLE, "user"), (TABLE.rename(columns={"item": "user"}), "item")])
def test_pairs_without_a_column_are_refused(pairs, missing):
    with pytest.raises(
        InvalidParameter,
        match=f"^pairs of Owner must be a table with the columns user, item; got no column '{missing}'",
    ):
        read_pairs(pairs, "Owner")
    with pytest.raises(
        InvalidParameter, match=r"^pairs of Owner must be a table with the columns user, item; got 'list'"
    ):
        read_pairs([(1, 2)], "Owner")
