"""Forms of cells: each cell has one, a column has its causes, and no cell is shown."""

import datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from hushrank.data import cell_forms
from hushrank.data.cell_forms import FORMS, count_forms, find_forms, numbers_of, sample_records, typed_column

CELLS = {
    "missing": ["NA", "n/a", "null", "-", "?", "", "NaN", "none", "N.A.", "--", "#N/A"],
    "infinite": ["inf", "-Infinity", "1e400", "-1.5E+999", "9" * 400],
    "truth": ["yes", "No", "TRUE", "f", "ja"],
    "date": ["2024-01-31", "2024-01", "31.12.2024", "1/2/24", "2024/01/02", "10:30", "10:30:15.5", "10:30 PM",
             "3 Jan 2024", "2024-01-01T10:00:00Z", "03-Mar-24", "Jan 3, 2024", "January 2024", "2024Q1",
             "Mon, 3 Jan 2024"],
    "percent": ["5%", "12.5 %", "12,5 %"],
    "currency": ["$5", "€ 12.50", "1.234,56 €", "12 EUR", "USD 5", "-$3", "US$ 4", "5 kr"],
    "thousands_commas": ["2,345.67", "1,234,567", "1,23,456.00", "-2,345.6"],
    "one_comma": ["2,345", "-12,000"],
    "decimal_comma": ["1234,56", "0,123", "-,5", "12,3e4"],
    "thousands_points": ["1.234,56", "1.234.567"],
    "thousands_spaces": ["2 345", "2\u00a0345,67", "2'345", "12\u2019345.6"],
    "unit": ["5 kg", "<5", "\u2265 10", "(5.2)", "5-", "\u22125", "3rd", "12a", "5 km/h"],
    "text": ["Rome", "a,b", "C001", "12 Main Street", "12345-6789", "1.2.3.4", "J\xf6rg"],
}  # fmt: skip


def csv(*cells):
    return pa.array([cell if isinstance(cell, bytes | None) else cell.encode() for cell in cells], pa.large_binary())


@pytest.mark.parametrize("form", CELLS)
def test_a_cell_has_a_form_in_csv_files_and_tables(form):
    for cell in CELLS[form]:
        assert dict(count_forms(csv(cell)).counts) == {form: 1}, cell
        assert dict(count_forms(typed_column(pa.array([f" {cell} "]))).counts) == {form: 1}, cell


def test_commas_of_a_column_have_one_meaning():
    for cells, expected in (
        (["2,345", "2,345.5"], "thousands_commas"),
        (["2,345", "0,5"], "decimal_comma"),
        (["9,50", "1.234,56"], "thousands_points"),
    ):
        assert dict(count_forms(csv(*cells)).counts) == {expected: 2}


@pytest.mark.parametrize(
    ("column", "causes"),
    [
        (csv("1", "2", "3"), []),
        (csv(*["Rome"] * 9, "NA", "5 %"), ["text"]),
        (csv("NA", "", None), ["missing"]),
        (csv(None, None), []),  # records that cannot be read are no fault of a column
        (csv(*"123456789", "refused", "NA"), ["missing", "text"]),
        (csv(*["1,5"] * 99, "Rome"), ["decimal_comma"]),
        (csv(b"\xff,5", b"\xff"), ["text"]),
        (csv(), []),
        (pa.array([1.0, None, np.inf]), ["missing", "infinite"]),
        (pa.array([True, None]), ["missing"]),
        (pa.array(["1", "2.5", None]), ["missing", "numbers_as_text"]),
        (pa.array(["1,5", "2,5"]).dictionary_encode(), ["decimal_comma"]),
        (pa.chunked_array([["5 %"], []]), ["percent"]),
        (pa.array([Decimal("1.5"), None]), ["missing", "decimal"]),
        (pa.array([datetime.date(2024, 1, 1)]), ["date"]),
        (pa.array([b"1"], pa.large_binary()).cast(pa.binary()), ["other_type"]),
        (pa.array([[1.0]]), ["other_type"]),
        (pa.nulls(2), ["missing"]),
    ],
)
def test_causes_of_a_column(column, causes):
    found = count_forms(column if column.type == pa.large_binary() else typed_column(column))
    assert found.causes == causes


def test_bytes_of_a_table_are_no_texts_and_texts_no_numbers():
    assert typed_column(pa.array([b"1"], pa.large_binary())).type == pa.binary()
    assert np.isnan(numbers_of(pa.array(["1"], pa.large_string()))).all() and numbers_of(csv("1"))[0] == 1.0


def test_findings_name_columns_by_cause_and_show_no_cell():
    columns = {f"c{j}": csv(*["secret"] * 20) for j in range(7)} | {"rate": csv(*["7734 %"] * 18, "1", "2")}
    percent, text = find_forms(columns, "--columns", "problem")
    assert percent.numbers == {
        "cause": "percent", "columns": ["rate"], "shares": [0.9], "records": 20, "is_number": True,
    }  # fmt: skip
    assert text.numbers["columns"] == [f"c{j}" for j in range(7)] and "and 2 more hold text" in text.text
    assert "leave them out (--columns)" in text.text and "leave" not in percent.text
    assert not any(cell in one.text for one in (percent, text) for cell in ("secret", "7734"))
    assert {percent.level, text.level} == {"problem"}
    [few] = find_forms({"a": csv(*["1"] * 99, "")}, "--columns", "problem")
    assert few.level == "warning" and "in 1 % of the first 100 records" in few.text


def test_long_columns_are_counted_in_proportion_and_wide_tables_by_less_records():
    found = count_forms(csv(*["5 %", "NA"] * 3000))
    assert dict(found.counts) == {"percent": 3000, "missing": 3000}
    assert sample_records(3) == 20_000 and sample_records(2**20) == 4 and sample_records(2**30) == 1


def test_every_cure_can_be_said():
    assert all(form.cure.format(choose="--columns", them="it") for form in FORMS.values())


def test_a_column_of_numbers_is_not_looked_at_twice(monkeypatch):
    monkeypatch.setattr(cell_forms, "_count_texts", lambda _: pytest.fail("no cell is odd"))
    assert dict(count_forms(pa.array([b"1", b"2.5"], pa.large_binary())).counts) == {}
