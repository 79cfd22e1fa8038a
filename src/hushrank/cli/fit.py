"""What the commands that learn from data share: input, ledger, output."""

import json
import logging
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.markup import escape

from hushrank.archive.container import check_writable
from hushrank.cli.options import BUDGET_OPTIONS, COLUMNS_OPTION, JSON_OPTION, SECOND_MOMENT_OPTIONS, options
from hushrank.data.rows.reading import read_rows
from hushrank.engine.local import LocalEngine
from hushrank.privacy.ledger import Ledger

Describe = Callable[[Any], Iterator[Any]]
Read = Callable[[str], Any]

LEARN_OPTIONS = options(
    click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Model file to write."),
    click.option("--ledger", "ledger_address", help="Ledger to charge: a file or a database URL. Needs --dataset."),
    click.option("--dataset", help="Name of the data set in the ledger."),
    click.option("--threads", type=int, help="Threads to use. Default: all cores."),
    click.option("--seed", type=int, help="Repeatable noise, for tests and teaching; the result must not be released."),
    click.option("--quiet", is_flag=True, help="No progress bar and no notes on stderr."),
    click.option(
        "--verbose",
        is_flag=True,
        help="Notes for the data holder on stderr: how many rows or ratings there are, and how many were left out or "
        "bounded. NOT PRIVATE: do not publish them.",
    ),
    JSON_OPTION,
)
FIT_OPTIONS = options(SECOND_MOMENT_OPTIONS, BUDGET_OPTIONS, COLUMNS_OPTION, LEARN_OPTIONS)


def run(
    make_estimator: Callable[..., Any],
    describe: Describe,
    *,
    source: str,
    columns: list[str] | None,
    field: str,
    **arguments: Any,
) -> None:
    """Learn from a table of rows; `arguments` are those of FIT_OPTIONS and of the estimator."""

    def read(owner: str) -> Any:
        return read_rows(source, owner=owner, columns=columns, allow_complex=field == "complex")

    learn(make_estimator, describe, read, inputs=(source,), field=field, **arguments)


def learn(
    make_estimator: Callable[..., Any],
    describe: Describe,
    read: Read,
    *,
    inputs: tuple[str, ...],
    out: Path | None,
    ledger_address: str | None,
    dataset: str | None,
    threads: int | None,
    seed: int | None,
    quiet: bool,
    verbose: bool,
    as_json: bool,
    **parameters: Any,
) -> None:
    """Fit, write the model and print what was released; where the result goes is checked before the fit.

    `read(owner)` gives the data, and `owner` is whom errors name; `inputs` are the paths that it reads.
    """
    if out is None and not as_json:
        raise click.UsageError("Say where the result goes: --out FILE, or --json for stdout.")
    if out is not None:
        check_writable(out)
        if any(_is_inside(out, Path(kept)) for kept in (*inputs, *((ledger_address,) if ledger_address else ()))):
            raise click.UsageError(f"--out {out} would overwrite the data or the ledger, or lie among the data.")
    if (ledger_address is None) != (dataset is None):
        raise click.UsageError("--ledger and --dataset go together.")
    level = _show_notes(quiet, verbose)
    account = None if ledger_address is None else Ledger(ledger_address)[str(dataset)]
    engine = LocalEngine(threads=threads)
    model = make_estimator(**parameters, ledger=account, random_state=seed, engine=engine, verbose=level)
    model.fit(read(type(model).__name__))
    if out is not None:
        model.save(out)
    if as_json:
        click.echo(json.dumps(to_json(model)))
        return
    console = Console(highlight=False)
    for part in describe(model):
        console.print(part)
    console.print(f"[bold]guarantee[/bold]: {escape(str(model.privacy_))}", soft_wrap=True)
    console.print(f"model written to {escape(str(out))}", soft_wrap=True)


def _show_notes(quiet: bool, verbose: bool) -> int:
    """Let the log with its private counts reach stderr if asked to; the level of the progress bar, for terminals."""
    if quiet and verbose:
        raise click.UsageError("--quiet and --verbose exclude each other.")
    threshold = logging.INFO if verbose else logging.ERROR if quiet else logging.WARNING
    logging.basicConfig(stream=sys.stderr, format="%(message)s", level=threshold)
    if quiet or not sys.stderr.isatty():
        return 0
    return 2 if verbose else 1


def _is_inside(out: Path, kept: Path) -> bool:
    """Whether `out` is the existing file `kept`, or lies in the existing folder `kept`."""
    return kept.exists() and (out.resolve() == kept.resolve() or kept.resolve() in out.resolve().parents)


def to_json(model: Any) -> dict[str, Any]:
    """The learned attributes, which are all of the release, and the guarantee."""
    learned = {name: value for name, value in vars(model).items() if name.endswith("_") and name != "privacy_"}
    return {**{name: to_plain(value) for name, value in learned.items()}, "privacy_": model.privacy_.to_dict()}


def to_plain(value: Any) -> Any:
    """A learned attribute as JSON holds it; complex arrays as an object of two."""
    if np.iscomplexobj(value):
        return {"real": value.real.tolist(), "imaginary": value.imag.tolist()}
    return value.tolist() if hasattr(value, "tolist") else value
