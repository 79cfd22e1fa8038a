"""What a check looks like: marked, ordered, readable by people and machines."""

import json

import pytest

from hushrank.data.findings import NOT_PRIVATE, Check, Finding, Look, name_some, share
from hushrank.exceptions import InvalidParameter

NOTE, PROBLEM = Finding("note", "small", "a small thing"), Finding("problem", "large", "a large thing", {"rows": 3})


def test_problems_come_first_and_are_marked():
    check = Check(
        "PrivatePCA", {"n_samples": 1200, "n_features": 3}, (NOTE, PROBLEM), {"time (s)": 2.0}, {"n_samples": "rows"}
    )
    heading, counts, *lines = str(check).splitlines()
    assert NOT_PRIVATE in heading and "do not publish" in heading and "1,200 rows, 3 features" in counts
    assert lines[:2] == ["problem: a large thing", "note: a small thing"]
    assert "factor of two" in lines[2] and "2" in lines[3] and lines[-1].startswith("Nothing was charged.")
    assert check.has_problems and check.findings == (PROBLEM, NOTE)


def test_a_check_without_findings_says_so():
    check = Check("PrivatePCA", {}, ())
    assert "nothing odd was found" in str(check) and not check.has_problems


def test_machines_read_the_mark_as_well():
    told = json.loads(json.dumps(Check("PrivatePCA", {"n_samples": 1}, (PROBLEM,)).to_dict()))
    assert told["not_private"] == NOT_PRIVATE and told["findings"][0]["numbers"] == {"rows": 3}


def test_the_repr_shows_no_number_of_the_data():
    assert repr(Check("PrivatePCA", {"n_samples": 4711}, (PROBLEM,))) == (
        "<Check of PrivatePCA: 1 findings, not private; print it>"
    )


def test_levels_are_three():
    with pytest.raises(InvalidParameter, match="level of Finding must be one of problem, warning, note"):
        Finding("error", "x", "y")


def test_shares_are_never_rounded_to_all_or_nothing():
    assert [share(*pair) for pair in ((0, 5), (5, 5), (1, 10**6), (10**6 - 1, 10**6), (0, 0))] == [
        "0 %", "100 %", "<1 %", ">99 %", "0 %",
    ]  # fmt: skip


def test_long_lists_of_names_end():
    assert name_some([f"c{i}" for i in range(8)]) == "'c0', 'c1', 'c2', 'c3', 'c4' and 3 more"
    assert Look({"n_samples": 1}).findings == ()
