"""Progress of a long sum, on stderr.

A bar may be on a screen that others see, or stay in a notebook. It shows what share is done and the time left; numbers
of rows, which are secret under add_remove, only where they were asked for.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text


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


@contextmanager
def show_progress(n_samples: int | None, label: str, verbose: int) -> Iterator[Callable[[int], None]]:
    """Yield a function to be called with the number of rows done, from any thread.

    Silent unless verbose >= 1; the numbers of rows are shown from 2 on.
    """
    if verbose < 1:
        yield lambda n_rows: None
        return
    numbers = (_Rows(),) if verbose > 1 else ()
    columns = (TextColumn("{task.description}"), BarColumn(), _Share(), *numbers, TimeRemainingColumn())
    # Standard output belongs to the caller and is not redirected.
    console = Console(stderr=True)
    with Progress(*columns, console=console, redirect_stdout=False, redirect_stderr=False) as progress:
        task = progress.add_task(label or "reading", total=n_samples)
        yield lambda n_rows: progress.advance(task, n_rows)
