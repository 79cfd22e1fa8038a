"""Progress goes to stderr: a share and the time left, numbers of rows only if asked for, nothing without verbose."""

import re

import numpy as np
import pytest

from hushrank.data.rows.reading import read_rows
from hushrank.engine.local import LocalEngine
from hushrank.engine.progress import show_progress


def count(block, state):
    print("out of the kernel")
    return np.array(len(block))


@pytest.mark.parametrize("threads", [1, 2])
def test_rows_are_counted_on_stderr_where_that_was_asked_for(threads, capfd):
    rows = read_rows(np.ones((12_345, 1)), owner="test")
    assert LocalEngine(threads).total(rows, count, None, verbose=2, label="second moments") == 12_345
    seen = capfd.readouterr()
    shown = " ".join(seen.err.split())  # long lines are wrapped
    assert "second moments" in shown and "100 %" in shown and "12,345 of 12,345 rows" in shown
    assert "(not private)" in shown
    assert set(seen.out.split("out of the kernel")) <= {"", "\n", "\n\n"}  # lines of two threads may mix


@pytest.mark.parametrize("known", [True, False])
def test_a_bar_alone_tells_no_number_of_rows(known, capfd):
    X = np.ones((12_345, 1))
    rows = read_rows(X if known else iter([X[:5000], X[5000:]]), owner="test")
    LocalEngine(1).total(rows, count, None, verbose=1, label="sums")
    shown = capfd.readouterr().err
    assert "sums" in shown and ("100 %" in shown) == known
    assert "row" not in shown
    clock = r"-:--:--|\d+:\d\d:\d\d"  # the time left
    assert set(re.findall(r"\d[\d,.]*", re.sub(clock, "", shown))) <= {"100"}


def test_an_unknown_number_of_rows_is_left_out(capfd):
    rows = read_rows(iter([np.ones((5, 1)), np.ones((6, 1))]), owner="test")
    LocalEngine(1).total(rows, count, None, verbose=2)
    seen = capfd.readouterr().err
    assert "11 rows" in seen and " of " not in seen and "%" not in seen


def test_nothing_is_shown_by_default(capfd):
    with show_progress(10, "second moments", verbose=0) as advance:
        advance(10)
    LocalEngine(2).total(read_rows(np.ones((9, 1)), owner="test"), lambda block, state: np.array(1), None)
    assert capfd.readouterr() == ("", "")


def test_the_display_ends_with_an_error(capfd):
    with pytest.raises(ZeroDivisionError), show_progress(10, "sums", verbose=2) as advance:
        advance(3)
        _ = 1 / 0
    shown = capfd.readouterr().err
    assert "3 of 10 rows" in shown and "30 %" in shown
