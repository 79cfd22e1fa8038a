"""What a sketch would do to updates: outside, not finite, nobody's, clipped."""

import numpy as np
import pytest

from hushrank.data.updates.checking import look_at_updates
from hushrank.data.updates.reading import read_updates

ROWS, COLUMNS = np.arange(40) % 4, np.arange(40) % 5


def look(rows=ROWS, columns=COLUMNS, deltas=np.ones(40), users=None, clip=1.0, skips=False):  # noqa: B008
    updates = read_updates(rows, columns, deltas, users, shape=(4, 5), owner="A", needs_users=users is not None)
    found = look_at_updates(updates, clip, skips=skips)
    return found.counts, {finding.name: finding for finding in found.findings}


def test_plain_updates_have_no_findings():
    assert look() == ({"n_updates": 40, "n_rows": 4, "n_columns": 5}, {})
    assert look(deltas=np.full(40, 9.0), clip=None)[1] == {}
    assert look(users=[f"u{i}" for i in range(40)])[1] == {}


def test_updates_outside_the_matrix_and_their_cause():
    found = look(ROWS + 1)[1]["outside_matrix"]
    assert found.level == "problem" and found.numbers == {"outside": 10, "updates": 40, "cause": "ids_from_1"}
    few = np.where(np.arange(40) == 3, 99, ROWS)
    assert look(few)[1]["outside_matrix"].level == "problem"  # it ends the run
    assert look(few, skips=True)[1]["outside_matrix"].level == "warning"


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_updates_that_are_no_numbers(value):
    found = look(deltas=np.where(np.arange(40) < 3, value, 1.0))[1]["updates_not_finite"]
    assert found.numbers["updates_not_finite"] == 3 and "--on-invalid skip" in found.text


def test_updates_of_nobody():
    assert look(users=["", None, *("u" * 38)])[1]["updates_without_user"].numbers["updates_without_user"] == 2


def test_clipped_updates():
    found = look(deltas=np.where(np.arange(40) < 3, -7.0, 1.0))[1]["clipped_updates"]
    assert found.level == "note" and found.numbers == {"clipped_updates": 3, "updates": 40, "largest": 7.0}
    assert look(clip=0.5)[1]["clipped_updates"].level == "warning"


def test_no_updates():
    assert look(ROWS[:0], COLUMNS[:0], np.ones(0))[1]["no_updates"].level == "warning"
