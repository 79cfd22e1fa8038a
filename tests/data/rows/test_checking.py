"""What a fit would do to rows: lost, shortened, clipped, hidden by one scale, or no rows at all."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from hushrank.data.rows.checking import RowTerms, look_at_rows
from hushrank.data.rows.reading import read_rows

X = np.random.default_rng(0).standard_normal((200, 3))
LIMITS = np.tile([-4.0, 4.0], (3, 1))


def look(X, **terms):
    found = look_at_rows(read_rows(X, owner="A", allow_complex=True), RowTerms(**{"row_norm": 100.0, **terms}))
    return found.counts, {finding.name: finding for finding in found.findings}


def test_plain_rows_have_no_findings():
    assert look(X) == ({"n_samples": 200, "n_features": 3}, {})
    assert look(X, limits=LIMITS, row_norm=np.inf)[1] == {}
    assert look(X + 1j)[1] == {}


def test_longer_rows_are_counted_after_the_center():
    lengths = np.linalg.norm(X - 1.0, axis=1)
    _, found = look(X, row_norm=1.5, center=np.ones(3))
    assert found["shortened_rows"].numbers["shortened_rows"] == (lengths > 1.5).sum()
    assert found["shortened_rows"].numbers["largest_norm"] == pytest.approx(lengths.max())
    assert found["shortened_rows"].level == "warning"
    assert look(X, row_norm=float(np.sort(lengths)[-2]), center=np.ones(3))[1]["shortened_rows"].level == "note"


def test_cells_outside_limits_are_clipped_and_the_worst_column_is_named():
    Z = X.copy()
    Z[:50, 1] = 9.0
    _, found = look(Z, limits=LIMITS, row_norm=np.inf)
    clipped = found["clipped_cells"]
    assert clipped.level == "warning" and clipped.numbers["clipped_cells"] == 50 and clipped.numbers["columns"] == [1]
    assert "most of them in column 1 (25 % of its rows)" in clipped.text and "shortened_rows" not in found


def test_lengths_are_measured_in_half_widths_within_limits():
    _, found = look(X, limits=LIMITS, row_norm=0.5)
    assert found["shortened_rows"].numbers["shortened_rows"] == (np.linalg.norm(X / 4.0, axis=1) > 0.5).sum()


def test_scales_are_no_matter_where_they_are_cared_for():
    Z = X * [1.0, 50.0, 1.0]
    assert look(Z, row_norm=1e3)[1].keys() == {"one_scale"} and look(Z, row_norm=1e3, is_scaled=True)[1] == {}
    assert "column_bounds" in look(Z, row_norm=1e3)[1]["one_scale"].text


def test_a_number_that_a_fit_refuses_after_its_charge_is_a_problem():
    assert look(X, n_max=200)[1] == {} and look(X, n_max=199)[1]["too_many_rows"].level == "problem"
    assert look(X[:0])[1]["no_rows"].level == "problem"


def test_rows_of_zeros_are_told():
    assert look(X * (np.arange(200) > 50)[:, None])[1]["zero_rows"].numbers == {"zero_rows": 51, "rows": 200}


def test_why_cells_are_no_numbers_is_told_of_csv_files(tmp_path):
    lines = "".join(f'{i},"{i},5",Rome\n' for i in range(50))
    (tmp_path / "a.csv").write_text(f"age,income,city\n{lines}")
    rows = read_rows(tmp_path / "a.csv", owner="A")
    findings = look_at_rows(rows, RowTerms(100.0)).findings
    told = {one.numbers["cause"]: one for one in findings if one.name == "not_numbers"}
    assert {cause: one.numbers["columns"] for cause, one in told.items()} == {
        "decimal_comma": ["income"], "text": ["city"],
    }  # fmt: skip
    assert {one.level for one in told.values()} == {"problem"} and "leave it out (--columns" in told["text"].text
    assert "leave" not in next(one.text for one in findings if one.name == "columns_without_numbers")
    chosen = look_at_rows(read_rows(tmp_path / "a.csv", owner="A", columns=["age"]), RowTerms(100.0))
    assert [one.name for one in chosen.findings] == []


@pytest.mark.parametrize("kind", [".csv", ".parquet", "pandas", "objects", "arrow"])
def test_people_with_several_rows_are_told_though_their_column_is_not_read(tmp_path, kind):
    table = pd.DataFrame({"customer_id": [f"c{i // 3}" for i in range(60)], "age": np.arange(60.0)})
    if kind.startswith("."):
        data = tmp_path / f"a{kind}"
        table.to_csv(data, index=False) if kind == ".csv" else table.to_parquet(data)
    else:
        objects = table.assign(customer_id=table.customer_id.astype(object))
        data = {"pandas": table, "objects": objects, "arrow": pa.Table.from_pandas(table)}[kind]
    found = look_at_rows(read_rows(data, owner="A", columns=["age"]), RowTerms(100.0))
    [finding] = [one for one in found.findings if one.name == "repeated_people"]
    assert finding.numbers == {"column": "customer_id", "rows": 60, "people": 20, "rows_each": 3.0}


def test_entries_of_a_matrix_are_a_problem():
    pairs = np.array([(i, j, 1 + i % 5) for i in range(20) for j in range(20)], float)
    assert look(pairs)[1]["triplets"].level == "problem"
