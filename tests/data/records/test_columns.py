"""Which column is what: by names alone, defaults where nothing is said, and refusals that name the parameter."""

import numpy as np
import pytest

from hushrank.data.records.columns import ONE_A_PERSON, Roles, assign_roles
from hushrank.exceptions import InvalidParameter

NAMES = ["user", "age", "target", "height", "note"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((None, None, None), Roles(("age", "height", "note"), "target", "user")),
        (("target", "user", ["height", "age"]), Roles(("height", "age"), "target", "user")),
        (("age", None, None), Roles(("target", "height", "note"), "age", "user")),
        (("age", "note", None), Roles(("user", "target", "height"), "age", "note")),
        (("user", None, ["age"]), Roles(("age",), "user", None)),
        (([1.0], None, ["age"]), Roles(("age",), None, "user")),
        ((np.ones(3), np.ones(3), None), Roles(("age", "height", "note"), None, None)),
        ((None, [1], ("age",)), Roles(("age",), "target", None)),
    ],
)
def test_roles(given, expected):
    assert assign_roles(NAMES, *given, "A") == expected


def test_without_a_column_user_nobody_is_one():
    assert assign_roles(["a", "target"], None, None, None, "A") == Roles(("a",), "target", None)


@pytest.mark.parametrize("beside", [np.ones(3), [1, 2, 3], ("a", "b", "c")], ids=["array", "list", "tuple"])
def test_beside_a_table_columns_named_as_the_default_are_no_features_unless_asked_for(beside):
    """Answers and ids of the table itself must not become numbers of its records by an oversight."""
    assert assign_roles(NAMES, beside, beside, None, "A") == Roles(("age", "height", "note"), None, None)
    assert assign_roles(NAMES, beside, None, None, "A") == Roles(("age", "height", "note"), None, "user")
    assert assign_roles(NAMES, None, beside, None, "A") == Roles(("age", "height", "note"), "target", None)
    assert assign_roles(NAMES, beside, "note", None, "A") == Roles(("user", "age", "height"), None, "note")
    assert assign_roles(NAMES, "note", beside, None, "A") == Roles(("age", "target", "height"), "note", None)
    asked = ["target", "user", "age"]
    assert assign_roles(NAMES, beside, beside, asked, "A") == Roles(tuple(asked), None, None)
    with pytest.raises(InvalidParameter, match=r"^X of A must be a table with a column; got '0 feature"):
        assign_roles(["user", "target"], beside, beside, None, "A")


@pytest.mark.parametrize("name", ["user", "users"])
def test_where_a_record_is_a_person_users_are_refused_unless_columns_are_chosen(name):
    names = [name, "age", "target"]
    message = (
        "X of A must be records of one person each, the unit that is protected here: choose features, or leave users "
        f"out; got \"a column '{name}'\"."
    )
    for y in (None, "age", [1.0]):
        with pytest.raises(InvalidParameter) as refusal:
            assign_roles(names, y, ONE_A_PERSON, None, "A")
        assert str(refusal.value) == message
    assert assign_roles(names, None, ONE_A_PERSON, ["age"], "A") == Roles(("age",), "target", None)
    assert assign_roles(names, None, ONE_A_PERSON, [name, "age"], "A") == Roles((name, "age"), "target", None)
    assert assign_roles(names, name, ONE_A_PERSON, None, "A") == Roles(("age", "target"), name, None)
    assert assign_roles(["age", "target"], None, ONE_A_PERSON, None, "A") == Roles(("age",), "target", None)


def test_an_index_is_no_feature_unless_it_is_asked_for():
    names = ["a", "target", "user", "key"]
    assert assign_roles(names, None, None, None, "A", index=["key", {"kind": "range"}]).features == ("a",)
    assert assign_roles(names, None, None, ["key"], "A", index=["key"]).features == ("key",)
    assert assign_roles(names, None, "key", None, "A", index=["key"]) == Roles(("a", "user"), "target", "key")


def test_names_need_not_be_texts():
    assert assign_roles([0, 1, "target"], None, None, None, "A") == Roles((0, 1), "target", None)


FEATURES = "features of A must be None or a list of different names of columns other than those of y and users; got"
REFUSED = {
    "no target": (
        ["a"],
        (None, None, None),
        "y of A must be a vector, or the name of a column of X ('target' if it is None); got "
        "\"no column 'target', but 'a'\".",
    ),
    "no such answer": (
        NAMES,
        ("weight", None, None),
        "y of A must be a vector, or the name of a column of X ('target' if it is None); got "
        "\"no column 'weight'; did you mean 'height'?\".",
    ),
    "no such user": (
        NAMES,
        (None, "id", None),
        "users of A must be ids, or the name of another column of X than y; got "
        "\"no column 'id', but 'user', 'age', 'target', 'height', 'note'\".",
    ),
    "one for both": (
        NAMES,
        ("age", "age", None),
        "users of A must be ids, or the name of another column of X than y; got \"'age' for both\".",
    ),
    "two of one name": (
        ["a", "a", "target"],
        (None, None, None),
        "X of A must be a table whose column names differ; got \"two columns 'a'\".",
    ),
    "no such feature": (
        NAMES,
        (None, None, ["weight"]),
        "X of A must be a table with the column 'weight'; got \"no column 'weight'; did you mean 'height'?\".",
    ),
    "no features": (
        ["user", "target"],
        (None, None, None),
        "X of A must be a table with a column; got '0 feature(s) (shape=(0, 0)) while a minimum of 1 is required'.",
    ),
    "a text": (NAMES, (None, None, "age"), f"{FEATURES} 'str'."),
    "an empty list": (NAMES, (None, None, []), f"{FEATURES} []."),
    "a number": (NAMES, (None, None, 3), f"{FEATURES} 'int'."),
    "lists": (NAMES, (None, None, [["age"]]), f"{FEATURES} [['age']]."),
    "twice": (NAMES, (None, None, ["age", "age"]), f"{FEATURES} ['age', 'age']."),
    "the answer": (NAMES, (None, None, ["age", "target"]), f"{FEATURES} \"the column 'target'\"."),
    "the user": (NAMES, (None, None, ["user"]), f"{FEATURES} \"the column 'user'\"."),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_refusals_name_the_parameter(kind):
    names, given, message = REFUSED[kind]
    with pytest.raises(InvalidParameter) as refusal:
        assign_roles(names, *given, "A")
    assert str(refusal.value) == message


def test_features_may_have_another_name():
    with pytest.raises(InvalidParameter, match=r"^columns of A must be None or a list"):
        assign_roles(NAMES, None, None, "age", "A", parameter="columns")
