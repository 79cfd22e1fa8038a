"""Progress of a long sum, on stderr: only the data holder sees it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text


class _Rows(ProgressColumn):
    """Rows done, of how many if that is known, and rows per second."""

    def render(self, task: Task) -> Text:
        """The text of this column."""
        of = f" of {task.total:,.0f}" if task.total is not None else ""
        speed = task.finished_speed or task.speed
        return Text(f"{task.completed:,.0f}{of} rows" + (f", {speed:,.0f} rows/s" if speed else ""))


@contextmanager
def show_progress(n_samples: int | None, label: str, verbose: int) -> Iterator[Callable[[int], None]]:
    """Yield a function to be called with the number of rows done, from any thread; silent unless verbose >= 1."""
    if verbose < 1:
        yield lambda n_rows: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), _Rows(), TimeRemainingColumn())
    # Standard output belongs to the caller and is not redirected.
    console = Console(stderr=True)
    with Progress(*columns, console=console, redirect_stdout=False, redirect_stderr=False) as progress:
        task = progress.add_task(label or "reading", total=n_samples)
        yield lambda n_rows: progress.advance(task, n_rows)
