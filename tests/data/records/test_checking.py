"""What a fit would do to records and measurements: lost ones, users of one record, scales, indices outside."""

import numpy as np
import pytest

from hushrank.data.records.checking import Scales, look_at_measurements, look_at_user_records
from hushrank.data.records.measurements import read_measurements
from hushrank.data.records.reading import read_records

RNG = np.random.default_rng(0)
X, Y, USERS = RNG.standard_normal((120, 3)), RNG.standard_normal(120), np.repeat(np.arange(30), 4)


def look(X=X, y=Y, users=USERS, scales=Scales(), **terms):  # noqa: B008  # it is frozen
    found = look_at_user_records(read_records(X, y, users, owner="A"), scales, **terms)
    return found.counts, {finding.name: finding for finding in found.findings}


def measured(X, y, scales=Scales(), design="rank_one", shape=(2, 3)):  # noqa: B008  # as above
    found = look_at_measurements(read_measurements(X, y, design=design, shape=shape, owner="A"), scales)
    return found.counts, {finding.name: finding for finding in found.findings}


def test_plain_records_have_no_findings():
    assert look() == ({"n_users": 30, "n_features": 3, "n_records": 120}, {})
    assert look(y=np.sign(Y), is_logistic=True)[1] == {}


def test_lost_records_and_the_column_at_fault():
    Z = X.copy()
    Z[:60, 1] = np.nan
    _, found = look(Z)
    assert found["lost_records"].numbers["lost_records"] == 60 and found["culprit_column"].numbers["column"] == 1
    assert found["users_without_records"].numbers == {"users_without_records": 15, "users": 30}
    _, found = look(y=np.full(120, np.nan))
    assert "right column (--target)" in found["culprit_column"].text


def test_cells_of_csv_files_tell_why_they_are_no_numbers(tmp_path):
    lines = "".join(f'u{i % 9},{i},{i} %,"{i},5"\n' for i in range(50))
    (tmp_path / "a.csv").write_text(f"user,age,rate,target\n{lines}")
    for found in (
        look_at_user_records(read_records(tmp_path / "a.csv", owner="A"), Scales()),
        look_at_measurements(
            read_measurements(tmp_path / "a.csv", design="rank_one", shape=(1, 1), owner="A", features=["age", "rate"]),
            Scales(),
        ),
    ):
        told = {one.numbers["cause"]: one.numbers["columns"] for one in found.findings if one.name == "not_numbers"}
        assert told == {"percent": ["rate"], "decimal_comma": ["target"]}


def test_users_of_one_record():
    _, found = look(users=np.arange(120))
    assert found["users_with_one_record"].level == "problem"
    _, found = look(users=np.r_[[99], USERS[1:]])
    assert found["users_with_one_record"].level == "note" and look(n_users=29)[1]["more_users"].level == "warning"


def test_records_without_a_user():
    ids = np.where(USERS < 20, "", USERS.astype(str))
    _, found = look(users=ids)
    assert found["records_without_user"].numbers == {"records_without_user": 80, "records": 120}
    assert found["records_without_user"].level == "problem"


def test_scales_beyond_reach():
    for scales, name in ((Scales(1e4, 1.0), "x_scale"), (Scales(1.0, 1e-5), "y_scale")):
        _, found = look(scales=scales)
        assert found.keys() == {name} and found[name].level == "problem"
    assert look(X * 100, Y * 500)[1] == {}
    assert look(y=(Y > 0) * 1e9, is_logistic=True)[1] == {}  # labels have no scale


def test_one_label_is_nothing_to_tell_apart():
    assert look(y=np.ones(120), is_logistic=True)[1]["one_label"].level == "problem"


def test_no_records_are_a_problem():
    assert look(X[:0], Y[:0], USERS[:0])[1]["no_records"].level == "problem"
    assert measured(np.empty((0, 5)), Y[:0])[1]["no_records"].level == "problem"


def test_plain_measurements_have_no_findings():
    Z = RNG.standard_normal((120, 5))
    assert measured(Z, Y) == ({"n_samples": 120, "n_rows": 2, "n_columns": 3}, {})
    assert measured(RNG.standard_normal((120, 2, 3)), Y, design="dense")[1] == {}
    Z[7, 4] = np.inf
    assert measured(Z, Y)[1]["lost_records"].numbers == {"lost_records": 1, "records": 120}


@pytest.mark.parametrize(("shift", "cause"), [(0, None), (1, "ids_from_1"), (5, "")])
def test_indices_outside_the_matrix(shift, cause):
    rows, columns = RNG.integers(0, 4, 120) + shift, RNG.integers(0, 3, 120)
    _, found = measured((rows, columns), Y, design="entry", shape=(4, 3))
    assert (found["outside_matrix"].numbers["cause"] if found else None) == cause
    if cause:
        assert "rows count from 1, and must count from 0" in found["outside_matrix"].text


def test_indices_that_are_none_are_outside():
    rows = np.where(np.arange(120) < 50, 0.5, 1.0)
    _, found = measured((rows, np.tile([0, 1, 2], 40)), Y, design="entry", shape=(4, 3))
    assert found["outside_matrix"].numbers["outside"] == 50 and found["outside_matrix"].level == "problem"


@pytest.mark.parametrize("value", [1e308, -1e308, np.nan, np.inf])
def test_no_value_raises(value):
    Z = X.copy()
    Z[3] = value
    look(Z, np.where(np.arange(120) == 5, value, Y))
    measured((np.full(120, value), np.zeros(120)), Y, design="entry", shape=(4, 3))
