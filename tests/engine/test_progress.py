"""Progress goes to stderr: one display a fit, a share and the time left, numbers of rows only if asked for."""

import io
import re
import threading

import numba
import numpy as np
import pytest
from rich.console import Console

from hushrank.data.rows.reading import read_rows
from hushrank.engine.local import LocalEngine
from hushrank.engine.progress import COMPILING, Display, show_fit, show_progress


def count(block, state):
    print("out of the kernel")
    return np.array(len(block))


def count_quietly(block, state):
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


def screen():
    """A terminal that keeps what is written to it."""
    return Console(file=io.StringIO(), force_terminal=True, width=200, color_system=None)


def words_on(console):
    """All that a terminal has shown, without what moves its cursor."""
    return re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", console.file.getvalue())


def lines_on(console):
    """Lines that stay on a terminal at the end: its cursor never went up beyond them."""
    shown = console.file.getvalue()
    return shown.count("\n") - len(re.findall(r"\x1b\[1A", shown))


def test_a_fit_has_one_display_that_names_each_pass():
    console, rows = screen(), read_rows(np.ones((3000, 1)), owner="test")
    with show_fit("PrivatePCA", 1, n_is_secret=False, console=console):
        for name in ("radius (1)", "second moment (2)"):
            LocalEngine(2).total(rows, count_quietly, None, verbose=1, label=f"PrivatePCA: {name}")
    shown = words_on(console)
    assert shown.index("PrivatePCA: radius (1)") < shown.index("PrivatePCA: second moment (2)") and "100 %" in shown
    assert lines_on(console) == 1


@pytest.mark.parametrize(("verbose", "secret", "share"), [(1, False, True), (1, True, False), (2, True, True)])
def test_a_secret_number_of_people_hides_shares_unless_asked_for(verbose, secret, share):
    console, rows = screen(), read_rows(np.ones((12_345, 1)), owner="test")
    with show_fit("PrivatePCA", verbose, n_is_secret=secret, console=console):
        LocalEngine(1).total(rows, count_quietly, None, verbose=verbose, label="PrivatePCA: radius (1)")
    shown = words_on(console)
    assert ("%" in shown) == share and ("12,345 of 12,345 rows" in shown) == (verbose > 1)
    if not share:
        clock = r"-:--:--|\d+:\d\d:\d\d"
        assert set(re.findall(r"\d[\d,.]*", re.sub(clock, "", shown))) == {"1"}  # the number of the pass


def test_compiling_is_told_while_it_lasts():
    console = screen()
    display = Display("PrivatePCA: reading", console=console)
    display.compiling(1)
    display.compiling(1)  # a kernel calls another
    display.compiling(-1)
    advance = display.begin("PrivatePCA: radius (1)", 10)
    during = words_on(console)
    display.compiling(-1)
    advance(10)
    display.close()
    assert f"PrivatePCA: {COMPILING}" in during and "radius" not in during
    assert "PrivatePCA: radius (1)" in words_on(console) and lines_on(console) == 1


def test_numba_tells_when_it_compiles():
    console = screen()

    @numba.njit
    def add_one(number):
        return number + 1

    with show_fit("PrivatePCA", 1, n_is_secret=False, console=console):
        assert add_one(1) == 2
    shown = words_on(console)
    assert f"PrivatePCA: {COMPILING}" in shown and "reading" in shown.split("\r")[-1]
    with show_fit("PrivatePCA", 1, n_is_secret=False, console=(again := screen())):
        assert add_one(2) == 3  # compiled by now
    assert again.file.getvalue() == ""


def test_nothing_is_shown_before_there_is_something():
    console = screen()
    with pytest.raises(ZeroDivisionError), show_fit("PrivatePCA", 1, n_is_secret=False, console=console):
        _ = 1 / 0
    assert console.file.getvalue() == ""
    with show_fit("PrivatePCA", 0, n_is_secret=False, console=console), show_progress(3, "radius", 0) as advance:
        advance(3)
    assert console.file.getvalue() == ""


def test_displays_of_two_threads_are_apart():
    consoles, labels = [screen(), screen()], ["first: radius (1)", "second: radius (1)"]

    def fit(console, label):
        with show_fit(label, 1, n_is_secret=False, console=console), show_progress(2, label, 1) as advance:
            together.wait()
            advance(2)

    together = threading.Barrier(2)
    threads = [threading.Thread(target=fit, args=pair) for pair in zip(consoles, labels, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for console, mine, other in zip(consoles, labels, reversed(labels), strict=True):
        assert mine in words_on(console) and other not in words_on(console)


def test_rows_are_advanced_from_many_threads():
    console = screen()
    with show_fit("PrivatePCA", 2, n_is_secret=True, console=console), show_progress(800, "radius", 2) as advance:
        threads = [threading.Thread(target=lambda: [advance(1) for _ in range(100)]) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert "800 of 800 rows" in words_on(console)
