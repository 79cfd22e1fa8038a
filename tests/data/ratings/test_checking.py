"""What a fit would do to ratings: unknown items, clipped and repeated ratings, users without any."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from hushrank.data.ratings.checking import look_at_ratings
from hushrank.data.ratings.reading import read_ratings

USERS, ITEMS = np.repeat(np.arange(40), 5), np.tile(np.arange(10), 20)
TABLE = pd.DataFrame({"user": USERS, "item": ITEMS, "rating": 1.0 + ITEMS % 5})


def look(data, n_users=None, items=10, **terms):
    ratings = read_ratings(data, owner="A", items=items, **{"rating_range": (1, 5), **terms})
    found = look_at_ratings(ratings, n_users)
    return found.counts, {finding.name: finding for finding in found.findings}


def changed(**columns):
    return TABLE.assign(**columns)


def test_plain_ratings_have_no_findings(tmp_path):
    TABLE.to_csv(tmp_path / "a.csv", index=False)
    TABLE.to_parquet(tmp_path / "a.parquet")
    counts = {"n_users": 40, "n_items": 10, "n_ratings": 200}
    for data in (TABLE, str(tmp_path / "a.csv"), tmp_path / "a.parquet"):
        assert look(data) == (counts, {})
    matrix = scipy.sparse.coo_array((TABLE.rating, (USERS, ITEMS)), (40, 10))
    assert look(matrix) == look(matrix.tocsr()) == (counts, {})


def test_ratings_that_are_no_numbers_are_told_by_their_form(tmp_path):
    changed(rating="4,5").to_csv(tmp_path / "a.csv", index=False)
    _, found = look(tmp_path / "a.csv")
    assert found["ratings_not_finite"].level == found["not_numbers"].level == "problem"
    assert found["not_numbers"].numbers["cause"] == "decimal_comma"
    assert "not_numbers" not in look(tmp_path / "a.csv", is_implicit=True)[1]


def test_unknown_items_are_counted_with_their_cause():
    _, found = look(changed(item=ITEMS + 1))
    assert found["unknown_items"].level == "warning" and found["unknown_items"].numbers == {
        "unknown_items": 20, "ratings": 200, "cause": "ids_from_1",
    }  # fmt: skip
    assert "20 of 200 ratings (10 %)" in found["unknown_items"].text and "0..9" in found["unknown_items"].text
    counts, found = look(changed(item=ITEMS + 1000))
    assert found["unknown_items"].level == found["users_without_ratings"].level == "problem"
    assert counts["n_ratings"] == 0


def test_clipped_ratings_show_the_extremes():
    _, found = look(changed(rating=np.where(ITEMS == 0, -3.0, np.where(ITEMS == 1, 9.0, 2.0))))
    assert found["clipped_ratings"].numbers == {"clipped_ratings": 40, "ratings": 200, "smallest": -3.0, "largest": 9.0}
    assert "the smallest is -3, the largest 9" in found["clipped_ratings"].text
    assert look(changed(rating=TABLE.rating * 100))[1]["clipped_ratings"].level == "problem"


def test_equal_ratings_are_implicit_feedback():
    assert "--feedback implicit" in look(changed(rating=1.0))[1]["equal_ratings"].text
    assert look(changed(rating=1.0), is_implicit=True)[1] == {}


def test_repeated_pairs_and_ratings_that_are_none_are_counted():
    assert look(pd.concat([TABLE, TABLE[:7]]))[1]["repeated_ratings"].numbers == {"repeated": 7, "ratings": 207}
    _, found = look(changed(rating=np.where(ITEMS < 2, np.nan, 2.0 + ITEMS % 3)))
    assert found["ratings_not_finite"].numbers["ratings_not_finite"] == 40
    _, found = look(changed(user=np.where(USERS == 3, None, USERS.astype(str))).astype({"user": "string"}))
    assert found["ratings_without_user"].numbers["ratings_without_user"] == 5


def test_users_are_few_or_many():
    assert look(TABLE, n_users=40)[1] == {} and look(TABLE, n_users=39)[1]["more_users"].level == "warning"
    _, found = look(TABLE.drop_duplicates("user"))
    assert found["users_with_few_ratings"].numbers == {"users": 40, "of_users": 40}
    _, found = look(changed(item=np.where(USERS == 3, 99, ITEMS)))
    assert found["users_without_ratings"].numbers == {"users_without": 1, "users": 40}
    robot = pd.DataFrame({"user": 7, "item": np.arange(2000), "rating": 1.0 + np.arange(2000) % 5})
    _, found = look(pd.concat([TABLE[TABLE.user != 7], robot]), items=2000)
    assert found["very_many_ratings"].numbers == {"most": 2000, "median": 5.0}


def test_no_ratings_are_a_problem():
    assert look(TABLE[:0])[1]["no_ratings"].level == "problem"


def test_ratings_that_were_read_are_looked_at_again_and_stay_as_they_are():
    ratings = read_ratings(TABLE, owner="A", items=10, rating_range=(1, 5))
    first = look_at_ratings(ratings)
    assert ratings.n_samples is None and type(ratings._origin._catalogue).__name__ == "Catalogue"
    [before] = ratings.blocks()
    assert look_at_ratings(ratings).counts == first.counts
    [after] = ratings.blocks()
    assert np.array_equal(before.values, after.values)


@pytest.mark.parametrize("cell", [np.inf, -np.inf, 1e308])
def test_no_value_raises(cell):
    look(changed(rating=np.where(ITEMS == 0, cell, 2.0)))
