"""Columns counted a block at a time: cells that are no numbers, culprits, constants, scales and names."""

import numpy as np
import pytest

from hushrank.data.column_counts import (
    ColumnCounts,
    cautions_of_names,
    find_constants,
    find_lost,
    find_scale,
    is_no_quantity,
)

NAMES = ["age", "income", "zip"]
X = np.random.default_rng(0).standard_normal((100, 3))


def counted(X, limits=None, pieces=3):
    counts = ColumnCounts(X.shape[1], limits)
    for part in np.array_split(X, pieces):
        counts.add(part)
    return counts


def found(findings):
    return {finding.name: finding for finding in findings}


def changed(column, value, rows=slice(None)):
    Z = X.copy()
    Z[rows, column] = value
    return Z


def test_clean_columns_have_no_findings():
    counts = counted(X)
    assert (counts.n_rows, counts.n_lost, counts.n_blank) == (100, 0, 0)
    assert not [*find_lost(counts, NAMES), *find_constants(counts, NAMES), *find_scale(counts, NAMES, "")]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_the_culprit_is_named(value):
    counts = counted(changed(2, value, slice(0, 98)))
    findings = found(find_lost(counts, NAMES))
    assert findings["lost_rows"].level == "problem" and findings["lost_rows"].numbers == {"lost_rows": 98, "rows": 100}
    culprit = findings["culprit_column"]
    assert culprit.text.startswith("column 'zip' has no number in 98 % of its rows: leave it out (--columns")
    assert culprit.numbers == {"column": "zip", "rows": 98, "rows_lost_by_it_alone": 98}


def test_few_lost_rows_are_no_reason_to_leave_a_column_out():
    findings = found(find_lost(counted(changed(0, np.nan, slice(0, 2))), NAMES))
    assert findings["lost_rows"].level == "warning" and "leave it out" not in findings["culprit_column"].text


def test_nobody_is_the_culprit_where_all_are():
    Z = X.copy()
    for j in range(3):
        Z[30 * j : 30 * j + 30, j] = np.nan
    assert list(found(find_lost(counted(Z), NAMES))) == ["lost_rows"]


def test_columns_that_are_no_numbers_at_all_are_listed():
    findings = found(find_lost(counted(changed([0, 2], np.nan)), NAMES))
    assert findings["columns_without_numbers"].numbers == {"columns": ["age", "zip"]}
    assert counted(changed([0, 2], np.nan)).without_numbers.tolist() == [0, 2]


def test_lines_that_cannot_be_read_are_no_fault_of_a_column():
    Z = X.copy()
    Z[:40] = np.nan
    findings = found(find_lost(counted(Z), NAMES))
    assert list(findings) == ["lost_rows", "blank_rows"] and findings["blank_rows"].numbers == {"blank_rows": 40}


def test_the_answers_are_not_left_out():
    findings = found(find_lost(counted(changed(2, np.nan)), NAMES, "record"))
    assert "answers are no numbers in 100 %" in findings["culprit_column"].text


@pytest.mark.parametrize("pieces", [1, 3, 100])
def test_constants_are_found_in_any_blocks(pieces):
    Z = changed(1, 7.0)
    Z[:10, 1] = np.nan
    findings = list(find_constants(counted(Z, pieces=pieces), NAMES))
    assert [finding.numbers for finding in findings] == [{"columns": ["income"]}]


def test_complex_columns_are_counted():
    Z = X + 1j * X[::-1]
    Z[:, 1], Z[0, 2] = 2j, complex(0, np.nan)
    counts = counted(Z)
    assert counts.n_lost == 1 and counts.constant.tolist() == [1]


def test_a_column_of_another_scale_is_named():
    [finding] = find_scale(counted(X * [1, 1e4, 1]), NAMES, "scale it")
    assert finding.numbers["column"] == "income" and finding.text.endswith("scale it")
    Z = X.copy()
    Z[0, 1] = 1e300  # one cell is no scale
    assert not list(find_scale(counted(Z), NAMES, "")) and not list(find_scale(counted(X[:, :1]), NAMES[:1], ""))


def test_cells_outside_limits_are_counted():
    counts = counted(changed(0, 9.0, slice(0, 7)), limits=np.tile([-5.0, 5.0], (3, 1)))
    assert counts.outside.tolist() == [7, 0, 0]


def test_names_tell_ids_and_dates():
    odd = ["id", "ID", "user_id", "userId", "movieid", "patient-id", "Zip", "zip_code", "Postcode", "birth date"]
    odd += ["Unnamed: 0", "customer_no", "Employee Number", "clientKey"]
    assert [name for name in odd if not is_no_quantity(name)] == []
    plain = ["age", "paid", "width", "grid", "acid", "income", "update", "x", "", "candidate", "latitude", "valid"]
    assert [name for name in plain if is_no_quantity(name)] == []
    [text] = cautions_of_names(["age", "user_id"])
    assert text.startswith("column 'user_id' looks by name like an id") and not list(cautions_of_names([0, 1, "age"]))


@pytest.mark.parametrize("Z", [np.full((4, 3), 1e308), np.full((4, 3), np.nan), np.empty((0, 3)), np.zeros((4, 3))])
def test_no_value_raises(Z):
    counts = counted(Z)
    found = [*find_lost(counts, NAMES), *find_constants(counts, NAMES), *find_scale(counts, NAMES, "")]
    assert all("nan" not in finding.text for finding in found)
