"""Commands that learn from data: made from a line of the registry and a function that describes the model."""

import inspect
import json
import logging
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.markup import escape

from hushrank.archive.container import check_writable
from hushrank.cli.options import (
    COLUMNS_OPTION,
    GIVEN_FILES,
    JSON_OPTION,
    Decorator,
    options,
    parameter_options,
    split_names,
)
from hushrank.registry import PUBLIC, find, planner

Describe = Callable[[Any], Iterator[Any]]
Page = Callable[[Any], str]

LEDGER_OPTIONS = options(
    click.option("--ledger", "ledger_address", help="Ledger to charge: a file or a database URL. Needs --dataset."),
    click.option("--dataset", help="Name of the data set in the ledger."),
)
SEED_AND_QUIET_OPTIONS = options(
    click.option("--seed", type=int, help="Repeatable noise, for tests and teaching; the result must not be released."),
    click.option("--quiet", is_flag=True, help="No progress bar and no notes on stderr."),
)
RUN_OPTIONS = options(
    click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Model file to write."),
    LEDGER_OPTIONS,
    click.option("--threads", type=int, help="Threads to use. Default: all cores."),
    SEED_AND_QUIET_OPTIONS,
    click.option(
        "--verbose",
        is_flag=True,
        help="Notes for the data holder on stderr: how many rows or ratings there are, and how many were left out or "
        "bounded. NOT PRIVATE: do not publish them.",
    ),
    JSON_OPTION,
)
MARKS = ("strength_", "n_significant_")
"""What of a model follows from the rest, and says what is noise."""
REPORT_OPTION = click.option(
    "--report", type=click.Path(dir_okay=False, path_type=Path), help="HTML page to write about the result."
)


@dataclass(frozen=True, slots=True)
class Data:
    """A kind of data that commands read.

    Attributes
    ----------
    argument : str
        What the help calls the path.
    read : callable
        (model, path, values of `options` by name) -> what the `fit` of the model takes.
    options : decorator
        Options that choose a part of the data.
    beside : tuple of str
        Names of those options that may be paths of data as well.
    """

    argument: str
    read: Callable[..., Any]
    options: Decorator
    beside: tuple[str, ...] = ()


def _read_rows(model: Any, source: str, columns: list[str] | None) -> Any:
    from hushrank.data.rows.reading import read_rows  # needs numba, and --help does not

    is_complex, owner = getattr(model, "field", "real") == "complex", type(model).__name__
    rows = read_rows(source, owner=owner, columns=columns, allow_complex=is_complex)
    bounds: Any = getattr(model, "column_bounds", None)
    if hasattr(bounds, "in_order"):  # from a file with the names of the columns
        model.column_bounds = bounds.in_order(rows.columns, owner)
    return rows


def _read_records(model: Any, source: str, user: str, target: str, features: str | None) -> Any:
    from hushrank.data.records.reading import read_records  # needs numba, and --help does not

    names, owner = split_names(features), type(model).__name__
    return read_records(source, target, user, owner=owner, features=names, needs_users=True)


ROLE_OPTIONS = options(
    click.option("--user", metavar="NAME", default="user", show_default=True, help="Column of the users' ids."),
    click.option("--target", metavar="NAME", default="target", show_default=True, help="Column of the answers."),
    click.option("--features", help="Columns to predict from, separated by commas. Default: all others."),
)

ROWS = Data("INPUT", _read_rows, COLUMNS_OPTION)
RATINGS = Data("RATINGS", lambda _model, source: source, options())
RECORDS = Data("RECORDS", _read_records, ROLE_OPTIONS)


def fit_command(name: str, data: Data, page: Page | None = None) -> Callable[[Describe], click.Command]:
    """Make the command of the release `name` of the registry from a function that describes a fitted model.

    The function yields what is printed, and its docstring is the help of the command. `page` makes an HTML page of a
    fitted model; a command that has one takes --report.
    """
    command, of_parameters = PUBLIC[name].command, parameter_options(planner(name))

    def decorate(describe: Describe) -> click.Command:
        def fit_and_show(as_json: bool, out: Path | None, report: Path | None = None, **arguments: Any) -> None:
            model = learn(name, data, as_json=as_json, out=out, report=report, **arguments)
            if as_json:
                click.echo(json.dumps(to_json(model)))
            else:
                console = Console(highlight=False)
                for part in describe(model):
                    console.print(part)
                console.print(f"[bold]guarantee[/bold]: {escape(str(model.privacy_))}", soft_wrap=True)
                console.print(f"model written to {escape(str(out))}", soft_wrap=True)
            if page is not None and report is not None:  # last: the budget is spent, and what it bought is out by now
                write_page(report, page(model))
                if not as_json:
                    console.print(f"report written to {escape(str(report))}", soft_wrap=True)

        cost = f"What it will cost, before any data are read: hushrank plan {command} --help"
        source = click.argument("source", metavar=data.argument)
        run = RUN_OPTIONS if page is None else options(REPORT_OPTION, RUN_OPTIONS)
        decorated = options(source, of_parameters, data.options, run)(fit_and_show)
        return click.command(command, help=f"{inspect.cleandoc(describe.__doc__ or '')}\n\n\b\n{cost}")(decorated)

    return decorate


def learn(
    name: str,
    data: Data,
    *,
    source: str,
    out: Path | None,
    report: Path | None = None,
    ledger_address: str | None,
    dataset: str | None,
    threads: int | None,
    seed: int | None,
    quiet: bool,
    verbose: bool,
    as_json: bool,
    **others: Any,
) -> Any:
    """Fit and write the model; where the result and a report go is checked before the fit.

    `others` are the parameters of the estimator and the options of the data.
    """
    places = {"--out": out, "--report": report}
    context = click.get_current_context(silent=True)
    given = [] if context is None else context.meta.get(GIVEN_FILES, [])
    _check_output(places, as_json, [source, ledger_address, *(others[option] for option in data.beside), *given])
    if (ledger_address is None) != (dataset is None):
        raise click.UsageError("--ledger and --dataset go together.")
    level = show_notes(quiet, verbose)
    account = None if ledger_address is None else find("Ledger")(ledger_address)[dataset]
    terms = {"ledger": account, "random_state": seed, "engine": find("LocalEngine")(threads=threads), "verbose": level}
    estimator = find(name)
    parameters = {key: others.pop(key) for key in estimator.parameter_table() if key in others}
    model = estimator(**parameters, **terms)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        model.fit(data.read(model, source, **others))
    for warning in () if quiet else caught:
        click.echo(f"hushrank: {warning.message}", err=True)
    if out is not None:
        model.save(out)
    return model


def _check_output(places: dict[str, Path | None], as_json: bool, inputs: Iterable[str | None]) -> None:
    """Refuse to fit where the result has no place to go to, or would overwrite what it was made from."""
    if places["--out"] is None and not as_json:
        raise click.UsageError("Say where the result goes: --out FILE, or --json for stdout.")
    kept = [Path(place) for place in inputs if place]
    given = {option: place for option, place in places.items() if place is not None}
    for option, place in given.items():
        check_place(option, place, kept, "the data or the ledger, or lie among the data")
    if len({place.resolve() for place in given.values()}) < len(given):
        raise click.UsageError(f"{' and '.join(given)} are different files.")


def write_page(report: Path, page: str) -> None:
    """Write an HTML page, or one clear line."""
    try:
        report.write_text(page, encoding="utf-8")
    except OSError as error:
        raise click.ClickException(f"cannot write {report}: {error.strerror or error}.") from error


def check_place(option: str, out: Path, kept: Iterable[Path], named: str) -> None:
    """Refuse a place where no file can be made, or where it would overwrite what is kept, `named` in the message."""
    check_writable(out)
    if any(_is_inside(out, place) for place in kept):
        raise click.UsageError(f"{option} {out} would overwrite {named}.")


def _is_inside(out: Path, kept: Path) -> bool:
    """Whether `out` is the existing file `kept`, or lies in the existing folder `kept`."""
    return kept.exists() and (out.resolve() == kept.resolve() or kept.resolve() in out.resolve().parents)


def show_notes(quiet: bool, verbose: bool) -> int:
    """Let the log with its private counts reach stderr if asked to; the level of the progress bar, for terminals."""
    if quiet and verbose:
        raise click.UsageError("--quiet and --verbose exclude each other.")
    threshold = logging.INFO if verbose else logging.ERROR if quiet else logging.WARNING
    logging.basicConfig(stream=sys.stderr, format="%(message)s", level=threshold)
    if quiet or not sys.stderr.isatty():
        return 0
    return 2 if verbose else 1


def to_json(model: Any) -> dict[str, Any]:
    """The learned attributes, which are all of the release, and the guarantee."""
    learned = {name: value for name, value in vars(model).items() if name.endswith("_") and name != "privacy_"}
    learned |= {name: getattr(model, name) for name in MARKS if hasattr(model, name)}
    return {**{name: to_plain(value) for name, value in learned.items()}, "privacy_": model.privacy_.to_dict()}


def to_plain(value: Any) -> Any:
    """A learned attribute as JSON holds it; complex arrays as an object of two."""
    if np.iscomplexobj(value):
        return {"real": value.real.tolist(), "imaginary": value.imag.tolist()}
    return value.tolist() if hasattr(value, "tolist") else value
