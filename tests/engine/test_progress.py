"""Progress goes to stderr and says how many rows are done; without verbose there is nothing."""

import numpy as np
import pytest

from hushrank.engine.blocks import read_rows
from hushrank.engine.local import LocalEngine
from hushrank.engine.progress import show_progress


def count(block, state):
    print("out of the kernel")
    return np.array(len(block))


@pytest.mark.parametrize("threads", [1, 2])
def test_rows_are_counted_on_stderr(threads, capfd):
    rows = read_rows(np.ones((12_345, 1)), owner="test")
    assert LocalEngine(threads).total(rows, count, None, verbose=1, label="second moments") == 12_345
    seen = capfd.readouterr()
    assert "second moments" in seen.err and "12,345 of 12,345 rows" in seen.err
    assert set(seen.out.split("out of the kernel")) <= {"", "\n", "\n\n"}  # lines of two threads may mix


def test_an_unknown_number_of_rows_is_left_out(capfd):
    rows = read_rows(iter([np.ones((5, 1)), np.ones((6, 1))]), owner="test")
    LocalEngine(1).total(rows, count, None, verbose=2)
    seen = capfd.readouterr().err
    assert "11 rows" in seen and " of " not in seen


def test_nothing_is_shown_by_default(capfd):
    with show_progress(10, "second moments", verbose=0) as advance:
        advance(10)
    LocalEngine(2).total(read_rows(np.ones((9, 1)), owner="test"), lambda block, state: np.array(1), None)
    assert capfd.readouterr() == ("", "")


def test_the_display_ends_with_an_error(capfd):
    with pytest.raises(ZeroDivisionError), show_progress(10, "sums", verbose=1) as advance:
        advance(3)
        _ = 1 / 0
    assert "3 of 10 rows" in capfd.readouterr().err
