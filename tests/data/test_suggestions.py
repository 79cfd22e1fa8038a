"""Names that somebody probably meant."""

import pytest

from hushrank.data.suggestions import did_you_mean


@pytest.mark.parametrize(
    ("name", "known", "meant"),
    [
        ("housage", ["rooms", "houseage", "age"], "houseage"),
        ("Age", ["age", "cage"], "age"),
        ("user id", ["item_id", "user_id"], "user_id"),
        ("users", ["user", "uses"], "user"),
    ],
)
def test_the_nearest_name_is_named(name, known, meant):
    assert did_you_mean(name, known) == f"; did you mean {meant!r}?"


@pytest.mark.parametrize(
    ("name", "known"), [("weight", ["age", "rooms"]), ("a", []), ("a", [1, ("a",)]), (7, ["7"]), ("", ["b"])]
)
def test_nothing_is_said_where_nothing_is_like_it(name, known):
    assert did_you_mean(name, known) == ""


def test_a_header_of_a_million_names_takes_no_time():
    assert did_you_mean("x1", (f"column {i}" for i in range(1_000_000))) == ""


def test_odd_characters_are_shown_as_escapes():
    assert did_you_mean("aage\x1b", ["age\x1b"]) == "; did you mean 'age\\x1b'?"
