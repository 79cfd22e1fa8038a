"""Progress of a fit, or of one long sum, on stderr: one display, which names the release it is at.

A display may be on a screen that others see, or stay in a notebook. It shows what share of a pass over the data is
done and the time left; numbers of rows only where they were asked for. Where the number of people is secret, the
share is left out as well: together with the speed of a machine it tells that number.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

COMPILING = "compiling, once: about a minute"

_open: ContextVar["Display | None"] = ContextVar("display of the fit", default=None)


class _Share(ProgressColumn):
    """The share that is done, if it is known."""

    def render(self, task: Task) -> Text:
        """The text of this column."""
        return Text("" if task.total is None else f"{task.percentage:.0f} %")


class _Rows(ProgressColumn):
    """Rows done, of how many if that is known, and rows per second."""

    def render(self, task: Task) -> Text:
        """The text of this column."""
        of = f" of {task.total:,.0f}" if task.total is not None else ""
        speed = task.finished_speed or task.speed
        per_second = f", {speed:,.0f} rows/s" if speed else ""
        return Text(f"{task.completed:,.0f}{of} rows{per_second} (not private)")


class Display:
    """One line that is used for one pass over the data after another; it appears when there is something to show.

    Parameters
    ----------
    label : str
        What is shown before the first pass.
    shows_share : bool
        Whether a pass shows how far it is.
    shows_rows : bool
        Whether it also shows numbers of rows.
    console : Console, optional
        Where; by default stderr.
    """

    def __init__(
        self, label: str, *, shows_share: bool = True, shows_rows: bool = False, console: Console | None = None
    ) -> None:
        numbers = (_Rows(),) if shows_rows else ()
        clock = TimeRemainingColumn() if shows_share else TimeElapsedColumn()
        columns = (TextColumn("{task.description}"), BarColumn(), _Share(), *numbers, clock)
        # Standard output belongs to the caller and is not redirected.
        held = Console(stderr=True) if console is None else console
        self._progress = Progress(*columns, console=held, redirect_stdout=False, redirect_stderr=False)
        self._label, self._shows_share = label, shows_share
        self._lock, self._line, self._compiling = threading.RLock(), TaskID(-1), 0

    def begin(self, label: str, n_samples: int | None) -> Callable[[int], None]:
        """Use the line for a pass; what is returned takes numbers of rows done, from any thread."""
        with self._lock:
            self._label = label
            line = self._renew(n_samples if self._shows_share else None)
        return lambda n_rows: self._progress.advance(line, n_rows) if line == self._line else None

    def compiling(self, change: int) -> None:
        """Say that something is compiled while more was begun (changes of 1) than was ended (changes of -1)."""
        with self._lock:
            self._compiling += change
            if self._line < 0:
                self._renew(None)
            self._progress.update(self._line, description=self._text())

    def close(self) -> None:
        """Leave the line as it is and let go of the screen."""
        with self._lock:
            if self._line >= 0:  # it has appeared
                self._progress.stop()

    def _renew(self, total: int | None) -> TaskID:
        if self._line < 0:
            self._progress.start()
        else:
            self._progress.remove_task(self._line)
        self._line = self._progress.add_task(self._text(), total=total)
        return self._line

    def _text(self) -> str:
        owner = self._label.partition(":")[0]
        return f"{owner}: {COMPILING}" if self._compiling > 0 else self._label


@contextmanager
def show_fit(owner: str, verbose: int, *, n_is_secret: bool, console: Console | None = None) -> Iterator[None]:
    """One display for all sums on this thread; silent unless verbose >= 1.

    Parameters
    ----------
    owner : str
        What is fitted.
    verbose : int
        From 2 on, numbers of rows are shown, and shares always.
    n_is_secret : bool
        Whether the number of people is hidden: then shares are shown from 2 on only.
    console : Console, optional
        Where; by default stderr.
    """
    if verbose < 1:
        yield
        return
    more = verbose > 1
    display = Display(f"{owner}: reading", shows_share=more or not n_is_secret, shows_rows=more, console=console)
    with ExitStack() as stack:
        stack.callback(display.close)
        token = _open.set(display)
        stack.callback(_open.reset, token)
        stack.enter_context(_tell_compilations(display))
        yield


@contextmanager
def show_progress(n_samples: int | None, label: str, verbose: int) -> Iterator[Callable[[int], None]]:
    """Yield a function to be called with the number of rows done, from any thread.

    Silent unless verbose >= 1; the numbers of rows are shown from 2 on. Inside of `show_fit` its display is used.
    """
    display = _open.get()
    if verbose < 1:
        yield lambda n_rows: None
    elif display is not None:
        yield display.begin(label, n_samples)
    else:
        alone = Display(label, shows_rows=verbose > 1)
        try:
            yield alone.begin(label or "reading", n_samples)
        finally:
            alone.close()


@contextmanager
def _tell_compilations(display: Display) -> Iterator[None]:
    """Let numba tell when it compiles: it does not where machine code of an earlier run is on disk."""
    from numba.core import event  # by now the kernels have imported it

    class Listener(event.Listener):
        def on_start(self, _event: Any) -> None:
            display.compiling(1)

        def on_end(self, _event: Any) -> None:
            display.compiling(-1)

    with event.install_listener("numba:compile", Listener()):
        yield
