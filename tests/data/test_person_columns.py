"""Columns that say whose a row is, and people with several rows."""

import numpy as np
import pyarrow as pa
import pytest

from hushrank.data.person_columns import (
    count_ids,
    count_people,
    find_no_ids,
    find_repeated_updates,
    find_repeats,
    is_person_id,
    is_user,
    may_be_person,
)


def test_names_of_people():
    ids = [
        "customer_id",
        "CustomerID",
        "userId",
        "userid",
        "Patient No",
        "anon_user_id",
        "member-nr",
        "employee number",
    ]
    assert [name for name in ids if not is_person_id(name)] == []
    maybe = ["customer", "Household", "account", "id", "ID", "uuid", "email", "E-Mail", "ssn", *ids]
    assert [name for name in maybe if not may_be_person(name)] == []
    others = ["order_id", "product_id", "store id", "members", "paid", "users_count", "age", "", "name", 7, None]
    assert [name for name in others if may_be_person(name)] == []


def texts(*cells):
    return pa.array([None if cell is None else str(cell).encode() for cell in cells], pa.large_binary())


@pytest.mark.parametrize(
    ("name", "column", "expected"),
    [
        ("user_id", texts("a", "b", "a", "", None), (3, 2)),
        ("user_id", texts(7, "07", "7.0", 8), (4, 2)),
        ("user_id", texts(2**60, 2**60 + 1, 2**60), (3, 2)),
        ("user_id", pa.array([1.0, np.nan, 1.0, 2.0]), (3, 2)),
        ("user_id", pa.array([0.5, 1.0]), None),
        ("user_id", pa.array([1, 2, 2], pa.int32()), (3, 2)),
        ("user_id", pa.array(["a", "b", None]).dictionary_encode(), (2, 2)),
        ("user_id", pa.array([], pa.large_string()), None),
        ("user_id", pa.array([[1]]), None),
        ("household", pa.array([1, 2, 3, 4] * 9), None),  # how many live there
        ("household", pa.array(list(range(20)) * 2), (40, 20)),
        ("household", texts(*([1, 2.5] * 20)), None),
        ("member", pa.array(["yes", "no"] * 9), None),
        ("member", pa.array(["ann", "bob", "eve", "joe"] * 9), (36, 4)),
    ],
)
def test_people_are_counted_where_a_column_is_one_of_ids(name, column, expected):
    assert count_people(name, column) == expected


def test_repeats_are_told_with_how_many():
    [finding] = find_repeats({"customer_id": texts(*(f"c{i // 3}" for i in range(300))), "user_id": texts(1, 2, 3)})
    assert finding.level == "warning" and finding.numbers["rows_each"] == 3.0 and "c99" not in finding.text
    assert finding.text.startswith("column 'customer_id' repeats (3.0 rows each in the first 300)")
    [finding] = find_repeats({"id": texts(*range(99), 5)})
    assert "(1 of the first 100 rows are of somebody before)" in finding.text


def test_few_of_many_columns_are_told():
    column = pa.array([1, 1, 2])
    found = find_repeats({f"c{j}_user_id": column for j in range(1000)})
    assert [finding.numbers["column"] for finding in found] == ["c0_user_id", "c1_user_id", "c2_user_id"]


@pytest.mark.parametrize(
    "column", [pa.nulls(2), pa.array([[1], [1]]), pa.array([{"a": 1}] * 2), pa.array([None] * 2, pa.large_string())]
)
def test_columns_without_ids_are_counted_as_nobody(column):
    assert count_ids(column) == (0, 0) and count_people("user_id", column) is None
    [finding] = find_no_ids({"user": column, "item": texts(1, 1), "empty": pa.nulls(0)})
    assert finding.level == "problem" and finding.numbers == {"column": "user"}


def test_ids_are_counted_whatever_the_name():
    assert count_ids(texts("a", "b", "a", "", None)) == (3, 2) and count_ids(pa.array([1, 1])) == (2, 1)
    assert count_ids(texts("1.5", "2.5", "1.5")) == (3, 2) and count_ids(pa.array([1.5, 1.5])) == (0, 0)
    assert find_no_ids({"user": texts("1.5", "2.5"), "item": texts(None, None)}) == []
    assert [one.numbers["column"] for one in find_no_ids({"user": texts("", ""), "item": texts("", 7)})] == ["user"]
    assert [name for name in ("user", "Member", "patient_id", "uid", "movie", "id") if not is_user(name)] == [
        "movie",
        "id",
    ]


def test_people_with_several_updates_are_told_once():
    few = texts("a", "a", "b")
    [finding] = find_repeated_updates({"row": few, "household": few, "customer_id": few, "user": few})
    assert finding.level == "warning" and finding.numbers["column"] == "user" and "--unit user" in finding.text
    assert finding.text.startswith("column 'user' repeats (1.5 updates each in the first 3)")
    [finding] = find_repeated_updates({"household": few, "customer_id": few, "user": texts("a", "b", "c")})
    assert finding.numbers["column"] == "customer_id"
    assert find_repeated_updates({"row": few, "user": pa.nulls(3), "household": few}) == []
