"""Names of columns: what they may be called, and what is guessed where one is missing."""

import pickle

import pytest

from hushrank.data.ratings.column_names import (
    MissingColumn,
    check_names,
    guess_column,
    hint_names,
    name_columns,
    needed_columns,
    plain_name,
    warn_of_users,
)
from hushrank.exceptions import InvalidParameter

DEFAULT = {"user": "user", "item": "item", "rating": "rating"}


def test_names_left_out_are_the_default():
    assert name_columns(None, "A") == name_columns({}, "A") == DEFAULT
    assert name_columns({"item": "movieId"}, "A") == {**DEFAULT, "item": "movieId"}
    assert list(needed_columns({"rating": "stars"}, True, "A")) == ["user", "item"]
    assert needed_columns({"rating": "stars"}, False, "A")["rating"] == "stars"


@pytest.mark.parametrize("columns", [["user"], "userId", {"film": "x"}, {"user": 0}, {"user": "a", "item": "a"}, 3])
def test_other_things_are_no_names(columns):
    with pytest.raises(
        InvalidParameter, match=r"^columns of A must be None or a dict of different names of columns for"
    ):
        name_columns(columns, "A")


GUESSES = [
    (["userId", "movieId", "rating", "timestamp"], {"user": "userId", "item": "movieId"}),
    (["User-ID", "ISBN", "Book-Rating"], {"user": "User-ID", "item": "ISBN", "rating": "Book-Rating"}),
    (["user_id", "item_id", "rating"], {"user": "user_id", "item": "item_id"}),
    (["uid", "product", "stars"], {"user": "uid", "item": "product", "rating": "stars"}),
    (["reviewerID", "asin", "overall"], {"user": "reviewerID", "item": "asin", "rating": "overall"}),
    (["USER", "Item", "Score", "score_max"], {"user": "USER", "item": "Item", "rating": "Score"}),
    (["usr", "itm", "ratng"], {"user": "usr", "rating": "ratng"}),
    (["a", "b", "c"], {}),
    (["item", "rating", 0], {}),
]


@pytest.mark.parametrize(("names", "meant"), GUESSES)
def test_names_that_people_use_are_guessed(names, meant):
    found = {role: guess_column(names, role, role, DEFAULT.values()) for role in DEFAULT if role not in names}
    found = {role: name for role, name in found.items() if name is not None}
    assert {role: found.get(role) for role in meant} == meant
    hint = hint_names(names, DEFAULT)
    assert bool(hint) == bool(meant) and all(f"--{role}-col {name}" in hint for role, name in meant.items())


def test_the_hint_is_complete_and_can_be_pasted():
    wanted = {"user": "userId", "item": "movieid", "rating": "rating"}
    assert hint_names(["userId", "movieId", "rating"], wanted) == (
        'Did you mean columns={"user": "userId", "item": "movieId"}? (--user-col userId --item-col movieId)'
    )
    odd = hint_names(["user\x1b_id\u202e", "item", "rating"], DEFAULT)  # spelled out, as all that steers a terminal
    assert odd.isprintable() and "user\\x1b_id\\u202e" in odd
    assert hint_names(["user id", "item", "rating"], DEFAULT).endswith("(--user-col 'user id')")
    assert plain_name("User-ID") == plain_name("user_id") == plain_name("userId") == "userid"


def test_a_missing_column_is_named():
    with pytest.raises(MissingColumn) as refusal:
        check_names(["userId", "movieId", "rating"], DEFAULT, "PrivateCompletion")
    assert str(refusal.value) == (
        "X of PrivateCompletion must be a table with the columns user, item, rating; got no column 'user'. "
        'Did you mean columns={"user": "userId", "item": "movieId"}? (--user-col userId --item-col movieId)'
    )
    again = pickle.loads(pickle.dumps(refusal.value))
    assert type(again) is MissingColumn and str(again) == str(refusal.value)
    with pytest.raises(MissingColumn, match=r"^own of A must be a table with the column item; got no column 'item'\.$"):
        check_names(["x"], {"item": "item"}, "A", "own")
    check_names(["rating", "item", "user", "more"], DEFAULT, "A")


def test_repeated_names_and_shared_columns_are_refused():
    with pytest.raises(InvalidParameter, match="names differ; got \"two columns 'user'\""):
        check_names(["user", "user"], DEFAULT, "A")
    with pytest.raises(InvalidParameter, match="different columns for user and item and rating; got \"'item' for two"):
        check_names(["item", "rating"], {**DEFAULT, "user": "item"}, "A")


def test_users_that_nobody_named_are_warned_of():
    with pytest.warns(UserWarning, match=r"as one person's: column 'userId' is not used.* \(--user-col userId\)"):
        warn_of_users(["userId", "item", "rating"], None)
    warn_of_users(["item", "rating", "timestamp", "us;r"], None)  # nothing that people call it
